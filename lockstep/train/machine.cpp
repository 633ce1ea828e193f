// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <thread>

#include "lockstep/device/device.h"

namespace lockstep {

Json machine_json(Device& device) {
  utsname system = {};
  uname(&system);
  const auto pages = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
  return Json{{"schema", 1},
              {"host", system.nodename},
              {"system", std::string(system.sysname) + " " + system.release},
              {"cores", std::thread::hardware_concurrency()},
              {"memory_bytes", pages * page},
              {"device", device.info()}};
}

}  // namespace lockstep

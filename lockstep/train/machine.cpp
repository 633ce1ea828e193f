// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <thread>

#include "lockstep/device/device.h"
#include "lockstep/hardware/topology.h"

namespace lockstep {

Json machine_json(Device& device) {
  utsname system = {};
  uname(&system);
  const auto pages = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGE_SIZE));
  Json out{{"schema", 1},
           {"host", system.nodename},
           {"system", std::string(system.sysname) + " " + system.release},
           {"cores", std::thread::hardware_concurrency()},
           {"memory_bytes", pages * page},
           {"device", device.info()}};
  if (device.torch().is_cpu()) return out;
  const PairsHere here = pairs_here();
  Json& pairs = out["pairs"] = Json::array();
  for (const DevicePair& pair : here.pairs) pairs.push_back(to_json(pair));
  if (!here.why_unknown.empty()) out["pairs_unknown"] = here.why_unknown;
  return out;
}

}  // namespace lockstep

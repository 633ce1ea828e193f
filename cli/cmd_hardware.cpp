// SPDX-License-Identifier: Apache-2.0
// lockstep hardware list: devices, links and clusters that ship with the
// program. lockstep hardware show NAME|FILE: all that is known of one.
#include <memory>

#include "cli/commands.h"
#include "lockstep/core/error.h"
#include "lockstep/report/hardware_tables.h"

namespace lockstep::cli {
namespace {

struct HardwareAsked {
  std::string what, name;
  Format format = Format::text;
};

int run_hardware(const HardwareAsked& asked) {
  if (asked.what == "list") {
    print(hardware_list(), asked.format);
    return 0;
  }
  if (asked.what != "show")
    throw Error(Fault::config, "hardware " + asked.what, "is not a question",
                "lockstep hardware list, or lockstep hardware show NAME");
  if (asked.name.empty())
    throw Error(Fault::config, "hardware show", "needs a NAME or a file",
                "`lockstep hardware list` names them all");
  print(hardware_show(asked.name), asked.format);
  return 0;
}

}  // namespace

std::function<int()> hardware(Options& options) {
  auto asked = std::make_shared<HardwareAsked>();
  options.value("what", asked->what, "list or show", true);
  options.value("name", asked->name,
                "show: a device, a link, a cluster or a hardware file");
  options.format(asked->format);
  return [asked] { return run_hardware(*asked); };
}

}  // namespace lockstep::cli

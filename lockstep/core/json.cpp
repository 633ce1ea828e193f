// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/json.h"

#include "lockstep/core/file.h"

namespace lockstep {

Json read_json(const std::filesystem::path& path, Fault fault) {
  const std::string text = read_file(path, fault);
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    throw Error(fault, path.string(),
                "is not valid JSON at byte " + std::to_string(e.byte),
                "it may have been cut short; take it from a backup or make it "
                "again");
  }
}

void write_json(const std::filesystem::path& path, const Json& json) {
  write_file(path, json.dump(2) + "\n");
}

}  // namespace lockstep

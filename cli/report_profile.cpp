// SPDX-License-Identifier: Apache-2.0
#include "cli/report_profile.h"

#include <filesystem>

#include "lockstep/core/error.h"
#include "lockstep/hardware/hardware_file.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/predict/subject.h"
#include "lockstep/report/floor_report.h"
#include "lockstep/report/validation_document.h"

namespace lockstep::cli {
namespace {

DeviceSpec device_of(const ProfileReportAsked& asked, const Profile& profile) {
  if (!asked.hardware.empty() && !asked.device.empty())
    throw Error(Fault::config, "--hardware", "brings its own device",
                "leave out --device, or --hardware");
  if (!asked.hardware.empty())
    return find_hardware(asked.hardware).cluster.device;
  if (!asked.device.empty()) return find_device(asked.device);
  try {
    return find_device(profile.device);
  } catch (const Error&) {
    throw Error(Fault::config, "'" + profile.device + "'",
                "was profiled, and its peaks are not known",
                "--hardware FILE, which `lockstep probe` writes on that "
                "machine, or --device NAME (`lockstep hardware list`)");
  }
}

// A built-in model of that name, with its own sizes.
std::optional<WorkPlan> built_in(const std::string& model) {
  try {
    return find_subject(model).plan;
  } catch (const Error&) {
    return std::nullopt;  // somebody's own
  }
}

std::optional<WorkPlan> plan_of(const std::string& recipe,
                                const Profile& profile) {
  if (recipe.empty()) {
    std::optional<WorkPlan> plan = built_in(profile.model);
    return plan && describes(*plan, profile) ? plan : std::nullopt;
  }
  WorkPlan plan = *subject_of(load_config(recipe, {})).plan;
  if (describes(plan, profile)) return plan;
  throw Error(Fault::config, recipe,
              "its model is not the one that was profiled",
              "the recipe that `lockstep profile` was given");
}

std::string profile_command(const std::string& path,
                            const ProfileReportAsked& asked) {
  std::string out = "lockstep report " + path;
  if (!asked.recipe.empty()) out += " --recipe " + asked.recipe;
  if (!asked.device.empty()) out += " --device '" + asked.device + "'";
  if (!asked.hardware.empty()) out += " --hardware " + asked.hardware;
  return out;
}

}  // namespace

bool is_profile(const std::string& path) {
  std::error_code ignored;
  return path.ends_with(".json") &&
         !std::filesystem::is_directory(path, ignored);
}

ProfileReport report_profile(const std::string& path,
                             const ProfileReportAsked& asked) {
  const Profile profile = load_profile(path);
  const std::optional<WorkPlan> plan = plan_of(asked.recipe, profile);
  const Floors floors = floors_of(profile, plan, device_of(asked, profile));
  ProfileReport out{
      .table = floor_table(floors),
      .words = floor_sentence(floors) + "\n",
      .document = floor_document(floors, profile_command(path, asked))};
  if (!plan && built_in(profile.model))
    out.document["notes"].push_back(
        "a " + profile.model +
        " of other sizes than the default: --recipe FILE counts its FLOPs");
  for (const Json& note : out.document["notes"])
    out.words += note.get<std::string>() + "\n";
  return out;
}

bool is_told(const std::string& path) {
  return is_profile(path) || is_validation(path);
}

ProfileReport report_validation(const std::string& folder) {
  const StoredValidation stored = read_validation(folder);
  return {.table = stored.scores,
          .words = stored.words,
          .document = stored.document};
}

}  // namespace lockstep::cli

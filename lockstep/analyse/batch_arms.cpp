// SPDX-License-Identifier: Apache-2.0
#include "lockstep/analyse/batch_arms.h"

#include <map>
#include <set>
#include <utility>

namespace lockstep {
namespace {

using Settings = std::map<std::string, std::string>;

// Settings by name, without those the comparison is about and those that
// cannot change what is learned.
Settings other_settings(const RunConfig& config) {
  static const std::set<std::string> kSections = {"batch", "comm", "store",
                                                  "measure"};
  static const std::set<std::string> kFields = {
      "train.seed", "optim.lr", "train.device", "train.rehearse"};
  Settings out;
  const Json json = to_json(config);
  for (const auto& [section, fields] : json.items())
    if (!kSections.contains(section))
      for (const auto& [name, value] : fields.items())
        if (!kFields.contains(section + "." + name))
          out[section + "." + name] = value.dump();
  return out;
}

std::string label_of(const Settings& run, const std::vector<std::string>& by) {
  std::string label;
  for (const std::string& name : by)
    label += (label.empty() ? "" : " ") + name + "=" + run.at(name);
  return label;
}

std::size_t told_apart(const std::vector<Settings>& runs,
                       const std::vector<std::string>& by) {
  std::set<std::string> labels;
  for (const Settings& run : runs) labels.insert(label_of(run, by));
  return labels.size();
}

// Another optimiser brings half a dozen settings of its own: beyond three,
// those that tell no arm apart go, the ones people choose by last.
void shorten(const std::vector<Settings>& runs, std::vector<std::string>& by) {
  static const std::set<std::string> kLast = {"optim.kind", "optim.lr_rule",
                                              "optim.warmup_epochs"};
  const std::size_t all = told_apart(runs, by);
  for (const bool last : {false, true})
    for (std::size_t i = 0; i < by.size() && by.size() > 3;) {
      std::vector<std::string> fewer = by;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (kLast.contains(by[i]) == last && told_apart(runs, fewer) == all)
        by = std::move(fewer);
      else
        ++i;
    }
}

}  // namespace

std::vector<std::string> batch_arms(std::span<const RunConfig> configs) {
  std::vector<Settings> runs;
  std::map<std::string, std::set<std::string>> seen;
  for (const RunConfig& config : configs) {
    runs.push_back(other_settings(config));
    for (const auto& [name, value] : runs.back()) seen[name].insert(value);
  }
  std::vector<std::string> by;
  for (const auto& [name, values] : seen)
    if (values.size() > 1) by.push_back(name);
  shorten(runs, by);
  std::vector<std::string> out;
  for (const Settings& run : runs) out.push_back(label_of(run, by));
  return out;
}

}  // namespace lockstep

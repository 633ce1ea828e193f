// SPDX-License-Identifier: Apache-2.0
#include "lockstep/batch/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lockstep/batch/ross.h"
#include "lockstep/core/error.h"

namespace lockstep {
namespace {

std::vector<int> as_labels(std::span<const double> values) {
  std::map<double, int> seen;
  std::vector<int> out;
  for (const double v : values)
    out.push_back(seen.emplace(v, static_cast<int>(seen.size())).first->second);
  return out;
}

// Runs that can be compared: finite outcome, and a label another run shares.
struct Usable {
  std::vector<int> labels;
  std::vector<double> values;
  std::size_t not_finite = 0, alone = 0;
};

Usable usable(std::span<const int> labels, std::span<const double> values) {
  Usable out;
  std::map<int, std::size_t> count;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (std::isfinite(values[i])) ++count[labels[i]];
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!std::isfinite(values[i])) {
      ++out.not_finite;
    } else if (count[labels[i]] < 2) {
      ++out.alone;
    } else {
      out.labels.push_back(labels[i]);
      out.values.push_back(values[i]);
    }
  }
  return out;
}

void add_note(std::string& note, const std::string& more) {
  note += (note.empty() ? "" : "; ") + more;
}

Sensitivity measure(const Series& setting, const Series& outcome,
                    const PermutationOptions& options) {
  Sensitivity out;
  out.setting = setting.name;
  out.outcome = outcome.name;
  const Usable use = usable(as_labels(setting.values), outcome.values);
  out.num_runs = use.values.size();
  if (use.not_finite > 0)
    add_note(out.note, fmt::format("{} runs without it", use.not_finite));
  if (use.alone > 0)
    add_note(out.note, fmt::format("{} runs alone at their value", use.alone));
  out.entropy = use.labels.empty() ? 0 : entropy_of_labels(use.labels);
  if (!(out.entropy > 0)) {
    add_note(out.note, "needs two values with two runs each");
    return out;
  }
  out.known = true;
  out.test = test_dependence(use.labels, use.values, options);
  out.nats = out.test.nats;
  // Nothing says more about a setting than there is to say.
  out.share = std::min(out.nats / out.entropy, 1.0);
  if (out.nats > out.entropy)
    add_note(out.note, fmt::format("estimated above the setting's entropy of "
                                   "{:.3f}: all of it",
                                   out.entropy));
  out.gaussian_nats = gaussian_information(use.labels, use.values);
  return out;
}

bool change_together(const Series& a, const Series& b) {
  const auto x = as_labels(a.values), y = as_labels(b.values);
  std::map<int, int> forward, backward;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (forward.emplace(x[i], y[i]).first->second != y[i]) return false;
    if (backward.emplace(y[i], x[i]).first->second != x[i]) return false;
  }
  return forward.size() > 1;
}

}  // namespace

std::vector<Sensitivity> measure_sensitivity(
    std::span<const Series> settings, std::span<const Series> outcomes,
    const PermutationOptions& options) {
  std::vector<Sensitivity> out;
  for (const Series& setting : settings) {
    std::string beware;
    for (const Series& other : settings) {
      check(other.values.size() == setting.values.size(),
            "every series has one value a run");
      if (&other != &setting && change_together(setting, other))
        add_note(beware, "changes together with " + other.name);
    }
    for (const Series& outcome : outcomes) {
      check(outcome.values.size() == setting.values.size(),
            "every series has one value a run");
      out.push_back(measure(setting, outcome, options));
      if (!beware.empty()) add_note(out.back().note, beware);
    }
  }
  return out;
}

}  // namespace lockstep

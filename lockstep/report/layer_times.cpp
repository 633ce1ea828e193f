// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/layer_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "lockstep/analyse/saturation.h"
#include "lockstep/core/error.h"
#include "lockstep/plan/profile.h"
#include "lockstep/predict/workload.h"
#include "lockstep/report/claim_points.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr double kDip = 0.02;  // under both neighbours, as a share

LayerTimes times_in(const Profile& p) {
  LayerTimes out{.model = p.model, .device = p.device, .batches = p.batches};
  const auto add = [&](const std::string& name, const std::string& type,
                       const auto& seconds_at) {
    LayerSample layer{.layer = name, .type = type};
    for (std::size_t b = 0; b < p.batches.size(); ++b)
      layer.sample_s.push_back(seconds_at(b) / double(p.batches[b]));
    out.layers.push_back(std::move(layer));
  };
  const auto scaled = [&](const auto& l) {
    return [&](std::size_t b) {
      return fit_to_step(p, b) * (l.forward_s[b] + l.backward_s[b]);
    };
  };
  for (const ProfileLayer& l : p.layers) add(l.name, l.type, scaled(l));
  if (p.loss) add("loss", "", scaled(*p.loss));
  add("update", "", [&](std::size_t) { return p.optimizer_s; });
  // Layers that were fitted to the step leave nothing but rounding.
  add("between layers", "", [&](std::size_t b) {
    const double rest = p.step_s[b] - out.whole_s(b) * double(p.batches[b]);
    return rest > 1e-9 * p.step_s[b] ? rest : 0.0;
  });
  return out;
}

// Where one device's epoch time stops falling, as the study fitted it.
void find_bend(LayerTimes& times, const Study& study) {
  times.bend = times.batches.size() - 1;
  for (const SaturationRow& row : saturations_of(study)) {
    if (row.model != times.model || row.ranks != 1 ||
        row.origin != Origin::measured || !std::isfinite(row.at.per_rank))
      continue;
    const auto far = [&](std::size_t i) {
      return std::abs(std::log(double(times.batches[i]) / row.at.per_rank));
    };
    for (std::size_t i = 1; i < times.batches.size(); ++i)
      if (far(i) < far(times.bend)) times.bend = i;
    times.bend_fitted = true;
    return;
  }
}

std::string layers_that_dip(const LayerTimes& times, std::int64_t batch,
                            double saved_s) {
  const auto found = std::ranges::find(times.batches, batch);
  const auto i = static_cast<std::size_t>(found - times.batches.begin());
  if (i == 0 || i + 1 >= times.batches.size()) return "";
  std::string out;
  for (const LayerSample& layer : times.layers) {
    const double saved =
        std::min(layer.sample_s[i - 1], layer.sample_s[i + 1]) -
        layer.sample_s[i];
    if (saved > 0.1 * saved_s)
      out += fmt::format("{}{} ({:.0f} %)", out.empty() ? "" : ", ",
                         layer.layer, 100 * saved / saved_s);
  }
  return out;
}

// Intervals must not touch; without them nothing is a dip.
void add_dips(std::vector<Dip>& out, const Study& study,
              const LayerTimes& times) {
  const ClaimPoints one = points_where(study, [&](const StudyPoint& p) {
    return p.model == times.model && p.ranks == 1 && !p.batch_changes &&
           p.origin == Origin::measured;
  });
  const auto alike = [](const StudyPoint& x, const StudyPoint& y) {
    return x.arm == y.arm && x.hardware == y.hardware;
  };
  const auto sample = [](const StudyPoint* p) {
    return p->step.value / double(p->global_batch);
  };
  for (std::size_t i = 1; i + 1 < one.size(); ++i) {
    const StudyPoint *a = one[i - 1], *b = one[i], *c = one[i + 1];
    if (!alike(*a, *b) || !alike(*b, *c)) continue;
    const double least = std::min(sample(a), sample(c));
    const double high = b->step.high / double(b->global_batch),
                 low = std::min(a->step.low / double(a->global_batch),
                                c->step.low / double(c->global_batch));
    if (sample(b) > least * (1 - kDip) || !(high < low)) continue;
    const double saved = least - sample(b);
    out.push_back({.model = times.model,
                   .batch = b->global_batch,
                   .saved_s = saved,
                   .layers = layers_that_dip(times, b->global_batch, saved)});
  }
}

std::vector<fs::path> profiles_in(const std::string& study) {
  std::vector<fs::path> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(study + "/profiles", none))
    if (entry.path().extension() == ".json") out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

}  // namespace

double LayerTimes::whole_s(std::size_t batch) const {
  double sum = 0;
  for (const LayerSample& layer : layers) sum += layer.sample_s[batch];
  return sum;
}

LayerFindings layer_findings_of(const Study& study) {
  LayerFindings out;
  for (const std::string& path : study.paths)
    for (const fs::path& file : profiles_in(path)) try {
        LayerTimes times = times_in(load_profile(file));
        find_bend(times, study);
        add_dips(out.dips, study, times);
        out.times.push_back(std::move(times));
      } catch (const Error& e) {
        out.left_out.push_back(e.what());
      }
  return out;
}

}  // namespace lockstep

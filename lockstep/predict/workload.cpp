// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/workload.h"

#include <algorithm>
#include <cmath>

#include "lockstep/predict/roofline.h"

namespace lockstep {
namespace {

// Where a batch lies between two measured ones: value = (1-share)*a + share*b.
struct Between {
  std::size_t low = 0;
  double share = 0;  // below 0 or above 1 outside of what was measured
  double least = 0;  // a time never falls below this share of the first one
};

Between place_of(const std::vector<std::int64_t>& batches, double batch) {
  const auto above = std::ranges::upper_bound(
      batches, batch, {}, [](std::int64_t b) { return double(b); });
  const auto index = static_cast<std::size_t>(above - batches.begin());
  const std::size_t low = std::clamp<std::size_t>(index == 0 ? 0 : index - 1, 0,
                                                  batches.size() - 2);
  const double a = double(batches[low]), b = double(batches[low + 1]);
  const double least =
      batch < a ? batch / a : 0;  // work shrinks at most as the batch does
  return {.low = low, .share = (batch - a) / (b - a), .least = least};
}

double mix(double a, double b, const Between& at) {
  // Above the last batch a time goes on growing or stays, never falls.
  const double slope = at.share > 1 ? std::max(b - a, 0.0) : b - a;
  return std::max({a + at.share * slope, at.least * a, 0.0});
}

}  // namespace

double fit_to_step(const Profile& p, std::size_t b) {
  double layers = 0;
  for (const ProfileLayer& l : p.layers)
    layers += l.forward_s[b] + l.backward_s[b];
  if (p.loss) layers += p.loss->forward_s[b] + p.loss->backward_s[b];
  const double room = std::max(p.step_s[b] - p.optimizer_s, 0.0);
  return layers > room && layers > 0 ? room / layers : 1;
}

namespace {

PassTime pass_of(const Profile& p, std::size_t b) {
  const double scale = fit_to_step(p, b);
  PassTime out;
  std::vector<double> layer_end(p.layers.size());
  for (const ProfileLayer& l : p.layers)
    out.forward_s += scale * l.forward_s[b];
  if (p.loss) {
    out.forward_s += scale * p.loss->forward_s[b];
    out.backward_s = scale * p.loss->backward_s[b];
  }
  for (std::size_t i = p.layers.size(); i-- > 0;) {
    out.backward_s += scale * p.layers[i].backward_s[b];
    layer_end[i] = out.backward_s;
  }
  out.ready_s.resize(p.params.size());
  double latest = 0;
  for (const std::size_t i : p.gradient_order) {
    latest = std::max(latest, layer_end[p.params[i].layer]);
    out.ready_s[i] = latest;
  }
  return out;
}

}  // namespace

Workload make_workload(Profile profile, bool estimated) {
  Workload work;
  work.profile = std::move(profile);
  const Profile& p = work.profile;
  work.estimated = estimated;
  work.compute_spread =
      estimated ? kRooflineSpread : std::max(kProfileSpread, p.jitter);
  for (const ProfileParam& param : p.params) {
    work.params.numel.push_back(param.numel);
    if (param.rows > 0) work.params.rows.push_back(param.rows);
  }
  work.params.buffer_bytes = static_cast<std::int64_t>(p.buffer_bytes);
  for (std::size_t b = 0; b < p.batches.size(); ++b) {
    work.at.push_back(pass_of(p, b));
    const PassTime& pass = work.at.back();
    work.overhead_s.push_back(std::max(
        0.0, p.step_s[b] - pass.forward_s - pass.backward_s - p.optimizer_s));
  }
  return work;
}

Workload with_steps(const Workload& work, std::span<const SeenStep> seen) {
  Profile p = work.profile;
  p.batches.clear(), p.step_s.clear(), p.memory_bytes.clear();
  for (ProfileLayer& l : p.layers) l.forward_s.clear(), l.backward_s.clear();
  if (p.loss) p.loss = ProfileLoss{};
  for (const SeenStep& s : seen) {
    const double batch = static_cast<double>(s.batch);
    const PassTime pass = pass_at(work, batch);
    const double passes_s = pass.forward_s + pass.backward_s;
    // What is not the update is shared out as it was.
    const double expected_s = passes_s + overhead_at(work, batch);
    const double scale =
        std::max(s.step_s - p.optimizer_s, s.step_s / 2) / expected_s;
    const Between at = place_of(work.profile.batches, batch);
    const auto seconds = [&](const std::vector<double>& t) {
      return scale * mix(t[at.low], t[at.low + 1], at);
    };
    if (const auto& loss = work.profile.loss) {
      p.loss->forward_s.push_back(seconds(loss->forward_s));
      p.loss->backward_s.push_back(seconds(loss->backward_s));
    }
    for (std::size_t i = 0; i < p.layers.size(); ++i) {
      const ProfileLayer& l = work.profile.layers[i];
      p.layers[i].forward_s.push_back(seconds(l.forward_s));
      p.layers[i].backward_s.push_back(seconds(l.backward_s));
    }
    p.batches.push_back(s.batch);
    p.step_s.push_back(s.step_s);
    if (const auto& m = work.profile.memory_bytes; !m.empty())
      p.memory_bytes.push_back(mix(m[at.low], m[at.low + 1], at));
  }
  p.optimizer_s = std::min(p.optimizer_s, std::ranges::min(p.step_s) / 2);
  return make_workload(std::move(p), /*estimated=*/false);
}

PassTime pass_at(const Workload& work, double batch) {
  const Between at = place_of(work.profile.batches, batch);
  const PassTime& a = work.at[at.low];
  const PassTime& b = work.at[at.low + 1];
  PassTime out{.forward_s = mix(a.forward_s, b.forward_s, at),
               .backward_s = mix(a.backward_s, b.backward_s, at),
               .ready_s = std::vector<double>(a.ready_s.size())};
  for (std::size_t i = 0; i < out.ready_s.size(); ++i)
    out.ready_s[i] =
        std::min(mix(a.ready_s[i], b.ready_s[i], at), out.backward_s);
  return out;
}

double overhead_at(const Workload& work, double batch) {
  const Between at = place_of(work.profile.batches, batch);
  return mix(work.overhead_s[at.low], work.overhead_s[at.low + 1], at);
}

std::vector<double> layer_times(const Workload& work, double batch) {
  const Profile& p = work.profile;
  const Between at = place_of(p.batches, batch);
  const auto both = [&](const auto& l) {
    return mix(l.forward_s[at.low] + l.backward_s[at.low],
               l.forward_s[at.low + 1] + l.backward_s[at.low + 1], at);
  };
  std::vector<double> out;
  for (const ProfileLayer& l : p.layers) out.push_back(both(l));
  if (p.loss) out.back() += both(*p.loss);
  return out;
}

}  // namespace lockstep

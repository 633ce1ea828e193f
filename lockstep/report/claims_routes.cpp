// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/claims_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "lockstep/core/units.h"
#include "lockstep/hardware/hardware_file.h"
#include "lockstep/hardware/presets.h"
#include "lockstep/predict/predictor.h"
#include "lockstep/report/claim_points.h"

namespace lockstep {
namespace {

// The seed's four GPUs reach each other through the host, which all share; the
// other link stands for one of their own between every two.
constexpr const char* kSeedHardware = "4x1080ti";
constexpr const char* kOwnLinks = "nvlink1-mesh";

// data_parallel of one model, route by route; a route nobody named is left out.
using Routes = std::map<std::string, ClaimPoints>;

Routes routes_of(const Study& study) {
  Routes out;
  for (const StudyPoint* p : several_devices(study, "linear"))
    if (p->strategy == "data_parallel" && !p->route.empty())
      out[p->route].push_back(p);
  return out;
}

// How far apart 2 and 4 devices are, and where they are furthest.
struct Apart {
  double most = 0;  // ratio of epoch times; 0: nothing to compare
  std::int64_t batch = 0;
  const StudyPoint *two = nullptr, *four = nullptr;
};

Apart apart(const ClaimPoints& points) {
  Apart out;
  for (const std::int64_t batch : batches_of(points)) {
    const StudyPoint *two = at(points, 2, batch), *four = at(points, 4, batch);
    if (two == nullptr || four == nullptr) continue;
    const double ratio =
        std::max(two->epoch_s / four->epoch_s, four->epoch_s / two->epoch_s);
    if (ratio > out.most)
      out = {.most = ratio, .batch = batch, .two = two, .four = four};
  }
  return out;
}

std::string apart_words(const Apart& a) {
  return fmt::format("furthest apart at batch {}: 2 take {}, 4 take {}",
                     a.batch, said_epoch(*a.two), said_epoch(*a.four));
}

// "star 26.1 ms, 50.5 ms, 74.8 ms (predicted from 4x1080ti)".
std::string steps_said(const std::string& route, const ClaimPoints& points,
                       std::int64_t batch) {
  std::string times, origin;
  for (const std::int64_t ranks : {2, 3, 4}) {
    const StudyPoint* p = at(points, ranks, batch);
    times += fmt::format("{} {}", times.empty() ? "" : ",",
                         p == nullptr ? "?" : format_seconds(p->step.value));
    if (p != nullptr && p->origin != Origin::measured)
      origin = p->why.empty() ? std::string(word(p->origin)) : p->why;
  }
  return route + times + (origin.empty() ? "" : " (" + origin + ")");
}

double predicted_step_s(const Cluster& cluster, Route route, int ranks,
                        std::int64_t batch) {
  const Subject subject = find_subject("linear");
  Question q;
  q.method = Method::data_parallel, q.strategy.collective = route;
  q.ranks = ranks, q.batch = batch;
  q.scaling = Scaling::strong, q.resident = true;
  return Predictor(subject, cluster)(q).time.step_s;
}

// The seed's GPUs, had they links of their own.
std::string with_own_links(std::int64_t batch) {
  Cluster cluster = find_hardware(kSeedHardware).cluster;
  cluster.inside = find_link(kOwnLinks);
  std::string out;
  for (const auto& [name, route] :
       {std::pair("star", Route::star), std::pair("ring", Route::ring)}) {
    out += fmt::format("{}{}", out.empty() ? "" : "; ", name);
    for (const int ranks : {2, 3, 4})
      out += fmt::format(
          "{} {}", ranks == 2 ? "" : ",",
          format_seconds(predicted_step_s(cluster, route, ranks, batch)));
  }
  return out;
}

}  // namespace

Claim same_from_two_on(const Study& study) {
  const std::string source = "seed 000, 5.1, 6.1.2";
  const std::string claim = "linear: 2, 3 and 4 GPUs take the same time";
  const Routes routes = routes_of(study);
  // NCCL, which the seed's PyTorch calls, passes on.
  const auto ring = routes.find("ring");
  const bool passed_on = ring != routes.end() && apart(ring->second).most > 0;
  const Apart all =
      apart(passed_on ? ring->second : several_devices(study, "linear"));
  if (all.most == 0)
    return untested(source, claim, "no batch with 2 and 4 devices");
  const auto star = routes.find("star");
  const Apart through_one =
      passed_on && star != routes.end() ? apart(star->second) : Apart{};
  return judged(source, claim,
                through_one.most > 0
                    ? fmt::format("ring, as NCCL does: {}; star, all through "
                                  "device 0: {}",
                                  apart_words(all), apart_words(through_one))
                    : apart_words(all),
                all.most <= kSame);
}

Claim why_equal(const Study& study) {
  const std::string source = "seed 000, 6.1.2";
  const std::string claim =
      "2, 3 and 4 GPUs are equal because NCCL sends to many in the time of one";
  const Routes routes = routes_of(study);
  const auto star = routes.find("star"), ring = routes.find("ring");
  const Apart one_by_one = star == routes.end() ? Apart{} : apart(star->second),
              passed_on = ring == routes.end() ? Apart{} : apart(ring->second);
  if (one_by_one.most == 0 || passed_on.most == 0)
    return untested(
        source, claim,
        "no star and ring on 2 and 4 devices to compare: "
        "recipes/study_stevens_routes.toml (--predict-missing where four are "
        "missing)");
  std::string text =
      fmt::format("a step at batch {} on 2, 3, 4 devices: ", one_by_one.batch);
  for (const char* route : {"star", "ring", "tree"})
    if (const auto found = routes.find(route); found != routes.end())
      text += fmt::format("{}{}", found->first == "star" ? "" : "; ",
                          steps_said(route, found->second, one_by_one.batch));
  const bool flat = passed_on.most <= kSame, climbs = one_by_one.most > kSame;
  text += flat && climbs ? ": passing on levels the times, device 0 alone pays "
                           "for each further device"
          : flat         ? ": equal whatever the route, so the route is not why"
                         : ": passing on does not level the times";
  text += fmt::format(
      ". With links of their own instead of a shared host ({}, predicted): {}",
      kOwnLinks, with_own_links(one_by_one.batch));
  return judged(source, claim, text, flat && climbs);
}

}  // namespace lockstep

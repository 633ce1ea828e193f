// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/claim_points.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "lockstep/analyse/student.h"
#include "lockstep/core/units.h"

namespace lockstep {

ClaimPoints points_where(const Study& study,
                         const std::function<bool(const StudyPoint&)>& wanted) {
  ClaimPoints out;
  for (const StudyPoint& p : study.points)
    if (p.drawn() && p.origin != Origin::failed && wanted(p)) out.push_back(&p);
  std::ranges::stable_sort(out, [](const StudyPoint* a, const StudyPoint* b) {
    return std::pair(a->ranks, a->global_batch) <
           std::pair(b->ranks, b->global_batch);
  });
  return out;
}

ClaimPoints several_devices(const Study& study, const std::string& model) {
  for (const char* strategy : {"data_parallel", "ddp"}) {
    ClaimPoints found = points_where(study, [&](const StudyPoint& p) {
      return p.model == model && p.ranks > 1 && p.strategy == strategy;
    });
    if (!found.empty()) return found;
  }
  return {};
}

const StudyPoint* at(const ClaimPoints& points, std::int64_t ranks,
                     std::int64_t global_batch) {
  const StudyPoint* found = nullptr;
  for (const StudyPoint* p : points) {
    if (p->ranks != ranks || p->global_batch != global_batch) continue;
    if (found == nullptr || p->origin == Origin::measured) found = p;
  }
  return found;
}

std::vector<std::int64_t> batches_of(const ClaimPoints& points) {
  std::set<std::int64_t> found;
  for (const StudyPoint* p : points) found.insert(p->global_batch);
  return {found.begin(), found.end()};
}

std::string said_epoch(const StudyPoint& point) {
  std::string text = format_seconds(point.epoch_s);
  if (point.origin != Origin::measured)
    text += " (" + std::string(word(point.origin)) + ")";
  return text;
}

Line fit_line(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) mx += x[i] / n, my += y[i] / n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sxx += (x[i] - mx) * (x[i] - mx);
    sxy += (x[i] - mx) * (y[i] - my);
    syy += (y[i] - my) * (y[i] - my);
  }
  Line out{.slope = sxy / sxx};
  out.offset = my - out.slope * mx;
  const double rest = std::max(0.0, syy - out.slope * sxy);
  out.r2 = syy > 0 ? 1 - rest / syy : 1;
  const double se = n > 2 ? std::sqrt(rest / (n - 2) / sxx) : std::nan("");
  const double t = n > 2 ? student_quantile(0.975, n - 2) : std::nan("");
  out.slope_low = out.slope - t * se, out.slope_high = out.slope + t * se;
  return out;
}

Claim untested(std::string source, std::string claim, std::string missing) {
  return {.source = std::move(source),
          .claim = std::move(claim),
          .measured = std::move(missing),
          .verdict = ClaimVerdict::cannot_be_tested};
}

Claim judged(std::string source, std::string claim, std::string measured,
             bool holds) {
  return {.source = std::move(source),
          .claim = std::move(claim),
          .measured = std::move(measured),
          .verdict = holds ? ClaimVerdict::holds : ClaimVerdict::does_not_hold};
}

}  // namespace lockstep

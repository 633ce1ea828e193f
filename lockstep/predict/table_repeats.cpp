// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace lockstep {
namespace {

std::string key_of(const TableRow& row, Repeats repeats) {
  const TableFacts f = facts_of(row);
  std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}|{}", f.model, f.gpu, f.gpus, f.nodes,
                  f.link, f.software, f.half ? "half" : "full");
  if (repeats == Repeats::machine)
    key += fmt::format("|{}|{}", f.host, row.batch_per_gpu.value_or(0));
  return key;
}

// In logarithms, so that faster and slower count alike.
double middle(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half]
                                : std::sqrt(values[half - 1] * values[half]);
}

}  // namespace

std::string_view word(Repeats repeats) {
  switch (repeats) {
    case Repeats::configuration:
      return "configuration";
    case Repeats::machine:
      return "machine and batch";
  }
  return "";
}

std::vector<Repeated> repeated(std::span<const HeldBack> rows,
                               Repeats repeats) {
  std::map<std::string, std::vector<const HeldBack*>> alike;
  for (const HeldBack& r : rows) alike[key_of(r.row, repeats)].push_back(&r);
  std::vector<Repeated> out;
  for (const HeldBack& r : rows) {
    std::vector<double> others;
    for (const HeldBack* other : alike[key_of(r.row, repeats)])
      if (other->row.source != r.row.source) others.push_back(other->measured);
    if (!others.empty()) out.push_back({r, middle(std::move(others))});
  }
  return out;
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

template <class Enum, std::size_t N>
Enum pick(const std::array<Enum, N>& all, const std::string& text,
          const std::string& where) {
  std::vector<std::string_view> words;
  for (const Enum e : all) {
    if (word(e) == text) return e;
    words.push_back(word(e));
  }
  throw Error(Fault::config, where, "'" + text + "' is none of the words",
              fmt::format("one of: {}", fmt::join(words, ", ")));
}

}  // namespace

LinkKind link_kind(const std::string& text, const std::string& where) {
  return pick(
      std::array{LinkKind::pcie, LinkKind::bridge, LinkKind::mesh,
                 LinkKind::nvswitch, LinkKind::network, LinkKind::memory},
      text, where);
}

Hop hop(const std::string& text, const std::string& where) {
  return pick(std::array{Hop::nvlink, Hop::pcie, Hop::net, Hop::memory}, text,
              where);
}

CurveOp curve_op(const std::string& text, const std::string& where) {
  return pick(
      std::array{CurveOp::all_reduce, CurveOp::reduce, CurveOp::broadcast,
                 CurveOp::all_gather, CurveOp::reduce_scatter},
      text, where);
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/text.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace lockstep {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t swap = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, swap});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string nearest(std::string_view wrong,
                    std::span<const std::string> names) {
  std::string best;
  std::size_t distance = std::max<std::size_t>(2, wrong.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t d = edit_distance(lower(wrong), lower(name));
    if (d < distance) distance = d, best = name;
  }
  return best;
}

}  // namespace lockstep

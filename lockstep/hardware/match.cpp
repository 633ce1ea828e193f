// SPDX-License-Identifier: Apache-2.0
// How the names people write find a preset: spelling set aside for devices,
// the words of a description for links.
#include <algorithm>
#include <cctype>

#include "lockstep/core/text.h"
#include "lockstep/hardware/presets.h"

namespace lockstep {
namespace {

constexpr std::string_view kMakers[] = {"nvidia", "tesla", "geforce"};

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

// " pcie4 epyc 7502 no p2p ": words between single blanks.
std::string spaced_words(std::string_view text) {
  std::string out = " ";
  for (const char c : lower(text)) {
    if (is_word_char(c))
      out += c;
    else if (out.back() != ' ')
      out += ' ';
  }
  if (out.back() != ' ') out += ' ';
  return out;
}

// How many letters of `text` the pattern "pcie4+no p2p" accounts for; 0 when
// one of its phrases is missing. A phrase matches whole words.
std::size_t score(const std::string& text, const std::string& pattern) {
  std::size_t letters = 0;
  for (const std::string& phrase : split(pattern, '+')) {
    if (text.find(" " + phrase + " ") == std::string::npos) return 0;
    letters += phrase.size();
  }
  return letters;
}

const Link* best_match(const std::string& text, bool network) {
  const Link* best = nullptr;
  std::size_t best_score = 0;
  for (const Link& link : link_presets()) {
    if ((link.kind == LinkKind::network) != network) continue;
    for (const std::string& pattern : link.match) {
      const std::size_t s = score(text, pattern);
      if (s > best_score) best = &link, best_score = s;
    }
  }
  return best;
}

}  // namespace

std::string plain_name(std::string_view name) {
  std::string out = lower(name);
  for (const std::string_view maker : kMakers)
    if (const auto at = out.find(maker); at != std::string::npos)
      out.erase(at, maker.size());
  std::erase_if(out, [](char c) { return !is_word_char(c); });
  return out;
}

const DeviceSpec* match_device(std::string_view text) {
  const std::string plain = plain_name(text);
  const DeviceSpec* best = nullptr;
  std::size_t longest = 0;
  for (const DeviceSpec& device : device_presets()) {
    const auto consider = [&](const std::string& name) {
      const std::string candidate = plain_name(name);
      if (candidate.size() <= longest || candidate.empty()) return;
      const bool found = candidate.size() > 2
                             ? plain.find(candidate) != std::string::npos
                             : plain == candidate;
      if (found) best = &device, longest = candidate.size();
    };
    consider(device.name);
    for (const std::string& other : device.other_names) consider(other);
  }
  return best;
}

LinkMatch match_links(std::string_view text) {
  const std::string words = spaced_words(text);
  return {.inside = best_match(words, false),
          .between = best_match(words, true)};
}

}  // namespace lockstep

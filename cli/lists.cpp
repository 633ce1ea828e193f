// SPDX-License-Identifier: Apache-2.0
#include "cli/lists.h"

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep::cli {
namespace {

constexpr std::size_t kMostItems = 100'000;

bool is_dots(const std::string& word) {
  return word == "..." || word == "\u2026";
}

std::int64_t number_of(const std::string& option, const std::string& word) {
  const auto value = parse_number<std::int64_t>(word);
  if (!value || *value < 1)
    throw Error(Fault::config, option,
                "'" + word + "' is not a whole number from 1 on");
  return *value;
}

// What lies between the last two of `list` and `end`.
void fill(const std::string& option, std::vector<std::int64_t>& list,
          std::int64_t end) {
  if (list.size() < 2 || list.back() <= list[list.size() - 2])
    throw Error(Fault::config, option, "'...' needs two rising numbers before");
  const std::int64_t a = list[list.size() - 2], b = list.back();
  const bool factor = b % a == 0 && b / a > 1 && !(a == 1 && b == 2 && end < 4);
  std::int64_t next = factor ? b * (b / a) : b + (b - a);
  while (next < end && list.size() < kMostItems) {
    list.push_back(next);
    next = factor ? next * (b / a) : next + (b - a);
  }
  if (next != end)
    throw Error(Fault::config, option,
                "the list does not reach " + std::to_string(end));
  list.push_back(end);
}

}  // namespace

std::vector<std::string> words_of(const std::string& option,
                                  const std::string& text) {
  std::vector<std::string> out;
  for (const std::string& part : split(text, ',')) {
    const std::string word(trim(part));
    if (word.empty())
      throw Error(Fault::config, option, "'" + text + "' has an empty entry");
    out.push_back(word);
  }
  return out;
}

std::vector<std::int64_t> numbers_of(const std::string& option,
                                     const std::string& text) {
  std::vector<std::int64_t> out;
  bool dots = false;
  for (const std::string& word : words_of(option, text)) {
    if (is_dots(word)) {
      dots = true;
      continue;
    }
    const std::int64_t value = number_of(option, word);
    if (dots)
      fill(option, out, value);
    else
      out.push_back(value);
    dots = false;
  }
  if (dots)
    throw Error(Fault::config, option, "'...' needs a number behind it");
  return out;
}

}  // namespace lockstep::cli

// SPDX-License-Identifier: Apache-2.0
// A setting as data: its name, what it may hold, how to read and change it.
// describe() of each section is turned into a list of these once; the TOML
// loader, --set, --explain, the record and the docs table all walk that list,
// so they cannot disagree.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lockstep/core/error.h"

namespace lockstep {

struct Bounds {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};

struct RealBounds {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

using Value =
    std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

enum class FieldType { flag, number, real, text, choice, reals };

struct Field {
  std::string section, name, help;
  FieldType type = FieldType::text;
  std::vector<std::string> words;  // of a choice, in the enum's order
  std::string range;               // for people: ">= 1", "0 to 1"
  std::function<Value()> get;
  // Throws Error{Fault::config} with the dotted name when the value does not
  // fit. An integer fits where a real is wanted, nothing else is converted.
  std::function<void(const Value&)> set;

  std::string dotted() const { return section + "." + name; }
};

// Reads the text of `--set a.b=text` as the field's type and sets it.
void set_from_text(const Field& field, const std::string& text);

// The value as a recipe would spell it: 3, 0.1, true, "word", [0.5, 0.5].
std::string to_toml(const Value& value);

// The visitor that describe() of a section is called with.
class FieldLister {
 public:
  FieldLister(std::string section, std::vector<Field>& out)
      : section_(std::move(section)), out_(out) {}

  template <class Enum>
  void choice(std::string_view name, Enum& field,
              std::initializer_list<const char*> words, std::string_view help) {
    add(
        name, help, FieldType::choice,
        std::vector<std::string>(words.begin(), words.end()), "",
        [&field, list = std::vector<std::string>(words.begin(), words.end())] {
          return Value(list[static_cast<std::size_t>(field)]);
        },
        [&field](std::int64_t i) { field = static_cast<Enum>(i); });
  }
  void number(std::string_view name, std::int64_t& field, Bounds bounds,
              std::string_view help);
  void real(std::string_view name, double& field, RealBounds bounds,
            std::string_view help);
  void flag(std::string_view name, bool& field, std::string_view help);
  void text(std::string_view name, std::string& field, std::string_view help);
  void reals(std::string_view name, std::vector<double>& field,
             std::string_view help);

 private:
  void add(std::string_view name, std::string_view help, FieldType type,
           std::vector<std::string> words, std::string range,
           std::function<Value()> get,
           std::function<void(std::int64_t)> set_word);

  std::string section_;
  std::vector<Field>& out_;
};

}  // namespace lockstep

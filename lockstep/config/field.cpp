// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/field.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/text.h"

namespace lockstep {
namespace {

[[noreturn]] void fail(const Field& f, const std::string& what,
                       const std::string& hint = {}) {
  throw Error(Fault::config, f.dotted(), what, hint);
}

std::string describe_value(const Value& value) { return to_toml(value); }

template <class T>
const T& need(const Field& f, const Value& value, const char* kind) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  fail(f, fmt::format("{} is not {}", describe_value(value), kind));
}

double need_real(const Field& f, const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*i);
  return need<double>(f, value, "a number");
}

std::string range_text(double min, double max) {
  if (std::isfinite(min) && std::isfinite(max))
    return fmt::format("{} to {}", min, max);
  if (std::isfinite(min)) return fmt::format(">= {}", min);
  if (std::isfinite(max)) return fmt::format("<= {}", max);
  return "";
}

std::string range_text(Bounds b) {
  const Bounds any;
  if (b.min != any.min && b.max != any.max)
    return fmt::format("{} to {}", b.min, b.max);
  if (b.min != any.min) return fmt::format(">= {}", b.min);
  if (b.max != any.max) return fmt::format("<= {}", b.max);
  return "";
}

void check_range(const Field& f, double value, RealBounds b) {
  // Written so that NaN is out of range too.
  if (value >= b.min && value <= b.max) return;
  fail(f, fmt::format("{} is out of range", value),
       f.range.empty() ? "" : "it may be " + f.range);
}

}  // namespace

void FieldLister::add(std::string_view name, std::string_view help,
                      FieldType type, std::vector<std::string> words,
                      std::string range, std::function<Value()> get,
                      std::function<void(std::int64_t)> set_word) {
  Field f;
  f.section = section_, f.name = name, f.help = help, f.type = type;
  f.words = std::move(words), f.range = std::move(range);
  f.get = std::move(get);
  if (type == FieldType::choice) {
    f.set = [meta = f, set_word = std::move(set_word)](const Value& value) {
      const auto& word = need<std::string>(meta, value, "a word in quotes");
      const auto at = std::ranges::find(meta.words, word);
      if (at == meta.words.end()) {
        const std::string close = nearest(word, meta.words);
        fail(meta,
             fmt::format("'{}' is not one of {}", word,
                         fmt::join(meta.words, ", ")),
             close.empty() ? "" : "did you mean '" + close + "'?");
      }
      set_word(at - meta.words.begin());
    };
  }
  out_.push_back(std::move(f));
}

void FieldLister::number(std::string_view name, std::int64_t& field,
                         Bounds bounds, std::string_view help) {
  add(name, help, FieldType::number, {}, range_text(bounds),
      [&field] { return Value(field); }, {});
  out_.back().set = [&field, bounds, meta = out_.back()](const Value& value) {
    const auto n = need<std::int64_t>(meta, value, "a whole number");
    if (n < bounds.min || n > bounds.max)
      fail(meta, fmt::format("{} is out of range", n),
           "it may be " + meta.range);
    field = n;
  };
}

void FieldLister::real(std::string_view name, double& field, RealBounds bounds,
                       std::string_view help) {
  add(name, help, FieldType::real, {}, range_text(bounds.min, bounds.max),
      [&field] { return Value(field); }, {});
  out_.back().set = [&field, bounds, meta = out_.back()](const Value& value) {
    const double x = need_real(meta, value);
    if (!std::isfinite(x)) fail(meta, fmt::format("{} is not finite", x));
    check_range(meta, x, bounds);
    field = x;
  };
}

void FieldLister::flag(std::string_view name, bool& field,
                       std::string_view help) {
  add(name, help, FieldType::flag, {}, "", [&field] { return Value(field); },
      {});
  out_.back().set = [&field, meta = out_.back()](const Value& value) {
    field = need<bool>(meta, value, "true or false");
  };
}

void FieldLister::text(std::string_view name, std::string& field,
                       std::string_view help) {
  add(name, help, FieldType::text, {}, "", [&field] { return Value(field); },
      {});
  out_.back().set = [&field, meta = out_.back()](const Value& value) {
    field = need<std::string>(meta, value, "text in quotes");
  };
}

void FieldLister::reals(std::string_view name, std::vector<double>& field,
                        std::string_view help) {
  add(name, help, FieldType::reals, {}, "", [&field] { return Value(field); },
      {});
  out_.back().set = [&field, meta = out_.back()](const Value& value) {
    const auto& list =
        need<std::vector<double>>(meta, value, "a list of numbers");
    for (const double x : list)
      if (!std::isfinite(x)) fail(meta, fmt::format("{} is not finite", x));
    field = list;
  };
}

void set_from_text(const Field& field, const std::string& text) {
  switch (field.type) {
    case FieldType::flag:
      if (text != "true" && text != "false")
        fail(field, fmt::format("'{}' is not true or false", text));
      return field.set(text == "true");
    case FieldType::number: {
      const auto n = parse_number<std::int64_t>(text);
      if (!n) fail(field, fmt::format("'{}' is not a whole number", text));
      return field.set(*n);
    }
    case FieldType::real: {
      const auto x = parse_number<double>(text);
      if (!x) fail(field, fmt::format("'{}' is not a number", text));
      return field.set(*x);
    }
    case FieldType::reals: {
      std::vector<double> list;
      for (const std::string& part : split(text, ',')) {
        const auto x = parse_number<double>(trim(part));
        if (!x) fail(field, fmt::format("'{}' is not a number", part));
        list.push_back(*x);
      }
      return field.set(list);
    }
    case FieldType::text:
    case FieldType::choice:
      return field.set(text);
  }
}

std::string to_toml(const Value& value) {
  struct {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const {
      const std::string text = fmt::format("{}", d);
      return text.find_first_of(".en") == std::string::npos ? text + ".0"
                                                            : text;
    }
    std::string operator()(const std::string& s) const {
      std::string out = "\"";
      for (const char c : s) {
        if (c == '"' || c == '\\')
          out += '\\', out += c;
        else if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else
          out += c;
      }
      return out + "\"";
    }
    std::string operator()(const std::vector<double>& list) const {
      std::string out = "[";
      for (const double d : list)
        out += (out.size() > 1 ? ", " : "") + (*this)(d);
      return out + "]";
    }
  } write;
  return std::visit(write, value);
}

}  // namespace lockstep

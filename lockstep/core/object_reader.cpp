// SPDX-License-Identifier: Apache-2.0
#include "lockstep/core/object_reader.h"

#include <cmath>
#include <limits>

#include "lockstep/core/text.h"

namespace lockstep {

ObjectReader::ObjectReader(const Json& json, std::string path,
                           const Place& place)
    : json_(json), path_(std::move(path)), place_(place) {
  if (!json.is_object())
    throw Error(Fault::config, place(path_), "is not a table of fields");
}

bool ObjectReader::has(const std::string& key) const {
  known_.insert(key);
  return json_.contains(key);
}

std::string ObjectReader::where(const std::string& key) const {
  return place_(path_.empty() ? key : path_ + "." + key);
}

void ObjectReader::refuse(const std::string& key,
                          const std::string& wanted) const {
  throw Error(Fault::config, where(key), "is not " + wanted);
}

const Json& ObjectReader::any(const std::string& key) const {
  if (!has(key)) throw Error(Fault::config, where(key), "is missing");
  return json_.at(key);
}

const Json& ObjectReader::array(const std::string& key) const {
  const Json& json = any(key);
  if (!json.is_array()) refuse(key, "a list");
  return json;
}

std::string ObjectReader::text(const std::string& key) const {
  const Json& json = any(key);
  if (!json.is_string()) refuse(key, "text");
  return json.get<std::string>();
}

double ObjectReader::number(const std::string& key) const {
  const Json& json = any(key);
  if (!json.is_number()) refuse(key, "a number");
  const auto value = json.get<double>();
  if (!std::isfinite(value)) refuse(key, "a finite number");
  return value;
}

std::int64_t ObjectReader::whole(const std::string& key) const {
  const double value = number(key);
  // 2^53: beyond it a double no longer tells neighbours apart.
  if (value != std::floor(value) || std::abs(value) > 9007199254740992.0)
    refuse(key, "a whole number");
  return static_cast<std::int64_t>(value);
}

bool ObjectReader::flag(const std::string& key) const {
  const Json& json = any(key);
  if (!json.is_boolean()) refuse(key, "true or false");
  return json.get<bool>();
}

std::vector<double> ObjectReader::numbers(const std::string& key) const {
  std::vector<double> out;
  for (const Json& item : array(key)) {
    if (!item.is_number() || !std::isfinite(item.get<double>()))
      refuse(key, "a list of numbers");
    out.push_back(item.get<double>());
  }
  return out;
}

void ObjectReader::take(const std::string& key, std::string& field) const {
  if (has(key)) field = text(key);
}

void ObjectReader::take(const std::string& key, double& field) const {
  if (has(key)) field = number(key);
}

void ObjectReader::take(const std::string& key, std::int64_t& field) const {
  if (has(key)) field = whole(key);
}

void ObjectReader::take(const std::string& key, int& field) const {
  if (!has(key)) return;
  const std::int64_t value = whole(key);
  if (std::abs(value) > std::numeric_limits<int>::max())
    refuse(key, "a number of this size");
  field = static_cast<int>(value);
}

void ObjectReader::take(const std::string& key, bool& field) const {
  if (has(key)) field = flag(key);
}

void ObjectReader::finish() const {
  for (const auto& [key, value] : json_.items()) {
    if (known_.contains(key)) continue;
    const std::vector<std::string> names(known_.begin(), known_.end());
    const std::string close = nearest(key, names);
    throw Error(Fault::config, where(key), "there is no such field",
                close.empty() ? "" : "did you mean '" + close + "'?");
  }
}

}  // namespace lockstep

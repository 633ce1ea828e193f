// SPDX-License-Identifier: Apache-2.0
// Reads one JSON object field by field and refuses what it was not asked for:
// a misspelt field must not silently keep its default.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/json.h"

namespace lockstep {

class ObjectReader {
 public:
  using Place = std::function<std::string(const std::string& dotted)>;

  // Error{Fault::config} when `json` is no object. Both must outlive this.
  ObjectReader(const Json& json, std::string path, const Place& place);

  bool has(const std::string& key) const;
  std::string where(const std::string& key) const;

  // Each marks the field as known; Error when it is missing or of another
  // type. A number that is not finite is refused.
  const Json& any(const std::string& key) const;
  const Json& array(const std::string& key) const;
  std::string text(const std::string& key) const;
  double number(const std::string& key) const;
  std::int64_t whole(const std::string& key) const;
  bool flag(const std::string& key) const;
  std::vector<double> numbers(const std::string& key) const;
  void skip(const std::string& key) const { known_.insert(key); }

  // The same into a field that keeps its default where the key is missing.
  void take(const std::string& key, std::string& field) const;
  void take(const std::string& key, double& field) const;
  void take(const std::string& key, std::int64_t& field) const;
  void take(const std::string& key, int& field) const;
  void take(const std::string& key, bool& field) const;

  // Error for the first field nobody asked for, with the nearest right name.
  void finish() const;

 private:
  [[noreturn]] void refuse(const std::string& key,
                           const std::string& wanted) const;

  const Json& json_;
  std::string path_;
  const Place& place_;
  mutable std::set<std::string> known_;
};

// Runs `read`; an Error of it is given the place in the file.
template <class Read>
auto at_place(const std::string& place, const Read& read) {
  try {
    return read();
  } catch (const Error& e) {
    throw Error(e.fault(), place, e.what(), e.hint());
  }
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// Lists on the command line: "1,2,4" and "1,2,4,...,64".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::cli {

// Whole numbers from 1 on. "1,2,4,...,64" goes on as it began: by the factor
// or the difference of the last two. Error{Fault::config} names `option`.
std::vector<std::int64_t> numbers_of(const std::string& option,
                                     const std::string& text);
std::vector<std::string> words_of(const std::string& option,
                                  const std::string& text);

}  // namespace lockstep::cli

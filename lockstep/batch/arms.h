// SPDX-License-Identifier: Apache-2.0
// Runs sorted into arms: those where a batch size can be chosen, and why it
// cannot in the others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockstep/batch/run_groups.h"

namespace lockstep {

// By arm, then by ranks.
using Arms = std::map<std::string, std::map<std::int64_t, RunsBySize>>;

struct SortedArms {
  Arms kept;
  std::vector<std::string> left_out;  // a line each: which, and why
};

// Left out is what has one batch size only, and what learnt nothing: its best
// information is not above its own error. Arms point into `runs`. Where every
// arm has one size only they are all kept, for the comparison to refuse.
// Error{Fault::data} when no arm with several sizes learnt anything.
SortedArms sort_arms(const BatchRuns& runs);

// "2 device(s), <arm>".
std::string place_of(const std::string& arm, std::int64_t ranks);

// compare_batch_sizes() where the runs are sorted already. An arm of which no
// size reaches the target is added to `left_out` while another one's does.
std::vector<BatchComparison> compare_arms(const Arms& arms,
                                          const BatchRuns& runs,
                                          const CompareOptions& options,
                                          std::vector<std::string>& left_out);

// What an arm's best information must be above to count as learnt: the error
// of Fano's bound, which is two standard errors of the accuracy above chance,
// and two of what a confusion matrix shows without any dependence. 0 where
// classes or examples are not known.
double information_error(double accuracy, std::int64_t classes,
                         std::int64_t examples);

}  // namespace lockstep

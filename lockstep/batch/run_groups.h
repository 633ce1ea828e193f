// SPDX-License-Identifier: Apache-2.0
// Runs that differ in their seed alone, put together; one learning rate for
// each batch size. Used by the comparison and by sensitivity.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lockstep/batch/batch_run.h"
#include "lockstep/batch/compare.h"
#include "lockstep/batch/criterion.h"

namespace lockstep {

// Point into a BatchRuns that must outlive them.
using Runs = std::vector<const BatchRun*>;
// By batch size, then by learning rate.
using RunsBySize = std::map<double, std::map<double, Runs>>;

// Information against time. A run lost before its first evaluation knows
// nothing; another without one is Error{Fault::data} that names it.
Envelope information_curve(const BatchRun& run);
BatchCandidate candidate(const Runs& runs);
double best_accuracy(const BatchRun& run);

CriterionOptions criterion_options(const BatchRuns& runs,
                                   const CompareOptions& options);

// One group for each batch size. Where several learning rates ran: the one
// fastest to the target of them all, then the one that ends highest; a note
// says which.
std::vector<Runs> tune_learning_rate(const RunsBySize& sizes,
                                     const CriterionOptions& options,
                                     std::vector<std::string>& notes);

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// How much of N GPUs a row of a table gets, from one GPU's value: a physical
// step (all-reduce over a link, launches, stragglers, smaller batch) whose
// constants are sums of terms. Each term belongs to something with a
// name, from all rows down to one host, and shrinks to zero without evidence.
// Derivation: docs/numbers.md.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lockstep/predict/table_facts.h"
#include "lockstep/predict/verdict.h"

namespace lockstep {

// What a term adds to.
enum class TablePart {
  link,  // ln(exposed message seconds / those of fp32 gradients at 10 GB/s)
  loss,  // share of a step lost to stragglers, launches and the like
  split  // share of a step that does not shrink with the batch
};
constexpr int kTableParts = 3;

struct TableTerm {
  const char* name;
  TablePart part;
  const char* unit;
  double width;  // one standard deviation before any evidence
  Cause cause;   // what a loss by this term is called
  // Whose constant it is; empty: the term does not concern the row.
  std::string (*level)(const TableFacts&);
  double (*factor)(const TableFacts&);
};
std::span<const TableTerm> table_terms();

// Constants by term (in the order of table_terms) and level.
struct TableConstants {
  std::vector<std::map<std::string, double, std::less<>>> values;
  double noise = 0.03;  // of ln(value), what repeats of one row would show
  double spread = 1;    // factor on spread_scale for 90 % intervals
};
// The constants that ship with the program.
const TableConstants& table_constants();

// A part's sum, and its slope: how ln(step seconds) moves with the sum.
struct TableStep {
  double log_time = 0;  // ln(seconds at N / seconds at perfect scaling)
  double slope[kTableParts] = {};
  double exposed = 0;  // share of a step that waits for messages
};
TableStep table_step(const TableFacts& facts,
                     const double (&sums)[kTableParts]);

// What the row loses, as shares of its step, and how far it is known.
struct TableForecast {
  double efficiency = 1;
  Cause cause = Cause::compute;
  bool known_model = false, known_host = false, known_software = false;
};
TableForecast forecast(const TableFacts& facts, const TableConstants& with);

}  // namespace lockstep

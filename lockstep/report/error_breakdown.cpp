// SPDX-License-Identifier: Apache-2.0
// Where the error of predicted tables comes from: which repositories carry it,
// how much of it a few rows are, and how far two sources that measured the same
// thing are apart, which no model can undercut.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "lockstep/predict/table_repeats.h"
#include "lockstep/report/table_validation.h"

namespace lockstep {
namespace {

double sum_of_errors(const HeldRows& rows, double above) {
  double sum = 0;
  for (const HeldBack& r : rows)
    if (const double error = std::abs(r.error()); error > above) sum += error;
  return sum;
}

double share_above(const HeldRows& rows, double above) {
  double count = 0;
  for (const HeldBack& r : rows) count += std::abs(r.error()) > above ? 1 : 0;
  return count / static_cast<double>(rows.size());
}

std::string repository_lines(const HeldRows& rows) {
  std::map<std::string, HeldRows> parts;
  for (const HeldBack& r : rows)
    parts[together_key(r.row, Together::repository)].push_back(r);
  const double all = sum_of_errors(rows, 0);
  std::multimap<double, std::string, std::greater<>> lines;
  for (const auto& [name, part] : parts) {
    const TableScore s = score(part);
    const double share = sum_of_errors(part, 0) / all;
    lines.emplace(
        share, fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} | "
                           "{:.1f} |\n",
                           name, s.rows, 100 * s.mean_error, 100 * s.p95_error,
                           100 * s.right_verdicts, 100 * share));
  }
  std::string out =
      "| repository | rows | mean error % | p95 % | verdicts right % | of all "
      "error % |\n| --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& [share, line] : lines) out += line;
  return out;
}

std::string tail_lines(const HeldRows& rows) {
  std::string out =
      "| off by more than | of the rows % | of all error % |\n| --- | ---: | "
      "---: |\n";
  for (const double above : {0.05, 0.1, 0.2, 0.4})
    out +=
        fmt::format("| {:.0f} % | {:.1f} | {:.1f} |\n", 100 * above,
                    100 * share_above(rows, above),
                    100 * sum_of_errors(rows, above) / sum_of_errors(rows, 0));
  return out;
}

struct RepeatScore {
  TableScore elsewhere, predicted;
};

RepeatScore repeat_score(const HeldRows& rows, Repeats repeats) {
  HeldRows ours, theirs;
  for (const Repeated& r : repeated(rows, repeats)) {
    ours.push_back(r.held);
    theirs.push_back(r.held);
    theirs.back().predicted = r.elsewhere;
  }
  const auto guess = [](const HeldBack& r) { return r.predicted; };
  return {score(theirs, guess), score(ours, guess)};
}

std::string repeat_line(const std::string& name, const TableScore& s) {
  return fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} |\n", name, s.rows,
                     100 * s.mean_error, 100 * s.p95_error,
                     100 * s.right_verdicts);
}

std::string repeat_lines(const HeldRows& rows) {
  std::string out =
      "| | rows | mean error % | p95 % | verdicts right % |\n| --- | ---: | "
      "---: | ---: | ---: |\n";
  for (const Repeats repeats : {Repeats::configuration, Repeats::machine}) {
    const RepeatScore s = repeat_score(rows, repeats);
    const std::string same = fmt::format("same {}: ", word(repeats));
    out += repeat_line(same + "the other source's measurement", s.elsewhere);
    out += repeat_line(same + "lockstep predict --table", s.predicted);
  }
  return out;
}

}  // namespace

Json errors_json(const HeldRows& rows) {
  Json out = Json::object();
  for (const Repeats repeats : {Repeats::configuration, Repeats::machine}) {
    const RepeatScore s = repeat_score(rows, repeats);
    for (const auto& [name, part] :
         {std::pair{"other_source", &s.elsewhere}, {"lockstep", &s.predicted}})
      out[std::string(word(repeats))][name] = {
          {"rows", part->rows},
          {"mean_error", part->mean_error},
          {"p95_error", part->p95_error},
          {"right_verdicts", part->right_verdicts}};
  }
  return out;
}

std::string errors_section(const HeldRows& rows) {
  return "## Where the error comes from\n\nRows held back by source, again. "
         "Most are met closely, a few are not:\n\n" +
         tail_lines(rows) + "\n" + repository_lines(rows) +
         "\nHow much of this could a better model take away? Some "
         "configurations were measured by two sources or more. *Same "
         "configuration*: model, GPU, number of GPUs and nodes, link class, "
         "software, 16 or 32 bits. *Same machine and batch*: the host, as far "
         "as it is named, and the batch as well. The median of the other "
         "sources stands in for a prediction:\n\n" +
         repeat_lines(rows) +
         "\nModel, GPU, link and software alone leave as much open as the "
         "first line says; the prediction is closer because it knows hosts and "
         "batches. What is left when those are the same too (clocks, drivers, "
         "releases, rounding, mistakes) is the third line: two measurements of "
         "the same thing differ so much, and a prediction that knew everything "
         "these columns say would still be off by some 0.7 of it.\n\n";
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/report/batch_reasons.h"
#include "lockstep/report/claims.h"
#include "lockstep/report/epoch_lines.h"
#include "lockstep/report/layer_times.h"
#include "lockstep/report/numbered_figures.h"
#include "lockstep/report/overfitting.h"
#include "lockstep/report/seed_figures.h"
#include "lockstep/report/size_map.h"
#include "lockstep/report/untimed_answer.h"

namespace lockstep {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c == '|')
      out += "\\|";
    else if (c == '\n')
      out += ' ';
    else
      out += c;
  return out;
}

bool is_text(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows, [&](const auto& row) {
    return std::holds_alternative<std::string>(row[column]);
  });
}

std::string shown(const Column& column, const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return "";
  const bool number = std::holds_alternative<double>(cell) ||
                      std::holds_alternative<std::int64_t>(cell);
  if (number && column.show) return column.show(cell);
  if (const auto* text = std::get_if<std::string>(&cell)) return escaped(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&cell))
    return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell))
    return fmt::format("{:.4g}", *real);
  return std::get<bool>(cell) ? "yes" : "no";
}

std::string with_unit(const Column& column) {
  const std::string& title = column.title.empty() ? column.name : column.title;
  return escaped(column.unit.empty() ? title : title + " " + column.unit);
}

void add_section(std::string& out, const char* title, const Table& all,
                 bool page) {
  if (all.rows.empty()) return;
  const Table table = without_unfilled(all);
  out += page ? fmt::format("\n## {}\n\n{}", title, to_markdown(table))
              : fmt::format("\n{}\n{}", title, to_text(table));
}

// Too wide for a terminal.
void add_lines(std::string& out, const Study& study) {
  const LayerFindings layers = layer_findings_of(study);
  add_section(out, "What a sample costs, layer by layer", layers_table(layers),
              true);
  const std::vector<std::string> said = layer_sentences(layers);
  if (!said.empty()) out += '\n';
  for (const std::string& text : said) out += "- " + text + "\n";
  add_section(out, "Why a larger batch is faster",
              reasons_table(batch_reasons_of(study)), true);
  add_section(out, "What a step sends, by payload", payload_table(study), true);
  const std::vector<EpochLine> lines = epoch_lines_of(study);
  add_section(out, "Epoch time against the bytes sent over a link",
              byte_lines_table(lines), true);
  add_section(out, "Epoch time against 1/batch", batch_lines_table(lines),
              true);
}

// On a terminal the claims alone, as sentences: a table of them is too wide.
void add_seed(std::string& out, const Study& study, bool page) {
  const std::vector<Claim> claims = claims_of(study);
  if (claims.empty()) return;
  if (page) {
    add_section(out, "The seed's own figures", seed_table(study), page);
    if (const std::string none = figures_not_drawn(numbered_figures(study));
        !none.empty())
      out += "\n" + none + "\n";
    const std::vector<std::string> faults = seed_faults(study.kind);
    if (!faults.empty()) out += "\n## Faults of the seed\n\n";
    for (const std::string& fault : faults) out += "- " + fault + "\n";
    return add_section(out, "Claims of the seed", claims_table(claims), page);
  }
  out += "\nClaims of the seed\n";
  for (const Claim& c : claims)
    out += fmt::format("- {}: {} ({})\n    {}\n", word(c.verdict), c.claim,
                       c.source, c.measured);
}

std::string whole_report(const Study& study, const StudyFindings& findings,
                         const std::vector<StudyAnswer>& answers, bool page) {
  std::string out;
  if (page)
    out = fmt::format("# {}\n\n",
                      study.title.empty() ? study.paths.front() : study.title);
  const std::vector<SizeCell> sizes = size_map_of(study);
  for (const SizeBoundary& b : boundaries_of(sizes))
    out += fmt::format("{0}{1}{0}\n\n", page ? "**" : "", sentence(b));
  for (const StudyAnswer& a : answers)
    out += fmt::format(
        "{0}{1}{0}\n- How sure: {2}\n- Why: {3}\n- What would change it: "
        "{4}\n\n",
        page ? "**" : "", a.sentence, a.how_sure, a.why, a.what_would_change);
  if (answers.empty()) out += untimed_answer(study) + "\n";
  for (const std::string& note : study.notes) out += "- Note: " + note + "\n";
  for (const std::string& machine : study.machines)
    out += "- Machine: " + machine + "\n";
  out += to_text(findings.batch, page);
  add_section(out, "Which sizes scale", size_table(sizes), page);
  add_section(out, "Speed-up", scaling_table(study, findings), page);
  add_section(out, "Shares of a step, bandwidth, memory", shares_table(study),
              page);
  add_section(out, "Laws", laws_table(findings), page);
  add_section(out, "Saturation", saturation_table(findings), page);
  add_section(out, "Overfitting", overfitting_table(study), page);
  if (page) add_lines(out, study);
  add_section(out, "Runs", runs_table(study, Width::screen), page);
  add_seed(out, study, page);
  return out;
}

}  // namespace

std::string to_markdown(const Table& table) {
  std::string head = "|", rule = "|", out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    head += " " + with_unit(table.columns[i]) + " |";
    rule += is_text(table, i) ? " --- |" : " ---: |";
  }
  out = head + "\n" + rule + "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += " " + shown(table.columns[i], row[i]) + " |";
    out += "\n";
  }
  return out;
}

std::string study_markdown(const Study& study, const StudyFindings& findings,
                           const std::vector<StudyAnswer>& answers) {
  return whole_report(study, findings, answers, true);
}

std::string study_text(const Study& study, const StudyFindings& findings,
                       const std::vector<StudyAnswer>& answers) {
  return whole_report(study, findings, answers, false);
}

}  // namespace lockstep

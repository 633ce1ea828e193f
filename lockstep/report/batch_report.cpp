// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/batch_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "lockstep/analyse/batch_runs.h"
#include "lockstep/batch/arms.h"
#include "lockstep/core/error.h"
#include "lockstep/predict/subject.h"
#include "lockstep/report/batch_tables.h"

namespace lockstep {
namespace {

std::string context_of(const BatchComparison& c) {
  std::string out =
      fmt::format("{} {}{}{}: target {:.4f} nats", c.ranks,
                  c.ranks == 1 ? "device" : "devices",
                  c.arm.empty() ? "" : ", ", c.arm, c.target_nats);
  if (c.target_accuracy)
    out += fmt::format("; plain time to {:.4g} %", 100 * *c.target_accuracy);
  if (c.critical)
    out += fmt::format("; critical batch {:.0f} ({:.0f} to {:.0f}{})",
                       c.critical->batch, c.critical->low, c.critical->high,
                       c.critical->bends ? "" : ", beyond this sweep");
  for (const std::string& note : c.notes) out += "; " + note;
  return out;
}

// What each criterion says, the information criterion first: it chooses.
std::string batch_answer(const BatchComparison& c) {
  std::string out = fmt::format("On {} {}{}{}: ", c.ranks,
                                c.ranks == 1 ? "device" : "devices",
                                c.arm.empty() ? "" : ", ", c.arm);
  std::string others;
  for (const Pick& pick : c.picks) {
    const std::string batch =
        pick.batch ? fmt::format("{:g}", *pick.batch) : std::string("none");
    if (&pick == &c.picks.front())
      out += fmt::format("batch {}, by information a second ({}).", batch,
                         pick.reason);
    else
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ",
                            pick.criterion, batch);
  }
  return out + " Other criteria: " + others + ".";
}

// One of its runs says what the model and its settings are.
Subject subject_of(const BatchRuns& runs, const BatchComparison& c,
                   const std::filesystem::path& study) {
  const auto run = std::ranges::find_if(runs.runs, [&](const BatchRun& r) {
    return r.arm == c.arm && r.ranks == c.ranks;
  });
  check(run != runs.runs.end(), "a comparison has runs");
  return subject_of(config_of_run(study, run->name));
}

void add_devices(BatchReport& out, const BatchRuns& runs,
                 std::span<const BatchComparison> comparisons,
                 const DevicesAsked& more) {
  std::vector<ArmByDevices> arms;
  for (const BatchComparison& c : comparisons) {
    if (c.ranks != 1) continue;
    try {
      const OneDevice one = one_device(c, subject_of(runs, c, more.study));
      arms.push_back({c.arm, best_batches(one, more.cluster, more.devices)});
      out.context.push_back(fmt::format(
          "predicted for {}{}{}: steps of one device as measured, noise scale "
          "{:.0f} ({:.0f} to {:.0f}; {})",
          more.cluster.name, c.arm.empty() ? "" : ", ", c.arm, one.noise.value,
          one.noise.low, one.noise.high, one.noise.source));
    } catch (const Error& e) {
      out.context.push_back(
          fmt::format("no batch for more devices: {}", e.what()));
    }
  }
  out.devices = batch_by_devices(arms);
}

const Table& table_named(const BatchReport& r, const std::string& name) {
  if (name == "batches") return r.batches;
  if (name == "choices") return r.choices;
  if (name == "curve") return r.curve;
  if (name == "sensitivity") return r.sensitivity;
  if (name == "own") return r.own;
  if (name == "devices") return r.devices;
  throw Error(Fault::config, "--table", "'" + name + "' is not a table here",
              "batches, choices, curve, sensitivity, own or devices");
}

std::string all_as_text(const BatchReport& r) {
  std::string out = to_text(without_unfilled(r.batches)) + "\n" +
                    to_text(without_unfilled(r.choices)) +
                    "\nthe choice for targets further below the best\n" +
                    to_text(without_unfilled(r.curve));
  if (!r.own.rows.empty())
    out += "\nruns that chose their batch, the pilot's time counted\n" +
           to_text(without_unfilled(r.own));
  if (!r.devices.rows.empty())
    out += "\nthe best batch by goodput on more devices, predicted\n" +
           to_text(without_unfilled(r.devices));
  if (r.sensitivity.rows.empty())
    return out +
           "\nno sensitivity: it needs independent runs that differ in a "
           "setting\n";
  return out + "\nwhat outcomes hang on (share 1: all of it, 0: nothing)\n" +
         to_text(without_unfilled(r.sensitivity));
}

}  // namespace

BatchReport make_batch_report(const BatchRuns& runs,
                              const CompareOptions& options,
                              const std::optional<DevicesAsked>& more) {
  SortedArms arms = sort_arms(runs);
  const auto comparisons =
      compare_arms(arms.kept, runs, options, arms.left_out);
  BatchReport out{
      .batches = batch_rows(comparisons),
      .choices = batch_choices(comparisons),
      .curve = batch_curve(comparisons),
      .sensitivity = batch_sensitivity(sensitivity_of(runs, options)),
      .context = {"information: " + runs.information}};
  out.context.insert(out.context.end(), runs.notes.begin(), runs.notes.end());
  if (options.target_accuracy && runs.recorded)
    out.context.push_back(
        "target: Fano's bound of that accuracy, which information as recorded "
        "passes earlier; plain time is to the accuracy itself");
  for (const BatchComparison& c : comparisons) {
    out.context.push_back(context_of(c));
    out.answer.push_back(batch_answer(c));
  }
  out.context.insert(out.context.end(), arms.left_out.begin(),
                     arms.left_out.end());
  out.own = batch_own_choices(
      own_choices(runs.choosing, comparisons, options.crossing));
  if (more) add_devices(out, runs, comparisons, *more);
  return out;
}

std::string to_string(const BatchReport& report, Format format,
                      const std::string& csv_table) {
  const Table& one = table_named(report, csv_table);
  switch (format) {
    case Format::csv:
      return to_csv(one);
    case Format::text:
      return all_as_text(report);
    case Format::json: {
      Json json = to_json(report.batches);
      json["choices"] = to_json(report.choices)["rows"];
      json["curve"] = to_json(report.curve)["rows"];
      json["sensitivity"] = to_json(report.sensitivity)["rows"];
      if (!report.own.rows.empty()) json["own"] = to_json(report.own)["rows"];
      if (!report.devices.rows.empty())
        json["devices"] = to_json(report.devices)["rows"];
      return json.dump(2) + "\n";
    }
  }
  throw Error(Fault::internal, "format", "not an output format");
}

}  // namespace lockstep

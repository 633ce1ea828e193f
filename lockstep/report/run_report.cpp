// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/analyse/untimed.h"
#include "lockstep/core/json_fields.h"
#include "lockstep/core/units.h"
#include "lockstep/report/advice_line.h"
#include "lockstep/report/cells.h"
#include "lockstep/store/run_folder.h"
#include "lockstep/store/samples_csv.h"

namespace lockstep {
namespace {

struct SummaryPiece {
  const char* name;   // in the table
  const char* field;  // in the record's summary
  char letter;        // in the bar
};

constexpr std::array kSummaryPieces = {
    SummaryPiece{"data", "median_data_s", 'd'},
    SummaryPiece{"copy", "median_copy_s", 'c'},
    SummaryPiece{"forward", "median_forward_s", 'f'},
    SummaryPiece{"backward", "median_backward_s", 'b'},
    SummaryPiece{"exposed communication", "median_exposed_comm_s", 'x'},
    SummaryPiece{"update", "median_optim_s", 'u'},
    SummaryPiece{"wait for others", "median_wait_s", 'w'},
};

Cell record_cell(const Json& object, const char* field) {
  return cell(number_in(object, field));
}

const Json& setting(const RunRecord& record, const char* section,
                    const char* field) {
  return record.config.at(section).at(field);
}

std::int64_t global_batch(const RunRecord& r) {
  const auto global = setting(r, "batch", "global").get<std::int64_t>();
  if (global > 0) return global;
  return setting(r, "batch", "per_rank").get<std::int64_t>() *
         setting(r, "batch", "accumulate").get<std::int64_t>() *
         setting(r, "comm", "ranks").get<std::int64_t>();
}

std::string title(const RunView& run) {
  const RunRecord& r = run.record;
  return fmt::format("{}: {} on {}, {} rank(s) ({}), {}, global batch {}: {}\n",
                     run.path.string(),
                     setting(r, "model", "kind").get<std::string>(),
                     setting(r, "train", "device").get<std::string>(),
                     setting(r, "comm", "ranks").get<std::int64_t>(), r.backend,
                     setting(r, "strategy", "kind").get<std::string>(),
                     global_batch(r), r.status);
}

std::string bar(const RunView& run) {
  constexpr double kWidth = 60;
  const double step = number_in(run.record.summary, "median_step_s");
  std::string out = "[", key;
  for (const SummaryPiece& p : kSummaryPieces) {
    const double share = number_in(run.record.summary, p.field) / step;
    if (!(share > 0.005)) continue;
    out += std::string(static_cast<std::size_t>(std::lround(share * kWidth)),
                       p.letter);
    key += fmt::format("  {} {}", p.letter, p.name);
  }
  return out + "]" + key + "\n";
}

// The largest piece of the step, and what it means.
std::string conclusion_words(const RunView& run) {
  const Json& s = run.record.summary;
  const double step = number_in(s, "median_step_s");
  if (!run.not_timed.empty()) return "This run " + run.not_timed + ".\n";
  if (!std::isfinite(step)) return "No step was timed.\n";
  const SummaryPiece* largest = &*std::ranges::max_element(
      kSummaryPieces, {}, [&](const SummaryPiece& p) {
        const double value = number_in(s, p.field);
        return std::isfinite(value) ? value : -1.0;
      });
  return fmt::format("A step takes {}: {} of it is {}. {:.0f} samples/s.\n",
                     format_seconds(step),
                     format_percent(number_in(s, largest->field) / step),
                     largest->name, number_in(s, "samples_per_s"));
}

// Bytes that rank 0 took part in sending, a step.
double bytes_a_step(const RunView& run) {
  double bytes = 0, steps = 0;
  for (const CommSample& m : run.messages)
    if (m.rank == 0) bytes += static_cast<double>(m.bytes);
  for (const StepSample& s : run.steps) steps += s.rank == 0 ? 1 : 0;
  return steps > 0 ? bytes / steps : 0;
}

// What sending costs a step. Empty for a run that sends nothing.
std::string communication_words(const RunView& run) {
  const Json& s = run.record.summary;
  const double step = number_in(s, "median_step_s");
  const double comm = number_in(s, "median_comm_s");
  const double exposed = number_in(s, "median_exposed_comm_s");
  const double bytes = bytes_a_step(run);
  if (!(bytes > 0 && comm > 0 && step > 0)) return "";
  const bool emulated = run.record.backend == "emulated";
  return fmt::format(
      "{} of the step is exposed communication{}: {:.3g} MB a step at {:.2g} "
      "GB/s, {} of it hidden.\n",
      format_percent(exposed / step), emulated ? " (emulated)" : "",
      bytes * 1e-6, bytes / comm * 1e-9,
      format_percent(std::max(0.0, 1 - exposed / comm)));
}

// What a gradient hook saved and what its messages left out.
std::string hook(const RunView& run) {
  const Json hook = run.record.comm.value("hook", Json::object());
  if (hook.empty()) return "";
  std::string out = fmt::format("Hook {}: {:.3g} MB fewer in a step that sends",
                                text_in(hook, "kind"),
                                number_in(hook, "bytes_saved_a_step") * 1e-6);
  if (hook.contains("error_left_mean"))
    out += fmt::format(", {} of what a rank had to send left out, by norm",
                       format_percent(number_in(hook, "error_left_mean")));
  return out + ".\n";
}

// What messages in flight cost backward, where some steps held theirs back.
std::string slow_down(const RunView& run) {
  const Json& s = run.record.summary;
  const double held = number_in(s, "median_backward_held_s");
  const double free = number_in(s, "median_backward_s");
  if (!(held > 0 && free > 0)) return "";
  return fmt::format(
      "Backward takes {} with messages in flight and {} without ({} steps): "
      "{:+.1f} %.\n",
      format_seconds(free), format_seconds(held), whole_in(s, "held_steps"),
      (free / held - 1) * 100);
}

// Who waits for whom where an epoch ends; empty for one rank.
std::string epoch_end(const RunView& run) {
  const Json waits =
      run.record.summary.value("epoch_end_wait_s", Json::array());
  if (waits.size() < 2) return "";
  std::string out = "In the last step of an epoch";
  for (std::size_t rank = 0; rank < waits.size(); ++rank)
    if (waits[rank].is_number())
      out += fmt::format("{} rank {} waits {}", rank == 0 ? "" : ",", rank,
                         format_seconds(waits[rank].get<double>()));
  return out + ".\n";
}

void forget_run_times(RunView& run, const std::string& why) {
  run.not_timed = why;
  for (EpochSample& epoch : run.epochs)
    epoch.seconds = epoch.seconds_with_loading = std::nan("");
  Json kept = Json::object();
  for (const auto& [name, value] : run.record.summary.items())
    if (!name.ends_with("_s")) kept[name] = value;
  run.record.summary = std::move(kept);
}

}  // namespace

RunView read_run(const std::filesystem::path& path) {
  const RunFolder folder = RunFolder::open(path);
  RunView view{.path = path,
               .record = read_record(folder.path() / "record.json"),
               .steps = {},
               .messages = {},
               .epochs = {}};
  // A published run leaves its step files out.
  const auto there = [&](const char* name) {
    return std::filesystem::exists(path / name);
  };
  if (there("steps.csv")) view.steps = read_steps(path / "steps.csv");
  if (there("comm.csv")) view.messages = read_comm(path / "comm.csv");
  if (there("epochs.csv")) view.epochs = read_epochs(path / "epochs.csv");
  UntimedRuns untimed;
  const NotTimed* not_timed = untimed.find(path);
  const bool emulated = view.record.backend == "emulated";
  if (not_timed != nullptr && (not_timed->shared || !emulated))
    forget_run_times(
        view, not_timed->shared ? not_timed->why : "is " + not_timed->why);
  return view;
}

Table step_table(const RunView& run) {
  Table table{
      .verb = "report",
      .columns = {{.name = "piece"},
                  {.name = "median_s",
                   .title = "median",
                   .unit = "(ms)",
                   .show = scaled(1e3, 3)},
                  {.name = "share", .unit = "(%)", .show = scaled(100, 1)}}};
  const Json& s = run.record.summary;
  const double step = number_in(s, "median_step_s");
  for (const SummaryPiece& p : kSummaryPieces)
    table.add({std::string(p.name), record_cell(s, p.field),
               cell(number_in(s, p.field) / step)});
  table.add({std::string("step"), cell(step), 1.0});
  return table;
}

Table epochs_table(const RunView& run) {
  Table table{
      .verb = "report",
      .columns = {
          {.name = "epoch"},
          {.name = "train_loss", .title = "loss", .show = scaled(1, 4)},
          {.name = "train_accuracy",
           .title = "accuracy",
           .unit = "(%)",
           .show = scaled(100, 2)},
          {.name = "val_loss", .title = "val. loss", .show = scaled(1, 4)},
          {.name = "val_accuracy",
           .title = "val. accuracy",
           .unit = "(%)",
           .show = scaled(100, 2)},
          {.name = "seconds",
           .title = "time",
           .unit = "(s)",
           .show = scaled(1, 3)},
          {.name = "seconds_with_loading",
           .title = "with loading",
           .unit = "(s)",
           .show = scaled(1, 3)}}};
  for (const EpochSample& e : run.epochs)
    table.add({e.epoch + 1, cell(e.train_loss), cell(e.train_accuracy),
               cell(e.val_loss), cell(e.val_accuracy), cell(e.seconds),
               cell(e.seconds_with_loading)});
  return table;
}

std::string to_text(const RunView& run) {
  // Of a long run, the last epochs say enough.
  constexpr std::size_t kMaxEpochs = 12;
  Table epochs = epochs_table(run);
  std::string out = title(run);
  if (epochs.rows.size() > kMaxEpochs) {
    out +=
        fmt::format("\nlast {} of {} epochs\n", kMaxEpochs, epochs.rows.size());
    epochs.rows.erase(epochs.rows.begin(), epochs.rows.end() - kMaxEpochs);
  }
  out += "\n" + to_text(epochs);
  if (run.record.summary.contains("median_step_s"))
    out += "\n" + to_text(step_table(run)) + bar(run);
  return out + "\n" + conclusion_words(run) + communication_words(run) +
         hook(run) + slow_down(run) + epoch_end(run) + advice_line(run.record);
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/run_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "lockstep/core/clock.h"
#include "lockstep/core/file.h"
#include "lockstep/store/samples_csv.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool has_dp(const RunConfig& config) {
  return config.strategy.kind == StrategyKind::data_parallel;
}

// Nothing in it but what a killed process left half written.
bool free_for_run(const fs::path& path) {
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() != ".part") return false;
  return true;
}

void append_text(const fs::path& file, const std::string& text) {
  if (text.empty()) return;
  std::ofstream out(file, std::ios::app | std::ios::binary);
  out << text;
  out.flush();
  if (!out)
    throw Error(Fault::store, file.string(),
                fmt::format("cannot be written: {}", std::strerror(errno)),
                "free some space, or choose another folder");
}

// Whole lines only: a process that was killed may have left half of one.
std::string whole_lines(const fs::path& file) {
  std::string text = read_file(file, Fault::store, std::int64_t{4} << 30);
  text.resize(text.rfind('\n') + 1);
  return text;
}

// Keeps the head and the rows whose first number is below `limit`.
void keep_below(const fs::path& file, std::int64_t limit) {
  const std::string text = whole_lines(file);
  std::string kept;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin) + 1;
    const std::string line = text.substr(begin, end - begin);
    if (begin == 0 || std::strtoll(line.c_str(), nullptr, 10) < limit)
      kept += line;
    begin = end;
  }
  write_file(file, kept);
}

void keep_json_below(const fs::path& file, std::int64_t step) {
  if (!fs::exists(file)) return;
  std::istringstream lines(whole_lines(file));
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (Json::parse(line).at("step").get<std::int64_t>() < step)
      kept += line + "\n";
  write_file(file, kept);
}

}  // namespace

RunFolder RunFolder::create(const fs::path& path, const RunConfig& config,
                            const Json& machine) {
  std::error_code bad;
  fs::create_directories(path, bad);
  if (bad || !fs::is_directory(path))
    throw Error(Fault::store, path.string(),
                fmt::format("cannot be made: {}",
                            bad ? bad.message() : "a file is in the way"),
                "choose another folder with --out");
  if (!free_for_run(path))
    throw Error(Fault::store, path.string(), "is not empty",
                "choose a new folder, or go on with `lockstep train --resume " +
                    path.string() + "`");
  RunFolder folder(path, has_dp(config));
  // First, so that a run killed from here on can be gone on with.
  folder.write_config(config);
  folder.complete(machine);
  return folder;
}

void RunFolder::complete(const Json& machine) {
  const auto begin = [this](const char* name, const std::string& head) {
    if (!fs::exists(path_ / name)) write_file(path_ / name, head + "\n");
  };
  write_json(path_ / "machine.json", machine);
  begin("steps.csv", steps_head(with_dp_));
  begin("comm.csv", comm_head());
  begin("epochs.csv", epochs_head());
}

RunFolder RunFolder::open(const fs::path& path) {
  if (!fs::is_regular_file(path / "config.toml"))
    throw Error(Fault::store, path.string(), "is not a run folder",
                "a run folder holds config.toml and record.json");
  return RunFolder(path, has_dp(load_config(path / "config.toml", {})));
}

bool RunFolder::done() const { return fs::exists(path_ / "DONE"); }

RunConfig RunFolder::config() const {
  return load_config(path_ / "config.toml", {});
}

void RunFolder::append(std::span<const StepSample> steps,
                       std::span<const CommSample> messages,
                       std::span<const EpochSample> epochs) {
  append_text(path_ / "steps.csv", to_lines(steps, with_dp_));
  append_text(path_ / "comm.csv", to_lines(messages));
  append_text(path_ / "epochs.csv", to_lines(epochs));
}

void RunFolder::append_lines(const char* name, const std::string& head,
                             const std::string& lines) {
  if (lines.empty()) return;
  const bool begins = !fs::exists(path_ / name) && !head.empty();
  append_text(path_ / name, (begins ? head + "\n" : "") + lines);
}

void RunFolder::rewind(std::int64_t step, std::int64_t epoch) {
  if (fs::exists(path_ / "noise.csv")) keep_below(path_ / "noise.csv", step);
  keep_json_below(path_ / "decisions.jsonl", step);
  keep_below(path_ / "steps.csv", step);
  keep_below(path_ / "comm.csv", step);
  keep_below(path_ / "epochs.csv", epoch);
  fs::remove(path_ / "DONE");
}

void RunFolder::write_config(const RunConfig& config) {
  write_file(path_ / "config.toml", to_toml(config));
}

void RunFolder::write_record(const RunRecord& record) {
  write_json(path_ / "record.json", to_json(record));
}

void RunFolder::mark_done() { write_file(path_ / "DONE", utc_now() + "\n"); }

fs::path default_run_path(const std::string& name) {
  std::string stamp = utc_now();
  std::erase_if(stamp, [](char c) { return c == ':' || c == '-' || c == 'Z'; });
  const std::string label =
      fmt::format("{}_{}", name, stamp.replace(8, 1, "-"));
  fs::path path = fs::path("runs") / label;
  for (int i = 2; fs::exists(path); ++i)
    path = fs::path("runs") / fmt::format("{}-{}", label, i);
  return path;
}

fs::path default_run_path(const RunConfig& config) {
  return default_run_path(word(config, "model.kind"));
}

}  // namespace lockstep

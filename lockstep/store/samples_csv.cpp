// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/samples_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

// A run of a million steps has such a file; more is a mistake in the path.
constexpr std::int64_t kMaxCsvBytes = std::int64_t{4} << 30;

constexpr std::array kDpColumns = {
    "dp_scatter_s", "dp_replicate_s",    "dp_forward_s",  "dp_gather_s",
    "dp_loss_s",    "dp_loss_scatter_s", "dp_backward_s", "dp_reduce_s"};

template <class Visitor>
void columns(Visitor& v, StepSample& s) {
  v("step", s.step), v("epoch", s.epoch), v("rank", s.rank);
  v("samples", s.samples), v("begin_s", s.begin_s), v("data_s", s.data_s);
  v("copy_s", s.copy_s), v("forward_s", s.forward_s);
  v("backward_s", s.backward_s), v("comm_s", s.comm_s);
  v("exposed_comm_s", s.exposed_comm_s), v("optim_s", s.optim_s);
  v("wait_s", s.wait_s), v("step_s", s.step_s), v("loss", s.loss);
}

template <class Visitor>
void dp_columns(Visitor& v, StepSample& s) {
  for (std::size_t i = 0; i < kDpColumns.size(); ++i)
    v(kDpColumns[i], s.dp_s[i]);
}

template <class Visitor>
void columns(Visitor& v, CommSample& s) {
  v("step", s.step), v("rank", s.rank), v("bucket", s.bucket), v("op", s.op);
  v("payload", s.payload), v("bytes", s.bytes), v("issued_s", s.issued_s);
  v("begin_s", s.begin_s), v("end_s", s.end_s);
  v("bus_bytes_per_s", s.bus_bytes_per_s);
}

template <class Visitor>
void columns(Visitor& v, EpochSample& s) {
  v("epoch", s.epoch), v("train_loss", s.train_loss);
  v("train_accuracy", s.train_accuracy), v("val_loss", s.val_loss);
  v("val_accuracy", s.val_accuracy);
  v("information_nats", s.information_nats), v("lr", s.lr);
  v("global_batch", s.global_batch);
  v("peak_memory_bytes", s.peak_memory_bytes);
  v("device_busy", s.device_busy), v("seconds", s.seconds);
  v("seconds_with_loading", s.seconds_with_loading);
}

struct NameWriter {
  std::string out = {};
  template <class T>
  void operator()(const char* name, const T&) {
    if (!out.empty()) out += ',';
    out += name;
  }
};

struct FieldWriter {
  std::string& out;
  bool first = true;
  void separate() {
    if (!first) out += ',';
    first = false;
  }
  void operator()(const char*, std::int64_t i) {
    separate();
    fmt::format_to(std::back_inserter(out), "{}", i);
  }
  void operator()(const char*, double d) {
    separate();
    if (!std::isnan(d)) fmt::format_to(std::back_inserter(out), "{}", d);
  }
  void operator()(const char*, const std::string& s) {
    separate();
    out += s;
  }
};

// A line of a file, by number from 1.
std::string place(const std::filesystem::path& file, std::size_t line) {
  return fmt::format("{}:{}", file.string(), line);
}

struct FieldReader {
  const std::filesystem::path& file;
  std::size_t line;
  const std::vector<std::string_view>& cells;
  std::size_t at = 0;

  [[noreturn]] void fail(const char* name, std::string_view text) const {
    throw Error(Fault::store, place(file, line),
                fmt::format("'{}' in column {} is not a number", text, name),
                "the file is damaged; take it from a backup");
  }
  void operator()(const char* name, std::int64_t& i) {
    const std::string_view text = cells[at++];
    const auto value = parse_number<std::int64_t>(text);
    if (!value) fail(name, text);
    i = *value;
  }
  void operator()(const char* name, double& d) {
    const std::string_view text = cells[at++];
    const auto value = parse_number<double>(text);
    if (!value && !text.empty()) fail(name, text);
    d = value.value_or(std::nan(""));
  }
  void operator()(const char*, std::string& s) { s = cells[at++]; }
};

void cut(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(',', begin);
    cells.push_back(line.substr(begin, end - begin));
    if (end == std::string_view::npos) return;
    begin = end + 1;
  }
}

template <class Sample>
std::string head_of() {
  Sample sample;
  NameWriter names;
  columns(names, sample);
  return names.out;
}

template <class Sample>
std::string lines_of(std::span<const Sample> samples, bool with_dp) {
  std::string out;
  for (Sample sample : samples) {
    FieldWriter writer{out};
    columns(writer, sample);
    if constexpr (std::is_same_v<Sample, StepSample>)
      if (with_dp) dp_columns(writer, sample);
    out += '\n';
  }
  return out;
}

// Columns are only ever added at the end, so a longer head is a newer file.
template <class Sample>
std::vector<Sample> read_samples(const std::filesystem::path& file,
                                 const std::string& head) {
  const std::string text = read_file(file, Fault::store, kMaxCsvBytes);
  const std::string_view all(text);
  const std::string_view first = all.substr(0, all.find('\n'));
  if (!first.starts_with(head))
    throw Error(Fault::store, file.string() + ":1", "has unknown columns",
                "it was written by another version of lockstep");
  const bool with_dp = first.find(",dp_scatter_s") != first.npos;
  const auto width =
      static_cast<std::size_t>(std::ranges::count(first, ',') + 1);
  std::vector<Sample> samples;
  std::vector<std::string_view> cells;
  std::size_t begin = first.size() + 1;
  // A line without its end is still being written.
  for (std::size_t line = 2, end = 0;
       begin < all.size() && (end = all.find('\n', begin)) != all.npos;
       ++line, begin = end + 1) {
    cut(all.substr(begin, end - begin), cells);
    if (cells.size() != width)
      throw Error(
          Fault::store, place(file, line),
          fmt::format("has {} fields, {} were expected", cells.size(), width),
          "the file is damaged; take it from a backup");
    FieldReader reader{file, line, cells};
    columns(reader, samples.emplace_back());
    if constexpr (std::is_same_v<Sample, StepSample>)
      if (with_dp) dp_columns(reader, samples.back());
  }
  return samples;
}

}  // namespace

std::string steps_head(bool with_dp) {
  NameWriter names{head_of<StepSample>()};
  StepSample sample;
  if (with_dp) dp_columns(names, sample);
  return names.out;
}
std::string comm_head() { return head_of<CommSample>(); }
std::string epochs_head() { return head_of<EpochSample>(); }

std::string to_lines(std::span<const StepSample> steps, bool with_dp) {
  return lines_of(steps, with_dp);
}
std::string to_lines(std::span<const CommSample> messages) {
  return lines_of(messages, false);
}
std::string to_lines(std::span<const EpochSample> epochs) {
  return lines_of(epochs, false);
}

std::vector<StepSample> read_steps(const std::filesystem::path& file) {
  return read_samples<StepSample>(file, steps_head(false));
}
std::vector<CommSample> read_comm(const std::filesystem::path& file) {
  return read_samples<CommSample>(file, comm_head());
}
std::vector<EpochSample> read_epochs(const std::filesystem::path& file) {
  return read_samples<EpochSample>(file, epochs_head());
}

}  // namespace lockstep

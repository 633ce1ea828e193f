// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/tensorboard.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <ctime>

#include "lockstep/core/crc32c.h"
#include "lockstep/core/error.h"
#include "lockstep/core/file.h"

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little,
              "records are little-endian");

template <class Number>
void put_fixed(std::string& out, Number value) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(Number)>>(value);
  out.append(bytes.data(), bytes.size());
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

// Field numbers and kinds of tensorflow/core/util/event.proto and
// framework/summary.proto: (number << 3) | kind.
constexpr char kEventWallTime = (1 << 3) | 1, kEventStep = (2 << 3) | 0,
               kEventVersion = (3 << 3) | 2, kEventSummary = (5 << 3) | 2;
constexpr char kSummaryValue = (1 << 3) | 2;
constexpr char kValueTag = (1 << 3) | 2, kValueSimple = (2 << 3) | 5;

void put_bytes(std::string& out, char field, std::string_view bytes) {
  out += field;
  put_varint(out, bytes.size());
  out += bytes;
}

std::string event_at(double unix_s, std::int64_t step) {
  std::string out(1, kEventWallTime);
  put_fixed(out, unix_s);
  out += kEventStep;
  put_varint(out, static_cast<std::uint64_t>(step));
  return out;
}

// TensorFlow rotates and shifts checksums, so that data that holds checksums
// does not look like one.
std::uint32_t masked(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

// "2026-11-15T12:57:11Z"; 0 when it is something else.
double unix_seconds(const std::string& utc) {
  std::tm time = {};
  if (!strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time)) return 0;
  return static_cast<double>(timegm(&time));
}

struct StepTag {
  const char* tag;
  double StepSample::*field;
};
constexpr std::array kStepTags = {
    StepTag{"step/loss", &StepSample::loss},
    StepTag{"step/step_s", &StepSample::step_s},
    StepTag{"step/data_s", &StepSample::data_s},
    StepTag{"step/copy_s", &StepSample::copy_s},
    StepTag{"step/forward_s", &StepSample::forward_s},
    StepTag{"step/backward_s", &StepSample::backward_s},
    StepTag{"step/comm_s", &StepSample::comm_s},
    StepTag{"step/exposed_comm_s", &StepSample::exposed_comm_s},
    StepTag{"step/optim_s", &StepSample::optim_s},
    StepTag{"step/wait_s", &StepSample::wait_s},
};
struct EpochTag {
  const char* tag;
  double EpochSample::*field;
};
constexpr std::array kEpochTags = {
    EpochTag{"epoch/train_loss", &EpochSample::train_loss},
    EpochTag{"epoch/train_accuracy", &EpochSample::train_accuracy},
    EpochTag{"epoch/val_loss", &EpochSample::val_loss},
    EpochTag{"epoch/val_accuracy", &EpochSample::val_accuracy},
    EpochTag{"epoch/information_nats", &EpochSample::information_nats},
    EpochTag{"epoch/lr", &EpochSample::lr},
    EpochTag{"epoch/seconds", &EpochSample::seconds},
    EpochTag{"epoch/seconds_with_loading", &EpochSample::seconds_with_loading},
};

void add_scalar(std::vector<Scalar>& out, const char* tag, std::int64_t step,
                double unix_s, double value) {
  if (std::isfinite(value))
    out.push_back({tag, step, unix_s, static_cast<float>(value)});
}

std::string host_of(const RunView& run) {
  const std::filesystem::path file = run.path / "machine.json";
  if (!std::filesystem::exists(file)) return "unknown";
  return read_json(file, Fault::store).value("host", std::string("unknown"));
}

}  // namespace

std::string tf_record(std::string_view bytes) {
  std::string length, out;
  put_fixed(length, static_cast<std::uint64_t>(bytes.size()));
  out = length;
  put_fixed(out, masked(length));
  out += bytes;
  put_fixed(out, masked(bytes));
  return out;
}

std::string version_event(double unix_s) {
  std::string out = event_at(unix_s, 0);
  put_bytes(out, kEventVersion, "brain.Event:2");
  return out;
}

std::string scalar_event(const Scalar& scalar) {
  std::string value, summary, out = event_at(scalar.unix_s, scalar.step);
  put_bytes(value, kValueTag, scalar.tag);
  value += kValueSimple;
  put_fixed(value, scalar.value);
  put_bytes(summary, kSummaryValue, value);
  put_bytes(out, kEventSummary, summary);
  return out;
}

std::vector<Scalar> scalars_of(const RunView& run) {
  const double began = unix_seconds(run.record.began_utc);
  std::vector<Scalar> out;
  for (const StepSample& s : run.steps) {
    if (s.rank != 0) continue;
    const double at = began + (std::isfinite(s.begin_s) ? s.begin_s : 0);
    for (const StepTag& t : kStepTags)
      add_scalar(out, t.tag, s.step, at, s.*t.field);
  }
  double elapsed = 0;
  for (const EpochSample& e : run.epochs) {
    elapsed +=
        std::isfinite(e.seconds_with_loading) ? e.seconds_with_loading : 0;
    for (const EpochTag& t : kEpochTags)
      add_scalar(out, t.tag, e.epoch, began + elapsed, e.*t.field);
    add_scalar(out, "epoch/peak_memory_bytes", e.epoch, began + elapsed,
               static_cast<double>(e.peak_memory_bytes));
  }
  return out;
}

std::filesystem::path write_tensorboard(const RunView& run,
                                        const std::filesystem::path& folder) {
  std::error_code bad;
  std::filesystem::create_directories(folder, bad);
  if (bad)
    throw Error(Fault::store, folder.string(),
                "cannot be made: " + bad.message());
  const double began = unix_seconds(run.record.began_utc);
  std::string out = tf_record(version_event(began));
  for (const Scalar& scalar : scalars_of(run))
    out += tf_record(scalar_event(scalar));
  const std::filesystem::path file =
      folder /
      fmt::format("events.out.tfevents.{:010.0f}.{}", began, host_of(run));
  write_file(file, out);
  return file;
}

}  // namespace lockstep

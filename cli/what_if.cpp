// SPDX-License-Identifier: Apache-2.0
#include "cli/what_if.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/lists.h"
#include "lockstep/core/error.h"
#include "lockstep/hardware/hardware_file.h"

namespace lockstep::cli {
namespace {

int small_number(const char* option, std::int64_t value) {
  if (value < 1 || value > 1 << 20)
    throw Error(Fault::config, option,
                fmt::format("{} is not from 1 to {}", value, 1 << 20));
  return static_cast<int>(value);
}

Scaling scaling_named(const std::string& text) {
  if (text == "weak") return Scaling::weak;
  if (text == "strong") return Scaling::strong;
  throw Error(Fault::config, "--scaling", "'" + text + "' is neither word",
              "weak (batch of one rank) or strong (batch of all ranks)");
}

WireType wire_of(const std::string& text) {
  if (text == "fp32") return WireType::fp32;
  if (text == "bf16") return WireType::bf16;
  if (text == "fp16") return WireType::fp16;
  throw Error(Fault::config, "--wire", "'" + text + "' is none of the words",
              "fp32, bf16 or fp16");
}

Precision precision_of(const std::string& text) {
  if (text == "fp32") return Precision::fp32;
  if (text == "tf32") return Precision::tf32;
  if (text == "bf16") return Precision::bf16;
  throw Error(Fault::config, "--precision",
              "'" + text + "' is none of the words", "fp32, tf32 or bf16");
}

// --hardware as it is, or every --device with every --link.
std::vector<Cluster> clusters_of(const WhatIf& asked, const Subject& subject,
                                 int most_ranks) {
  std::string links = asked.link.empty() ? subject.link : asked.link;
  if (!asked.hardware.empty()) {
    if (!asked.device.empty() || !asked.link.empty())
      throw Error(Fault::config, "--hardware",
                  "brings its own device and links",
                  "leave out --device and --link, or --hardware");
    return {find_hardware(asked.hardware).cluster};
  }
  std::string devices = asked.device;
  if (devices.empty() && subject.profile) devices = subject.profile->device;
  if (devices.empty())
    throw Error(Fault::config, "predict", "on which device?",
                "--device NAME or --hardware NAME|FILE; `lockstep hardware "
                "list` names them");
  const auto names =
      links.empty() ? std::vector<std::string>{""} : words_of("--link", links);
  std::vector<Cluster> out;
  for (const std::string& device : words_of("--device", devices))
    for (const std::string& link : names)
      out.push_back(cluster_from(device, link,
                                 small_number("--per-node", asked.per_node),
                                 most_ranks));
  return out;
}

}  // namespace

Grid grid_of(const WhatIf& asked, const Subject& subject) {
  Grid grid;
  grid.asked = subject.asked;
  Question& q = grid.asked;
  if (asked.software != "auto") grid.software = find_software(asked.software);
  if (!asked.scaling.empty()) q.scaling = scaling_named(asked.scaling);
  if (!asked.wire.empty()) q.wire = wire_of(asked.wire);
  if (asked.accumulate != 0)
    q.accumulate = small_number("--accumulate", asked.accumulate);
  if (asked.samples < 0)
    throw Error(Fault::config, "--samples",
                fmt::format("{} samples make no epoch", asked.samples));
  if (asked.samples != 0) q.epoch_samples = asked.samples;
  q.input_samples_per_s = asked.input_rate;
  q.compression = asked.compression;
  grid.batches = asked.batch.empty() ? std::vector<std::int64_t>{q.batch}
                                     : numbers_of("--batch", asked.batch);
  const std::string ranks =
      asked.ranks.empty()
          ? (q.ranks > 1 ? fmt::format("1,{}", q.ranks) : std::string("1"))
          : asked.ranks;
  for (const std::int64_t n : numbers_of("--ranks", ranks))
    grid.ranks.push_back(small_number("--ranks", n));
  if (asked.strategy.empty())
    grid.methods = {q.method == Method::single ? Method::ddp : q.method};
  else
    for (const std::string& word : words_of("--strategy", asked.strategy))
      grid.methods.push_back(method_of(word));
  grid.clusters =
      clusters_of(asked, subject, *std::ranges::max_element(grid.ranks));
  return grid;
}

Subject subject_of(const WhatIf& asked) {
  Subject subject = find_subject(asked.subject);
  if (asked.precision.empty()) return subject;
  if (subject.profile)
    throw Error(Fault::config, "--precision",
                "a profile was measured in its own precision");
  subject.precision = precision_of(asked.precision);
  return subject;
}

void declare(Options& options, WhatIf& w) {
  options.value("subject", w.subject,
                "recipe (.toml), profile (.json) or built-in model");
  options.value("--hardware", w.hardware, "cluster preset or hardware file");
  options.value("--device", w.device, "devices to compare, by comma");
  options.value("--link", w.link,
                "links to compare, by comma; INSIDE+BETWEEN for many nodes");
  options.value("--per-node", w.per_node, "devices of a node, with --link");
  options.value("--ranks", w.ranks, "1,2,4 or 1,2,4,...,64");
  options.value("--batch", w.batch, "batch sizes, by comma");
  options.value("--strategy", w.strategy,
                "data_parallel, ddp, sharded, local_sgd, model_parallel");
  options.value("--scaling", w.scaling,
                "weak: batch of one rank; strong: of all ranks");
  options.value("--accumulate", w.accumulate, "passes before one update");
  options.value("--wire", w.wire, "gradients travel as fp32, bf16 or fp16");
  options.value("--compression", w.compression,
                "share of a gradient's bytes that is sent");
  options.value("--precision", w.precision, "fp32, tf32 or bf16 arithmetic");
  options.value("--software", w.software,
                "auto (as lockstep trains there), lockstep, "
                "lockstep-graph, pytorch or graph");
  options.value("--samples", w.samples, "samples of an epoch");
  options.value("--input-rate", w.input_rate,
                "samples a second that a node can load");
}

}  // namespace lockstep::cli

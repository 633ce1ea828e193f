// SPDX-License-Identifier: Apache-2.0
// The list of terms. A new kind of software, link or host is a row of the data
// file, never a line here.
#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/predict/table_model.h"
#include "lockstep/predict/timeline.h"

namespace lockstep {
namespace {

using Facts = const TableFacts&;

double one(Facts) { return 1; }
double doublings(Facts f) { return std::log2(static_cast<double>(f.gpus)); }
// All wait for the slowest: so many standard deviations after the mean.
double slowest(Facts f) { return expected_max_normal(f.gpus); }
double node_doublings(Facts f) {
  return std::log2(static_cast<double>(f.nodes));
}
double half(Facts f) { return f.half ? 1 : 0; }
double half_slowest(Facts f) { return half(f) * slowest(f); }
// Of 100 ms a step for each doubling.
double launches(Facts f) {
  return doublings(f) * 0.1 / (f.step_s / std::min(1.0, f.batch_ratio));
}
double half_launches(Facts f) { return half(f) * launches(f); }
double shrunk(Facts f) { return 1 / f.batch_ratio - 1; }

std::string all(Facts) { return "*"; }
std::string link(Facts f) { return f.link; }
std::string link_size(Facts f) { return f.link + "|" + f.size; }
std::string generation(Facts f) { return f.link + "|" + f.generation; }
std::string generation_size(Facts f) { return generation(f) + "|" + f.size; }
std::string gpu(Facts f) { return f.gpu; }
std::string host(Facts f) { return f.host; }
std::string host_size(Facts f) { return f.host + "|" + f.size; }
std::string host_precision(Facts f) {
  return f.host + (f.half ? "|half" : "|full");
}
std::string model(Facts f) { return f.model; }
std::string architecture(Facts f) { return f.architecture; }
std::string built(Facts f) { return f.architecture + "|" + f.software; }
std::string built_precision(Facts f) {
  return built(f) + (f.half ? "|half" : "|full");
}
std::string built_released_size(Facts f) {
  return f.architecture + "|" + f.release + "|" + f.size;
}
std::string software(Facts f) { return f.software; }
std::string comm(Facts f) { return f.comm; }
std::string work(Facts f) { return f.model + "|" + f.software; }
std::string work_precision(Facts f) {
  return work(f) + (f.half ? "|half" : "|full");
}
std::string release(Facts f) { return f.release; }
std::string release_size(Facts f) { return f.release + "|" + f.size; }
std::string released_work(Facts f) { return f.model + "|" + f.release; }
std::string released_work_size(Facts f) {
  return released_work(f) + "|" + f.size;
}
std::string slow_half_norm(Facts f) {
  return f.slow_half_norm ? f.release : "";
}

std::string slow_half_norm_host(Facts f) {
  return f.slow_half_norm ? f.release + "|" + f.host : "";
}

constexpr auto kLink = TablePart::link;
constexpr auto kLoss = TablePart::loss;
constexpr auto kSplit = TablePart::split;
constexpr auto kMessages = Cause::communication;
constexpr auto kWaits = Cause::imbalance;
constexpr auto kLaunches = Cause::latency;

constexpr const char* kLn = "ln";
constexpr const char* kShare = "share of a step";
constexpr const char* kJitter = "standard deviation of a step";
constexpr const char* kTenths = "100 ms a doubling";

// Widths: leave-out validation, docs/numbers.md.
constexpr std::array kTerms = {
    TableTerm{"link", kLink, kLn, 30, kMessages, all, one},
    TableTerm{"link.class", kLink, kLn, 1, kMessages, link, one},
    TableTerm{"link.class.size", kLink, kLn, 0.05, kMessages, link_size, one},
    TableTerm{"link.generation", kLink, kLn, 1.7, kMessages, generation, one},
    TableTerm{"link.generation.size", kLink, kLn, 0.03, kMessages,
              generation_size, one},
    TableTerm{"link.gpu", kLink, kLn, 0.09, kMessages, gpu, one},
    TableTerm{"link.host", kLink, kLn, 0.35, kMessages, host, one},
    TableTerm{"link.host.size", kLink, kLn, 0.2, kMessages, host_size, one},
    TableTerm{"link.host.precision", kLink, kLn, 0.15, kMessages,
              host_precision, one},
    TableTerm{"link.nodes", kLink, kLn, 0.1, kMessages, all, node_doublings},
    TableTerm{"bytes.work", kLink, kLn, 0.33, kMessages, work, one},
    TableTerm{"bytes.model", kLink, kLn, 0.32, kMessages, model, one},
    TableTerm{"bytes.architecture", kLink, kLn, 0.25, kMessages, architecture,
              one},
    TableTerm{"bytes.built", kLink, kLn, 0.2, kMessages, built, one},
    TableTerm{"bytes.software", kLink, kLn, 0.38, kMessages, software, one},
    TableTerm{"bytes.comm", kLink, kLn, 0.45, kMessages, comm, one},
    TableTerm{"bytes.release", kLink, kLn, 0.2, kMessages, release, one},
    TableTerm{"bytes.half", kLink, kLn, 30, kMessages, all, half},
    TableTerm{"bytes.half.work", kLink, kLn, 0.25, kMessages, work, half},
    TableTerm{"bytes.half.built", kLink, kLn, 0.15, kMessages, built, half},
    TableTerm{"straggle", kLoss, kJitter, 2, kWaits, all, slowest},
    TableTerm{"straggle.software", kLoss, kJitter, 0.019, kWaits, software,
              slowest},
    TableTerm{"straggle.work", kLoss, kJitter, 0.038, kWaits, work, slowest},
    TableTerm{"straggle.released", kLoss, kJitter, 0.027, kWaits, released_work,
              slowest},
    TableTerm{"straggle.precision", kLoss, kJitter, 0.019, kWaits,
              work_precision, slowest},
    TableTerm{"straggle.half_norm", kLoss, kJitter, 0.5, kWaits, slow_half_norm,
              slowest},
    TableTerm{"straggle.released.size", kLoss, kShare, 0.018, kWaits,
              released_work_size, one},
    TableTerm{"straggle.release.size", kLoss, kShare, 0.01, kWaits,
              release_size, one},
    TableTerm{"straggle.built", kLoss, kJitter, 0.025, kWaits, built, slowest},
    TableTerm{"straggle.built.precision", kLoss, kJitter, 0.0125, kWaits,
              built_precision, slowest},
    TableTerm{"straggle.built.size", kLoss, kShare, 0.012, kWaits,
              built_released_size, one},
    TableTerm{"straggle.half", kLoss, kJitter, 0.021, kWaits, software,
              half_slowest},
    TableTerm{"straggle.half_norm.host", kLoss, kJitter, 0.3, kWaits,
              slow_half_norm_host, slowest},
    TableTerm{"parallel", kLoss, kShare, 1, kWaits, all, one},
    TableTerm{"parallel.software", kLoss, kShare, 0.014, kWaits, software, one},
    TableTerm{"parallel.work", kLoss, kShare, 0.015, kWaits, work, one},
    TableTerm{"parallel.built", kLoss, kShare, 0.01, kWaits, built, one},
    TableTerm{"parallel.host", kLoss, kShare, 0.015, kWaits, host, one},
    TableTerm{"launch.software", kLoss, kTenths, 0.03, kLaunches, software,
              launches},
    TableTerm{"launch.work", kLoss, kTenths, 0.02, kLaunches, work, launches},
    TableTerm{"launch.built", kLoss, kTenths, 0.015, kLaunches, built,
              launches},
    TableTerm{"launch.half", kLoss, kTenths, 0.013, kLaunches, work,
              half_launches},
    TableTerm{"split", kSplit, kShare, 1, Cause::compute, all, shrunk},
    TableTerm{"split.work", kSplit, kShare, 0.084, Cause::compute, work,
              shrunk},
    TableTerm{"split.built", kSplit, kShare, 0.05, Cause::compute, built,
              shrunk},
    TableTerm{"split.precision", kSplit, kShare, 0.046, Cause::compute,
              work_precision, shrunk}};

}  // namespace

std::span<const TableTerm> table_terms() { return kTerms; }

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// Settings of the `train` section.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

enum class Precision { fp32, tf32, bf16 };
// Whether a step is recorded once and replayed as a whole (CUDA graphs).
enum class GraphUse { automatic, on, off };

struct TrainConfig {
  std::string device = "cpu";
  std::int64_t threads = 0;
  std::int64_t epochs = 1;
  std::int64_t steps = 0;
  std::int64_t seed = 1;
  Precision precision = Precision::fp32;
  bool channels_last = false;
  GraphUse graph = GraphUse::automatic;
  double label_smoothing = 0;
  double clip_norm = 0;
  std::int64_t eval_every = 1;
  std::int64_t eval_batch = 0;
  bool eval_mirror = false;
  std::int64_t eval_shift_px = 0;
  std::int64_t rehearse = 0;
  bool search_kernels = true;
  bool probabilities = false;
};

template <class Visitor>
void describe(Visitor& v, TrainConfig& c) {
  v.text("device", c.device, "cpu, cuda or cuda:N");
  v.number("threads", c.threads, {.min = 0, .max = 4096},
           "CPU threads of one rank; 0: the cores shared out evenly");
  v.number("epochs", c.epochs, {.min = 1, .max = 1'000'000},
           "passes over the training data");
  v.number("steps", c.steps, {.min = 0},
           "stop after so many steps; 0: after `epochs`");
  v.number("seed", c.seed, {.min = 0},
           "seed of weights, order and augmentation");
  v.choice("precision", c.precision, {"fp32", "tf32", "bf16"},
           "arithmetic of forward and backward; parameters stay fp32");
  v.flag("channels_last", c.channels_last,
         "images as [batch, height, width, channels] in memory");
  v.choice("graph", c.graph, {"auto", "on", "off"},
           "GPU: record a step once and replay it as one CUDA graph; on: stop "
           "where that is not possible");
  v.real("label_smoothing", c.label_smoothing, {.min = 0, .max = 0.999},
         "share of the target spread over all classes");
  v.real("clip_norm", c.clip_norm, {.min = 0},
         "scale the gradient down to this norm; 0: never");
  v.number("eval_every", c.eval_every, {.min = 0},
           "evaluate after every so many epochs; 0: never");
  v.number("eval_batch", c.eval_batch, {.min = 0, .max = 1 << 20},
           "samples of one evaluation pass; 0: 256 or the training batch");
  v.flag("eval_mirror", c.eval_mirror,
         "evaluate each image and its mirror image, and average the logits");
  v.number("eval_shift_px", c.eval_shift_px, {.min = 0, .max = 64},
           "evaluate each image also moved by so much along both diagonals, "
           "together with half of the weight; 0: never");
  v.number("rehearse", c.rehearse, {.min = 0, .max = 1000},
           "before the clock starts run so many steps of each batch size and "
           "an evaluation, then put everything back; 0: none");
  v.flag(
      "search_kernels", c.search_kernels,
      "GPU: try several kernels for each new shape, which takes seconds, and "
      "keep the fastest; false: take what is expected to be");
  v.flag("probabilities", c.probabilities,
         "write each validation sample's softmax probabilities after the last "
         "epoch");
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// Samples made up on the spot, of any model's shape, that can be learnt. A
// class is a sum of waves over the input; a sample is its class's waves plus
// noise. For gpt: a chain of tokens in which each has four likely successors,
// so the lowest loss that any model can reach is known.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>

#include "lockstep/core/error.h"
#include "lockstep/data/open.h"
#include "lockstep/data/random.h"
#include "lockstep/data/waves.h"
#include "lockstep/plan/work_plan.h"

namespace lockstep {
namespace {

constexpr float kNoise = 0.5F;
constexpr std::size_t kNoiseValues = 1 << 16;
constexpr std::int64_t kNoiseRun = 4096;  // values taken from one place
constexpr std::int64_t kLikely = 4;       // successors of a token
// Chances of the successors: 1/2, 1/4, 1/8, 1/8.
constexpr std::array<std::int64_t, 8> kSuccessor = {0, 0, 0, 0, 1, 1, 2, 3};

std::uint64_t as_seed(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

class Waves final : public Dataset {
 public:
  struct Made {
    std::vector<std::vector<float>> classes;
    std::vector<float> noise;
    std::uint64_t seed = 0;
  };

  Waves(std::shared_ptr<const Made> made, std::vector<std::int64_t> input,
        Positions positions)
      : shape_{.input = std::move(input),
               .target = {},
               .classes = static_cast<std::int64_t>(made->classes.size())},
        made_(std::move(made)),
        positions_(std::move(positions)) {}

  std::int64_t size() const override {
    return static_cast<std::int64_t>(positions_.size());
  }
  const SampleShape& shape() const override { return shape_; }
  // Noise is taken in runs from a kept list, from a new place and with a new
  // sign each: drawing it anew would cost more than the training step.
  void read(std::int64_t index, std::uint64_t, void* input,
            std::int64_t* target) const override {
    const std::int64_t at = positions_.at(static_cast<std::size_t>(index));
    *target = at % shape_.classes;
    const auto& waves = made_->classes[static_cast<std::size_t>(*target)];
    Random random(mix_seed(made_->seed, as_seed(at)));
    auto* out = static_cast<float*>(input);
    const auto size = static_cast<std::int64_t>(waves.size());
    for (std::int64_t begin = 0; begin < size; begin += kNoiseRun) {
      const std::uint64_t draw = random.next();
      const float scale = (draw >> 63) != 0 ? kNoise : -kNoise;
      const float* noise =
          made_->noise.data() + draw % (kNoiseValues - kNoiseRun);
      const std::int64_t run = std::min(kNoiseRun, size - begin);
      for (std::int64_t i = 0; i < run; ++i)
        out[begin + i] =
            waves[static_cast<std::size_t>(begin + i)] + scale * noise[i];
    }
  }

 private:
  const SampleShape shape_;
  const std::shared_ptr<const Made> made_;
  const Positions positions_;
};

class Chain final : public Dataset {
 public:
  Chain(const ModelConfig& model, std::uint64_t seed, Positions positions)
      : shape_{.input = {model.context},
               .target = {model.context},
               .classes = model.vocab,
               .tokens = true},
        seed_(seed),
        positions_(std::move(positions)) {}

  std::int64_t size() const override {
    return static_cast<std::int64_t>(positions_.size());
  }
  const SampleShape& shape() const override { return shape_; }
  void read(std::int64_t index, std::uint64_t, void* input,
            std::int64_t* target) const override {
    const std::int64_t at = positions_.at(static_cast<std::size_t>(index));
    Random random(mix_seed(seed_ + 1, as_seed(at)));
    auto* tokens = static_cast<std::int64_t*>(input);
    auto token = static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(shape_.classes)));
    for (std::int64_t i = 0; i < shape_.input.front(); ++i) {
      tokens[i] = token;
      token = successor(token, kSuccessor[random.next() >> 61]);
      target[i] = token;
    }
  }

 private:
  // One of the four that follow `token`: neighbours from a place of its own,
  // so they are never the same.
  std::int64_t successor(std::int64_t token, std::int64_t which) const {
    const auto vocab = static_cast<std::uint64_t>(shape_.classes);
    const std::uint64_t place = mix_seed(seed_, as_seed(token)) % vocab;
    return static_cast<std::int64_t>((place + as_seed(which)) % vocab);
  }

  const SampleShape shape_;
  const std::uint64_t seed_;
  const Positions positions_;
};

// Of the values of some training samples, as made.
Json measured(const Dataset& set) {
  const std::int64_t samples = std::min<std::int64_t>(set.size(), 64);
  std::int64_t numel = 1, target = 0;
  for (const std::int64_t size : set.shape().input) numel *= size;
  std::vector<float> values(static_cast<std::size_t>(numel));
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    set.read(i * set.size() / samples, 0, values.data(), &target);
    for (const double v : values) {
      sum += v;
      squares += v * v;
    }
  }
  const double n = static_cast<double>(numel * samples);
  const double mean = sum / n;
  return {{"samples_measured", samples},
          {"mean", mean},
          {"std", std::sqrt(squares / n - mean * mean)}};
}

struct Ranges {
  Positions train, validation;
};

// The first samples train, the rest is held back; classes take turns.
Ranges ranges_of(const DataConfig& config) {
  const double share = config.split == SplitKind::all ? 0 : config.val_share;
  const auto held = std::min<std::int64_t>(
      std::llround(share * static_cast<double>(config.synthetic_samples)),
      config.synthetic_samples - 1);
  const std::int64_t train = config.synthetic_samples - held;
  const std::int64_t kept =
      config.samples > 0 ? std::min(config.samples, train) : train;
  Ranges ranges;
  for (std::int64_t i = 0; i < kept; ++i) ranges.train.push_back(i);
  for (std::int64_t i = train; i < train + held; ++i)
    ranges.validation.push_back(i);
  return ranges;
}

DataSplit open_chain(const DataConfig& config, const ModelConfig& model) {
  const std::uint64_t seed = as_seed(config.synthetic_seed);
  check(model.vocab >= 2, "a vocabulary has tokens");
  if (model.vocab < kLikely)
    throw Error(Fault::config, "model.vocab",
                "synthetic text needs at least 4 tokens", "256 is usual");
  Ranges ranges = ranges_of(config);
  DataSplit split;
  split.description = {{"source", "synthetic: a chain of tokens"},
                       {"seed", config.synthetic_seed},
                       {"successors", "4 a token, chances 1/2 1/4 1/8 1/8"},
                       {"lowest_loss_nats", 1.75 * std::numbers::ln2}};
  split.train = std::make_unique<Chain>(model, seed, std::move(ranges.train));
  if (!ranges.validation.empty())
    split.validation =
        std::make_unique<Chain>(model, seed, std::move(ranges.validation));
  return split;
}

}  // namespace

DataSplit open_synthetic(const DataConfig& config, const ModelConfig& model) {
  if (model.kind == ModelKind::gpt) return open_chain(config, model);
  const std::vector<std::int64_t> input = input_shape(model);
  auto made = std::make_shared<Waves::Made>();
  made->seed = as_seed(config.synthetic_seed);
  made->noise = normal_values(kNoiseValues, mix_seed(made->seed, 0));
  for (std::int64_t c = 0; c < config.synthetic_classes; ++c)
    made->classes.push_back(
        class_waves(input, mix_seed(made->seed, as_seed(c + 1))));
  Ranges ranges = ranges_of(config);
  DataSplit split;
  split.train = std::make_unique<Waves>(made, input, std::move(ranges.train));
  split.description = {{"source", "synthetic: waves of the class plus noise"},
                       {"seed", config.synthetic_seed},
                       {"classes", config.synthetic_classes},
                       {"waves", "3 a channel, mean 0 and variance 1 together"},
                       {"noise_std", kNoise},
                       {"values", measured(*split.train)}};
  if (!ranges.validation.empty())
    split.validation =
        std::make_unique<Waves>(made, input, std::move(ranges.validation));
  return split;
}

}  // namespace lockstep

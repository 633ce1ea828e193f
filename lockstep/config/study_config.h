// SPDX-License-Identifier: Apache-2.0
// Settings of a study's own sections: `study` (what is measured, how well) and
// `derive` (settings that follow from others, such as the learning rate).
#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// Which report the study gets beside the plain one.
enum class StudyKind { plain, stevens, qeios, hpml, variable };
// time: a few steps of each point, repeated until the median is known.
// train: one whole training of each point.
enum class StudyMeasure { time, train };

struct StudyConfig {
  std::string title;
  StudyKind kind = StudyKind::plain;
  StudyMeasure measure = StudyMeasure::time;
  std::int64_t warmup_steps = 3;
  std::int64_t timed_steps = 20;
  std::int64_t min_repeats = 3;
  std::int64_t max_repeats = 10;
  double within = 0.02;
  double deadline_s = 3600;
  std::string hardware;
  bool profile = false;
};

template <class Visitor>
void describe(Visitor& v, StudyConfig& c) {
  v.text("title", c.title, "what the study is about, for its report");
  v.choice("kind", c.kind, {"plain", "stevens", "qeios", "hpml", "variable"},
           "which seed's figures and claims the report adds");
  v.choice(
      "measure", c.measure, {"time", "train"},
      "time: a few steps of each point, repeated; train: a whole training");
  v.number("warmup_steps", c.warmup_steps, {.min = 0, .max = 1'000'000},
           "time: steps of each run that are not counted");
  v.number("timed_steps", c.timed_steps, {.min = 1, .max = 1'000'000},
           "time: steps of each run that are");
  v.number("min_repeats", c.min_repeats, {.min = 1, .max = 1000},
           "time: runs of each point at the least");
  v.number("max_repeats", c.max_repeats, {.min = 1, .max = 1000},
           "time: runs of each point at the most");
  v.real("within", c.within, {.min = 0.0001, .max = 10},
         "time: repeat until the 95 % interval of the median step is within "
         "this share of it");
  v.real("deadline_s", c.deadline_s, {.min = 0.1, .max = 1e7},
         "a run that takes longer is ended and counts as failed");
  v.text("hardware", c.hardware,
         "predictions where nothing was measured: preset or file, as "
         "`lockstep predict --hardware`");
  v.flag("profile", c.profile,
         "at the end profile each model at the batch sizes one rank ran, for "
         "the report's times by layer");
}

enum class DeriveRule { as_given, fixed, linear, square_root, legw };

struct DeriveConfig {
  DeriveRule lr_rule = DeriveRule::as_given;
  double lr_base = 0.1;
  std::int64_t lr_base_batch = 32;
};

template <class Visitor>
void describe(Visitor& v, DeriveConfig& c) {
  v.choice("lr_rule", c.lr_rule,
           {"as_given", "fixed", "linear", "square_root", "legw"},
           "how optim.lr follows the global batch; as_given: it does not");
  v.real("lr_base", c.lr_base, {.min = 0}, "learning rate at lr_base_batch");
  v.number("lr_base_batch", c.lr_base_batch, {.min = 1, .max = 1 << 30},
           "global batch that lr_base belongs to");
}

}  // namespace lockstep

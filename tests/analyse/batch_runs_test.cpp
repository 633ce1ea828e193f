// SPDX-License-Identifier: Apache-2.0
// Studies made here: run folders as the trainer writes them.
#include "lockstep/analyse/batch_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "lockstep/batch/arms.h"
#include "lockstep/batch/compare.h"
#include "lockstep/batch/information.h"
#include "lockstep/batch/own_choice.h"
#include "lockstep/core/error.h"
#include "lockstep/store/run_folder.h"
#include "tests/store/temp_dir.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct Plan {
  std::string name;
  std::int64_t batch = 32, seed = 0;
  double best = 0.9, lr = 0.1, warmup_epochs = 0;
  OptimKind optim = OptimKind::sgd;
  std::int64_t epochs = 10, diverges_at = -1;
  bool done = true;
  double information_share = 0;  // of Fano's; 0: not recorded
  double slower = 1;
  bool rehearse = false;
  double late_noise = 0;  // 0: its samples do not resolve it
  BatchMode mode = BatchMode::fixed;
  std::int64_t ends_at = 0;  // a batch that changed after the first epoch
  double pilot_s = 0;
};

class BatchStudy {
 public:
  void add(const Plan& p) const {
    RunConfig config;
    config.batch.global = p.batch;
    config.batch.mode = p.mode;
    if (p.mode == BatchMode::information) config.batch.candidates = {32, 64};
    config.optim.lr = p.lr;
    config.optim.warmup_epochs = p.warmup_epochs;
    config.optim.kind = p.optim;
    if (p.optim == OptimKind::lamb)
      config.optim.eps = 1e-6, config.optim.beta2 = 0.99,
      config.optim.weight_decay = 0.01;
    config.train.seed = p.seed;
    config.train.rehearse = p.rehearse ? 3 : 0;
    config.model.classes = 10;
    RunFolder folder = RunFolder::create(path() / "runs" / p.name, config, {});
    for (std::int64_t e = 0; e < p.epochs; ++e) add_epoch(folder, p, e);
    RunRecord record;
    record.status = p.done ? "done" : "running";
    record.data = {{"classes", 10}, {"validation_samples", 1000}};
    record.summary["noise_scale"]["second_half"] = {
        {"resolved", p.late_noise > 0},
        {"value", p.late_noise},
        {"low90", p.late_noise / 2},
        {"high90", p.late_noise * 2}};
    if (p.pilot_s > 0) record.summary["pilot"]["seconds"] = p.pilot_s;
    folder.write_record(record);
    if (p.done) folder.mark_done();
  }
  // As a sweep's ledger says it of runs/<point>/1.
  void say(const std::string& point, bool timed, bool shared = false,
           const std::string& why = "") const {
    std::ofstream(path() / "study.toml");
    std::ofstream out(path() / "ledger.jsonl", std::ios::app);
    out << Json{{"event", "queued"}, {"point", point}, {"why", why}} << "\n"
        << Json{{"event", "done"},
                {"point", point},
                {"run", "runs/" + point + "/1"},
                {"timed", timed},
                {"shared", shared}}
        << "\n";
  }
  const std::filesystem::path& path() const { return dir_.path; }
  BatchRuns read(std::int64_t classes = 0) const {
    return read_batch_runs(path(), classes);
  }
  std::string complaint() const {
    try {
      compare_batch_sizes(read(), {});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

 private:
  static void add_epoch(RunFolder& folder, const Plan& p, std::int64_t e) {
    const auto seconds =
        p.slower * 10.0 / std::sqrt(static_cast<double>(p.batch));
    EpochSample sample{.epoch = e};
    const bool lost = p.diverges_at >= 0 && e >= p.diverges_at;
    sample.train_loss = lost ? std::nan("") : 1.0;
    sample.val_accuracy =
        lost ? 0.1 : p.best * (1 - std::exp(-0.7 * static_cast<double>(e + 1)));
    if (p.information_share > 0)
      sample.information_nats =
          p.information_share *
          information_of_accuracy(sample.val_accuracy, 10);
    sample.lr = p.lr;
    sample.global_batch = p.ends_at > 0 && e > 0 ? p.ends_at : p.batch;
    sample.seconds = seconds / 2;
    sample.seconds_with_loading = seconds;
    std::vector<StepSample> steps;
    for (std::int64_t s = 0; s < 640 / p.batch; ++s)
      steps.push_back({.step = e * 640 / p.batch + s,
                       .epoch = e,
                       .samples = p.batch,
                       .step_s = seconds * static_cast<double>(p.batch) / 640});
    folder.append(steps, {}, std::vector{sample});
  }

  TempDir dir_;
};

TEST(BatchRuns, ReadsCurvesStepsAndTimes) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 64, .lr = 0.2});
  const BatchRuns runs = study.read();
  ASSERT_EQ(runs.runs.size(), 1u);
  const BatchRun& run = runs.runs.front();
  EXPECT_EQ(run.batch, 64);
  EXPECT_EQ(run.lr, 0.2);
  ASSERT_EQ(run.curve.size(), 10u);
  EXPECT_EQ(run.curve.back().steps, 100);
  EXPECT_NEAR(run.curve.back().time_s, 10 * 10 / 8.0, 1e-9);  // with loading
  EXPECT_NEAR(run.curve[0].nats,
              information_of_accuracy(run.curve[0].accuracy, 10), 1e-12);
  EXPECT_NEAR(run.step_s, 10 / 8.0 / 10, 1e-9);
  EXPECT_EQ(runs.classes, 10);
  EXPECT_EQ(runs.eval_examples, 1000);
}

// Records may keep the last steps alone: their numbers tell how many there
// were.
TEST(BatchRuns, StepsThatWereNotKeptAreCountedAllTheSame) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 64});
  const auto file = study.path() / "runs" / "a" / "steps.csv";
  std::ifstream whole(file);
  std::string head, line, last;
  std::getline(whole, head);
  while (std::getline(whole, line)) last = line;
  whole.close();
  std::ofstream(file) << head << "\n" << last << "\n";
  const BatchRun run = study.read().runs.front();
  EXPECT_EQ(run.curve.back().steps, 100);
  EXPECT_EQ(run.curve.front().steps, 10);
}

TEST(BatchRuns, RunsOfASweepAreFoundWithTheNoiseTheyMeasured) {
  const BatchStudy study;
  study.add({.name = "point/1", .batch = 64});
  study.add({.name = "point/2", .batch = 64, .seed = 1});
  RunFolder folder = RunFolder::open(study.path() / "runs/point/2");
  folder.append_lines("noise.csv", "step,noise_scale",
                      "2,inf\n4,120.5\n6,130\n");
  const BatchRuns runs = study.read();
  ASSERT_EQ(runs.runs.size(), 2u);
  EXPECT_EQ(runs.runs[0].name, "point/1");
  EXPECT_TRUE(runs.runs[0].noise_scale.empty());
  EXPECT_EQ(runs.runs[1].noise_scale, (std::vector<double>{120.5, 130}));
  folder.rewind(5, 10);
  EXPECT_EQ(study.read().runs.size(), 1u);  // no longer done
}

TEST(BatchRuns, RecordedInformationIsTakenWhenEveryRunHasIt) {
  const BatchStudy study;
  study.add({.name = "a", .information_share = 0.5});
  EXPECT_EQ(study.read().information, "as recorded with the runs");
  const Evaluation e = study.read().runs.front().curve.front();
  EXPECT_NEAR(e.nats, 0.5 * information_of_accuracy(e.accuracy, 10), 1e-9);
  study.add({.name = "b"});
  EXPECT_EQ(study.read().information, "Fano's bound of the accuracy");
}

TEST(BatchRuns, ChoosesOverSeedsAndRanksWhatMatters) {
  const BatchStudy study;
  for (std::int64_t seed = 0; seed < 3; ++seed)
    for (const std::int64_t batch : {32, 64, 128})
      study.add({.name = std::to_string(batch) + "_" + std::to_string(seed),
                 .batch = batch,
                 .seed = seed,
                 .best = 0.9 + 0.001 * static_cast<double>(seed)});
  const auto found = compare_batch_sizes(study.read(), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rows.size(), 3u);
  EXPECT_EQ(found[0].rows[0].num_runs, 3u);
  EXPECT_EQ(found[0].picks[0].batch, 128);  // as good, and faster
  EXPECT_THAT(found[0].picks[0].reason, HasSubstr("3 runs each"));
  const auto rows = sensitivity_of(study.read(), {});
  ASSERT_EQ(rows.size(), 4u);  // the batch alone was varied
  EXPECT_EQ(rows[0].setting, "global_batch");
  EXPECT_GT(rows[0].share, 0.5);
}

TEST(BatchRuns, ADivergedRunIsAResultAndAnUnfinishedOneIsNot) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 32});
  study.add({.name = "b", .batch = 64});
  study.add({.name = "c", .batch = 512, .diverges_at = 2, .done = false});
  study.add({.name = "d", .batch = 128, .done = false});
  study.add({.name = "e", .batch = 1024, .diverges_at = 0});
  const BatchRuns runs = study.read();
  EXPECT_EQ(runs.runs.size(), 4u);
  EXPECT_THAT(runs.notes, Contains("d left out: not finished"));
  EXPECT_THAT(runs.notes, Contains("c diverged"));
  const auto found = compare_batch_sizes(runs, {});
  EXPECT_EQ(found[0].rows[2].note, "1 of 1 runs diverged");
  EXPECT_EQ(found[0].rows[3].information.rate, 0);
  EXPECT_EQ(found[0].picks[0].batch, 64);
}

TEST(BatchRuns, ArmsAreComparedApart) {
  const BatchStudy study;
  for (const double warmup : {0.0, 5.0})
    for (const std::int64_t batch : {32, 64})
      study.add({.name = std::to_string(batch) + "_" + std::to_string(warmup),
                 .batch = batch,
                 .warmup_epochs = warmup});
  const auto found = compare_batch_sizes(study.read(), {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].arm, HasSubstr("optim.warmup_epochs=0"));
  EXPECT_THAT(found[1].arm, HasSubstr("optim.warmup_epochs=5"));
}

TEST(BatchRuns, AnArmIsNamedByWhatPeopleChooseIt) {
  const BatchStudy study;
  for (const OptimKind kind : {OptimKind::sgd, OptimKind::lamb})
    for (const std::int64_t batch : {32, 64})
      study.add({.name = std::to_string(batch) +
                         (kind == OptimKind::sgd ? "_sgd" : "_lamb"),
                 .batch = batch,
                 .optim = kind});
  const auto found = compare_batch_sizes(study.read(), {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].arm, HasSubstr("optim.kind=\"lamb\""));
  EXPECT_EQ(std::ranges::count(found[0].arm, '='), 3);
}

TEST(BatchRuns, AnArmWithOneSizeKeepsNoOtherFromItsAnswer) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 32});
  study.add({.name = "b", .batch = 64});
  study.add({.name = "c", .batch = 64, .warmup_epochs = 5});
  const auto found = compare_batch_sizes(study.read(), {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].arm, HasSubstr("optim.warmup_epochs=0"));
  EXPECT_EQ(found[0].rows.size(), 2u);
}

TEST(BatchRuns, AnArmThatLearntNothingIsLeftOutByName) {
  const BatchStudy study;
  for (const std::int64_t batch : {32, 64}) {
    const std::string name = std::to_string(batch);
    study.add({.name = "a" + name, .batch = batch});
    // Ten classes, a thousand examples: 11.5 % is a guess with luck.
    study.add({.name = "b" + name,
               .batch = batch,
               .best = 0.115,
               .warmup_epochs = 5});
    study.add(
        {.name = "c" + name, .batch = batch, .best = 0.2, .warmup_epochs = 9});
  }
  const BatchRuns runs = study.read();
  const auto found = compare_batch_sizes(runs, {});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].arm, HasSubstr("optim.warmup_epochs=0"));
  EXPECT_THAT(found[1].arm, HasSubstr("optim.warmup_epochs=9"));
  EXPECT_THAT(sort_arms(runs).left_out,
              testing::ElementsAre(testing::AllOf(
                  HasSubstr("no batch size learnt anything: 1 device(s), "),
                  HasSubstr("warmup_epochs=5"), HasSubstr("its error is"))));
}

TEST(BatchRuns, WhereNothingWasLearntNoBatchIsChosen) {
  const BatchStudy study;
  for (const std::int64_t batch : {32, 64})
    study.add({.name = std::to_string(batch), .batch = batch, .best = 0.1});
  EXPECT_EQ(study.complaint(),
            "batch: no batch size learnt anything: the best ends with 0.0000 "
            "nats, its error is 0.0127");
}

TEST(BatchRuns, ATargetThatAGuessReachesIsRefused) {
  const BatchStudy study;
  for (const std::int64_t batch : {32, 64})
    study.add({.name = std::to_string(batch), .batch = batch});
  EXPECT_THROW(compare_batch_sizes(study.read(), {.target_accuracy = 0.1}),
               Error);
  EXPECT_NO_THROW(compare_batch_sizes(study.read(), {.target_accuracy = 0.2}));
}

TEST(BatchRuns, OfSeveralLearningRatesTheBestSpeaksForItsBatch) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 32, .lr = 0.1});
  study.add({.name = "b", .batch = 64, .best = 0.5, .lr = 0.1});
  study.add({.name = "c", .batch = 64, .best = 0.9, .lr = 0.2});
  const auto found = compare_batch_sizes(study.read(), {});
  EXPECT_EQ(found[0].rows[1].lr, 0.2);
  EXPECT_THAT(found[0].notes,
              Contains("batch 64: best of 2 learning rates, 0.2"));
}

TEST(BatchRuns, UnequalEvaluationPointsAreSaid) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 32, .epochs = 10});
  study.add({.name = "b", .batch = 64, .epochs = 6});
  const auto found = compare_batch_sizes(study.read(), {});
  EXPECT_THAT(found[0].notes, Contains(HasSubstr("evaluated 6 to 10 times")));
}

TEST(BatchRuns, ARunBesideOthersTakesItsTimesFromThoseOfOtherSeeds) {
  const BatchStudy study;
  study.add({.name = "a/1", .batch = 64, .seed = 1});
  study.add({.name = "b/1", .batch = 64, .seed = 2, .slower = 3});
  study.add({.name = "c/1", .batch = 64, .seed = 3, .best = 0.8, .slower = 50});
  study.add({.name = "d/1", .batch = 64, .seed = 4, .lr = 0.7, .slower = 40});
  for (const char* timed : {"a", "b"}) study.say(timed, true);
  for (const char* beside : {"c", "d"}) study.say(beside, false, true);
  const BatchRuns runs = study.read();
  ASSERT_EQ(runs.runs.size(), 3u);
  const BatchRun& c = runs.runs[2];
  EXPECT_EQ(c.name, "c/1");
  for (std::size_t i = 0; i < 10; ++i)  // 1.25 s and 3.75 s an epoch
    EXPECT_NEAR(c.curve[i].time_s, 2.5 * static_cast<double>(i + 1), 1e-9);
  EXPECT_NEAR(c.step_s, 0.25, 1e-9);
  EXPECT_NEAR(c.curve[9].accuracy, 0.8, 0.01);
  EXPECT_THAT(runs.notes,
              Contains("d/1 left out: it ran beside others and no run of the "
                       "same settings was timed"));
  EXPECT_THAT(runs.notes,
              Contains("1 of 4 runs were not timed: each takes its times from "
                       "the timed runs of the same settings"));
}

TEST(BatchRuns, TimesOfAnotherNumberOfEpochsAreNotTakenButForADivergedRun) {
  const BatchStudy study;
  study.add({.name = "a/1", .batch = 64, .seed = 1});
  study.add({.name = "b/1", .batch = 64, .seed = 2, .epochs = 6});
  study.add({.name = "c/1",
             .batch = 64,
             .seed = 3,
             .epochs = 4,
             .diverges_at = 2,
             .done = false,
             .slower = 9});
  study.say("a", true);
  for (const char* beside : {"b", "c"}) study.say(beside, false, true);
  const BatchRuns runs = study.read();
  ASSERT_EQ(runs.runs.size(), 2u);
  EXPECT_THAT(runs.notes, Contains(HasSubstr("b/1 left out")));
  EXPECT_TRUE(runs.runs[1].diverged);
  EXPECT_NEAR(runs.runs[1].curve.back().time_s, 2 * 1.25, 1e-9);
}

TEST(BatchRuns, RanksThatShareADeviceLendNoTimeAndSayWhy) {
  const BatchStudy study;
  study.add({.name = "a/1", .batch = 64, .seed = 1});
  study.say("a", false, false, "ranks 2, GPUs 1");
  EXPECT_THAT(study.complaint(),
              HasSubstr("a/1 left out: it was not timed: ranks 2, GPUs 1 and "
                        "no run of the same settings was timed"));
}

TEST(BatchRuns, RunsLeftOutForOneReasonAreNamedOnce) {
  const BatchStudy study;
  study.add({.name = "a/1", .batch = 64, .seed = 1});
  study.say("a", true);
  for (const char* name : {"b", "c", "d"}) {
    study.add({.name = name + std::string("/1"), .batch = 128, .lr = 0.7});
    study.say(name, false, true);
  }
  EXPECT_THAT(study.read().notes,
              Contains("3 runs left out (b/1 to d/1), each: it ran beside "
                       "others and no run of the same settings was timed"));
}

TEST(BatchRuns, ARehearsalMakesNoArm) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 32});
  study.add({.name = "b", .batch = 64, .rehearse = true});
  const BatchRuns runs = study.read();
  EXPECT_EQ(runs.runs[0].arm, runs.runs[1].arm);
}

TEST(BatchRuns, WhatChoseItsBatchStandsAgainstTheFastestFixedOne) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 32});
  study.add({.name = "b", .batch = 64});
  study.add(
      {.name = "c", .batch = 32, .mode = BatchMode::adaptive, .ends_at = 128});
  study.add(
      {.name = "d", .batch = 64, .mode = BatchMode::information, .pilot_s = 7});
  const BatchRuns runs = study.read();
  EXPECT_EQ(runs.runs.size(), 2u) << "only fixed ones are compared";
  const auto fixed = compare_batch_sizes(runs, {});
  const double best_s = fixed.at(0).rows.at(1).information.time_s.value();
  const auto own = own_choices(runs.choosing, fixed, Crossing::interpolated);
  ASSERT_EQ(own.size(), 2u);
  EXPECT_EQ(own[1].fixed_reached, 1u);
  EXPECT_EQ(own[1].mode, "adaptive");
  EXPECT_EQ(own[1].first_batch, 32);
  EXPECT_EQ(own[1].highest_end, 128);
  EXPECT_NEAR(own[1].extra_time().value(), std::sqrt(2.0) - 1, 1e-9)
      << "its epochs take as long as those of 32";
  EXPECT_EQ(own[0].mode, "a pilot of 1 epoch");
  EXPECT_EQ(own[0].fixed_batch, 64);
  EXPECT_NEAR(own[0].time_s.value(), best_s + 7, 1e-9) << "the pilot counts";
}

TEST(BatchRuns, AStudyOfChoosingRunsAloneIsRefused) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 32, .mode = BatchMode::adaptive});
  EXPECT_THAT(study.complaint(), HasSubstr("no run that can be compared"));
}

TEST(BatchRuns, BadStudiesAreRefusedWithTheReason) {
  const BatchStudy study;
  EXPECT_THAT(study.complaint(), HasSubstr("holds no run with epochs.csv"));
  study.add({.name = "a", .batch = 32, .done = false});
  EXPECT_THAT(study.complaint(), HasSubstr("a left out: not finished"));
  study.add({.name = "b", .batch = 32});
  EXPECT_EQ(study.complaint(),
            "batch: 1 batch size: there is nothing to choose from");
  EXPECT_THROW(read_batch_runs("no_such_folder", 10), Error);
}

TEST(BatchRuns, OneClassIsRefused) {
  const BatchStudy study;
  study.add({.name = "a", .batch = 32});
  study.add({.name = "b", .batch = 64});
  EXPECT_THROW(study.read(1), Error);
}

TEST(BatchRuns, NoiseIsThatOfTheSecondHalfWhereRunsResolveIt) {
  const BatchStudy study;
  study.add({.name = "a/1", .batch = 32});
  study.add({.name = "b/1", .batch = 64, .late_noise = 1000});
  study.add({.name = "c/1", .batch = 128, .late_noise = 3000});
  const auto found = compare_batch_sizes(study.read(), {});
  ASSERT_TRUE(found.at(0).noise.has_value());
  EXPECT_DOUBLE_EQ(found[0].noise->median, 2000);
  EXPECT_DOUBLE_EQ(found[0].noise->low, 1000);
  EXPECT_DOUBLE_EQ(found[0].noise->high, 4000);
  EXPECT_EQ(
      noise_for_goodput(found[0])->source,
      "second half of the 2 runs that resolve it, medians of their values "
      "and intervals");
}

}  // namespace
}  // namespace lockstep

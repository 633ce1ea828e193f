// SPDX-License-Identifier: Apache-2.0
// A rank that throws, or stops answering, in forward, in backward, between
// starting a message and waiting for it, or before a checkpoint: in every
// strategy the others throw Error{Fault::peer} that names it, in time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "tests/strategy/training.h"

namespace lockstep::testing {
namespace {

using ::testing::HasSubstr;

enum class Place { forward, backward, sending, checkpoint };
enum class Loss { throws, falls_silent };

struct Case {
  Way way;
  Place place;
  Loss loss;
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  constexpr const char* kPlaces[] = {"forward", "backward", "sending",
                                     "checkpoint"};
  return std::string(info.param.way.name) +
         (info.param.loss == Loss::throws ? "_throws_in_" : "_silent_in_") +
         kPlaces[static_cast<std::size_t>(info.param.place)];
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Way& way : kWays)
    for (const Place place :
         {Place::forward, Place::backward, Place::sending, Place::checkpoint})
      for (const Loss loss : {Loss::throws, Loss::falls_silent})
        out.push_back({way, place, loss});
  return out;
}

constexpr int kRanks = 3, kLost = 1;

// What becomes of rank 1, in its own thread, once it is armed.
struct Trap {
  explicit Trap(const Case& c) : at(c) {}

  void spring(Place place) {
    if (!armed || place != at.place) return;
    armed = false;
    lost_s = now_s();
    if (at.loss == Loss::throws)
      throw Error(Fault::device, "rank 1", "out of paper");
    released.wait();
  }

  Case at;
  bool armed = false;
  std::atomic<double> lost_s = 0;
  std::promise<void> release;
  std::shared_future<void> released{release.get_future()};
  std::promise<void> over;  // rank 1's thread has ended
};

// A group whose rank 1 has promised its part of a message when it is lost.
class Trapped final : public Group {
 public:
  Trapped(Group& group, Trap& trap) : group_(group), trap_(trap) {}
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::string backend() const override { return group_.backend(); }
  TransferHandle start(const Call& call) override { return group_.start(call); }
  void wait(const TransferHandle& transfer) override {
    if (rank() == kLost) trap_.spring(Place::sending);
    group_.wait(transfer);
  }
  TransferTimes times(const TransferHandle& transfer) override {
    return group_.times(transfer);
  }

 private:
  Group& group_;
  Trap& trap_;
};

// Rank 1 is lost in its second step of three, or at the checkpoint before it.
Scene scene_of(const Case& c, const std::shared_ptr<Trap>& trap) {
  Scene scene{.config = small_config(ModelKind::variable, c.way),
              .ranks = kRanks,
              .steps = 3};
  scene.change_model = [trap](Model& model, int rank) {
    if (rank != kLost) return;
    model.forward = [trap, inner = model.forward](const at::Tensor& x) {
      trap->spring(Place::forward);
      at::Tensor out = inner(x);
      out.register_hook(
          [trap](const at::Tensor&) { trap->spring(Place::backward); });
      return out;
    };
  };
  scene.before_step = [trap](Group& group, Strategy& strategy,
                             std::int64_t step) {
    if (step != 1) return;
    if (group.rank() == kLost) {
      trap->armed = true;
      trap->spring(Place::checkpoint);
    }
    if (trap->at.place != Place::checkpoint) return;
    strategy.sync();
    strategy.save();
  };
  return scene;
}

// How each rank ended.
struct End {
  Fault fault = Fault::internal;
  std::string what;
  double after_s = 0;  // since rank 1 was lost
};

// Says that rank 1's thread is through with the body, however it ended.
struct Farewell {
  ~Farewell() {
    if (rank == kLost) trap.over.set_value();
  }
  Trap& trap;
  int rank;
};

class LostRank : public ::testing::TestWithParam<Case> {
 protected:
  // What came out of run_ranks().
  Fault lose(double deadline_s) {
    const Scene scene = scene_of(GetParam(), trap_);
    const auto body = [trap = trap_, ends = ends_, scene,
                       batches = batches_of(scene)](Group& group) {
      const Farewell farewell{*trap, group.rank()};
      Trapped trapped(group, *trap);
      try {
        train_rank(scene, batches, trapped);
      } catch (const Error& e) {
        (*ends)[static_cast<std::size_t>(group.rank())] = {
            e.fault(), e.what(), now_s() - trap->lost_s};
        throw;
      }
    };
    try {
      run_ranks(kRanks, {.deadline_s = deadline_s, .threads = 1}, body);
    } catch (const Error& e) {
      return e.fault();
    }
    ADD_FAILURE() << "a lost rank went unnoticed";
    return Fault::internal;
  }

  void expect_told(const std::string& why, double within_s) {
    for (const std::size_t rank : {0U, 2U}) {
      const End& end = (*ends_)[rank];
      EXPECT_EQ(end.fault, Fault::peer) << rank;
      EXPECT_THAT(end.what, HasSubstr("rank 1: " + why)) << rank;
      EXPECT_LT(end.after_s, within_s) << rank;
    }
  }

  std::shared_ptr<Trap> trap_ = std::make_shared<Trap>(GetParam());
  std::shared_ptr<std::vector<End>> ends_ =
      std::make_shared<std::vector<End>>(kRanks);
};

TEST_P(LostRank, IsNamedToTheOthersInTime) {
  if (GetParam().loss == Loss::throws) {
    EXPECT_EQ(lose(30), Fault::device);  // its own error, not theirs
    return expect_told("failed: rank 1: out of paper", 5);
  }
  constexpr double kDeadline_s = 1, kBusyMachine_s = 4;
  EXPECT_EQ(lose(kDeadline_s), Fault::peer);
  // run_ranks() came back though rank 1 has not: it was not joined.
  auto over = trap_->over.get_future();
  EXPECT_EQ(over.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  expect_told("no answer for 1 s", kDeadline_s + kBusyMachine_s);
  trap_->release.set_value();
  EXPECT_EQ(over.wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

INSTANTIATE_TEST_SUITE_P(EachWay, LostRank, ::testing::ValuesIn(cases()),
                         case_name);

}  // namespace
}  // namespace lockstep::testing

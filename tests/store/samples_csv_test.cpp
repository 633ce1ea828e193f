// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/samples_csv.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lockstep/core/error.h"
#include "tests/store/temp_dir.h"

namespace lockstep {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

TEST(SamplesCsv, HeadsAreTheContract) {
  EXPECT_EQ(steps_head(false),
            "step,epoch,rank,samples,begin_s,data_s,copy_s,forward_s,"
            "backward_s,comm_s,exposed_comm_s,optim_s,wait_s,step_s,loss");
  EXPECT_EQ(steps_head(true),
            steps_head(false) +
                ",dp_scatter_s,dp_replicate_s,dp_forward_s,dp_gather_s,"
                "dp_loss_s,dp_loss_scatter_s,dp_backward_s,dp_reduce_s");
  EXPECT_EQ(comm_head(),
            "step,rank,bucket,op,payload,bytes,issued_s,begin_s,end_s,"
            "bus_bytes_per_s");
  EXPECT_EQ(epochs_head(),
            "epoch,train_loss,train_accuracy,val_loss,val_accuracy,"
            "information_nats,lr,global_batch,peak_memory_bytes,device_busy,"
            "seconds,seconds_with_loading");
}

TEST(SamplesCsv, WhatIsWrittenIsReadToTheBit) {
  const TempDir dir;
  StepSample step;
  step.step = 7, step.loss = 0.1 + 0.2, step.step_s = 1e-7, step.dp_s[7] = 3;
  write(dir.path / "s.csv",
        steps_head(true) + "\n" + to_lines(std::vector{step, step}, true));
  const auto read = read_steps(dir.path / "s.csv");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[1].step, 7);
  EXPECT_EQ(read[1].loss, step.loss);
  EXPECT_EQ(read[1].step_s, step.step_s);
  EXPECT_EQ(read[1].dp_s[7], 3);
  EXPECT_TRUE(std::isnan(read[1].dp_s[0]));
}

TEST(SamplesCsv, NotMeasuredIsAnEmptyField) {
  EpochSample epoch;
  epoch.train_loss = 0.5;
  EXPECT_EQ(to_lines(std::vector{epoch}), "0,0.5,,,,,0,0,0,,0,0\n");
}

TEST(SamplesCsv, ADamagedLineIsNamed) {
  const TempDir dir;
  write(dir.path / "c.csv",
        comm_head() + "\n1,0,0,all_reduce,gradients,x,0,0,0,0\n");
  try {
    read_comm(dir.path / "c.csv");
    FAIL() << "read a damaged file";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::store);
    EXPECT_NE(std::string(e.what()).find("c.csv:2"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("bytes"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep

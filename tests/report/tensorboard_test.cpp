// SPDX-License-Identifier: Apache-2.0
// Event files byte by byte. tests/cli/export_test.py reads them back.
#include "lockstep/report/tensorboard.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/core/crc32c.h"

namespace lockstep {
namespace {

// RFC 3720, appendix B.4, and the check value of the CRC catalogue.
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(""), 0u);
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const unsigned char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[c >> 4], out += kDigits[c & 15];
  }
  return out;
}

// The bytes that the tensorboard package 2.21 makes of the same: its Event
// message, its RecordWriter.
TEST(TensorBoard, AnEventIsWhatTensorFlowWrites) {
  EXPECT_EQ(hex(scalar_event({"a", 3, 1.5, 2.0f})),
            "09000000000000f83f10032a0a0a080a01611500000040");
  EXPECT_EQ(hex(tf_record("abc")),
            "0300000000000000"
            "b099490e"
            "616263"
            "6e57f121");
}

TEST(TensorBoard, WhatWasNotMeasuredIsLeftOut) {
  RunView run;
  run.record.began_utc = "2026-11-15T12:00:00Z";
  StepSample step{.step = 7};
  step.step_s = 0.5, step.begin_s = 10;
  run.steps = {step};
  run.epochs = {EpochSample{}};
  for (const Scalar& s : scalars_of(run)) {
    EXPECT_TRUE(std::isfinite(s.value)) << s.tag;
    EXPECT_NE(s.tag, "step/loss");
    EXPECT_NE(s.tag, "epoch/val_loss");
    if (s.tag == "step/step_s") {
      EXPECT_EQ(s.step, 7);
      EXPECT_EQ(s.unix_s, 1794744010);  // date -ud 2026-11-15T12:00:10Z +%s
    }
  }
}

}  // namespace
}  // namespace lockstep

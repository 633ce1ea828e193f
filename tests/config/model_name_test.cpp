// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/model_name.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(ModelName, TheSizeOfAVariableModelIsReadBackFromItsName) {
  for (const std::int64_t n :
       {1000, 1001, 12'500, 100'000, 2'000'000, 1'000'000'000, 1'234'567'891}) {
    ModelConfig model{.kind = ModelKind::variable};
    model.variable_params = n, model.variable_flops = 7 * n;
    const auto size = size_in_name(model_name(model));
    ASSERT_TRUE(size) << model_name(model);
    EXPECT_EQ(size->parameters, n);
    EXPECT_EQ(size->flops, 7 * n);
  }
}

TEST(ModelName, NoOtherNameHasASize) {
  for (const char* name : {"linear", "variable", "variable 1M", "variable k/M",
                           "variable 1M/2x", "a variable 1M/2M"})
    EXPECT_FALSE(size_in_name(name)) << name;
}

}  // namespace
}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// How `quick` begins: convolutions that copy, a stem that whitens.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/utils.h>

#include "lockstep/model/model.h"
#include "lockstep/model/whiten.h"

namespace lockstep {
namespace {

// Neighbours that resemble each other, in pixels and in channels.
at::Tensor pictures(std::int64_t count) {
  torch::manual_seed(2);
  const at::Tensor coarse = at::randn({count, 1, 6, 6});
  const at::Tensor smooth = at::upsample_bilinear2d(coarse, {12, 12}, false);
  return smooth *
             at::tensor({1.0, 0.8, 0.5}).view({1, 3, 1, 1}).to(at::kFloat) +
         0.2 * at::randn({count, 3, 12, 12}) + 0.3;
}

TEST(Whitening, GivesPatchesUnitCovariance) {
  const at::Tensor images = pictures(600);
  const at::Tensor kernels = whitening_kernels(images, 2);
  ASSERT_EQ(kernels.sizes(), (std::vector<std::int64_t>{24, 3, 2, 2}));
  const at::Tensor out = at::conv2d(images.to(at::kDouble), kernels);
  const at::Tensor rows = out.transpose(0, 1).reshape({24, -1});
  const at::Tensor covariance = rows.narrow(0, 0, 12).cov();
  // Before: far from it.
  const at::Tensor pixels = images.transpose(0, 1).reshape({3, -1}).cov();
  EXPECT_GT((pixels - at::eye(3)).abs().max().item<double>(), 0.3);
  EXPECT_LT((covariance - at::eye(12, at::kDouble)).abs().max().item<double>(),
            0.03);
  EXPECT_TRUE(at::equal(rows.narrow(0, 12, 12), -rows.narrow(0, 0, 12)));
}

TEST(Whitening, FillsAStemThatIsNotTrained) {
  const Model model =
      make_model({.kind = ModelKind::quick, .classes = 10, .whiten = true});
  const at::Tensor images = pictures(50);
  whiten(model, images);
  const at::Tensor stem = *model.module->named_buffers().find("stem.weight");
  EXPECT_TRUE(at::equal(stem, whitening_kernels(images, 2).to(at::kFloat)));
  EXPECT_FALSE(model.module->named_parameters().contains("stem.weight"));
  EXPECT_TRUE(model.module->named_parameters().contains("stem.bias"));
}

TEST(Quick, ItsConvolutionsBeginByCopying) {
  torch::manual_seed(1);
  const Model model = make_model({.kind = ModelKind::quick, .classes = 10});
  const auto params = model.module->named_parameters();
  const at::Tensor weight = params["group1.conv1.weight"].detach();
  ASSERT_EQ(weight.sizes(), (std::vector<std::int64_t>{64, 24, 3, 3}));
  const at::Tensor x = at::randn({2, 24, 7, 7});
  const at::Tensor y = at::conv2d(x, weight, {}, 1, 1);
  EXPECT_TRUE(at::equal(y.narrow(1, 0, 24), x));
  EXPECT_FALSE(at::allclose(y.narrow(1, 24, 24), x));
}

// Stored divided by eight and used eight times: gradient and step both grow by
// eight. With a bias this large GELU is the identity.
TEST(Quick, BiasesOfItsNormsCountEightTimes) {
  torch::manual_seed(1);
  const Model model = make_model({.kind = ModelKind::quick, .classes = 10});
  const auto params = model.module->named_parameters();
  at::Tensor stored = params["group3.shift2.bias"];
  const at::Tensor x = at::randn({4, 3, 32, 32});
  const at::NoGradGuard no_grad;
  const auto logits_at = [&](double bias) {
    stored.fill_(bias);
    return model.forward(x);
  };
  const at::Tensor moved = logits_at(101) - logits_at(100);
  const at::Tensor expected = params["fc.weight"].sum(1) * 8 / 9;
  EXPECT_LT((moved - expected).abs().max().item<double>(), 1e-3);
}

}  // namespace
}  // namespace lockstep

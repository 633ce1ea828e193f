// SPDX-License-Identifier: Apache-2.0
#include "lockstep/model/whiten.h"

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

// Keeps directions that hardly occur from being blown up (Page 2019).
constexpr double kEps = 5e-4;
// Patches of so many images at once: they take 8 x side^2 times their memory.
constexpr std::int64_t kAtOnce = 500;

// Every patch as a row: [patches, channels x side x side].
at::Tensor patches_of(const at::Tensor& images, std::int64_t side) {
  return images.to(at::kDouble)
      .unfold(2, side, 1)
      .unfold(3, side, 1)
      .permute({0, 2, 3, 1, 4, 5})
      .reshape({-1, images.size(1) * side * side});
}

at::Tensor covariance_of(const at::Tensor& images, std::int64_t side) {
  const std::int64_t features = images.size(1) * side * side;
  const auto zeros = [&](at::IntArrayRef sizes) {
    return at::zeros(sizes, images.options().dtype(at::kDouble));
  };
  at::Tensor sum = zeros({features}), products = zeros({features, features});
  std::int64_t count = 0;
  for (const at::Tensor& part : images.split(kAtOnce)) {
    const at::Tensor rows = patches_of(part, side);
    sum += rows.sum(0);
    products += rows.t().mm(rows);
    count += rows.size(0);
  }
  const auto n = static_cast<double>(count);
  const at::Tensor mean = sum / n;
  return (products - n * at::outer(mean, mean)) / (n - 1);
}

}  // namespace

at::Tensor whitening_kernels(const at::Tensor& images, std::int64_t side) {
  const at::NoGradGuard no_grad;
  const auto [variances, directions] =
      at::linalg_eigh(covariance_of(images, side).cpu());
  // Directions are columns.
  const at::Tensor scaled = (directions / (variances + kEps).sqrt())
                                .t()
                                .reshape({-1, images.size(1), side, side});
  return at::cat({scaled, -scaled});
}

void whiten(const Model& model, const at::Tensor& images) {
  const auto buffers = model.module->named_buffers();
  const at::Tensor* weight = buffers.find("stem.weight");
  check(weight != nullptr, "a whitened model has a stem that is not trained");
  const at::NoGradGuard no_grad;
  at::Tensor(*weight).copy_(whitening_kernels(images, weight->size(-1)));
}

}  // namespace lockstep

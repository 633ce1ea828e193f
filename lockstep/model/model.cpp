// SPDX-License-Identifier: Apache-2.0
#include "lockstep/model/model.h"

#include <ATen/ops/cross_entropy_loss.h>

#include "lockstep/core/error.h"
#include "lockstep/model/families.h"
#include "lockstep/plan/work_plan.h"

namespace lockstep {

Model make_model(const ModelConfig& config) {
  plan_work(config);  // throws for sizes that do not fit together
  const ModelConfig c = with_own_sizes(config);
  switch (c.kind) {
    case ModelKind::linear:
      return make_linear(c);
    case ModelKind::conv1d:
      return make_conv1d(c);
    case ModelKind::variable:
      return make_variable(c);
    case ModelKind::resnet18:
    case ModelKind::resnet18_224:
    case ModelKind::resnet34:
    case ModelKind::resnet50:
      return make_resnet(c);
    case ModelKind::mobilenet_v2:
      return make_mobilenet_v2(c);
    case ModelKind::vit_tiny:
    case ModelKind::vit_b_16:
      return make_vit(c);
    case ModelKind::gpt:
      return make_gpt(c);
    case ModelKind::quick:
      return make_quick(c);
  }
  throw Error(Fault::internal, "model.kind", "has no module");
}

at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& targets,
                   double label_smoothing) {
  return at::cross_entropy_loss(logits.flatten(0, -2), targets.flatten(),
                                /*weight=*/{}, at::Reduction::Mean,
                                /*ignore_index=*/-100, label_smoothing);
}

}  // namespace lockstep

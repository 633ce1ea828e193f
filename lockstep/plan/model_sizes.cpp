// SPDX-License-Identifier: Apache-2.0
#include "lockstep/plan/model_sizes.h"

#include "lockstep/core/error.h"

namespace lockstep {

ResNetSize resnet_size(ModelKind kind) {
  switch (kind) {
    case ModelKind::resnet18:
      return {{2, 2, 2, 2}, false, true};
    case ModelKind::resnet18_224:
      return {{2, 2, 2, 2}, false, false};
    case ModelKind::resnet34:
      return {{3, 4, 6, 3}, false, false};
    case ModelKind::resnet50:
      return {{3, 4, 6, 3}, true, false};
    default:
      throw Error(Fault::internal, "resnet_size", "not a ResNet");
  }
}

VitSize vit_size(ModelKind kind) {
  switch (kind) {
    case ModelKind::vit_tiny:
      return {192, 12, 3, 768};
    case ModelKind::vit_b_16:
      return {768, 12, 12, 3072};
    default:
      throw Error(Fault::internal, "vit_size", "not a vision transformer");
  }
}

}  // namespace lockstep

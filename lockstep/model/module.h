// SPDX-License-Identifier: Apache-2.0
// torch's module by its name: most files only pass one on, and its header costs
// a compiler ten seconds.
#pragma once

namespace torch::nn {
class Module;
}  // namespace torch::nn

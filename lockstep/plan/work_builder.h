// SPDX-License-Identifier: Apache-2.0
// Writes a WorkPlan by walking through forward: each function is one layer,
// takes what it reads and gives what it writes. Knows for each kind of layer
// its parameters, its FLOPs and what autograd keeps of it.
#pragma once

#include <limits>
#include <string>

#include "lockstep/plan/work_plan.h"

namespace lockstep {

// A tensor between two layers.
struct LayerTensor {
  static constexpr std::size_t kInput = std::numeric_limits<std::size_t>::max();
  Shape shape;
  std::size_t owner = kInput;  // the row whose output memory it lies in
  bool needs_grad = false;     // some parameter lies before it
};

struct ConvSize {
  std::int64_t out = 0, kernel = 1, stride = 1, padding = 0, groups = 1;
  bool bias = false;
  bool frozen = false;  // the weight is a buffer and has no gradient
};

class WorkBuilder {
 public:
  WorkBuilder(ModelKind kind, Shape input, bool tokens = false);

  LayerTensor input() const { return {plan_.input}; }

  // Over [channels, width] or [channels, height, width].
  LayerTensor conv(const LayerTensor& x, const std::string& name,
                   const ConvSize& size);
  LayerTensor max_pool(const LayerTensor& x, const std::string& name,
                       const ConvSize& size);
  LayerTensor batch_norm(const LayerTensor& x, const std::string& name,
                         bool affine = true);
  // A bias of each channel added in place, a parameter `name`.bias.
  LayerTensor shift(const LayerTensor& x, const std::string& name);
  // [channels, height, width] -> [channels]
  LayerTensor average_pool(const LayerTensor& x, const std::string& name);

  struct LinearSize {
    std::int64_t out = 0;
    bool bias = true;
    const char* type = "Linear";
    // Hugging Face's Conv1D keeps its weight as [in, out].
    bool in_first = false;
    // Parameter names; empty: name.weight and name.bias.
    std::string weight = {}, bias_name = {};
    std::string shared = {};  // the row whose weight it uses once more
  };
  // Over the last dimension.
  LayerTensor linear(const LayerTensor& x, const std::string& name,
                     const LinearSize& size);
  LayerTensor layer_norm(const LayerTensor& x, const std::string& name);
  // Tokens [context] -> [context, width]; `count` rows in the table.
  LayerTensor embedding(const LayerTensor& tokens, const std::string& name,
                        std::int64_t count, std::int64_t width);
  // Packed queries, keys and values [tokens, 3 width] -> [tokens, width].
  LayerTensor attention(const LayerTensor& qkv, const std::string& name,
                        std::int64_t heads);

  // In place, keeps its result.
  LayerTensor relu(const LayerTensor& x, const std::string& name);
  // Not in place, keeps its input.
  LayerTensor relu6(const LayerTensor& x, const std::string& name);
  LayerTensor sigmoid(const LayerTensor& x, const std::string& name);
  LayerTensor gelu(const LayerTensor& x, const std::string& name);
  LayerTensor dropout(const LayerTensor& x, const std::string& name);
  LayerTensor add(const LayerTensor& x, const LayerTensor& y,
                  const std::string& name);
  // The same into x's memory.
  LayerTensor add_in_place(const LayerTensor& x, const LayerTensor& y,
                           const std::string& name);
  // Any other row: writes `output`, keeps nothing, multiplies nothing.
  LayerTensor move(const LayerTensor& x, const std::string& name,
                   const char* type, Shape output);

  // The same memory seen as another shape: no row.
  static LayerTensor view(LayerTensor x, Shape shape);

  // A parameter of the row written last. One that the module lists earlier is
  // declared first and attached to its row later.
  void param(const std::string& name, Shape shape);
  std::size_t declare(const std::string& name, Shape shape);
  void attach(std::size_t declared);

  WorkPlan finish();

 private:
  LayerWork& row(const LayerTensor& x, const std::string& name,
                 const char* type, Shape output);
  LayerTensor result(bool needs_grad) const;
  void keep(const LayerTensor& x);
  void multiply_adds(const LayerTensor& x, double count);

  WorkPlan plan_;
  std::vector<bool> kept_;  // rows whose output stays for backward
};

}  // namespace lockstep

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
struct Value {
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

  Value input() const { return {plan_.input}; }

  // Over [channels, width] or [channels, height, width].
  Value conv(const Value& x, const std::string& name, const ConvSize& size);
  Value max_pool(const Value& x, const std::string& name, const ConvSize& size);
  Value batch_norm(const Value& x, const std::string& name, bool affine = true);
  // A bias of each channel added in place, a parameter `name`.bias.
  Value shift(const Value& x, const std::string& name);
  // [channels, height, width] -> [channels]
  Value average_pool(const Value& x, const std::string& name);

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
  Value linear(const Value& x, const std::string& name, const LinearSize& size);
  Value layer_norm(const Value& x, const std::string& name);
  // Tokens [context] -> [context, width]; `count` rows in the table.
  Value embedding(const Value& tokens, const std::string& name,
                  std::int64_t count, std::int64_t width);
  // Packed queries, keys and values [tokens, 3 width] -> [tokens, width].
  Value attention(const Value& qkv, const std::string& name,
                  std::int64_t heads);

  // In place, keeps its result.
  Value relu(const Value& x, const std::string& name);
  // Not in place, keeps its input.
  Value relu6(const Value& x, const std::string& name);
  Value sigmoid(const Value& x, const std::string& name);
  Value gelu(const Value& x, const std::string& name);
  Value dropout(const Value& x, const std::string& name);
  Value add(const Value& x, const Value& y, const std::string& name);
  // The same into x's memory.
  Value add_in_place(const Value& x, const Value& y, const std::string& name);
  // Any other row: writes `output`, keeps nothing, multiplies nothing.
  Value move(const Value& x, const std::string& name, const char* type,
             Shape output);

  // The same memory seen as another shape: no row.
  static Value view(Value x, Shape shape);

  // A parameter of the row written last. One that the module lists earlier is
  // declared first and attached to its row later.
  void param(const std::string& name, Shape shape);
  std::size_t declare(const std::string& name, Shape shape);
  void attach(std::size_t declared);

  WorkPlan finish();

 private:
  LayerWork& row(const Value& x, const std::string& name, const char* type,
                 Shape output);
  Value result(bool needs_grad) const;
  void keep(const Value& x);
  void multiply_adds(const Value& x, double count);

  WorkPlan plan_;
  std::vector<bool> kept_;  // rows whose output stays for backward
};

}  // namespace lockstep

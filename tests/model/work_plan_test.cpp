// SPDX-License-Identifier: Apache-2.0
// Each module against its WorkPlan, layer by layer: LibTorch reports every
// operation and every allocation it makes, so a row that is missing, in the
// wrong place or miscounted is seen.
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>

#include <map>
#include <set>
#include <tuple>

#include "lockstep/model/model.h"
#include "lockstep/plan/work_plan.h"

namespace lockstep {
namespace {

const std::map<std::string, std::set<std::string>> kOperation = {
    {"Conv1d", {"aten::conv1d"}},
    {"Conv2d", {"aten::conv2d"}},
    {"BatchNorm2d", {"aten::batch_norm"}},
    {"ReLU", {"aten::relu_", "aten::relu"}},
    {"ReLU6", {"aten::relu6"}},
    {"Sigmoid", {"aten::sigmoid_"}},
    {"MaxPool1d", {"aten::max_pool1d"}},
    {"MaxPool2d", {"aten::max_pool2d"}},
    {"AdaptiveAvgPool2d", {"aten::adaptive_avg_pool2d"}},
    {"AdaptiveMaxPool1d", {"aten::adaptive_max_pool1d"}},
    {"Linear", {"aten::linear", "aten::addmm"}},
    {"Conv1D", {"aten::linear"}},
    {"Dropout", {"aten::dropout"}},
    {"LayerNorm", {"aten::layer_norm"}},
    {"GELU", {"aten::gelu"}},
    {"Embedding", {"aten::embedding"}},
    {"Attention", {"aten::scaled_dot_product_attention"}},
    {"Add", {"aten::add", "aten::add_"}},
    {"Concat", {"aten::cat"}},
    {"Mean", {"aten::mean"}},
    {"Mul", {"aten::mul"}}};

// These look at memory another way and move nothing.
const std::set<std::string> kViews = {
    "aten::flatten",   "aten::view",   "aten::unflatten",
    "aten::permute",   "aten::select", "aten::narrow",
    "aten::transpose", "aten::expand", "aten::t"};

struct Operation {
  std::string name;
  Shape output;  // with the batch
  double flops = 0;
};

struct Log {
  int depth = 0;
  std::vector<Operation> operations;  // outermost ones, in order
};
thread_local Log g_log;

// Inputs can be seen when an operation begins, outputs when it ends.
struct Inputs final : at::ObserverContext {
  std::vector<Shape> shapes;
  int wanted_gradients = 0;  // of a convolution: of its input, of its weight
};

Shape sizes(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined()
             ? value.toTensor().sizes().vec()
             : Shape{};
}

double multiply_adds(const std::string& name, const Inputs& in,
                     const Shape& out) {
  const double outputs = static_cast<double>(numel(out));
  const auto last = [&](std::size_t i) {
    return static_cast<double>(in.shapes[i].back());
  };
  const auto kernel = [&](std::size_t i) {  // multiply-adds of one output
    const std::int64_t one = numel(in.shapes[i]) / in.shapes[i][0];
    return static_cast<double>(one);
  };
  const auto tokens = [&] { return static_cast<double>(in.shapes[1][2]); };
  if (name == "aten::conv1d" || name == "aten::conv2d")
    return outputs * kernel(1);
  if (name == "aten::linear" || name == "aten::mm") return outputs * last(0);
  if (name == "aten::addmm") return outputs * last(1);  // after the bias
  if (name == "aten::scaled_dot_product_attention")
    return 2 * outputs * tokens();
  if (name.ends_with("flash_attention_for_cpu_backward"))
    return 5 * outputs * tokens();
  if (name == "aten::convolution_backward")
    return static_cast<double>(numel(in.shapes[0])) * kernel(2) *
           in.wanted_gradients;
  return 0;
}

// Not the engine's own spans around each step of backward.
bool is_operation(const at::RecordFunction& f) {
  return std::string_view(f.name()).starts_with("aten::");
}

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& f) {
  if (!is_operation(f)) return nullptr;
  ++g_log.depth;
  auto inputs = std::make_unique<Inputs>();
  for (const c10::IValue& value : f.inputs())
    inputs->shapes.push_back(sizes(value));
  if (std::string(f.name()) == "aten::convolution_backward") {
    const auto mask = f.inputs().back().toBoolList();
    inputs->wanted_gradients = (mask[0] ? 1 : 0) + (mask[1] ? 1 : 0);
  }
  return inputs;
}

void on_end(const at::RecordFunction& f, at::ObserverContext* context) {
  if (!is_operation(f) || --g_log.depth > 0) return;
  const auto& inputs = dynamic_cast<const Inputs&>(*context);
  for (const c10::IValue& value : f.outputs()) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const Shape out = sizes(value);
    g_log.operations.push_back(
        {f.name(), out, 2 * multiply_adds(f.name(), inputs, out)});
    return;
  }
}

struct Listening {
  at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(on_begin, on_end)
                                     .needsInputs(true)
                                     .needsOutputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
  ~Listening() { at::removeCallback(handle); }
};

// What LibTorch does while `work` runs on this thread.
template <class Work>
std::vector<Operation> operations_of(const Work& work) {
  g_log = {};
  const Listening listening;
  work();
  return std::move(g_log.operations);
}

struct LiveBytes final : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t,
                         c10::Device) override {
    live += bytes;
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t live = 0;
};

// Without dimensions of one: the linear model runs on [1000], not [1, 1000].
Shape squeezed(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

constexpr std::int64_t kBatch = 2;

class EveryModel : public testing::TestWithParam<ModelConfig> {
 protected:
  at::Tensor inputs() const {
    Shape shape = plan.input;
    shape.insert(shape.begin(), kBatch);
    return plan.tokens ? torch::zeros(shape, at::kLong)
                       : torch::randn(shape, type_of(GetParam()));
  }
  // Our own convolution does three rows in one and LibTorch sees none of it;
  // in double precision it steps aside.
  static at::ScalarType type_of(const ModelConfig& config) {
    return config.kind == ModelKind::conv1d ? at::kDouble : at::kFloat;
  }
  // Made once for all tests: drawing 86 million weights takes a second.
  static Model& made(const ModelConfig& config) {
    at::set_num_threads(1);
    static std::map<std::tuple<ModelKind, std::int64_t, bool>, Model> models;
    const auto [place, fresh] =
        models.try_emplace({config.kind, config.image_px, config.whiten});
    if (fresh) {
      place->second = make_model(config);
      place->second.module->to(type_of(config));
    }
    return place->second;
  }
  WorkPlan plan = plan_work(GetParam());
  Model& model = made(GetParam());
};

TEST_P(EveryModel, ListsItsParametersInThePlannedOrder) {
  const auto params = model.module->named_parameters();
  ASSERT_EQ(params.size(), plan.params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    EXPECT_EQ(params[i].key(), plan.params[i].name);
    EXPECT_EQ(params[i].value().sizes().vec(), plan.params[i].shape);
  }
  std::int64_t buffers = 0;
  for (const auto& item : model.module->named_buffers())
    if (item.value().dim() > 0) buffers += item.value().numel();
  EXPECT_EQ(4 * buffers, plan.buffer_bytes());
}

TEST_P(EveryModel, DoesInForwardWhatIsPlannedRowByRow) {
  const at::Tensor x = inputs();
  at::Tensor logits;
  auto done = operations_of([&] { logits = model.forward(x); });
  std::erase_if(done, [](const Operation& op) {
    return kViews.contains(op.name) || op.output.empty();
  });
  for (std::size_t i = 0; i < std::min(done.size(), plan.layers.size()); ++i) {
    const LayerWork& row = plan.layers[i];
    EXPECT_TRUE(kOperation.at(row.type).contains(done[i].name))
        << row.name << ": " << row.type << " is planned, " << done[i].name
        << " is done";
    Shape planned = row.output;
    planned.insert(planned.begin(), kBatch);
    if (row.type == "Attention")  // heads lie apart
      EXPECT_EQ(numel(done[i].output), numel(planned)) << row.name;
    else
      EXPECT_EQ(squeezed(done[i].output), squeezed(planned)) << row.name;
    EXPECT_EQ(done[i].flops, kBatch * row.forward_flops) << row.name;
  }
  EXPECT_EQ(done.size(), plan.layers.size());
}

TEST_P(EveryModel, DoesInBackwardThePlannedFlops) {
  const at::Tensor sum = model.forward(inputs()).sum();
  double flops = 0;
  for (const Operation& op :
       operations_of([&] { torch::autograd::backward({sum}, {}); }))
    flops += op.flops;
  EXPECT_EQ(flops, kBatch * plan.backward_flops());
}

TEST_P(EveryModel, KeepsThePlannedBytesForBackward) {
  const at::Tensor x = inputs();
  const auto bytes = std::make_shared<LiveBytes>();
  at::Tensor logits;
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
    logits = model.forward(x);
  }
  const auto width = static_cast<std::int64_t>(logits.element_size());
  std::int64_t sample = width * logits[0].numel();
  for (const LayerWork& row : plan.layers)
    sample += width * row.kept_numel + 8 * row.kept_indices;
  const double planned = static_cast<double>(kBatch * sample);
  // BatchNorm's statistics of the batch are not counted by the plan.
  const double norm = static_cast<double>(plan.buffer_bytes());
  EXPECT_NEAR(static_cast<double>(bytes->live), planned + norm, 0.01 * planned);
}

ModelConfig small(ModelKind kind, std::int64_t image_px = 0,
                  std::int64_t patch_px = 0) {
  return with_own_sizes({.kind = kind,
                         .classes = 7,
                         .image_px = image_px,
                         .patch_px = patch_px,
                         .variable_params = 70'123,
                         .variable_flops = 3'210'988});
}

ModelConfig whitened(ModelConfig config) {
  config.whiten = true;
  return config;
}

INSTANTIATE_TEST_SUITE_P(
    Models, EveryModel,
    testing::Values(
        small(ModelKind::linear), small(ModelKind::conv1d),
        small(ModelKind::variable), small(ModelKind::resnet18),
        small(ModelKind::resnet18_224, 96), small(ModelKind::resnet34, 64),
        small(ModelKind::resnet50, 64), small(ModelKind::mobilenet_v2, 96),
        small(ModelKind::vit_tiny, 32, 4), small(ModelKind::vit_b_16, 64),
        small(ModelKind::gpt), small(ModelKind::quick),
        small(ModelKind::quick, 50), whitened(small(ModelKind::quick))),
    [](const auto& each) {
      // Which of a kind's settings it is.
      return model_name(each.param.kind) +
             (each.param.kind != ModelKind::quick ? ""
              : each.param.whiten                 ? "_whitened"
                                  : std::to_string(each.param.image_px));
    });

}  // namespace
}  // namespace lockstep

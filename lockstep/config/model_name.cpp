// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/model_name.h"

#include <fmt/format.h>

#include "lockstep/config/run_config.h"

namespace lockstep {
namespace {

std::string shortened(std::int64_t n) {
  const char* unit = "";
  for (const char* next : {"k", "M", "G"})
    if (n % 1000 == 0 && n > 0) n /= 1000, unit = next;
  return fmt::format("{}{}", n, unit);
}

}  // namespace

std::string model_name(const ModelConfig& model) {
  RunConfig config;
  config.model = model;
  std::string kind = word(config, "model.kind");
  if (model.kind != ModelKind::variable) return kind;
  return fmt::format("{} {}/{}", kind, shortened(model.variable_params),
                     shortened(model.variable_flops));
}

}  // namespace lockstep

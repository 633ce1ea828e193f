// SPDX-License-Identifier: Apache-2.0
#include "lockstep/config/model_name.h"

#include <fmt/format.h>

#include "lockstep/config/run_config.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

std::string shortened(std::int64_t n) {
  const char* unit = "";
  for (const char* next : {"k", "M", "G"})
    if (n % 1000 == 0 && n > 0) n /= 1000, unit = next;
  return fmt::format("{}{}", n, unit);
}

// "20M" -> 20,000,000.
std::optional<std::int64_t> lengthened(std::string_view text) {
  std::int64_t factor = 1, of_unit = 1;
  for (const char unit : {'k', 'M', 'G'})
    if (of_unit *= 1000; text.ends_with(unit)) factor = of_unit;
  if (factor > 1) text.remove_suffix(1);
  const std::optional<std::int64_t> n = parse_number<std::int64_t>(text);
  return n ? std::optional(*n * factor) : std::nullopt;
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

std::optional<NamedSize> size_in_name(std::string_view name) {
  constexpr std::string_view kKind = "variable ";
  const std::size_t cut = name.find('/');
  if (!name.starts_with(kKind) || cut == name.npos) return std::nullopt;
  const auto parameters =
      lengthened(name.substr(kKind.size(), cut - kKind.size()));
  const auto flops = lengthened(name.substr(cut + 1));
  if (!parameters || !flops) return std::nullopt;
  return NamedSize{.parameters = *parameters, .flops = *flops};
}

}  // namespace lockstep

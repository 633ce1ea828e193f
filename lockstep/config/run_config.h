// SPDX-License-Identifier: Apache-2.0
// Everything one run is told: the sections together, how they are loaded from
// a recipe, and what must hold between them. Stored whole in the record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "lockstep/config/batch.h"
#include "lockstep/config/comm.h"
#include "lockstep/config/data.h"
#include "lockstep/config/field.h"
#include "lockstep/config/measure.h"
#include "lockstep/config/model.h"
#include "lockstep/config/optim.h"
#include "lockstep/config/store.h"
#include "lockstep/config/strategy.h"
#include "lockstep/config/train.h"
#include "lockstep/core/json.h"

namespace lockstep {

struct RunConfig {
  ModelConfig model;
  DataConfig data;
  BatchConfig batch;
  TrainConfig train;
  OptimConfig optim;
  StrategyConfig strategy;
  CommConfig comm;
  MeasureConfig measure;
  StoreConfig store;
};

// Samples of all ranks in a full step.
std::int64_t global_batch(const RunConfig& config);

// Every setting, section by section. The fields point into `config`.
std::vector<Field> fields_of(RunConfig& config);

// The field of that dotted name; Error{Fault::config} with the nearest right
// name when there is none.
const Field& find_field(std::span<const Field> fields,
                        const std::string& dotted);

// A recipe, then each "section.field=value" in order, then validate().
// Errors carry file:line:column, or the setting's name.
RunConfig load_config(const std::filesystem::path& recipe,
                      std::span<const std::string> sets);

// The same from text; `name` stands for the file in errors.
RunConfig parse_config(const std::string& toml, const std::string& name,
                       std::span<const std::string> sets);

// Each "section.field=value" in order, without validate().
void apply_sets(std::span<const Field> fields,
                std::span<const std::string> sets);

// What no single field can know: contradictions between settings.
void validate(const RunConfig& config);

// Complete: every field, also those left at their default.
std::string to_toml(const RunConfig& config);
Json to_json(const RunConfig& config);

// The words of a choice field, for messages and records: word(c, "model.kind").
std::string word(const RunConfig& config, const std::string& dotted);

}  // namespace lockstep

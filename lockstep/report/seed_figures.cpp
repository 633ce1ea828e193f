// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/seed_figures.h"

#include <algorithm>
#include <optional>

#include "lockstep/core/csv.h"
#include "lockstep/core/text.h"
#include "lockstep/report/numbered_figures.h"
#include "lockstep/report/seed_gpus.h"

namespace lockstep {
namespace embedded {
extern const std::string_view seed_stevens_epoch_seconds, seed_hpml_tables;
}  // namespace embedded

namespace {

std::int64_t whole_number(const std::string& cell) {
  return parse_number<std::int64_t>(cell).value_or(0);
}

std::vector<SeedFigure> stevens_figures() {
  const Csv csv = parse_csv(embedded::seed_stevens_epoch_seconds,
                            "stevens_epoch_seconds.csv", Fault::internal);
  std::vector<SeedFigure> out;
  for (const CsvRow& row : csv.rows) {
    SeedFigure f{.figure = {},
                 .model = row.cells[0] == "conv" ? "conv1d" : row.cells[0],
                 .quantity = "epoch",
                 .unit = "s"};
    f.ranks = whole_number(row.cells[1]),
    f.global_batch = whole_number(row.cells[2]);
    f.figure = figures_with(f.model, f.global_batch);
    f.value = parse_number<double>(row.cells[3]).value_or(0);
    out.push_back(std::move(f));
  }
  return out;
}

std::vector<SeedFigure> hpml_figures() {
  const Csv csv =
      parse_csv(embedded::seed_hpml_tables, "hpml_tables.csv", Fault::internal);
  std::vector<SeedFigure> out;
  for (const CsvRow& row : csv.rows) {
    SeedFigure f{.figure = row.cells[0],
                 .model = "resnet18",
                 .quantity = row.cells[1],
                 .unit = row.cells[5]};
    f.ranks = whole_number(row.cells[2]),
    f.per_rank = whole_number(row.cells[3]);
    f.global_batch = f.ranks * f.per_rank;
    f.value = parse_number<double>(row.cells[4]).value_or(0);
    out.push_back(std::move(f));
  }
  return out;
}

// The seed's strategy first, then whatever there is.
const StudyPoint* ours(const Study& study, const SeedFigure& f) {
  const StudyPoint* found = nullptr;
  for (const StudyPoint& p : study.points) {
    if (p.model != f.model || p.ranks != f.ranks ||
        p.global_batch != f.global_batch || !(p.epoch_s > 0) ||
        p.origin == Origin::correctness || p.origin == Origin::failed)
      continue;
    if (found == nullptr || p.strategy == "data_parallel") found = &p;
  }
  return found;
}

}  // namespace

std::vector<SeedFigure> seed_figures(const std::string& kind) {
  if (kind == "stevens") return stevens_figures();
  if (kind == "hpml") return hpml_figures();
  return {};
}

std::vector<std::string> seed_faults(const std::string& kind) {
  if (kind == "stevens")
    return {
        "Replicas send back gradients, not \"updated weights\".",
        "The text keeps the convolutions at 12,000, 3,000 and 1,000 wide; its "
        "Figure 2 has 12,001, 3,001 and 1,001, which is right.",
        "The captions of Figures 1 and 2 are wrong: they are model summaries.",
        "One-hot labels in the text are class indices in its code.",
        "Choke is inferred: no message was timed."};
  if (kind == "qeios")
    return {
        "\"128 fails to converge\" mixes the batch size with a learning rate "
        "that was not scaled: here both arms are run.",
        "Overfitting is put down to the single GPU: here the same global batch "
        "and seed run on 1 and N devices.",
        "Its 1,281,167 images are ImageNet-1k's training count.",
        "The mutual-information framework is never defined; whether a batch is "
        "of one device or of all is not said."};
  if (kind == "hpml")
    return {
        "Table 3 divides one step's bytes by a whole epoch's time: its "
        "\"GB/s\" "
        "are MB/s (2 GPUs, batch 32: 2.577 MB/s as computed, about 2.0 GB/s "
        "with the 782 steps counted).",
        "\"Compute\" of Table 2 is the whole epoch: adding communication "
        "counts "
        "it twice.",
        "A loss of 0.644 and an accuracy of 27.5 % do not belong together.",
        "Warm-up ends at the scaled rate, not at \"the original\" one (Q4.2).",
        "The sampler's epoch number reseeds the shuffle; it synchronises "
        "nothing (Q5).",
        "Q6 describes synchronised BatchNorm; DDP's default keeps statistics "
        "local."};
  return {};
}

Table seed_table(const Study& study) {
  Table table{.verb = "report",
              .columns = {{.name = "figure"},
                          {.name = "model"},
                          {.name = "quantity"},
                          {.name = "ranks"},
                          {.name = "global_batch", .title = "batch"},
                          {.name = "seed_value", .title = "seed"},
                          {.name = "unit"},
                          {.name = "ours_epoch_s", .title = "ours (s)"},
                          {.name = "ours_origin", .title = "ours is"},
                          {.name = "predicted_for_its_gpus_s",
                           .title = "predicted for its GPUs (s)"}}};
  const bool stevens = study.kind == "stevens";
  std::optional<SeedGpus> gpus;
  if (stevens) gpus.emplace();
  for (const SeedFigure& f : seed_figures(study.kind)) {
    const bool epoch = f.quantity == "epoch" || f.quantity == "strong_epoch";
    const StudyPoint* p = epoch ? ours(study, f) : nullptr;
    table.add({f.figure, f.model, f.quantity, f.ranks, f.global_batch, f.value,
               f.unit, p != nullptr ? Cell(p->epoch_s) : Cell{},
               p != nullptr ? Cell(std::string(word(p->origin))) : Cell{},
               stevens ? Cell(gpus->epoch_s(f.model, f.ranks, f.global_batch))
                       : Cell{}});
  }
  return table;
}

}  // namespace lockstep

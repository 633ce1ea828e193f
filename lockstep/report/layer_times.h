// SPDX-License-Identifier: Apache-2.0
// Why a larger batch stops helping, layer by layer: what a sample costs in each
// layer over the batch, from the profiles that lie in a study's profiles/
// (`study.profile`, or `lockstep profile --out STUDY/profiles/MODEL.json`).
#pragma once

#include <string>
#include <vector>

#include "lockstep/analyse/study_runs.h"
#include "lockstep/core/table.h"

namespace lockstep {

struct LayerSample {
  std::string layer, type;
  std::vector<double> sample_s = {};  // forward and backward, a batch each
};

struct LayerTimes {
  std::string model, device;
  std::vector<std::int64_t> batches = {};  // rising
  // Layers in the order of forward, "loss" where it was timed, "update", and
  // "between layers": what a whole step takes beyond them.
  std::vector<LayerSample> layers = {};
  std::size_t bend = 0;  // the batch nearest the fitted saturation, else last
  bool bend_fitted = false;

  double whole_s(std::size_t batch) const;  // a sample in all layers
};

// A batch whose step costs less a sample than both its neighbours', and the
// layers that do so too.
struct Dip {
  std::string model;
  std::int64_t batch = 0;
  double saved_s = 0;  // a sample, under the lower neighbour
  std::string layers = {};
};

struct LayerFindings {
  std::vector<LayerTimes> times = {};
  std::vector<Dip> dips = {};
  std::vector<std::string> left_out = {};  // profiles that cannot be read
};

LayerFindings layer_findings_of(const Study& study);

// A row a layer: a sample's time at the smallest batch, the bend and the
// largest, and its share of what falls before and after the bend.
Table layers_table(const LayerFindings& findings);
// What falls up to the bend and by which layers; what moves after it; dips.
std::vector<std::string> layer_sentences(const LayerFindings& findings);
Json to_json(const LayerFindings& findings);

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/software.h"

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep {

// pytorch: eager steps of linear, resnet18 and mobilenet_v2 at their smallest
// batch, 1.76, 8.54 and 16.8 ms. lockstep: linear, 0.76 ms from C++; its layer
// cost is pytorch's, scaled by that. graph: launches are the device's own.
// lockstep-graph: the 18 steps of results/h200, 0.20 to 59.8 ms.
const std::vector<Software>& software_presets() {
  static const std::vector<Software> all = {
      {"lockstep", 0.35e-3, 25e-6, 5e-6, 0, false, true},
      {"lockstep-graph", 0.03e-3, 0, 0, 0, false, true},
      {"pytorch", 0.9e-3, 58e-6, 20e-6, 2, true, false},
      {"graph", 0.05e-3, 0, 0, 0, false, false}};
  return all;
}

const Software& find_software(const std::string& name) {
  std::vector<std::string> names;
  for (const Software& s : software_presets()) {
    if (s.name == lower(name)) return s;
    names.push_back(s.name);
  }
  const std::string close = nearest(name, names);
  throw Error(Fault::config, name, "there is no such software",
              close.empty() ? "lockstep, lockstep-graph, pytorch or graph"
                            : "did you mean '" + close + "'?");
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// How the GPUs of this machine reach each other, in nvidia-smi's words.
#pragma once

#include <string>
#include <vector>

#include "lockstep/hardware/hardware_file.h"

namespace lockstep {

// From the text of `nvidia-smi topo -m`, and of `nvidia-smi topo -p2p r` for
// who may read whose memory. Every pair once; none for a text that is no such
// table. Wires of a pair are its own over NVLink; a PCIe path is shared as soon
// as a third GPU is on it.
std::vector<DevicePair> parse_topology(const std::string& paths,
                                       const std::string& readable);

struct PairsHere {
  std::vector<DevicePair> pairs = {};  // none for one GPU
  std::string why_unknown = {};        // empty where nvidia-smi answered
};

// What nvidia-smi says here.
PairsHere pairs_here();

}  // namespace lockstep

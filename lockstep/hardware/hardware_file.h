// SPDX-License-Identifier: Apache-2.0
// A hardware file: what the predictor runs on, written by hand (TOML), by
// `lockstep probe` or with every run as machine.json (JSON). One schema for
// all three; docs/hardware.md shows it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/core/json.h"
#include "lockstep/core/object_reader.h"
#include "lockstep/hardware/cluster.h"

namespace lockstep {

// Raised when an older reader would misread a file.
constexpr int kHardwareSchema = 1;

// How two devices of a node reach each other, in nvidia-smi's words.
struct DevicePair {
  int a = 0, b = 1;
  std::string path;                       // NV12, PIX, PXB, PHB, NODE, SYS
  bool p2p = false;                       // reads the other's memory
  bool shared = false;                    // other pairs use the same wires
  double bytes_per_s = 0, latency_s = 0;  // 0: not measured
};

Json to_json(const DevicePair& pair);

struct Hardware {
  Cluster cluster;
  std::vector<DevicePair> pairs = {};
  // What else is known of the machine (CPU, driver, versions): kept, not read.
  Json host = Json::object();
};

// Throws Error{Fault::config}: another schema, an unknown field (with the
// nearest right name), a wrong type, an impossible number. `place` turns a
// dotted path of the file into what an error calls it.
Hardware hardware_from_json(const Json& json, const ObjectReader::Place& place);
Json to_json(const Hardware& hardware);

// By ending: .toml, else JSON. Errors carry file, and line where it is TOML.
Hardware load_hardware(const std::filesystem::path& path);
Hardware parse_hardware_toml(const std::string& text, const std::string& name);

// A file where one exists, else a cluster preset.
Hardware find_hardware(const std::string& name_or_path);

}  // namespace lockstep

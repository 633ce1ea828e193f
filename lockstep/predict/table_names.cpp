// SPDX-License-Identifier: Apache-2.0
#include "lockstep/predict/table_names.h"

#include <array>
#include <cctype>

#include "lockstep/core/text.h"

namespace lockstep {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool begins_with_any(const std::string& text,
                     std::initializer_list<std::string_view> parts) {
  for (const auto part : parts)
    if (text.starts_with(part)) return true;
  return false;
}

std::string first_word(const std::string& text) {
  return text.substr(0, text.find(' '));
}

bool uses_xla(const TableRow& row) {
  return has(row.framework, "XLA") || has(row.precision, "XLA") ||
         has(row.notes, "XLA ON");
}

// A marker of a machine, and whether the number after it belongs to it.
struct Marker {
  std::string_view text;
  bool number_follows = false;
};
constexpr std::array kMarkers = {
    Marker{"4029GP-TRT2"},  Marker{"4029GP-TRT"},
    Marker{"EPYC ", true},  Marker{"Threadripper PRO"},
    Marker{"Threadripper"}, Marker{"DGX-1V"},
    Marker{"DGX-1"},        Marker{"DGX-2H"},
    Marker{"DGX-2"},        Marker{"DGX A100"},
    Marker{"p3.", true},    Marker{"p2.", true},
    Marker{"p4d"},          Marker{"cloud VM"},
    Marker{"GCE"},          Marker{"Inspur"},
    Marker{"Supermicro"},   Marker{"Dell C4140"},
    Marker{"Dell"},         Marker{"Lambda cloud"},
    Marker{"workstation"},  Marker{"HGX-2"},
    Marker{"HGX ", true}};

// "25 Gbit/s Ethernet": the number before, the word after.
std::string network_name(const std::string& text) {
  const auto unit = text.find(" Gbit/s ");
  if (unit == std::string::npos) return "";
  auto begin = unit;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])))
    --begin;
  const auto word = text.find_first_of(" ,;", unit + 8);
  return text.substr(begin, std::min(word, text.size()) - begin);
}

// First match wins: SSD300-ResNet50 is a detector.
constexpr std::pair<std::string_view, std::string_view> kArchitectures[] = {
    {"ssd", "ssd"},
    {"mask r-cnn", "mask r-cnn"},
    {"efficientdet", "efficientdet"},
    {"efficientnet", "efficientnet"},
    {"resnext", "resnet"},
    {"resnet", "resnet"},
    {"inception", "inception"},
    {"alexnet", "alexnet"},
    {"vgg", "vgg"},
    {"bert", "bert"},
    {"electra", "bert"},
    {"bart", "bart"},
    {"transformer-xl", "transformer-xl"},
    {"transformer", "transformer"},
    {"u-net", "u-net"},
    {"v-net", "u-net"},
    {"gnmt", "gnmt"},
    {"jasper", "speech to text"},
    {"quartznet", "speech to text"},
    {"fastspeech", "text to speech"},
    {"fastpitch", "text to speech"},
    {"tacotron", "text to speech"}};

std::string link_generation(const TableRow& row, const std::string& link) {
  if (link == "nvswitch" || link == "nvlink-mesh" || link == "multi-node") {
    for (const auto& [gpu, name] : {std::pair{"B200", "nv5"},
                                    {"H100", "nv4"},
                                    {"H200", "nv4"},
                                    {"A100", "nv3"},
                                    {"V100", "nv2"},
                                    {"P100", "nv1"}})
      if (has(row.gpu, gpu)) return name;
    return "nv?";
  }
  for (const char* name : {"PCIe5", "PCIe4", "PCIe3"})
    if (has(row.interconnect, name)) return name;
  return "pcie?";
}

// Between nodes with a network card a GPU or two: DGX A100 the least of four
// published clusters (128 GPUs; two nodes reach 188 to 238 GB/s), DGX-1V half
// of 48 GB/s. Others may have any network.
double least_between(const std::string& host) {
  if (has(host, "|DGX A100")) return 45e9;
  return has(host, "|DGX-1V") ? 24e9 : 0;
}

// Half of the bus bandwidth that nccl-tests shows at large messages (presets
// nvlink1-mesh to nvswitch-b200, PCIe with peer-to-peer). A part of a mesh has
// fewer wires. Hosts without peer-to-peer differ too much.
double least_bandwidth(const TableFacts& f) {
  if (f.nodes > 1) return least_between(f.host);
  constexpr double kPartOfMesh = 0.3;
  const bool mesh = f.link == "nvlink-mesh";
  if (f.link != "nvswitch" && f.link != "pcie-p2p" && !mesh) return 0;
  for (const auto& [name, bytes_per_s] : {std::pair{"PCIe3", 5e9},
                                          {"PCIe4", 10e9},
                                          {"PCIe5", 14e9},
                                          {"nv1", 32e9},
                                          {"nv2", 62e9},
                                          {"nv3", 115e9},
                                          {"nv4", 230e9},
                                          {"nv5", 330e9}})
    if (f.generation == name)
      return bytes_per_s * (mesh && f.gpus < 8 ? kPartOfMesh : 1);
  return 0;
}

std::string size_name(int gpus, int nodes) {
  if (nodes > 1) return "m";
  return gpus <= 2 ? "2" : gpus <= 4 ? "4" : gpus <= 8 ? "8" : "16";
}

bool slows_half_norm(const TableRow& row) {
  return !uses_xla(row) && has(row.framework, "tf_cnn") &&
         row.model != "AlexNet" && row.model != "VGG16";
}

}  // namespace

std::string architecture_of(const std::string& model) {
  std::string name = lower(model);
  for (const auto& [part, architecture] : kArchitectures)
    if (has(name, part)) return std::string(architecture);
  return name;
}

std::string software_family(const TableRow& row) {
  const std::string& f = row.framework;
  if (has(f, "tf_cnn")) return uses_xla(row) ? "tfcnn-xla" : "tfcnn";
  if (has(f, "DLE code")) return "lambda-torch";
  if (f == "PyTorch" || has(f, "DGL")) return "torch";
  if (begins_with_any(f, {"TensorFlow1", "TensorFlow2", "TF + H"}))
    return "tf-horovod";
  return first_word(f);
}

std::string host_name(const std::string& text) {
  std::string best = network_name(text);
  std::size_t at = best.empty() ? std::string::npos : text.find(best);
  for (const Marker& marker : kMarkers) {
    const auto found = text.find(marker.text);
    if (found == std::string::npos || found > at) continue;
    if (found == at && marker.text.size() <= best.size()) continue;
    auto end = found + marker.text.size();
    if (marker.number_follows)
      end = std::min(text.find_first_of(" ,;)(/", end), text.size());
    at = found;
    best = text.substr(found, end - found);
  }
  return best.empty() ? text : best;
}

void name_facts(const TableRow& row, TableFacts& f) {
  f.model = row.model;
  f.architecture = architecture_of(row.model);
  f.software = software_family(row);
  f.release = row.framework;
  f.comm = row.comm;
  f.link = row.nodes > 1 ? "multi-node" : row.link_class;
  f.generation = link_generation(row, f.link);
  f.gpu = row.gpu;
  const bool bridge = has(row.interconnect, "+ NVLink bridge") ||
                      has(row.interconnect, "NVLink bridge pair (");
  f.host = row.gpu + "|" + host_name(row.interconnect) +
           (bridge ? "+bridge" : "") + (row.nodes > 1 ? "|multi" : "");
  f.size = size_name(row.gpus, row.nodes);
  f.least_bytes_per_s = least_bandwidth(f);
  f.half = begins_with_any(row.precision, {"FP16", "AMP", "BF16"});
  f.servers = has(row.comm, "PS)") || has(row.comm, "parameter server");
  f.reduces_in_node = has(row.comm, "replicated");
  f.slow_half_norm = f.half && slows_half_norm(row);
}

}  // namespace lockstep

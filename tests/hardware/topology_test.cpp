// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/topology.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lockstep {
namespace {

// Four GPUs, two under each of two PCIe switches, one pair bridged by NVLink,
// as nvidia-smi prints such a machine: tabs, an underlined heading, a network
// card, affinities and a legend.
constexpr const char* kPaths =
    "\t\033[4mGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA "
    "Affinity\033[0m\n"
    "GPU0\t X \tPIX\tSYS\tSYS\tPXB\t0-31\t0\n"
    "GPU1\tPIX\t X \tSYS\tSYS\tPXB\t0-31\t0\n"
    "GPU2\tSYS\tSYS\t X \tNV4\tSYS\t32-63\t1\n"
    "GPU3\tSYS\tSYS\tNV4\t X \tSYS\t32-63\t1\n"
    "NIC0\tPXB\tPXB\tSYS\tSYS\t X \t\t\n"
    "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n";
constexpr const char* kReadable =
    " \tGPU0\tGPU1\tGPU2\tGPU3\t\n"
    " GPU0\tX\tOK\tCNS\tCNS\t\n"
    " GPU1\tOK\tX\tCNS\tCNS\t\n"
    " GPU2\tCNS\tCNS\tX\tOK\t\n"
    " GPU3\tCNS\tCNS\tOK\tX\t\n"
    "\nLegend:\n  OK  = Status Ok\n  CNS = Chipset not supported\n";

const DevicePair& pair(const std::vector<DevicePair>& pairs, int a, int b) {
  for (const DevicePair& p : pairs)
    if (p.a == a && p.b == b) return p;
  throw std::out_of_range("no such pair");
}

TEST(Topology, KnowsThePathOfEveryPairOnce) {
  const std::vector<DevicePair> pairs = parse_topology(kPaths, kReadable);
  ASSERT_EQ(pairs.size(), 6u);
  EXPECT_EQ(pair(pairs, 0, 1).path, "PIX");
  EXPECT_EQ(pair(pairs, 1, 3).path, "SYS");
  EXPECT_EQ(pair(pairs, 2, 3).path, "NV4");
  EXPECT_TRUE(pair(pairs, 2, 3).p2p);
  EXPECT_FALSE(pair(pairs, 0, 2).p2p);
}

TEST(Topology, SharesWhatSeveralPairsCross) {
  const std::vector<DevicePair> pairs = parse_topology(kPaths, kReadable);
  EXPECT_TRUE(pair(pairs, 0, 3).shared);
  EXPECT_FALSE(pair(pairs, 0, 1).shared);
  EXPECT_FALSE(pair(pairs, 2, 3).shared);
}

TEST(Topology, OfOneGpuOrOfNoTableIsEmpty) {
  EXPECT_TRUE(
      parse_topology("\tGPU0\tCPU Affinity\nGPU0\t X \t0-15\n", "").empty());
  EXPECT_TRUE(parse_topology("NVIDIA-SMI has failed\n", "").empty());
  EXPECT_TRUE(parse_topology("", "").empty());
}

// A folder with an nvidia-smi of our own, and nothing else in the path.
class Path {
 public:
  explicit Path(const std::string& script) {
    std::filesystem::create_directories(folder_);
    const std::filesystem::path file = folder_ / "nvidia-smi";
    if (!script.empty()) {
      std::ofstream(file) << "#!/bin/sh\n" << script;
      std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    setenv("PATH", folder_.c_str(), 1);
  }
  ~Path() {
    setenv("PATH", was_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("lockstep-path-" + std::to_string(::getpid()));
  std::string was_ = getenv("PATH");
};

TEST(Topology, SaysWhyPairsAreNotKnown) {
  {
    const Path path("");
    EXPECT_EQ(pairs_here().why_unknown, "nvidia-smi is not in the path");
    EXPECT_TRUE(pairs_here().pairs.empty());
  }
  {
    const Path path("exit 9\n");
    EXPECT_EQ(pairs_here().why_unknown, "nvidia-smi topo -m ended with 9");
  }
  const Path path("printf '\\tGPU0\\tGPU1\\nGPU0\\tX\\tNV4\\n'\n");
  EXPECT_EQ(pairs_here().why_unknown, "");
  ASSERT_EQ(pairs_here().pairs.size(), 1u);
  EXPECT_EQ(pairs_here().pairs[0].path, "NV4");
}

TEST(Topology, WithoutAnAnswerNobodyReadsAnother) {
  for (const DevicePair& p : parse_topology(kPaths, "")) EXPECT_FALSE(p.p2p);
}

}  // namespace
}  // namespace lockstep

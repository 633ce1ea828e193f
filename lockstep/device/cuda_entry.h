// SPDX-License-Identifier: Apache-2.0
// The functions liblockstep_cuda.so exports, and their contract with the
// binary that opens it. All are extern "C"; the caller owns what they make.
#pragma once

#include <array>
#include <filesystem>
#include <string>

namespace lockstep {

class Device;
class Group;

// Named kCudaEntry. The library compares both versions with those it was built
// with before it touches anything else, and throws Error{Fault::device} when
// they differ or there is no such GPU.
using CudaEntry = Device*(int index, const char* lockstep_version,
                          const char* torch_version);

inline constexpr const char* kCudaLibrary = "liblockstep_cuda.so";
inline constexpr const char* kCudaEntry = "lockstep_cuda_device";

// What NCCL's ranks share to find each other: one of them makes it.
using NcclId = std::array<char, 128>;
struct NcclRank {
  NcclId id = {};
  int device = 0, rank = 0, size = 1;
  double deadline_s = 60;
};
using NcclIdEntry = void(NcclId* id);
using NcclGroupEntry = Group*(const NcclRank* rank);

inline constexpr const char* kNcclIdEntry = "lockstep_nccl_id";
inline constexpr const char* kNcclGroupEntry = "lockstep_nccl_group";

// Where the library would lie: beside the one that opens it.
std::filesystem::path cuda_library_path();

// A function of the library, which is opened for it. Throws
// Error{Fault::device} when there is none; `wanted` is who asks, for the error.
void* cuda_function(const std::string& wanted, const char* name);

}  // namespace lockstep

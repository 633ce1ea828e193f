// SPDX-License-Identifier: Apache-2.0
// The one function liblockstep_cuda.so exports, and its contract with the
// binary that opens it.
#pragma once

namespace lockstep {

class Device;

// extern "C", named kCudaEntry. The library compares both versions with those
// it was built with before it touches anything else, and throws
// Error{Fault::device} when they differ or there is no such GPU. The caller
// owns the result.
using CudaEntry = Device*(int index, const char* lockstep_version,
                          const char* torch_version);

inline constexpr const char* kCudaLibrary = "liblockstep_cuda.so";
inline constexpr const char* kCudaEntry = "lockstep_cuda_device";

}  // namespace lockstep

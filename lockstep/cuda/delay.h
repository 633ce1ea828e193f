// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Stream.h>

namespace lockstep {

// Keeps a stream busy for so many seconds with one thread of one block: what
// an emulated message does to a GPU.
void delay_on_gpu(c10::Stream stream, double seconds);

}  // namespace lockstep

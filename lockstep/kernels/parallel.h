// SPDX-License-Identifier: Apache-2.0
// Work shared out over torch's own threads. One door to them: only this file's
// source is compiled with OpenMP, and it is torch's libgomp that runs it.
#pragma once

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace lockstep {

// Calls work(begin, end) on pieces of [0, count), at least `grain` long, on as
// many threads as the calling thread may use (at::set_num_threads). The pieces
// depend on count, grain and the number of threads alone.
void parallel_for(std::int64_t count, std::int64_t grain,
                  c10::function_ref<void(std::int64_t, std::int64_t)> work);

}  // namespace lockstep

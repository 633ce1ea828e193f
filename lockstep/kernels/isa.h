// SPDX-License-Identifier: Apache-2.0
// Which vector instructions a kernel may use. Each kernel's body is written
// once and compiled once for each of these; tests run all that the CPU has.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

enum class Isa { plain, avx2, avx512 };

// The widest this CPU has; the same answer for the whole life of a process.
Isa best_isa();
// All that this CPU has, plain first.
std::vector<Isa> available_isas();
std::string isa_name(Isa isa);

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// Long 1-D convolutions as products of spectra: what one task does, for one
// instruction set. A vector's lanes are different blocks of a signal, so no
// loop ever mixes lanes until the end. Private to kernels/.
//
// A row is cut into blocks of `valid` positions. Blocks 2k and 2k + 1 are the
// real and imaginary part of one complex signal of `size` samples (a pair):
// since the other operand is real, they come out separate again. Frequencies
// stay in the order the transform leaves them in; products do not care.
#pragma once

#include <cstdint>

namespace lockstep {

struct Blocks {
  std::int64_t size = 0;   // of a transform: a power of 4
  std::int64_t valid = 0;  // positions a block gives: size - taps + 1
  std::int64_t batch = 0;  // rows of one channel
  std::int64_t pairs = 0;  // of blocks in one row
  // Vectors that hold all pairs of a channel, for this many lanes.
  std::int64_t groups(std::int64_t lanes) const {
    return (batch * pairs + lanes - 1) / lanes;
  }
};

// Rows of one channel in memory, with `lead` zeros thought before each and
// zeros without end behind it.
struct RowsOfChannel {
  float* data = nullptr;    // of the first row
  std::int64_t stride = 0;  // from a row to that of the next sample
  std::int64_t length = 0;  // numbers in a row
  std::int64_t lead = 0;
};

// Spectra of channels, [frequency][channel][group][2][lane]: real parts, then
// imaginary. One frequency of all channels lies together.
struct Spectra {
  float* data = nullptr;
  std::int64_t channels = 0, groups = 0;
};

// Spectra of kernels, [frequency][2][stride], kernel (row, column) at
// row * columns + column.
struct KernelSpectra {
  float* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;
};

struct SpectralTable {
  std::int64_t lanes;
  // Channel `channel`, group `group`: samples a block takes from its row are
  // `take` (size, or valid where the rest must be zero).
  void (*analyse)(const Blocks&, const RowsOfChannel&, std::int64_t take,
                  const float* twiddles, const Spectra&, std::int64_t channel,
                  std::int64_t group);
  // The way back: `valid` positions of each block into the rows.
  void (*synthesise)(const Blocks&, const RowsOfChannel&, float bias,
                     const float* twiddles, const Spectra&,
                     std::int64_t channel, std::int64_t group);
  // `lanes` kernels from index `first` on; at most `count` of them exist.
  // sources[lane] points to tap 0, taps follow at distance `step`.
  void (*analyse_kernels)(std::int64_t size, std::int64_t taps,
                          const float* const* sources, std::int64_t count,
                          std::int64_t step, const float* twiddles,
                          const KernelSpectra&, std::int64_t first);
  void (*synthesise_kernels)(std::int64_t size, std::int64_t taps,
                             float* const* targets, std::int64_t count,
                             const float* twiddles, const KernelSpectra&,
                             std::int64_t first);
  // At one frequency: out[row] = sum over columns of in[column] times the
  // conjugate of kernel (row, column).
  void (*correlate)(const Spectra& in, const KernelSpectra&, const Spectra& out,
                    std::int64_t frequency);
  // At one frequency: kernel (row, column) = sum over blocks of in[column]
  // times the conjugate of grad[row].
  void (*correlate_blocks)(const Spectra& in, const Spectra& grad,
                           const KernelSpectra& out, std::int64_t frequency);
  // With a single input channel the products need no pass of their own:
  // correlate and synthesise of one output row and group in one, and analyse
  // and correlate_blocks of one row.
  void (*synthesise_product)(const Blocks&, const RowsOfChannel& out,
                             float bias, const float* twiddles,
                             const Spectra& in, const KernelSpectra&,
                             std::int64_t row, std::int64_t group);
  void (*analyse_product)(const Blocks&, const RowsOfChannel& grad,
                          const float* twiddles, const Spectra& in,
                          const KernelSpectra& out, std::int64_t row);
};

extern const SpectralTable kSpectralPlain;
extern const SpectralTable kSpectralAvx2;
extern const SpectralTable kSpectralAvx512;

}  // namespace lockstep

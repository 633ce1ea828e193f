// SPDX-License-Identifier: Apache-2.0
#include "lockstep/data/audio.h"

#include <fmt/format.h>
#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <numbers>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

constexpr double kBeta = 8;         // of the Kaiser window
constexpr int kZeroCrossings = 32;  // on each side
constexpr int kStepsPerCrossing = 512;
constexpr double kPassShare = 0.94;  // of the band, the rest is the slope
constexpr std::int64_t kMaxFrames = 1 << 26;

[[noreturn]] void broken(const std::filesystem::path& path,
                         const std::string& what) {
  throw Error(Fault::data, path.string(), what,
              "replace or remove the file; data.skip_broken = true leaves out "
              "such files");
}

double sinc(double x) {
  const double angle = std::numbers::pi * x;
  return std::abs(x) < 1e-9 ? 1 : std::sin(angle) / angle;
}

double kaiser(double x) {  // -1 … 1
  const double inside = std::max(0.0, 1 - x * x);
  return std::cyl_bessel_i(0.0, kBeta * std::sqrt(inside)) /
         std::cyl_bessel_i(0.0, kBeta);
}

// One side of the windowed sinc; between its steps it is taken as straight.
std::vector<double> make_kernel() {
  constexpr int kSize = kZeroCrossings * kStepsPerCrossing;
  std::vector<double> kernel(kSize + 2, 0.0);
  for (int i = 0; i <= kSize; ++i) {
    const double x = static_cast<double>(i) / kStepsPerCrossing;
    kernel[static_cast<std::size_t>(i)] = sinc(x) * kaiser(x / kZeroCrossings);
  }
  return kernel;
}

double kernel_at(const std::vector<double>& kernel, double x) {
  const double place = std::abs(x) * kStepsPerCrossing;
  const auto step = static_cast<std::size_t>(place);
  const double part = place - static_cast<double>(step);
  return kernel[step] + part * (kernel[step + 1] - kernel[step]);
}

// libsndfile reads what is there of a file cut short and says nothing.
void check_riff_length(const std::filesystem::path& path) {
  std::array<char, 8> head = {};
  std::ifstream in(path, std::ios::binary);
  if (!in.read(head.data(), head.size())) return;
  std::uint32_t claimed = 0;
  std::memcpy(&claimed, head.data() + 4, 4);
  std::error_code bad;
  const auto size = std::filesystem::file_size(path, bad);
  const bool unknown = claimed == 0xffffffff;  // written by a stream
  if (std::memcmp(head.data(), "RIFF", 4) == 0 && !unknown && !bad &&
      size < std::uintmax_t{claimed} + 8)
    broken(path, fmt::format("is cut short: {} of {} bytes", size,
                             std::uintmax_t{claimed} + 8));
}

std::vector<float> mean_of_channels(const std::vector<float>& frames,
                                    std::size_t channels) {
  if (channels == 1) return frames;
  std::vector<float> mono(frames.size() / channels);
  for (std::size_t i = 0; i < mono.size(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < channels; ++c) sum += frames[i * channels + c];
    mono[i] = static_cast<float>(sum / static_cast<double>(channels));
  }
  return mono;
}

}  // namespace

std::vector<float> read_sound(const std::filesystem::path& path, int rate_hz) {
  check_riff_length(path);
  SF_INFO info = {};
  const std::unique_ptr<SNDFILE, int (*)(SNDFILE*)> file(
      sf_open(path.c_str(), SFM_READ, &info), sf_close);
  if (!file)
    broken(path, fmt::format("cannot be read: {}", sf_strerror(nullptr)));
  if (info.frames <= 0) broken(path, "holds no sound");
  if (info.frames > kMaxFrames || info.channels > 64 || info.samplerate < 1)
    broken(path, fmt::format("{} frames of {} channels at {} Hz are no clip",
                             info.frames, info.channels, info.samplerate));
  const auto channels = static_cast<std::size_t>(info.channels);
  std::vector<float> frames(static_cast<std::size_t>(info.frames) * channels);
  const sf_count_t got = sf_readf_float(file.get(), frames.data(), info.frames);
  if (got != info.frames)
    broken(path,
           fmt::format("is cut short: {} of {} frames", got, info.frames));
  return resample(mean_of_channels(frames, channels), info.samplerate, rate_hz);
}

std::vector<float> resample(std::span<const float> sound, int from_hz,
                            int to_hz) {
  if (from_hz == to_hz) return {sound.begin(), sound.end()};
  const double ratio = static_cast<double>(to_hz) / from_hz;
  const double band = std::min(1.0, ratio) * kPassShare;
  const double reach = kZeroCrossings / band;  // in input samples
  const std::vector<double> kernel = make_kernel();
  const auto size = static_cast<std::int64_t>(sound.size());
  const auto out_size = static_cast<std::int64_t>(
      std::ceil(static_cast<double>(size) * ratio - 1e-9));
  std::vector<float> out(static_cast<std::size_t>(out_size));
  for (std::int64_t i = 0; i < out_size; ++i) {
    const double at = static_cast<double>(i) / ratio;
    const auto begin = std::max<std::int64_t>(
        static_cast<std::int64_t>(std::ceil(at - reach)), 0);
    const auto end =
        std::min(static_cast<std::int64_t>(std::floor(at + reach)), size - 1);
    double sum = 0;
    for (std::int64_t k = begin; k <= end; ++k) {
      const double away = at - static_cast<double>(k);
      sum +=
          sound[static_cast<std::size_t>(k)] * kernel_at(kernel, away * band);
    }
    out[static_cast<std::size_t>(i)] = static_cast<float>(sum * band);
  }
  return out;
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// The Free Spoken Digit Dataset: {digit}_{speaker}_{index}.wav. Clips are cut
// or padded with silence to 1.5 s at 8 kHz and divided by their largest
// absolute value. The set is small, so it is decoded once and kept.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/data/audio.h"
#include "lockstep/data/open.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr int kRate_hz = 8000;
constexpr std::size_t kSamples = 12000;   // 1.5 s
constexpr std::int64_t kTestIndices = 5;  // index 0 to 4: the official test

struct Clip {
  std::string name;
  std::int32_t digit = 0;
  std::int64_t index = 0;
};

struct Clips {
  std::vector<Clip> list;
  std::vector<float> sound;  // clips x kSamples
};

class Digits final : public Dataset {
 public:
  Digits(std::shared_ptr<const Clips> clips, Positions positions)
      : clips_(std::move(clips)), positions_(std::move(positions)) {}

  std::int64_t size() const override {
    return static_cast<std::int64_t>(positions_.size());
  }
  const SampleShape& shape() const override { return shape_; }
  void read(std::int64_t index, std::uint64_t, void* input,
            std::int64_t* target) const override {
    const auto clip = static_cast<std::size_t>(
        positions_.at(static_cast<std::size_t>(index)));
    std::memcpy(input, clips_->sound.data() + clip * kSamples,
                kSamples * sizeof(float));
    *target = clips_->list[clip].digit;
  }

 private:
  const SampleShape shape_ = {
      .input = {1, kSamples}, .target = {}, .classes = 10};
  const std::shared_ptr<const Clips> clips_;
  const Positions positions_;
};

// "7_jackson_32.wav", or nothing.
std::optional<Clip> parse_name(const std::string& name) {
  if (!name.ends_with(".wav")) return std::nullopt;
  const auto parts = split(name.substr(0, name.size() - 4), '_');
  if (parts.size() < 3) return std::nullopt;
  const auto digit = parse_number<std::int32_t>(parts.front());
  const auto index = parse_number<std::int64_t>(parts.back());
  if (!digit || *digit < 0 || *digit > 9 || !index || *index < 0)
    return std::nullopt;
  return Clip{name, *digit, *index};
}

std::vector<Clip> list_clips(const fs::path& folder) {
  std::vector<Clip> clips;
  std::error_code bad;
  for (const auto& entry : fs::directory_iterator(folder, bad))
    if (const auto clip = parse_name(entry.path().filename().string()))
      clips.push_back(*clip);
  if (clips.empty())
    throw Error(Fault::data, folder.string(),
                bad ? "cannot be read: " + bad.message()
                    : "holds no file named {digit}_{speaker}_{index}.wav",
                "`lockstep data fetch digits` downloads the set");
  std::ranges::sort(clips, {}, &Clip::name);
  return clips;
}

// Cut or padded, then its largest absolute value is 1. Silence stays silence.
void prepare(const std::vector<float>& sound, float* out) {
  const std::size_t n = std::min(sound.size(), kSamples);
  float peak = 0;
  for (std::size_t i = 0; i < n; ++i) peak = std::max(peak, std::abs(sound[i]));
  for (std::size_t i = 0; i < n; ++i) out[i] = peak > 0 ? sound[i] / peak : 0;
  std::fill(out + n, out + kSamples, 0.0F);
}

Clips load_clips(const fs::path& folder, bool skip_broken,
                 std::vector<LeftOut>& left_out) {
  Clips clips;
  const std::vector<Clip> listed = list_clips(folder);
  clips.sound.reserve(listed.size() * kSamples);
  for (const Clip& clip : listed) try {
      const std::vector<float> sound = read_sound(folder / clip.name, kRate_hz);
      clips.sound.resize(clips.sound.size() + kSamples);
      prepare(sound, clips.sound.data() + clips.sound.size() - kSamples);
      clips.list.push_back(clip);
    } catch (const Error& e) {
      if (!skip_broken) throw;
      left_out.push_back({clip.name, e.what()});
    }
  return clips;
}

Parts split_clips(const Clips& clips, const DataConfig& config,
                  const std::vector<std::int32_t>& labels) {
  if (config.split == SplitKind::random)
    return split_by_class(labels, config.val_share,
                          static_cast<std::uint64_t>(config.split_seed));
  Parts parts;
  for (std::size_t i = 0; i < clips.list.size(); ++i) {
    const bool test = config.split == SplitKind::official &&
                      clips.list[i].index < kTestIndices;
    (test ? parts.validation : parts.train)
        .push_back(static_cast<std::int64_t>(i));
  }
  return parts;
}

}  // namespace

DataSplit open_digits(const DataConfig& config, const Place& place) {
  const fs::path folder = fs::is_directory(place.path / "recordings")
                              ? place.path / "recordings"
                              : place.path;
  std::vector<LeftOut> left_out;
  const auto clips = std::make_shared<const Clips>(
      load_clips(folder, config.skip_broken, left_out));
  std::vector<std::int32_t> labels;
  for (const Clip& clip : clips->list) labels.push_back(clip.digit);
  Parts parts = split_clips(*clips, config, labels);
  parts.train = limit_evenly(parts.train, labels, config.samples);
  DataSplit split;
  split.description = {
      {"source", "Free Spoken Digit Dataset"},
      {"folder", folder.string()},
      {"clips", clips->list.size()},
      {"rate_hz", kRate_hz},
      {"scaling", "each clip divided by its largest absolute value"},
      {"left_out", to_json(left_out)}};
  split.train = std::make_unique<Digits>(clips, std::move(parts.train));
  if (!parts.validation.empty())
    split.validation =
        std::make_unique<Digits>(clips, std::move(parts.validation));
  return split;
}

}  // namespace lockstep

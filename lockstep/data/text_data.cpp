// SPDX-License-Identifier: Apache-2.0
// Text as bytes for gpt. A sample is a window of `context` bytes, its target
// the window one byte further; windows follow each other without overlap. The
// end of the text is held back, so that validation is text never seen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/data/open.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr double kOfficialShare = 0.1;  // as the usual split of Shakespeare
constexpr std::int64_t kMaxText_bytes = std::int64_t{16} << 30;

class Text final : public Dataset {
 public:
  // Bytes [begin, end) of the text.
  Text(std::shared_ptr<const std::string> text, std::int64_t begin,
       std::int64_t end, const ModelConfig& model)
      : shape_{.input = {model.context},
               .target = {model.context},
               .classes = model.vocab,
               .tokens = true},
        text_(std::move(text)),
        begin_(begin),
        windows_(std::max<std::int64_t>((end - begin - 1) / model.context, 0)),
        kept_(windows_) {}

  // Only so many windows, evenly spread.
  void limit(std::int64_t count) {
    if (count > 0) kept_ = std::min(windows_, count);
  }
  std::int64_t size() const override { return kept_; }
  const SampleShape& shape() const override { return shape_; }
  void read(std::int64_t index, std::uint64_t, void* input,
            std::int64_t* target) const override {
    check(index >= 0 && index < kept_, "the sample exists");
    const std::int64_t context = shape_.input.front();
    const char* from =
        text_->data() + begin_ + index * windows_ / kept_ * context;
    auto* tokens = static_cast<std::int64_t*>(input);
    for (std::int64_t i = 0; i < context; ++i) {
      tokens[i] = static_cast<std::uint8_t>(from[i]);
      target[i] = static_cast<std::uint8_t>(from[i + 1]);
    }
  }

 private:
  const SampleShape shape_;
  const std::shared_ptr<const std::string> text_;
  const std::int64_t begin_, windows_;
  std::int64_t kept_;
};

// A file as it is; of a folder all .txt files, in the order of their names.
std::vector<fs::path> text_files(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_regular_file() && entry.path().extension() == ".txt")
      files.push_back(entry.path());
  if (files.empty())
    throw Error(Fault::data, path.string(), "holds no .txt file",
                "name a text file in data.path, or `lockstep data fetch text`");
  std::ranges::sort(files);
  return files;
}

std::int64_t held_back(std::int64_t size, const DataConfig& config) {
  if (config.split == SplitKind::all) return 0;
  const double share =
      config.split == SplitKind::official ? kOfficialShare : config.val_share;
  return std::llround(share * static_cast<double>(size));
}

void check_vocabulary(const std::string& text, const ModelConfig& model,
                      const fs::path& path) {
  const auto largest = std::ranges::max(
      text, {}, [](char c) { return static_cast<std::uint8_t>(c); });
  if (static_cast<std::uint8_t>(largest) >= model.vocab)
    throw Error(Fault::config, "model.vocab",
                fmt::format("{} tokens, but {} holds byte {}", model.vocab,
                            path.string(), static_cast<std::uint8_t>(largest)),
                "256 fits any text");
}

}  // namespace

DataSplit open_text(const DataConfig& config, const ModelConfig& model,
                    const Place& place) {
  std::string joined;
  for (const fs::path& file : text_files(place.path))
    joined += read_file(file, Fault::data, kMaxText_bytes);
  const auto size = static_cast<std::int64_t>(joined.size());
  const std::int64_t cut = size - held_back(size, config);
  if (cut < model.context + 1 || (cut < size && size - cut < model.context + 1))
    throw Error(
        Fault::data, place.path.string(),
        fmt::format("{} bytes to train and {} held back: each must have "
                    "a window of {} and the byte after it",
                    cut, size - cut, model.context),
        "lower model.context, or take a longer text");
  check_vocabulary(joined, model, place.path);
  const auto text = std::make_shared<const std::string>(std::move(joined));
  auto train = std::make_unique<Text>(text, 0, cut, model);
  train->limit(config.samples);
  DataSplit split;
  split.description = {{"source", "text as bytes"},
                       {"path", place.path.string()},
                       {"bytes", size},
                       {"train_bytes", cut},
                       {"window_tokens", model.context}};
  split.train = std::move(train);
  if (cut < size)
    split.validation = std::make_unique<Text>(text, cut, size, model);
  return split;
}

}  // namespace lockstep

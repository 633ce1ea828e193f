// SPDX-License-Identifier: Apache-2.0
// The list of originals. CIFAR-10's sums are those of the six files of
// cifar-10-binary.tar.gz; the digits' is of the 2,000 recordings of that
// commit of the repository.
#include <fmt/format.h>

#include <array>

#include "lockstep/core/error.h"
#include "lockstep/data/fetch.h"
#include "lockstep/data/locate.h"

namespace lockstep {
namespace {

const std::array<Original, 3>& originals() {
  static const std::array<Original, 3> list = {
      Original{.kind = DataKind::digits,
               .url = "https://github.com/Jakobovski/free-spoken-digit-dataset/"
                      "archive/535c6152755b62e556889767fe28cfc73195fb4f.tar.gz",
               .archive = true,
               .download_bytes = 11'000'000,
               .files = {},
               .folder = "recordings",
               .folder_sha256 =
                   "510036d5671ece9a2d8f3e94fe70d2303f1efb0db69dda93ab3"
                   "db6e89e928bb6"},
      Original{
          .kind = DataKind::cifar10,
          .url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
          .archive = true,
          .download_bytes = 170'052'171,
          .files =
              {{"data_batch_1.bin",
                "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ad"
                "a5"},
               {"data_batch_2.bin",
                "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57"
                "ed"},
               {"data_batch_3.bin",
                "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f"
                "67"},
               {"data_batch_4.bin",
                "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e"
                "48"},
               {"data_batch_5.bin",
                "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9a"
                "dd"},
               {"test_batch.bin",
                "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f6"
                "5b"}},
          .folder = {},
          .folder_sha256 = {}},
      Original{.kind = DataKind::text,
               .url = "https://raw.githubusercontent.com/karpathy/char-rnn/"
                      "master/data/tinyshakespeare/input.txt",
               .archive = false,
               .download_bytes = 1'115'394,
               .files = {{"input.txt",
                          "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0"
                          "ca57e2dc565ed"}},
               .folder = {},
               .folder_sha256 = {}}};
  return list;
}

}  // namespace

const Original& original_of(DataKind kind) {
  for (const Original& original : originals())
    if (original.kind == kind) return original;
  throw Error(Fault::config, "KIND",
              fmt::format("{} has no original to fetch", word_of(kind)),
              kind == DataKind::images
                  ? "any folder of images will do: name it in data.path; "
                    "`lockstep data make images DIR` writes a stand-in"
                  : "synthetic data is made while training");
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// Where data is found, made and fetched.
#include "lockstep/data/locate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "lockstep/data/fetch.h"
#include "lockstep/data/make.h"
#include "lockstep/data/sha256.h"
#include "lockstep/data/survey.h"
#include "tests/data/fixtures.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A working directory and LOCKSTEP_DATA of the test's own.
struct Locate : ::testing::Test {
  Locate() : before(fs::current_path()) {
    if (const char* old = std::getenv("LOCKSTEP_DATA")) named = old;
    ::unsetenv("LOCKSTEP_DATA");
    fs::current_path(folder.path);
  }
  ~Locate() override {
    fs::current_path(before);
    if (named.empty())
      ::unsetenv("LOCKSTEP_DATA");
    else
      ::setenv("LOCKSTEP_DATA", named.c_str(), 1);
  }
  void set_root(const fs::path& path) const {
    ::setenv("LOCKSTEP_DATA", path.c_str(), 1);
  }
  TempFolder folder;
  fs::path before;
  std::string named;
};

TEST_F(Locate, TheNamedFolderComesFirstThenDataInTheWorkingDirectory) {
  fs::create_directories("data/fsdd");
  EXPECT_EQ(locate_data(DataKind::digits, "").found_by, "data/");
  fs::create_directories("elsewhere/fsdd");
  set_root(folder.path / "elsewhere");
  const Place place = locate_data(DataKind::digits, "");
  EXPECT_EQ(place.found_by, "LOCKSTEP_DATA");
  EXPECT_EQ(place.path, folder.path / "elsewhere/fsdd");
}

TEST_F(Locate, APathIsTakenAsItIsOrBelowTheRoots) {
  fs::create_directories("data/flowers/train");
  EXPECT_EQ(locate_data(DataKind::images, "flowers").path, "data/flowers");
  EXPECT_EQ(locate_data(DataKind::images, "data/flowers").found_by,
            "data.path");
  EXPECT_THAT(
      error_of(Fault::data, [] { locate_data(DataKind::images, "trees"); }),
      HasSubstr("data.path: 'trees' does not exist"));
}

TEST_F(Locate, WhatIsNotThereSaysHowToGetIt) {
  EXPECT_THAT(error_of(Fault::data, [] { locate_data(DataKind::cifar10, ""); }),
              AllOf(HasSubstr("LOCKSTEP_DATA is not set"),
                    HasSubstr("lockstep data fetch cifar10"),
                    HasSubstr("lockstep data make cifar10 data/cifar10")));
  fs::create_directories("data/flowers/train");
  EXPECT_THAT(error_of(Fault::data, [] { locate_data(DataKind::images, ""); }),
              HasSubstr("(there: flowers)"));
  set_root(folder.path / "nowhere");
  EXPECT_THAT(error_of(Fault::data, [] { locate_data(DataKind::text, ""); }),
              HasSubstr("LOCKSTEP_DATA: '"));
}

TEST_F(Locate, AMistypedKindNamesTheNearest) {
  EXPECT_THAT(error_of(Fault::config, [] { data_kind_of("digit"); }),
              HasSubstr("did you mean 'digits'?"));
}

TEST_F(Locate, TheSurveyListsEverySetWithItsSize) {
  make_data(DataKind::digits, "data/fsdd", {.samples = 60});
  make_data(DataKind::images, "data/shapes", {.samples = 25, .px = 16});
  fs::create_directories("data/cifar10/packed-jxl");
  std::map<std::string, FoundSet> found;
  for (const FoundSet& set : survey_data()) found[word_of(set.kind)] = set;
  EXPECT_EQ(found["digits"].files, 60);
  EXPECT_EQ(found["digits"].state, "stand-in");
  EXPECT_GT(found["digits"].bytes, 60 * 2 * 3000);
  EXPECT_THAT(found["cifar10"].state, HasSubstr("packed"));
  EXPECT_EQ(found["images"].files, 25);
  EXPECT_EQ(found["text"].state, "not there");
}

TEST_F(Locate, TheCheckNamesEveryBrokenFile) {
  make_data(DataKind::images, "data/shapes", {.samples = 25, .px = 16});
  write_file("data/shapes/train/class_0003/000003.jpg", "x");
  write_file("data/shapes/val/class_0004/extra.png", "");
  const CheckedSet set = check_set(DataKind::images, "shapes", 2,
                                   [](std::int64_t, std::int64_t) {});
  EXPECT_EQ(set.samples, 26);
  ASSERT_EQ(set.broken.size(), 2u);
  EXPECT_THAT(set.broken[0], HasSubstr("000003.jpg: is neither"));
  EXPECT_THAT(set.broken[1], HasSubstr("extra.png: the file is empty"));
}

TEST_F(Locate, MakeWritesOnlyIntoAnEmptyFolder) {
  make_data(DataKind::text, "t", {.samples = 5});
  EXPECT_TRUE(is_stand_in("t/input.txt"));
  EXPECT_THAT(
      error_of(Fault::store, [] { make_data(DataKind::text, "t", {}); }),
      HasSubstr("is not empty"));
}

TEST_F(Locate, MakeRefusesTooFewToHoldSomeBack) {
  EXPECT_THAT(
      error_of(Fault::config,
               [] { make_data(DataKind::images, "i", {.samples = 24}); }),
      HasSubstr("at least 25"));
  EXPECT_FALSE(fs::exists("i"));
}

TEST_F(Locate, MakeIsTheSameForTheSameSeed) {
  for (const DataKind kind : {DataKind::cifar10, DataKind::text}) {
    const std::string file =
        kind == DataKind::text ? "/input.txt" : "/data_batch_1.bin";
    const std::string word = word_of(kind);
    make_data(kind, word + "1", {.samples = 12, .seed = 3});
    make_data(kind, word + "2", {.samples = 12, .seed = 3});
    make_data(kind, word + "3", {.samples = 12, .seed = 4});
    const auto sum = [&](const char* which) {
      return sha256_of_file(word + which + file);
    };
    EXPECT_EQ(sum("1"), sum("2"));
    EXPECT_NE(sum("1"), sum("3"));
  }
}

// FIPS 180-2, appendix B.
TEST(Sha256, KnowsThePublishedSums) {
  EXPECT_EQ(sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

struct Fetch : Locate {
  Fetch() {
    write_file("source.txt", "to be or not to be\n");
    original.kind = DataKind::text;
    original.url = "file://" + (folder.path / "source.txt").string();
    original.files = {{"input.txt", sha256("to be or not to be\n")}};
  }
  fs::path fetch() const {
    return fetch_data(original, {.root = "data", .url = ""},
                      [](std::int64_t) {});
  }
  Original original;
};

TEST_F(Fetch, DownloadsChecksAndPutsInPlace) {
  EXPECT_EQ(fetch(), "data/tinyshakespeare");
  EXPECT_EQ(read_file("data/tinyshakespeare/input.txt", Fault::data),
            "to be or not to be\n");
  fs::remove("source.txt");
  EXPECT_EQ(fetch(), "data/tinyshakespeare");  // there and right: left alone
  write_file("data/tinyshakespeare/input.txt", "changed");
  EXPECT_THAT(error_of(Fault::data, [&] { fetch(); }),
              HasSubstr("is not the original: input.txt has another checksum"));
}

TEST_F(Fetch, AWrongChecksumKeepsNothing) {
  original.files[0].sha256[0] = 'x';
  EXPECT_THAT(error_of(Fault::data, [&] { fetch(); }),
              HasSubstr("is not the original: input.txt has another"));
  EXPECT_TRUE(fs::is_empty("data"));
}

TEST_F(Fetch, UnpacksAnArchiveAndSumsAFolder) {
  fs::create_directories("pack/recordings");
  write_file("pack/recordings/0_a_0.wav", "zero");
  write_file("pack/recordings/1_a_0.wav", "one");
  ASSERT_EQ(std::system("tar -czf pack.tar.gz pack"), 0);
  original.kind = DataKind::digits;
  original.archive = true;
  original.url = "file://" + (folder.path / "pack.tar.gz").string();
  original.files = {};
  original.folder = "recordings";
  original.folder_sha256 = sha256(sha256("zero") + "  0_a_0.wav\n" +
                                  sha256("one") + "  1_a_0.wav\n");
  EXPECT_EQ(fetch(), "data/fsdd");
  EXPECT_TRUE(fs::exists("data/fsdd/recordings/1_a_0.wav"));
}

TEST_F(Fetch, WhatCannotBeReachedIsOneErrorWithAWayOut) {
  original.url = "file:///nowhere/at/all.txt";
  EXPECT_THAT(error_of(Fault::data, [&] { fetch(); }),
              AllOf(HasSubstr("could not be downloaded"),
                    HasSubstr("lockstep data make text")));
  EXPECT_TRUE(fs::is_empty("data"));
}

TEST_F(Fetch, ImagesHaveNoOriginal) {
  EXPECT_THAT(error_of(Fault::config, [] { original_of(DataKind::images); }),
              HasSubstr("any folder of images will do"));
}

}  // namespace
}  // namespace lockstep

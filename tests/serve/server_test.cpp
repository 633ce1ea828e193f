// SPDX-License-Identifier: Apache-2.0
// What keeps others out, and what notices a change. tests/cli/serve_test.py
// drives the whole server.
#include "lockstep/serve/server.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lockstep/serve/watch.h"
#include "tests/store/temp_dir.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(FileBelow, GivesFilesOfTheFolderOnly) {
  TempDir dir;
  const fs::path root = dir.path / "study";
  put(root / "runs/1/steps.csv", "x");
  put(dir.path / "secret", "x");
  put(dir.path / "study-other/file", "x");
  EXPECT_EQ(file_below(root, "runs/1/steps.csv"),
            fs::canonical(root / "runs/1/steps.csv"));
  EXPECT_EQ(file_below(root, "runs/../runs/1/steps.csv"),
            fs::canonical(root / "runs/1/steps.csv"));
  for (const std::string& asked :
       {std::string("../secret"), std::string("runs/../../secret"),
        (dir.path / "secret").string(), std::string("../study-other/file"),
        std::string("runs"), std::string(""), std::string("."),
        std::string("no/such"), std::string("runs/1/steps.csv\0.png", 21)})
    EXPECT_EQ(file_below(root, asked), fs::path()) << asked;
}

TEST(FileBelow, ALinkThatLeadsOutIsOutside) {
  TempDir dir;
  put(dir.path / "study/a", "x");
  put(dir.path / "secret", "x");
  fs::create_symlink(dir.path / "secret", dir.path / "study/link");
  fs::create_symlink(dir.path / "study/a", dir.path / "study/inside");
  EXPECT_EQ(file_below(dir.path / "study", "link"), fs::path());
  EXPECT_NE(file_below(dir.path / "study", "inside"), fs::path());
}

TEST(Secret, IsTheSameOnlyWhenItIs) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  for (const char* other : {"", "ab", "abcd", "abd", "abcabc"})
    EXPECT_FALSE(same_secret(other, "abc")) << other;
  EXPECT_FALSE(same_secret("abc", ""));
  EXPECT_NE(random_hex(24), random_hex(24));
  EXPECT_EQ(random_hex(24).size(), 48u);
}

TEST(Watch, SeesWhatReportsReadAndNothingElse) {
  TempDir dir;
  put(dir.path / "runs/1/steps.csv", "a");
  const auto before = fingerprint(dir.path);
  EXPECT_EQ(fingerprint(dir.path), before);
  put(dir.path / "runs/1/notes.txt", "x");
  put(dir.path / "runs/1/checkpoint/last/record.json", "x");
  EXPECT_EQ(fingerprint(dir.path), before);
  put(dir.path / "runs/1/steps.csv", "ab");
  EXPECT_NE(fingerprint(dir.path), before);
}

TEST(Watch, AnEmptyFolderHasADocumentThatSaysSo) {
  TempDir dir;
  const Json document = live_document(dir.path);
  EXPECT_TRUE(document["rows"].empty());
  EXPECT_NE(document["notes"][0].get<std::string>().find("holds none"),
            std::string::npos);
}

TEST(Watch, ToldToStopItLetsWaitersGo) {
  TempDir dir;
  Watch watch(dir.path, 0.01);
  std::thread stops([&] { watch.stop(); });
  // The version may rise once, at the first look.
  while (watch.after(100, 30)) {
  }
  stops.join();
}

}  // namespace
}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/study_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "lockstep/core/file.h"
#include "tests/store/temp_dir.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

void write_some(StudyFolder& folder) {
  folder.append("study", {{"schema", 1},
                          {"title", "two points"},
                          {"kind", "stevens"},
                          {"measure", "time"},
                          {"points", 2}});
  for (const char* id : {"a", "b"})
    folder.append("queued", {{"point", id},
                             {"settings", {{"comm.ranks", 2}}},
                             {"axes", {{"ranks", 2}}},
                             {"mode", "timed"},
                             {"why", ""}});
  folder.append("started",
                {{"point", "a"}, {"repeat", 1}, {"run", "runs/a/1"}});
  folder.append("done", {{"point", "a"},
                         {"repeat", 1},
                         {"run", "runs/a/1"},
                         {"seconds", 2.5},
                         {"timed", true},
                         {"result", {{"median_step_s", 0.25}}}});
  folder.append("started",
                {{"point", "b"}, {"repeat", 1}, {"run", "runs/b/1"}});
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault(), Fault::store);
    return e.what();
  }
  return "";
}

TEST(StudyFolder, ReadsBackWhatWasWritten) {
  const TempDir dir;
  StudyFolder folder = StudyFolder::create(dir.path / "s", "[study]\n");
  write_some(folder);
  const StudyState state = read_study(dir.path / "s");
  EXPECT_EQ(state.title, "two points");
  EXPECT_EQ(state.kind, "stevens");
  EXPECT_TRUE(state.complete);
  ASSERT_EQ(state.points.size(), 2u);
  const PointState& a = state.points[0];
  EXPECT_EQ(a.settings["comm.ranks"], 2);
  ASSERT_EQ(a.runs.size(), 1u);
  EXPECT_EQ(a.runs[0].run, "runs/a/1");
  EXPECT_DOUBLE_EQ(a.runs[0].result["median_step_s"], 0.25);
  EXPECT_EQ(a.open_repeat, 0);
  EXPECT_EQ(state.points[1].open_repeat, 1);
  EXPECT_EQ(state.hosts, std::vector<std::string>{host_name()});
}

TEST(StudyFolder, AHalfWrittenLastLineIsLeftOutAndThenCutOff) {
  const TempDir dir;
  const fs::path path = dir.path / "s";
  {
    StudyFolder folder = StudyFolder::create(path, "");
    write_some(folder);
  }
  const std::string whole = read_file(path / "ledger.jsonl", Fault::store);
  for (std::size_t cut = 1; cut < 40; cut += 7) {
    write_file(path / "ledger.jsonl", whole.substr(0, whole.size() - cut));
    EXPECT_EQ(read_study(path).points[1].open_repeat, 0) << cut;
    StudyFolder folder = StudyFolder::open(path);
    folder.append("warned", {{"text", "busy"}});
    EXPECT_EQ(read_study(path).warnings, std::vector<std::string>{"busy"});
  }
}

TEST(StudyFolder, ADamagedLineInTheMiddleIsNamed) {
  const TempDir dir;
  StudyFolder folder = StudyFolder::create(dir.path / "s", "");
  write_some(folder);
  std::string text = read_file(dir.path / "s/ledger.jsonl", Fault::store);
  text[text.find('\n') + 1] = '?';
  write_file(dir.path / "s/ledger.jsonl", text);
  EXPECT_NE(error_of([&] { read_study(dir.path / "s"); }).find("jsonl:2"),
            std::string::npos);
}

TEST(StudyFolder, ANewerSchemaIsRefused) {
  const TempDir dir;
  StudyFolder folder = StudyFolder::create(dir.path / "s", "");
  folder.append("study", {{"schema", kStudySchema + 1}});
  EXPECT_NE(error_of([&] { read_study(dir.path / "s"); }).find("schema"),
            std::string::npos);
}

TEST(StudyFolder, TwoSweepsRefuseEachOther) {
  const TempDir dir;
  {
    const StudyFolder first = StudyFolder::create(dir.path / "s", "");
    const auto second = [&] { StudyFolder::open(dir.path / "s"); };
    EXPECT_NE(error_of(second).find("another sweep"), std::string::npos);
  }
  EXPECT_NO_THROW(StudyFolder::open(dir.path / "s"));
}

TEST(StudyFolder, MustBeNewOrEmpty) {
  const TempDir dir;
  std::ofstream(dir.path / "letter.txt") << "mine";
  const auto make = [&] { StudyFolder::create(dir.path, ""); };
  EXPECT_NE(error_of(make).find("not empty"), std::string::npos);
  EXPECT_NE(error_of([&] { StudyFolder::open(dir.path); }).find("study folder"),
            std::string::npos);
}

TEST(StudyFolder, GoesOnAfterItMoved) {
  const TempDir dir;
  {
    StudyFolder folder = StudyFolder::create(dir.path / "here", "[study]\n");
    write_some(folder);
  }
  fs::rename(dir.path / "here", dir.path / "there");
  StudyFolder folder = StudyFolder::open(dir.path / "there");
  folder.append("done", {{"point", "b"}, {"repeat", 1}});
  EXPECT_EQ(read_study(dir.path / "there").points[1].runs.size(), 1u);
}

}  // namespace
}  // namespace lockstep

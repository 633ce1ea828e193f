// SPDX-License-Identifier: Apache-2.0
// The ledger read back: events in order, folded to what is known of each
// point.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "lockstep/core/file.h"
#include "lockstep/store/study_folder.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxLedgerBytes = std::int64_t{1} << 30;

[[noreturn]] void bad_line(const fs::path& file, std::size_t line,
                           const std::string& what,
                           const std::string& hint = {}) {
  throw Error(Fault::store, fmt::format("{}:{}", file.string(), line), what,
              hint);
}

Json event_of(const fs::path& file, std::size_t number,
              const std::string& line) {
  Json event = Json::parse(line, nullptr, false);
  if (!event.is_object() || !event.contains("event") ||
      !event["event"].is_string())
    bad_line(file, number, "is not an event of a study",
             "the ledger is damaged; take it from a backup");
  if (event["event"] == "study" && event.value("schema", 0) > kStudySchema)
    bad_line(file, number,
             fmt::format("has schema {}, this program knows up to {}",
                         event.value("schema", 0), kStudySchema),
             "use a newer lockstep");
  return event;
}

void remember(std::vector<std::string>& list, const std::string& text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(text);
}

PointRun run_of(const Json& e) {
  return {.repeat = e.value("repeat", 1),
          .run = e.value("run", ""),
          .host = e.value("host", ""),
          .seconds = e.value("seconds", 0.0),
          .timed = e.value("timed", false),
          .shared = e.value("shared", false),
          .result = e.value("result", Json::object())};
}

PointFailure failure_of(const Json& e) {
  return {.repeat = e.value("repeat", 1),
          .run = e.value("run", ""),
          .host = e.value("host", ""),
          .why = e.value("why", ""),
          .message = e.value("message", ""),
          .shared = e.value("shared", false)};
}

void apply(PointState& point, const std::string& kind, const Json& e) {
  if (kind == "queued") {
    point.settings = e.value("settings", Json::object());
    point.axes = e.value("axes", Json::object());
    point.mode = e.value("mode", ""), point.why = e.value("why", "");
  } else if (kind == "started") {
    point.open_repeat = e.value("repeat", 1);
    point.open_run = e.value("run", "");
    point.open_shared = e.value("shared", false);
  } else if (kind == "crowded") {
    point.crowded = point.open_shared = true;
    point.open_repeat = 0;
  } else if (kind == "done") {
    point.runs.push_back(run_of(e));
    point.open_repeat = 0, point.open_shared = false;
  } else if (kind == "failed") {
    point.failures.push_back(failure_of(e));
    point.open_repeat = 0, point.open_shared = false;
  } else if (kind == "predicted") {
    point.predicted = e;
  } else if (kind == "settled") {
    point.settled = e;
  } else if (kind == "verified") {
    point.verified = e;
  }
}

}  // namespace

PointState* StudyState::find(const std::string& id) {
  const auto at = std::ranges::find(points, id, &PointState::id);
  return at == points.end() ? nullptr : &*at;
}

std::vector<Json> read_ledger(const fs::path& file) {
  const std::string text = read_file(file, Fault::store, kMaxLedgerBytes);
  std::vector<Json> out;
  std::size_t begin = 0;
  // What follows the last line's end was cut short, or is being written.
  for (std::size_t end = text.find('\n'); end != std::string::npos;
       end = text.find('\n', begin)) {
    out.push_back(
        event_of(file, out.size() + 1, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

StudyState fold(const std::vector<Json>& events) {
  StudyState state;
  std::unordered_map<std::string, std::size_t> places;
  std::size_t expected = 0;
  for (const Json& e : events) {
    const std::string kind = e.at("event");
    remember(state.hosts, e.value("host", ""));
    if (kind == "study") {
      state.title = e.value("title", ""), state.kind = e.value("kind", "");
      state.measure = e.value("measure", "");
      state.command = e.value("command", "");
      expected = e.value("points", std::size_t{0});
    } else if (kind == "warned") {
      remember(state.warnings, e.value("text", ""));
    } else if (const std::string id = e.value("point", ""); !id.empty()) {
      const auto [at, fresh] = places.try_emplace(id, state.points.size());
      if (fresh) state.points.emplace_back().id = id;
      apply(state.points[at->second], kind, e);
    }
  }
  state.complete = expected > 0 && state.points.size() == expected;
  return state;
}

StudyState read_study(const fs::path& path) {
  if (!is_study(path))
    throw Error(Fault::store, path.string(), "is not a study folder",
                "a study folder holds study.toml and ledger.jsonl");
  try {
    return fold(read_ledger(path / "ledger.jsonl"));
  } catch (const nlohmann::json::exception& e) {
    throw Error(
        Fault::store, (path / "ledger.jsonl").string(),
        fmt::format("holds an event that cannot be read: {}", e.what()));
  }
}

}  // namespace lockstep

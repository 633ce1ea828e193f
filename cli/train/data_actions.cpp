// SPDX-License-Identifier: Apache-2.0
// lockstep data list | check [KIND] | make KIND DIR | fetch KIND.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "cli/commands.h"
#include "cli/data_asked.h"
#include "lockstep/core/error.h"
#include "lockstep/core/progress.h"
#include "lockstep/core/units.h"
#include "lockstep/data/fetch.h"
#include "lockstep/data/locate.h"
#include "lockstep/data/make.h"
#include "lockstep/data/survey.h"

namespace lockstep::cli {
namespace {

int list(const DataAsked& asked) {
  Table table{
      .verb = "data",
      .columns = {
          {.name = "kind"},
          {.name = "path"},
          {.name = "found_by"},
          {.name = "files"},
          {.name = "bytes", .title = "size", .show = with(format_bytes)},
          {.name = "state"}}};
  for (const FoundSet& set : survey_data())
    table.add({word_of(set.kind),
               set.path.empty() ? Cell{} : Cell{set.path.string()},
               set.found_by.empty() ? Cell{} : Cell{set.found_by}, set.files,
               set.bytes, set.state});
  print(table, asked.format);
  return 0;
}

// One set; gives back what is broken and says on stderr how many were read.
std::vector<std::string> check_one(DataKind kind, const DataAsked& asked,
                                   const std::string& path) {
  std::optional<Progress> bar;
  const CheckedSet set = check_set(
      kind, path, asked.workers, [&](std::int64_t done, std::int64_t total) {
        if (!bar) bar.emplace(word_of(kind), total, "samples");
        bar->update(done);
      });
  bar.reset();
  fmt::print(stderr, "# {}: {} samples read, {} broken\n", word_of(kind),
             format_count(set.samples), format_count(std::ssize(set.broken)));
  return set.broken;
}

int check_files(const DataAsked& asked) {
  Table table{.verb = "data",
              .columns = {{.name = "kind"}, {.name = "broken"}}};
  if (!asked.kind.empty()) {
    const DataKind kind = data_kind_of(asked.kind);
    for (const std::string& broken : check_one(kind, asked, asked.path))
      table.add({word_of(kind), broken});
  } else {
    for (const FoundSet& set : survey_data()) {
      if (set.files == 0) continue;
      try {
        for (const std::string& broken :
             check_one(set.kind, asked, set.path.string()))
          table.add({word_of(set.kind), broken});
      } catch (const Error& e) {
        table.add({word_of(set.kind), std::string(e.what())});
      }
    }
  }
  if (!table.rows.empty() || asked.format != Format::text)
    print(table, asked.format);
  return table.rows.empty() ? 0 : 3;
}

int make(const DataAsked& asked) {
  if (asked.kind.empty() || asked.folder.empty())
    throw Error(Fault::config, "data make", "needs a KIND and a DIR",
                "lockstep data make images /tmp/images");
  make_data(data_kind_of(asked.kind), asked.folder,
            {.samples = asked.samples,
             .classes = asked.classes,
             .px = asked.px,
             .seed = asked.seed});
  fmt::print("{}\n", asked.folder);
  return 0;
}

int fetch(const DataAsked& asked) {
  if (asked.kind.empty())
    throw Error(Fault::config, "data fetch", "needs a KIND",
                "digits, cifar10 or text");
  const Original& original = original_of(data_kind_of(asked.kind));
  const std::string url = asked.url.empty() ? original.url : asked.url;
  fmt::print(stderr, "# from {}\n", url);
  Progress bar("download", original.download_bytes, "bytes");
  const auto path = fetch_data(original, {.root = asked.to, .url = asked.url},
                               [&](std::int64_t done) { bar.update(done); });
  bar.finish();
  fmt::print(stderr, "# checked by SHA-256\n");
  fmt::print("{}\n", path.string());
  return 0;
}

}  // namespace

int run_data(const DataAsked& asked) {
  if (asked.action == "list") return list(asked);
  if (asked.action == "check") return check_files(asked);
  if (asked.action == "make") return make(asked);
  return fetch(asked);
}

}  // namespace lockstep::cli

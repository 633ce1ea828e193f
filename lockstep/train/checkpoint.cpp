// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "lockstep/core/error.h"
#include "lockstep/core/version.h"
#include "lockstep/train/tensor_file.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::error_code& bad) {
  throw Error(Fault::store, path.string(),
              fmt::format("cannot be written: {}", bad.message()),
              "check the folder, its permissions and the free space");
}

// A rename is on the disk only when its folder is.
void sync_folder(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

// `name` points to `target` from one moment to the next.
void point(const fs::path& folder, const std::string& name,
           const std::string& target) {
  const fs::path part = folder / (name + ".part");
  std::error_code bad;
  fs::remove(part, bad);
  fs::create_directory_symlink(target, part, bad);
  if (!bad) fs::rename(part, folder / name, bad);
  if (bad) fail(folder / name, bad);
}

std::string pointed(const fs::path& folder, const std::string& name) {
  std::error_code bad;
  return fs::read_symlink(folder / name, bad).string();
}

void remove_unused(const fs::path& folder) {
  const std::string last = pointed(folder, "last");
  const std::string best = pointed(folder, "best");
  std::error_code bad;
  for (fs::directory_iterator at(folder, bad), end; !bad && at != end;
       at.increment(bad)) {
    const std::string name = at->path().filename();
    if (name.starts_with("step-") && name != last && name != best)
      fs::remove_all(at->path(), bad);
    if (bad) break;
  }
  if (bad) fail(folder, bad);
}

Json state_json(const CheckpointTarget& target, const Json& values) {
  return Json{{"schema", kCheckpointSchema},
              {"lockstep", version_text()},
              {"step", target.step},
              {"identity", target.identity},
              {"values", values}};
}

void check_identity(const fs::path& file, const Json& json,
                    const Json& identity) {
  const int schema = json.value("schema", 0);
  if (schema != kCheckpointSchema)
    throw Error(Fault::store, file.string(),
                fmt::format("has schema {}, this program reads {}", schema,
                            kCheckpointSchema),
                "go on with the version that wrote it: " +
                    json.value("lockstep", std::string("unknown")));
  if (json.at("identity") != identity)
    throw Error(Fault::store, file.string(), "belongs to another model",
                "its settings are " + json.at("identity").dump());
}

}  // namespace

void save_checkpoint(const CheckpointTarget& target, torch::nn::Module& module,
                     const TrainState& state) {
  const std::string name = fmt::format("step-{}", target.step);
  const fs::path part = target.folder / (name + ".part");
  std::error_code bad;
  fs::remove_all(part, bad);
  fs::create_directories(part, bad);
  if (bad) fail(part, bad);
  try {
    StateWriter writer;
    for (const StatePart& p : state) writer.begin(p.name), p.save(writer);
    save_tensors(part / "model.safetensors", state_of(module),
                 {{"format", "pt"}, {"lockstep", version_text()}});
    save_tensors(part / "state.safetensors", writer.tensors, {});
    write_json(part / "state.json", state_json(target, writer.values));
  } catch (...) {
    fs::remove_all(part, bad);
    throw;
  }
  sync_folder(part);
  fs::remove_all(target.folder / name, bad);
  fs::rename(part, target.folder / name, bad);
  if (bad) fail(target.folder / name, bad);
  sync_folder(target.folder);
  point(target.folder, "last", name);
  if (target.best) point(target.folder, "best", name);
  remove_unused(target.folder);
}

bool has_checkpoint(const fs::path& folder) {
  std::error_code bad;
  const bool there = fs::exists(folder / "last" / "state.json", bad);
  if (bad)
    throw Error(Fault::store, folder.string(),
                fmt::format("cannot be read: {}", bad.message()),
                "check the folder and its permissions");
  return there;
}

void load_checkpoint(const fs::path& folder, const Json& identity,
                     torch::nn::Module& module, const TrainState& state) {
  const fs::path last = folder / "last";
  const Json json = read_json(last / "state.json", Fault::store);
  check_identity(last / "state.json", json, identity);
  StateReader reader(load_tensors(last / "state.safetensors"),
                     json.at("values"));
  load_module(module, last / "model.safetensors");
  for (const StatePart& p : state) reader.begin(p.name), p.load(reader);
}

}  // namespace lockstep

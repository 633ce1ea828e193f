// SPDX-License-Identifier: Apache-2.0
#include "lockstep/store/safetensors.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "lockstep/core/file.h"
#include "lockstep/core/json.h"

namespace lockstep {
namespace {

static_assert(std::endian::native == std::endian::little,
              "safetensors are little-endian");

constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 40;
// The format's own limit.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

std::int64_t element_bytes(const std::string& dtype) {
  static const std::map<std::string, std::int64_t> kBytes = {
      {"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4}, {"I32", 4},
      {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2}, {"U16", 2},
      {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

std::string header_of(const std::vector<RawTensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t begin = 0;
  for (const RawTensor& t : tensors) {
    header[t.name] = {{"dtype", t.dtype},
                      {"shape", t.shape},
                      {"data_offsets", {begin, begin + t.bytes}}};
    begin += t.bytes;
  }
  std::string text = header.dump();
  // Padded with spaces so that the data begins on an eight-byte boundary.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

struct Damage {
  std::string file;
  [[noreturn]] void operator()(const std::string& what) const {
    throw Error(Fault::store, file, what,
                "it is damaged or was cut short; use an older one");
  }
};

std::int64_t bytes_of(const RawTensor& t, const Damage& damage) {
  std::int64_t bytes = element_bytes(t.dtype);
  if (bytes == 0)
    damage(fmt::format("tensor {} has the unknown type {}", t.name, t.dtype));
  for (const std::int64_t side : t.shape) {
    if (side < 0 || (side > 0 && bytes > kMaxFileBytes / side))
      damage(fmt::format("tensor {} has a senseless shape", t.name));
    bytes *= side;
  }
  return bytes;
}

RawTensor tensor_of(const std::string& name, const Json& entry,
                    std::string_view data, const Damage& damage) {
  RawTensor t;
  t.name = name, t.dtype = entry.at("dtype");
  t.shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto begin = entry.at("data_offsets").at(0).get<std::int64_t>();
  const auto end = entry.at("data_offsets").at(1).get<std::int64_t>();
  if (begin < 0 || end < begin || end > static_cast<std::int64_t>(data.size()))
    damage(fmt::format("tensor {} lies outside of the file", name));
  t.bytes = end - begin;
  if (bytes_of(t, damage) != t.bytes)
    damage(fmt::format("tensor {} has {} bytes, its shape needs {}", name,
                       t.bytes, bytes_of(t, damage)));
  t.data = data.data() + begin;
  return t;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file,
                       const std::vector<RawTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_of(tensors, metadata);
  const std::uint64_t length = header.size();
  AtomicFile out(file);
  out.write(&length, sizeof length);
  out.write(header.data(), header.size());
  for (const RawTensor& t : tensors)
    out.write(t.data, static_cast<std::size_t>(t.bytes));
  out.commit();
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file)
    : bytes_(read_file(file, Fault::store, kMaxFileBytes)) {
  const Damage damage{file.string()};
  std::uint64_t length = 0;
  if (bytes_.size() < sizeof length) damage("is too short for its header");
  std::memcpy(&length, bytes_.data(), sizeof length);
  if (length > kMaxHeaderBytes || length > bytes_.size() - sizeof length)
    damage("is too short for its header");
  const std::string_view text(bytes_.data() + sizeof length, length);
  const std::string_view data =
      std::string_view(bytes_).substr(sizeof length + length);
  try {
    const Json header = Json::parse(text);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__")
        metadata_ = entry.get<std::map<std::string, std::string>>();
      else
        tensors_.push_back(tensor_of(name, entry, data, damage));
    }
  } catch (const nlohmann::json::exception& e) {
    damage(fmt::format("has a header that cannot be read: {}", e.what()));
  }
}

const RawTensor* SafetensorsFile::find(const std::string& name) const {
  for (const RawTensor& t : tensors_)
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
#include "lockstep/hardware/topology.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <sstream>

namespace lockstep {
namespace {

// Words of the table by row and column, GPUs alone.
using Matrix = std::map<std::pair<int, int>, std::string>;

// nvidia-smi underlines its headings.
std::string without_escapes(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\033') {
      out += text[i];
      continue;
    }
    while (i < text.size() && text[i] != 'm') ++i;
  }
  return out;
}

// N of "GPUN"; -1 for anything else.
int gpu_number(const std::string& word) {
  int number = -1;
  if (!word.starts_with("GPU")) return -1;
  const char *begin = word.data() + 3, *end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stop == end ? number : -1;
}

std::vector<std::string> words_in(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// Columns are the GPUs of the heading, in its order; other devices come after.
Matrix matrix_of(const std::string& text) {
  Matrix out;
  std::vector<int> columns;
  std::istringstream lines(without_escapes(text));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_in(line);
    if (words.empty() || gpu_number(words[0]) < 0) continue;
    if (columns.empty()) {
      for (const std::string& word : words)
        if (const int n = gpu_number(word); n >= 0) columns.push_back(n);
      continue;
    }
    for (std::size_t i = 0; i < columns.size() && i + 1 < words.size(); ++i)
      out[{gpu_number(words[0]), columns[i]}] = words[i + 1];
  }
  return out;
}

struct Answer {
  std::string text = {};
  int status = 127;  // the shell's, when there is no such program
};

Answer answer_of(const char* command) {
  FILE* pipe = popen(command, "r");
  if (pipe == nullptr) return {};
  Answer out;
  std::array<char, 4096> room;
  while (const std::size_t n = std::fread(room.data(), 1, room.size(), pipe))
    out.text.append(room.data(), n);
  const int ended = pclose(pipe);
  out.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return out;
}

std::string why_unknown(const Answer& answer) {
  if (answer.status == 0) return {};
  if (answer.status == 127) return "nvidia-smi is not in the path";
  return fmt::format("nvidia-smi topo -m ended with {}", answer.status);
}

}  // namespace

std::vector<DevicePair> parse_topology(const std::string& paths,
                                       const std::string& readable) {
  const Matrix path = matrix_of(paths), reads = matrix_of(readable);
  std::vector<DevicePair> out;
  std::map<std::string, int> pairs_on;  // by kind of path
  for (const auto& [pair, word] : path) {
    if (pair.first >= pair.second) continue;
    const auto read = reads.find(pair);
    out.push_back({.a = pair.first,
                   .b = pair.second,
                   .path = word,
                   .p2p = read != reads.end() && read->second == "OK"});
    ++pairs_on[word];
  }
  for (DevicePair& pair : out)
    pair.shared = !pair.path.starts_with("NV") && pairs_on[pair.path] > 1;
  return out;
}

PairsHere pairs_here() {
  const Answer paths = answer_of("nvidia-smi topo -m 2>/dev/null");
  const Answer readable = answer_of("nvidia-smi topo -p2p r 2>/dev/null");
  return {.pairs = parse_topology(paths.text, readable.text),
          .why_unknown = why_unknown(paths)};
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// `lockstep serve`: the report's page, live. Answers only who holds the token,
// on the loopback unless told otherwise, and gives out nothing that does not
// lie below the folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace lockstep {

struct ServeOptions {
  std::filesystem::path folder;
  std::string host = "127.0.0.1";
  int port = 0;            // 0: any that is free
  std::string token = {};  // empty: a new one
  int viewers = 200;       // that may follow at once; more are told to wait
  double every_s = 1;
};

class LiveServer {
 public:
  // Binds. Error{Fault::config} for a folder that is none, a port in use, a
  // token that is too short, or Plotly missing.
  explicit LiveServer(const ServeOptions& options);
  ~LiveServer();

  // http://HOST:PORT/?token=…
  std::string address() const;
  int port() const;
  void run();   // until stop()
  void stop();  // from any thread

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The file below `folder` that a request means, or empty: not below it (by
// "..", a link or an absolute path), or no plain file.
std::filesystem::path file_below(const std::filesystem::path& folder,
                                 const std::string& asked);

// Compares in the same time wherever they differ.
bool same_secret(const std::string& a, const std::string& b);

// So many random bytes as hexadecimal digits.
std::string random_hex(std::size_t bytes);

}  // namespace lockstep

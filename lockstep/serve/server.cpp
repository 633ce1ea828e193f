// SPDX-License-Identifier: Apache-2.0
#include "lockstep/serve/server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <atomic>

#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/report/page.h"
#include "lockstep/serve/watch.h"

namespace lockstep {
namespace {

// A viewer holds one connection that waits and now and then a second.
constexpr int kThreadsBeside = 32;
constexpr double kKeepAliveS = 15;
constexpr std::size_t kShortestToken = 16;

// What a security scanner looks for. Scripts run by nonce only; the page talks
// to nobody but this server.
httplib::Headers headers_with(const std::string& nonce) {
  return {{"Content-Security-Policy",
           fmt::format("default-src 'none'; script-src 'nonce-{}'; style-src "
                       "'unsafe-inline'; img-src data: blob:; connect-src "
                       "'self'; base-uri 'none'; form-action 'none'; "
                       "frame-ancestors 'none'",
                       nonce)},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"}};
}

bool is_loopback(const std::string& host) {
  return host == "127.0.0.1" || host == "localhost" || host == "::1";
}

void refuse(httplib::Response& response, int status, const char* why) {
  response.status = status;
  response.set_content(std::string(why) + "\n", "text/plain");
}

// As it is. httplib would compress what it is simply given, with Brotli at its
// slowest: ten seconds for Plotly, for each viewer, beside a training.
void send(httplib::Response& response,
          const std::shared_ptr<const std::string>& text, const char* type) {
  response.set_content_provider(
      text->size(), type,
      [text](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(text->data() + offset, length);
      });
}

}  // namespace

struct LiveServer::Impl {
  explicit Impl(const ServeOptions& given)
      : options(given),
        plotly(std::make_shared<const std::string>(
            read_file(find_plotly(), Fault::config))),
        watch(given.folder, given.every_s) {
    if (options.token.empty()) options.token = random_hex(24);
    const int threads = 2 * options.viewers + kThreadsBeside;
    server.new_task_queue = [threads] {
      return new httplib::ThreadPool(static_cast<std::size_t>(threads));
    };
    // httplib's own options let a second server share the port.
    server.set_socket_options([this](socket_t sock) {
      listening = sock;
      const int yes = 1;
      setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    server.set_keep_alive_timeout(1);
    server.set_payload_max_length(1024);
    guard();
    add_page();
    add_events();
    add_files();
  }

  // Before any route: the method, the name we are called by, the token.
  void guard() {
    server.set_pre_routing_handler([this](const httplib::Request& request,
                                          httplib::Response& response) {
      using Answer = httplib::Server::HandlerResponse;
      response.headers = headers_with("none");
      response.set_header("Cache-Control", "no-store");
      if (request.method != "GET" && request.method != "HEAD") {
        refuse(response, 405, "only GET");
        return Answer::Handled;
      }
      // A page elsewhere may point its own name at this machine.
      if (is_loopback(options.host) &&
          !called_right(request.get_header_value("Host"))) {
        refuse(response, 421, "call this server by its address");
        return Answer::Handled;
      }
      if (!same_secret(request.get_param_value("token"), options.token)) {
        refuse(response, 403, "the address lacks its token, or has another");
        return Answer::Handled;
      }
      return Answer::Unhandled;
    });
  }

  bool called_right(const std::string& name) const {
    for (const char* host : {"127.0.0.1", "localhost", "[::1]"})
      if (name == fmt::format("{}:{}", host, port)) return true;
    return false;
  }

  void add_page() {
    const std::string query = "?token=" + options.token;
    server.Get("/", [this, query](const auto&, httplib::Response& response) {
      const std::string nonce = random_hex(16);
      response.headers.erase("Content-Security-Policy");
      const auto fresh = headers_with(nonce);
      response.headers.insert(*fresh.find("Content-Security-Policy"));
      send(response,
           std::make_shared<const std::string>(
               live_page(watch.latest()->document, "plotly.js" + query, nonce)),
           "text/html; charset=utf-8");
    });
    server.Get("/data.json", [this](const auto&, httplib::Response& response) {
      const auto latest = watch.latest();
      send(response, {latest, &latest->data}, "application/json");
    });
    server.Get("/plotly.js", [this](const auto&, httplib::Response& response) {
      response.headers.erase("Cache-Control");
      response.set_header("Cache-Control", "private, max-age=86400");
      send(response, plotly, "text/javascript; charset=utf-8");
    });
  }

  // One line for every version; a comment now and then shows who has left.
  void add_events() {
    server.Get("/events", [this](const auto&, httplib::Response& response) {
      if (++following > options.viewers) {
        --following;
        response.set_header("Retry-After", "30");
        refuse(response, 503,
               "as many viewers as this server was told to have");
        return;
      }
      auto seen = std::make_shared<std::int64_t>(0);
      response.set_chunked_content_provider(
          "text/event-stream",
          [this, seen](std::size_t, httplib::DataSink& sink) {
            const auto latest = watch.after(*seen, kKeepAliveS);
            if (!latest) return false;
            const std::string line =
                latest->version > *seen
                    ? fmt::format("data: {}\n\n", latest->version)
                    : std::string(": still here\n\n");
            *seen = latest->version;
            return sink.write(line.data(), line.size());
          },
          [this](bool) { --following; });
    });
  }

  void add_files() {
    server.Get(R"(/file/(.+))", [this](const httplib::Request& request,
                                       httplib::Response& response) {
      const auto file = file_below(options.folder, request.matches[1].str());
      if (file.empty()) return refuse(response, 404, "there is no such file");
      response.set_header("Content-Disposition", "attachment");
      send(response,
           std::make_shared<const std::string>(read_file(file, Fault::store)),
           "application/octet-stream");
    });
  }

  ServeOptions options;
  const std::shared_ptr<const std::string> plotly;
  Watch watch;
  httplib::Server server;
  std::atomic<int> following = 0;
  socket_t listening = INVALID_SOCKET;
  int port = 0;
};

LiveServer::LiveServer(const ServeOptions& options) {
  if (!std::filesystem::is_directory(options.folder))
    throw Error(Fault::config, options.folder.string(), "is not a folder");
  if (!options.token.empty() && options.token.size() < kShortestToken)
    throw Error(Fault::config, "--token",
                fmt::format("must have {} characters or more", kShortestToken));
  impl_ = std::make_unique<Impl>(options);
  if (options.port == 0)
    impl_->port = impl_->server.bind_to_any_port(options.host);
  else if (impl_->server.bind_to_port(options.host, options.port))
    impl_->port = options.port;
  if (impl_->port <= 0)
    throw Error(Fault::config, fmt::format("{}:{}", options.host, options.port),
                "cannot be listened on", "choose another --port or --host");
  // httplib lets five wait; who comes beside them tries again after seconds,
  // and two hundred pages come at once when a server is started again.
  ::listen(impl_->listening, 2 * options.viewers);
}

LiveServer::~LiveServer() = default;

std::string LiveServer::address() const {
  const bool six = impl_->options.host.find(':') != std::string::npos;
  return fmt::format(
      "http://{}:{}/?token={}",
      six ? "[" + impl_->options.host + "]" : impl_->options.host, impl_->port,
      impl_->options.token);
}

int LiveServer::port() const { return impl_->port; }

void LiveServer::run() { impl_->server.listen_after_bind(); }

void LiveServer::stop() {
  impl_->watch.stop();
  impl_->server.stop();
}

}  // namespace lockstep

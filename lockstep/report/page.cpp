// SPDX-License-Identifier: Apache-2.0
#include "lockstep/report/page.h"

#include <cstdlib>
#include <map>
#include <string_view>

#include "lockstep/core/error.h"
#include "lockstep/core/file.h"
#include "lockstep/report/study_document.h"

namespace lockstep {
namespace embedded {
extern const std::string_view page_html, page_css, page_figures,
    page_seed_figures, page_validation, page_script;
}  // namespace embedded
namespace {

namespace fs = std::filesystem;

// Nothing but the page itself may be loaded: what a reader can rely on.
constexpr std::string_view kPolicy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
    "'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src "
    "data: blob:\">";

using Parts = std::map<std::string_view, std::string_view>;

// Puts {{name}} in one pass: what is put in is not looked at again.
std::string filled(std::string_view page, const Parts& parts) {
  std::string out;
  while (true) {
    const std::size_t open = page.find("{{");
    if (open == page.npos) return out.append(page);
    const std::size_t close = page.find("}}", open);
    check(close != page.npos, "every part of the page is closed");
    const auto part = parts.find(page.substr(open + 2, close - open - 2));
    check(part != parts.end(), "every part of the page is known");
    out.append(page.substr(0, open)).append(part->second);
    page.remove_prefix(close + 2);
  }
}

fs::path program_folder() {
  std::error_code bad;
  const fs::path program = fs::read_symlink("/proc/self/exe", bad);
  return bad ? fs::path() : program.parent_path();
}

// site-packages of whatever Python the environment has.
fs::path plotly_of(const fs::path& environment) {
  std::error_code bad;
  for (const auto& entry : fs::directory_iterator(environment / "lib", bad)) {
    const fs::path file =
        entry.path() / "site-packages/plotly/package_data/plotly.min.js";
    if (fs::is_regular_file(file, bad)) return file;
  }
  return {};
}

}  // namespace

fs::path find_plotly() {
  if (const char* given = std::getenv("LOCKSTEP_PLOTLY")) {
    if (fs::is_regular_file(given)) return given;
    throw Error(Fault::config, "LOCKSTEP_PLOTLY",
                std::string(given) + " is not a file",
                "give the path of plotly.min.js");
  }
  const fs::path here = program_folder();
  for (const fs::path& share :
       {here / "../share/lockstep/plotly.min.js", here / "plotly.min.js"})
    if (fs::is_regular_file(share)) return share;
  for (const fs::path& root :
       {here / "../..", here / "../../..", fs::path(".")})
    if (const fs::path file = plotly_of(root / ".venv"); !file.empty())
      return file;
  throw Error(Fault::config, "plotly.min.js",
              "is not here, and the page's figures are drawn by it",
              "`pip download plotly` holds it (plotly/package_data); set "
              "LOCKSTEP_PLOTLY to its path, or use --markdown");
}

std::string page_data(const Json& document) {
  Json compact = document;
  compact["rows"] = columnar(document["rows"]);
  compact["points"] = columnar(document["points"]);
  std::string text =
      compact.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Nothing in the data may end the script element it stands in.
  std::string out;
  out.reserve(text.size());
  for (const char c : text)
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out;
}

std::string report_page(const Json& document, const std::string& plotly) {
  const std::string data = page_data(document);
  const std::string script = "<script>" + plotly + "</script>";
  return filled(embedded::page_html,
                {{"policy", kPolicy},
                 {"style", embedded::page_css},
                 {"live", ""},
                 {"data", data},
                 {"plotly", script},
                 {"nonce", ""},
                 {"figures", embedded::page_figures},
                 {"seed_figures", embedded::page_seed_figures},
                 {"validation", embedded::page_validation},
                 {"script", embedded::page_script}});
}

void write_report_page(const fs::path& file, const Json& document) {
  const std::string plotly = read_file(find_plotly(), Fault::config);
  write_file(file, report_page(document, plotly));
}

std::string live_page(const Json& document, const std::string& plotly_address,
                      const std::string& nonce) {
  const std::string data = page_data(document);
  const std::string mark = " nonce=\"" + nonce + "\"";
  const std::string script =
      "<script" + mark + " src=\"" + plotly_address + "\"></script>";
  return filled(embedded::page_html,
                {{"policy", ""},
                 {"style", embedded::page_css},
                 {"live", " data-live"},
                 {"data", data},
                 {"plotly", script},
                 {"nonce", mark},
                 {"figures", embedded::page_figures},
                 {"seed_figures", embedded::page_seed_figures},
                 {"validation", embedded::page_validation},
                 {"script", embedded::page_script}});
}

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// A study as one HTML page that needs nothing else: no network, no other file.
// The page's own source is in web/; Plotly's JavaScript is put in when the page
// is made and is never in the repository.
#pragma once

#include <filesystem>
#include <string>

#include "lockstep/core/json.h"

namespace lockstep {

// plotly.min.js: LOCKSTEP_PLOTLY, else share/lockstep beside the program, else
// the .venv of the source tree the program was built in.
// Error{Fault::config} that says how to get it.
std::filesystem::path find_plotly();

// The whole page, from a document of study_document().
std::string report_page(const Json& document, const std::string& plotly);

// The same into a file, which stays as it was where Plotly is missing.
void write_report_page(const std::filesystem::path& file, const Json& document);

// The page as a server gives it: Plotly by its own address, so that browsers
// keep it, scripts allowed by `nonce` alone, and the data followed live.
std::string live_page(const Json& document, const std::string& plotly_address,
                      const std::string& nonce);

// What data.json holds: the document with its long tables by column.
std::string page_data(const Json& document);

}  // namespace lockstep

// SPDX-License-Identifier: Apache-2.0
// lockstep report STUDY|RUN...|PROFILE|VALIDATION: what runs measured and what
// follows from it, layers against their floor, or predictions against what was
// measured, on the screen, as CSV, JSON, Markdown or one HTML page.
#include <cstdio>
#include <memory>

#include "cli/batch_devices.h"
#include "cli/commands.h"
#include "cli/report_profile.h"
#include "lockstep/config/study_recipe.h"
#include "lockstep/core/error.h"
#include "lockstep/report/markdown.h"
#include "lockstep/report/page.h"
#include "lockstep/report/run_report.h"
#include "lockstep/report/study_document.h"
#include "lockstep/store/study_folder.h"

namespace lockstep::cli {
namespace {

struct ReportAsked {
  std::vector<std::string> runs;
  ProfileReportAsked profile;
  std::string html, devices;
  ClusterAsked cluster;
  bool markdown = false;
  Format format = Format::text;
};

void check_report(const ReportAsked& asked) {
  if (asked.runs.empty())
    throw Error(Fault::config, "report",
                "needs a study, a run folder or a profile");
  const bool profile = is_profile(asked.runs[0]);
  const bool told = is_told(asked.runs[0]);
  if (told && asked.runs.size() > 1)
    throw Error(Fault::config, asked.runs[1], "goes alone, one at a time");
  if (!profile && asked.profile.any())
    throw Error(Fault::config, "report",
                "--device and --recipe go with a profile");
  const ClusterAsked& on = asked.cluster;
  if (told && (profile ? !on.link.empty() : on.any() || !asked.devices.empty()))
    throw Error(Fault::config, asked.runs[0],
                "is no study: predictions of more devices go with one");
  if (asked.markdown && asked.format != Format::text)
    throw Error(Fault::config, "--markdown",
                "one of --markdown, --csv and --json at a time");
}

// One finished run on a screen is told by itself.
bool is_one_run(const ReportAsked& asked) {
  return asked.runs.size() == 1 && asked.format == Format::text &&
         !asked.markdown && asked.html.empty() && !is_study(asked.runs[0]) &&
         std::filesystem::exists(std::filesystem::path(asked.runs[0]) /
                                 "record.json");
}

void write_page(const std::string& file, const Json& document) {
  write_report_page(file, document);
  std::fprintf(stderr, "# page: %s\n", file.c_str());
}

// As asked for, else on the cluster the study's recipe names.
std::optional<DevicesAsked> more_devices(const ReportAsked& asked) {
  const std::string& path = asked.runs.front();
  ClusterAsked cluster = asked.cluster;
  if (!cluster.any() && is_study(path))
    cluster.hardware =
        load_study(std::filesystem::path(path) / "study.toml").study.hardware;
  if (cluster.any()) return devices_asked(path, cluster, asked.devices);
  if (!asked.devices.empty())
    throw Error(Fault::config, "--devices", "how are they joined?",
                "--link PRESET or --hardware NAME|FILE");
  return std::nullopt;
}

// A profile or a validation: one table with words below it.
int run_told(const ReportAsked& asked) {
  ProfileReportAsked how = asked.profile;
  how.hardware = asked.cluster.hardware;
  const ProfileReport report = is_profile(asked.runs[0])
                                   ? report_profile(asked.runs[0], how)
                                   : report_validation(asked.runs[0]);
  if (!asked.html.empty()) write_page(asked.html, report.document);
  if (asked.format == Format::json)
    std::printf("%s\n", report.document.dump(2).c_str());
  else if (asked.markdown)
    std::printf("%s\n%s", to_markdown(report.table).c_str(),
                report.words.c_str());
  else
    print(report.table, asked.format);
  if (asked.format == Format::text && !asked.markdown)
    std::fputs(report.words.c_str(), stdout);
  return 0;
}

int run_report(const ReportAsked& asked) {
  check_report(asked);
  if (is_told(asked.runs[0])) return run_told(asked);
  if (is_one_run(asked)) {
    std::fputs(to_text(read_run(asked.runs[0])).c_str(), stdout);
    return 0;
  }
  const Study study = read_runs(asked.runs);
  if (asked.format == Format::csv) {
    print(runs_table(study), asked.format);
    if (asked.html.empty()) return 0;
  }
  StudyFindings findings = find_out(study);
  findings.batch = batch_section(study, more_devices(asked));
  const std::vector<StudyAnswer> answers = answers_of(study, findings.scaling);
  if (asked.format == Format::json || !asked.html.empty()) {
    const Json document = study_document(study, findings, answers);
    if (!asked.html.empty()) write_page(asked.html, document);
    if (asked.format == Format::json)
      std::printf("%s\n", document.dump(2).c_str());
  }
  if (asked.markdown)
    std::fputs(study_markdown(study, findings, answers).c_str(), stdout);
  else if (asked.format == Format::text)
    std::fputs(study_text(study, findings, answers).c_str(), stdout);
  return 0;
}

}  // namespace

std::function<int()> report(Options& options) {
  auto asked = std::make_shared<ReportAsked>();
  options.list("runs", asked->runs,
               "study folders, run folders, a profile (.json), or what predict "
               "--validate wrote");
  options.value("--html", asked->html,
                "write a page with figures to this file");
  options.value("--device", asked->profile.device,
                "a profile's floor: this preset's peaks; default: the "
                "profile's own device");
  options.value("--recipe", asked->profile.recipe,
                "the model of a profile, where its sizes are not the default "
                "ones");
  options.value("--devices", asked->devices,
                "a study of batch sizes on one device: predict its best batch "
                "on so many, such as 1,2,4,...,64");
  declare(options, asked->cluster);
  options.flag("--markdown", asked->markdown, "print Markdown");
  options.format(asked->format);
  return [asked] { return run_report(*asked); };
}

}  // namespace lockstep::cli

// gfxgraph doctor: what of gfxgraph works on this machine, and what a report of a defect needs.
#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/cli/print.h"
#include "base/file/new_file.h"
#include "base/process/device.h"
#include "base/process/own_process.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/doctor/checks.h"
#include "tools/doctor/child.h"
#include "tools/doctor/device_checks.h"
#include "tools/doctor/parts.h"
#include "tools/doctor/system_checks.h"
#include "tools/temporary_folder.h"

namespace gfxgraph::tools {
namespace {

namespace fs = std::filesystem;
using doctor::Check;
using doctor::Gpu;
using doctor::State;

struct Options {
  std::string device = "auto";
  unsigned devices = 0;
  std::vector<int> gpus;
  std::string program;
  unsigned max_seconds = 60;
  std::string json;  // "-": standard output; empty: none
  std::string part, into;
};

// The device that the checks use, and how much a real one is wanted.
struct Choice {
  std::string name;  // "real" or "emulated"
  Gpu gpu = Gpu::kWanted;
  std::string why = "as asked";
  bool usable = true;
};
Choice choose(const std::string& wanted) {
  Choice choice{wanted};
  if (wanted == "emulated") choice.gpu = Gpu::kUnneeded;
  if (wanted == "real") choice.gpu = Gpu::kNeeded;
  const Result<DeviceChoice> resolved = resolve_device(parse_device_choice(wanted).value());
  choice.usable = resolved.has_value();
  if (resolved) {
    const bool real = *resolved == DeviceChoice::kReal;
    choice.name = real ? "real" : "emulated";
    if (choice.gpu == Gpu::kWanted) choice.why = real ? "found" : "no GPU can be used";
  }
  return choice;
}

// What std::filesystem would use, if it exists or not.
fs::path temporary_folder() {
  for (const char* variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})
    if (const char* const folder = std::getenv(variable); folder != nullptr) return folder;
  return "/tmp";
}

std::string variables(const std::map<std::string, std::string>& environment) {
  std::string text;
  for (const auto& [name, value] : environment)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "no variables that change HIP or gfxgraph" : text;
}

void check_system(const Options& options, const Choice& choice, const doctor::Launcher& launcher,
                  doctor::Report& report) {
  const doctor::Surroundings system = doctor::surroundings();
  const auto add = [&](Check check) { report.checks.push_back(std::move(check)); };
  add({"version", State::kOk,
       fmt::format("gfxgraph {}, {}", report.version, own_program().string())});
  add(doctor::check_parts(launcher, report.version));
  add({"system", State::kOk,
       fmt::format("{}, {}, {}, {}, {} of memory", report.host.system, report.host.kernel,
                   report.host.c_library, counted(report.host.processors, "processor"),
                   format_bytes(report.host.memory_bytes))});
  add(doctor::check_temporary_folder(temporary_folder()));
  add(doctor::check_limits(doctor::limits()));
  add(doctor::check_sandbox(system));
  add(doctor::check_preload());
  add({"environment", State::kOk, variables(report.environment)});
  if (!options.program.empty())
    add(doctor::check_program(options.program, choice.name == "emulated"));
  const Check kfd = doctor::check_kfd(system, choice.gpu);
  add(kfd);
  for (Check check :
       {doctor::check_render_nodes(system, choice.gpu), doctor::check_driver(system, choice.gpu)}) {
    if (check.remedy == kfd.remedy) check.remedy.clear();  // said once
    add(std::move(check));
  }
}

// The devices to check a step on: those that were asked for, or the first one.
void check_steps(const Options& options, const doctor::Launcher& launcher, bool has_device,
                 doctor::Report& report) {
  const std::set<int> wanted = options.gpus.empty()
                                   ? std::set<int>{0}
                                   : std::set<int>(options.gpus.begin(), options.gpus.end());
  for (const int gpu : wanted) {
    const auto device = std::ranges::find(report.devices, gpu, &doctor::Device::gpu);
    if (device != report.devices.end()) {
      doctor::check_step(launcher, *device, report);
      continue;
    }
    if (has_device) {
      report.checks.push_back({"device", State::kFailed, fmt::format("HIP has no device {}", gpu),
                               "devices are counted from 0", gpu});
    }
    doctor::skip_step(gpu, "no device", report);
  }
}

console::Style style_of_check(std::string_view line) {
  if (line.starts_with("FAILED ")) return console::Style::kError;
  return line.starts_with("off ") ? console::Style::kWarning : console::Style::kPlain;
}

Result<void> print_report(const doctor::Report& report, const std::string& json,
                          std::optional<NewFile>& file) {
  if (json != "-") console::write_styled(stdout, doctor::render_text(report), style_of_check);
  if (json.empty()) return {};
  const std::string text = doctor::render_json(report);
  if (json == "-") {
    write_text(stdout, text);
    return {};
  }
  GFXGRAPH_TRY(file->write(std::as_bytes(std::span(text))));
  GFXGRAPH_TRY(file->commit());
  wrote(json);
  return {};
}

int examine(const Options& options) {
  const Choice choice = choose(options.device);
  std::optional<NewFile> file;
  if (!options.json.empty() && options.json != "-") {
    Result<NewFile> opened = NewFile::create(options.json, FileUse::kReport);
    if (!opened) {
      report(opened.error());
      return kExitUsage;
    }
    file.emplace(std::move(*opened));
  }
  const TemporaryFolder folder("gfxgraph-doctor");
  const doctor::Launcher launcher{choice.name, static_cast<double>(options.max_seconds),
                                  folder.path()};
  doctor::Report found;
  found.version = GFXGRAPH_VERSION;
  found.device = choice.name;
  found.chosen = choice.why;
  found.host = doctor::describe_host();
  found.environment = doctor::environment_of_runtime();
  const std::unique_ptr<ProgressLine> progress = make_progress();
  progress->at("looking at the system");
  check_system(options, choice, launcher, found);
  progress->at("looking for HIP and its devices");
  const bool has_device = choice.usable && doctor::check_runtime(launcher, found);
  if (!choice.usable) doctor::skip_runtime("no GPU can be used", found);
  progress->at("recording, replaying and capturing a step");
  check_steps(options, launcher, has_device, found);
  progress->clear();
  if (doctor::interrupted()) {
    console::error("interrupted");
    return 128 + SIGINT;
  }
  const Result<void> printed = print_report(found, options.json, file);
  if (!printed) return report(printed.error());
  return found.failed() ? kExitUnsafeLanes : kExitOk;
}

}  // namespace

int doctor_command(int argc, char** argv) {
  CLI::App app(
      "Checks what of gfxgraph works on this machine: its parts, the system, the runtimes of HIP, "
      "devices and permissions. A small step is recorded, replayed in each mode and captured, and "
      "results are compared. Each line has a state: ok; off, for what is not there and not needed; "
      "FAILED, with what to do; or not checked. What calls HIP runs in processes of their own with "
      "a time limit. Exit code 4: a check failed.\n\nExample: gfxgraph doctor --json "
      "doctor.json\nExample: gfxgraph doctor --device emulated --program ./app",
      "gfxgraph doctor");
  Options options;
  app.add_option("--device", options.device,
                 "auto (a GPU if there is one), real or emulated (the software agent)")
      ->check(CLI::IsMember({"auto", "real", "emulated"}))
      ->capture_default_str();
  app.add_option("--devices", options.devices, kDevicesHelp)->check(CLI::Range(1u, kMaxDevices));
  app.add_option("--gpu", options.gpus,
                 "run the step on this device, counted from 0 as HIP does; may be repeated "
                 "(default: 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1023))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--program", options.program, "check whether this program can be recorded, too")
      ->type_name("FILE");
  app.add_option("--max-seconds", options.max_seconds,
                 "end a process of the checks that takes longer; its check has failed")
      ->check(CLI::Range(1u, 86400u))
      ->capture_default_str();
  auto* const json = app.add_option("--json", options.json,
                                    "print JSON in place of the text, or write it to this file "
                                    "beside the text (-: print)")
                         ->type_name("[FILE]")
                         ->expected(0, 1);
  app.add_option("--part", options.part)->group("");  // tools/doctor/parts.h
  app.add_option("--into", options.into)->group("");
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  if (!options.part.empty()) return doctor::run_part(options.part, options.into);
  if (json->count() != 0 && options.json.empty()) options.json = "-";
  if (options.devices != 0) {
    const Choice choice = choose(options.device);
    const Result<void> allowed = check_devices(
        options.devices, choice.name == "emulated" ? DeviceChoice::kEmulated : DeviceChoice::kReal);
    if (!allowed) {
      report(allowed.error());
      return kExitUsage;
    }
    ::setenv(kDevicesVariable, std::to_string(options.devices).c_str(), 1);
  }
  return examine(options);
}

}  // namespace gfxgraph::tools

// The programs of gfxgraph, the runtime of HIP, and its devices.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/amount.h"
#include "base/process/device.h"
#include "base/process/own_process.h"
#include "tools/doctor/device_checks.h"
#include "tools/doctor/libraries.h"
#include "tools/doctor/lines.h"
#include "tools/doctor/parts.h"

namespace gfxgraph::tools::doctor {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kLookAtDevices =
    "look at kfd and render nodes above, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES";
constexpr const char* kLibraries[] = {"libamdhip64", "libhsa-runtime64", "libamd_comgr"};

// 50221153: "5.2.21153", as HIP itself shows it.
std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10'000'000, version / 100'000 % 100, version % 100'000);
}

// "libamdhip64.so.5 (/usr/lib/libamdhip64.so.5.2.21153)".
std::string shown(const Library& library) {
  return library.path == library.file
             ? library.path
             : fmt::format("{} ({})", library.path, fs::path(library.file).filename().string());
}

struct Found {
  std::vector<std::string> loaded, others;
};
Found found_in(const Report& report, const std::string& name) {
  Found found;
  for (const Library& library : report.libraries) {
    if (library.name == name)
      (library.loaded ? found.loaded : found.others).push_back(shown(library));
  }
  return found;
}

std::string also(const std::vector<std::string>& others) {
  return others.empty() ? "" : fmt::format("; not used: {}", fmt::join(others, ", "));
}

void find_all_libraries(Report& report) {
  const std::vector<fs::path> folders = library_folders();
  for (const char* name : kLibraries) {
    const std::vector<Library> some = find_libraries(folders, name);
    report.libraries.insert(report.libraries.end(), some.begin(), some.end());
  }
}

// What the process of kPartDevices told.
struct Runtime {
  int version = 0;
  bool agent = false;
  std::string error;
};

Runtime take_lines(const std::vector<json>& lines, Report& report) {
  Runtime runtime;
  for (const json& line : lines) {
    runtime.version = line.value("version", runtime.version);
    runtime.agent = line.value("agent", runtime.agent);
    runtime.error = line.value("error", runtime.error);
    if (line.contains("hip")) mark_loaded(report.libraries, "libamdhip64", line["hip"]);
    if (line.contains("loaded")) {
      for (const auto& [name, path] : line["loaded"].items())
        mark_loaded(report.libraries, name, path.get<std::string>());
    }
    if (!line.contains("device")) continue;
    const json& device = line["device"];
    report.devices.push_back({device.value("gpu", 0), device.value("name", ""),
                              device.value("arch", ""), device.value("pci", ""),
                              device.value("memory_bytes", uint64_t{0}),
                              device.value("free_bytes", uint64_t{0})});
  }
  return runtime;
}

Check hip_check(const Runtime& runtime, const ChildEnd& end, const Report& report) {
  const Found found = found_in(report, "libamdhip64");
  if (!found.loaded.empty() && runtime.version != 0) {
    return {"hip", State::kOk,
            fmt::format("HIP {}, {}{}", version_text(runtime.version), found.loaded.front(),
                        also(found.others))};
  }
  if (end.code == 1 && !runtime.error.empty()) {
    Check check = check_of("hip", State::kFailed, runtime.error);
    check.detail += also(found.others);
    return check;
  }
  return {
      "hip",
      State::kFailed,
      fmt::format("the process that opened HIP's runtime: {}{}", end.reason(), also(found.others)),
      "send this report; another version of the runtime may work",
      {},
      end.err};
}

Check hsa_check(const Launcher& launcher, const Runtime& runtime, const Report& report) {
  const Found found = found_in(report, "libhsa-runtime64");
  if (found.loaded.empty())
    return {"hsa", State::kNotChecked, "HIP has not opened its HSA runtime" + also(found.others)};
  const bool emulated = launcher.device == "emulated";
  const std::string detail = fmt::format("{}, {}{}", runtime.agent ? "the software agent" : "AMD's",
                                         found.loaded.front(), also(found.others));
  if (runtime.agent == emulated) return {"hsa", State::kOk, detail};
  return {"hsa", State::kFailed, detail,
          emulated ? "HIP has a search path of its own (RPATH) that finds AMD's: use a runtime "
                     "without one"
                   : "take the agent's folder out of LD_LIBRARY_PATH"};
}

Check comgr_check(const Report& report) {
  const Found found = found_in(report, "libamd_comgr");
  if (!found.loaded.empty())
    return {"comgr", State::kOk, found.loaded.front() + also(found.others)};
  if (!found.others.empty())
    return {"comgr", State::kOk, fmt::format("not loaded yet: {}", fmt::join(found.others, ", "))};
  return {"comgr", State::kOff, "no libamd_comgr found: HIP cannot compile kernels",
          "install it beside libamdhip64 if a program needs that"};
}

void add_devices(const Runtime& runtime, const ChildEnd& end, Report& report) {
  for (const Device& device : report.devices) {
    std::string detail = fmt::format("{}, {}", device.name, device.arch);
    if (device.memory_bytes != 0) {
      detail += fmt::format(", {} of {} free", format_bytes(device.free_bytes),
                            format_bytes(device.memory_bytes));
    }
    if (!device.pci.empty()) detail += ", PCI " + device.pci;
    report.checks.push_back({"device", State::kOk, detail, {}, device.gpu});
  }
  if (end.ok() && !report.devices.empty()) return;
  if (end.ok()) {
    report.checks.push_back({"devices", State::kFailed, "HIP has no device", kLookAtDevices});
  } else if (!runtime.error.empty()) {
    report.checks.push_back(
        {"devices", State::kFailed, runtime.error, kLookAtDevices, {}, end.err});
  } else {
    report.checks.push_back({"devices",
                             State::kFailed,
                             "the process that asked HIP for its devices: " + end.reason(),
                             "send this report, and the kernel's log (dmesg)",
                             {},
                             end.err});
  }
}

}  // namespace

std::vector<json> read_lines(const fs::path& path) {
  std::vector<json> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    json line = json::parse(text, nullptr, false);
    if (line.is_object()) lines.push_back(std::move(line));  // a killed process leaves half a line
  }
  return lines;
}

Child Launcher::part(const std::string& part, const fs::path& into,
                     const std::vector<std::string>& options) const {
  std::vector<std::string> arguments = {"run", "--device", device};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {"--", (own_program().parent_path() / "gfxgraph").string(),
                                     "doctor", "--part", part, "--into", into.string()});
  return {own_command("gfxgraph", arguments), {}, seconds};
}

Check check_parts(const Launcher& launcher, const std::string& version) {
  Check check{"parts", State::kFailed, "", "install all of gfxgraph's packages in one version"};
  for (const char* name : {"gfxgraph-record", "gfxgraph-replay"}) {
    const Result<ChildEnd> end =
        run_child({own_command(name, {"--version"}), {}, launcher.seconds});
    check.detail = !end        ? end.error().message
                   : end->ok() ? end->last_line()
                               : fmt::format("{} --version: {}", name, end->reason());
    if (!end || !end->ok()) return check;
    // "gfxgraph-record 0.2.0"
    if (check.detail.substr(check.detail.rfind(' ') + 1) != version) {
      check.detail += ", but this is gfxgraph " + version;
      return check;
    }
  }
  fs::path folder;
  for (const std::string_view name :
       {kRecorderLibrary, kCaptureLibrary, kHipErrorsLibrary, kAgentLibrary}) {
    const Result<fs::path> library = private_library(name);
    if (!library) {
      check.detail = library.error().message;
      return check;
    }
    folder = library->parent_path();
  }
  return {"parts", State::kOk,
          fmt::format("gfxgraph-record and gfxgraph-replay {}; recorder, capture layer and "
                      "software agent in {}",
                      version, folder.string())};
}

bool check_runtime(const Launcher& launcher, Report& report) {
  if (launcher.folder.empty()) {
    skip_runtime("no temporary folder", report);
    return false;
  }
  find_all_libraries(report);
  const fs::path into = launcher.folder / "devices";
  const Result<ChildEnd> end = run_child(launcher.part(kPartDevices, into, {}));
  if (!end) {
    report.checks.push_back(check_of("hip", State::kFailed, end.error().message));
    return false;
  }
  const Runtime runtime = take_lines(read_lines(into), report);
  report.checks.push_back(hip_check(runtime, *end, report));
  const bool has_hip = report.checks.back().state == State::kOk;
  report.checks.push_back(hsa_check(launcher, runtime, report));
  report.checks.push_back(comgr_check(report));
  if (!has_hip) {
    report.checks.push_back({"devices", State::kNotChecked, "no HIP runtime"});
    return false;
  }
  add_devices(runtime, *end, report);
  return !report.devices.empty();
}

void skip_runtime(const std::string& reason, Report& report) {
  find_all_libraries(report);
  for (const auto& [id, name] :
       {std::pair{"hip", kLibraries[0]}, {"hsa", kLibraries[1]}, {"comgr", kLibraries[2]}})
    report.checks.push_back({id, State::kNotChecked, reason + also(found_in(report, name).others)});
  report.checks.push_back({"devices", State::kNotChecked, reason});
}

}  // namespace gfxgraph::tools::doctor

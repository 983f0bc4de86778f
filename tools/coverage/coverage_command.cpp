// gfxgraph coverage: which kernels of files the emulator runs whole, and what the others lack.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/amount.h"
#include "base/cli/print.h"
#include "tools/cli.h"
#include "tools/commands.h"
#include "tools/coverage/coverage.h"
#include "tools/coverage/waits_report.h"
#include "tools/read_limits.h"
#include "tools/worker.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  uint64_t kernels = 0;
  uint64_t complete = 0;
  bool damaged = false;
};

std::string lacks_text(const KernelWalk& kernel) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& [name, count] : kernel.missing) add(fmt::format("{} x {}", count, name));
  for (const std::string& problem : kernel.problems) add(problem);
  if (kernel.swept_because) {
    add(
        fmt::format("all code in the object counts as reachable: the target of the jump at {:#x} "
                    "is known only at run time",
                    *kernel.swept_because));
  }
  return text;
}

void print_file(const FileCoverage& file, bool list) {
  if (file.error.status != Status::kOk && file.objects.empty()) return;
  print("{}: {} of {} kernels complete in {} for gfx1030\n", file.path, file.complete(),
        file.kernels(), counted(file.objects.size(), "code object"));
  for (const auto& [target, count] : file.skipped) {
    print("  skipped {} for {}\n", counted(count, "code object"), target);
  }
  if (!list) return;
  for (const ObjectCoverage& object : file.objects) {
    for (const KernelWalk& kernel : object.kernels) {
      if (!kernel.complete()) {
        print("  {}: {}\n", demangle(kernel.name), lacks_text(kernel));
      }
    }
  }
}

void print_text(const std::vector<FileCoverage>& files, const Totals& totals, bool list) {
  for (const FileCoverage& file : files) print_file(file, list);
  const std::vector<MissingOpcode> missing = missing_opcodes(files);
  if (!missing.empty()) print("\nmissing  instructions  kernels\n");
  for (const MissingOpcode& opcode : missing) {
    print("  {:<32} {:>8} {:>8}\n", opcode.name, opcode.instructions, opcode.kernels);
  }
  if (totals.kernels != 0) {
    print("\n{} of {} kernels complete\n", totals.complete, totals.kernels);
  }
}

Json kernel_json(const KernelWalk& kernel) {
  Json json = {{"name", kernel.name},
               {"complete", kernel.complete()},
               {"instructions", kernel.instructions},
               {"walk", kernel.swept_because ? "sweep" : "control flow"},
               {"missing", kernel.missing},
               {"problems", kernel.problems}};
  if (kernel.swept_because) json["swept_because"] = fmt::format("{:#x}", *kernel.swept_because);
  return json;
}

Json file_json(const FileCoverage& file) {
  Json objects = Json::array();
  for (const ObjectCoverage& object : file.objects) {
    Json kernels = Json::array();
    for (const KernelWalk& kernel : object.kernels) kernels.push_back(kernel_json(kernel));
    objects.push_back(
        {{"target", object.target}, {"error", object.error}, {"kernels", std::move(kernels)}});
  }
  return {{"path", file.path},         {"error", file.error.message},
          {"kernels", file.kernels()}, {"complete", file.complete()},
          {"skipped", file.skipped},   {"objects", std::move(objects)}};
}

void print_json(const std::vector<FileCoverage>& files, const Totals& totals) {
  Json list = Json::array(), missing = Json::array();
  for (const FileCoverage& file : files) list.push_back(file_json(file));
  for (const MissingOpcode& opcode : missing_opcodes(files)) {
    missing.push_back({{"mnemonic", opcode.name},
                       {"instructions", opcode.instructions},
                       {"kernels", opcode.kernels}});
  }
  const Json document = {{"schema", "gfxgraph-coverage/1"},
                         {"kernels", totals.kernels},
                         {"complete", totals.complete},
                         {"missing", std::move(missing)},
                         {"files", std::move(list)}};
  write_text(stdout, document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
}

// Every message, and the exit code of the worst file.
int print_errors(const std::vector<FileCoverage>& files) {
  int code = kExitOk;
  for (const FileCoverage& file : files) {
    if (file.error.status != Status::kOk) code = std::max(code, report(file.error));
    for (const ObjectCoverage& object : file.objects) {
      if (object.error.empty()) continue;
      console::error(fmt::format("{}: {}: {}", file.path, object.target, object.error));
      code = std::max<int>(code, kExitDataLost);
    }
  }
  return code;
}

}  // namespace

int coverage_command(int argc, char** argv) {
  CLI::App app(
      "Lists which gfx1030 kernels of libraries, programs, offload bundles, code objects (.co,\n"
      ".hsaco) and traces the emulator supports. A kernel is complete if the emulator has every\n"
      "instruction that the kernel can reach: both ways of branches, and calls. If a jump's "
      "target\n"
      "is known only at run time, all code in the object counts as reachable. Exit code 3: a\n"
      "kernel is not complete.\n"
      "--waits finds missing and wrong s_waitcnt in the kernels instead, without running them.\n"
      "Exit code 4: there are some; 3: a kernel was not analysed whole.\n\n"
      "Example: gfxgraph coverage ./app --kernels",
      "gfxgraph coverage");
  std::vector<std::string> paths;
  bool kernels = false, json = false, waits = false;
  ReadLimits limits;
  app.add_option("FILE", paths, "files with device code")->required();
  CLI::Option* const list =
      app.add_flag("--kernels", kernels, "list the kernels that are not complete");
  app.add_flag("--waits", waits, "find missing and wrong s_waitcnt")->excludes(list);
  app.add_flag("--json", json, "print JSON, with every kernel");
  add_read_limits(app, limits);
  bool no_sandbox = false;
  add_sandbox_option(app, no_sandbox);
  if (const int code = parse(app, argc, argv); code >= 0) return code;
  enforce("coverage", limits);
  const sandbox::Access access{.read = {paths.begin(), paths.end()}};
  if (const int code = enter_sandbox("coverage", no_sandbox, access); code >= 0) return code;

  std::vector<FileCoverage> files;
  Totals totals;
  const std::unique_ptr<ProgressLine> progress = make_progress();
  for (const std::string& path : paths) {
    progress->at("reading " + path);
    files.push_back(cover_file(
        path,
        [&](uint64_t object, uint64_t of) { progress->at(path + ": code object", object, of); },
        waits));
    totals.kernels += files.back().kernels();
    totals.complete += files.back().complete();
    totals.damaged |= files.back().damaged();
  }
  progress->clear();
  if (waits) {
    json ? print_waits_json(files) : print_waits_text(files);
  } else if (json) {
    print_json(files, totals);
  } else {
    print_text(files, totals, kernels);
  }
  const int code = print_errors(files);
  if (waits && waits_exit_code(files) == kExitUnsafeLanes) return kExitUnsafeLanes;
  if (code != kExitOk) return code;
  if (totals.kernels == 0) {
    console::error("no gfx1030 kernels in these files");
    return kExitFailed;
  }
  if (waits) return waits_exit_code(files);
  return totals.complete == totals.kernels ? kExitOk : kExitDataLost;
}

}  // namespace gfxgraph::tools

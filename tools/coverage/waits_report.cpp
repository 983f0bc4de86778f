#include "tools/coverage/waits_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/amount.h"
#include "base/cli/print.h"
#include "tools/cli.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;
using What = check::MissingWait::What;

struct WaitTotals {
  uint64_t kernels = 0;  // all
  uint64_t analysed = 0;
  uint64_t instructions = 0;
  uint64_t unknown_calls = 0;
  uint64_t findings = 0;
};

void add(WaitTotals& totals, const KernelWaits& waits) {
  totals.kernels += waits.kernels + waits.incomplete.size();
  totals.analysed += waits.kernels;
  totals.instructions += waits.instructions;
  totals.unknown_calls += waits.unknown_calls;
  totals.findings += waits.findings.size();
}
WaitTotals wait_totals(const FileCoverage& file) {
  WaitTotals totals;
  for (const ObjectCoverage& object : file.objects)
    if (object.waits) add(totals, *object.waits);
  return totals;
}
WaitTotals wait_totals(const std::vector<FileCoverage>& files) {
  WaitTotals totals;
  for (const FileCoverage& file : files)
    for (const ObjectCoverage& object : file.objects)
      if (object.waits) add(totals, *object.waits);
  return totals;
}

std::string code_place_text(const CodePlace& place) {
  std::string text = fmt::format("{:#x}", place.pc);
  if (place.source)
    text += format_printable(" ({}:{}:{})", place.source->file, place.source->line,
                             place.source->column);
  return text;
}

void print_object_waits(const ObjectCoverage& object) {
  for (const WaitFinding& finding : object.waits->findings) {
    const std::string more =
        finding.kernels > 1 ? fmt::format(" and {} more", counted(finding.kernels - 1, "kernel"))
                            : std::string();
    print("  {}{}\n", demangle(finding.kernel), more);
    if (!finding.at.function.empty() && finding.at.function != finding.kernel)
      print("    in {}\n", demangle(finding.at.function));
    print("    {}: {}\n", code_place_text(finding.at), finding.at.instruction);
    print("      {}\n", wait_text(finding));
    if (finding.pending.source) print("      issued at {}\n", code_place_text(finding.pending));
  }
  for (const KernelWaits::Incomplete& kernel : object.waits->incomplete)
    print("  {}: not analysed whole: {}\n", demangle(kernel.kernel), kernel.why);
}

const char* wait_access_name(const check::MissingWait& wait) {
  switch (wait.what) {
    case What::kRegister: return wait.overwrites ? "overwritten" : "read";
    case What::kSource: return "overwritten";
    case What::kReturn: return "returned";
    case What::kLds: return "lds_read";
    case What::kStore:
    case What::kLoad: return "reached";
  }
  return "";
}

Json code_place_json(const CodePlace& place) {
  Json json = {{"pc", fmt::format("{:#x}", place.pc)},
               {"instruction", place.instruction},
               {"function", place.function}};
  if (place.source)
    json["source"] = {{"file", place.source->file},
                      {"line", place.source->line},
                      {"column", place.source->column},
                      {"function", place.source->function}};
  return json;
}

Json wait_json(const WaitFinding& finding) {
  Json json = {{"kernel", finding.kernel}, {"kernels", finding.kernels}};
  json.update(code_place_json(finding.at));
  json["access"] = wait_access_name(finding.wait);
  if (finding.wait.code != emulator::operand::kNone)
    json["register"] = check::register_name(finding.wait.code);
  json["pending"] = code_place_json(finding.pending);
  json["needs"] = check::needed_wait(finding.wait);
  json["only_in_lds"] = finding.wait.flat || finding.wait.flat_load;
  return json;
}

Json object_waits_json(const ObjectCoverage& object) {
  Json findings = Json::array(), incomplete = Json::array();
  const KernelWaits waits = object.waits.value_or(KernelWaits());
  for (const WaitFinding& finding : waits.findings) findings.push_back(wait_json(finding));
  for (const KernelWaits::Incomplete& kernel : waits.incomplete)
    incomplete.push_back({{"kernel", kernel.kernel}, {"reason", kernel.why}});
  return {{"target", object.target},
          {"error", object.error},
          {"kernels", waits.kernels + waits.incomplete.size()},
          {"analysed", waits.kernels},
          {"instructions", waits.instructions},
          {"unknown_calls", waits.unknown_calls},
          {"incomplete", std::move(incomplete)},
          {"findings", std::move(findings)}};
}

}  // namespace

void print_waits_text(const std::vector<FileCoverage>& files) {
  for (const FileCoverage& file : files) {
    if (file.error.status != Status::kOk && file.objects.empty()) continue;
    const WaitTotals totals = wait_totals(file);
    print("{}: {} of {} kernels analysed in {} for gfx1030, {}\n", file.path, totals.analysed,
          totals.kernels, counted(file.objects.size(), "code object"),
          counted(totals.findings, "missing wait"));
    for (const auto& [target, count] : file.skipped)
      print("  skipped {} for {}\n", counted(count, "code object"), target);
    for (const ObjectCoverage& object : file.objects)
      if (object.waits) print_object_waits(object);
  }
  const WaitTotals totals = wait_totals(files);
  if (totals.kernels == 0) return;
  print("\n{} of {} kernels analysed, {}, {}\n", totals.analysed, totals.kernels,
        counted(totals.instructions, "instruction"), counted(totals.findings, "missing wait"));
  if (totals.unknown_calls != 0)
    print("{} through registers: their functions were not analysed\n",
          counted(totals.unknown_calls, "call"));
}

void print_waits_json(const std::vector<FileCoverage>& files) {
  Json list = Json::array();
  for (const FileCoverage& file : files) {
    Json objects = Json::array();
    for (const ObjectCoverage& object : file.objects) objects.push_back(object_waits_json(object));
    list.push_back({{"path", file.path},
                    {"error", file.error.message},
                    {"skipped", file.skipped},
                    {"objects", std::move(objects)}});
  }
  const WaitTotals totals = wait_totals(files);
  const Json document = {{"schema", "gfxgraph-waits/1"},
                         {"kernels", totals.kernels},
                         {"analysed", totals.analysed},
                         {"instructions", totals.instructions},
                         {"unknown_calls", totals.unknown_calls},
                         {"findings", totals.findings},
                         {"files", std::move(list)}};
  write_text(stdout, document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
}

int waits_exit_code(const std::vector<FileCoverage>& files) {
  const WaitTotals totals = wait_totals(files);
  if (totals.findings != 0) return kExitUnsafeLanes;
  if (totals.analysed != totals.kernels) return kExitDataLost;
  return kExitOk;
}

}  // namespace gfxgraph::tools

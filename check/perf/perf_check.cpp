#include "check/perf/perf_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "check/report/user_line.h"

namespace gfxgraph::check {
namespace {

// gfx1030, as LLVM's AMDGPU backend has them.
constexpr uint32_t kMostWaves = 16;  // in a SIMD
constexpr uint32_t kVgprs = 1024;    // of a SIMD, of 32 lanes each
constexpr uint32_t kVgprGranule = 16;
constexpr uint32_t kLdsBytes = 128 << 10;  // of four SIMDs
constexpr uint32_t kLdsGranule = 512;
constexpr uint32_t kSimds = 4;

uint32_t aligned(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }

PerfKernel shape_of(const LaunchRun& run) {
  PerfKernel shape;
  const codeobj::KernelDescriptor& descriptor = run.kernel.descriptor;
  const bool wave32 = descriptor.wave32();
  shape.wave_lanes = wave32 ? 32 : 64;
  uint64_t items = 1;
  for (const uint32_t size : run.launch.block) items *= std::max<uint32_t>(1, size);
  shape.block_items = static_cast<uint32_t>(std::min<uint64_t>(items, UINT32_MAX / 2));
  const uint32_t waves =
      std::max<uint32_t>(1, (shape.block_items + shape.wave_lanes - 1) / shape.wave_lanes);
  shape.idle_lanes = waves * shape.wave_lanes - shape.block_items;
  shape.vgprs = descriptor.vgpr_count(wave32);
  const uint64_t lds = uint64_t{descriptor.group_segment_bytes} + run.launch.dynamic_lds_bytes;
  shape.lds_bytes = static_cast<uint32_t>(std::min<uint64_t>(lds, kLdsBytes));
  // A wave64 takes two rows of 32 lanes for each register.
  const uint32_t rows =
      aligned(std::max<uint32_t>(1, shape.vgprs) * (wave32 ? 1 : 2), kVgprGranule);
  const uint32_t by_registers = std::max<uint32_t>(1, kVgprs / rows);
  uint32_t by_lds = kMostWaves;
  if (shape.lds_bytes != 0) {
    const uint32_t groups =
        std::max<uint32_t>(1, kLdsBytes / aligned(shape.lds_bytes, kLdsGranule));
    by_lds = static_cast<uint32_t>(
        std::min<uint64_t>(kMostWaves, std::max<uint64_t>(1, uint64_t{groups} * waves / kSimds)));
  }
  shape.waves_fit = std::min({kMostWaves, by_registers, by_lds});
  if (shape.waves_fit < kMostWaves) shape.limit = by_lds < by_registers ? "LDS" : "registers";
  return shape;
}

bool wastes_more(const PerfKernel& a, const PerfKernel& b) {
  return std::tuple(a.waves_fit, b.idle_lanes) < std::tuple(b.waves_fit, a.idle_lanes);
}

}  // namespace

void PerfCheck::before_run(const LaunchRun& run) {
  kernel_ = run.launch.kernel;
  launch_ = run.index;
  last_ = nullptr;
  PerfKernel shape = shape_of(run);
  const auto [at, first] = kernels_.try_emplace(kernel_);
  Launched& known = at->second;
  const uint64_t launches = known.table.launches + 1;
  if (first || wastes_more(shape, known.table)) {
    known = {std::move(shape), run.code.load_address + run.kernel.entry_address, run.index};
  }
  known.table.launches = launches;
}

void PerfCheck::access(const emulator::Inst& inst, const emulator::MemoryEvent& event) {
  if (event.space == emulator::Space::kScratch || (event.exec & event.in_range) == 0) return;
  const bool lds = event.space == emulator::Space::kLds;
  // A FLAT instruction may access both: two rows.
  const uint64_t pc = inst.pc | (lds ? 1 : 0);
  if (last_ == nullptr || last_pc_ != pc) {
    const auto [at, first] = rows_.try_emplace({kernel_, pc});
    constexpr uint64_t kRowBytes = sizeof(Key) + sizeof(Row) + 64;
    if (first && !budget_.take_memory(kRowBytes, "the counts of an instruction")) {
      rows_.erase(at);
      return;
    }
    if (first) at->second = {.op = inst.op, .lds = lds, .launch = launch_};
    last_ = &at->second;
    last_pc_ = pc;
  }
  const AccessCost cost = lds ? bank_cost(event) : line_cost(event);
  ++last_->executions;
  last_->lanes += cost.lanes;
  last_->units += cost.units;
  last_->least += cost.least;
}

// Notes only of what is more than twice the least: an access of a row that begins in the middle of
// a line touches one line more.
void PerfCheck::report(uint32_t kernel, uint64_t pc, const Row& row, Sites& sites) const {
  if (row.units <= 2 * row.least) return;
  LaneEvent event;
  event.finding_class = row.lds ? FindingClass::kP2 : FindingClass::kP1;
  event.place.launch = row.launch;
  event.pc = pc;
  event.op = row.op;
  event.detail =
      fmt::format("{} accesses {}, the least for their bytes is {}", row.executions,
                  row.lds ? fmt::format("take {} passes over the banks", row.units)
                          : fmt::format("touch {} lines of {} bytes", row.units, kCacheLineBytes),
                  row.least);
  sites.add(kernel, event);
  const auto found = sites.all().find({kernel, pc, event.finding_class});
  if (found == sites.all().end()) return;
  found->second.events = row.executions;
  found->second.lanes_total = row.lanes;
}

void PerfCheck::report(uint32_t kernel, uint64_t entry, const PerfKernel& shape,
                       Sites& sites) const {
  constexpr uint32_t kFewWaves = 4;
  const uint32_t lanes = shape.block_items + shape.idle_lanes;
  LaneEvent event;
  if (uint64_t{4} * shape.idle_lanes >= lanes)
    event.detail = fmt::format("blocks of {} work items leave {} of {} lanes of their waves idle",
                               shape.block_items, shape.idle_lanes, lanes);
  if (shape.waves_fit <= kFewWaves) {
    if (!event.detail.empty()) event.detail += "; ";
    event.detail +=
        fmt::format("{} of {} waves fit in a SIMD, by {}: {} registers, {} bytes of LDS",
                    shape.waves_fit, kMostWaves, shape.limit, shape.vgprs, shape.lds_bytes);
  }
  if (event.detail.empty()) return;
  event.finding_class = FindingClass::kP3;
  event.place.launch = kernels_.at(kernel).first;
  event.pc = entry;
  event.mnemonic = "(entry)";
  sites.add(kernel, event);
}

PerfTable PerfCheck::finish(const format::Trace& trace, const std::vector<LoadedCode>& code,
                            Sites& sites) {
  PerfTable table;
  table.made = true;
  const auto name_of = [&](uint32_t kernel) { return trace.kernels()[kernel - 1].name; };
  std::map<std::tuple<uint32_t, std::string, uint32_t, uint64_t, bool>, PerfLine> lines;
  for (const auto& [key, row] : rows_) {
    const auto [kernel, marked_pc] = key;
    const uint64_t pc = marked_pc & ~uint64_t{1};
    report(kernel, pc, row, sites);
    const LoadedCode* const loaded = find_code(code, pc);
    const uint64_t address = loaded == nullptr ? pc : pc - loaded->load_address;
    std::optional<codeobj::SourceLocation> source;
    if (loaded != nullptr) source = user_line(*loaded->object, address);
    const bool known = source && source->line != 0;
    const std::string file = known ? source->file : std::string();
    const uint32_t number = known ? source->line : 0;
    PerfLine& line = lines[{kernel, file, number, known ? 0 : address, row.lds}];
    if (line.instructions++ == 0) {
      line.kernel = name_of(kernel);
      line.file = file;
      line.line = number;
      line.code_address = address;
      line.lds = row.lds;
    }
    line.executions += row.executions;
    line.lanes += row.lanes;
    line.units += row.units;
    line.least += row.least;
  }
  for (auto& [key, line] : lines) table.lines.push_back(std::move(line));
  std::ranges::stable_sort(table.lines, [](const PerfLine& a, const PerfLine& b) {
    return a.units - a.least > b.units - b.least;
  });
  for (auto& [kernel, launched] : kernels_) {
    launched.table.kernel = name_of(kernel);
    report(kernel, launched.entry, launched.table, sites);
    table.kernels.push_back(launched.table);
  }
  std::ranges::stable_sort(table.kernels, wastes_more);
  return table;
}

}  // namespace gfxgraph::check

#include "sound.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/reachability.h"
#include "check/order/data_order.h"
#include "footprint/launch.h"
#include "format/walk.h"

namespace gfxgraph::footprint {
namespace {

struct Memory {
  uint64_t address = 0, size = 0;
  bool variable = false;
};

// Accesses are counted in whole dwords.
bool holds(const Bytes& bytes, uint64_t buffer, uint64_t address, bool written) {
  if (written ? bytes.kind == AccessKind::kRead : bytes.kind == AccessKind::kWrite) return false;
  const uint64_t begin = buffer + bytes.begin, end = buffer + bytes.end;
  if (address + 4 <= begin || address >= end) return false;
  if (bytes.step == 0 || address < begin) return true;
  // The last start before the dword's end, and whether its width reaches the dword.
  const uint64_t start = begin + (address + 3 - begin) / bytes.step * bytes.step;
  return start + bytes.width > address;
}

void find_unordered(const check::DataOrderReport& order, const NeededOrder& needed,
                    Soundness& result) {
  Reachability by_program, by_need;
  std::unordered_map<uint64_t, uint32_t> work_of;  // by launch
  for (uint32_t n = 0; n < needed.work.size(); ++n) {
    std::vector<uint32_t> recorded = needed.work[n].recorded, needs = needed.work[n].needed;
    by_program.add(recorded);
    by_need.add(needs);
    if (needed.work[n].kind == Work::Kind::kLaunch) work_of[needed.work[n].launch] = n;
  }
  const auto is_launch = [](const check::DataNode& node) {
    return node.kind == check::DataNode::Kind::kLaunch;
  };
  for (const check::DataNode& node : order.nodes) {
    if (!is_launch(node)) continue;
    for (const uint32_t earlier : node.needs) {
      if (!is_launch(order.nodes[earlier])) continue;
      const uint32_t before = work_of.at(order.nodes[earlier].launch);
      const uint32_t after = work_of.at(node.launch);
      if (by_need.reaches(before, after) || !by_program.reaches(before, after)) continue;
      if (result.unordered++ == 0)
        result.first_unordered =
            fmt::format("launch {} before {}", order.nodes[earlier].launch, node.launch);
    }
  }
}

}  // namespace

PlantFault shrink_by(uint64_t bytes) {
  return [bytes](const format::Launch&, LaunchFootprint& footprint) {
    for (Bytes& one : footprint.bytes)
      if (one.kind != AccessKind::kRead)
        one.end = std::max(one.begin, one.end - std::min(one.end, bytes));
  };
}

Result<Soundness> soundness(const format::Trace& trace, const PlantFault& fault) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Launches> launches, Launches::create(trace));
  std::vector<const format::Launch*> by_number;
  format::for_each_launch(
      trace, [&](const format::PlacedLaunch& placed) { by_number.push_back(placed.launch); });
  std::unordered_map<format::AllocationId, Memory> memory;
  for (const format::Event& event : trace.events())
    if (const auto* const begin = std::get_if<format::AllocationBegin>(&event.action))
      memory[begin->id] = {begin->recorded_address,
                           std::max(begin->size_bytes, begin->mapped_bytes),
                           begin->kind == format::AllocationKind::kModuleGlobal};
  Soundness result;
  uint64_t last = UINT64_MAX;
  LaunchFootprint footprint;
  const auto touched = [&](const check::DataNode& node, uint64_t address, uint64_t bytes,
                           bool written) {
    if (node.kind != check::DataNode::Kind::kLaunch || node.launch >= by_number.size()) return;
    if (node.launch != last) {
      last = node.launch;
      footprint = launches->of(*by_number[node.launch]);
      if (fault) fault(*by_number[node.launch], footprint);
      if (footprint.unknown.empty()) ++result.known;
    }
    if (!footprint.unknown.empty()) return;
    for (uint64_t at = address; at < address + bytes; at += 4) {
      ++result.dwords;
      // A variable may be elsewhere in the emulator than it was recorded, where no buffer is.
      const bool moved = std::ranges::none_of(memory, [at](const auto& one) {
        return at + 4 > one.second.address && at < one.second.address + one.second.size;
      });
      const bool inside = std::ranges::any_of(footprint.bytes, [&](const Bytes& one) {
        const auto found = memory.find(one.allocation);
        if (found == memory.end()) return false;
        return moved ? found->second.variable : holds(one, found->second.address, at, written);
      });
      if (inside) continue;
      if (result.outside++ == 0)
        result.first =
            fmt::format("launch {} of {}: {} {:#x}", node.launch,
                        trace.kernels()[node.kernel - 1].name, written ? "writes" : "reads", at);
      if (result.outside == 1)
        for (const Bytes& one : footprint.bytes)
          result.first += fmt::format("; {} of {:#x}+[{}, {}) step {} width {}{}",
                                      one.kind == AccessKind::kRead    ? "read"
                                      : one.kind == AccessKind::kWrite ? "write"
                                                                       : "atomic",
                                      memory[one.allocation].address, one.begin, one.end, one.step,
                                      one.width, one.whole ? " whole" : "");
    }
  };
  GFXGRAPH_ASSIGN_OR_RETURN(const check::DataOrderReport order,
                            check::order_by_data(trace, check::BudgetLimits{}, {}, touched));
  result.launches = order.launches.size();
  result.failed = order.failed_launches;
  GFXGRAPH_ASSIGN_OR_RETURN(const NeededOrder needed, needed_order(trace, fault));
  find_unordered(order, needed, result);
  return result;
}

}  // namespace gfxgraph::footprint

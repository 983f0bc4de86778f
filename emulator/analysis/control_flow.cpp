#include "emulator/analysis/control_flow.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace gfxgraph::emulator {

Flow flow_of(const Inst& inst) noexcept {
  const FlowKind kind = op_info(inst.op).flow;
  if (!has_target(kind)) return {kind, 0};
  return {kind, inst.next_pc() + static_cast<uint64_t>(int64_t{inst.imm}) * 4};
}

bool CodeReader::decode_at(uint64_t pc, Inst& inst) {
  if (region_ == nullptr || !region_->contains(pc, 4)) region_ = memory_.find(pc);
  if (region_ == nullptr || pc % 4 != 0 || !region_->contains(pc, 4)) return false;
  uint32_t words[5] = {};
  const uint64_t offset = pc - region_->address;
  const size_t available = std::min<uint64_t>(5, (region_->mapped_bytes - offset) / 4);
  std::memcpy(words, region_->host + offset, available * 4);
  return decode(words, available, pc, inst) == DecodeStatus::kOk;
}

std::optional<ControlFlow> ControlFlow::trace(
    uint64_t entry, CodeReader& reader, size_t most_instructions,
    const std::function<void(uint32_t, const Inst&)>& visit, const RegisterJumps* jumps) {
  ControlFlow graph;
  std::vector<Node>& nodes = graph.nodes_;
  std::unordered_map<uint64_t, uint32_t> index;
  const auto node_at = [&](uint64_t pc) {
    const auto [at, added] = index.try_emplace(pc, static_cast<uint32_t>(nodes.size()));
    if (added) nodes.emplace_back().pc = pc;
    return at->second;
  };
  const auto add_successor = [&](uint32_t from, uint64_t pc) {
    const uint32_t to = node_at(pc);
    nodes[from].successor[nodes[from].successors++] = to;
    ++nodes[to].predecessors;
  };
  const auto add_known_target = [&](uint32_t from, uint64_t pc) {
    const auto known = jumps->targets.find(pc);
    if (known != jumps->targets.end()) add_successor(from, known->second);
  };
  node_at(entry);
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (nodes.size() > most_instructions) return std::nullopt;
    Inst inst;
    if (!reader.decode_at(nodes[n].pc, inst)) continue;
    const Flow flow = flow_of(inst);
    nodes[n].kind = flow.kind;
    visit(n, inst);
    switch (flow.kind) {
      case Flow::Kind::kEnd:
      case Flow::Kind::kUndecoded: break;
      case Flow::Kind::kIndirectJump:
        if (jumps != nullptr) add_known_target(n, inst.pc);
        break;
      case Flow::Kind::kJump: add_successor(n, flow.target); break;
      case Flow::Kind::kBranch:
      case Flow::Kind::kLoop: add_successor(n, flow.target); [[fallthrough]];
      case Flow::Kind::kNext: add_successor(n, inst.next_pc()); break;
      case Flow::Kind::kCall:
      case Flow::Kind::kIndirectCall:
        if (jumps != nullptr && flow.kind == Flow::Kind::kCall) add_successor(n, flow.target);
        if (jumps != nullptr && flow.kind == Flow::Kind::kIndirectCall)
          add_known_target(n, inst.pc);
        add_successor(n, inst.next_pc());
        break;
    }
  }
  return graph;
}

}  // namespace gfxgraph::emulator

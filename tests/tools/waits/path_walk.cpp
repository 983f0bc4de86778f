#include "tests/tools/waits/path_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>

#include "check/waits/known_values.h"
#include "emulator/engine/context.h"

namespace gfxgraph::tools {
namespace {

using emulator::Flow;
using emulator::Format;
using emulator::Inst;
using emulator::Op;
using emulator::OpInfo;
namespace operand = emulator::operand;
namespace mmod = emulator::mmod;

constexpr size_t kMostInstructions = 1 << 17;
constexpr uint32_t kFar = UINT32_MAX;
constexpr unsigned kCounterMaximum = 63;

bool fences(Op op) { return op == Op::buffer_gl0_inv || op == Op::buffer_gl1_inv; }
bool in_memory(const Inst& inst) {
  return inst.format == Format::kSmem || (inst.format >= Format::kDs && inst.format < Format::kExp);
}
bool in_gds(const Inst& inst) {
  return inst.format == Format::kDs && ((inst.mods & mmod::kGds) != 0 || emulator::is_gws(inst.op));
}

// Which halves of its registers a D16 load or 16-bit store means: 1, 2 or both.
unsigned halves_of(const KernelCode::Node& node, bool stored) {
  const OpInfo& info = emulator::op_info(node.inst.op);
  const std::string_view name = info.name;
  const bool small = info.access_bytes != 0 && info.access_bytes <= 2 &&
                     node.inst.format != Format::kMimg && node.inst.format != Format::kMtbuf;
  const bool loads_half = (info.flags & OpInfo::kDstIsSource) != 0 && !stored;
  const bool stores_half = (info.flags & OpInfo::kStore) != 0 && stored;
  if (!in_memory(node.inst) || !small || !(loads_half || stores_half)) return 3;
  if (name.find("_hi") == name.npos) return 1;
  return (info.flags & OpInfo::kHighHalf) != 0 ? 2 : 3;
}
void add_halves(std::vector<uint32_t>& list, unsigned code, unsigned halves) {
  if ((halves & 1) != 0) list.push_back(code * 2);
  if ((halves & 2) != 0) list.push_back(code * 2 + 1);
}
bool share(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return std::ranges::any_of(a, [&](uint32_t x) { return std::ranges::find(b, x) != b.end(); });
}

}  // namespace

bool KernelCode::read(uint64_t entry, const emulator::RegionTable& memory,
                      const emulator::RegisterJumps& known) {
  jumps = known;
  emulator::CodeReader reader(memory);
  nodes.clear();
  std::vector<std::pair<uint32_t, size_t>> of_node;
  std::deque<Inst> kept;
  const auto graph = emulator::ControlFlow::trace(
      entry, reader, kMostInstructions,
      [&](uint32_t n, const Inst& inst) {
        kept.emplace_back().copy_fields(inst);
        of_node.emplace_back(n, kept.size() - 1);
      },
      &jumps);
  if (!graph) return false;
  nodes = std::vector<Node>(graph->nodes().size());
  for (size_t n = 0; n < nodes.size(); ++n)
    static_cast<emulator::ControlFlow::Node&>(nodes[n]) = graph->nodes()[n];
  for (const auto& [n, at] : of_node) {
    nodes[n].inst.copy_fields(kept[at]);
    emulator::describe_operands(nodes[n].inst, nodes[n].operands);
  }
  return true;
}

PathWalk::PathWalk(const KernelCode& code, uint64_t wait_pc, uint32_t original, uint32_t mutated)
    : code_(code), wait_pc_(wait_pc), original_(original), mutated_(mutated) {
  find_distances(wait_pc);
}

void PathWalk::find_distances(uint64_t wait_pc) {
  const auto& nodes = code_.nodes;
  std::vector<std::vector<uint32_t>> before(nodes.size());
  for (uint32_t n = 0; n < nodes.size(); ++n)
    for (unsigned s = 0; s < nodes[n].successors; ++s) before[nodes[n].successor[s]].push_back(n);
  distance_.assign(nodes.size(), kFar);
  std::deque<uint32_t> queue;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].pc != wait_pc) continue;
    distance_[n] = 0;
    queue.push_back(n);
  }
  while (!queue.empty()) {
    const uint32_t n = queue.front();
    queue.pop_front();
    for (const uint32_t from : before[n]) {
      if (distance_[from] != kFar) continue;
      distance_[from] = distance_[n] + 1;
      queue.push_back(from);
    }
  }
}

PathWalk::Wait PathWalk::wait_of(const Inst& inst, uint32_t word) {
  Wait wait;
  const uint32_t imm = word & 0xffff;
  if (word >> 16 == 0xbf80) return wait;  // s_nop: the wait is gone
  switch (inst.op) {
    case Op::s_waitcnt:
      wait.vector = (imm & 15) | (imm >> 14 & 3) << 4;
      wait.exports = imm >> 4 & 7;
      wait.lgkm = imm >> 8 & 63;
      break;
    case Op::s_waitcnt_vmcnt: wait.vector = imm & 63; break;
    case Op::s_waitcnt_vscnt: wait.stores = imm & 63; break;
    case Op::s_waitcnt_lgkmcnt: wait.lgkm = imm & 63; break;
    case Op::s_waitcnt_expcnt: wait.exports = imm & 7; break;
    default: break;
  }
  return wait;
}

void PathWalk::Lists::apply(const Wait& wait) {
  const auto keep_last = [](std::vector<Pending>& list, size_t left) {
    if (list.size() > left) list.erase(list.begin(), list.end() - static_cast<ptrdiff_t>(left));
  };
  keep_last(vector, wait.vector);
  keep_last(stores, wait.stores);
  keep_last(exports, wait.exports);
  // Any of the unordered ones may be what remains.
  if (wait.lgkm == 0) return lgkm.clear();
  size_t ordered = 0;
  for (size_t n = lgkm.size(); n-- > 0;) {
    if (lgkm[n].unordered || ++ordered <= wait.lgkm) continue;
    lgkm.erase(lgkm.begin() + static_cast<ptrdiff_t>(n));
  }
}

void PathWalk::count_difference(const Wait& original, const Wait& mutated, Outcome& outcome) const {
  Lists with = lists_, without = lists_;
  with.apply(original);
  without.apply(mutated);
  const auto compare = [&](const auto& more, const auto& fewer) {
    if (more.size() == fewer.size()) return;
    outcome.retired = true;
    if (!std::ranges::all_of(more, &Pending::store)) outcome.only_stores = false;
  };
  compare(without.vector, with.vector);
  compare(without.lgkm, with.lgkm);
  compare(without.stores, with.stores);
  compare(without.exports, with.exports);
}

void PathWalk::access(const KernelCode::Node& node, Outcome& outcome) const {
  const auto fail = [&](const Pending& pending, const char* why) {
    if (outcome.violation.empty())
      outcome.violation =
          fmt::format("{} at {:#x} {} {:#x}", op_name(node.inst.op), node.pc, why, pending.pc);
  };
  const bool memory = in_memory(node.inst);
  std::vector<uint32_t> reads, writes;
  const uint32_t flags = emulator::op_info(node.inst.op).flags;
  for (unsigned s = 0; s < node.operands.source_count; ++s) {
    const emulator::OperandRef& source = node.operands.source[s];
    const bool own = memory && (flags & OpInfo::kDstIsSource) != 0 &&
                     source.code == node.inst.dst && source.role == 0;
    const bool data = source.role != emulator::OperandRef::kAddress;
    for (unsigned d = 0; d < source.dwords && !own; ++d)
      add_halves(reads, source.code + d, data ? halves_of(node, true) : 3);
  }
  for (unsigned s = 0; s < node.operands.dest_count; ++s)
    for (unsigned d = 0; d < node.operands.dest[s].dwords; ++d)
      add_halves(writes, node.operands.dest[s].code + d, halves_of(node, false));
  const bool vector_load = memory && node.inst.format >= Format::kFlat;
  const bool lds_load = node.inst.format == Format::kDs && !in_gds(node.inst);
  for (const Pending& pending : lists_.vector) {
    if (share(pending.writes, reads)) fail(pending, "reads what is loaded at");
    if (!vector_load && share(pending.writes, writes)) fail(pending, "overwrites the load at");
    if (pending.to_lds && node.inst.op == Op::s_barrier) fail(pending, "precedes");
    if (pending.to_lds && lds_load && (flags & OpInfo::kLoad) != 0) fail(pending, "reads LDS of");
  }
  for (const Pending& pending : lists_.lgkm) {
    if (pending.flat) continue;
    if (share(pending.writes, reads)) fail(pending, "reads what is loaded at");
    if (!(lds_load && !pending.unordered) && share(pending.writes, writes))
      fail(pending, "overwrites the load at");
    if (pending.store && node.inst.op == Op::s_barrier) fail(pending, "precedes");
  }
  for (const Pending& pending : lists_.exports)
    if (share(pending.reads, writes)) fail(pending, "overwrites what is read at");
}

void PathWalk::issue(const KernelCode::Node& node) {
  const Inst& inst = node.inst;
  if (!in_memory(inst) || fences(inst.op) || inst.op == Op::ds_nop) return;
  const uint32_t flags = emulator::op_info(inst.op).flags;
  Pending pending;
  pending.pc = node.pc;
  pending.to_lds = inst.format >= Format::kFlat && (inst.mods & mmod::kLds) != 0;
  for (unsigned s = 0; s < node.operands.dest_count && !pending.to_lds; ++s)
    for (unsigned d = 0; d < node.operands.dest[s].dwords; ++d)
      add_halves(pending.writes, node.operands.dest[s].code + d, halves_of(node, false));
  const auto push = [](std::vector<Pending>& list, const Pending& one, unsigned most) {
    list.push_back(one);
    if (list.size() > most) list.erase(list.begin());
  };
  if (inst.format == Format::kSmem || in_gds(inst)) {
    pending.unordered = true;
    push(lists_.lgkm, pending, 4 * kCounterMaximum);
    if (inst.format == Format::kSmem) return;
    for (unsigned s = 0; s < node.operands.source_count; ++s)
      for (unsigned d = 0; d < node.operands.source[s].dwords; ++d)
        add_halves(pending.reads, node.operands.source[s].code + d, 3);
    return push(lists_.exports, pending, 7);
  }
  if (inst.format == Format::kDs) {
    pending.store = (flags & (OpInfo::kStore | OpInfo::kAtomic)) != 0;
    return push(lists_.lgkm, pending, 4 * kCounterMaximum);
  }
  const bool atomic = (flags & OpInfo::kAtomic) != 0;
  pending.store = (atomic && (inst.mods & mmod::kGlc) == 0) ||
                  (node.operands.dest_count == 0 && !pending.to_lds);
  if (inst.format == Format::kFlat) {
    Pending in_lds = pending;
    in_lds.flat = true;
    in_lds.store = false;
    push(lists_.lgkm, in_lds, 4 * kCounterMaximum);
  }
  push(pending.store ? lists_.stores : lists_.vector, pending, kCounterMaximum);
}

PathWalk::Outcome PathWalk::run(std::mt19937& random, unsigned most_steps) {
  lists_ = {};
  Outcome outcome;
  std::vector<uint32_t> back;
  uint32_t n = 0;
  check::KnownValues values;
  std::optional<check::KnownEqual> comparison;
  for (unsigned step = 0; step < most_steps && outcome.violation.empty(); ++step) {
    const KernelCode::Node& node = code_.nodes[n];
    if (node.kind == Flow::Kind::kUndecoded || node.kind == Flow::Kind::kEnd) break;
    if (node.pc == wait_pc_) {
      const Wait original = wait_of(node.inst, original_), mutated = wait_of(node.inst, mutated_);
      outcome.reached = true;
      count_difference(original, mutated, outcome);
      lists_.apply(mutated);
    } else {
      const auto imm = static_cast<uint32_t>(node.inst.imm) & 0xffff;
      lists_.apply(wait_of(node.inst, imm));
      access(node, outcome);
      issue(node);
    }
    for (unsigned d = 0; d < node.operands.dest_count; ++d)
      for (unsigned i = 0; i < node.operands.dest[d].dwords; ++i)
        values.forget(node.operands.dest[d].code + i);
    if ((emulator::op_info(node.inst.op).flags & OpInfo::kWritesScc) != 0)
      comparison = check::comparison_of(node.inst);
    if (node.kind == Flow::Kind::kCall || node.kind == Flow::Kind::kIndirectCall) {
      values = {};
      comparison.reset();
      if (node.successors == 2 && back.size() < 64) {
        back.push_back(node.successor[1]);
        n = node.successor[0];
        continue;
      }
      lists_.vector.clear();
      lists_.lgkm.clear();
      n = node.successor[node.successors - 1];
      continue;
    }
    if (node.successors == 0) {
      if (node.kind != Flow::Kind::kIndirectJump || back.empty()) break;
      if (!lists_.vector.empty() ||
          std::ranges::any_of(lists_.lgkm, [](const Pending& p) { return !p.flat; })) {
        const auto loads = [](const Pending& p) { return !p.writes.empty() && !p.flat; };
        if (std::ranges::any_of(lists_.vector, loads) || std::ranges::any_of(lists_.lgkm, loads))
          outcome.violation = fmt::format("a function returns at {:#x} with loads", node.pc);
      }
      n = back.back();
      back.pop_back();
      continue;
    }
    unsigned s = 0;
    if (node.successors == 2) {
      s = random() & 1;
      const uint32_t a = distance_[node.successor[0]], b = distance_[node.successor[1]];
      if (!outcome.reached && a != b && random() % 8 != 0) s = a < b ? 0 : 1;
    }
    // No path goes both ways of one condition.
    const Op op = node.inst.op;
    if (node.successors == 2 && comparison &&
        (op == Op::s_cbranch_scc0 || op == Op::s_cbranch_scc1)) {
      if (!values.allows(check::fact_of_branch(*comparison, op, s == 0))) s = 1 - s;
      values.add(check::fact_of_branch(*comparison, op, s == 0));
    }
    n = node.successor[s];
  }
  return outcome;
}

}  // namespace gfxgraph::tools

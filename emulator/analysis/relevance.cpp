#include "emulator/analysis/relevance.h"

#include <algorithm>
#include <cstring>

#include "emulator/decode/operand_uses.h"
#include "emulator/engine/context.h"

namespace gfxgraph::emulator {
namespace {

constexpr uint32_t kShaderCycles = 29;  // hwreg
constexpr uint32_t kStatus = 2;

bool is_vector_memory(Format format) { return format >= Format::kDs && format <= Format::kMtbuf; }

// value_flow() has made sure that there is room.
void add_pair(InstOperands& operands, uint16_t code) {
  operands.source[operands.source_count++] = OperandRef{code, 2, 0};
}

bool reads_other_lanes(const Inst& inst) {
  return inst.op == Op::v_readlane_b32 || inst.op == Op::v_readfirstlane_b32 ||
         inst.op == Op::v_writelane_b32 || permutes_lanes(inst);
}

// 16-bit results leave the other half of the register; formats may leave components.
bool may_keep_bits(const Inst& inst, const OpInfo& info) {
  return std::strstr(info.name, "16") != nullptr || std::strstr(info.name, "format") != nullptr ||
         (info.flags & (OpInfo::kDstIsSource | OpInfo::kAtomic)) != 0 ||
         (is_vector_alu(inst.format) && inst.extra() != VopExtra::kNone);
}

bool is_clock(const Inst& inst) {
  return inst.op == Op::s_memtime || inst.op == Op::s_memrealtime ||
         (inst.op == Op::s_getreg_b32 && (inst.imm & 63) == kShaderCycles);
}

void widen_masks(InstOperands& operands) {
  const auto widen = [](OperandRef& ref) {
    if (ref.code < operand::kExecHi && ref.dwords == 1) ref.dwords = 2;
  };
  for (unsigned n = 0; n < operands.source_count; ++n) widen(operands.source[n]);
  for (unsigned n = 0; n < operands.dest_count; ++n) widen(operands.dest[n]);
}

template <typename Visit>
void for_each(const OperandRef* list, unsigned count, const Visit& visit) {
  for (unsigned n = 0; n < count; ++n)
    for (unsigned d = 0; d < list[n].dwords; ++d) visit(list[n].code + d, list[n].role);
}

bool insert_sorted(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
  const size_t before = to.size();
  for (const uint32_t value : from) {
    const auto at = std::lower_bound(to.begin(), to.end(), value);
    if (at == to.end() || *at != value) to.insert(at, value);
  }
  return to.size() != before;
}

void set_bit(std::vector<uint64_t>& bits, uint32_t n) { bits[n / 64] |= uint64_t{1} << n % 64; }
void clear_bit(std::vector<uint64_t>& bits, uint32_t n) {
  bits[n / 64] &= ~(uint64_t{1} << n % 64);
}
bool has_bit(const std::vector<uint64_t>& bits, uint32_t n) { return bits[n / 64] >> n % 64 & 1; }

}  // namespace

ValueFlow value_flow(const Inst& inst, bool wave64) {
  const OpInfo& info = op_info(inst.op);
  ValueFlow flow;
  describe_operands(inst, flow.operands);
  if (has_relative_registers(inst) || flow.operands.source_count > 4 ||
      flow.operands.dest_count > 3) {
    flow.kind = ValueFlow::Kind::kUnknown;
    return flow;
  }
  if (is_clock(inst)) flow.kind = ValueFlow::Kind::kClock;
  flow.may_keep = may_keep_bits(inst, info);
  flow.other_lanes = reads_other_lanes(inst);
  if (!flow.may_keep)
    for_each(flow.operands.dest, flow.operands.dest_count, [&](unsigned code, uint8_t role) {
      if (code < Locations::kScalars && (role & OperandRef::kPartial) == 0) flow.replaced.set(code);
    });
  flow.replaced.reset(operand::kM0 + 1);  // null: then M0 is not written either
  if (inst.dst == operand::kM0 && info.dst_dwords != 1) flow.replaced.reset(operand::kM0);
  // Lane masks of a wave64 are pairs; so may be what a vector instruction reads beside them.
  const bool masks = is_vector_alu(inst.format) || is_vector_memory(inst.format) ||
                     (info.flags & (OpInfo::kReadsVcc | OpInfo::kReadsExec)) != 0;
  if (wave64 && masks) widen_masks(flow.operands);
  if ((info.flags & (OpInfo::kReadsExec | OpInfo::kWritesExec)) != 0) {
    add_pair(flow.operands, operand::kExecLo);
    flow.operands.dest[flow.operands.dest_count++] = OperandRef{operand::kExecLo, 2, 0};
  }
  if ((info.flags & OpInfo::kReadsVcc) != 0) add_pair(flow.operands, operand::kVccLo);
  for (const uint16_t source : inst.src)
    if (source == operand::kVccz) add_pair(flow.operands, operand::kVccLo);
  if (inst.op == Op::s_getreg_b32 && (inst.imm & 63) == kStatus) {
    add_pair(flow.operands, operand::kVccLo);
    flow.operands.source[flow.operands.source_count++] = OperandRef{operand::kScc, 1, 0};
  }
  const bool picks_lane = inst.op == Op::v_readlane_b32 || inst.op == Op::v_writelane_b32;
  if (picks_lane && inst.src[1] >= operand::kFirstConstant && !operand::is_special(inst.src[1]) &&
      !operand::is_vgpr(inst.src[1]))
    flow.lane = static_cast<int>(inst.k[1] & (wave64 ? 63 : 31));
  flow.writes_lane = inst.op == Op::v_writelane_b32;
  constexpr uint16_t kStores = OpInfo::kStore | OpInfo::kAtomic;
  flow.data_if_shared = (info.flags & kStores) != 0;
  bool writes_exec = (info.flags & OpInfo::kWritesExec) != 0;
  for_each(flow.operands.dest, flow.operands.dest_count, [&](unsigned code, uint8_t) {
    writes_exec = writes_exec || code == operand::kExecLo || code == operand::kExecHi;
  });
  flow.always = writes_exec || (info.flags & OpInfo::kBranch) != 0 || inst.op == Op::s_setreg_b32 ||
                inst.op == Op::s_setreg_imm32_b32 || is_gws(inst.op);
  return flow;
}

// ---- what was seen ----

bool WayGraph::enter(const Inst& inst, uint64_t exec) {
  const auto [at, added] = index_.try_emplace(inst.pc, static_cast<uint32_t>(nodes_.size()));
  if (added) {
    Node& node = nodes_.emplace_back();
    node.pc = inst.pc;
    node.flow = value_flow(inst, wave64_);
    node.polls = (op_info(inst.op).flags & (OpInfo::kLoad | OpInfo::kAtomic)) != 0 &&
                 inst.format != Format::kSmem;
    bool named = true;
    const auto check = [&](unsigned code, uint8_t) {
      named = named && (code < operand::kVgpr0 || code - operand::kVgpr0 < vgprs_);
    };
    for_each(node.flow.operands.source, node.flow.operands.source_count, check);
    for_each(node.flow.operands.dest, node.flow.operands.dest_count, check);
    news_ = true;
    if (!named) return false;
  }
  Node& node = nodes_[at->second];
  if ((exec & ~node.exec_ever) != 0 || (node.exec_always & ~exec) != 0) {
    node.exec_ever |= exec;
    node.exec_always &= exec;
    news_ = true;
  }
  return true;
}

void WayGraph::leave(uint64_t pc, const TrialMemory& did, uint64_t next_pc) {
  Node& node = nodes_[index_.at(pc)];
  if (std::find(node.next.begin(), node.next.end(), next_pc) == node.next.end()) {
    node.next.push_back(next_pc);
    news_ = true;
  }
  if (did.shared_write() && !node.shared_write) node.shared_write = news_ = true;
  if (node.address == 0) node.address = did.first_address();
  const TrialMemory::ScratchUse& use = did.scratch();
  scratch_dwords_ = did.scratch_dwords();
  news_ = insert_sorted(node.read, use.read) || news_;
  // What each visit wrote as a whole; the rest is written partly.
  std::vector<uint32_t> written;
  insert_sorted(written, use.written);
  if (!node.done) {
    node.written = written;
  } else if (written != node.written) {
    std::vector<uint32_t> both;
    std::set_intersection(written.begin(), written.end(), node.written.begin(), node.written.end(),
                          std::back_inserter(both));
    news_ = insert_sorted(node.written_partly, written) || news_;
    news_ = insert_sorted(node.written_partly, node.written) || news_;
    news_ = both != node.written || news_;
    node.written = both;
  }
  news_ = insert_sorted(node.written_partly, use.written_partly) || news_;
  node.done = true;
}

// ---- what is relevant ----

Locations WayGraph::nothing() const {
  Locations none;
  none.vgpr.assign(vgprs_, 0);
  none.scratch.assign((scratch_dwords_ + 63) / 64, 0);
  return none;
}

void WayGraph::everything(Locations& all) const {
  all.scalar.set();
  all.vgpr.assign(vgprs_, ~uint64_t{0});
  all.scratch.assign((scratch_dwords_ + 63) / 64, ~uint64_t{0});
}

void WayGraph::add(Locations& to, const Locations& from) {
  to.scalar |= from.scalar;
  for (size_t n = 0; n < to.vgpr.size(); ++n) to.vgpr[n] |= from.vgpr[n];
  for (size_t n = 0; n < to.scratch.size(); ++n) to.scratch[n] |= from.scratch[n];
}

// That it reads or writes.
uint64_t WayGraph::lanes_of(const Node& node) {
  if (!node.flow.other_lanes) return node.exec_ever;
  return node.flow.lane < 0 ? ~uint64_t{0} : uint64_t{1} << node.flow.lane;
}

bool WayGraph::result_counts(const Node& node, const Locations& after) const {
  bool counts = node.flow.always;
  const uint64_t lanes = lanes_of(node);
  for_each(node.flow.operands.dest, node.flow.operands.dest_count, [&](unsigned code, uint8_t) {
    if (code < Locations::kScalars)
      counts = counts || after.scalar[code];
    else
      counts = counts || (after.vgpr[code - operand::kVgpr0] & lanes) != 0;
  });
  return counts;
}

void WayGraph::end_replaced(const Node& node, Locations& live) const {
  const ValueFlow& flow = node.flow;
  live.scalar &= ~flow.replaced;
  if (flow.writes_lane && flow.lane >= 0) {
    live.vgpr[flow.operands.dest[0].code - operand::kVgpr0] &= ~(uint64_t{1} << flow.lane);
    return;
  }
  if (flow.may_keep || flow.other_lanes) return;
  for_each(flow.operands.dest, flow.operands.dest_count, [&](unsigned code, uint8_t role) {
    if (code >= operand::kVgpr0 && (role & OperandRef::kPartial) == 0)
      live.vgpr[code - operand::kVgpr0] &= ~node.exec_always;
  });
}

void WayGraph::add_sources(const Node& node, bool needed, bool stored, Locations& live) const {
  const ValueFlow& flow = node.flow;
  const uint64_t lanes = lanes_of(node);
  for_each(flow.operands.source, flow.operands.source_count, [&](unsigned code, uint8_t role) {
    if (!needed && !stored && (role & OperandRef::kAddress) == 0) return;
    if (code < Locations::kScalars)
      live.scalar.set(code);
    else
      live.vgpr[code - operand::kVgpr0] |= lanes;
  });
}

Locations WayGraph::before(const Node& node, bool& clock_counts) const {
  Locations live = nothing();
  for (const uint64_t pc : node.next) {
    const auto at = index_.find(pc);
    if (at != index_.end() && nodes_[at->second].known) add(live, nodes_[at->second].before);
  }
  if (node.flow.kind == ValueFlow::Kind::kUnknown) {
    everything(live);
    return live;
  }
  const bool needed = result_counts(node, live);
  if (node.flow.kind == ValueFlow::Kind::kClock) clock_counts = clock_counts || needed;
  bool stored = node.flow.data_if_shared && node.shared_write;
  for (const auto* list : {&node.written, &node.written_partly})
    for (const uint32_t dword : *list) stored = stored || has_bit(live.scratch, dword);
  end_replaced(node, live);
  const bool atomic = !node.read.empty() && !(node.written.empty() && node.written_partly.empty());
  if (!atomic)
    for (const uint32_t dword : node.written)
      if (!std::binary_search(node.written_partly.begin(), node.written_partly.end(), dword))
        clear_bit(live.scratch, dword);
  if (needed || stored)
    for (const uint32_t dword : node.read) set_bit(live.scratch, dword);
  add_sources(node, needed, stored, live);
  live.scalar.set(operand::kExecLo);
  live.scalar.set(operand::kExecHi);
  return live;
}

bool WayGraph::analyse() {
  std::vector<uint32_t> order(nodes_.size());
  for (uint32_t n = 0; n < order.size(); ++n) order[n] = n;
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return nodes_[a].pc > nodes_[b].pc; });
  for (Node& node : nodes_) {
    node.before = nothing();
    node.known = true;
  }
  bool clock_counts = false;
  bool changed = true;
  while (changed) {
    changed = false;
    for (const uint32_t n : order) {
      Locations live = before(nodes_[n], clock_counts);
      if (live == nodes_[n].before) continue;
      nodes_[n].before = std::move(live);
      changed = true;
    }
  }
  return !clock_counts;
}

const Locations* WayGraph::relevant(uint64_t pc) const {
  const auto at = index_.find(pc);
  return at == index_.end() || !nodes_[at->second].known ? nullptr : &nodes_[at->second].before;
}

std::vector<WayGraph::Place> WayGraph::places_from(const std::vector<uint64_t>& pcs) const {
  std::vector<Place> places;
  std::vector<uint64_t> work = pcs;
  std::vector<bool> seen(nodes_.size());
  while (!work.empty()) {
    const auto at = index_.find(work.back());
    work.pop_back();
    if (at == index_.end() || seen[at->second]) continue;
    seen[at->second] = true;
    const Node& node = nodes_[at->second];
    places.push_back({node.pc, node.polls, node.address});
    work.insert(work.end(), node.next.begin(), node.next.end());
  }
  return places;
}

}  // namespace gfxgraph::emulator

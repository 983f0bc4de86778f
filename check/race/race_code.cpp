#include "check/race/race_code.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <deque>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "emulator/engine/observer.h"

namespace gfxgraph::check {
namespace {

using emulator::CodeReader;
using emulator::Dataflow;
using emulator::Flow;
using emulator::Format;
using emulator::Inst;
using emulator::InstOperands;
using emulator::Op;
using emulator::OperandRef;

namespace operand = emulator::operand;
using CodeRegisters = std::bitset<512>;  // by operand code

uint32_t op_flags(const Inst& inst) { return emulator::op_info(inst.op).flags; }
bool is_load(const Inst& inst) {
  return (op_flags(inst) & emulator::OpInfo::kLoad) != 0 &&
         (op_flags(inst) & emulator::OpInfo::kAtomic) == 0;
}
bool is_store(const Inst& inst) {
  return (op_flags(inst) & emulator::OpInfo::kStore) != 0 &&
         (op_flags(inst) & emulator::OpInfo::kAtomic) == 0;
}
bool is_atomic(const Inst& inst) { return (op_flags(inst) & emulator::OpInfo::kAtomic) != 0; }

bool is_compare(const Inst& inst) {
  if (inst.format == Format::kSopc || inst.format == Format::kVopc) return true;
  const Dataflow flow = emulator::op_info(inst.op).dataflow;
  return inst.format == Format::kVop3 && operand::is_sgpr(inst.dst) &&
         flow != Dataflow::kReadLane && flow != Dataflow::kCopy;
}

bool has_any(const CodeRegisters& set, const OperandRef& ref) {
  for (unsigned d = 0; d < ref.dwords; ++d)
    if (ref.code + d < set.size() && set[ref.code + d]) return true;
  return false;
}
void mark(CodeRegisters& set, const OperandRef& ref, bool value) {
  for (unsigned d = 0; d < ref.dwords; ++d)
    if (ref.code + d < set.size()) set[ref.code + d] = value;
}
void mark_dests(CodeRegisters& set, const InstOperands& operands, bool value) {
  for (unsigned n = 0; n < operands.dest_count; ++n) {
    // What keeps a part keeps it from the set.
    const bool partial = (operands.dest[n].role & OperandRef::kPartial) != 0;
    if (value || !partial) mark(set, operands.dest[n], value);
  }
}
bool reads_any(const CodeRegisters& set, const InstOperands& operands, bool of_data = false) {
  for (unsigned n = 0; n < operands.source_count; ++n) {
    const OperandRef& source = operands.source[n];
    if (of_data && (source.role & OperandRef::kAddress) != 0) continue;
    if (has_any(set, source)) return true;
  }
  return false;
}

struct Step {
  Inst inst;
  InstOperands operands;
};

// The value of a register is the same in each round: its writers make it of such values only.
bool is_invariant(const std::deque<Step>& loop, const OperandRef& ref, unsigned depth) {
  for (const Step& step : loop) {
    bool writes = false;
    CodeRegisters wanted;
    mark(wanted, ref, true);
    for (unsigned n = 0; n < step.operands.dest_count; ++n)
      writes |= has_any(wanted, step.operands.dest[n]);
    if (!writes) continue;
    if (depth == 0 || step.inst.format >= Format::kDs || step.inst.format == Format::kSmem)
      return false;
    for (unsigned n = 0; n < step.operands.source_count; ++n)
      if (!is_invariant(loop, step.operands.source[n], depth - 1)) return false;
  }
  return true;
}

// Of the wave's stack: the calling convention has its buffer in s[0:3].
bool is_stack(const Inst& inst) {
  return inst.format == Format::kScratch || (inst.format == Format::kMubuf && inst.src[2] == 0);
}

// Whether a store may go where the load came from, or to the stack, or what it gave was there.
bool may_follow(const Inst& load, const Inst& store) {
  if (is_stack(load) || is_stack(store)) return true;
  if (load.format == Format::kFlat || store.format == Format::kFlat) return true;
  return (load.format == Format::kDs) == (store.format == Format::kDs);
}

}  // namespace

namespace {

// Bits as in Update: the dwords of the store's data that are in the set.
uint16_t stored_dwords(const CodeRegisters& set, const Inst& store) {
  const emulator::OpInfo& info = emulator::op_info(store.op);
  const auto of = [&](int slot) {
    uint32_t bits = 0;
    for (unsigned d = 0; d < info.src_dwords[slot] && d < Update::kSecondPlace; ++d)
      bits |= static_cast<uint32_t>(has_any(set, {static_cast<uint16_t>(store.src[slot] + d), 1}))
              << d;
    return bits;
  };
  const bool two = (info.flags & emulator::OpInfo::kTwoAddresses) != 0;
  return static_cast<uint16_t>(of(1) | (two ? of(2) << Update::kSecondPlace : 0));
}

// Where the functions that were entered on the way return to.
class Returns {
 public:
  bool empty() const { return depth_ == 0; }
  bool push(uint64_t pc) {
    if (depth_ == pc_.size()) return false;
    pc_[depth_++] = pc;
    return true;
  }
  uint64_t pop() { return pc_[--depth_]; }
  uint64_t hash() const {
    uint64_t hash = 0;
    for (size_t n = 0; n < depth_; ++n) hash = (hash ^ pc_[n]) * 0x9E3779B97F4A7C15u;
    return hash;
  }

 private:
  std::array<uint64_t, 6> pc_;
  size_t depth_ = 0;
};

// `tainted`: the registers with the dword `loaded` of the load.
void follow_dword(CodeReader& reader, const CodeCalls& calls, const Inst& load, uint8_t loaded,
                  const CodeRegisters& tainted, Uses& uses) {
  constexpr size_t kMostInstructions = 256;
  constexpr size_t kMostInFunctions = 768;  // they save registers, and wait
  constexpr size_t kMostUpdates = 16;
  struct Place {
    uint64_t pc;
    Returns returns;
    CodeRegisters tainted;
    CodeRegisters repeatable;  // of the tainted: whose steps all were
    CodeRegisters copied;      // of the tainted: the loaded value itself
  };
  std::vector<Place> open = {{load.next_pc(), {}, tainted, {}, tainted}};
  std::unordered_map<uint64_t, CodeRegisters> seen;
  const auto add = [&](const Place& here, const Inst& store) {
    const uint16_t changed = stored_dwords(here.tainted, store);
    if (changed == 0) return;
    std::vector<Update>& found = uses.updates;
    auto update = std::ranges::find_if(
        found, [&](const Update& one) { return one.store_pc == store.pc && one.loaded == loaded; });
    if (update == found.end()) {
      if (found.size() == kMostUpdates) return;
      update = found.insert(found.end(), {.store_pc = store.pc, .loaded = loaded});
    }
    // Of two ways to a store, the first one counts.
    const auto more = static_cast<uint16_t>(changed & ~update->changed);
    update->changed |= more;
    update->repeatable |= static_cast<uint16_t>(more & stored_dwords(here.repeatable, store));
    update->copied |= static_cast<uint16_t>(more & stored_dwords(here.copied, store));
  };
  size_t most = kMostInstructions;
  for (size_t n = 0; n < most && !open.empty(); ++n) {
    Place here = open.back();
    open.pop_back();
    // Again only with more than before.
    CodeRegisters& before = seen[here.pc ^ here.returns.hash()];
    if (before.any() && (here.tainted & ~before).none()) continue;
    before |= here.tainted;
    Inst inst;
    if (!reader.decode_at(here.pc, inst) || inst.op == Op::s_barrier) continue;
    const Flow flow = emulator::flow_of(inst);
    if (flow.kind == Flow::Kind::kEnd) continue;
    if (flow.leaves_graph()) {
      most = kMostInstructions + kMostInFunctions;
      const auto call = calls.function.find(inst.pc);
      if (call != calls.function.end()) {
        const uint64_t back = inst.next_pc();
        here.pc = call->second;
        if (here.returns.push(back)) open.push_back(here);
      } else if (flow.kind == Flow::Kind::kIndirectJump) {
        const std::vector<uint64_t>* const callers = calls.returns_of(inst.pc);
        if (!here.returns.empty()) {
          here.pc = here.returns.pop();
          open.push_back(here);
        } else if (callers != nullptr) {
          for (const uint64_t back : *callers) {
            here.pc = back;
            open.push_back(here);
          }
        }
      }
      continue;
    }
    InstOperands operands;
    emulator::describe_operands(inst, operands);
    if (is_store(inst)) {
      if (may_follow(load, inst)) add(here, inst);
    } else if (inst.pc == load.pc || is_load(inst) || is_atomic(inst)) {
      mark_dests(here.tainted, operands, false);
      mark_dests(here.copied, operands, false);
    } else {
      const bool from = reads_any(here.tainted, operands);
      uses.compared |= from && is_compare(inst);
      const emulator::OpInfo& info = emulator::op_info(inst.op);
      const bool copies = info.dataflow == Dataflow::kCopy ||
                          (info.dataflow == Dataflow::kSelect && inst.format >= Format::kVop1);
      // A bit that is put in place, not the loaded value.
      const bool sets = inst.op == Op::v_lshl_or_b32 && inst.src[0] < here.tainted.size() &&
                        !here.tainted[inst.src[0]];
      // x * 2 | 1 ends with OR, too, but is another value each time.
      const bool still = reads_any(here.copied | here.repeatable, operands);
      const bool again = still && (sets || info.again == emulator::Again::kSame ||
                                   (copies && reads_any(here.repeatable, operands)));
      mark_dests(here.tainted, operands, from);
      mark_dests(here.repeatable, operands, again);
      mark_dests(here.copied, operands, copies && reads_any(here.copied, operands));
    }
    if (here.tainted.none()) continue;
    const auto go_on = [&](uint64_t pc) {
      here.pc = pc;
      open.push_back(here);
    };
    if (flow.kind != Flow::Kind::kJump) go_on(inst.next_pc());
    if (flow.kind != Flow::Kind::kNext) go_on(flow.target);
  }
}

}  // namespace

bool is_compare_and_swap(Op op) {
  return (emulator::op_info(op).flags & emulator::OpInfo::kComparesAndSwaps) != 0;
}

bool is_poll(CodeReader& reader, const Inst& load) {
  constexpr unsigned kMostSteps = 96;
  // The first branch back to the load or before it ends the loop.
  uint64_t pc = load.next_pc();
  uint64_t head = 0;
  uint64_t end = 0;
  for (unsigned n = 0; n < kMostSteps && end == 0; ++n) {
    Inst inst;
    if (!reader.decode_at(pc, inst) || inst.op == Op::s_barrier) return false;
    const Flow flow = emulator::flow_of(inst);
    if (flow.kind == Flow::Kind::kEnd || flow.leaves_graph()) return false;
    pc = inst.next_pc();
    if ((flow.kind == Flow::Kind::kBranch || flow.kind == Flow::Kind::kJump) &&
        flow.target <= load.pc) {
      head = flow.target;
      end = pc;
    }
  }
  if (end == 0 || end - head > kMostSteps * 8) return false;
  std::deque<Step> loop;
  size_t at = SIZE_MAX;
  for (pc = head; pc < end; pc = loop.back().inst.next_pc()) {
    Step& step = loop.emplace_back();
    if (!reader.decode_at(pc, step.inst)) return false;
    emulator::describe_operands(step.inst, step.operands);
    if (step.inst.op == Op::s_barrier || is_store(step.inst) ||
        emulator::flow_of(step.inst).leaves_graph())
      return false;
    if (pc == load.pc) at = loop.size() - 1;
  }
  if (at == SIZE_MAX) return false;
  const InstOperands& mine = loop[at].operands;
  for (unsigned n = 0; n < mine.source_count; ++n)
    if (!is_invariant(loop, mine.source[n], 4)) return false;
  // Does the value reach a branch that ends the loop, or begins its next round?
  CodeRegisters tainted;
  mark_dests(tainted, mine, true);
  for (size_t n = 1; n < 2 * loop.size(); ++n) {
    const Step& step = loop[(at + n) % loop.size()];
    const Flow flow = emulator::flow_of(step.inst);
    const bool from = reads_any(tainted, step.operands);
    if (from && flow.kind == Flow::Kind::kBranch &&
        (flow.target <= load.pc || flow.target >= end || flow.target < head))
      return true;
    if (&step != &loop[at]) mark_dests(tainted, step.operands, from);
  }
  return false;
}

Uses uses_of(CodeReader& reader, const CodeCalls& calls, const Inst& load) {
  constexpr unsigned kMostDwords = 4;
  Uses uses;
  InstOperands loaded;
  emulator::describe_operands(load, loaded);
  CodeRegisters all;
  mark_dests(all, loaded, true);
  const emulator::OpInfo& info = emulator::op_info(load.op);
  const unsigned dwords = info.dst_dwords;
  // Two places have two addresses, and an image converts.
  const bool apart = load.dst != emulator::operand::kNone && dwords <= kMostDwords &&
                     all.count() == dwords && load.format != Format::kMimg &&
                     4 * dwords <= info.access_bytes + 3u;
  for (unsigned d = 0; d < (apart ? dwords : 1); ++d) {
    CodeRegisters tainted = all;
    if (apart) {
      tainted.reset();
      mark(tainted, {static_cast<uint16_t>(load.dst + d), 1}, true);
    }
    follow_dword(reader, calls, load, apart ? static_cast<uint8_t>(d) : Update::kAnyDword, tainted,
                 uses);
  }
  std::ranges::stable_sort(uses.updates, {}, &Update::store_pc);
  return uses;
}

namespace {

// SGPRs with values that the code makes of its own address, and of what the loader wrote there.
class CodeAddresses {
 public:
  explicit CodeAddresses(const emulator::RegionTable& memory) : memory_(memory) {}
  void forget() {
    if (known_) value_.fill({});
    known_ = false;
  }
  std::optional<uint64_t> pair(uint16_t code) const {
    const std::optional<uint32_t> low = value(code), high = value(static_cast<uint16_t>(code + 1));
    if (!low || !high) return {};
    return uint64_t{*high} << 32 | *low;
  }
  void step(const Inst& inst) {
    if (inst.op == Op::s_getpc_b64) return set_pair(inst.dst, inst.next_pc());
    if (!known_) return;
    switch (inst.op) {
      case Op::s_mov_b32: return set(inst.dst, source(inst, 0));
      case Op::s_mov_b64:
        return operand::is_sgpr(inst.src[0]) ? set_pair(inst.dst, pair(inst.src[0]))
                                             : set_pair(inst.dst, inst.k[0]);
      case Op::s_add_u32:
      case Op::s_addc_u32: return add(inst, inst.op == Op::s_addc_u32);
      case Op::s_load_dwordx2: return set_pair(inst.dst, loaded(inst));
      default: break;
    }
    InstOperands operands;
    emulator::describe_operands(inst, operands);
    for (unsigned n = 0; n < operands.dest_count; ++n) {
      const OperandRef& dest = operands.dest[n];
      if (dest.code == operand::kScc) carry_.reset();
      for (unsigned d = 0; d < dest.dwords; ++d) set(static_cast<uint16_t>(dest.code + d), {});
    }
  }

 private:
  std::optional<uint32_t> value(uint16_t code) const {
    return code < value_.size() ? value_[code] : std::nullopt;
  }
  std::optional<uint32_t> source(const Inst& inst, unsigned n) const {
    if (operand::is_sgpr(inst.src[n])) return value(inst.src[n]);
    if (operand::is_special(inst.src[n])) return {};
    return static_cast<uint32_t>(inst.k[n]);
  }
  void set(uint16_t code, std::optional<uint32_t> to) {
    if (code < value_.size()) value_[code] = to;
  }
  void set_pair(uint16_t code, std::optional<uint64_t> to) {
    known_ = true;
    set(code, to ? std::optional(static_cast<uint32_t>(*to)) : std::nullopt);
    set(static_cast<uint16_t>(code + 1),
        to ? std::optional(static_cast<uint32_t>(*to >> 32)) : std::nullopt);
  }
  void add(const Inst& inst, bool with_carry) {
    const std::optional<uint32_t> a = source(inst, 0), b = source(inst, 1);
    const std::optional<bool> carry = with_carry ? carry_ : std::optional(false);
    carry_.reset();
    if (!a || !b || !carry) return set(inst.dst, {});
    const uint64_t sum = uint64_t{*a} + *b + static_cast<uint64_t>(*carry);
    carry_ = sum >> 32 != 0;
    set(inst.dst, static_cast<uint32_t>(sum));
  }
  // Of the table in which the loader writes addresses of functions.
  std::optional<uint64_t> loaded(const Inst& inst) const {
    const std::optional<uint64_t> base = pair(inst.src[0]);
    const bool plain = inst.src[1] == operand::kNone || inst.src[1] == operand::kNull;
    if (!base || !plain) return {};
    const uint64_t address = *base + static_cast<uint64_t>(int64_t{inst.imm});
    const emulator::Region* const region = memory_.find(address);
    if (region == nullptr || !region->contains(address, 8)) return {};
    uint64_t to = 0;
    std::memcpy(&to, region->host + (address - region->address), sizeof to);
    return to;
  }

  const emulator::RegionTable& memory_;
  bool known_ = false;
  std::array<std::optional<uint32_t>, 128> value_;
  std::optional<bool> carry_;
};

void add_call(CodeCalls& calls, const Inst& call, uint64_t function) {
  constexpr size_t kMostReturns = 8;    // that are followed
  constexpr size_t kMostCalls = 65536;  // a code object may be full of them
  if (calls.function.size() == kMostCalls) return;
  calls.function.emplace(call.pc, function);
  std::vector<uint64_t>& returns = calls.returns[function];
  if (returns.size() < kMostReturns) returns.push_back(call.next_pc());
}

}  // namespace

const std::vector<uint64_t>* CodeCalls::returns_of(uint64_t pc) const {
  const auto after = returns.upper_bound(pc);
  return after == returns.begin() ? nullptr : &std::prev(after)->second;
}

RaceFacts race_facts(const emulator::RegionTable& memory, uint64_t begin, uint64_t end) {
  RaceFacts facts;
  CodeReader reader(memory);
  CodeReader ahead(memory);
  CodeAddresses addresses(memory);
  for (uint64_t pc = begin; pc < end;) {
    Inst inst;
    if (!reader.decode_at(pc, inst)) {
      pc += 4;
      continue;
    }
    pc = inst.next_pc();
    const Flow flow = emulator::flow_of(inst);
    if (flow.kind == Flow::Kind::kCall) add_call(facts.calls, inst, flow.target);
    if (flow.kind == Flow::Kind::kIndirectCall)
      if (const auto function = addresses.pair(inst.src[0]); function.has_value())
        add_call(facts.calls, inst, *function);
    if (flow.kind == Flow::Kind::kEnd || flow.kind == Flow::Kind::kIndirectJump)
      addresses.forget();
    else
      addresses.step(inst);
    const bool ds = inst.format == Format::kDs;
    const bool flat = inst.format == Format::kFlat;
    if (is_compare_and_swap(inst.op)) facts.compares = true;
    if (is_atomic(inst)) {
      facts.follows_lds |= (ds || flat) && inst.dst != emulator::operand::kNone;
    } else if (is_load(inst) && inst.format >= Format::kDs && inst.format != Format::kScratch) {
      const bool coherent = !ds && (inst.mods & emulator::mmod::kGlc) != 0;
      facts.waits_in_lds |= flat && coherent;
      if (coherent || !is_poll(ahead, inst)) continue;
      facts.waits_in_lds |= ds || flat;
      facts.polls.insert(inst.pc);
    }
  }
  facts.follows_lds |= facts.waits_in_lds;
  return facts;
}

}  // namespace gfxgraph::check

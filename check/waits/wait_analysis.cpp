#include "check/waits/wait_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "check/waits/known_values.h"
#include "check/waits/waits_in_flight.h"
#include "emulator/engine/context.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {
namespace {

using emulator::Flow;
using emulator::Format;
using emulator::Inst;
using emulator::InstOperands;
using emulator::Op;
using emulator::OpInfo;
using What = MissingWait::What;
namespace operand = emulator::operand;

// A limit for untrusted code: more than any kernel of a library needs.
constexpr size_t kMaxKernelInstructions = 1 << 17;
constexpr size_t kMaxStates = 1 << 14;
constexpr uint64_t kMaxSteps = 1 << 24;
enum Half : uint8_t { kLow = 1, kHigh = 2, kBoth = 3 };

struct WaitNode : emulator::ControlFlow::Node {
  Op op = Op{0};
  Format format = Format::kSopp;
  uint16_t dst = operand::kNone;
  int32_t imm = 0;
  uint32_t mods = 0;
  InstOperands operands;
  bool call = false;
  bool returns = false;
  bool writes_scc = false;
  bool compares = false;  // SCC: whether `fact` holds
  KnownEqual fact;
};

struct WaitState {
  WaitsInFlight flight;
  KnownValues values;
};

bool is_vector_memory(Format format) {
  return format == Format::kFlat || format == Format::kGlobal || format == Format::kScratch ||
         format == Format::kMubuf || format == Format::kMtbuf || format == Format::kMimg;
}
bool is_memory(Format format) {
  return is_vector_memory(format) || format == Format::kDs || format == Format::kSmem;
}
bool is_wait(Op op) {
  switch (op) {
    case Op::s_waitcnt:
    case Op::s_waitcnt_vmcnt:
    case Op::s_waitcnt_vscnt:
    case Op::s_waitcnt_lgkmcnt:
    case Op::s_waitcnt_expcnt:
    case Op::s_nop: return true;
    default: return false;
  }
}
bool is_fence(Op op) { return op == Op::buffer_gl0_inv || op == Op::buffer_gl1_inv; }
bool is_vector_code(unsigned code) { return code - operand::kVgpr0 < WaitsInFlight::kVectors; }
// Global data share: counted by lgkmcnt, but not in the order of LDS.
bool is_gds(const WaitNode& node) {
  return node.format == Format::kDs &&
         ((node.mods & emulator::mmod::kGds) != 0 || emulator::is_gws(node.op));
}

// Image instructions with a sampler, those of bounding volumes and all others overtake each other.
enum class LoadUnit : uint8_t { kMemory, kSampler, kVolume };
LoadUnit unit_of(const WaitNode& node) {
  if (node.format != Format::kMimg) return LoadUnit::kMemory;
  const std::string_view name = emulator::op_name(node.op);
  if (name.find("_bvh") != name.npos) return LoadUnit::kVolume;
  const bool samples = name.find("_sample") != name.npos || name.find("_gather4") != name.npos;
  return samples ? LoadUnit::kSampler : LoadUnit::kMemory;
}

// buffer_load_format_d16_hi_x has no such mark: both halves.
unsigned half_of(const OpInfo& info) {
  const bool high = (info.flags & OpInfo::kHighHalf) != 0;
  const std::string_view name = info.name;
  if (!high && name.find("_hi") != name.npos) return kBoth;
  return high ? kHigh : kLow;
}
// The half of its registers that a load of 16 bits or less writes, and that such a store reads.
// Formatted ones may have several components.
unsigned loaded_half(const WaitNode& node) {
  const OpInfo& info = emulator::op_info(node.op);
  const bool half = (info.flags & OpInfo::kDstIsSource) != 0 && (info.flags & OpInfo::kLoad) != 0 &&
                    info.access_bytes <= 2 && node.format != Format::kMimg &&
                    node.format != Format::kMtbuf;
  return half ? half_of(info) : unsigned{kBoth};
}
unsigned stored_half(const WaitNode& node, const emulator::OperandRef& source) {
  const OpInfo& info = emulator::op_info(node.op);
  const bool half = is_memory(node.format) && source.role != emulator::OperandRef::kAddress &&
                    (info.flags & OpInfo::kStore) != 0 && info.access_bytes <= 2 &&
                    node.format != Format::kMimg && node.format != Format::kMtbuf;
  return half ? half_of(info) : unsigned{kBoth};
}

template <typename Visit>
void for_dests(const WaitNode& node, const Visit& visit) {
  for (unsigned s = 0; s < node.operands.dest_count; ++s)
    for (unsigned d = 0; d < node.operands.dest[s].dwords; ++d)
      visit(static_cast<unsigned>(node.operands.dest[s].code) + d);
}

class WaitKernel {
 public:
  WaitKernel(uint64_t entry, const emulator::RegionTable& memory, size_t most_instructions,
             const emulator::RegisterJumps* jumps) {
    if (!trace(entry, memory, most_instructions, jumps) || !solve()) {
      findings_.incomplete = "too much code";
      return;
    }
    std::vector<MissingWait> places;
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      for (uint32_t variant = 0; variant < before_[n].size(); ++variant)
        walk({n, variant}, &places);
    std::set<std::tuple<uint64_t, What, bool, bool>> known;
    for (const MissingWait& place : places)
      if (known.emplace(place.pc, place.what, place.flat, place.flat_load).second)
        findings_.places.push_back(place);
  }
  WaitFindings take() {
    findings_.instructions = nodes_.size();
    return std::move(findings_);
  }

 private:
  // What an instruction does to a register, as long as no finding names it.
  struct Underway {
    What what = What::kRegister;
    uint32_t node = 0;
    const char* counter = nullptr;
    uint8_t left = 0;
    bool flat = false;
  };

  // Where paths meet, those with other operations under way are kept apart by what is known of
  // their scalar registers, up to a number.
  static constexpr size_t kMostVariants = 4;
  struct Start {
    uint32_t node = 0, variant = 0;
  };

  bool trace(uint64_t entry, const emulator::RegionTable& memory, size_t most_instructions,
             const emulator::RegisterJumps* jumps) {
    emulator::CodeReader reader(memory);
    const auto graph = emulator::ControlFlow::trace(
        entry, reader, std::min(most_instructions, kMaxKernelInstructions),
        [&](uint32_t n, const Inst& inst) { add_node(n, inst, jumps); }, jumps);
    if (!graph) return false;
    nodes_.resize(graph->nodes().size());
    for (size_t n = 0; n < nodes_.size(); ++n)
      static_cast<emulator::ControlFlow::Node&>(nodes_[n]) = graph->nodes()[n];
    return true;
  }

  void add_node(uint32_t n, const Inst& inst, const emulator::RegisterJumps* jumps) {
    if (nodes_.size() <= n) nodes_.resize(n + 1);
    WaitNode& node = nodes_[n];
    node.op = inst.op;
    node.format = inst.format;
    node.dst = inst.dst;
    node.imm = inst.imm;
    node.mods = inst.mods;
    const Flow::Kind kind = emulator::flow_of(inst).kind;
    node.call = kind == Flow::Kind::kCall || kind == Flow::Kind::kIndirectCall;
    node.returns = jumps != nullptr && kind == Flow::Kind::kIndirectJump &&
                   jumps->returns.contains(inst.pc) && !jumps->targets.contains(inst.pc);
    emulator::describe_operands(inst, node.operands);
    node.writes_scc = (emulator::op_info(inst.op).flags & OpInfo::kWritesScc) != 0;
    if (const auto fact = comparison_of(inst)) {
      node.compares = true;
      node.fact = *fact;
    }
    if (inst.format == Format::kExp) findings_.incomplete = "exports are not followed";
    if (counts_by_register(inst))
      findings_.incomplete = "a wait whose count is in a register is not followed";
  }
  // s_waitcnt_vmcnt s4, 0x0.
  static bool counts_by_register(const Inst& inst) {
    return inst.format == Format::kSopk && is_wait(inst.op) && inst.dst != operand::kNone &&
           inst.dst != operand::kNull;
  }

  // States are kept where paths meet or part.
  bool solve() {
    before_.resize(nodes_.size());
    before_[0].push_back(std::make_unique<WaitState>());
    states_ = 1;
    work_ = {{0, 0}};
    while (!work_.empty()) {
      if (states_ > kMaxStates || steps_ > kMaxSteps) return false;
      const Start start = work_.back();
      work_.pop_back();
      walk(start, nullptr);
    }
    return true;
  }

  bool is_leader(uint32_t n, const WaitNode& from) const {
    return nodes_[n].predecessors > 1 || from.successors > 1 || !before_[n].empty();
  }

  // From node n, which has a state, to the next ones that have. With `places` the states do not
  // change any more.
  void walk(Start start, std::vector<MissingWait>* places) {
    WaitState all = *before_[start.node][start.variant];
    WaitsInFlight& state = all.flight;
    uint32_t n = start.node;
    const WaitNode* compare = nullptr;  // that wrote SCC
    for (;;) {
      const WaitNode& node = nodes_[n];
      if (node.kind == Flow::Kind::kUndecoded) return;
      ++steps_;
      step(n, state, places);
      for_dests(node, [&](unsigned code) { all.values.forget(code); });
      if (node.call) all.values = {};
      if (node.writes_scc || node.call) compare = node.compares ? &node : nullptr;
      if (node.successors == 0) return;
      // The function begins with what its caller has in flight.
      const bool enters = node.call && node.successors == 2;
      if (node.call && !enters) state.clear();
      if (node.successors == 1 && !is_leader(node.successor[0], node)) {
        n = node.successor[0];
        continue;
      }
      if (places != nullptr) return;
      for (unsigned s = 0; s < node.successors; ++s) {
        if (enters && s == 1) state.clear();
        const bool by_scc = node.op == Op::s_cbranch_scc0 || node.op == Op::s_cbranch_scc1;
        if (!by_scc || compare == nullptr || node.successors != 2) {
          arrive(node.successor[s], all);
          continue;
        }
        const KnownEqual fact = fact_of_branch(compare->fact, node.op, s == 0);
        if (!all.values.allows(fact)) continue;
        WaitState after = all;
        after.values.add(fact);
        arrive(node.successor[s], after);
      }
      return;
    }
  }
  void arrive(uint32_t to, const WaitState& state) {
    std::vector<std::unique_ptr<WaitState>>& variants = before_[to];
    uint32_t at = 0;
    while (at < variants.size() && variants[at]->values != state.values &&
           !variants[at]->flight.same(state.flight))
      ++at;
    const bool first = at == variants.size() && at < kMostVariants;
    if (first) {
      variants.push_back(std::make_unique<WaitState>(state));
      ++states_;
    }
    at = std::min<uint32_t>(at, kMostVariants - 1);
    const bool fewer = !first && variants[at]->values.meet(state.values);
    const bool more = !first && variants[at]->flight.meet(state.flight);
    if (first || fewer || more) work_.push_back({to, at});
  }

  // What is under way for a register, which counts as arrived from here on.
  Underway take(WaitsInFlight& state, unsigned code, unsigned halves) const {
    Underway found;
    const auto take_age = [&](uint8_t& age, uint32_t node, const char* counter) {
      if (age != kArrived && found.counter == nullptr)
        found = {What::kRegister, node, counter, age, false};
      age = kArrived;
    };
    if (is_vector_code(code)) {
      const unsigned number = code - operand::kVgpr0;
      for (const unsigned at : {number, number + WaitsInFlight::kVectors}) {
        if ((halves & (at == number ? kLow : kHigh)) == 0) continue;
        take_age(state.vector_age[at], state.vector_load[at], "vmcnt");
        take_age(state.lds_age[at], state.lds_load[at], "lgkmcnt");
      }
      const bool other = found.counter != nullptr;
      take_age(state.flat_age[number], state.flat_load[number], "lgkmcnt");
      found.flat = !other && found.counter != nullptr;
    }
    if (code < WaitsInFlight::kCodes && state.unordered[code]) {
      if (found.counter == nullptr)
        found = {What::kRegister, state.unordered_load[code], "lgkmcnt", 0, false};
      state.unordered[code] = false;
    }
    return found;
  }

  void step(uint32_t n, WaitsInFlight& state, std::vector<MissingWait>* places) const {
    const WaitNode& node = nodes_[n];
    if (node.op == Op::s_wait_idle) return state.clear();
    wait(node, state);
    if (node.returns) return check_return(node, state, places);
    size_t told = SIZE_MAX;  // the first of `places` for this instruction
    const auto tell = [&](const Underway& found, unsigned code, bool overwrites) {
      if (found.counter == nullptr || places == nullptr) return;
      if (told != SIZE_MAX && !found.flat) {
        MissingWait& first = (*places)[told];
        if (std::string_view(first.counter) == found.counter)
          first.left = std::min(first.left, found.left);
        return;
      }
      if (!found.flat) told = places->size();
      places->push_back({found.what, node.pc, nodes_[found.node].pc, node.op,
                         static_cast<uint16_t>(code), overwrites, found.counter, found.left, false,
                         found.flat});
    };
    check_order(node, state, places);
    const bool memory = is_memory(node.format);
    const bool keeps_part =
        memory && (emulator::op_info(node.op).flags & OpInfo::kDstIsSource) != 0;
    for (unsigned s = 0; s < node.operands.source_count; ++s) {
      const emulator::OperandRef& source = node.operands.source[s];
      // The destination that a load keeps a part of: earlier loads arrive before it.
      if (keeps_part && source.code == node.dst && source.role == 0) continue;
      for (unsigned d = 0; d < source.dwords; ++d)
        tell(take(state, source.code + d, stored_half(node, source)), source.code + d, false);
    }
    for_dests(node, [&](unsigned code) {
      tell(take_reader(state, code), code, true);
      // Vector loads of one counter arrive in order, so they may write over each other.
      if (!memory || overtakes(node, code, state))
        tell(take(state, code, memory ? loaded_half(node) : unsigned{kBoth}), code, true);
    });
    if (memory) issue(n, state);
  }

  static Underway take_reader(WaitsInFlight& state, unsigned code) {
    if (!is_vector_code(code)) return {};
    const unsigned at = code - operand::kVgpr0;
    const uint8_t age = std::exchange(state.export_age[at], kArrived);
    if (age == kArrived) return {};
    return {What::kSource, state.exporter[at], "expcnt", age, false};
  }

  // Whether the load may write the register before one that is under way for it does.
  bool overtakes(const WaitNode& node, unsigned code, const WaitsInFlight& state) const {
    if (node.format == Format::kSmem || is_gds(node)) return true;
    if (!is_vector_code(code)) return false;
    if (state.unordered[code]) return true;
    const unsigned number = code - operand::kVgpr0, halves = loaded_half(node);
    for (const unsigned at : {number, number + WaitsInFlight::kVectors}) {
      if ((halves & (at == number ? kLow : kHigh)) == 0) continue;
      const bool ds = node.format == Format::kDs;
      if ((ds ? state.vector_age : state.lds_age)[at] != kArrived) return true;
      if (!ds && state.vector_age[at] != kArrived &&
          unit_of(nodes_[state.vector_load[at]]) != unit_of(node))
        return true;
    }
    return false;
  }

  void check_return(const WaitNode& node, WaitsInFlight& state,
                    std::vector<MissingWait>* places) const {
    if (places == nullptr) return;
    for (unsigned code = 0; code < WaitsInFlight::kCodes; ++code) {
      const Underway found = take(state, code, kBoth);
      if (found.counter == nullptr || found.flat) continue;
      places->push_back({What::kReturn, node.pc, nodes_[found.node].pc, node.op,
                         static_cast<uint16_t>(code), false, found.counter, found.left});
      return;
    }
  }

  // Reads of LDS after loads to LDS, and barriers and fences after stores and loads.
  void check_order(const WaitNode& node, WaitsInFlight& state,
                   std::vector<MissingWait>* places) const {
    const auto tell = [&](What what, uint32_t op, const char* counter, uint8_t left) {
      if (places != nullptr)
        places->push_back({what, node.pc, nodes_[op].pc, node.op, operand::kNone, false, counter,
                           left, what == What::kLds && node.format == Format::kFlat});
    };
    if (state.to_lds && reads_lds(node)) {
      tell(What::kLds, state.to_lds_load, "vmcnt", 0);
      if (node.format == Format::kDs) state.to_lds = false;
    }
    const bool barrier = node.op == Op::s_barrier;
    if (!barrier && !is_fence(node.op)) return;
    if (barrier && state.lds_store_age != kArrived) {
      tell(What::kStore, state.lds_store, "lgkmcnt", state.lds_store_age);
      state.lds_store_age = kArrived;
    } else if (barrier && state.to_lds) {
      tell(What::kStore, state.to_lds_load, "vmcnt", 0);
      state.to_lds = false;
    } else if (state.store_age != kArrived && (barrier ? is_fenced(node) : state.store_last)) {
      tell(What::kStore, state.store, "vscnt", state.store_age);
      state.store_age = kArrived;
    } else if (!barrier && state.load_last) {
      tell(What::kLoad, state.last_load, "vmcnt", 0);
      state.load_last = false;
    }
  }

  // A FLAT load may read LDS.
  static bool reads_lds(const WaitNode& node) {
    return (node.format == Format::kDs || node.format == Format::kFlat) &&
           (emulator::op_info(node.op).flags & OpInfo::kLoad) != 0;
  }

  // Whether the barrier is that of a fence for memory, too.
  bool is_fenced(const WaitNode& barrier) const {
    const WaitNode* node = &barrier;
    for (unsigned n = 0; n < 4 && node->successors == 1; ++n) {
      node = &nodes_[node->successor[0]];
      if (is_fence(node->op)) return true;
      if (!is_wait(node->op)) return false;
    }
    return false;
  }

  static void wait(const WaitNode& node, WaitsInFlight& state) {
    const auto imm = static_cast<uint32_t>(node.imm) & 0xffff;
    switch (node.op) {
      case Op::s_waitcnt:
        state.wait_vector((imm & 15) | (imm >> 14 & 3) << 4);
        state.wait_export(imm >> 4 & 7);
        state.wait_lgkm(imm >> 8 & 63);
        return;
      case Op::s_waitcnt_vmcnt: return state.wait_vector(imm & 63);
      case Op::s_waitcnt_vscnt: return state.wait_store(imm & 63);
      case Op::s_waitcnt_lgkmcnt: return state.wait_lgkm(imm & 63);
      case Op::s_waitcnt_expcnt: return state.wait_export(imm & 7);
      default: return;
    }
  }

  void issue(uint32_t n, WaitsInFlight& state) const {
    const WaitNode& node = nodes_[n];
    const auto fill = [&](auto& ages, auto& loads) {
      for_dests(node, [&](unsigned code) {
        if (!is_vector_code(code)) return;
        const unsigned at = code - operand::kVgpr0;
        state.flat_age[at] = kArrived;
        for (const unsigned half : {kLow, kHigh}) {
          if ((loaded_half(node) & half) == 0) continue;
          ages[at + (half == kLow ? 0 : WaitsInFlight::kVectors)] = 0;
          loads[at + (half == kLow ? 0 : WaitsInFlight::kVectors)] = n;
        }
      });
    };
    if (node.format == Format::kSmem) return issue_unordered(n, state);
    if (is_gds(node)) return issue_gds(n, state);
    const uint32_t flags = emulator::op_info(node.op).flags;
    if (node.format == Format::kDs) {
      if (node.op == Op::ds_nop) return;
      state.issue_lds();
      fill(state.lds_age, state.lds_load);
      if ((flags & (OpInfo::kStore | OpInfo::kAtomic)) == 0) return;
      state.lds_store_age = 0;
      state.lds_store = n;
      return;
    }
    if (is_fence(node.op)) return;
    if (node.format == Format::kFlat) state.issue_lds();
    state.store_last = state.load_last = false;
    const bool to_lds = (node.mods & emulator::mmod::kLds) != 0;
    const bool without_result =
        (flags & OpInfo::kAtomic) != 0 && (node.mods & emulator::mmod::kGlc) == 0;
    if (without_result || (node.operands.dest_count == 0 && !to_lds)) {
      state.issue_store();
      // Nobody else reads scratch. Compilers address it by a buffer, too.
      if (node.format == Format::kScratch || node.format == Format::kMubuf) return;
      state.store_age = 0;
      state.store = n;
      state.store_last = true;
      return;
    }
    state.issue_vector();
    if (!to_lds) {
      fill(state.vector_age, state.vector_load);
      if (node.format == Format::kFlat) follow_flat(n, state);
      state.load_last = node.format == Format::kGlobal || node.format == Format::kFlat;
      state.last_load = n;
      return;
    }
    state.to_lds = true;
    state.to_lds_load = n;
  }

  void issue_unordered(uint32_t n, WaitsInFlight& state) const {
    for_dests(nodes_[n], [&](unsigned code) {
      if (code >= WaitsInFlight::kCodes) return;
      state.unordered[code] = true;
      state.unordered_load[code] = n;
    });
  }
  void issue_gds(uint32_t n, WaitsInFlight& state) const {
    issue_unordered(n, state);
    state.issue_export();
    const InstOperands& operands = nodes_[n].operands;
    for (unsigned s = 0; s < operands.source_count; ++s) {
      for (unsigned d = 0; d < operands.source[s].dwords; ++d) {
        const unsigned code = operands.source[s].code + d;
        if (!is_vector_code(code)) continue;
        state.export_age[code - operand::kVgpr0] = 0;
        state.exporter[code - operand::kVgpr0] = n;
      }
    }
  }

  // What LDS returns, lgkmcnt counts.
  void follow_flat(uint32_t n, WaitsInFlight& state) const {
    for_dests(nodes_[n], [&](unsigned code) {
      if (!is_vector_code(code)) return;
      state.flat_age[code - operand::kVgpr0] = 0;
      state.flat_load[code - operand::kVgpr0] = n;
    });
  }

  std::vector<WaitNode> nodes_;
  std::vector<std::vector<std::unique_ptr<WaitState>>> before_;  // where paths meet or part
  size_t states_ = 0;
  uint64_t steps_ = 0;
  std::vector<Start> work_;
  WaitFindings findings_;
};

}  // namespace

WaitFindings find_missing_waits(uint64_t entry, const emulator::RegionTable& memory,
                                size_t most_instructions, const emulator::RegisterJumps* jumps) {
  return WaitKernel(entry, memory, most_instructions, jumps).take();
}

std::string needed_wait(const MissingWait& place) {
  const std::string_view counter = place.counter;
  if (counter == "vscnt") return fmt::format("s_waitcnt_vscnt null, {:#x}", place.left);
  return fmt::format("s_waitcnt {}({})", counter, place.left);
}

std::string register_name(uint16_t code) {
  if (code >= operand::kVgpr0) return fmt::format("v{}", code - operand::kVgpr0);
  if (code == operand::kVccLo) return "vcc_lo";
  if (code == operand::kVccHi) return "vcc_hi";
  if (code == operand::kM0) return "m0";
  if (code == operand::kExecLo) return "exec_lo";
  if (code == operand::kExecHi) return "exec_hi";
  return fmt::format("s{}", code);
}

}  // namespace gfxgraph::check

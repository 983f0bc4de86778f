#include "check/lanes/wait_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "emulator/analysis/control_flow.h"
#include "emulator/engine/context.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {
namespace {

using emulator::Flow;
using emulator::Format;
using emulator::Inst;
using emulator::InstOperands;
using emulator::Op;
namespace operand = emulator::operand;

// A limit for untrusted code: more than any kernel of a library needs.
constexpr size_t kMaxKernelInstructions = 1 << 17;
constexpr size_t kMaxStates = 1 << 14;
constexpr uint64_t kMaxSteps = 1 << 24;
constexpr uint8_t kArrived = 255;
constexpr uint8_t kMostOutstanding = 62;  // beyond the counter's maximum a wave waits by itself
constexpr unsigned kVectors = 256;
// A D16 load writes one half of a register: lower halves of all registers, then upper ones.
constexpr unsigned kHalves = 2 * kVectors;
enum Half : uint8_t { kLow = 1, kHigh = 2, kBoth = 3 };
constexpr unsigned kScalarCodes = 128;

struct WaitNode : emulator::ControlFlow::Node {
  Op op = Op{0};
  Format format = Format::kSopp;
  uint16_t dst = operand::kNone;
  int32_t imm = 0;
  uint32_t mods = 0;
  InstOperands operands;
  bool clears = false;  // all loads have arrived after it
};

// Loads that are under way. Indices are nodes.
struct State {
  // Operations of the counter since the load that writes the register.
  std::array<uint8_t, kHalves> vector_age, lds_age;
  std::array<uint32_t, kHalves> vector_load, lds_load;
  // By register: operations of lgkmcnt since a FLAT load, which LDS may return.
  std::array<uint8_t, kVectors> flat_age;
  std::array<uint32_t, kVectors> flat_load;
  std::array<uint32_t, kScalarCodes> scalar_load;
  std::array<bool, kScalarCodes> scalar;
  // The last store to LDS and to memory, as the loads above.
  uint8_t lds_store_age, store_age;
  uint32_t lds_store, store;
  bool store_last;  // it is the last access to memory
  // A load to LDS without a wait of vmcnt behind it: one that is under way later may be for another
  // place.
  bool to_lds;
  uint32_t to_lds_load;

  State() { clear(); }
  void clear() {
    vector_age.fill(kArrived);
    lds_age.fill(kArrived);
    flat_age.fill(kArrived);
    scalar.fill(false);
    flat_load.fill(0);
    vector_load.fill(0);
    lds_load.fill(0);
    scalar_load.fill(0);
    lds_store_age = store_age = kArrived;
    lds_store = store = to_lds_load = 0;
    store_last = to_lds = false;
  }
  static void wait(uint8_t& age, unsigned left) {
    if (age >= left) age = kArrived;
  }
  static void issue(uint8_t& age) {
    if (age != kArrived) age = age < kMostOutstanding ? static_cast<uint8_t>(age + 1) : kArrived;
  }
  template <size_t kCount>
  static void wait(std::array<uint8_t, kCount>& ages, unsigned left) {
    for (uint8_t& age : ages)
      if (age >= left) age = kArrived;
  }
  template <size_t kCount>
  static void issue(std::array<uint8_t, kCount>& ages) {
    for (uint8_t& age : ages) issue(age);
  }
  void issue_lds() {
    issue(lds_age);
    issue(flat_age);
    issue(lds_store_age);
  }
  // True: it changed.
  bool meet(const State& other) {
    bool changed = false;
    const auto shorter = [&](auto& age, auto& load, const auto& other_age, const auto& other_load) {
      for (size_t n = 0; n < age.size(); ++n) {
        if (other_age[n] >= age[n]) continue;
        age[n] = other_age[n];
        load[n] = other_load[n];
        changed = true;
      }
    };
    shorter(vector_age, vector_load, other.vector_age, other.vector_load);
    shorter(lds_age, lds_load, other.lds_age, other.lds_load);
    shorter(flat_age, flat_load, other.flat_age, other.flat_load);
    for (unsigned n = 0; n < kScalarCodes; ++n) {
      if (!other.scalar[n] || scalar[n]) continue;
      scalar[n] = true;
      scalar_load[n] = other.scalar_load[n];
      changed = true;
    }
    const auto later = [&](uint8_t& age, uint32_t& op, uint8_t other_age, uint32_t other_op) {
      if (other_age >= age) return;
      age = other_age;
      op = other_op;
      changed = true;
    };
    later(lds_store_age, lds_store, other.lds_store_age, other.lds_store);
    later(store_age, store, other.store_age, other.store);
    if (store_last && !other.store_last) changed = true;
    store_last = store_last && other.store_last;
    if (other.to_lds && !to_lds) {
      to_lds = changed = true;
      to_lds_load = other.to_lds_load;
    }
    return changed;
  }
};

bool is_vector_memory(Format format) {
  return format == Format::kFlat || format == Format::kGlobal || format == Format::kScratch ||
         format == Format::kMubuf || format == Format::kMtbuf || format == Format::kMimg;
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
bool is_memory(Format format) {
  return is_vector_memory(format) || format == Format::kDs || format == Format::kSmem;
}

class WaitKernel {
 public:
  WaitKernel(uint64_t entry, const emulator::RegionTable& memory, size_t most_instructions) {
    complete_ = trace(entry, memory, most_instructions) && solve();
    if (!complete_) return;
    for (uint32_t n = 0; n < nodes_.size(); ++n)
      if (before_[n]) walk(n, &places_);
  }
  bool complete() const { return complete_; }
  std::vector<WaitCheck::Place> take_places() { return std::move(places_); }

 private:
  bool trace(uint64_t entry, const emulator::RegionTable& memory, size_t most_instructions) {
    emulator::CodeReader reader(memory);
    const auto graph = emulator::ControlFlow::trace(
        entry, reader, std::min(most_instructions, kMaxKernelInstructions),
        [&](uint32_t n, const Inst& inst) { add_node(n, inst); });
    if (!graph) return false;
    nodes_.resize(graph->nodes().size());
    for (size_t n = 0; n < nodes_.size(); ++n)
      static_cast<emulator::ControlFlow::Node&>(nodes_[n]) = graph->nodes()[n];
    return true;
  }

  void add_node(uint32_t n, const Inst& inst) {
    if (nodes_.size() <= n) nodes_.resize(n + 1);
    WaitNode& node = nodes_[n];
    node.op = inst.op;
    node.format = inst.format;
    node.dst = inst.dst;
    node.imm = inst.imm;
    node.mods = inst.mods;
    const Flow::Kind kind = emulator::flow_of(inst).kind;
    node.clears = kind == Flow::Kind::kCall || kind == Flow::Kind::kIndirectCall ||
                  inst.op == Op::s_wait_idle;
    emulator::describe_operands(inst, node.operands);
  }

  // States are kept where paths meet or part.
  bool solve() {
    before_.resize(nodes_.size());
    before_[0] = std::make_unique<State>();
    states_ = 1;
    work_ = {0};
    while (!work_.empty()) {
      if (states_ > kMaxStates || steps_ > kMaxSteps) return false;
      const uint32_t n = work_.back();
      work_.pop_back();
      walk(n, nullptr);
    }
    return true;
  }

  bool is_leader(uint32_t n, const WaitNode& from) const {
    return nodes_[n].predecessors > 1 || from.successors > 1 || before_[n] != nullptr;
  }

  // From node n, which has a state, to the next ones that have. With `places` the states do not
  // change any more.
  void walk(uint32_t n, std::vector<WaitCheck::Place>* places) {
    State state = *before_[n];
    for (;;) {
      const WaitNode& node = nodes_[n];
      if (node.kind == Flow::Kind::kUndecoded) return;
      ++steps_;
      step(n, state, places);
      if (node.successors == 0) return;
      if (node.successors == 1 && !is_leader(node.successor[0], node)) {
        n = node.successor[0];
        continue;
      }
      if (places != nullptr) return;
      for (unsigned s = 0; s < node.successors; ++s) {
        const uint32_t to = node.successor[s];
        const bool first = before_[to] == nullptr;
        if (first) {
          before_[to] = std::make_unique<State>(state);
          ++states_;
        }
        if (first || before_[to]->meet(state)) work_.push_back(to);
      }
      return;
    }
  }

  void step(uint32_t n, State& state, std::vector<WaitCheck::Place>* places) const {
    const WaitNode& node = nodes_[n];
    if (node.clears) {
      state.clear();
      return;
    }
    wait(node, state);
    bool told = false;
    const auto use = [&](unsigned code, bool overwrites, unsigned halves = kBoth) {
      uint32_t load = 0;
      const char* counter = nullptr;
      bool flat = false;
      if (code >= operand::kVgpr0 && code < operand::kVgpr0 + kVectors) {
        const unsigned number = code - operand::kVgpr0;
        for (const unsigned at : {number, number + kVectors}) {
          if ((halves & (at == number ? kLow : kHigh)) == 0) continue;
          if (counter == nullptr && state.vector_age[at] != kArrived) {
            load = state.vector_load[at];
            counter = "vmcnt";
          } else if (counter == nullptr && state.lds_age[at] != kArrived) {
            load = state.lds_load[at];
            counter = "lgkmcnt";
          }
          state.vector_age[at] = state.lds_age[at] = kArrived;
        }
        if (counter == nullptr && state.flat_age[number] != kArrived) {
          load = state.flat_load[number];
          counter = "lgkmcnt";
          flat = true;
        }
        state.flat_age[number] = kArrived;
      } else if (code < kScalarCodes && state.scalar[code]) {
        load = state.scalar_load[code];
        counter = "lgkmcnt";
        state.scalar[code] = false;
      }
      if (counter == nullptr || (told && !flat) || places == nullptr) return;
      told = told || !flat;
      places->push_back({WaitCheck::What::kRegister, node.pc, nodes_[load].pc, node.op,
                         static_cast<uint16_t>(code), overwrites, counter, false, flat});
    };
    check_order(node, state, places);
    const bool memory = is_memory(node.format);
    const bool keeps_part =
        memory && (emulator::op_info(node.op).flags & emulator::OpInfo::kDstIsSource) != 0;
    for (unsigned s = 0; s < node.operands.source_count; ++s) {
      const emulator::OperandRef& source = node.operands.source[s];
      // The destination that a load keeps a part of: earlier loads arrive before it.
      if (keeps_part && source.code == node.dst && source.role == 0) continue;
      for (unsigned d = 0; d < source.dwords; ++d)
        use(source.code + d, false, stored_half(node, source));
    }
    // Vector loads of one counter arrive in order, so they may write over each other.
    for_dests(node, [&](unsigned code) {
      if (memory && overtakes(node, code, state)) use(code, true, loaded_half(node));
    });
    if (!memory) {
      for_dests(node, [&](unsigned code) { use(code, true); });
      return;
    }
    issue(n, state);
  }

  // Whether the load may write the register before one that is under way for it does.
  static bool overtakes(const WaitNode& node, unsigned code, const State& state) {
    if (node.format == Format::kSmem) return true;
    if (code < operand::kVgpr0 || code >= operand::kVgpr0 + kVectors) return false;
    const unsigned at = code - operand::kVgpr0;
    const auto& ages = node.format == Format::kDs ? state.vector_age : state.lds_age;
    const unsigned halves = loaded_half(node);
    return ((halves & kLow) != 0 && ages[at] != kArrived) ||
           ((halves & kHigh) != 0 && ages[at + kVectors] != kArrived);
  }

  // The half of its registers that a load of 16 bits or less writes, and that such a store reads.
  // Formatted ones may have several components.
  static unsigned loaded_half(const WaitNode& node) {
    const emulator::OpInfo& info = emulator::op_info(node.op);
    const bool half = (info.flags & emulator::OpInfo::kDstIsSource) != 0 &&
                      (info.flags & emulator::OpInfo::kLoad) != 0 && info.access_bytes <= 2 &&
                      node.format != Format::kMimg && node.format != Format::kMtbuf;
    return half ? half_of(info) : unsigned{kBoth};
  }
  static unsigned stored_half(const WaitNode& node, const emulator::OperandRef& source) {
    const emulator::OpInfo& info = emulator::op_info(node.op);
    const bool half = is_memory(node.format) && source.role != emulator::OperandRef::kAddress &&
                      (info.flags & emulator::OpInfo::kStore) != 0 && info.access_bytes <= 2 &&
                      node.format != Format::kMimg && node.format != Format::kMtbuf;
    return half ? half_of(info) : unsigned{kBoth};
  }
  // buffer_load_format_d16_hi_x has no such mark: both halves.
  static unsigned half_of(const emulator::OpInfo& info) {
    const bool high = (info.flags & emulator::OpInfo::kHighHalf) != 0;
    const std::string_view name = info.name;
    if (!high && name.find("_hi") != name.npos) return kBoth;
    return high ? kHigh : kLow;
  }

  // Reads of LDS after loads to LDS, and barriers and fences after stores.
  void check_order(const WaitNode& node, State& state,
                   std::vector<WaitCheck::Place>* places) const {
    const auto tell = [&](WaitCheck::What what, uint32_t op, const char* counter) {
      if (places != nullptr)
        places->push_back({what, node.pc, nodes_[op].pc, node.op, operand::kNone, false, counter,
                           what == WaitCheck::What::kLds && node.format == Format::kFlat});
    };
    if (state.to_lds && reads_lds(node)) {
      tell(WaitCheck::What::kLds, state.to_lds_load, "vmcnt");
      if (node.format == Format::kDs) state.to_lds = false;
    }
    const bool barrier = node.op == Op::s_barrier;
    if (!barrier && !is_fence(node.op)) return;
    if (barrier && state.lds_store_age != kArrived) {
      tell(WaitCheck::What::kStore, state.lds_store, "lgkmcnt");
      state.lds_store_age = kArrived;
    } else if (barrier && state.to_lds) {
      tell(WaitCheck::What::kStore, state.to_lds_load, "vmcnt");
      state.to_lds = false;
    } else if (state.store_age != kArrived && (barrier ? is_fenced(node) : state.store_last)) {
      tell(WaitCheck::What::kStore, state.store, "vscnt");
      state.store_age = kArrived;
    }
  }

  // A FLAT load may read LDS.
  static bool reads_lds(const WaitNode& node) {
    return (node.format == Format::kDs || node.format == Format::kFlat) &&
           (emulator::op_info(node.op).flags & emulator::OpInfo::kLoad) != 0;
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

  template <typename Visit>
  static void for_dests(const WaitNode& node, const Visit& visit) {
    for (unsigned s = 0; s < node.operands.dest_count; ++s)
      for (unsigned d = 0; d < node.operands.dest[s].dwords; ++d)
        visit(static_cast<unsigned>(node.operands.dest[s].code) + d);
  }

  static void wait(const WaitNode& node, State& state) {
    const auto imm = static_cast<uint32_t>(node.imm) & 0xffff;
    const auto vector = [&](unsigned left) {
      State::wait(state.vector_age, left);
      if (left < 63) state.to_lds = false;
    };
    const auto lgkm = [&](unsigned left) {
      State::wait(state.lds_age, left);
      State::wait(state.flat_age, left);
      State::wait(state.lds_store_age, left);
      if (left == 0) state.scalar.fill(false);
    };
    switch (node.op) {
      case Op::s_waitcnt:
        vector((imm & 15) | (imm >> 14 & 3) << 4);
        lgkm(imm >> 8 & 63);
        return;
      case Op::s_waitcnt_vmcnt: vector(imm & 63); return;
      case Op::s_waitcnt_vscnt: State::wait(state.store_age, imm & 63); return;
      case Op::s_waitcnt_lgkmcnt: lgkm(imm & 63); return;
      default: return;
    }
  }

  void issue(uint32_t n, State& state) const {
    const WaitNode& node = nodes_[n];
    const auto fill = [&](auto& ages, auto& loads) {
      for_dests(node, [&](unsigned code) {
        if (code < operand::kVgpr0 || code >= operand::kVgpr0 + kVectors) return;
        const unsigned at = code - operand::kVgpr0;
        state.flat_age[at] = kArrived;
        for (const unsigned half : {kLow, kHigh}) {
          if ((loaded_half(node) & half) == 0) continue;
          ages[at + (half == kLow ? 0 : kVectors)] = 0;
          loads[at + (half == kLow ? 0 : kVectors)] = n;
        }
      });
    };
    if (node.format == Format::kSmem) {
      for_dests(node, [&](unsigned code) {
        if (code >= kScalarCodes) return;
        state.scalar[code] = true;
        state.scalar_load[code] = n;
      });
      return;
    }
    if (node.format == Format::kDs) {
      if (node.op == Op::ds_nop) return;
      state.issue_lds();
      fill(state.lds_age, state.lds_load);
      const uint32_t writes = emulator::OpInfo::kStore | emulator::OpInfo::kAtomic;
      if ((emulator::op_info(node.op).flags & writes) == 0 || emulator::is_gws(node.op) ||
          (node.mods & emulator::mmod::kGds) != 0)
        return;
      state.lds_store_age = 0;
      state.lds_store = n;
      return;
    }
    if (is_fence(node.op)) return;
    if (node.format == Format::kFlat) state.issue_lds();
    state.store_last = false;
    const bool atomic = (emulator::op_info(node.op).flags & emulator::OpInfo::kAtomic) != 0;
    const bool to_lds = (node.mods & emulator::mmod::kLds) != 0;
    const bool without_result = atomic && (node.mods & emulator::mmod::kGlc) == 0;
    if (without_result || (node.operands.dest_count == 0 && !to_lds)) {
      State::issue(state.store_age);
      // Nobody else reads scratch. Compilers address it by a buffer, too.
      if (node.format == Format::kScratch || node.format == Format::kMubuf) return;
      state.store_age = 0;
      state.store = n;
      state.store_last = true;
      return;
    }
    State::issue(state.vector_age);
    if (!to_lds) {
      fill(state.vector_age, state.vector_load);
      if (node.format == Format::kFlat) follow_flat(n, state);
      return;
    }
    state.to_lds = true;
    state.to_lds_load = n;
  }

  // What LDS returns, lgkmcnt counts.
  void follow_flat(uint32_t n, State& state) const {
    for_dests(nodes_[n], [&](unsigned code) {
      if (code < operand::kVgpr0 || code >= operand::kVgpr0 + kVectors) return;
      state.flat_age[code - operand::kVgpr0] = 0;
      state.flat_load[code - operand::kVgpr0] = n;
    });
  }

  std::vector<WaitNode> nodes_;
  std::vector<std::unique_ptr<State>> before_;  // where paths meet or part
  size_t states_ = 0;
  uint64_t steps_ = 0;
  bool complete_ = false;
  std::vector<uint32_t> work_;
  std::vector<WaitCheck::Place> places_;
};

}  // namespace

bool WaitCheck::add_kernel(uint64_t entry, const emulator::RegionTable& memory,
                           size_t most_instructions) {
  if (kernels_.contains(entry)) return true;
  WaitKernel kernel(entry, memory, most_instructions);
  std::vector<Place> places = kernel.take_places();
  constexpr uint64_t kKernelBytes = 256, kPlaceBytes = sizeof(Place) + 64;
  kept_bytes_ += kKernelBytes + places.size() * kPlaceBytes;
  for (const Place& place : places) {
    reached_.try_emplace(place.pc);
    if (place.flat_load) reached_.try_emplace(place.load_pc);
    any_flat_ |= place.flat || place.flat_load;
  }
  kernels_[entry] = std::move(places);
  return kernel.complete();
}

void WaitCheck::note_reached(uint64_t pc) {
  if (!reached_.empty()) note(pc, &Reached::executed);
}

void WaitCheck::note(uint64_t pc, bool Reached::* what) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = reached_.find(pc); found != reached_.end()) found->second.*what = true;
}

std::vector<WaitCheck::Place> WaitCheck::reached_places(uint64_t entry) const {
  std::vector<Place> result;
  const auto found = kernels_.find(entry);
  if (found == kernels_.end()) return result;
  const std::scoped_lock lock(mutex_);
  for (const Place& place : found->second) {
    const Reached& reached = reached_.at(place.pc);
    if (place.flat_load && !reached_.at(place.load_pc).in_lds) continue;
    if (place.flat ? reached.in_lds : reached.executed) result.push_back(place);
  }
  return result;
}

std::string register_name(uint16_t code) {
  if (code >= operand::kVgpr0) return fmt::format("v{}", code - operand::kVgpr0);
  if (code == operand::kVccLo) return "vcc_lo";
  if (code == operand::kVccLo + 1) return "vcc_hi";
  return fmt::format("s{}", code);
}

}  // namespace gfxgraph::check

// Observers for the observer tests.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/engine/backend.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::emulator::testing {

// Counts, remembers memory events, and drops accesses outside of a range when told to.
class Recorder {
 public:
  static constexpr bool kInstructions = true;
  static constexpr bool kMemory = true;
  static constexpr bool kLds = true;
  static constexpr bool kSuspectsOnly = false;
  static constexpr bool kOperands = true;
  struct WaveState {
    uint64_t before = 0;
    uint64_t after = 0;
  };
  struct Seen {
    std::string mnemonic;
    Space space;
    AccessKind kind;
    uint32_t bytes, exec, launched, other_space, in_range;
    std::array<uint64_t, kLanes> address;
  };
  void decoded(const Inst&, InstOperands&) { ++decoded_count; }
  void dispatch_begin(const DispatchInfo& info) { kernel = info.kernel; }
  void dispatch_end() { ++ended; }
  void wave_begin(WaveState& state, const Wave&, const WaveInfo& info) {
    const std::scoped_lock lock(mutex);
    state = WaveState();
    waves.push_back(info);
  }
  void wave_end(WaveState& state, const Wave&) {
    const std::scoped_lock lock(mutex);
    before_count += state.before;
    after_count += state.after;
  }
  void before(WaveState& state, const Wave&, const Inst&) { ++state.before; }
  void after(WaveState& state, const Wave&, const Inst&) { ++state.after; }
  uint32_t memory(WaveState&, const Wave& wave, const Inst& inst, const MemoryEvent& event) {
    const std::scoped_lock lock(mutex);
    Seen seen{op_name(inst.op),   event.space,    event.kind,
              event.access_bytes, event.exec,     wave.launched_lanes,
              event.other_space,  event.in_range, {}};
    uint32_t keep = event.exec;
    for (unsigned l = 0; l < kLanes; ++l) {
      seen.address[l] = event.address[l];
      if (drop_from != 0 && event.space == Space::kGlobal && event.address[l] >= drop_from)
        keep &= ~(1u << l);
    }
    events.push_back(seen);
    return keep;
  }
  bool scalar_load(WaveState&, const Wave&, const Inst&, const ScalarEvent& event) {
    const std::scoped_lock lock(mutex);
    scalars.push_back(event);
    return true;
  }

  std::mutex mutex;
  std::string kernel;
  std::atomic<int> ended{0};
  std::atomic<int> decoded_count{0};
  uint64_t before_count = 0, after_count = 0;
  std::vector<WaveInfo> waves;
  std::vector<Seen> events;
  std::vector<ScalarEvent> scalars;
  uint64_t drop_from = 0;
};

// Tracks which registers are defined through the generic operand lists and lists reads of undefined
// ones.
class Definedness {
 public:
  static constexpr bool kInstructions = true;
  static constexpr bool kMemory = false;
  static constexpr bool kLds = false;
  static constexpr bool kSuspectsOnly = false;
  static constexpr bool kOperands = true;
  struct WaveState {
    std::array<uint32_t, 256> vgpr = {};  // lanes
    std::array<bool, 256> sgpr = {};
  };
  void decoded(const Inst&, InstOperands&) {}
  void dispatch_begin(const DispatchInfo&) {}
  void dispatch_end() {}
  void wave_begin(WaveState& state, const Wave&, const WaveInfo& info) {
    state = WaveState();
    for (uint32_t n = 0; n < info.initialised_sgprs; ++n) state.sgpr[n] = true;
    for (uint32_t n = 0; n < info.initialised_vgprs; ++n) state.vgpr[n] = info.launched_lanes;
    state.sgpr[operand::kExecLo] = state.sgpr[operand::kExecHi] = true;
  }
  void wave_end(WaveState&, const Wave&) {}
  void before(WaveState& state, const Wave& wave, const Inst& inst) {
    const InstOperands& operands = operands_of(inst);
    exec_ = wave.exec();
    // It reads one lane. The others may be unwritten, as after an atomic that one lane does for
    // all.
    const uint32_t read = inst.op == Op::v_readfirstlane_b32 ? exec_ & (0 - exec_) : exec_;
    for (int n = 0; n < operands.source_count; ++n) {
      const OperandRef& ref = operands.source[n];
      for (uint32_t d = 0; d < ref.dwords; ++d) {
        const bool vgpr = operand::is_vgpr(ref.code);
        const uint32_t number = vgpr ? ref.code - 256u + d : ref.code + d;
        const bool undefined = vgpr ? (read & ~state.vgpr[number]) != 0 : !state.sgpr[number];
        if (undefined)
          ++undefined_reads[std::string(op_name(inst.op)) + (vgpr ? " v" : " s") +
                            std::to_string(number)];
      }
    }
  }
  void after(WaveState& state, const Wave&, const Inst& inst) {
    const InstOperands& operands = operands_of(inst);
    for (int n = 0; n < operands.dest_count; ++n) {
      const OperandRef& ref = operands.dest[n];
      for (uint32_t d = 0; d < ref.dwords; ++d) {
        if (operand::is_vgpr(ref.code))
          state.vgpr[ref.code - 256u + d] |= exec_;
        else
          state.sgpr[ref.code + d] = true;
      }
    }
  }
  std::map<std::string, int> undefined_reads;  // one thread only

 private:
  uint32_t exec_ = 0;
};

const Backend& recorder_backend();
const Backend& definedness_backend();

}  // namespace gfxgraph::emulator::testing

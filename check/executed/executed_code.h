// Which instructions of a trace's kernels run: how often, in which lanes, and which ways branches
// go. Not thread-safe: the engine must use one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/budget.h"
#include "check/launch/loaded_code.h"
#include "emulator/engine/observer.h"

namespace gfxgraph::check {

struct ExecutedInstruction {
  uint64_t executions = 0;  // by waves; of a wave64, vector instructions count for each half
  uint64_t lanes = 0;       // bit mask: in which it was active at least once
  uint64_t launched = 0;    // the same of the lanes that were work items
  bool jumped = false;      // branches: to the target
  bool passed = false;      // to the next instruction
};

struct ExecutedObject {
  std::shared_ptr<const codeobj::CodeObject> object;
  std::map<uint64_t, ExecutedInstruction> instructions;  // by ELF virtual address
};

class ExecutedCode {
 public:
  // The argument must outlive this.
  explicit ExecutedCode(Budget& budget) : budget_(budget) {}

  // By the observer. Row 0 is that of instructions for which there is no memory.
  uint32_t row_of(uint64_t pc);
  void ran(uint32_t row, const emulator::Wave& wave, const emulator::Inst& inst);

  // At the end, while the code is loaded: one for each object of `code`, in its order.
  void finish(const std::vector<LoadedCode>& code);
  std::vector<ExecutedObject> take_objects() { return std::move(objects_); }

 private:
  Budget& budget_;
  std::vector<ExecutedInstruction> rows_ = std::vector<ExecutedInstruction>(1);
  std::unordered_map<uint64_t, uint32_t> row_;  // by pc
  std::vector<ExecutedObject> objects_;
};

// The observer of its engine.
struct ExecutedObserver {
  static constexpr bool kInstructions = true;
  static constexpr bool kMemory = false;
  static constexpr bool kLds = false;
  static constexpr bool kSuspectsOnly = false;
  static constexpr bool kOperands = true;
  struct WaveState {};

  explicit ExecutedObserver(ExecutedCode* code) : code_(code) {}
  void decoded(const emulator::Inst& inst, emulator::InstOperands& operands) {
    operands.user = code_->row_of(inst.pc);
  }
  void dispatch_begin(const emulator::DispatchInfo&) {}
  void dispatch_end() {}
  void wave_begin(WaveState&, const emulator::Wave&, const emulator::WaveInfo&) {}
  void wave_end(WaveState&, const emulator::Wave&) {}
  void before(WaveState&, const emulator::Wave& wave, const emulator::Inst& inst) {
    code_->ran(emulator::operands_of(inst).user, wave, inst);
  }
  void after(WaveState&, const emulator::Wave&, const emulator::Inst&) {}
  uint32_t memory(WaveState&, const emulator::Wave&, const emulator::Inst&,
                  const emulator::MemoryEvent& event) {
    return event.exec;
  }
  bool scalar_load(WaveState&, const emulator::Wave&, const emulator::Inst&,
                   const emulator::ScalarEvent&) {
    return true;
  }

 private:
  ExecutedCode* const code_;
};

}  // namespace gfxgraph::check

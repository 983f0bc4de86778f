// The abstract execution of a kernel: what each instruction does to the registers (lanes.h).
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "emulator/decode/inst.h"
#include "emulator/engine/observer.h"
#include "footprint/kernel.h"
#include "footprint/lanes.h"

namespace gfxgraph::footprint {

struct FlowNode {
  emulator::Inst inst;
  emulator::InstOperands operands;
  emulator::FlowKind kind = emulator::FlowKind::kUndecoded;
  uint8_t successors = 0;
  std::array<uint32_t, 2> successor = {0, 0};
  bool begins = false;  // more than one way leads here, or a branch
};

class Flow {
 public:
  explicit Flow(const KernelInput& input) : input_(input) {}
  KernelFootprint run();

 private:
  using Inst = emulator::Inst;

  // ---- flow.cpp ----
  bool trace();
  Lanes beginning() const;
  bool iterate();
  void walk(uint32_t first, Lanes lanes);
  void go_on(uint32_t to, Lanes lanes);
  void unknown(std::string why, uint64_t pc);

  // ---- step.cpp: registers ----
  void step(uint32_t node, Lanes& lanes);
  bool arithmetic(const Inst& inst, Lanes& lanes);
  bool is_constant(int64_t address) const;
  bool arithmetic64(const Inst& inst, Lanes& lanes);
  bool bits(const Inst& inst, Lanes& lanes);
  bool copies(const Inst& inst, Lanes& lanes);
  void by_default(const FlowNode& node, Lanes& lanes);
  // Dword `dword` of source n.
  Value source(const Inst& inst, unsigned n, Lanes& lanes, unsigned dword = 0) const;
  Wide source64(const Inst& inst, unsigned n, Lanes& lanes) const;
  Value read(uint16_t code, Lanes& lanes) const;
  // `slot`: which name of this instruction the value gets, if it has none; kNoName: it needs none.
  static constexpr unsigned kNoName = 15;
  void write(uint16_t code, Value value, Lanes& lanes, unsigned slot = 0);
  // `low_half`: what its lower half is, if the bounds of the value do not tell.
  void write64(uint16_t code, const Wide& value, Lanes& lanes, const Range& low_half = kAny32);
  void write_scc(Lanes& lanes);
  uint64_t name(unsigned slot) const { return (uint64_t{node_} + 1) << 4 | slot; }

  // ---- exec.cpp: EXEC, masks and comparisons ----
  bool sets_exec(const Inst& inst, Lanes& lanes);
  // Of a scalar instruction that gives a mask.
  std::optional<Mask> combined(const Inst& inst, Lanes& lanes) const;
  bool compares(const Inst& inst, Lanes& lanes);
  Mask mask_of(const Inst& inst, unsigned n, Lanes& lanes) const;
  // A register for a mask; of EXEC it says nothing.
  void set_mask(uint16_t code, Mask mask, Lanes& lanes);
  std::vector<Condition> conditions(const Inst& inst, const Value& a, const Value& b);

  // ---- access.cpp: memory ----
  bool memory(const Inst& inst, const FlowNode& node, Lanes& lanes);
  void scalar_load(const Inst& inst, const FlowNode& node, Lanes& lanes);
  Value argument(int64_t offset) const;
  void touch(const Inst& inst, const Wide& address, bool scalar);
  void keep(Origins stored);
  void loaded(const FlowNode& node, Lanes& lanes, Origins origins);

  const KernelInput& input_;
  std::deque<FlowNode> nodes_;                // an instruction cannot move
  std::vector<bool> stepped_;                 // by node: its names may be in registers
  std::vector<std::optional<Lanes>> states_;  // of nodes that begin
  std::vector<uint32_t> visits_;
  std::set<uint32_t> open_;
  std::vector<int64_t> thresholds_;
  KernelFootprint result_;
  bool recording_ = false;
  // LDS or scratch may hold pointers: what is read there may be one.
  bool keeps_pointers_ = false;
  uint32_t node_ = 0;
  size_t steps_ = 0;
};

}  // namespace gfxgraph::footprint

#include "check/executed/executed_code.h"

namespace gfxgraph::check {
namespace {

using emulator::Op;

// Whether a branch goes to its target.
bool jumps(const emulator::Wave& wave, Op op) {
  switch (op) {
    case Op::s_cbranch_scc0: return wave.scc == 0;
    case Op::s_cbranch_scc1: return wave.scc != 0;
    case Op::s_cbranch_vccz: return wave.vcc_is_zero();
    case Op::s_cbranch_vccnz: return !wave.vcc_is_zero();
    case Op::s_cbranch_execz: return wave.exec_is_zero();
    case Op::s_cbranch_execnz: return !wave.exec_is_zero();
    default: return false;
  }
}

}  // namespace

uint32_t ExecutedCode::row_of(uint64_t pc) {
  const auto known = row_.find(pc);
  if (known != row_.end()) return known->second;
  constexpr uint64_t kRowBytes = sizeof(ExecutedInstruction) + 128;
  if (!budget_.take_memory(kRowBytes, "the counts of an instruction")) return 0;
  const auto row = static_cast<uint32_t>(rows_.size());
  rows_.emplace_back();
  row_.emplace(pc, row);
  return row;
}

void ExecutedCode::ran(uint32_t row, const emulator::Wave& wave, const emulator::Inst& inst) {
  ExecutedInstruction& counts = rows_[row];
  ++counts.executions;
  counts.lanes |= uint64_t{wave.exec()} << wave.first_lane;
  counts.launched |= uint64_t{wave.launched_lanes} << wave.first_lane;
  if (emulator::op_info(inst.op).flow != emulator::FlowKind::kBranch) return;
  (jumps(wave, inst.op) ? counts.jumped : counts.passed) = true;
}

void ExecutedCode::finish(const std::vector<LoadedCode>& code) {
  objects_.clear();
  for (const LoadedCode& loaded : code) objects_.push_back({loaded.object, {}});
  for (const auto& [pc, row] : row_) {
    const LoadedCode* const at = find_code(code, pc);
    if (at == nullptr || rows_[row].executions == 0) continue;
    objects_[static_cast<size_t>(at - code.data())].instructions[pc - at->load_address] =
        rows_[row];
  }
}

}  // namespace gfxgraph::check

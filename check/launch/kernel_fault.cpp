#include "check/launch/kernel_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/cli/print.h"
#include "check/report/user_line.h"
#include "emulator/analysis/control_flow.h"

namespace gfxgraph::check {
namespace {

std::optional<FindingClass> class_of(const emulator::Fault& fault) {
  switch (fault.kind) {
    case emulator::FaultKind::kTrap: return FindingClass::kF1;
    case emulator::FaultKind::kIllegal: return FindingClass::kF2;
    case emulator::FaultKind::kMemory:
    case emulator::FaultKind::kAlignment: return FindingClass::kF3;
    case emulator::FaultKind::kDeadlock:
      return fault.proven ? FindingClass::kS4 : FindingClass::kS5;
    default: return std::nullopt;
  }
}

// HIP's device library lets the waves of each workgroup meet before and behind its grid barrier.
bool begins_grid_sync(const emulator::RegionTable& memory, uint64_t pc) {
  constexpr unsigned kMostSkipped = 512;
  emulator::CodeReader code(memory);
  emulator::Inst inst;
  for (unsigned n = 0; n < kMostSkipped && code.decode_at(pc, inst); ++n) {
    if (inst.op == emulator::Op::ds_gws_barrier) return true;
    if (inst.op == emulator::Op::s_endpgm || (n != 0 && inst.op == emulator::Op::s_barrier))
      return false;
    pc = inst.next_pc();
  }
  return false;
}

// Stores to memory have an instruction of their own.
std::string store_wait(std::string_view counter) {
  return counter == "vscnt" ? "s_waitcnt_vscnt" : fmt::format("s_waitcnt {}", counter);
}

}  // namespace

std::string place_text(const std::vector<LoadedCode>& loaded, uint64_t pc) {
  const LoadedCode* const code = find_code(loaded, pc);
  if (code == nullptr) return fmt::format("pc {:#x}", pc);
  const uint64_t address = pc - code->load_address;
  std::string text = fmt::format("pc {:#x}", address);
  if (const codeobj::Kernel* const kernel = code->object->kernel_at(address))
    text = format_printable("{}+{:#x}", kernel->name, address - kernel->entry_address);
  if (const auto source = user_line(*code->object, address))
    text += format_printable(" ({}:{})", source->file, source->line);
  return text;
}

uint64_t linear_group(const emulator::Dispatch& dispatch,
                      const std::array<uint32_t, 3>& workgroup) {
  uint64_t number = 0;
  for (size_t axis = 3; axis-- > 0;) {
    const uint64_t size = std::max<uint64_t>(1, dispatch.workgroup_size[axis]);
    number = number * ((dispatch.grid_size[axis] + size - 1) / size) + workgroup[axis];
  }
  return number;
}

std::optional<LaneEvent> fault_event(const emulator::Fault& fault,
                                     const emulator::Dispatch& dispatch,
                                     const std::string& before_trap) {
  const std::optional<FindingClass> found = class_of(fault);
  if (!found) return std::nullopt;
  LaneEvent event;
  event.finding_class = *found;
  event.place.launch = dispatch.dispatch_id;
  event.place.workgroup = fault.workgroup;
  event.place.group = linear_group(dispatch, fault.workgroup);
  event.place.wave = fault.wave;
  event.pc = fault.pc;
  event.mnemonic = fault.mnemonic.empty() ? "(no instruction)" : fault.mnemonic;
  if (fault.lane >= 0) event.lanes = uint64_t{1} << (fault.lane & 63);
  event.address = fault.address;
  event.access_bytes = fault.access_bytes;
  event.write = fault.write;
  event.address_class = fault_kind_name(fault.kind);
  event.detail = fault.detail;
  if (*found == FindingClass::kF1 && !before_trap.empty()) event.detail = before_trap;
  if (*found == FindingClass::kF2 && fault.address != 0)  // of a jump
    event.detail = fmt::format("to {:#x}: {}", fault.address, fault.detail);
  return event;
}

LaneEvent wait_event(const MissingWait& place, uint64_t launch,
                     const std::vector<LoadedCode>& code) {
  LaneEvent event;
  using What = MissingWait::What;
  const bool store = place.what == What::kStore || place.what == What::kLoad;
  event.finding_class = store ? FindingClass::kS7 : FindingClass::kS3;
  event.place.launch = launch;
  event.pc = place.pc;
  event.op = place.op;
  const std::string other = place_text(code, place.load_pc);
  if (store)
    event.detail = fmt::format("the {} at {} may not have completed; {} is missing",
                               place.what == What::kStore ? "store" : "load", other,
                               store_wait(place.counter));
  else if (place.what == What::kLds)
    event.detail = fmt::format(
        "LDS is read before the load to LDS at {} has completed; s_waitcnt vmcnt is missing",
        other);
  else
    event.detail = fmt::format(
        "{} is {} before the {} at {} has completed; s_waitcnt {} is missing",
        register_name(place.code), place.overwrites ? "overwritten" : "read",
        place.what == What::kSource ? "operation of GDS" : "load", other, place.counter);
  return event;
}

LaneEvent barrier_event(const emulator::UnevenBarrier& barrier, const std::vector<LoadedCode>& code,
                        const emulator::RegionTable& memory) {
  LaneEvent event;
  event.finding_class = barrier.ended ? FindingClass::kS2 : FindingClass::kS1;
  event.place.launch = barrier.dispatch->dispatch_id;
  event.place.workgroup = barrier.workgroup;
  event.place.group = linear_group(*barrier.dispatch, barrier.workgroup);
  event.place.wave = barrier.wave[0];
  // A pair of barriers is one finding, whichever of its waves come first.
  event.pc = barrier.ended ? barrier.pc[0] : std::min(barrier.pc[0], barrier.pc[1]);
  event.mnemonic = "s_barrier";
  event.detail = fmt::format(
      "wave {} is at {}, wave {} {} {}", barrier.wave[0], place_text(code, barrier.pc[0]),
      barrier.wave[1], barrier.ended ? "has ended at" : "at", place_text(code, barrier.pc[1]));
  if (begins_grid_sync(memory, barrier.pc[0]))
    event.detail = "in grid_group::sync(): " + event.detail;
  return event;
}

LaneEvent grid_event(const emulator::GridBarrier& barrier) {
  LaneEvent event;
  event.finding_class = FindingClass::kS6;
  event.place.launch = barrier.dispatch->dispatch_id;
  event.place.workgroup = barrier.workgroup;
  event.place.group = linear_group(*barrier.dispatch, barrier.workgroup);
  event.place.wave = barrier.wave;
  event.pc = barrier.pc;
  event.op = emulator::Op::ds_gws_barrier;
  return event;
}

}  // namespace gfxgraph::check

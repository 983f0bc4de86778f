// What LaneObserver does with an access that may be a finding.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "check/lanes/lane_observer.h"
#include "check/lanes/lane_observer.inl"
#include "emulator/engine/context.h"

namespace gfxgraph::check {
namespace {

using emulator::Inst;
using emulator::InstOperands;
using emulator::OperandRef;
using emulator::Region;

constexpr uint64_t kNullPageBytes = 4096;
// Unmapped addresses this low are a null pointer plus an index: offsets of global memory
// instructions have 32 bits.
constexpr uint64_t kNearNull = uint64_t{1} << 32;
// Lanes whose addresses are further apart may each have a pointer of their own.
constexpr int64_t kMostStrideBytes = 256;
using emulator::operand::kVgpr0;

const char* unmapped_class(uint64_t address) {
  if (address < kNullPageBytes) return "null page";
  const uint64_t top = address >> 47;
  return top == 0 || top == 0x1ffff ? "unmapped" : "non-canonical";
}

LaneEvent event_of(FindingClass finding_class, uint32_t lanes, const char* address_class,
                   uint64_t space_bytes = 0) {
  LaneEvent event;
  event.finding_class = finding_class;
  event.lanes = lanes;
  event.address_class = address_class;
  event.space_bytes = space_bytes;
  return event;
}

// A buffer of the program, not memory of the check itself.
bool is_recorded(const Region* region) { return region != nullptr && region->tag != 0; }

bool past_requested(const Region& region, uint64_t address, uint64_t bytes) {
  return address - region.address + bytes > region.requested_bytes;
}

// Whether the lanes' addresses are evenly spaced and near each other, as by an index into one
// buffer. Pointers from a table are not.
bool is_row(const uint64_t* address, uint32_t lanes) {
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  uint32_t rest = lanes & (lanes - 1);
  if (rest == 0) return false;
  const auto second = static_cast<unsigned>(std::countr_zero(rest));
  const auto apart = static_cast<int64_t>(address[second] - address[first]);
  const auto steps = static_cast<int64_t>(second - first);
  if (apart % steps != 0) return false;
  const int64_t stride = apart / steps;
  if (stride == 0 || stride > kMostStrideBytes || stride < -kMostStrideBytes) return false;
  for (; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const int64_t offset = stride * static_cast<int64_t>(lane - first);
    if (address[lane] != address[first] + static_cast<uint64_t>(offset)) return false;
  }
  return true;
}

AddressShadow shadow_of_address(const LaneWaveState& state, const InstOperands& operands) {
  AddressShadow result;
  for (unsigned n = 0; n < operands.source_count; ++n) {
    const OperandRef& source = operands.source[n];
    if ((source.role & OperandRef::kAddress) == 0) continue;
    for (unsigned d = 0; d < source.dwords; ++d) {
      const unsigned code = source.code + d;
      if (code >= kVgpr0) {
        result.undefined |= ~state.defined[code & 511];
        result.stale |= ~state.written[code & 255];
        if (d == 0) result.writer = state.writer[code & 255];
      } else if (state.defined[code] != ~0u) {
        result.undefined = ~0u;
      }
    }
  }
  return result;
}

// Applies the steps of a run that has not ended yet; its destructor reverts them.
class BehindShadow {
 public:
  BehindShadow(LaneWaveState& state, const emulator::Wave& wave, const ShadowRun& run, size_t steps)
      : state_(state), run_(run) {
    for (size_t n = 0; n < run.written.size(); ++n) {
      const unsigned code = run.written[n];
      old_[n] = {state.defined[code], state.written[code & 255], state.writer[code & 255]};
    }
    LaneObserver::take_steps(state, wave, run, steps);
  }
  ~BehindShadow() {
    for (size_t n = 0; n < run_.written.size(); ++n) {
      const unsigned code = run_.written[n];
      state_.defined[code] = old_[n].defined;
      if (code < kVgpr0) continue;
      state_.written[code & 255] = old_[n].written;
      state_.writer[code & 255] = old_[n].writer;
    }
  }
  BehindShadow(const BehindShadow&) = delete;
  BehindShadow& operator=(const BehindShadow&) = delete;

 private:
  struct Old {
    uint32_t defined, written, writer;
  };
  LaneWaveState& state_;
  const ShadowRun& run_;
  std::array<Old, ShadowRun::kMostWritten> old_;
};

}  // namespace

AddressShadow LaneObserver::address_shadow(WaveState& state, const Wave& wave,
                                           const Inst& inst) const {
  const InstOperands& operands = emulator::operands_of(inst);
  const AddressFlow::Behind behind = flow_.behind(inst.pc);
  if (behind.steps == 0) return shadow_of_address(state, operands);
  const BehindShadow caught_up(state, wave, flow_.run(behind.run), behind.steps);
  return shadow_of_address(state, operands);
}

void LaneObserver::report(WaveState& state, const Wave& wave, const Inst& inst,
                          const emulator::MemoryEvent& event, LaneEvent found) {
  const auto first = static_cast<unsigned>(std::countr_zero(found.lanes));
  found.place = state.place;
  found.pc = inst.pc;
  found.op = inst.op;
  found.lanes <<= wave.first_lane;
  found.exec = uint64_t{event.exec} << wave.first_lane;
  if (wave.upper != nullptr) found.exec |= uint64_t{wave.upper->exec()} << 32;
  if (state.lower != nullptr) found.exec |= state.lower_wave->exec();
  found.space = event.space;
  if (event.space != emulator::Space::kScratch) found.address = event.address[first];
  found.access_bytes = event.access_bytes;
  found.write = event.kind != emulator::AccessKind::kLoad;
  // The registers of LDS addresses are not followed.
  if (event.space == emulator::Space::kGlobal)
    found.written_by = address_shadow(state, wave, inst).writer;
  if (wave.upper == nullptr && state.lower == nullptr) {
    sites_.add(kernel_, found);
    return;
  }
  // One instruction is one event, whichever half of the wave it is seen in.
  std::vector<LaneEvent>& pending = (state.lower != nullptr ? state.lower : &state)->pending;
  for (LaneEvent& other : pending) {
    if (other.finding_class != found.finding_class || other.pc != inst.pc) continue;
    other.lanes |= found.lanes;
    return;
  }
  pending.push_back(found);
}

std::optional<FindingClass> LaneObserver::heap_finding(uint64_t address, uint64_t bytes,
                                                       const char*& address_class) const {
  switch (options_.heap->judge(address, bytes)) {
    case DeviceHeap::Access::kInside: return std::nullopt;
    case DeviceHeap::Access::kPast: address_class = "device heap"; return FindingClass::kE10;
    case DeviceHeap::Access::kFreed: address_class = "freed block"; return FindingClass::kE11;
  }
  return std::nullopt;
}

FindingClass LaneObserver::unmapped_finding(uint64_t address, const char*& address_class) const {
  if (options_.freed != nullptr && options_.freed->find(address) != nullptr) {
    address_class = "freed";
    return FindingClass::kE5;
  }
  address_class = unmapped_class(address);
  return address < kNearNull ? FindingClass::kE4 : FindingClass::kE1;
}

const Region* LaneObserver::pointed_to(const Wave& wave, uint64_t pointer) const {
  if (pointer == 0) return nullptr;
  const Region* const region = regions_->find(pointer);
  if (!is_recorded(region) || past_requested(*region, pointer, 1)) return nullptr;
  // The end of one buffer may be the start of the next.
  const Region* const before = regions_->find(pointer - 1);
  if (before != region && before != nullptr && before->requested_bytes == pointer - before->address)
    return nullptr;
  if (pointer == region->address) return region;
  // In the middle of a buffer: perhaps computed, unless it is an argument.
  const uint64_t kernarg = wave.dispatch->dispatch->kernarg_address;
  const Region* const arguments = regions_->find(kernarg);
  if (arguments == nullptr) return nullptr;
  const std::byte* const bytes = arguments->host + (kernarg - arguments->address);
  const uint64_t size = arguments->requested_bytes - (kernarg - arguments->address);
  for (uint64_t at = 0; at + sizeof pointer <= size; at += sizeof pointer)
    if (std::memcmp(bytes + at, &pointer, sizeof pointer) == 0) return region;
  return nullptr;
}

uint32_t LaneObserver::judge_active(WaveState& state, const Wave& wave, const Inst& inst,
                                    const emulator::MemoryEvent& event, uint32_t active) {
  std::array<uint32_t, kFindingClasses> found = {};
  std::array<const char*, kFindingClasses> address_class = {};
  const auto note = [&](FindingClass finding_class, unsigned lane, const char* text) {
    const auto at = static_cast<size_t>(finding_class);
    if (found[at] == 0) address_class[at] = text;
    found[at] |= 1u << lane;
  };
  uint32_t drop = 0;
  const Region* lowest = nullptr;  // of the recorded buffers that lanes access
  uint32_t in_recorded = 0;
  bool several = false;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address = event.address[lane];
    const Region* const region = regions_->find(address);
    if (region == nullptr) {
      drop |= 1u << lane;
      const char* text = "";
      const FindingClass finding_class = unmapped_finding(address, text);
      note(finding_class, lane, text);
      continue;
    }
    if (region->tag == DeviceHeap::kTag) {
      const char* text = "";
      const auto of_heap = heap_finding(address, event.access_bytes, text);
      if (!of_heap) continue;
      drop |= 1u << lane;  // the memory there does not count against the budget
      note(*of_heap, lane, text);
      continue;
    }
    if (past_requested(*region, address, event.access_bytes)) {
      const bool mapped = region->contains(address, event.access_bytes);
      note(FindingClass::kE2, lane, mapped ? "slack" : "unmapped");
      if (!mapped) drop |= 1u << lane;
      continue;
    }
    state.region_base = region->address;
    state.region_size = region->requested_bytes;
    if (!is_recorded(region)) continue;
    in_recorded |= 1u << lane;
    several = several || (lowest != nullptr && lowest != region);
    if (lowest == nullptr || region->address < lowest->address) lowest = region;
  }
  for (const FindingClass one : {FindingClass::kE1, FindingClass::kE2, FindingClass::kE4,
                                 FindingClass::kE5, FindingClass::kE10, FindingClass::kE11}) {
    const auto at = static_cast<size_t>(one);
    if (found[at] != 0)
      report(state, wave, inst, event, event_of(one, found[at], address_class[at]));
  }
  if (in_recorded == 0) return event.exec & ~drop;
  const Region* own = pointed_to(wave, event.pointer);
  if (own == nullptr && several && is_row(event.address, in_recorded)) own = lowest;
  uint32_t elsewhere = 0;
  for (uint32_t rest = own != nullptr ? in_recorded : 0; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (event.address[lane] - own->address >= own->requested_bytes) elsewhere |= 1u << lane;
  }
  if (elsewhere != 0) {
    LaneEvent found_elsewhere = event_of(FindingClass::kE6, elsewhere, "other allocation");
    found_elsewhere.pointer = own->address;
    report(state, wave, inst, event, std::move(found_elsewhere));
  }
  return event.exec & ~drop;
}

namespace {

// Whether the address without the instruction's own offset is in a buffer of the program: a
// neighbour of an element that the lane may name. Only the compiler put the two together, as it
// does with the guarded accesses of a stencil.
bool is_neighbour(const emulator::RegionTable& regions, const Inst& inst, uint64_t address) {
  if (inst.imm == 0) return false;
  const uint64_t own = address - static_cast<uint64_t>(int64_t{inst.imm});
  const Region* const region = regions.find(own);
  return is_recorded(region) && !past_requested(*region, own, 1);
}

}  // namespace

void LaneObserver::judge_masked(WaveState& state, const Wave& wave, const Inst& inst,
                                const emulator::MemoryEvent& event, uint32_t masked) {
  const AddressShadow shadow = address_shadow(state, wave, inst);
  const uint32_t undefined = masked & shadow.undefined;
  const uint32_t stale = masked & shadow.stale & ~undefined;
  const uint32_t computed = masked & ~undefined & ~stale;
  uint32_t unmapped = 0;
  uint32_t elsewhere = 0;
  const char* elsewhere_class = "";
  for (uint32_t rest = options_.literal ? masked : computed; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t address = event.address[lane];
    const emulator::Region* const region = regions_->find(address);
    if (region == nullptr || !region->contains(address, event.access_bytes)) {
      if (options_.literal || !is_neighbour(*regions_, inst, address)) unmapped |= 1u << lane;
      continue;
    }
    if (region->tag == DeviceHeap::kTag) continue;
    const bool slack = address - region->address + event.access_bytes > region->requested_bytes;
    // Without an active lane there is no buffer that this one should be in.
    const bool other = event.exec != 0 && region->address != state.region_base;
    if ((slack || other) && elsewhere == 0) elsewhere_class = slack ? "slack" : "other allocation";
    if (slack || other) elsewhere |= 1u << lane;
  }
  const auto tell = [&](FindingClass finding_class, uint32_t lanes) {
    if (lanes == 0) return;
    report(state, wave, inst, event,
           event_of(finding_class, lanes, unmapped_class(event.address[std::countr_zero(lanes)])));
  };
  tell(FindingClass::kW1, unmapped & computed);
  tell(FindingClass::kI1, unmapped & stale);
  tell(FindingClass::kI2, unmapped & undefined);
  elsewhere &= computed;
  if (elsewhere != 0)
    report(state, wave, inst, event, event_of(FindingClass::kW2, elsewhere, elsewhere_class));
}

bool LaneObserver::judge_scalar(WaveState& state, const Wave& wave, const Inst& inst,
                                const emulator::ScalarEvent& event) {
  if (!event.in_range) return true;  // the buffer's range check drops it
  const InstOperands& operands = emulator::operands_of(inst);
  const bool undefined = shadow_of_address(state, operands).undefined != 0;
  const bool no_lanes = wave.exec_is_zero();
  const Region* const region = regions_->find(event.address);
  bool mapped = region != nullptr;
  for (uint32_t at = 0; at < event.bytes && mapped; at += 4) {
    const Region* const part = regions_->find(event.address + at);
    mapped = part != nullptr && part->contains(event.address + at, 4);
  }
  if (no_lanes) ++state.empty_exec_loads;
  LaneEvent found;
  found.finding_class = FindingClass::kE3;
  if (undefined) {
    found.address_class = mapped ? "in a buffer" : unmapped_class(event.address);
    found.detail = "its address comes from a register that was never written";
  } else if (mapped && region->tag == DeviceHeap::kTag) {
    // Compilers widen loads within an aligned block.
    const uint64_t bytes = event.address % std::bit_ceil(event.bytes) == 0 ? 1 : event.bytes;
    const auto of_heap = heap_finding(event.address, bytes, found.address_class);
    if (no_lanes || !of_heap) return true;
    found.finding_class = *of_heap;
  } else if (mapped) {
    // Compilers widen loads that cannot leave an aligned block, and hoist loads over branches.
    const bool from_inside = !past_requested(*region, event.address, 1);
    const bool widened = from_inside && event.address % std::bit_ceil(event.bytes) == 0;
    if (no_lanes || widened || !past_requested(*region, event.address, event.bytes)) return true;
    found.finding_class = FindingClass::kE2;
    found.address_class = "slack";
  } else if (region != nullptr && !no_lanes) {
    found.finding_class = FindingClass::kE2;
    found.address_class = "unmapped";
  } else {
    const FindingClass finding_class = unmapped_finding(event.address, found.address_class);
    if (no_lanes) {
      found.detail = "scalar loads run although EXEC is 0";
    } else if (finding_class != FindingClass::kE1) {
      found.finding_class = finding_class;
    } else {
      found.detail = "its address is outside every live range";
    }
  }
  found.place = state.place;
  found.pc = inst.pc;
  found.op = inst.op;
  found.exec = wave.exec() | (wave.upper != nullptr ? uint64_t{wave.upper->exec()} << 32 : 0);
  found.address = event.address;
  found.access_bytes = event.bytes;
  sites_.add(kernel_, found);
  return mapped;
}

uint32_t LaneObserver::judge_alignment(WaveState& state, const Wave& wave, const Inst& inst,
                                       const emulator::MemoryEvent& event, uint32_t active) {
  uint32_t misaligned = 0;
  for (uint32_t rest = active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (event.address[lane] % event.access_bytes != 0) misaligned |= 1u << lane;
  }
  if (misaligned == 0) return active;
  report(state, wave, inst, event,
         event_of(FindingClass::kE8, misaligned,
                  event.space == emulator::Space::kLds ? "LDS" : "misaligned",
                  wave.group->lds_requested));
  return active & ~misaligned;
}

uint32_t LaneObserver::judge_lds(WaveState& state, const Wave& wave, const Inst& inst,
                                 const emulator::MemoryEvent& event) {
  if (inst.format == emulator::Format::kFlat && options_.waits != nullptr && event.exec != 0)
    options_.waits->note_flat_lds(inst.pc);
  const uint64_t size = wave.group->lds_requested;
  uint32_t outside = 0;
  for (uint32_t rest = event.exec; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (event.address[lane] + event.access_bytes > size) outside |= 1u << lane;
  }
  uint32_t aligned = event.exec & ~outside;
  if (event.kind == emulator::AccessKind::kAtomic)
    aligned = judge_alignment(state, wave, inst, event, aligned);
  if (outside != 0)
    report(state, wave, inst, event, event_of(FindingClass::kE7, outside, "LDS", size));
  return outside | aligned;  // the emulator drops what is outside
}

uint32_t LaneObserver::judge_scratch(WaveState& state, const Wave& wave, const Inst& inst,
                                     const emulator::MemoryEvent& event) {
  const auto offset_of = [&](unsigned lane) {
    const uint64_t at = event.address[lane] - wave.scratch_base;
    return at / wave.scratch_row * 4 + at % 4;
  };
  uint32_t outside = 0;
  for (uint32_t rest = event.exec; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (offset_of(lane) + event.access_bytes > scratch_lane_bytes_) outside |= 1u << lane;
  }
  if (outside == 0) {
    watch_scratch(state, wave, inst, event);
    return event.exec;
  }
  LaneEvent found_outside = event_of(FindingClass::kE9, outside, "scratch", scratch_lane_bytes_);
  found_outside.address = offset_of(static_cast<unsigned>(std::countr_zero(outside)));
  report(state, wave, inst, event, std::move(found_outside));
  emulator::MemoryEvent inside = event;
  inside.exec &= ~outside;
  watch_scratch(state, wave, inst, inside);
  return inside.exec;
}

namespace {

// A dword of scratch is stored from a lane, or loaded to it: so is what is known of a mask there.
void move_part_mask(LaneWaveState& state, const emulator::Wave& wave, const Inst& inst, bool store,
                    unsigned dword, unsigned lane, uint64_t at) {
  const uint32_t code = (store ? inst.src[1] : inst.dst) + dword;
  if (code < kVgpr0 || code >= 512) return;
  const uint32_t key = code * 32u + lane;
  if (!store) {
    if (const auto part = state.scratch_part_masks.find(at); part != state.scratch_part_masks.end())
      state.part_masks[key] = part->second;
    return;
  }
  const auto part = state.part_masks.find(key);
  if (part != state.part_masks.end() &&
      part->second.value == wave.v(static_cast<uint16_t>(code)).lane[lane])
    state.scratch_part_masks[at] = part->second;
  else
    state.scratch_part_masks.erase(at);
}

}  // namespace

// Scratch holds spilled registers: what was not stored is as undefined as a register never written.
void LaneObserver::watch_scratch(WaveState& state, const Wave& wave, const Inst& inst,
                                 const emulator::MemoryEvent& event) {
  const uint64_t dword_stride = wave.scratch_row / 4;  // from one dword of a lane to its next
  const uint64_t dwords_in_wave = wave.scratch_bytes / 4;
  const unsigned dwords = std::max<unsigned>(1, event.access_bytes / 4u);
  const bool store = event.kind != emulator::AccessKind::kLoad;
  if (store && state.scratch.empty()) state.scratch.resize(dwords_in_wave);
  uint32_t computed = 0;
  uint32_t defined = ~0u;
  const bool moves_masks = !state.part_masks.empty() || !state.scratch_part_masks.empty();
  for (uint32_t rest = event.exec; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint64_t first = (event.address[lane] - wave.scratch_base) / 4;
    for (unsigned d = 0; d < dwords; ++d) {
      const uint64_t at = first + d * dword_stride;
      if (at >= state.scratch.size()) {
        defined &= ~(1u << lane);
        break;
      }
      if (moves_masks) move_part_mask(state, wave, inst, store, d, lane, at);
      if (!store) {
        if (state.scratch[at]) continue;
        defined &= ~(1u << lane);
        if (!state.scratch_computed.empty() && state.scratch_computed[at]) computed |= 1u << lane;
      } else if (inst.src[1] >= kVgpr0 && inst.src[1] < 512) {
        const unsigned code = (inst.src[1] + d) & 511;
        const bool is_defined = (state.defined[code] >> lane & 1) != 0;
        state.scratch[at] = is_defined;
        if (is_defined || state.raw == nullptr) continue;
        if (state.scratch_computed.empty()) state.scratch_computed.resize(dwords_in_wave);
        state.scratch_computed[at] = (state.raw[code] >> lane & 1) == 0;
      } else {
        state.scratch[at] = true;
      }
    }
  }
  if (store) return;
  state.loaded_defined = defined;
  state.loaded_computed = computed;
  state.loads_scratch = true;
}

}  // namespace gfxgraph::check

#include "check/lanes/cross_lane.h"

#include <bit>

#include "emulator/decode/operand_uses.h"
#include "emulator/engine/context.h"

namespace gfxgraph::check {
namespace {

using emulator::Inst;
using emulator::Op;
using emulator::VopExtra;
using emulator::Wave;

constexpr unsigned kLaneCount = 32;

// The lane that `lane` reads by a DPP16 control; kNone: outside of its row of 16.
uint8_t row_lane(uint32_t control, unsigned lane) {
  const unsigned row = lane & 16u, at = lane & 15u, by = control & 15u;
  const auto inside = [&](unsigned place) {
    return place < 16 ? static_cast<uint8_t>(row + place) : CrossLane::kNone;
  };
  if (control < 0x100) return static_cast<uint8_t>((lane & ~3u) + (control >> 2 * (lane & 3) & 3));
  switch (control >> 4) {
    case 0x10: return inside(at + by);                                      // row_shl
    case 0x11: return inside(at - by);                                      // row_shr
    case 0x12: return inside((at - by) & 15);                               // row_ror
    case 0x14: return inside(by == 0 ? 15 - at : (at & 8) + 7 - (at & 7));  // row_(half_)mirror
    case 0x15: return inside(by);                                           // row_share
    case 0x16: return inside(at ^ by);                                      // row_xmask
    default: return CrossLane::kNone;
  }
}

bool lanes_name_lanes(const Inst& inst) {
  return emulator::op_info(inst.op).dataflow == emulator::Dataflow::kPermuteByLanes;
}

// Lanes that a DPP16's row and bank masks enable.
uint32_t enabled_lanes(uint32_t control) {
  uint32_t lanes = 0;
  for (unsigned lane = 0; lane < kLaneCount; ++lane) {
    const bool bank = (control >> (24 + lane % 16 / 4) & 1) != 0;
    const bool row = (control >> (28 + lane / 16) & 1) != 0;
    if (bank && row) lanes |= 1u << lane;
  }
  return lanes;
}

// Each active lane reads `from[lane]` if that lane is active or `fetch_inactive`; else it gets 0
// (`zero`) or keeps what it has.
void read_lanes(CrossLane& result, uint32_t exec, bool fetch_inactive, bool zero) {
  for (unsigned lane = 0; lane < kLaneCount; ++lane) {
    uint8_t& from = result.from[lane];
    const uint32_t bit = 1u << lane;
    const bool named = from != CrossLane::kNone;
    if (named && (fetch_inactive || (exec >> from & 1) != 0)) continue;
    if (named && (exec & bit) != 0) result.inactive |= bit;
    from = CrossLane::kNone;
    if (!zero) result.written &= ~bit;
  }
}

unsigned swizzled(uint32_t mode, unsigned lane) {
  const uint32_t mask = mode & 31;
  if (mode >= 0xe000) {
    unsigned reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit) reversed = reversed << 1 | (lane >> bit & 1);
    return reversed >> std::popcount(mask) | (lane & mask);
  }
  if (mode >= 0xc000) {
    const uint32_t by = mode >> 5 & 31;
    const uint32_t rotated = (mode & 0x400) != 0 ? lane - by : lane + by;
    return (lane & mask) | (rotated & ~mask & 31);
  }
  if ((mode & 0x8000) != 0) return (lane & ~3u) | (mode >> (2 * (lane & 3)) & 3);
  return ((lane & mask) | (mode >> 5 & 31)) ^ (mode >> 10 & 31);
}

// The lane that a byte address names, of the whole wave.
uint32_t named_lane(const Inst& inst, const Wave& wave, unsigned lane) {
  return (wave.v(inst.src[0]).lane[lane] + (static_cast<uint32_t>(inst.imm) & 0xffff)) >> 2;
}

void exchange(CrossLane& result, const Inst& inst, const Wave& wave, bool push) {
  const uint32_t exec = wave.exec();
  result.from.fill(CrossLane::kNone);
  for (uint32_t rest = exec; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint32_t named = named_lane(inst, wave, lane);
    const uint32_t other = named & 31;
    // The halves of a wave64 do not reach each other.
    if (named - wave.first_lane >= kLaneCount)
      result.past |= 1u << lane;
    else if ((exec >> other & 1) == 0)
      result.inactive |= 1u << lane;
    if (push)
      result.from[other] = static_cast<uint8_t>(lane);
    else if ((exec >> other & 1) != 0)
      result.from[lane] = static_cast<uint8_t>(other);
  }
}

}  // namespace

unsigned exchanged_source(const Inst& inst) { return lanes_name_lanes(inst) ? 1 : 0; }

bool may_name_lane_past(const Inst& inst) {
  if (inst.op != Op::v_readlane_b32 && inst.op != Op::v_writelane_b32) return false;
  // Compilers keep scalars in a register's lanes: their numbers are constants of 0 to 31.
  const uint16_t lane = inst.src[1];
  return lane < emulator::operand::kFirstConstant ||
         lane >= emulator::operand::kFirstConstant + kLaneCount;
}

bool may_miss_lanes(const Inst& inst) {
  if (lanes_name_lanes(inst) || inst.op == Op::ds_swizzle_b32) return true;
  // With bound_ctrl the program asks for 0 instead of an inactive lane.
  const auto control = static_cast<uint32_t>(inst.imm);
  return emulator::is_vector_alu(inst.format) && inst.extra() == VopExtra::kDpp16 &&
         (control >> 18 & 3) == 0;
}

bool misses_none_if_all_active(const Inst& inst) { return !lanes_name_lanes(inst); }

bool writes_all_if_all_active(const Inst& inst) {
  if (!misses_none_if_all_active(inst)) return false;
  if (!emulator::is_vector_alu(inst.format) || inst.extra() != VopExtra::kDpp16) return true;
  const auto control = static_cast<uint32_t>(inst.imm);
  const bool zero = (control >> 19 & 1) != 0;
  for (unsigned lane = 0; lane < kLaneCount; ++lane)
    if (!zero && row_lane(control >> 8 & 0x1ff, lane) == CrossLane::kNone) return false;
  return enabled_lanes(control) == ~0u;
}

CrossLane cross_lane(const Inst& inst, const Wave& wave) {
  CrossLane result;
  const uint32_t exec = wave.exec();
  result.written = exec;
  const auto control = static_cast<uint32_t>(inst.imm);
  const auto from_each = [&](const auto& lane_of) {
    for (unsigned lane = 0; lane < kLaneCount; ++lane)
      result.from[lane] = static_cast<uint8_t>(lane_of(lane));
  };
  switch (inst.op) {
    case Op::ds_bpermute_b32: exchange(result, inst, wave, false); return result;
    case Op::ds_permute_b32: exchange(result, inst, wave, true); return result;
    case Op::ds_swizzle_b32:
      from_each([&](unsigned lane) { return swizzled(control & 0xffff, lane); });
      read_lanes(result, exec, false, true);
      return result;
    case Op::v_permlane16_b32:
    case Op::v_permlanex16_b32: {
      const uint64_t lanes = uint64_t{wave.read32(&inst, 2)} << 32 | wave.read32(&inst, 1);
      const unsigned other_row = inst.op == Op::v_permlanex16_b32 ? 16 : 0;
      from_each([&](unsigned lane) {
        return ((lane & 16) ^ other_row) + static_cast<unsigned>(lanes >> 4 * (lane & 15) & 15);
      });
      read_lanes(result, exec, (inst.op_sel() & 1) != 0, (inst.op_sel() & 2) != 0);
      result.inactive = 0;
      return result;
    }
    default: break;
  }
  if (inst.extra() == VopExtra::kDpp8) {
    from_each([&](unsigned lane) { return (lane & ~7u) + (control >> (8 + 3 * (lane & 7)) & 7); });
    read_lanes(result, exec, (control & 1) != 0, true);
    result.inactive = 0;
    return result;
  }
  from_each([&](unsigned lane) { return row_lane(control >> 8 & 0x1ff, lane); });
  const uint32_t enabled = enabled_lanes(control);
  read_lanes(result, exec, (control >> 18 & 1) != 0, (control >> 19 & 1) != 0);
  result.written &= enabled;
  result.inactive = may_miss_lanes(inst) ? result.inactive & enabled : 0;
  return result;
}

}  // namespace gfxgraph::check

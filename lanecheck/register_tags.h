// The tags of a wave's registers (provenance_tags.h).
//
// All lanes of a VGPR that have a tag have the same one nearly always: it is kept once, with a mask
// of these lanes. Only registers whose lanes differ have a row.
//
// Inline functions are compiled once per host instruction set and never shared: always_inline.
#pragma once

#include <array>
#include <cstdint>

#include "emulator/engine/wave.h"
#include "lanecheck/provenance_tags.h"

namespace gfxgraph::lanecheck {

// One thread.
class RegisterTags {
 public:
  // Operand codes from here on (constants aside) are not registers. They may be asked for up to
  // kCodes, and never have a tag.
  static constexpr unsigned kNoRegister = 512;
  static constexpr unsigned kCodes = kNoRegister + 64;
  static constexpr unsigned kFirstVector = emulator::operand::kVgpr0;

  // Of a new wave: no register has a tag. fill() and set() may change the other lanes, too.
  void reset(uint32_t launched_lanes) {
    kind_.fill(kNone);
    unused_ = ~launched_lanes;
  }

  // Whether some lane has a tag; `code` < kCodes.
  GFXGRAPH_INLINE bool any(unsigned code) const { return kind_[code] != kNone; }
  // Whether `lanes` are among those that all have this one tag.
  GFXGRAPH_INLINE bool all_have_one(unsigned code, uint32_t lanes, Tag& tag) const {
    tag = one_[code & 511];
    return kind_[code] == kOne && (lanes & ~lanes_[code & 511]) == 0;
  }
  // Any code; of a scalar, any lane.
  Tag get(unsigned code, unsigned lane) const {
    if (code >= kNoRegister || kind_[code] == kNone) return 0;
    if (code >= kFirstVector && kind_[code] == kMixed) return rows_[code - kFirstVector][lane];
    return (lanes_[code] >> lane & 1) != 0 ? one_[code] : 0;
  }
  // The tag that `lanes` have and all other lanes lack; 0 and no lanes: there is none. False: lanes
  // differ.
  bool one(unsigned code, Tag& tag, uint32_t& lanes) const;
  // Whether all of `lanes`, of which there is one at least, have the same tag, or none.
  bool same_in(unsigned code, uint32_t lanes) const;

  // Codes of no register, and the null register, are ignored.
  void set_scalar(unsigned code, Tag tag);
  // In the lanes of `exec`: those of `lanes` have the tag afterwards, others none. VGPRs only;
  // other codes are ignored.
  void fill(unsigned code, uint32_t exec, Tag tag, uint32_t lanes = ~0U);
  // As fill() with all lanes, of a VGPR.
  GFXGRAPH_INLINE void fill_quickly(unsigned code, uint32_t exec, Tag tag) {
    if ((exec | unused_) != ~0U) return fill(code, exec, tag);
    one_[code] = tag;
    lanes_[code] = ~0U;
    kind_[code] = tag != 0 ? kOne : kNone;
  }
  void set(unsigned code, uint32_t exec, const Tag* row);
  // One lane, launched or not: compilers keep scalars there.
  void set_lane(unsigned code, unsigned lane, Tag tag);

 private:
  enum Kind : uint8_t { kNone, kOne, kMixed };
  void write(unsigned code, const Tag* row);

  alignas(64) std::array<Kind, kCodes> kind_;
  std::array<Tag, kNoRegister> one_;         // kOne
  std::array<uint32_t, kNoRegister> lanes_;  // kOne: that have it; of a scalar all
  uint32_t unused_ = 0;                      // lanes that were not launched
  Tag rows_[256][emulator::kLanes];          // kMixed
};

}  // namespace gfxgraph::lanecheck

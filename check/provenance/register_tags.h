// The tags of a wave's registers (provenance_tags.h).
//
// The tagged lanes of a VGPR nearly always have the same tag, which is stored once with a mask of
// these lanes. Only registers whose lanes differ use a row.
//
// Inline functions are always_inline, because they are compiled once per host instruction set and
// must not be merged.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "check/provenance/provenance_tags.h"
#include "emulator/engine/wave.h"

namespace gfxgraph::check {

// Not thread-safe.
class RegisterTags {
 public:
  // Operand codes from here on are not registers. any() accepts them up to kCodes; they never have
  // a tag.
  static constexpr unsigned kNoRegister = 512;
  static constexpr unsigned kCodes = kNoRegister + 64;
  static constexpr unsigned kFirstVector = emulator::operand::kVgpr0;
  static constexpr unsigned kEndOfScalars = 128;

  RegisterTags() {
    kind_.fill(kNone);
    one_.fill({0, ~0U});
  }
  // For a new wave: clears all tags of registers before `end`, a code; the others must have none.
  // fill() and set() may also change lanes that were not launched. `values`: of v0, v1 and so on,
  // for pass_on(); they must outlive the tags.
  void reset(uint32_t launched_lanes, unsigned end = kNoRegister,
             const emulator::Row* values = nullptr) {
    constexpr unsigned kBlock = 64;
    std::memset(kind_.data(), 0, kEndOfScalars);
    for (unsigned n = kFirstVector; n < end; n += kBlock) std::memset(&kind_[n], 0, kBlock);
    unused_ = ~launched_lanes;
    values_ = values;
  }

  // Bits, so that kMixed is the only one with two. kUntested: see pass_on().
  enum Kind : uint8_t { kNone = 0, kOne = 1, kUntested = 2, kMixed = 3 };
  // `code` < kCodes.
  GFXGRAPH_INLINE Kind kind(unsigned code) const { return kind_[code]; }
  // Whether any lane may have a tag; `code` < kCodes.
  GFXGRAPH_INLINE bool any(unsigned code) const { return kind_[code] != kNone; }
  // Whether all of `lanes` have the same tag, stored once; sets `tag`.
  GFXGRAPH_INLINE bool all_have_one(unsigned code, uint32_t lanes, Tag& tag) const {
    if (kind_[code] == kUntested) [[unlikely]]
      test(code);
    const Uniform& one = one_[code & 511];
    tag = one.tag;
    return kind_[code] == kOne && (lanes & ~one.lanes) == 0;
  }
  // The same for all lanes, if no value of the register ends its tag; for any register.
  GFXGRAPH_INLINE bool all_have_one_if_none_ends(unsigned code, Tag& tag) const {
    const Uniform& one = one_[code & 511];
    tag = one.tag;
    return (kind_[code] == kOne || kind_[code] == kUntested) && one.lanes == ~0U;
  }
  // The tag of a scalar register.
  GFXGRAPH_INLINE Tag scalar(unsigned code) const {
    return kind_[code] != kNone ? one_[code].tag : 0;
  }
  // Whether any of `kDwords` registers may have a tag.
  template <unsigned kDwords>
  GFXGRAPH_INLINE bool any_of(unsigned code) const {
    static constexpr std::array<Kind, kDwords> kNoKinds = {};
    return std::memcmp(&kind_[code], kNoKinds.data(), kDwords) != 0;
  }
  // The tag of a lane, for any code; for a scalar register, any lane.
  Tag get(unsigned code, unsigned lane) const {
    if (code >= kNoRegister || kind_[code] == kNone) return 0;
    if (kind_[code] == kUntested) test(code);
    if (code >= kFirstVector && kind_[code] == kMixed) return rows_[code - kFirstVector][lane];
    return (one_[code].lanes >> lane & 1) != 0 ? one_[code].tag : 0;
  }
  // Sets the register's only tag and the lanes that have it; 0 and no lanes: no tag. False: lanes
  // have different tags.
  bool one(unsigned code, Tag& tag, uint32_t& lanes) const;
  // Whether all of `lanes` (at least one) have the same tag, or none has one.
  bool same_in(unsigned code, uint32_t lanes) const;

  // Ignores codes that are not registers, and the null register.
  GFXGRAPH_INLINE void set_scalar(unsigned code, Tag tag) {
    if (code < kEndOfScalars && code != emulator::operand::kNull) set_scalar_quickly(code, tag);
  }
  // Of a scalar register that is not the null register.
  GFXGRAPH_INLINE void set_scalar_quickly(unsigned code, Tag tag) {
    kind_[code] = tag != 0 ? kOne : kNone;
    one_[code].tag = tag;
  }
  // Among the lanes of `exec`, gives the tag to those of `lanes`, and clears it in the others.
  // Ignores codes that are not VGPRs.
  void fill(unsigned code, uint32_t exec, Tag tag, uint32_t lanes = ~0U);
  // As fill() with all lanes; `code` must be a VGPR. False: a lane outside of `exec` may have kept
  // its tag.
  GFXGRAPH_INLINE bool fill_quickly(unsigned code, uint32_t exec, Tag tag) {
    if ((exec | unused_) != ~0U) {
      fill(code, exec, tag);
      return false;
    }
    one_[code] = {tag, ~0U};
    kind_[code] = tag != 0 ? kOne : kNone;
    return true;
  }
  // For an instruction whose result has the tag of `from`, which has one, with results that are not
  // known yet: they may end the tag in some lanes (Tags::ends()). They are tested when the tag is
  // read, which most are not: of a pointer, only the upper dword. Until then, each instruction that
  // changes lanes of the register must change their tags. False, without effect: not possible so
  // quickly.
  GFXGRAPH_INLINE bool pass_on(unsigned from, unsigned to, uint32_t exec) {
    if ((exec | unused_) != ~0U) return false;
    const Uniform one = one_[from];
    if ((exec & ~one.lanes) != 0 || one.tag >= Tags::kWeak) return false;
    if (kind_[from] != kOne && (kind_[from] != kUntested || any_ends(from))) return false;
    one_[to] = {one.tag, ~0U};
    kind_[to] = kUntested;
    return true;
  }
  // As fill_quickly() without a tag, but false, without effect, if that would return false.
  GFXGRAPH_INLINE bool clear_quickly(unsigned code, uint32_t exec) {
    if ((exec | unused_) != ~0U) return false;
    kind_[code] = kNone;
    return true;
  }
  void set(unsigned code, uint32_t exec, const Tag* row);
  // Sets one lane, launched or not: compilers spill scalars to lanes.
  void set_lane(unsigned code, unsigned lane, Tag tag);

 private:
  void write(unsigned code, const Tag* row);
  // Of kUntested: makes it another kind.
  void test(unsigned code) const;
  // Tags::ends() of any lane, for all lanes at once.
  GFXGRAPH_INLINE bool any_ends(unsigned code) const {
    const emulator::Row& values = values_[code - kFirstVector];
    uint32_t least = ~0U;
    for (unsigned l = 0; l < emulator::kLanes; ++l) least = std::min(least, values.lane[l] + 1);
    return least <= 1;
  }

  // Side by side: waves of a workgroup share the first-level cache.
  struct Uniform {
    Tag tag = 0;
    uint32_t lanes = 0;  // lanes with the tag; all for a scalar
  };

  // test() changes no lane's tag: it finds out what it is.
  alignas(64) mutable std::array<Kind, kCodes> kind_;
  uint32_t unused_ = 0;                           // lanes that were not launched
  mutable std::array<Uniform, kNoRegister> one_;  // kOne
  const emulator::Row* values_ = nullptr;
  Tag rows_[256][emulator::kLanes];  // kMixed
};

}  // namespace gfxgraph::check

// What all waves of a launch may have in their registers at one place of the code, and which lanes
// may be active there.
//
// Vector registers are those of an active lane. A lane that becomes inactive keeps its registers
// and may become active again, so what it has is kept apart, by the levels of EXEC: level 0 is what
// the wave began with, and each instruction that takes lanes out of EXEC begins a level. When EXEC
// is known to become that of a level again, what its lanes had joins the registers. SGPRs with
// masks say what EXEC they lead back to; where that is not known, all that any inactive lane has
// joins, which is right for any code.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "footprint/value.h"

namespace gfxgraph::footprint {

using Vectors = std::vector<Value>;  // by VGPR

// A comparison that a mask, or SCC, is the result of: of the value with this name.
struct Condition {
  enum class Is : uint8_t { kLess, kLessSigned, kEqual, kAtLeast, kAtLeastSigned };
  uint64_t name = 0;
  Is is = Is::kLess;
  Range limit;
  bool operator==(const Condition&) const = default;
};
// The range of values of `range` for which it holds.
Range limited(const Range& range, const Condition& condition);

// A sum whose carry an SGPR, or SCC, holds.
struct Carry {
  Value a, b;
  bool subtract = false;
  uint64_t name = 0;  // of the lower half of the result
  bool operator==(const Carry&) const = default;
};

using Level = uint32_t;
inline constexpr Level kFirstLevel = 1;
inline constexpr Level kAgain = 0x40000000;  // the same level of an earlier round of a loop
inline constexpr Level kNoLanes = 0xffffffff;

// What is known of a scalar register as a mask of lanes, and as the result of a comparison or sum.
struct Mask {
  Level within = 0;  // only lanes of this level; 0: it is not known
  // Together with the lanes of `of` (0: alone) it has all lanes of `all`.
  struct Fills {
    Level of = 0, all = 0;
    bool operator==(const Fills&) const = default;
  };
  std::array<Fills, 3> fills = {};
  std::vector<Condition> conditions;  // true in each lane of it
  std::shared_ptr<const Carry> carry;

  void add(const Fills& more);
  bool has(const Fills& one) const;
  bool operator==(const Mask&) const;
};

inline constexpr unsigned kScalars = 128;
inline constexpr unsigned kScc = 128;  // its place among the scalars

class Lanes {
 public:
  explicit Lanes(unsigned vectors);

  Value& vector(unsigned n) { return vectors_[n]; }
  Value& scalar(unsigned n) { return scalars_[n]; }
  Mask& mask(unsigned n) { return masks_[n]; }
  unsigned vectors() const { return static_cast<unsigned>(vectors_.size()); }
  // No register has a value of one of these names any more: they are about to be given to others.
  void forget_names(uint64_t first, uint64_t second);
  // It holds in all active lanes; `scalars`: and in the wave as a whole.
  void apply(const Condition& condition, bool scalars);

  Level level() const { return levels_.back().id; }
  // That of which the lanes are; of the first one, itself.
  Level outer() const { return levels_.size() > 1 ? levels_[levels_.size() - 2].id : level(); }
  // EXEC loses lanes; `id` names what is left.
  void narrow(Level id);
  // EXEC becomes a mask: what `mask` says. `with`: and stays what it is, too. `name`: for values
  // that come together.
  void set_exec(const Mask& mask, bool with, Level id, uint64_t name);
  // EXEC becomes the lanes of `mask` that it has not.
  void set_exec_to_others(const Mask& mask, Level id, uint64_t name);
  // EXEC becomes anything.
  void set_exec_unknown(Level id, uint64_t name);
  // No lane is active.
  void empty();
  // What a lane that the instruction chooses has in a register.
  Value any_lane(unsigned vector) const;
  // One lane, whichever: what it had, or the value.
  void write_lane(unsigned vector, const Value& value);

  Level common(Level a, Level b) const;
  bool is_within(Level inner, Level outer) const;

  // Another way to the same place. Returns whether that changed anything. `id`: names the level of
  // EXEC if the ways have different ones; `name`: for values. `widen`: with these thresholds.
  bool join(Lanes other, Level id, uint64_t name, const std::vector<int64_t>* thresholds);
  // Prepares what comes from another place: names of the place's own joins are old there.
  void arrive(Level id, uint64_t name);

 private:
  struct OneLevel {
    Level id = kFirstLevel;
    std::shared_ptr<const Vectors>
        inactive;  // of its lanes that are not in the next level; or null
  };
  void pop_to(size_t count, uint64_t name);
  // Levels from `from` on become one, `id`: its lanes are those of the last.
  void collapse(size_t from, Level id);
  void add_inactive(size_t level, const std::shared_ptr<const Vectors>& lanes);
  size_t place_of(Level id) const;  // levels_.size(): it is none

  Vectors vectors_;
  std::vector<Value> scalars_;  // SCC last
  std::vector<Mask> masks_;
  std::vector<OneLevel> levels_;
};

// Registers of lanes that come from two places, in place. `name`: halves of 64-bit values that both
// have get names from it on; 0: names stay where they are equal. Returns whether `into` changed.
bool join_values(Value* into, const Value* other, size_t count, uint64_t name,
                 const std::vector<int64_t>* thresholds);

// Names of values that come together at a place: by the place and the register.
inline constexpr uint64_t kNamesOfJoins = uint64_t{1} << 63;
constexpr uint64_t name_of_join(uint32_t node, bool at_exec) {
  return kNamesOfJoins | uint64_t{node} << 12 | (at_exec ? uint64_t{1} << 11 : 0);
}

}  // namespace gfxgraph::footprint

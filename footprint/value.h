// What the analysis knows of a register: bounds of its value in any lane, which pointers it was
// computed from, and whether it is half of a 64-bit value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace gfxgraph::footprint {

// Where a value comes from: bits. 0: from numbers only. Bit n < kMostPointers: from pointer n of
// the launch's arguments, plus or minus numbers. Several bits: from one of them, as a selection
// gives.
using Origins = uint64_t;
inline constexpr unsigned kMostPointers = 56;
namespace origin {
inline constexpr Origins kKernarg = Origins{1} << 57;  // the address of the arguments
inline constexpr Origins kPacket = Origins{1} << 58;   // of the dispatch packet
inline constexpr Origins kScratch = Origins{1} << 59;  // of the wave's own scratch
inline constexpr Origins kCode = Origins{1} << 60;     // of code, and of what is loaded with it
inline constexpr Origins kLoaded = Origins{1} << 62;   // read from memory, or some other number
inline constexpr Origins kAny = Origins{1} << 63;      // from anything
inline constexpr Origins kPointers = (Origins{1} << kMostPointers) - 1;
}  // namespace origin

// Of an operation with two operands: a sum of a pointer and a number is that pointer, also if the
// number was read from memory (a pointer stays within its buffer); what comes from two pointers may
// lead anywhere.
Origins mixed(Origins a, Origins b);
// The same of a difference: of the same pointer, it is a number.
Origins difference(Origins a, Origins b);

// All of x with low <= x <= high and (x - low) % step == 0; step is 1 or more.
struct Range {
  int64_t low = 0;
  int64_t high = 0;
  uint64_t step = 1;

  static constexpr Range exactly(int64_t value) { return {value, value, 1}; }
  bool exact() const { return low == high; }
  bool operator==(const Range&) const = default;
};
Range united(const Range& a, const Range& b);

// A 32-bit register as a number: its value is one of the range, modulo 2^32.
inline constexpr Range kAny32 = {0, 0xffffffff, 1};
Range wrapped32(const Range& range);  // kAny32, with the low bits that are known, if it is too wide
Range unsigned32(const Range& range);
Range signed32(const Range& range);

// 64-bit values, modulo 2^64. Bounds beyond kMost64 count as unknown.
inline constexpr int64_t kMost64 = int64_t{1} << 60;
inline constexpr Range kAny64 = {-kMost64, kMost64, 1};
inline bool bounded(const Range& range) { return range.low > -kMost64 && range.high < kMost64; }

// Of ranges that are not wider than 64-bit ones; the result is one, or kAny64.
Range sum(const Range& a, const Range& b);
Range negative(const Range& a);
Range product(const Range& a, const Range& b);
// Of ranges whose low is not negative:
Range masked(const Range& a, uint32_t mask);
Range shifted_right(const Range& a, unsigned bits);
Range either_bits(const Range& a, const Range& b);

// Widens `to`, which grew from `from`, to the next of the thresholds, so that loops end.
// `thresholds`: sorted.
Range widened(const Range& from, const Range& to, const int64_t* thresholds, size_t count,
              bool wide);

struct Value {
  Range number = kAny32;  // of 32 bits; of a pointer's half it is unknown
  Origins origins = 0;
  // Names the value, wherever copies of it are; 0: it has no name.
  uint64_t name = 0;
  // If not 0: this is the upper half of a 64-bit value, whose lower half is any register with a
  // value of this name. Of a pointer: its distance from the argument.
  uint64_t lower = 0;
  Range wide = kAny64;
  bool nothing = false;  // no lane has ever written it

  static Value unwritten() {
    Value value;
    value.nothing = true;
    return value;
  }
  static Value of(const Range& number, Origins origins = 0) {
    Value value;
    value.number = number;
    value.origins = origins;
    return value;
  }
  static Value anything() { return of(kAny32, origin::kAny); }
  bool operator==(const Value&) const = default;
};

// 64 bits: of a pointer the distance from where the argument points.
struct Wide {
  Range range = kAny64;
  Origins origins = 0;
};
Wide pair(const Value& low, const Value& high);

// What lanes have that come from two places. `name`: for the result's name where both have one;
// names stay where they are equal.
Value joined(const Value& a, const Value& b);

}  // namespace gfxgraph::footprint

#include "footprint/value.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace gfxgraph::footprint {
namespace {

constexpr int64_t kTwo32 = int64_t{1} << 32;
using Big = __int128;

uint64_t gcd(uint64_t a, uint64_t b) { return std::gcd(a, b); }

// The distance between two values as a step that allows both; 0: any.
uint64_t apart(int64_t a, int64_t b) { return static_cast<uint64_t>(a > b ? a - b : b - a); }
// The step of a range in a gcd: one value allows each.
uint64_t free_step(const Range& range) { return range.exact() ? 0 : range.step; }

Range range_of(Big low, Big high, uint64_t step) {
  if (low <= -kMost64 || high >= kMost64) return kAny64;
  return {static_cast<int64_t>(low), static_cast<int64_t>(high),
          low == high ? 1 : std::max<uint64_t>(step, 1)};
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - static_cast<int64_t>(a % b < 0); }

// What low bits of all values are the same: a power of two that divides their distances.
Range low_bits_only(const Range& range) {
  const uint64_t step = free_step(range);
  const uint64_t power =
      step == 0 ? uint64_t{1} << 31
                : std::min<uint64_t>(uint64_t{1} << std::countr_zero(step), uint64_t{1} << 31);
  const int64_t low = static_cast<int64_t>(static_cast<uint64_t>(range.low) & (power - 1));
  return {low,
          low + static_cast<int64_t>((0xffffffffu - static_cast<uint64_t>(low)) / power * power),
          power};
}

}  // namespace

Origins mixed(Origins a, Origins b) {
  if (((a | b) & origin::kAny) != 0) return origin::kAny;
  const Origins numbers = origin::kLoaded;
  if ((a & ~numbers) == 0) return (b & ~numbers) == 0 ? a | b : b;
  if ((b & ~numbers) == 0) return a;
  return a == b && std::has_single_bit(a) ? a : origin::kAny;
}

Origins difference(Origins a, Origins b) {
  const bool same = a == b && std::has_single_bit(a) && (a & origin::kPointers) != 0;
  return same ? 0 : (b & ~origin::kLoaded) == 0 ? mixed(a, b) : origin::kAny;
}

Range united(const Range& a, const Range& b) {
  const uint64_t step = gcd(gcd(free_step(a), free_step(b)), apart(a.low, b.low));
  return {std::min(a.low, b.low), std::max(a.high, b.high), std::max<uint64_t>(step, 1)};
}

Range wrapped32(const Range& range) {
  if (range.low <= -kMost64 || range.high >= kMost64) return kAny32;
  if (range.high - range.low >= kTwo32) return low_bits_only(range);
  // Near zero, so that sums stay small.
  if (range.low >= -kTwo32 && range.high < 2 * kTwo32) return range;
  const int64_t shift = floor_div(range.low, kTwo32) * kTwo32;
  return {range.low - shift, range.high - shift, range.step};
}

Range unsigned32(const Range& range) {
  const int64_t block = floor_div(range.low, kTwo32);
  if (block != floor_div(range.high, kTwo32)) return low_bits_only(range);
  return {range.low - block * kTwo32, range.high - block * kTwo32, range.step};
}

Range signed32(const Range& range) {
  const int64_t half = kTwo32 / 2;
  const int64_t block = floor_div(range.low + half, kTwo32);
  if (block == floor_div(range.high + half, kTwo32))
    return {range.low - block * kTwo32, range.high - block * kTwo32, range.step};
  Range low = low_bits_only(range);
  low.low -= half;
  low.high -= half;
  return low;
}

Range sum(const Range& a, const Range& b) {
  return range_of(Big{a.low} + b.low, Big{a.high} + b.high, gcd(free_step(a), free_step(b)));
}

Range negative(const Range& a) { return {-a.high, -a.low, a.step}; }

Range product(const Range& a, const Range& b) {
  if (!a.exact() && b.exact()) return product(b, a);
  const Big corner[4] = {Big{a.low} * b.low, Big{a.low} * b.high, Big{a.high} * b.low,
                         Big{a.high} * b.high};
  const Big low = *std::min_element(corner, corner + 4);
  const Big high = *std::max_element(corner, corner + 4);
  if (low <= -kMost64 || high >= kMost64) return kAny64;
  uint64_t step = 1;
  if (a.exact()) {
    const uint64_t factor = apart(a.low, 0);
    step = factor != 0 && b.step > static_cast<uint64_t>(kMost64) / factor ? 1 : factor * b.step;
  }
  return range_of(low, high, step);
}

Range masked(const Range& a, uint32_t mask) {
  if (a.exact()) return Range::exactly(a.low & mask);
  const int64_t high = std::min<int64_t>(a.high, mask);
  // Low bits that the mask keeps, or clears.
  if (std::has_single_bit(uint64_t{mask} + 1) && a.high <= mask) return a;
  const uint64_t cleared = mask == 0 ? kTwo32 : uint64_t{1} << std::countr_zero(mask);
  const auto step = static_cast<int64_t>(cleared);
  return {0, high / step * step, cleared};
}

Range shifted_right(const Range& a, unsigned bits) {
  const uint64_t step = (a.step >> bits) << bits == a.step && !a.exact() ? a.step >> bits : 1;
  return {a.low >> bits, a.high >> bits, std::max<uint64_t>(step, 1)};
}

Range either_bits(const Range& a, const Range& b) {
  if (a.exact() && b.exact()) return Range::exactly(a.low | b.low);
  // Between the larger one and the sum. Bits below both steps are constant.
  const uint64_t step = gcd(free_step(a), free_step(b));
  const uint64_t power = step == 0 ? 1 : uint64_t{1} << std::countr_zero(step);
  const int64_t fixed = (a.low | b.low) & static_cast<int64_t>(power - 1);
  const auto width = static_cast<int64_t>(power);
  return {fixed, fixed + (a.high + b.high - fixed) / width * width, power};
}

Range widened(const Range& from, const Range& to, const int64_t* thresholds, size_t count,
              bool wide) {
  Range result = to;
  const int64_t least = wide ? -kMost64 : -kTwo32 / 2;
  const int64_t most = wide ? kMost64 : kTwo32 - 1;
  const int64_t* const end = thresholds + count;
  // Bounds keep the distance to each other that the step asks for.
  const auto step = static_cast<int64_t>(std::min<uint64_t>(to.step, uint64_t{1} << 40));
  if (to.high > from.high) {
    const int64_t* const at = std::lower_bound(thresholds, end, to.high);
    const int64_t bound = at == end ? most : std::max(*at, to.high);
    result.high = to.low + (bound - to.low + step - 1) / step * step;
  }
  if (to.low < from.low) {
    const int64_t* const at = std::upper_bound(thresholds, end, to.low);
    const int64_t bound = at == thresholds ? least : std::min(at[-1], to.low);
    result.low = to.low - (to.low - bound + step - 1) / step * step;
  }
  if (wide)
    return result.low <= -kMost64 || result.high >= kMost64
               ? Range{std::max(result.low, -kMost64), std::min(result.high, kMost64), 1}
               : result;
  return wrapped32(result);
}

Wide pair(const Value& low, const Value& high) {
  Wide wide;
  wide.origins = low.origins == high.origins ? low.origins : low.origins | high.origins;
  if (low.origins == 0 && high.origins == 0 && low.number.exact() && high.number.exact()) {
    const uint64_t value = static_cast<uint64_t>(unsigned32(high.number).low) << 32 |
                           static_cast<uint64_t>(unsigned32(low.number).low);
    const auto number = static_cast<int64_t>(value);
    if (number > -kMost64 && number < kMost64) wide.range = Range::exactly(number);
  } else if (high.lower != 0 && high.lower == low.name) {
    wide.range = high.wide;
  } else if (high.origins == 0 && high.number.exact() && unsigned32(high.number).low == 0 &&
             (low.origins & ~origin::kLoaded) == 0) {
    wide.range = unsigned32(low.number);
  }
  return wide;
}

Value joined(const Value& a, const Value& b) {
  if (a.nothing) return b;
  if (b.nothing) return a;
  Value value;
  value.number = wrapped32(united(a.number, b.number));
  if (a.origins == b.origins) {
    value.origins = a.origins;
  } else {
    // Nobody follows a null pointer: beside a pointer, zero says nothing. Any other number may be
    // followed.
    const auto side = [](const Value& one, const Value& other) -> Origins {
      if (one.origins != 0) return one.origins;
      const bool zero = one.number.exact() && unsigned32(one.number).low == 0;
      return zero || other.origins == origin::kLoaded ? 0 : origin::kLoaded;
    };
    value.origins = side(a, b) | side(b, a);
  }
  if (a.name == b.name) value.name = a.name;
  if (a.lower == b.lower && a.lower != 0) {
    value.lower = a.lower;
    value.wide = united(a.wide, b.wide);
  }
  return value;
}

}  // namespace gfxgraph::footprint

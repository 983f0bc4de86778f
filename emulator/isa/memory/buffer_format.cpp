#include "emulator/isa/memory/buffer_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace gfxgraph::emulator {
namespace {

// Consecutive format numbers that share a layout, with their number formats in order.
struct Run {
  uint8_t first;
  uint8_t count;
  uint8_t components;
  uint8_t bits[4];
  NumberFormat first_number;
};
constexpr Run kRuns[] = {
    {1, 6, 1, {8, 0, 0, 0}, NumberFormat::kUnorm},
    {7, 7, 1, {16, 0, 0, 0}, NumberFormat::kUnorm},
    {14, 6, 2, {8, 8, 0, 0}, NumberFormat::kUnorm},
    {20, 3, 1, {32, 0, 0, 0}, NumberFormat::kUint},
    {23, 7, 2, {16, 16, 0, 0}, NumberFormat::kUnorm},
    {30, 7, 3, {11, 11, 10, 0}, NumberFormat::kUnorm},
    {37, 7, 3, {10, 11, 11, 0}, NumberFormat::kUnorm},
    {44, 6, 4, {2, 10, 10, 10}, NumberFormat::kUnorm},
    {50, 6, 4, {10, 10, 10, 2}, NumberFormat::kUnorm},
    {56, 6, 4, {8, 8, 8, 8}, NumberFormat::kUnorm},
    {62, 3, 2, {32, 32, 0, 0}, NumberFormat::kUint},
    {65, 7, 4, {16, 16, 16, 16}, NumberFormat::kUnorm},
    {72, 3, 3, {32, 32, 32, 0}, NumberFormat::kUint},
    {75, 3, 4, {32, 32, 32, 32}, NumberFormat::kUint},
};

int64_t sign_extended(uint32_t value, unsigned bits) {
  return static_cast<int64_t>(static_cast<int32_t>(value << (32 - bits)) >> (32 - bits));
}

// Five exponent bits; 10- and 11-bit floats have no sign.
float small_float(uint32_t value, unsigned bits) {
  const unsigned mantissa_bits = bits == 16 ? 10 : bits - 5;
  const uint32_t mantissa = value & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = value >> mantissa_bits & 31;
  const bool negative = bits == 16 && (value >> 15) != 0;
  float r;
  if (exponent == 31)
    r = mantissa == 0 ? INFINITY : NAN;
  else if (exponent == 0)
    r = std::ldexp(static_cast<float>(mantissa), -14 - static_cast<int>(mantissa_bits));
  else
    r = std::ldexp(static_cast<float>(mantissa | 1u << mantissa_bits),
                   static_cast<int>(exponent) - 15 - static_cast<int>(mantissa_bits));
  return negative ? -r : r;
}

// Round to nearest even.
uint32_t half_bits(float value) {
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const float a = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (a == 0) return sign;
  const int exponent = std::max(std::ilogb(a), -14);
  if (exponent > 15) return sign | 0x7c00;
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(a, 10 - exponent)));
  return sign | std::min((static_cast<uint32_t>(exponent + 14) << 10) + steps, 0x7c00u);
}

uint32_t take_bits(const uint8_t* element, unsigned at, unsigned bits) {
  uint64_t word = 0;
  const unsigned first = at / 8;
  std::memcpy(&word, element + first, (at % 8 + bits + 7) / 8);
  return static_cast<uint32_t>(word >> (at % 8) & ((uint64_t{1} << bits) - 1));
}

double as_number(const BufferFormat& f, uint32_t raw, unsigned bits) {
  const auto top = static_cast<double>((uint64_t{1} << bits) - 1);
  const auto signed_top = static_cast<double>((uint64_t{1} << (bits - 1)) - 1);
  switch (f.number) {
    case NumberFormat::kUnorm: return raw / top;
    case NumberFormat::kSnorm:
      return std::max(static_cast<double>(sign_extended(raw, bits)) / signed_top, -1.0);
    case NumberFormat::kUscaled: return raw;
    case NumberFormat::kSscaled: return static_cast<double>(sign_extended(raw, bits));
    default: return static_cast<double>(small_float(raw, bits));
  }
}

// Packs one component for a store. Returns null, or why it cannot be stored.
const char* pack_component(const BufferFormat& f, unsigned bits, uint32_t value, bool half,
                           uint32_t& raw) {
  const uint32_t all = bits == 32 ? ~0u : (1u << bits) - 1;
  raw = value & all;
  if (is_integer(f.number)) {
    const bool fits = f.number == NumberFormat::kUint
                          ? value == raw || (half && bits >= 16)
                          : bits == 32 || static_cast<int32_t>(value) == sign_extended(raw, bits) ||
                                (half && bits >= 16);
    return fits ? nullptr : "a store of an integer that the buffer format cannot hold";
  }
  if (f.number == NumberFormat::kFloat) {
    if (bits == 32 || (bits == 16 && half)) return nullptr;
    if (bits != 16) return "a store of floats of 10 or 11 bits";
    raw = half_bits(std::bit_cast<float>(value));
    return nullptr;
  }
  const double number = half ? static_cast<double>(small_float(value & 0xffff, 16))
                             : static_cast<double>(std::bit_cast<float>(value));
  const double top = static_cast<double>(f.number == NumberFormat::kUnorm ? all : all >> 1);
  const double lowest = f.number == NumberFormat::kUnorm ? 0.0 : -1.0;
  if (f.number != NumberFormat::kUnorm && f.number != NumberFormat::kSnorm)
    return "a store in a scaled buffer format";
  const double clamped = std::isnan(number) ? 0.0 : std::clamp(number, lowest, 1.0);
  raw = static_cast<uint32_t>(static_cast<int64_t>(std::nearbyint(clamped * top))) & all;
  return nullptr;
}

}  // namespace

BufferFormat buffer_format(uint32_t id) {
  for (const Run& run : kRuns) {
    if (id < run.first || id >= uint32_t{run.first} + run.count) continue;
    BufferFormat format;
    format.components = run.components;
    unsigned bits = 0;
    for (unsigned n = 0; n < 4; ++n) bits += format.bits[n] = run.bits[n];
    format.bytes = static_cast<uint8_t>(bits / 8);
    format.number =
        static_cast<NumberFormat>(static_cast<unsigned>(run.first_number) + id - run.first);
    return format;
  }
  return {};
}

uint32_t buffer_format_id(uint32_t components, uint32_t bits, NumberFormat number) {
  for (const Run& run : kRuns) {
    bool same = run.components == components;
    for (unsigned n = 0; n < components && same; ++n) same = run.bits[n] == bits;
    const int at = static_cast<int>(number) - static_cast<int>(run.first_number);
    if (same && at >= 0 && at < run.count) return run.first + static_cast<uint32_t>(at);
  }
  return 0;
}

void unpack_format(const BufferFormat& format, const uint8_t* element, bool to_16_bits,
                   uint32_t (&component)[4]) {
  unsigned at = 0;
  for (unsigned n = 0; n < 4; ++n) {
    const unsigned bits = format.bits[n];
    const bool integer = is_integer(format.number);
    if (n >= format.components) {
      const uint32_t one = integer ? 1 : to_16_bits ? 0x3c00u : std::bit_cast<uint32_t>(1.0f);
      component[n] = n == 3 ? one : 0;
      continue;
    }
    const uint32_t raw = take_bits(element, at, bits);
    at += bits;
    if (format.number == NumberFormat::kSint) {
      component[n] = static_cast<uint32_t>(sign_extended(raw, bits));
    } else if (integer || (format.number == NumberFormat::kFloat &&
                           (bits == 32 || (bits == 16 && to_16_bits)))) {
      component[n] = raw;
    } else {
      const auto value = static_cast<float>(as_number(format, raw, bits));
      component[n] = to_16_bits ? half_bits(value) : std::bit_cast<uint32_t>(value);
    }
  }
}

const char* pack_format(const BufferFormat& format, const uint32_t (&component)[4],
                        bool from_16_bits, uint8_t* element) {
  uint32_t words[4] = {};
  unsigned at = 0;
  for (unsigned n = 0; n < format.components; ++n) {
    uint32_t raw = 0;
    if (const char* why = pack_component(format, format.bits[n], component[n], from_16_bits, raw))
      return why;
    const uint64_t shifted = uint64_t{raw} << (at % 32);
    words[at / 32] |= static_cast<uint32_t>(shifted);
    if (at / 32 < 3) words[at / 32 + 1] |= static_cast<uint32_t>(shifted >> 32);
    at += format.bits[n];
  }
  std::memcpy(element, words, format.bytes);
  return nullptr;
}

}  // namespace gfxgraph::emulator

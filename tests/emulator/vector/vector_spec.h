// What each vector ALU instruction computes in one lane, written a second time, as plain scalar C++
// straight from the RDNA2 ISA guide, so that the emulator's handlers have something independent to
// be compared with.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>

namespace gfxgraph::emulator::spec {

// One lane's inputs, after source modifiers. 16-bit operands are in the low bits, the rest zero.
struct In {
  uint64_t s[3] = {0, 0, 0};
  uint32_t quad[4] = {0, 0, 0, 0};  // a four-dword third source
  bool bit = false;                 // carry in, condition, or VCC
  bool clamp = false;               // integer ops: saturate
  unsigned lane = 0;
};

struct Out {
  uint64_t d = 0;
  uint32_t quad[4] = {0, 0, 0, 0};
  bool bit = false;  // carry out or comparison result
  double ulps = 0;   // allowed distance of a floating result
};

// Types of operands, one character each:
//   f d h  binary32, binary64, binary16          b  32 bits that take floating modifiers
//   u q w  32, 64, 16 bits                       p  a packed pair of halves (VOP3P: modifiers are
//   the model's) 4      four dwords                           m  a lane mask in src2     v  VCC
// As destination also: c  a comparison result. '+' after the destination: carry out. '~': integer
// clamp.
struct Spec {
  std::string types;  // "f=ff", "u+~=uum", "c=hh"
  std::function<void(const In&, Out&)> run;
};

class Specs {
 public:
  void add(const std::string& name, const std::string& types,
           std::function<void(const In&, Out&)> run) {
    specs_[name] = Spec{types, std::move(run)};
  }
  const std::map<std::string, Spec>& all() const { return specs_; }

 private:
  std::map<std::string, Spec> specs_;
};

const Specs& all_specs();
void add_float_specs(Specs& s);
void add_integer_specs(Specs& s);
void add_convert_specs(Specs& s);
void add_compare_specs(Specs& s);
void add_packed_specs(Specs& s);

// ---- bits and values ----
inline float f32(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
inline double f64(uint64_t bits) { return std::bit_cast<double>(bits); }
inline uint64_t bits(float v) { return std::bit_cast<uint32_t>(v); }
inline uint64_t bits(double v) { return std::bit_cast<uint64_t>(v); }
inline uint32_t u32(uint64_t v) { return static_cast<uint32_t>(v); }
inline int32_t i32(uint64_t v) { return static_cast<int32_t>(static_cast<uint32_t>(v)); }
inline int32_t i16(uint64_t v) { return static_cast<int16_t>(static_cast<uint16_t>(v)); }

// binary16 by arithmetic on the fields.
inline double f16(uint64_t bits) {
  const unsigned exponent = static_cast<unsigned>(bits >> 10) & 31;
  const unsigned mantissa = static_cast<unsigned>(bits) & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::bit_cast<double>(uint64_t{bits & 0x8000} << 48 |
                                                 uint64_t{0x7ff} << 52 | uint64_t{mantissa} << 42);
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, static_cast<int>(exponent) - 25);
}
// To nearest even from a value that is exact, or rounded so finely that no tie is made or lost.
inline uint64_t to_f16(double v) {
  const uint64_t sign = std::signbit(v) ? 0x8000 : 0;
  if (std::isnan(v)) return sign | 0x7e00 | (std::bit_cast<uint64_t>(v) >> 42 & 0x1ff);
  const double a = std::fabs(v);
  if (a >= 65520.0) return sign | 0x7c00;
  if (a < 0x1p-14) return sign | static_cast<uint64_t>(std::nearbyint(a * 0x1p24));
  int e;
  std::frexp(a, &e);                                       // a = m * 2^e, m in [0.5, 1)
  const double m = std::nearbyint(std::ldexp(a, 11 - e));  // 1024..2048
  return sign | ((static_cast<uint64_t>(e + 13) << 10) + static_cast<uint64_t>(m));
}

}  // namespace gfxgraph::emulator::spec

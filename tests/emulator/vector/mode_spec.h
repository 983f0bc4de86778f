// What vector floating point computes in modes other than the default one, a second time: exact
// values in MPFR's arbitrary precision, rounded once. Source: RDNA2 ISA guide, "Mode register".
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/emulator/vector/vector_spec.h"

namespace gfxgraph::emulator::spec {

// Of a type as in Spec::types.
struct Layout {
  int precision, smallest, largest;  // exponents of 2: of the smallest normal, above the largest
};
inline Layout layout_of(char type) {
  if (type == 'd') return {53, -1022, 1024};
  if (type == 'h') return {11, -14, 16};
  return {24, -126, 128};
}
inline double decode(char type, uint64_t b) {
  return type == 'd' ? f64(b) : type == 'h' ? f16(b) : static_cast<double>(f32(b));
}

struct Mode {
  uint32_t bits = 0x3f0;
  // `type` as in Spec::types: the single fields rule f and F, the double ones d and h.
  static bool single(char type) { return type == 'f' || type == 'F' || type == 'b' || type == '0'; }
  unsigned rounding(char type) const { return bits >> (single(type) ? 0 : 2) & 3; }
  bool flushes_inputs(char type) const { return (bits >> (single(type) ? 4 : 6) & 1) == 0; }
  bool flushes_results(char type) const { return (bits >> (single(type) ? 5 : 7) & 1) == 0; }
  bool dx10_clamp() const { return (bits >> 8 & 1) != 0; }
  bool ieee() const { return (bits >> 9 & 1) != 0; }
  bool is_default() const { return bits == 0x3f0; }
};

// Instructions that are the same in every mode but for modifiers of the result.
bool ignores_mode(const std::string& mnemonic);
// Zeros for denormals, by the type's size.
uint64_t flushed(char type, uint64_t value);
// What `mnemonic` does in `mode`, on flushed inputs; null: what it does in the default one.
using ModeRun = std::function<void(const In&, Out&, Mode)>;
const ModeRun* mode_run(const std::string& mnemonic);

}  // namespace gfxgraph::emulator::spec

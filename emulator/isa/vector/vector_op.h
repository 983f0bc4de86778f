// How vector ALU instructions are written here: a lane function (what one lane does, on typed
// values) becomes a kernel (what 32 lanes do, on rows) which the compiler vectorizes; a VectorOp
// describes it. Plain operand kinds of often-used ops get a handler of their own with the kernel
// inlined; everything else (modifiers, SDWA, DPP, rarer operand kinds) goes through the generic
// handler, which stages the sources in temporary rows and runs the same kernel.
//
// Compiled once per host instruction set; see the rules in inst.h.
#pragma once

#include <cstdint>

#include "emulator/decode/inst.h"
#include "emulator/engine/wave.h"
#include "emulator/isa/half.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {

// How an operand's bits are read. B32 is a 32-bit value that takes floating modifiers (v_mov,
// v_cndmask). 16-bit types use the low half of the register; P16 is a packed pair; Q is four
// dwords.
enum class T : uint8_t {
  kNone,
  kU32,
  kI32,
  kF32,
  kB32,
  kU64,
  kI64,
  kF64,
  kF16,
  kU16,
  kI16,
  kP16,
  kQ
};

constexpr bool is_wide(T t) { return t == T::kU64 || t == T::kI64 || t == T::kF64; }
constexpr bool is_half(T t) { return t == T::kF16 || t == T::kU16 || t == T::kI16; }
constexpr unsigned rows_of(T t) { return t == T::kQ ? 4 : is_wide(t) ? 2 : 1; }

// d: rows of the destination; mask: all ones in lanes to write; a, b, c: rows of the sources;
// `bits` and the result are lane masks (carry in and out, condition, comparison result). Results of
// lanes not in `mask` are unspecified bits.
using Kernel = uint32_t (*)(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                            const uint32_t* c, uint32_t bits);

struct VectorOp {
  enum Flag : uint8_t {
    kBitsFromSrc2 = 1,  // src2 is a lane mask
    kBitsFromVcc = 2,
    kBitsToSdst = 4,
    kBitsToDst = 8,  // a comparison: no vector destination
  };
  Kernel kernel = nullptr;
  Kernel clamp_kernel = nullptr;  // integer ops: saturating form
  Handler custom = nullptr;       // if set, all else is unused (but SDWA and DPP forms are refused)
  Handler modified = nullptr;     // VOP3P with modifiers
  Handler plain[8] = {};  // by operand kinds: bit n set = source n is no VGPR; null: generic
  T dst = T::kNone;
  T src[3] = {T::kNone, T::kNone, T::kNone};
  uint8_t flags = 0;
};

// ---- sources ------------------------------------------------------------------------------------

struct RowSource {
  const uint32_t* p;
  GFXGRAPH_INLINE uint32_t lo(unsigned l) const { return p[l]; }
  GFXGRAPH_INLINE uint32_t hi(unsigned l) const { return p[kLanes + l]; }
};
struct SplatSource {
  uint32_t v;
  uint32_t h;
  GFXGRAPH_INLINE uint32_t lo(unsigned) const { return v; }
  GFXGRAPH_INLINE uint32_t hi(unsigned) const { return h; }
};
struct NoSource {
  GFXGRAPH_INLINE uint32_t lo(unsigned) const { return 0; }
  GFXGRAPH_INLINE uint32_t hi(unsigned) const { return 0; }
};

template <class To, class From>
GFXGRAPH_INLINE constexpr To as(From value) {
  return __builtin_bit_cast(To, value);
}
GFXGRAPH_INLINE constexpr uint32_t bits_of(float f) { return as<uint32_t>(f); }
GFXGRAPH_INLINE constexpr uint64_t bits_of(double f) { return as<uint64_t>(f); }

template <T type, class Source>
GFXGRAPH_INLINE auto load(const Source& s, unsigned l) {
  if constexpr (type == T::kU32 || type == T::kB32 || type == T::kP16)
    return s.lo(l);
  else if constexpr (type == T::kI32)
    return static_cast<int32_t>(s.lo(l));
  else if constexpr (type == T::kF32)
    return as<float>(s.lo(l));
  else if constexpr (type == T::kU64)
    return static_cast<uint64_t>(s.hi(l)) << 32 | s.lo(l);
  else if constexpr (type == T::kI64)
    return static_cast<int64_t>(static_cast<uint64_t>(s.hi(l)) << 32 | s.lo(l));
  else if constexpr (type == T::kF64)
    return as<double>(static_cast<uint64_t>(s.hi(l)) << 32 | s.lo(l));
  else if constexpr (type == T::kF16)
    return half_to_float(s.lo(l));
  else if constexpr (type == T::kU16)
    return s.lo(l) & 0xffffu;
  else if constexpr (type == T::kI16)
    return static_cast<int32_t>(s.lo(l) << 16) >> 16;
  else
    return 0u;
}

template <T type, class Value>
GFXGRAPH_INLINE void store(uint32_t* d, unsigned l, uint32_t m, Value value) {
  if constexpr (is_wide(type)) {
    const uint64_t v = as<uint64_t>(value);
    d[l] = (static_cast<uint32_t>(v) & m) | (d[l] & ~m);
    d[kLanes + l] = (static_cast<uint32_t>(v >> 32) & m) | (d[kLanes + l] & ~m);
  } else {
    uint32_t v;
    if constexpr (type == T::kF16)
      v = (float_to_half(value) & 0xffffu) | (d[l] & 0xffff0000u);
    else if constexpr (is_half(type))
      v = (static_cast<uint32_t>(value) & 0xffffu) | (d[l] & 0xffff0000u);
    else
      v = as<uint32_t>(value);
    d[l] = (v & m) | (d[l] & ~m);
  }
}

// ---- kernels ------------------------------------------------------------------------------------

// Lanes do not depend on each other: registers overlap lane by lane or not at all.
#ifdef __clang__
#define GFXGRAPH_LANES for (unsigned l = 0; l < kLanes; ++l)
#else
#define GFXGRAPH_LANES _Pragma("GCC ivdep") for (unsigned l = 0; l < kLanes; ++l)
#endif

// A lane mask for when EXEC is full: the old contents of the destination are not read.
struct AllLanes {
  GFXGRAPH_INLINE constexpr uint32_t operator[](unsigned) const { return ~0u; }
};

// F: (a[, b[, c]]) -> d, a captureless lambda.
template <auto F, T D, T A, T B = T::kNone, T C = T::kNone>
struct LaneOp {
  static constexpr T kDst = D;
  static constexpr T kSrc[3] = {A, B, C};
  template <class Mask, class SA, class SB, class SC>
  GFXGRAPH_INLINE static void run(uint32_t* d, Mask mask, SA a, SB b, SC c) {
    GFXGRAPH_LANES {
      if constexpr (C != T::kNone) {
        store<D>(d, l, mask[l], F(load<A>(a, l), load<B>(b, l), load<C>(c, l)));
      } else if constexpr (B != T::kNone) {
        store<D>(d, l, mask[l], F(load<A>(a, l), load<B>(b, l)));
      } else {
        store<D>(d, l, mask[l], F(load<A>(a, l)));
      }
    }
  }
  static uint32_t kernel(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                         const uint32_t* c, uint32_t) {
    run(d, mask, RowSource{a}, RowSource{b}, RowSource{c});
    return 0;
  }
};

template <class O, unsigned N, unsigned Kinds>
GFXGRAPH_INLINE auto plain_source(const Wave& w, const Inst* i) {
  if constexpr (O::kSrc[N] == T::kNone) {
    return NoSource{};
  } else if constexpr ((Kinds >> N & 1) == 0) {
    return RowSource{w.v(i->src[N]).lane};
  } else if constexpr (is_wide(O::kSrc[N])) {
    const uint64_t v = w.read64(i, N);
    return SplatSource{static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
  } else {
    return SplatSource{w.read32(i, N), 0};
  }
}

template <class O, unsigned Kinds>
const Inst* plain_handler(Wave& w, const Inst* i) {
  uint32_t* d = w.v(i->dst).lane;
  const auto a = plain_source<O, 0, Kinds>(w, i);
  const auto b = plain_source<O, 1, Kinds>(w, i);
  const auto c = plain_source<O, 2, Kinds>(w, i);
  if constexpr (requires { O::run(d, AllLanes(), a, b, c); }) {
    if (w.exec() == ~0u) {
      O::run(d, AllLanes(), a, b, c);
      return i->next();
    }
  }
  O::run(d, static_cast<const uint32_t*>(w.exec_mask.lane), a, b, c);
  return i->next();
}

template <class O>
constexpr VectorOp describe() {
  VectorOp op;
  op.kernel = O::kernel;
  op.dst = O::kDst;
  for (int n = 0; n < 3; ++n) op.src[n] = O::kSrc[n];
  return op;
}

// For rarer ops: the generic handler only.
template <auto F, T D, T A, T B = T::kNone, T C = T::kNone>
constexpr VectorOp lane() {
  return describe<LaneOp<F, D, A, B, C>>();
}

// For common ops: own handlers for VGPR sources and one scalar source.
template <class O>
constexpr VectorOp hot_op() {
  VectorOp op = describe<O>();
  op.plain[0] = plain_handler<O, 0>;
  op.plain[1] = plain_handler<O, 1>;
  if constexpr (O::kSrc[1] != T::kNone) op.plain[2] = plain_handler<O, 2>;
  if constexpr (O::kSrc[2] != T::kNone) {
    op.plain[4] = plain_handler<O, 4>;
    op.plain[6] = plain_handler<O, 6>;
  }
  return op;
}
template <auto F, T D, T A, T B = T::kNone, T C = T::kNone>
constexpr VectorOp hot() {
  return hot_op<LaneOp<F, D, A, B, C>>();
}

constexpr VectorOp with_clamp(VectorOp op, Kernel kernel) {
  op.clamp_kernel = kernel;
  return op;
}
constexpr VectorOp custom(Handler handler) {
  VectorOp op;
  op.custom = handler;
  return op;
}

// The table of an instruction set, filled by the families.
struct VectorTable {
  VectorOp op[static_cast<unsigned>(Op::kCount)];
  GFXGRAPH_INLINE VectorOp& operator[](Op o) { return op[static_cast<unsigned>(o)]; }
};
void add_float32(VectorTable& t);
void add_float64(VectorTable& t);
void add_float16(VectorTable& t);
void add_integer(VectorTable& t);
void add_integer_bits(VectorTable& t);
void add_integer16(VectorTable& t);
void add_carry(VectorTable& t);
void add_convert(VectorTable& t);
void add_transcendental(VectorTable& t);
void add_division(VectorTable& t);
void add_compare(VectorTable& t);
void add_compare_float(VectorTable& t);
void add_packed(VectorTable& t);
void add_dot(VectorTable& t);
void add_lane_moves(VectorTable& t);

const Inst* generic_handler(Wave& w, const Inst* i);
const VectorTable& vector_table();

// ---- helpers of the families --------------------------------------------------------------------

GFXGRAPH_INLINE uint32_t select(bool condition, uint32_t yes, uint32_t no) {
  return condition ? yes : no;
}

// A bit for each lane whose word is all ones; the others are zero.
GFXGRAPH_INLINE uint32_t lane_bits(const Row& conditions) {
  uint32_t bits = 0;
#if defined(__AVX512DQ__)
  for (unsigned l = 0; l < kLanes; l += 16)
    bits |= uint32_t{_mm512_movepi32_mask(_mm512_load_si512(&conditions.lane[l]))} << l;
#elif defined(__AVX2__)
  for (unsigned l = 0; l < kLanes; l += 8) {
    const auto* eight = reinterpret_cast<const __m256i*>(&conditions.lane[l]);
    const __m256 signs = _mm256_castsi256_ps(_mm256_load_si256(eight));
    bits |= static_cast<uint32_t>(_mm256_movemask_ps(signs)) << l;
  }
#else
  for (unsigned l = 0; l < kLanes; ++l) bits |= conditions.lane[l] & (1u << l);
#endif
  return bits;
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator

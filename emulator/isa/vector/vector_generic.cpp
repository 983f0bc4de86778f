// The generic handler: source modifiers, op_sel, SDWA and DPP by staging rows around an op's
// kernel; and the choice of a handler for each decoded instruction. Source: RDNA2 ISA
// guide 6.2, 6.4 (SDWA, DPP), 13.3.
#include "emulator/isa/isa.h"
#include "emulator/isa/vector/vector_mode.h"
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

struct Staged {
  Row row[4];
};

// ---- sources ----

GFXGRAPH_INLINE void negate_and_abs(T type, bool neg, bool abs, uint32_t* rows) {
  uint32_t* r = type == T::kF64 ? rows + kLanes : rows;
  const uint32_t sign = is_half(type) ? 0x8000u : 0x80000000u;
  const uint32_t keep = abs ? ~sign : ~0u;
  const uint32_t flip = neg ? sign : 0u;
  for (unsigned l = 0; l < kLanes; ++l) r[l] = (r[l] & keep) ^ flip;
}

// SDWA selector: 0..3 a byte, 4..5 a word, 6 the whole register.
// `to` and `from`: the same row, or two.
GFXGRAPH_INLINE void sdwa_select(uint32_t selector, bool sign_extend, uint32_t* to,
                                 const uint32_t* from) {
  if (selector >= 6) return;
  const unsigned width = selector < 4 ? 8 : 16;
  const unsigned shift = selector < 4 ? 8 * selector : 16 * (selector - 4);
  const unsigned up = 32 - width;
  const uint32_t field = width == 8 ? 0xffu : 0xffffu;
  if (sign_extend) {
    GFXGRAPH_LANES to[l] =
        static_cast<uint32_t>(static_cast<int32_t>(from[l] >> shift << up) >> up);
  } else {
    GFXGRAPH_LANES to[l] = from[l] >> shift & field;
  }
}

// DPP16: the lane that lane `l` reads; kLanes: none. Rows are 16 lanes.
constexpr unsigned dpp16_lane(uint32_t control, unsigned l) {
  const unsigned row = l & ~15u;
  const unsigned i = l & 15u;
  const unsigned n = control & 15u;
  if (control < 0x100) return (l & ~3u) | (control >> (2 * (l & 3u)) & 3u);
  if (control <= 0x10f) return i + n < 16 ? row + i + n : kLanes;  // row_shl
  if (control <= 0x11f) return i >= n ? row + i - n : kLanes;      // row_shr
  if (control <= 0x12f) return row + ((i - n) & 15u);              // row_ror
  if (control == 0x140) return row + 15 - i;                       // row_mirror
  if (control == 0x141) return (l & ~7u) + 7 - (l & 7u);           // row_half_mirror
  if (control >= 0x150 && control <= 0x15f) return row + n;        // row_share
  if (control >= 0x160 && control <= 0x16f) return row + (i ^ n);  // row_xmask
  return kLanes;
}

struct Dpp16Lanes {
  uint8_t from[0x170][kLanes] = {};
  constexpr Dpp16Lanes() {
    for (uint32_t control = 0; control < 0x170; ++control)
      for (unsigned l = 0; l < kLanes; ++l)
        from[control][l] = static_cast<uint8_t>(dpp16_lane(control, l));
  }
};
constexpr Dpp16Lanes kDpp16Lanes;

bool dpp16_known(uint32_t control) {
  return control < 0x100 || (control > 0x100 && control <= 0x10f) ||
         (control > 0x110 && control <= 0x11f) || (control > 0x120 && control <= 0x12f) ||
         control == 0x140 || control == 0x141 || (control >= 0x150 && control <= 0x16f);
}

// Permutes `rows` and returns the lanes whose result may be written.
uint32_t dpp16(const Wave& w, uint32_t control_word, uint32_t* rows) {
  const uint8_t* from = kDpp16Lanes.from[control_word >> 8 & 0x1ff];  // known: see form_supported()
  const uint32_t fetch_inactive = (control_word >> 18 & 1) != 0 ? ~0u : 0u;
  const bool bound_control = (control_word >> 19 & 1) != 0;
  const uint32_t bank_mask = control_word >> 24 & 15;
  const uint32_t row_mask = control_word >> 28;
  uint32_t out[kLanes];
  uint32_t valid_lanes = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned lane = from[l] & 31u;
    const uint32_t inside = from[l] < kLanes ? ~0u : 0u;
    const uint32_t valid = inside & (w.exec_mask.lane[lane] | fetch_inactive);
    out[l] = rows[lane] & valid;
    valid_lanes |= valid & (1u << l);
  }
  for (unsigned l = 0; l < kLanes; ++l) rows[l] = out[l];
  uint32_t bank_lanes = 0;
  for (unsigned n = 0; n < 4; ++n)
    bank_lanes |= (bank_mask >> n & 1u) != 0 ? 0x000f000fu << (4 * n) : 0;
  const uint32_t row_lanes =
      ((row_mask & 1) != 0 ? 0xffffu : 0) | ((row_mask & 2) != 0 ? 0xffff0000u : 0);
  return bank_lanes & row_lanes & (bound_control ? ~0u : valid_lanes);
}

void dpp8(const Wave& w, uint32_t control_word, uint32_t* rows) {
  const bool fetch_inactive = (control_word & 1) != 0;
  uint32_t out[kLanes];
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned from = (l & ~7u) + (control_word >> (8 + 3 * (l & 7u)) & 7u);
    out[l] = fetch_inactive || (w.exec() >> from & 1u) != 0 ? rows[from] : 0;
  }
  for (unsigned l = 0; l < kLanes; ++l) rows[l] = out[l];
}

// Returns the rows of source n: the register's own rows, or `staged` if they need changes. Removes
// from `writable` the lanes that DPP disables.
const uint32_t* stage(const Wave& w, const Inst* i, const VectorOp& op, int n, Staged& staged,
                      uint32_t& writable) {
  const T type = op.src[n];
  const unsigned rows = rows_of(type);
  const uint16_t code = i->src[n];
  const VopExtra extra = i->extra();
  const bool packed = i->format == Format::kVop3p;
  const bool neg = !packed && (i->neg() >> n & 1) != 0;
  const bool abs = !packed && (i->abs() >> n & 1) != 0;
  const bool high = i->format == Format::kVop3 && is_half(type) && (i->op_sel() >> n & 1) != 0;
  const bool changed = neg || abs || high || (extra != VopExtra::kNone && n < 2);
  uint32_t* out = staged.row[0].lane;
  if (operand::is_vgpr(code)) {
    const uint32_t* in = w.v(code).lane;
    if (!changed) return in;
    for (unsigned l = 0; l < rows * kLanes; ++l) out[l] = in[l];
  } else {
    const uint64_t v = rows == 1 ? w.read32(i, n) : w.read64(i, n);
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned l = 0; l < kLanes; ++l)
        out[r * kLanes + l] = r < 2 ? static_cast<uint32_t>(v >> (32 * r)) : 0;
  }
  if (!changed) return out;
  const uint32_t control = static_cast<uint32_t>(i->imm);
  if (extra == VopExtra::kSdwa && n < 2) {
    sdwa_select(control >> (n == 0 ? 16 : 24) & 7, (control >> (n == 0 ? 19 : 27) & 1) != 0, out,
                out);
  } else if (extra == VopExtra::kDpp16 && n == 0) {
    writable &= dpp16(w, control, out);
  } else if (extra == VopExtra::kDpp8 && n == 0) {
    dpp8(w, control, out);
  }
  if (high)
    for (unsigned l = 0; l < kLanes; ++l) out[l] >>= 16;
  if (neg || abs) negate_and_abs(type, neg, abs, out);
  return out;
}

// ---- results ----

float omod32(float v, uint32_t omod) {
  return omod == 1 ? v * 2.0f : omod == 2 ? v * 4.0f : omod == 3 ? v * 0.5f : v;
}
double omod64(double v, uint32_t omod) {
  return omod == 1 ? v * 2.0 : omod == 2 ? v * 4.0 : omod == 3 ? v * 0.5 : v;
}

// ISA guide 6.2.4: the hardware ignores output modifiers in IEEE mode and if output denormals are
// enabled.
bool omod_applies(const Wave& w, T type) {
  const bool ieee = (w.mode >> 9 & 1) != 0;
  const bool denormals = !FloatMode{w.mode}.flushes_results(type);
  return !ieee && !denormals;
}

// With DX10_CLAMP a NaN becomes 0. -0 becomes +0.
template <class F>
F clamp01(F v, bool nan_to_zero) {
  if (v != v && !nan_to_zero) return v;
  return v > F(0) ? (v < F(1) ? v : F(1)) : F(0);
}

// After output modifiers -0 is +0 and denormals are flushed (they apply only then).
void scale_float(T type, uint32_t omod, uint32_t* d) {
  for (unsigned l = 0; l < kLanes; ++l) {
    if (type == T::kF64) {
      const double v = omod64(as<double>(static_cast<uint64_t>(d[kLanes + l]) << 32 | d[l]), omod);
      d[l] = static_cast<uint32_t>(bits_of(v));
      d[kLanes + l] = static_cast<uint32_t>(bits_of(v) >> 32);
    } else if (type == T::kF16) {
      d[l] = float_to_half(omod32(half_to_float(d[l]), omod));
    } else {
      d[l] = bits_of(omod32(as<float>(d[l]), omod));
    }
  }
  flush_denormals(type, d);
  uint32_t* const sign = type == T::kF64 ? d + kLanes : d;
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint32_t low = type == T::kF64 ? d[l] : 0;
    if (type == T::kF16)
      sign[l] = (sign[l] & 0x7fffu) == 0 ? 0 : sign[l];
    else
      sign[l] = (sign[l] & 0x7fffffffu) == 0 && low == 0 ? 0 : sign[l];
  }
}

void clamp_float(T type, bool nan_to_zero, uint32_t* d) {
  for (unsigned l = 0; l < kLanes; ++l) {
    if (type == T::kF64) {
      const double v =
          clamp01(as<double>(static_cast<uint64_t>(d[kLanes + l]) << 32 | d[l]), nan_to_zero);
      d[l] = static_cast<uint32_t>(bits_of(v));
      d[kLanes + l] = static_cast<uint32_t>(bits_of(v) >> 32);
    } else if (type == T::kF16) {
      d[l] = float_to_half(clamp01(half_to_float(d[l]), nan_to_zero));
    } else {
      d[l] = bits_of(clamp01(as<float>(d[l]), nan_to_zero));
    }
  }
}

// SDWA destination: places the result in a byte or word; dst_unused sets the other bits (0 zeros, 1
// sign, 2 kept).
uint32_t sdwa_place(uint32_t control, uint32_t value, uint32_t old) {
  const uint32_t selector = control >> 8 & 7;
  const uint32_t unused = control >> 11 & 3;
  if (selector >= 6) return value;
  const unsigned width = selector < 4 ? 8 : 16;
  const unsigned shift = selector < 4 ? 8 * selector : 16 * (selector - 4);
  const uint32_t field = (width == 8 ? 0xffu : 0xffffu) << shift;
  const uint32_t placed = value << shift & field;
  if (unused == 2) return placed | (old & ~field);
  if (unused == 1) {
    const unsigned up = 32 - width - shift;
    return static_cast<uint32_t>(static_cast<int32_t>(placed << up) >> up);
  }
  return placed;
}

void finish(Wave& w, const Inst* i, const VectorOp& op, Staged& result, const uint32_t* mask) {
  const T type = op.dst;
  const bool is_float = type == T::kF32 || type == T::kB32 || type == T::kF64 || type == T::kF16;
  const uint32_t omod = omod_applies(w, type) ? i->omod() : 0;
  if (is_float && omod != 0) scale_float(type, omod, result.row[0].lane);
  if (is_float && i->clamp())
    clamp_float(type, FloatMode{w.mode}.nan_clamps_to_zero(), result.row[0].lane);
  uint32_t* d = w.v(i->dst).lane;
  const bool sdwa = i->extra() == VopExtra::kSdwa;
  const bool high = i->format == Format::kVop3 && (i->op_sel() & 8) != 0;
  for (unsigned r = 0; r < rows_of(type); ++r) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const uint32_t old = d[r * kLanes + l];
      uint32_t v = result.row[r].lane[l];
      if (is_half(type)) v &= 0xffffu;
      if (sdwa)
        v = sdwa_place(static_cast<uint32_t>(i->imm), v, old);
      else if (is_half(type))
        v = high ? v << 16 | (old & 0xffffu) : v | (old & 0xffff0000u);
      d[r * kLanes + l] = (v & mask[l]) | (old & ~mask[l]);
    }
  }
}

// Whether the result needs further processing after the kernel.
bool changes_result(const Inst* i, const VectorOp& op) {
  if (i->extra() == VopExtra::kSdwa) return true;
  if (i->omod() != 0 && i->format != Format::kVop3p) return true;
  if (i->clamp() && op.clamp_kernel == nullptr) return true;
  return i->format == Format::kVop3 && is_half(op.dst) && (i->op_sel() & 8) != 0;
}

void write_bits(Wave& w, const Inst* i, uint32_t bits) {
  if (i->dst == operand::kExecLo)
    w.set_exec(bits);
  else
    w.write32(i->dst, bits);
}

// Null, or why this form of the instruction is unsupported.
bool form_supported(const Inst& i, const VectorOp& op) {
  const bool is_float =
      op.dst == T::kF32 || op.dst == T::kF64 || op.dst == T::kF16 || op.dst == T::kB32;
  if (i.extra() == VopExtra::kDpp16 && !dpp16_known(static_cast<uint32_t>(i.imm) >> 8 & 0x1ff))
    return false;
  if (i.format == Format::kVop3p) {
    // Integer dot products have no neg; those of bytes and nibbles use whole registers.
    if (op.dst == T::kU32 && (i.neg() | i.abs()) != 0) return false;
    return op.modified != nullptr || (i.op_sel() == 0 && (i.op_sel_hi() & 3) == 3);
  }
  if (i.omod() != 0 && !is_float) return false;
  if (i.clamp() && !is_float && op.clamp_kernel == nullptr &&
      (op.flags & VectorOp::kBitsToDst) == 0)
    return false;
  for (unsigned n = 0; n < 3; ++n) {
    const T type = op.src[n];
    const bool takes = type == T::kF32 || type == T::kB32 || type == T::kF64 || type == T::kF16;
    if (!takes && type != T::kNone && ((i.neg() | i.abs()) >> n & 1) != 0) return false;
  }
  return true;
}

// ---- SDWA with a whole register as destination, the common form ----

// Source n with its byte or word selected: the register itself, or `staged`.
GFXGRAPH_INLINE const uint32_t* sdwa_source(const Wave& w, const Inst* i, int n, Row& staged) {
  const uint32_t control = static_cast<uint32_t>(i->imm) >> (n == 0 ? 16 : 24);
  const uint16_t code = i->src[n];
  const uint32_t* in = staged.lane;
  if (operand::is_vgpr(code)) {
    in = w.v(code).lane;
    if ((control & 7) >= 6) return in;
  } else {
    const uint32_t v = w.read32(i, n);
    for (unsigned l = 0; l < kLanes; ++l) staged.lane[l] = v;
  }
  sdwa_select(control & 7, (control >> 3 & 1) != 0, staged.lane, in);
  return staged.lane;
}

const Inst* sdwa_handler(Wave& w, const Inst* i) {
  Row staged[2];
  const uint32_t* a = sdwa_source(w, i, 0, staged[0]);
  const uint32_t* b = i->src[1] == operand::kNone ? nullptr : sdwa_source(w, i, 1, staged[1]);
  reinterpret_cast<Kernel>(i->k[2])(w.v(i->dst).lane, w.exec_mask.lane, a, b, nullptr, 0);
  return i->next();
}

bool is_plain_sdwa(const Inst& inst, const VectorOp& op) {
  const bool whole = (static_cast<uint32_t>(inst.imm) >> 8 & 7) >= 6;
  return inst.extra() == VopExtra::kSdwa && whole && (inst.mods & vmod::kAny) == 0 &&
         op.flags == 0 && op.src[2] == T::kNone && !is_half(op.dst) && rows_of(op.dst) == 1 &&
         !is_wide(op.src[0]) && !is_wide(op.src[1]);
}

struct FilledTable : VectorTable {
  FilledTable() {
    add_float32(*this);
    add_float64(*this);
    add_float16(*this);
    add_integer(*this);
    add_integer_bits(*this);
    add_integer16(*this);
    add_carry(*this);
    add_convert(*this);
    add_transcendental(*this);
    add_division(*this);
    add_compare(*this);
    add_compare_float(*this);
    add_packed(*this);
    add_dot(*this);
    add_lane_moves(*this);
  }
};

bool plain_form(const Inst& inst, const VectorOp& op) {
  if (inst.extra() != VopExtra::kNone) return false;
  if (inst.format != Format::kVop3p) return (inst.mods & vmod::kAny) == 0;
  // VOP3P: without modifiers op_sel_hi takes the upper halves.
  if (op.modified == nullptr) return !inst.clamp();
  const uint32_t defaults = 7u << vmod::kOpSelHiShift;
  return ((inst.mods & vmod::kAny) | 4u << vmod::kOpSelHiShift) == defaults;
}

}  // namespace

const VectorTable& vector_table() {
  static const FilledTable table;
  return table;
}

const Inst* generic_handler(Wave& w, const Inst* i) {
  const VectorOp& op = vector_table().op[static_cast<unsigned>(i->op)];
  Staged staged[3];
  const uint32_t* source[3] = {nullptr, nullptr, nullptr};
  uint32_t writable = ~0u;
  for (int n = 0; n < 3; ++n)
    if (op.src[n] != T::kNone) source[n] = stage(w, i, op, n, staged[n], writable);
  uint32_t bits = 0;
  if ((op.flags & VectorOp::kBitsFromSrc2) != 0) bits = w.read32(i, 2);
  if ((op.flags & VectorOp::kBitsFromVcc) != 0) bits = w.sgpr[operand::kVccLo];
  const Kernel kernel = i->clamp() && op.clamp_kernel != nullptr ? op.clamp_kernel : op.kernel;
  const uint32_t active = w.exec() & writable;
  Row dpp_mask;
  const uint32_t* mask = w.exec_mask.lane;
  if (writable != ~0u) {
    Wave::expand_mask(active, dpp_mask);
    mask = dpp_mask.lane;
  }
  if ((op.flags & VectorOp::kBitsToDst) != 0) {
    write_bits(w, i, kernel(nullptr, mask, source[0], source[1], source[2], bits) & active);
    return i->next();
  }
  if (!changes_result(i, op)) {
    const uint32_t out = kernel(w.v(i->dst).lane, mask, source[0], source[1], source[2], bits);
    if ((op.flags & VectorOp::kBitsToSdst) != 0) w.write32(i->sdst, out & active);
    return i->next();
  }
  Staged result{};
  Row all;
  Wave::expand_mask(~0u, all);
  const uint32_t out = kernel(result.row[0].lane, all.lane, source[0], source[1], source[2], bits);
  finish(w, i, op, result, mask);
  if ((op.flags & VectorOp::kBitsToSdst) != 0) w.write32(i->sdst, out & active);
  return i->next();
}

const Inst* generic_in_mode(Wave& w, const Inst* i) {
  const VectorOp& op = vector_table().op[static_cast<unsigned>(i->op)];
  const FloatMode mode{w.mode};
  Staged staged[3];
  const uint32_t* source[3] = {nullptr, nullptr, nullptr};
  uint32_t writable = ~0u;
  for (int n = 0; n < 3; ++n) {
    if (op.src[n] == T::kNone) continue;
    source[n] = stage(w, i, op, n, staged[n], writable);
    if (!flushes_source(i->op, mode, op.src[n])) continue;
    uint32_t* own = staged[n].row[0].lane;
    if (source[n] != own)
      for (unsigned l = 0; l < rows_of(op.src[n]) * kLanes; ++l) own[l] = source[n][l];
    flush_denormals(op.src[n], own);
    source[n] = own;
  }
  uint32_t bits = 0;
  if ((op.flags & VectorOp::kBitsFromSrc2) != 0) bits = w.read32(i, 2);
  if ((op.flags & VectorOp::kBitsFromVcc) != 0) bits = w.sgpr[operand::kVccLo];
  const uint32_t active = w.exec() & writable;
  Row mask, all;
  Wave::expand_mask(active, mask);
  Wave::expand_mask(~0u, all);
  Staged result{};
  const uint32_t out = run_in_mode(mode, i->op, op.kernel, result.row[0].lane, all.lane, source[0],
                                   source[1], source[2], bits);
  if ((op.flags & VectorOp::kBitsToDst) != 0) {
    write_bits(w, i, out & active);
    return i->next();
  }
  finish(w, i, op, result, mask.lane);
  if ((op.flags & VectorOp::kBitsToSdst) != 0) w.write32(i->sdst, out & active);
  return i->next();
}

// `kinds`: the sources that are not VGPRs, one bit each.
static Handler bind_usual_mode(Inst& inst, const VectorOp& op, unsigned kinds) {
  if (op.custom != nullptr) return inst.extra() == VopExtra::kNone ? op.custom : nullptr;
  if (op.kernel == nullptr) return nullptr;
  if (!form_supported(inst, op)) return nullptr;
  if (plain_form(inst, op)) {
    if (op.plain[kinds] != nullptr) return op.plain[kinds];
  } else if (op.modified != nullptr) {
    return op.modified;
  } else if (is_plain_sdwa(inst, op)) {
    inst.k[2] = reinterpret_cast<uint64_t>(op.kernel);
    return sdwa_handler;
  }
  return generic_handler;
}

static Handler bind_vector(Inst& inst) {
  const VectorOp& op = vector_table().op[static_cast<unsigned>(inst.op)];
  unsigned kinds = 0;
  for (unsigned n = 0; n < 3; ++n)
    if (op.src[n] != T::kNone && !operand::is_vgpr(inst.src[n])) kinds |= 1u << n;
  const Handler usual = bind_usual_mode(inst, op, kinds);
  if (usual == nullptr || (inst.flags & Inst::kAnyMode) == 0) return usual;
  return bind_any_mode(inst, op, usual, kinds);
}

const VectorBinder kVectorBinder = {bind_vector};

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator

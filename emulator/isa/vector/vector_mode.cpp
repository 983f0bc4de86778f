// Which instructions depend on MODE and how; see vector_mode.h.
#include "emulator/isa/vector/vector_mode.h"

#include "emulator/isa/vector/vector_float.h"
#include "emulator/isa/vector/vector_mode_half.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

constexpr T F = T::kF32, D = T::kF64, H = T::kF16;

enum class Use : uint8_t {
  kByType,   // depends on the types of operands and result
  kNearest,  // like kByType, but rounds to nearest, or needs no rounding
  kFixed,    // the same in all modes
};

struct ModeRule {
  Use use = Use::kByType;
  bool native = false;        // the plain handlers are correct once MXCSR is set
  Kernel half = nullptr;      // result before its rounding to binary16, as binary32
  Kernel half_odd = nullptr;  // the same for rounding to nearest, if it differs
  Kernel directed = nullptr;  // for rounding modes other than to nearest
  Kernel without_ieee = nullptr;
};

// ---- binary16 arithmetic without the last rounding ----

template <auto G, T A, T B = T::kNone, T C = T::kNone>
constexpr Kernel kernel_of() {
  return LaneOp<G, F, A, B, C>::kernel;
}
constexpr auto kAdd = [](float a, float b) { return a + b; };
constexpr auto kSub = [](float a, float b) { return a - b; };
constexpr auto kSubrev = [](float a, float b) { return b - a; };
constexpr auto kMul = [](float a, float b) { return a * b; };
// The product is exact; the sum is rounded in the direction of the result.
constexpr auto kFmaDirected = [](float a, float b, float c) { return c != c ? c + c : a * b + c; };
constexpr auto kFmaOdd = [](float a, float b, float c) { return fma_half(a, b, c); };
constexpr auto kFract = [](float a) {
  const float r = a - __builtin_floorf(a);
  return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r;
};
constexpr auto kLdexp = [](float a, int32_t n) {
  const int32_t e = n < -60 ? -60 : n > 60 ? 60 : n;
  return a * as<float>(static_cast<uint32_t>(127 + e) << 23);
};

// ---- div_fmas, rounded in a direction: each step rounds in that direction ----

template <class V, class Wide>
uint32_t div_fmas_directed(uint32_t* d, const uint32_t* mask, const uint32_t* a, const uint32_t* b,
                           const uint32_t* c, uint32_t bits) {
  constexpr bool kSingle = sizeof(V) == 4;
  constexpr T type = kSingle ? F : D;
  for (unsigned l = 0; l < kLanes; ++l) {
    const V x = load<type>(RowSource{a}, l), y = load<type>(RowSource{b}, l),
            z = load<type>(RowSource{c}, l);
    const auto exponent = bits_of(z) >> (kSingle ? 23 : 52) & (kSingle ? 0xff : 0x7ff);
    const bool large = exponent > (kSingle ? 127 : 1023);
    const Wide scale = (bits >> l & 1) == 0 ? Wide(1)
                       : kSingle            ? (large ? Wide(0x1p64) : Wide(0x1p-64))
                                            : (large ? Wide(0x1p128) : Wide(0x1p-128));
    V r;
    if constexpr (kSingle)
      r = static_cast<V>(__builtin_fma(Wide(x), Wide(y), Wide(z)) * scale);
    else
      r = (bits >> l & 1) == 0 ? __builtin_fma(x, y, z) : static_cast<V>((Wide(x) * y + z) * scale);
    store<type>(d, l, mask[l], r);
  }
  return 0;
}

// ---- minimum and maximum without IEEE: ISA guide V_MIN_F32, V_MAX_F32, V_MED3_F32 ----

template <class V>
V min_dx(V a, V b) {
  if (a != a) return b;
  if (b != b) return a;
  return a < b || (a == b && order(a) < order(b)) ? a : b;
}
template <class V>
V max_dx(V a, V b) {
  if (a != a) return b;
  if (b != b) return a;
  return a > b || (a == b && order(a) > order(b)) ? a : b;
}
template <class V>
V med3_dx(V a, V b, V c) {
  if (a != a || b != b || c != c) return min_dx(min_dx(a, b), c);
  const V m = max_dx(max_dx(a, b), c);
  return m == a ? max_dx(b, c) : m == b ? max_dx(a, c) : max_dx(a, b);
}
constexpr auto kMinDx = [](auto a, auto b) { return min_dx(a, b); };
constexpr auto kMaxDx = [](auto a, auto b) { return max_dx(a, b); };
constexpr auto kMin3Dx = [](auto a, auto b, auto c) { return min_dx(min_dx(a, b), c); };
constexpr auto kMax3Dx = [](auto a, auto b, auto c) { return max_dx(max_dx(a, b), c); };
constexpr auto kMed3Dx = [](auto a, auto b, auto c) { return med3_dx(a, b, c); };

// ---- the rules ----

struct Rules {
  ModeRule rule[static_cast<unsigned>(Op::kCount)];
  ModeRule& operator[](Op op) { return rule[static_cast<unsigned>(op)]; }
  void use(Use use, std::initializer_list<Op> ops) {
    for (const Op op : ops) (*this)[op].use = use;
  }
  void native(std::initializer_list<Op> ops) {
    for (const Op op : ops) (*this)[op].native = true;
  }
  void half(Op op, Kernel kernel, Kernel odd = nullptr) {
    (*this)[op].half = kernel;
    (*this)[op].half_odd = odd;
  }
  void add_fixed();
  void add_nearest();
  void add_native();
  void add_halves();
  void add_extremes();
  Rules() {
    add_fixed();
    add_nearest();
    add_native();
    add_halves();
    add_extremes();
    // The plain conversion turns 0 into -0 when rounding down.
    (*this)[Op::v_cvt_f32_u32].directed =
        kernel_of<[](uint32_t a) { return static_cast<float>(int64_t{a}); }, T::kU32>();
    (*this)[Op::v_div_fmas_f32].directed = div_fmas_directed<float, double>;
    (*this)[Op::v_div_fmas_f64].directed = div_fmas_directed<double, __float128>;
  }
};

void Rules::add_fixed() {
  // These flush denormals in every mode.
  use(Use::kFixed, {Op::v_rcp_f32, Op::v_rcp_iflag_f32, Op::v_rsq_f32, Op::v_sqrt_f32,
                    Op::v_exp_f32, Op::v_log_f32, Op::v_sin_f32, Op::v_cos_f32});
  // These examine the bits.
  use(Use::kFixed, {Op::v_cmp_class_f16, Op::v_cmpx_class_f16, Op::v_cmp_class_f32,
                    Op::v_cmpx_class_f32, Op::v_cmp_class_f64, Op::v_cmpx_class_f64});
  // These are exact, and a denormal gives the same zero as when flushed.
  use(Use::kFixed,
      {Op::v_cvt_u32_f32, Op::v_cvt_i32_f32, Op::v_cvt_u32_f64, Op::v_cvt_i32_f64,
       Op::v_cvt_f32_ubyte0, Op::v_cvt_f32_ubyte1, Op::v_cvt_f32_ubyte2, Op::v_cvt_f32_ubyte3,
       Op::v_cvt_off_f32_i4, Op::v_cvt_f64_i32, Op::v_cvt_f64_u32, Op::v_trunc_f32, Op::v_trunc_f64,
       Op::v_rndne_f32, Op::v_rndne_f64});
}

void Rules::add_nearest() {
  use(Use::kNearest,
      {Op::v_rcp_f64,       Op::v_rsq_f64,       Op::v_sqrt_f64,       Op::v_rcp_f16,
       Op::v_rsq_f16,       Op::v_sqrt_f16,      Op::v_exp_f16,        Op::v_log_f16,
       Op::v_sin_f16,       Op::v_cos_f16,       Op::v_div_scale_f32,  Op::v_div_scale_f64,
       Op::v_div_fixup_f32, Op::v_div_fixup_f64, Op::v_frexp_mant_f32, Op::v_frexp_mant_f64,
       Op::v_min_f32,       Op::v_max_f32,       Op::v_min3_f32,       Op::v_max3_f32,
       Op::v_med3_f32,      Op::v_min_f64,       Op::v_trig_preop_f64, Op::v_max_f64});
}

void Rules::add_native() {
  native({Op::v_add_f32, Op::v_sub_f32, Op::v_subrev_f32, Op::v_mul_f32, Op::v_fma_f32,
          Op::v_fmac_f32, Op::v_fmamk_f32, Op::v_fmaak_f32, Op::v_ceil_f32, Op::v_floor_f32,
          Op::v_ldexp_f32, Op::v_cvt_f32_i32, Op::v_add_f64, Op::v_mul_f64, Op::v_fma_f64});
#define GFXGRAPH_NATIVE(relation)                                                              \
  native({Op::v_cmp_##relation##_f32, Op::v_cmpx_##relation##_f32, Op::v_cmp_##relation##_f64, \
          Op::v_cmpx_##relation##_f64})
  GFXGRAPH_NATIVE(f);
  GFXGRAPH_NATIVE(lt);
  GFXGRAPH_NATIVE(eq);
  GFXGRAPH_NATIVE(le);
  GFXGRAPH_NATIVE(gt);
  GFXGRAPH_NATIVE(lg);
  GFXGRAPH_NATIVE(ge);
  GFXGRAPH_NATIVE(o);
  GFXGRAPH_NATIVE(u);
  GFXGRAPH_NATIVE(nge);
  GFXGRAPH_NATIVE(nlg);
  GFXGRAPH_NATIVE(ngt);
  GFXGRAPH_NATIVE(nle);
  GFXGRAPH_NATIVE(neq);
  GFXGRAPH_NATIVE(nlt);
  GFXGRAPH_NATIVE(tru);
#undef GFXGRAPH_NATIVE
}

void Rules::add_halves() {
  half(Op::v_add_f16, kernel_of<kAdd, H, H>());
  half(Op::v_sub_f16, kernel_of<kSub, H, H>());
  half(Op::v_subrev_f16, kernel_of<kSubrev, H, H>());
  half(Op::v_mul_f16, kernel_of<kMul, H, H>());
  for (const Op op : {Op::v_fma_f16, Op::v_fmac_f16, Op::v_fmamk_f16, Op::v_fmaak_f16})
    half(op, kernel_of<kFmaDirected, H, H, H>(), kernel_of<kFmaOdd, H, H, H>());
  half(Op::v_fract_f16, kernel_of<kFract, H>());
  half(Op::v_ldexp_f16, kernel_of<kLdexp, H, T::kI16>());
  half(Op::v_cvt_f16_f32, kernel_of<[](float a) { return a; }, F>());
  half(
      Op::v_cvt_f16_u16,
      kernel_of<[](uint32_t a) { return static_cast<float>(static_cast<int32_t>(a)); }, T::kU16>());
  half(Op::v_cvt_f16_i16, kernel_of<[](int32_t a) { return static_cast<float>(a); }, T::kI16>());
}

void Rules::add_extremes() {
  (*this)[Op::v_min_f32].without_ieee = LaneOp<kMinDx, F, F, F>::kernel;
  (*this)[Op::v_max_f32].without_ieee = LaneOp<kMaxDx, F, F, F>::kernel;
  (*this)[Op::v_min3_f32].without_ieee = LaneOp<kMin3Dx, F, F, F, F>::kernel;
  (*this)[Op::v_max3_f32].without_ieee = LaneOp<kMax3Dx, F, F, F, F>::kernel;
  (*this)[Op::v_med3_f32].without_ieee = LaneOp<kMed3Dx, F, F, F, F>::kernel;
  (*this)[Op::v_min_f16].without_ieee = LaneOp<kMinDx, H, H, H>::kernel;
  (*this)[Op::v_max_f16].without_ieee = LaneOp<kMaxDx, H, H, H>::kernel;
  (*this)[Op::v_min3_f16].without_ieee = LaneOp<kMin3Dx, H, H, H, H>::kernel;
  (*this)[Op::v_max3_f16].without_ieee = LaneOp<kMax3Dx, H, H, H, H>::kernel;
  (*this)[Op::v_med3_f16].without_ieee = LaneOp<kMed3Dx, H, H, H, H>::kernel;
  (*this)[Op::v_min_f64].without_ieee = LaneOp<kMinDx, D, D, D>::kernel;
  (*this)[Op::v_max_f64].without_ieee = LaneOp<kMaxDx, D, D, D>::kernel;
}

const ModeRule& rule_of(Op op) {
  static const Rules rules;
  return rules.rule[static_cast<unsigned>(op)];
}

constexpr bool is_float(T type) { return type == F || type == D || type == H; }

// An instruction with output modifiers depends on IEEE and DX10_CLAMP.
bool modifies_float_result(const Inst& inst, const VectorOp& op) {
  return (is_float(op.dst) || op.dst == T::kB32) && (inst.omod() != 0 || inst.clamp());
}

bool depends_on_mode(const Inst& inst, const VectorOp& op) {
  if (modifies_float_result(inst, op)) return true;
  if (rule_of(inst.op).use == Use::kFixed) return false;
  for (const T type : {op.dst, op.src[0], op.src[1], op.src[2]})
    if (is_float(type)) return true;
  return inst.op == Op::v_pk_fmac_f16;
}

// v_pk_fmac_f16 as a VOP2.
void fmac_halves(FloatMode mode, uint32_t* d, const uint32_t* mask,
                 const uint32_t* const source[3]) {
  const Kernel fma = vector_table().op[static_cast<unsigned>(Op::v_fma_f16)].kernel;
  Row joined = {};
  for (const unsigned shift : {0u, 16u}) {
    Row in[3], r = {};
    for (unsigned n = 0; n < 3; ++n)
      for (unsigned l = 0; l < kLanes; ++l) in[n].lane[l] = source[n][l] >> shift & 0xffffu;
    run_in_mode(mode, Op::v_fma_f16, fma, r.lane, mask, in[0].lane, in[1].lane, in[2].lane, 0);
    for (unsigned l = 0; l < kLanes; ++l) joined.lane[l] |= (r.lane[l] & 0xffffu) << shift;
  }
  for (unsigned l = 0; l < kLanes; ++l) d[l] = (joined.lane[l] & mask[l]) | (d[l] & ~mask[l]);
}

// ---- handlers ----

const Inst* native_in_mode(Wave& w, const Inst* i) {
  const VectorOp& op = vector_table().op[static_cast<unsigned>(i->op)];
  const HostControl control(
      host_control_with_inputs(FloatMode{w.mode}, is_float(op.dst) ? op.dst : op.src[0]));
  return op.plain[i->mods >> vmod::kKindsShift & 7](w, i);
}

// No modifiers, and sources in registers or scalars: works directly on rows.
const Inst* plain_in_mode(Wave& w, const Inst* i) {
  const VectorOp& op = vector_table().op[static_cast<unsigned>(i->op)];
  const FloatMode mode{w.mode};
  struct alignas(64) Rows {
    Row row[2];
  };
  Rows in[3];
  for (int n = 0; n < 3; ++n) {
    const T type = op.src[n];
    if (type == T::kNone) continue;
    uint32_t* to = in[n].row[0].lane;
    const unsigned lanes = rows_of(type) * kLanes;
    if (operand::is_vgpr(i->src[n])) {
      const uint32_t* from = w.v(i->src[n]).lane;
      for (unsigned l = 0; l < lanes; ++l) to[l] = from[l];
    } else {
      const uint64_t v = is_wide(type) ? w.read64(i, n) : w.read32(i, n);
      for (unsigned l = 0; l < lanes; ++l)
        to[l] = static_cast<uint32_t>(v >> (l < kLanes ? 0 : 32));
    }
    if (flushes_source(i->op, mode, type)) flush_denormals(type, to);
  }
  Rows result;
  Row all;
  Wave::expand_mask(~0u, all);
  run_in_mode(mode, i->op, op.kernel, result.row[0].lane, all.lane, in[0].row[0].lane,
              in[1].row[0].lane, in[2].row[0].lane, 0);
  uint32_t* d = w.v(i->dst).lane;
  const uint32_t* mask = w.exec_mask.lane;
  const uint32_t keep = is_half(op.dst) ? 0xffffu : ~0u;
  for (unsigned r = 0; r < rows_of(op.dst); ++r)
    for (unsigned l = 0; l < kLanes; ++l) {
      const uint32_t m = mask[l] & keep;
      uint32_t& out = d[r * kLanes + l];
      out = (result.row[r].lane[l] & m) | (out & ~m);
    }
  return i->next();
}

}  // namespace

void flush_denormals(T type, uint32_t* rows) {
  if (type == F || type == T::kB32) {
    for (unsigned l = 0; l < kLanes; ++l)
      rows[l] = (rows[l] & 0x7f800000u) == 0 ? rows[l] & 0x80000000u : rows[l];
  } else if (type == D) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const uint32_t keep = (rows[kLanes + l] & 0x7ff00000u) == 0 ? 0u : ~0u;
      rows[l] &= keep;
      rows[kLanes + l] &= keep | 0x80000000u;
    }
  } else if (type == H || type == T::kP16) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const uint32_t v = rows[l];
      const uint32_t low = (v & 0x7c00u) == 0 ? 0x8000u : 0xffffu;
      const uint32_t high = type == H || (v & 0x7c000000u) != 0 ? 0xffff0000u : 0x80000000u;
      rows[l] = v & (low | high);
    }
  }
}

bool flushes_source(Op op, FloatMode mode, T type) {
  if (rule_of(op).use == Use::kFixed) return false;
  if (is_float(type)) return mode.flushes_inputs(type);
  // Packed halves of both VOP2 forms; those of v_sat_pk_u8_i16 are integers.
  return type == T::kP16 && op != Op::v_sat_pk_u8_i16 && mode.flushes_inputs(H);
}

uint32_t run_in_mode(FloatMode mode, Op op, Kernel kernel, uint32_t* d, const uint32_t* mask,
                     const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t bits) {
  if (op == Op::v_pk_fmac_f16) {
    const uint32_t* const source[3] = {a, b, c};
    fmac_halves(mode, d, mask, source);
    return 0;
  }
  const ModeRule& rule = rule_of(op);
  if (rule.use == Use::kFixed) return kernel(d, mask, a, b, c, bits);
  const VectorOp& table = vector_table().op[static_cast<unsigned>(op)];
  const unsigned rounding = mode.rounding(table.dst);
  const bool flush = is_float(table.dst) && mode.flushes_results(table.dst);
  if (rule.half != nullptr) {
    const Kernel exact = rounding == 0 && rule.half_odd != nullptr ? rule.half_odd : rule.half;
    Row wide = {};
    {
      const HostControl control(host_rounding(rounding));
      exact(wide.lane, mask, a, b, c, bits);
    }
    for (unsigned l = 0; l < kLanes; ++l) {
      const uint32_t r = round_to_half(as<float>(wide.lane[l]), rounding, flush);
      d[l] = (r & mask[l]) | (d[l] & ~mask[l]);
    }
    return 0;
  }
  if (rule.without_ieee != nullptr && !mode.ieee()) kernel = rule.without_ieee;
  if (rule.directed != nullptr && rounding != 0) kernel = rule.directed;
  uint32_t out;
  if (rule.use == Use::kByType && (table.dst == F || table.dst == D)) {
    const HostControl control(host_control(mode, table.dst));
    out = kernel(d, mask, a, b, c, bits);
  } else {
    out = kernel(d, mask, a, b, c, bits);
  }
  if (flush) flush_denormals(table.dst, d);
  // Rounds toward zero in every mode.
  if (op == Op::v_cvt_pkrtz_f16_f32 && mode.flushes_results(H)) flush_denormals(T::kP16, d);
  return out;
}

Handler bind_any_mode(Inst& inst, const VectorOp& op, Handler usual, unsigned kinds) {
  if (inst.format == Format::kVop3p) {
    const Handler packed = packed_in_mode(inst.op);
    return packed != nullptr ? packed : usual;
  }
  if (op.custom != nullptr || !depends_on_mode(inst, op)) return usual;
  const bool plain = inst.extra() == VopExtra::kNone && (inst.mods & vmod::kAny) == 0;
  if (!plain || (op.flags & ~VectorOp::kBitsToDst) != 0 || op.dst == T::kQ) return generic_in_mode;
  if (rule_of(inst.op).native && op.plain[kinds] != nullptr) {
    inst.mods |= kinds << vmod::kKindsShift;
    return native_in_mode;
  }
  if (op.dst == T::kNone || op.dst == T::kP16 || op.src[0] == T::kQ) return generic_in_mode;
  return plain_in_mode;
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator

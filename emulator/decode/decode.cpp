// The decoder: one table lookup by (format, opcode), then the operand fields of the format. Field
// layouts: AMD "RDNA 2 Instruction Set Architecture", chapter 13.
#include <array>
#include <bit>

#include "emulator/decode/image_operands.h"
#include "emulator/decode/inst.h"

namespace gfxgraph::emulator {
namespace {

// ---- the tables, built by the compiler ----------------------------------------------------------

enum RowFlag : uint8_t { kLegal = 1, kLiteral = 2, kSdwa = 4, kDpp16 = 8, kDpp8 = 16 };

struct TableRow {
  Op op = Op{0};
  uint8_t flags = 0;
};

// Opcode slots of each format in the single array.
constexpr unsigned slot_count(Format format) {
  switch (format) {
    case Format::kVop3: return 1024;
    case Format::kVop2: return 64;
    case Format::kSopk: return 32;
    case Format::kSopp:
    case Format::kSopc:
    case Format::kSop2:
    case Format::kVop3p: return 128;
    case Format::kFlat:
    case Format::kGlobal:
    case Format::kScratch: return 128;
    case Format::kVintrp: return 4;
    case Format::kMtbuf: return 16;
    case Format::kExp: return 1;
    default: return 256;
  }
}

constexpr unsigned kFormats = static_cast<unsigned>(Format::kExp) + 1;

struct FirstSlots {
  std::array<unsigned, kFormats + 1> at{};
  constexpr FirstSlots() {
    for (unsigned f = 0; f < kFormats; ++f) at[f + 1] = at[f] + slot_count(static_cast<Format>(f));
  }
};
constexpr FirstSlots kFirstSlots;

constexpr unsigned slot(Format format, unsigned opcode) {
  return kFirstSlots.at[static_cast<unsigned>(format)] + opcode;
}

struct Rows {
  std::array<TableRow, kFirstSlots.at[kFormats]> row{};
  constexpr Rows() {
    constexpr Format SOP1 = Format::kSop1, SOP2 = Format::kSop2, SOPC = Format::kSopc,
                     SOPK = Format::kSopk, SOPP = Format::kSopp, SMEM = Format::kSmem,
                     VOP1 = Format::kVop1, VOP2 = Format::kVop2, VOPC = Format::kVopc,
                     VOP3 = Format::kVop3, VOP3P = Format::kVop3p, VINTRP = Format::kVintrp,
                     DS = Format::kDs, FLAT = Format::kFlat, GLOBAL = Format::kGlobal,
                     SCRATCH = Format::kScratch, MUBUF = Format::kMubuf, MTBUF = Format::kMtbuf,
                     MIMG = Format::kMimg, EXP = Format::kExp;
#define X(encoding, opcode, mnemonic, o0, o1, o2, o3, o4, flags_) \
  row[slot(encoding, opcode)] = TableRow{Op::mnemonic, static_cast<uint8_t>(kLegal | (flags_))};
#include "emulator/table/gfx1030.inc"
#undef X
  }
};
constexpr Rows kRows;

constexpr OpInfo kOpInfo[] = {
#define GFXGRAPH_OP(name, dst, sdst, src0, src1, src2, access, type0, type1, type2, flags, flow, \
                    wave64, dataflow, value, logic, keeps, relation, again)                      \
  {#name,                                                                                        \
   dst,                                                                                          \
   sdst,                                                                                         \
   {src0, src1, src2},                                                                           \
   access,                                                                                       \
   {ConstantType::k##type0, ConstantType::k##type1, ConstantType::k##type2},                     \
   flags,                                                                                        \
   FlowKind::k##flow,                                                                            \
   Wave64::k##wave64,                                                                            \
   Dataflow::k##dataflow,                                                                        \
   Value::k##value,                                                                              \
   Logic::k##logic,                                                                              \
   keeps,                                                                                        \
   Relation::k##relation,                                                                        \
   Again::k##again},
#include "emulator/table/ops.inc"
#undef GFXGRAPH_OP
};

// The number of sources of the op in VOP3 form.
unsigned source_count(const OpInfo& info) {
  return info.src_dwords[2] != 0   ? 3
         : info.src_dwords[1] != 0 ? 2
         : info.src_dwords[0] != 0 ? 1
                                   : 0;
}

// ---- operands -----------------------------------------------------------------------------------

// Codes 240..248: 0.5 -0.5 1 -1 2 -2 4 -4 1/(2 pi).
constexpr uint32_t kFloat32[9] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                  0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint16_t kFloat16[9] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                  0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint64_t kFloat64[9] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                  0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                  0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

constexpr unsigned kDpp8Code = 233, kDpp8FetchInactiveCode = 234, kSdwaCode = 249, kDpp16Code = 250;

bool is_source(unsigned code) {
  return code <= 208 || (code >= operand::kSharedBase && code <= 248) || (code >= operand::kVccz);
}

class Decoder {
 public:
  Decoder(const uint32_t* words, size_t available, Inst& inst)
      : words_(words), available_(available), inst_(inst) {}

  DecodeStatus run(uint64_t pc) {
    inst_.pc = pc;
    inst_.k[0] = inst_.k[1] = inst_.k[2] = 0;
    inst_.flags = 0;
    inst_.dst = inst_.sdst = operand::kNone;
    inst_.src[0] = inst_.src[1] = inst_.src[2] = operand::kNone;
    inst_.imm = 0;
    inst_.mods = 0;
    inst_.advance = 0;
    if (available_ == 0) return DecodeStatus::kTruncated;
    first_ = words_[0];
    const DecodeStatus status = dispatch();
    if (status != DecodeStatus::kOk) return status;
    if (no_register_) return DecodeStatus::kIllegal;
    if (available_ < dwords_) return DecodeStatus::kTruncated;
    inst_.advance = static_cast<uint16_t>(dwords_ * sizeof(Inst));
    return DecodeStatus::kOk;
  }

 private:
  DecodeStatus dispatch() {
    if ((first_ >> 31) == 0) return vector_short();
    if ((first_ >> 30) == 2) return scalar();
    switch (first_ >> 26) {
      case 0x32: return opcode_only(Format::kVintrp, first_ >> 16 & 3, 1);
      case 0x33: return vop3p();
      case 0x35: return vop3();
      case 0x36: return ds();
      case 0x37: return flat();
      case 0x38: return mubuf();
      case 0x3a: return mtbuf();
      case 0x3c: return mimg();
      case 0x3d: return smem();
      case 0x3e: return opcode_only(Format::kExp, 0, 2);
      default: return DecodeStatus::kIllegal;
    }
  }

  // Looks up the opcode; returns false if it is not valid.
  bool row(Format format, unsigned opcode) {
    const TableRow& r = kRows.row[slot(format, opcode)];
    if ((r.flags & kLegal) == 0) return false;
    inst_.op = r.op;
    inst_.format = format;
    row_flags_ = r.flags;
    info_ = &kOpInfo[static_cast<size_t>(r.op)];
    return true;
  }

  bool has(uint32_t flag) const { return (info_->flags & flag) != 0; }

  DecodeStatus second_dword() {
    dwords_ = 2;
    if (available_ < 2) return DecodeStatus::kTruncated;
    second_ = words_[1];
    return DecodeStatus::kOk;
  }

  DecodeStatus opcode_only(Format format, unsigned opcode, unsigned dwords) {
    if (!row(format, opcode)) return DecodeStatus::kIllegal;
    dwords_ = dwords;
    return DecodeStatus::kOk;
  }

  // Sets source n from a 9-bit code. Literals follow the instruction; all sources share one.
  DecodeStatus source(unsigned n, unsigned code) {
    inst_.src[n] = static_cast<uint16_t>(code);
    if (code < operand::kFirstConstant || code >= operand::kVgpr0) return DecodeStatus::kOk;
    if (!is_source(code)) return DecodeStatus::kIllegal;
    if (code == operand::kLiteral) return literal(n);
    if (operand::is_special(static_cast<uint16_t>(code))) {
      inst_.flags |= Inst::kHasSpecialSource;
      return DecodeStatus::kOk;
    }
    const ConstantType type = constant_type(n);
    if (code < 240) {
      const int64_t value =
          code <= 192 ? static_cast<int64_t>(code) - 128 : 192 - static_cast<int64_t>(code);
      const bool wide =
          type == ConstantType::kF64 || type == ConstantType::kI64 || type == ConstantType::kU64;
      inst_.k[n] = wide ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
      return DecodeStatus::kOk;
    }
    switch (type) {
      case ConstantType::kF16: inst_.k[n] = kFloat16[code - 240]; break;
      case ConstantType::kF64:
      case ConstantType::kI64:
      case ConstantType::kU64: inst_.k[n] = kFloat64[code - 240]; break;
      default: inst_.k[n] = kFloat32[code - 240]; break;
    }
    return DecodeStatus::kOk;
  }

  ConstantType constant_type(unsigned n) const {
    const ConstantType type = info_->constant[n];
    if (type != ConstantType::kMix) return type;
    return (inst_.op_sel_hi() >> n & 1) != 0 ? ConstantType::kF16 : ConstantType::k32;
  }

  DecodeStatus literal(unsigned n) {
    inst_.src[n] = operand::kLiteral;
    if (!has_literal_) {
      if (available_ <= dwords_) {
        dwords_ += 1;
        return DecodeStatus::kTruncated;
      }
      literal_ = words_[dwords_++];
      has_literal_ = true;
    }
    switch (constant_type(n)) {
      case ConstantType::kF64: inst_.k[n] = static_cast<uint64_t>(literal_) << 32; break;
      case ConstantType::kI64:
        inst_.k[n] = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(literal_)));
        break;
      default: inst_.k[n] = literal_; break;
    }
    return DecodeStatus::kOk;
  }

  // ---- scalar formats ----
  DecodeStatus scalar() {
    const unsigned sdst = first_ >> 16 & 0x7f;
    const uint32_t prefix = first_ >> 23;
    if (prefix == 0x17d) return sop1(sdst);
    if (prefix == 0x17e) return sopc();
    if (prefix == 0x17f) return sopp();
    if ((first_ >> 28) == 0xb) return sopk(sdst);
    if (!row(Format::kSop2, first_ >> 23 & 0x7f)) return DecodeStatus::kIllegal;
    inst_.dst = static_cast<uint16_t>(sdst);
    return two_scalar_sources();
  }

  DecodeStatus two_scalar_sources() {
    const DecodeStatus status = source(0, first_ & 0xff);
    return status == DecodeStatus::kOk ? source(1, first_ >> 8 & 0xff) : status;
  }

  DecodeStatus sop1(unsigned sdst) {
    if (!row(Format::kSop1, first_ >> 8 & 0xff)) return DecodeStatus::kIllegal;
    if (info_->dst_dwords != 0) inst_.dst = static_cast<uint16_t>(sdst);
    return info_->src_dwords[0] != 0 ? source(0, first_ & 0xff) : DecodeStatus::kOk;
  }

  DecodeStatus sopc() {
    if (!row(Format::kSopc, first_ >> 16 & 0x7f)) return DecodeStatus::kIllegal;
    return two_scalar_sources();
  }

  DecodeStatus sopp() {
    if (!row(Format::kSopp, first_ >> 16 & 0x7f)) return DecodeStatus::kIllegal;
    inst_.imm = static_cast<int16_t>(first_);
    return DecodeStatus::kOk;
  }

  DecodeStatus sopk(unsigned sdst) {
    if (!row(Format::kSopk, first_ >> 23 & 0x1f)) return DecodeStatus::kIllegal;
    inst_.dst = static_cast<uint16_t>(sdst);
    inst_.imm = static_cast<int16_t>(first_);
    if (info_->src_dwords[0] != 0) inst_.src[0] = static_cast<uint16_t>(sdst);
    return (row_flags_ & kLiteral) != 0 ? literal(0) : DecodeStatus::kOk;
  }

  DecodeStatus smem() {
    const DecodeStatus status = second_dword();
    if (!row(Format::kSmem, first_ >> 18 & 0xff)) return DecodeStatus::kIllegal;
    if (status != DecodeStatus::kOk) return status;
    if (info_->dst_dwords != 0) inst_.dst = static_cast<uint16_t>(first_ >> 6 & 0x7f);
    if (info_->src_dwords[0] != 0) {
      inst_.src[0] = static_cast<uint16_t>((first_ & 0x3f) << 1);
      const unsigned soffset = second_ >> 25;
      if (soffset != operand::kNull) inst_.src[1] = static_cast<uint16_t>(soffset);
    }
    inst_.imm = static_cast<int32_t>(second_ << 11) >> 11;
    inst_.mods = (first_ >> 16 & 1 ? mmod::kGlc : 0) | (first_ >> 14 & 1 ? mmod::kDlc : 0);
    return DecodeStatus::kOk;
  }

  // ---- vector formats of one dword, followed by SDWA, DPP or a literal ----
  DecodeStatus vector_short() {
    const unsigned vop2_opcode = first_ >> 25;
    const unsigned vdst = first_ >> 17 & 0xff;
    if (vop2_opcode == 0x3f) {
      if (!row(Format::kVop1, first_ >> 9 & 0xff)) return DecodeStatus::kIllegal;
      if (info_->dst_dwords != 0) set_destination(vdst);
      if (source_count(*info_) == 0) return DecodeStatus::kOk;
      return first_source();
    }
    if (vop2_opcode == 0x3e) {
      if (!row(Format::kVopc, vdst)) return DecodeStatus::kIllegal;
      inst_.dst = compares_exec(*info_) ? operand::kExecLo : operand::kVccLo;
      inst_.src[1] = static_cast<uint16_t>(256 + (first_ >> 9 & 0xff));
      return first_source();
    }
    if (!row(Format::kVop2, vop2_opcode)) return DecodeStatus::kIllegal;
    return vop2(vdst);
  }

  void set_destination(unsigned vdst) {
    inst_.dst = static_cast<uint16_t>(has(OpInfo::kScalarDst) ? vdst : 256 + vdst);
    no_register_ = has(OpInfo::kScalarDst) && vdst >= operand::kFirstConstant;
  }

  DecodeStatus vop2(unsigned vdst) {
    set_destination(vdst);
    const uint16_t vsrc1 = static_cast<uint16_t>(256 + (first_ >> 9 & 0xff));
    if ((row_flags_ & kLiteral) != 0) {
      const bool multiplies = inst_.op == Op::v_fmamk_f32 || inst_.op == Op::v_fmamk_f16;
      const DecodeStatus status = literal(multiplies ? 1 : 2);
      if (status != DecodeStatus::kOk) return status;
      inst_.src[multiplies ? 2 : 1] = vsrc1;
      const unsigned code = first_ & 0x1ff;
      return code == kSdwaCode || code == kDpp16Code ? DecodeStatus::kIllegal : source(0, code);
    }
    inst_.src[1] = vsrc1;
    if (has(OpInfo::kAccumulates))
      inst_.src[2] = inst_.dst;
    else if (source_count(*info_) == 3)
      inst_.src[2] = operand::kVccLo;
    if (info_->sdst_dwords != 0) inst_.sdst = operand::kVccLo;
    return first_source();
  }

  // src0 of VOP1, VOP2 and VOPC, which may select another form.
  DecodeStatus first_source() {
    const unsigned code = first_ & 0x1ff;
    switch (code) {
      case kSdwaCode: return (row_flags_ & kSdwa) != 0 ? sdwa() : DecodeStatus::kIllegal;
      case kDpp16Code: return (row_flags_ & kDpp16) != 0 ? dpp16() : DecodeStatus::kIllegal;
      case kDpp8Code:
      case kDpp8FetchInactiveCode:
        return (row_flags_ & kDpp8) != 0 ? dpp8(code == kDpp8FetchInactiveCode)
                                         : DecodeStatus::kIllegal;
      default: break;
    }
    return source(0, code);
  }

  void set_extra(VopExtra extra) {
    inst_.mods |= static_cast<uint32_t>(extra) << vmod::kExtraShift;
    inst_.imm = static_cast<int32_t>(second_ & 0xffffff00u);
  }

  DecodeStatus sdwa() {
    if (const DecodeStatus status = second_dword(); status != DecodeStatus::kOk) return status;
    const unsigned src0 = second_ & 0xff;
    if (const DecodeStatus status = source(0, (second_ >> 23 & 1) != 0 ? src0 : 256 + src0);
        status != DecodeStatus::kOk || has_literal_)
      return has_literal_ ? DecodeStatus::kIllegal : status;
    if (inst_.format != Format::kVop1 && (second_ >> 31) != 0) {
      const DecodeStatus status = source(1, inst_.src[1] - 256u);
      if (status != DecodeStatus::kOk || has_literal_)
        return has_literal_ ? DecodeStatus::kIllegal : status;
    }
    inst_.mods =
        (second_ >> 20 & 1) << vmod::kNegShift | (second_ >> 28 & 1) << (vmod::kNegShift + 1) |
        (second_ >> 21 & 1) << vmod::kAbsShift | (second_ >> 29 & 1) << (vmod::kAbsShift + 1);
    if (inst_.format == Format::kVopc) {
      if ((second_ >> 15 & 1) != 0 && !compares_exec(*info_))
        inst_.dst = static_cast<uint16_t>(second_ >> 8 & 0x7f);
    } else {
      inst_.mods |=
          (second_ >> 14 & 3) << vmod::kOmodShift | ((second_ >> 13 & 1) != 0 ? vmod::kClamp : 0);
    }
    set_extra(VopExtra::kSdwa);
    return DecodeStatus::kOk;
  }

  DecodeStatus dpp16() {
    if (const DecodeStatus status = second_dword(); status != DecodeStatus::kOk) return status;
    inst_.src[0] = static_cast<uint16_t>(256 + (second_ & 0xff));
    inst_.mods =
        (second_ >> 20 & 1) << vmod::kNegShift | (second_ >> 22 & 1) << (vmod::kNegShift + 1) |
        (second_ >> 21 & 1) << vmod::kAbsShift | (second_ >> 23 & 1) << (vmod::kAbsShift + 1);
    set_extra(VopExtra::kDpp16);
    return DecodeStatus::kOk;
  }

  DecodeStatus dpp8(bool fetch_inactive) {
    if (const DecodeStatus status = second_dword(); status != DecodeStatus::kOk) return status;
    inst_.src[0] = static_cast<uint16_t>(256 + (second_ & 0xff));
    set_extra(VopExtra::kDpp8);
    inst_.imm |= fetch_inactive ? 1 : 0;
    return DecodeStatus::kOk;
  }

  // ---- VOP3 ----
  DecodeStatus vop3() {
    const DecodeStatus status = second_dword();
    if (!row(Format::kVop3, first_ >> 16 & 0x3ff)) return DecodeStatus::kIllegal;
    if (status != DecodeStatus::kOk) return status;
    inst_.mods = (second_ >> 29) << vmod::kNegShift | (second_ >> 27 & 3) << vmod::kOmodShift |
                 ((first_ >> 15 & 1) != 0 ? vmod::kClamp : 0);
    if (info_->sdst_dwords != 0) {
      inst_.sdst = static_cast<uint16_t>(first_ >> 8 & 0x7f);
    } else {
      inst_.mods |= (first_ >> 8 & 7) << vmod::kAbsShift | (first_ >> 11 & 15) << vmod::kOpSelShift;
    }
    return vop3_operands();
  }

  DecodeStatus vop3p() {
    const DecodeStatus status = second_dword();
    if ((first_ >> 23 & 7) != 0 || !row(Format::kVop3p, first_ >> 16 & 0x7f))
      return DecodeStatus::kIllegal;
    if (status != DecodeStatus::kOk) return status;
    inst_.mods = (second_ >> 29) << vmod::kNegShift | (first_ >> 8 & 7) << vmod::kAbsShift |
                 (first_ >> 11 & 7) << vmod::kOpSelShift |
                 ((second_ >> 27 & 3) | (first_ >> 14 & 1) << 2) << vmod::kOpSelHiShift |
                 ((first_ >> 15 & 1) != 0 ? vmod::kClamp : 0);
    return vop3_operands();
  }

  DecodeStatus vop3_operands() {
    const unsigned vdst = first_ & 0xff;
    if (has(OpInfo::kOpaque)) return DecodeStatus::kOk;
    if (compares_exec(*info_))
      inst_.dst = operand::kExecLo;
    else if (info_->dst_dwords != 0)
      set_destination(vdst);
    const unsigned sources = has(OpInfo::kAccumulates) ? 2 : source_count(*info_);
    for (unsigned n = 0; n < sources; ++n) {
      const unsigned code = second_ >> (9 * n) & 0x1ff;
      if (const DecodeStatus status = source(n, code); status != DecodeStatus::kOk) return status;
    }
    if (has(OpInfo::kAccumulates)) inst_.src[2] = inst_.dst;
    return DecodeStatus::kOk;
  }

  // ---- memory formats ----
  static uint16_t vgpr(uint32_t field) { return static_cast<uint16_t>(256 + (field & 0xff)); }

  DecodeStatus ds() {
    const DecodeStatus status = second_dword();
    if (!row(Format::kDs, first_ >> 18 & 0xff)) return DecodeStatus::kIllegal;
    if (status != DecodeStatus::kOk) return status;
    if (info_->dst_dwords != 0) inst_.dst = vgpr(second_ >> 24);
    for (unsigned n = 0; n < 3; ++n)
      if (info_->src_dwords[n] != 0) inst_.src[n] = vgpr(second_ >> (8 * n));
    inst_.imm = static_cast<int32_t>(first_ & 0xffff);
    inst_.mods = (first_ >> 17 & 1) != 0 ? mmod::kGds : 0;
    return DecodeStatus::kOk;
  }

  DecodeStatus flat() {
    constexpr Format kSegments[4] = {Format::kFlat, Format::kScratch, Format::kGlobal,
                                     Format::kFlat};
    const unsigned segment = first_ >> 14 & 3;
    const DecodeStatus status = second_dword();
    if (segment == 3 || !row(kSegments[segment], first_ >> 18 & 0x7f))
      return DecodeStatus::kIllegal;
    if (status != DecodeStatus::kOk) return status;
    const bool glc = (first_ >> 16 & 1) != 0;
    inst_.mods = (glc ? mmod::kGlc : 0) | ((first_ >> 17 & 1) != 0 ? mmod::kSlc : 0) |
                 ((first_ >> 12 & 1) != 0 ? mmod::kDlc : 0) |
                 ((first_ >> 13 & 1) != 0 ? mmod::kLds : 0);
    // The flat segment has no negative offsets: the sign bit is ignored.
    inst_.imm = segment == 0 ? static_cast<int32_t>(first_ & 0x7ff)
                             : static_cast<int32_t>(first_ << 20) >> 20;
    if (info_->dst_dwords != 0 && ((info_->flags & OpInfo::kAtomic) == 0 || glc))
      inst_.dst = vgpr(second_ >> 24);
    if (info_->src_dwords[1] != 0) inst_.src[1] = vgpr(second_ >> 8);
    if (info_->src_dwords[0] != 0) inst_.src[0] = vgpr(second_);
    if (segment != 0) segment_base(second_ >> 16 & 0x7f);
    return DecodeStatus::kOk;
  }

  // SADDR of GLOBAL and SCRATCH: null is "off". A scratch address is one of VGPR, SGPR or, with
  // EXEC_HI in the field, neither.
  void segment_base(unsigned saddr) {
    if (inst_.format == Format::kScratch) {
      if (saddr != operand::kNull) inst_.src[0] = operand::kNone;
      if (saddr == operand::kExecHi) return;
    }
    if (saddr != operand::kNull) inst_.src[2] = static_cast<uint16_t>(saddr);
  }

  DecodeStatus mubuf() {
    const DecodeStatus status = second_dword();
    if (!row(Format::kMubuf, first_ >> 18 & 0xff)) return DecodeStatus::kIllegal;
    if (status != DecodeStatus::kOk) return status;
    buffer_fields();
    inst_.mods |= (first_ >> 15 & 1) != 0 ? mmod::kDlc : 0;
    inst_.mods |= (first_ >> 16 & 1) != 0 ? mmod::kLds : 0;
    return info_->sdst_dwords != 0 ? buffer_operands() : DecodeStatus::kOk;
  }

  DecodeStatus mtbuf() {
    const DecodeStatus status = second_dword();
    if (status != DecodeStatus::kOk) return status;
    if (!row(Format::kMtbuf, (first_ >> 16 & 7) | (second_ >> 21 & 1) << 3))
      return DecodeStatus::kIllegal;
    buffer_fields();
    inst_.mods |= ((first_ >> 15 & 1) != 0 ? mmod::kDlc : 0) | (first_ >> 19 & 0x7f) << 16;
    return buffer_operands();
  }

  DecodeStatus mimg() {
    const unsigned more = first_ >> 1 & 3;  // dwords with further address registers
    if (!row(Format::kMimg, (first_ >> 18 & 0x7f) | (first_ & 1) << 7))
      return DecodeStatus::kIllegal;
    dwords_ = 2 + more;
    if (available_ < dwords_ || info_->sdst_dwords == 0) return DecodeStatus::kOk;
    second_ = words_[1];
    inst_.mods =
        ((first_ >> 13 & 1) != 0 ? mmod::kGlc : 0) | ((first_ >> 25 & 1) != 0 ? mmod::kSlc : 0) |
        ((first_ >> 7 & 1) != 0 ? mmod::kDlc : 0) | ((first_ >> 16 & 1) != 0 ? mmod::kTfe : 0);
    // R128, TFE, LWE and A16.
    const bool refused = (first_ >> 15 & 7) != 0 || (second_ >> 30 & 1) != 0;
    inst_.imm = keep_image_fields({static_cast<ImageDim>(first_ >> 3 & 7), first_ >> 8 & 15,
                                   (second_ >> 31) != 0, (first_ >> 12 & 1) != 0, refused});
    for (unsigned n = 0; n < kMostImageAddresses; ++n) {
      const bool listed = more != 0 && n > 0 && n <= 4 * more;
      const uint64_t code =
          listed ? words_[2 + (n - 1) / 4] >> ((n - 1) % 4 * 8) & 255 : (second_ + n) & 255;
      inst_.k[n / 8] |= code << (n % 8 * 8);
    }
    inst_.src[0] = vgpr(second_);
    if (has(OpInfo::kStore))
      inst_.src[1] = vgpr(second_ >> 8);
    else
      inst_.dst = vgpr(second_ >> 8);
    inst_.sdst = static_cast<uint16_t>((second_ >> 16 & 0x1f) << 2);
    if (info_->src_dwords[2] != 0)
      inst_.src[2] = static_cast<uint16_t>((second_ >> 21 & 0x1f) << 2);
    return DecodeStatus::kOk;
  }

  void buffer_fields() {
    inst_.imm = static_cast<int32_t>(first_ & 0xfff);
    inst_.mods =
        ((first_ >> 12 & 1) != 0 ? mmod::kOffen : 0) |
        ((first_ >> 13 & 1) != 0 ? mmod::kIdxen : 0) | ((first_ >> 14 & 1) != 0 ? mmod::kGlc : 0) |
        ((second_ >> 22 & 1) != 0 ? mmod::kSlc : 0) | ((second_ >> 23 & 1) != 0 ? mmod::kTfe : 0);
  }

  DecodeStatus buffer_operands() {
    const bool returns = (info_->flags & OpInfo::kAtomic) == 0 || (inst_.mods & mmod::kGlc) != 0;
    if (info_->dst_dwords != 0 && returns) inst_.dst = vgpr(second_ >> 8);
    if (info_->src_dwords[1] != 0) inst_.src[1] = vgpr(second_ >> 8);
    if ((inst_.mods & (mmod::kOffen | mmod::kIdxen)) != 0) inst_.src[0] = vgpr(second_);
    inst_.sdst = static_cast<uint16_t>((second_ >> 16 & 0x1f) << 2);
    const unsigned soffset = second_ >> 24;
    return source(2, soffset);
  }

  const uint32_t* words_;
  size_t available_;
  Inst& inst_;
  uint32_t first_ = 0;
  uint32_t second_ = 0;
  uint32_t literal_ = 0;
  unsigned dwords_ = 1;
  bool has_literal_ = false;
  bool no_register_ = false;  // the scalar destination is not a register
  uint8_t row_flags_ = 0;
  const OpInfo* info_ = nullptr;
};

}  // namespace

const OpInfo& op_info(Op op) noexcept { return kOpInfo[static_cast<size_t>(op)]; }

DecodeStatus decode(const uint32_t* words, size_t available, uint64_t pc, Inst& inst) noexcept {
  return Decoder(words, available, inst).run(pc);
}

}  // namespace gfxgraph::emulator

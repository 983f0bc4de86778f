#include "emulator/decode/assembly.h"

#include <fmt/format.h>

namespace gfxgraph::emulator {
namespace {

// A register of `dwords` dwords, or a source's constant.
std::string register_text(uint16_t code, unsigned dwords) {
  const auto range = [dwords](const char* file, unsigned first) {
    if (dwords <= 1) return fmt::format("{}{}", file, first);
    return fmt::format("{}[{}:{}]", file, first, first + dwords - 1);
  };
  if (operand::is_vgpr(code)) return range("v", code - operand::kVgpr0);
  if (code < operand::kVccLo) return range("s", code);
  if (code >= operand::kTtmp0 && code < operand::kM0) return range("ttmp", code - operand::kTtmp0);
  switch (code) {
    case operand::kVccLo: return dwords == 2 ? "vcc" : "vcc_lo";
    case operand::kVccHi: return "vcc_hi";
    case operand::kM0: return "m0";
    case operand::kNull: return "null";
    case operand::kExecLo: return dwords == 2 ? "exec" : "exec_lo";
    case operand::kExecHi: return "exec_hi";
    case operand::kSharedBase: return "src_shared_base";
    case operand::kSharedLimit: return "src_shared_limit";
    case operand::kPrivateBase: return "src_private_base";
    case operand::kPrivateLimit: return "src_private_limit";
    case operand::kPopsExiting: return "src_pops_exiting_wave_id";
    case operand::kVccz: return "src_vccz";
    case operand::kExecz: return "src_execz";
    case operand::kScc: return "src_scc";
    case operand::kLdsDirect: return "src_lds_direct";
    default: break;
  }
  if (code <= 192) return fmt::format("{}", code - 128);
  return fmt::format("{}", 192 - static_cast<int>(code));
}

class Writer {
 public:
  Writer(const Inst& inst, bool wave64)
      : inst_(inst), info_(op_info(inst.op)), wave64_(wave64), text_(info_.name) {}

  std::string run() {
    if ((info_.flags & OpInfo::kOpaque) != 0) return text_;
    switch (inst_.format) {
      case Format::kSop1:
      case Format::kSop2:
      case Format::kSopc: scalar(); break;
      case Format::kSopk: scalar_constant(); break;
      case Format::kSopp: program_control(); break;
      case Format::kSmem: scalar_memory(); break;
      case Format::kVop1:
      case Format::kVop2:
      case Format::kVopc:
      case Format::kVop3:
      case Format::kVop3p: vector(); break;
      case Format::kDs: lds(); break;
      case Format::kFlat:
      case Format::kGlobal:
      case Format::kScratch: flat(); break;
      case Format::kMubuf:
      case Format::kMtbuf: buffer(); break;
      case Format::kVintrp:
      case Format::kMimg:
      case Format::kExp: break;
    }
    return text_;
  }

 private:
  void add(const std::string& operand) {
    text_ += operands_++ == 0 ? " " : ", ";
    text_ += operand;
  }
  void add_register(uint16_t code, unsigned dwords) { add(register_text(code, dwords)); }
  void word(const std::string& modifier) { text_ += " " + modifier; }
  bool has(uint32_t flag) const { return (info_.flags & flag) != 0; }
  unsigned mask_dwords() const { return wave64_ ? 2 : 1; }

  std::string source_text(unsigned n, unsigned dwords) const {
    const uint16_t code = inst_.src[n];
    if (code == operand::kLiteral) {
      const bool upper = info_.constant[n] == ConstantType::kF64;
      const auto value = static_cast<uint32_t>(upper ? inst_.k[n] >> 32 : inst_.k[n]);
      const auto number = static_cast<int32_t>(value);
      // A literal that could have been an inline constant is printed as one.
      if (!upper && number >= -16 && number <= 64) return fmt::format("{}", number);
      return fmt::format("{:#x}", value);
    }
    if (code >= 240 && code <= 247) {
      constexpr const char* kValues[] = {"0.5", "-0.5", "1.0", "-1.0",
                                         "2.0", "-2.0", "4.0", "-4.0"};
      return kValues[code - 240];
    }
    if (code == 248) {
      switch (info_.constant[n]) {
        case ConstantType::kF16: return "0.15915494";
        case ConstantType::kF64:
        case ConstantType::kI64:
        case ConstantType::kU64: return "0.15915494309189532";
        default: return "0.15915494";
      }
    }
    return register_text(code, dwords);
  }
  void add_source(unsigned n) { add(source_text(n, info_.src_dwords[n])); }

  // ---- scalar ----

  void scalar() {
    if (inst_.dst != operand::kNone) add_register(inst_.dst, info_.dst_dwords);
    for (unsigned n = 0; n < 2; ++n)
      if (inst_.src[n] != operand::kNone) add_source(n);
  }

  void scalar_constant() {
    const auto immediate = static_cast<uint16_t>(inst_.imm);
    switch (inst_.op) {
      case Op::s_setreg_b32:
      case Op::s_setreg_imm32_b32:
        add(hardware_register(immediate));
        inst_.op == Op::s_setreg_b32 ? add_register(inst_.dst, 1) : add_source(0);
        return;
      case Op::s_getreg_b32:
        add_register(inst_.dst, 1);
        add(hardware_register(immediate));
        return;
      default: break;
    }
    if (inst_.op != Op::s_version) add_register(inst_.dst, inst_.op == Op::s_call_b64 ? 2 : 1);
    if (inst_.op == Op::s_call_b64 || inst_.op == Op::s_subvector_loop_begin ||
        inst_.op == Op::s_subvector_loop_end)
      add(fmt::format("{}", immediate));
    else
      add(fmt::format("{:#x}", immediate));
  }

  static std::string hardware_register(uint16_t field) {
    const unsigned number = field & 63, offset = field >> 6 & 31, size = (field >> 11) + 1u;
    constexpr const char* kNames[] = {"0", "HW_REG_MODE",      "HW_REG_STATUS",    "HW_REG_TRAPSTS",
                                      "4", "HW_REG_GPR_ALLOC", "HW_REG_LDS_ALLOC", "HW_REG_IB_STS"};
    std::string name = number < 8 ? kNames[number] : fmt::format("{}", number);
    if (number == 15) name = "HW_REG_SH_MEM_BASES";
    if (number == 20) name = "HW_REG_FLAT_SCR_LO";
    if (number == 21) name = "HW_REG_FLAT_SCR_HI";
    if (number == 29) name = "HW_REG_SHADER_CYCLES";
    if (offset == 0 && size == 32) return fmt::format("hwreg({})", name);
    return fmt::format("hwreg({}, {}, {})", name, offset, size);
  }

  void program_control() {
    const auto immediate = static_cast<uint16_t>(inst_.imm);
    switch (inst_.op) {
      case Op::s_waitcnt: wait_counts(immediate); return;
      case Op::s_endpgm:
        if (immediate != 0) add(fmt::format("{}", immediate));
        return;
      case Op::s_barrier:
      case Op::s_wakeup:
      case Op::s_icache_inv:
      case Op::s_code_end:
      case Op::s_endpgm_saved:
      case Op::s_ttracedata: return;
      case Op::s_nop:
      case Op::s_sleep:
      case Op::s_setprio:
      case Op::s_sethalt:
      case Op::s_denorm_mode:
      case Op::s_trap:
        add(immediate <= 64 ? fmt::format("{}", immediate) : fmt::format("{:#x}", immediate));
        return;
      default: break;
    }
    const bool branch = info_.flow == FlowKind::kBranch || info_.flow == FlowKind::kJump;
    add(branch ? fmt::format("{}", immediate) : fmt::format("{:#x}", immediate));
  }

  // Counters at their highest value are not waited for.
  void wait_counts(uint16_t field) {
    const unsigned memory = (field & 15u) | (field >> 14 << 4), exports = field >> 4 & 7,
                   others = field >> 8 & 63;
    const bool all = memory == 63 && exports == 7 && others == 63;
    if (memory != 63 || all) wait_count("vmcnt", memory);
    if (exports != 7 || all) wait_count("expcnt", exports);
    if (others != 63 || all) wait_count("lgkmcnt", others);
  }
  void wait_count(const char* name, unsigned count) { word(fmt::format("{}({})", name, count)); }

  void scalar_memory() {
    if (inst_.dst != operand::kNone) add_register(inst_.dst, info_.dst_dwords);
    if (inst_.src[0] != operand::kNone) {
      add_register(inst_.src[0], info_.src_dwords[0]);
      const auto offset =
          inst_.imm < 0 ? fmt::format("-{:#x}", -inst_.imm) : fmt::format("{:#x}", inst_.imm);
      if (inst_.src[1] == operand::kNone) {
        add(offset);
      } else {
        add_register(inst_.src[1], 1);
        if (inst_.imm != 0) word("offset:" + offset);
      }
    }
    cache_flags();
  }

  // ---- vector ALU ----

  bool packed() const { return inst_.format == Format::kVop3p; }

  void vector() {
    const bool compares = has(OpInfo::kCompares);
    if (inst_.dst != operand::kNone && !compares_exec(info_)) {
      if (compares)
        add_register(inst_.dst, mask_dwords());
      else
        add_register(inst_.dst, info_.dst_dwords);
    }
    if (inst_.sdst != operand::kNone) add_register(inst_.sdst, mask_dwords());
    const unsigned most = has(OpInfo::kAccumulates) ? 2 : 3;
    for (unsigned n = 0; n < most; ++n)
      if (inst_.src[n] != operand::kNone) add(vector_source(n));
    switch (inst_.extra()) {
      case VopExtra::kNone: break;
      case VopExtra::kSdwa: sdwa(); return;
      case VopExtra::kDpp16: dpp16(); return;
      case VopExtra::kDpp8: dpp8(); return;
    }
    if (packed())
      packed_modifiers();
    else if (inst_.op_sel() != 0)
      op_sel();
    clamp_and_omod();
  }

  std::string vector_source(unsigned n) const {
    const bool mask = n == 2 && info_.wave64 == Wave64::kMasked;
    std::string text = source_text(n, mask ? mask_dwords() : info_.src_dwords[n]);
    if (packed() && info_.constant[n] != ConstantType::kMix) return text;
    if (inst_.extra() == VopExtra::kSdwa && (sext() >> n & 1) != 0)
      text = fmt::format("sext({})", text);
    if ((inst_.abs() >> n & 1) != 0) text = fmt::format("|{}|", text);
    if ((inst_.neg() >> n & 1) != 0) {
      const bool is_register = operand::is_vgpr(inst_.src[n]) || operand::is_sgpr(inst_.src[n]);
      text = is_register || text.front() == '|' ? "-" + text : fmt::format("neg({})", text);
    }
    return text;
  }
  uint32_t sext() const {
    const auto bits = static_cast<uint32_t>(inst_.imm);
    return (bits >> 19 & 1) | (bits >> 27 & 1) << 1;
  }

  unsigned sources() const {
    unsigned count = 0;
    while (count < 3 && info_.src_dwords[count] != 0) ++count;
    return count;
  }
  // One bit for each source, and the destination's last.
  void bits(const char* name, uint32_t value, unsigned count) {
    std::string list;
    for (unsigned n = 0; n < count; ++n)
      list += fmt::format("{}{}", n == 0 ? "" : ",", value >> n & 1);
    word(fmt::format("{}:[{}]", name, list));
  }
  void op_sel() {
    const unsigned count = sources();
    const uint32_t value = (inst_.op_sel() & ((1u << count) - 1)) | (inst_.op_sel() >> 3) << count;
    bits("op_sel", value, count + 1);
  }
  void packed_modifiers() {
    const unsigned count = sources();
    const uint32_t all = (1u << count) - 1;
    const bool mix = info_.constant[0] == ConstantType::kMix;
    if ((inst_.op_sel() & all) != 0) bits("op_sel", inst_.op_sel(), count);
    if ((inst_.op_sel_hi() & all) != (mix ? 0 : all)) bits("op_sel_hi", inst_.op_sel_hi(), count);
    if (mix) return;
    if ((inst_.neg() & all) != 0) bits("neg_lo", inst_.neg(), count);
    if ((inst_.abs() & all) != 0) bits("neg_hi", inst_.abs(), count);
  }
  void clamp_and_omod() {
    if (inst_.clamp()) word("clamp");
    constexpr const char* kOmod[] = {"", "mul:2", "mul:4", "div:2"};
    if (inst_.omod() != 0) word(kOmod[inst_.omod()]);
  }

  void sdwa() {
    const auto field = [this](unsigned shift) {
      return static_cast<uint32_t>(inst_.imm) >> shift & 7;
    };
    constexpr const char* kSelect[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                       "WORD_0", "WORD_1", "DWORD",  "7"};
    constexpr const char* kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "3"};
    clamp_and_omod();
    if (inst_.format != Format::kVopc) {
      word(fmt::format("dst_sel:{}", kSelect[field(8)]));
      word(fmt::format("dst_unused:{}", kUnused[field(11) & 3]));
    }
    word(fmt::format("src0_sel:{}", kSelect[field(16)]));
    if (inst_.format != Format::kVop1) word(fmt::format("src1_sel:{}", kSelect[field(24)]));
  }

  void dpp16() {
    const auto raw = static_cast<uint32_t>(inst_.imm);
    const uint32_t control = raw >> 8 & 0x1ff;
    const uint32_t count = control & 15;
    if (control < 0x100) {
      word(fmt::format("quad_perm:[{},{},{},{}]", control & 3, control >> 2 & 3, control >> 4 & 3,
                       control >> 6 & 3));
    } else if (control == 0x140) {
      word("row_mirror");
    } else if (control == 0x141) {
      word("row_half_mirror");
    } else {
      constexpr const char* kNames[] = {"row_shl", "row_shr",   "row_ror",  "dpp",
                                        "dpp",     "row_share", "row_xmask"};
      const uint32_t group = control >> 4 & 15;
      word(fmt::format("{}:{}", group < 7 ? kNames[group] : "dpp", count));
    }
    word(fmt::format("row_mask:{:#x} bank_mask:{:#x}", raw >> 28 & 15, raw >> 24 & 15));
    if ((raw >> 19 & 1) != 0) word("bound_ctrl:1");
    if ((raw >> 18 & 1) != 0) word("fi:1");
  }

  void dpp8() {
    const uint32_t lanes = static_cast<uint32_t>(inst_.imm) >> 8;
    std::string list;
    for (unsigned n = 0; n < 8; ++n)
      list += fmt::format("{}{}", n == 0 ? "" : ",", lanes >> 3 * n & 7);
    word(fmt::format("dpp8:[{}]", list));
    if ((inst_.imm & 1) != 0) word("fi:1");
  }

  // ---- memory ----

  void cache_flags() {
    if ((inst_.mods & mmod::kGlc) != 0) word("glc");
    if ((inst_.mods & mmod::kSlc) != 0) word("slc");
    if ((inst_.mods & mmod::kDlc) != 0) word("dlc");
  }

  void lds() {
    if (inst_.dst != operand::kNone) add_register(inst_.dst, info_.dst_dwords);
    for (unsigned n = 0; n < 3; ++n)
      if (inst_.src[n] != operand::kNone) add_source(n);
    const auto offset = static_cast<uint32_t>(inst_.imm);
    if (has(OpInfo::kTwoAddresses)) {
      if ((offset & 255) != 0) word(fmt::format("offset0:{}", offset & 255));
      if (offset >> 8 != 0) word(fmt::format("offset1:{}", offset >> 8));
    } else if (offset != 0) {
      word(fmt::format("offset:{}", offset));
    }
    if ((inst_.mods & mmod::kGds) != 0) word("gds");
  }

  void flat() {
    const bool to_lds = (inst_.mods & mmod::kLds) != 0;
    if (inst_.dst != operand::kNone && !to_lds) add_register(inst_.dst, info_.dst_dwords);
    const bool segment = inst_.format != Format::kFlat;
    if (inst_.src[0] != operand::kNone)
      add_register(inst_.src[0], address_dwords());
    else
      add("off");
    if (inst_.src[1] != operand::kNone) add_register(inst_.src[1], info_.src_dwords[1]);
    if (segment) {
      if (inst_.src[2] != operand::kNone)
        add_register(inst_.src[2], inst_.format == Format::kGlobal ? 2 : 1);
      else
        add("off");
    }
    if (inst_.imm != 0) word(fmt::format("offset:{}", inst_.imm));
    cache_flags();
    if (to_lds) word("lds");
  }
  unsigned address_dwords() const {
    if (inst_.format == Format::kScratch) return 1;
    return inst_.format == Format::kGlobal && inst_.src[2] != operand::kNone ? 1 : 2;
  }

  void buffer() {
    if (info_.sdst_dwords == 0) return;  // of caches
    if (inst_.dst != operand::kNone)
      add_register(inst_.dst, info_.dst_dwords);
    else if (inst_.src[1] != operand::kNone)
      add_register(inst_.src[1], info_.src_dwords[1]);
    const bool both = (inst_.mods & mmod::kOffen) != 0 && (inst_.mods & mmod::kIdxen) != 0;
    if (inst_.src[0] != operand::kNone)
      add_register(inst_.src[0], both ? 2 : 1);
    else
      add("off");
    add_register(inst_.sdst, 4);
    add_source_offset();
    if (inst_.format == Format::kMtbuf) word(fmt::format("format:{}", inst_.mods >> 16));
    if ((inst_.mods & mmod::kIdxen) != 0) word("idxen");
    if ((inst_.mods & mmod::kOffen) != 0) word("offen");
    if (inst_.imm != 0) word(fmt::format("offset:{}", inst_.imm));
    cache_flags();
    if ((inst_.mods & mmod::kTfe) != 0) word("tfe");
    if ((inst_.mods & mmod::kLds) != 0) word("lds");
  }
  void add_source_offset() {
    if (inst_.src[2] != operand::kNone) add(source_text(2, 1));
  }

  const Inst& inst_;
  const OpInfo& info_;
  const bool wave64_;
  std::string text_;
  unsigned operands_ = 0;
};

}  // namespace

std::string assembly(const Inst& inst, bool wave64) { return Writer(inst, wave64).run(); }

}  // namespace gfxgraph::emulator

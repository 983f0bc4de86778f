#include "emulator/table/ops_writer.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string_view>

namespace gfxgraph::emulator::table {
namespace {

struct Shape {
  unsigned dst = 0;
  unsigned sdst = 0;
  std::array<unsigned, 3> src = {0, 0, 0};
  unsigned access_bytes = 0;
  std::vector<std::string> flags;
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
bool starts(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}
bool ends(std::string_view text, std::string_view part) {
  return text.size() >= part.size() && text.substr(text.size() - part.size()) == part;
}
bool any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](auto part) { return has(text, part); });
}

// Registers count their dwords; a literal or another printed source counts as one; off and nothing
// count as none.
unsigned width(const std::string& operand) {
  if (operand == "_" || operand == "N") return 0;
  if (operand == "I") return 1;
  return static_cast<unsigned>(std::atoi(operand.c_str() + 1));
}

bool accumulates(std::string_view m) {
  return starts(m, "v_fmac_") || starts(m, "v_pk_fmac_") || starts(m, "v_dot2c_") ||
         starts(m, "v_dot4c_");
}

void vector_shape(const Row& row, Shape& s) {
  const std::string& m = row.mnemonic;
  size_t at = 0;
  if (starts(m, "v_cmpx")) {
    s.dst = 1;  // EXEC
    s.flags.push_back("kWritesExec");
  } else {
    s.dst = width(row.operands[at++]);
  }
  if (row.operands[at][0] == 'S' && any(m, {"_co_", "v_div_scale", "v_mad_u64", "v_mad_i64"}))
    s.sdst = width(row.operands[at++]);
  for (size_t n = 0; n < 3 && at < 5; ++n) s.src[n] = width(row.operands[at++]);
  if (accumulates(m)) {
    s.src[2] = s.dst;
    s.flags.push_back("kAccumulates");
  }
  if (starts(m, "v_cmp")) s.flags.push_back("kCompares");
  if (starts(m, "v_cmp") || starts(m, "v_readlane") || starts(m, "v_readfirstlane"))
    s.flags.push_back("kScalarDst");
  if (starts(m, "v_interp")) s.flags.push_back("kOpaque");
  if (starts(m, "v_div_fmas")) s.flags.push_back("kReadsVcc");
  if (has(m, "movrel") || has(m, "swaprel")) s.flags.push_back("kReadsM0");
  if (any(m, {"v_writelane", "v_permlane", "v_fma_mixlo", "v_fma_mixhi"}))
    s.flags.push_back("kDstIsSource");
  if (starts(m, "v_swap")) s.flags.push_back("kDstIsSource");
}

void scalar_condition_flags(const Row& row, Shape& s) {
  const std::string& m = row.mnemonic;
  const bool no_scc =
      any(m, {"s_cselect", "s_mul_", "s_mulk",    "s_bfm_",    "s_pack_",        "s_mov",
              "s_cmov",    "s_brev", "s_sext",    "s_bitset",  "s_getpc",        "s_setpc",
              "s_swappc",  "s_rfe",  "s_ff",      "s_flbit",   "s_bitreplicate", "s_getreg",
              "s_setreg",  "s_call", "s_waitcnt", "s_version", "s_subvector"});
  if (row.encoding != "SOPP" && !no_scc) s.flags.push_back("kWritesScc");
  if (any(m, {"s_cselect", "s_cmov", "s_addc_", "s_subb_", "s_cbranch_scc"}))
    s.flags.push_back("kReadsScc");
  if (any(m, {"saveexec", "wrexec", "s_subvector"})) {
    s.flags.push_back("kReadsExec");
    s.flags.push_back("kWritesExec");
  }
  if (has(m, "s_cbranch_exec")) s.flags.push_back("kReadsExec");
  if (has(m, "s_cbranch_vcc")) s.flags.push_back("kReadsVcc");
  if (any(m, {"s_movrel", "s_sendmsg"}) || m == "s_ttracedata") s.flags.push_back("kReadsM0");
}

void scalar_shape(const Row& row, Shape& s) {
  const std::string& m = row.mnemonic;
  const auto& o = row.operands;
  scalar_condition_flags(row, s);
  if (row.encoding == "SOPC") {
    s.src = {width(o[0]), width(o[1]), 0};
  } else if (row.encoding == "SOP2") {
    s.dst = width(o[0]);
    s.src = {width(o[1]), width(o[2]), 0};
  } else if (row.encoding == "SOP1") {
    if (m == "s_setpc_b64" || m == "s_rfe_b64") {
      s.src[0] = width(o[0]);
    } else {
      s.dst = width(o[0]);
      s.src[0] = width(o[1]);
    }
    if (any(m, {"s_cmov", "s_bitset"})) s.flags.push_back("kDstIsSource");
  } else if (row.encoding == "SOPK") {
    if (starts(m, "s_cmpk")) {
      s.src[0] = 1;
    } else if (m == "s_setreg_b32" || starts(m, "s_waitcnt")) {
      s.src[0] = 1;
    } else if (m == "s_call_b64") {
      s.dst = 2;
    } else if (m != "s_version" && m != "s_setreg_imm32_b32") {
      s.dst = 1;
      if (any(m, {"s_addk", "s_mulk"})) s.src[0] = 1;
      if (any(m, {"s_cmovk", "s_addk", "s_mulk"})) s.flags.push_back("kDstIsSource");
    }
  }
}

unsigned element_bytes(const std::string& m) {
  if (any(m, {"gws", "_inv", "nop", "swizzle", "permute"})) return 0;
  if (has(m, "atomic")) return has(m, "_x2") ? 8 : 4;
  if (starts(m, "ds_")) {
    if (any(m, {"_b128"})) return 16;
    if (any(m, {"_b96"})) return 12;
    if (any(m, {"64"}) && !ends(m, "st64_b32") && !has(m, "st64_rtn_b32")) return 8;
    if (any(m, {"_b16", "_i16", "_u16"})) return 2;
    if (any(m, {"_b8", "_i8", "_u8"})) return 1;
    return 4;
  }
  if (any(m, {"byte"})) return 1;
  if (any(m, {"short"})) return 2;
  if (has(m, "format_d16_hi_x")) return 2;
  if (has(m, "format"))
    return 4 * (ends(m, "_xyzw") ? 4 : ends(m, "_xyz") ? 3 : ends(m, "_xy") ? 2 : 1);
  if (has(m, "dwordx16")) return 64;
  if (has(m, "dwordx8")) return 32;
  if (has(m, "dwordx4")) return 16;
  if (has(m, "dwordx3")) return 12;
  if (has(m, "dwordx2")) return 8;
  return has(m, "dword") ? 4 : 0;
}

void memory_flags(const std::string& m, Shape& s) {
  s.access_bytes = element_bytes(m);
  const bool atomic = has(m, "atomic") || (starts(m, "ds_") && s.access_bytes != 0 &&
                                           !any(m, {"_read", "_write", "append", "consume"}));
  if (atomic || any(m, {"append", "consume"})) {
    s.flags.push_back("kAtomic");
    s.flags.push_back("kLoad");
    s.flags.push_back("kStore");
  } else if (any(m, {"_load", "_read"})) {
    s.flags.push_back("kLoad");
  } else if (any(m, {"_store", "_write"})) {
    s.flags.push_back("kStore");
  }
  if (atomic && any(m, {"_swap", "_wrxchg"})) s.flags.push_back("kExchanges");
  if (atomic && any(m, {"_cmpswap", "_fcmpswap", "_cmpst"})) s.flags.push_back("kComparesAndSwaps");
  if (has(m, "d16") && any(m, {"_load", "_read"})) s.flags.push_back("kDstIsSource");
  if (ends(m, "_d16_hi")) s.flags.push_back("kHighHalf");
  if (any(m, {"ds_read2", "ds_write2", "ds_wrxchg2"})) s.flags.push_back("kTwoAddresses");
  if (starts(m, "ds_") && has(m, "st64")) s.flags.push_back("kStride64");
  if (any(m, {"addtid", "append", "consume", "gws"})) s.flags.push_back("kReadsM0");
}

void ds_shape(const Row& row, Shape& s) {
  const std::string& m = row.mnemonic;
  size_t at = 0;
  if (any(m, {"_rtn_", "ds_read", "permute", "swizzle", "append", "consume"}))
    s.dst = width(row.operands[at++]);
  // GWS has its data operand in the address position of other instructions.
  size_t source = any(m, {"addtid", "append", "consume"}) ? 1 : 0;
  for (; source < 3 && row.operands[at][0] == 'V'; ++source)
    s.src[source] = width(row.operands[at++]);
}

void address_shape(const Row& row, Shape& s) {
  const std::string& m = row.mnemonic;
  const auto& o = row.operands;
  const bool buffer = row.encoding == "MUBUF" || row.encoding == "MTBUF";
  if (m.find("_inv") != m.npos) return;
  unsigned data = 0;
  if (buffer) {
    data = width(o[0]);
    s.src[0] = 2;
    s.src[2] = 1;
    s.sdst = 4;
    s.flags.push_back("kSdstIsSource");
  } else if (has(m, "addtid")) {
    data = width(o[0]);
    s.src[2] = 2;
  } else {
    const bool load = has(m, "_load");
    data = width(o[load ? 0 : 1]);
    s.src[0] = width(o[load ? 1 : 0]);
    s.src[2] = row.encoding == "GLOBAL" ? 2 : row.encoding == "SCRATCH" ? 1 : 0;
  }
  if (has(m, "_load")) {
    s.dst = data;
  } else {
    s.src[1] = data;
    if (has(m, "atomic")) s.dst = has(m, "cmpswap") ? data / 2 : data;
  }
}

// The image instructions that the emulator runs; of the others the decoder knows the name only.
// Registers for addresses and data depend on the dimension and DMASK (decode/image_operands.h).
void image_shape(const Row& row, Shape& s) {
  const std::string& m = row.mnemonic;
  const bool store = m == "image_store" || m == "image_store_mip";
  const bool plain = m == "image_load" || m == "image_load_mip" || m == "image_get_resinfo";
  const bool samples = m == "image_sample" || m == "image_sample_l" || m == "image_sample_lz" ||
                       m == "image_sample_d" || m == "image_sample_d_g16" || m == "image_gather4" ||
                       m == "image_gather4_l" || m == "image_gather4_lz";
  if (!store && !plain && !samples) return;
  s.sdst = 8;
  s.src = {4, store ? 4u : 0u, samples ? 4u : 0u};
  s.dst = store ? 0 : 4;
  s.flags = {"kSdstIsSource"};
  if (m != "image_get_resinfo") s.flags.push_back(store ? "kStore" : "kLoad");
}

Shape shape_of(const Row& row) {
  Shape s;
  const std::string& e = row.encoding;
  if (e == "SMEM") {
    memory_flags(row.mnemonic, s);
    if (has(row.mnemonic, "_load") || has(row.mnemonic, "time")) s.dst = width(row.operands[0]);
    if (s.dst != 0 && !has(row.mnemonic, "time")) s.src = {width(row.operands[1]), 1, 0};
  } else if (e[0] == 'S' && e != "SCRATCH") {
    scalar_shape(row, s);
  } else if (e == "DS") {
    memory_flags(row.mnemonic, s);
    ds_shape(row, s);
  } else if (e == "FLAT" || e == "GLOBAL" || e == "SCRATCH" || e == "MUBUF" || e == "MTBUF") {
    memory_flags(row.mnemonic, s);
    address_shape(row, s);
  } else if (e == "MIMG") {
    image_shape(row, s);
  } else if (e[0] == 'V') {
    vector_shape(row, s);
  }
  return s;
}

void merge(Shape& into, const Shape& from) {
  into.dst = std::max(into.dst, from.dst);
  into.sdst = std::max(into.sdst, from.sdst);
  for (size_t n = 0; n < 3; ++n) into.src[n] = std::max(into.src[n], from.src[n]);
}

// How sources read an inline constant or a literal (ConstantType).
std::array<const char*, 3> constants_of(std::string_view m, const Shape& s) {
  std::array<const char*, 3> types = {"32", "32", "32"};
  for (size_t n = 0; n < 3; ++n)
    if (s.src[n] >= 2) types[n] = has(m, "f64") ? "F64" : has(m, "i64") ? "I64" : "U64";
  if (starts(m, "v_fma_mix")) {
    types = {"Mix", "Mix", "Mix"};
  } else if (ends(m, "_f16")) {
    types[0] = types[1] = "F16";
    if (!starts(m, "v_dot2")) types[2] = "F16";
    // An exponent and a class mask are integers.
    if (any(m, {"ldexp", "class"})) types[1] = "32";
  }
  return types;
}

// The columns after the flags, which LLVM does not tell: those of the table that is checked in. Of
// a new mnemonic there are none, and somebody must fill them in before the table compiles.
std::map<std::string_view, std::string_view> kept_columns() {
  return {
#define GFXGRAPH_OP(name, dst, sdst, src0, src1, src2, access, type0, type1, type2, flags, ...) \
  {#name, #__VA_ARGS__},
#include "emulator/table/ops.inc"
#undef GFXGRAPH_OP
  };
}

}  // namespace

void write_ops(const std::vector<Row>& rows, std::FILE* out) {
  std::map<std::string, Shape> ops;
  for (const Row& row : rows) {
    const Shape shape = shape_of(row);
    const auto [at, fresh] = ops.try_emplace(row.mnemonic, shape);
    if (!fresh) merge(at->second, shape);
  }
  const auto kept = kept_columns();
  std::fprintf(
      out,
      "// All mnemonics of gfx1030, sorted. Written by emulator/table/probe.cpp, which keeps the "
      "columns after the flags:\n"
      "// edit only those. decode/op_info.h says what they mean.\n"
      "// GFXGRAPH_OP(name, dst, sdst, src0, src1, src2 in dwords, access bytes, ConstantType of "
      "src0, src1, src2, OpInfo flags,\n"
      "//             FlowKind, Wave64, Dataflow, Value, Logic, keeps, Relation, Again)\n");
  for (const auto& [name, s] : ops) {
    std::string flags;
    for (const std::string& flag : s.flags) {
      flags += flags.empty() ? "OpInfo::" : " | OpInfo::";
      flags += flag;
    }
    const auto constants = constants_of(name, s);
    const auto more = kept.find(name);
    std::fprintf(out, "GFXGRAPH_OP(%s, %u, %u, %u, %u, %u, %u, %s, %s, %s, %s, %s)\n", name.c_str(),
                 s.dst, s.sdst, s.src[0], s.src[1], s.src[2], s.access_bytes, constants[0],
                 constants[1], constants[2], flags.empty() ? "0" : flags.c_str(),
                 more == kept.end() ? "?" : std::string(more->second).c_str());
  }
}

}  // namespace gfxgraph::emulator::table

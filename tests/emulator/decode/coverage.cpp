// Writes docs/isa-coverage.md: each mnemonic of gfx1030, whether the emulator runs it, how exact,
// and tested by what.
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "emulator/decode/inst.h"
#include "emulator/engine/backend.h"
#include "fmt/format.h"
#include "tests/emulator/memory/memory_model.h"
#include "tests/emulator/scalar/scalar_model.h"
#include "tests/emulator/vector/vector_model.h"
#include "tests/emulator/vector/vector_tested.h"

namespace gfxgraph::emulator {
extern const Backend kPlainBackend_isa_v2;

namespace {

using spec::TableRow;

struct Entry {
  std::string encodings;
  unsigned rows = 0;
  unsigned implemented = 0;
};

std::array<uint32_t, 5> words_of(const TableRow& row, uint32_t second) {
  const std::string& e = row.encoding;
  const uint32_t op = row.opcode;
  if (e == "SOP2") return {0x80000000 | op << 23, 0};
  if (e == "SOPK") return {0xb0000000 | op << 23, 0};
  if (e == "SOP1") return {0xbe800000 | op << 8, 0};
  if (e == "SOPC") return {0xbf000000 | op << 16, 0};
  if (e == "SOPP") return {0xbf800000 | op << 16, 0};
  if (e == "SMEM") return {0xf4000000 | op << 18, 0xfa000000};
  if (e == "VOP2") return {op << 25 | 256, 0};
  if (e == "VOP1") return {0x7e000000 | op << 9 | 256, 0};
  if (e == "VOPC") return {0x7c000000 | op << 17 | 256, 0};
  if (e == "VOP3") return {0xd4000000 | op << 16, 256 | 256u << 9 | 256u << 18};
  if (e == "VOP3P") return {0xcc004000 | op << 16, 256 | 256u << 9 | 256u << 18 | 3u << 27};
  if (e == "VINTRP") return {0xc8000000 | op << 16, 0};
  if (e == "DS") return {0xd8000000 | op << 18 | (second & 1) << 17, 0};
  if (e == "FLAT") return {0xdc000000 | op << 18, 0x007d0000};
  if (e == "GLOBAL") return {0xdc008000 | op << 18, 0x007d0000};
  if (e == "SCRATCH") return {0xdc004000 | op << 18, 0x007d0000};
  if (e == "MUBUF") return {0xe0000000 | op << 18, 0x80000000};
  if (e == "MTBUF") return {0xe8000000 | (op & 7) << 16, 0x80000000 | (op >> 3) << 21};
  if (e == "MIMG") return {0xf0000100 | (op & 127) << 18 | op >> 7, 0};
  return {0xf8000000, 0};
}

bool implemented(const TableRow& row) {
  for (const uint32_t variant : {0u, 1u}) {
    const auto words = words_of(row, variant);
    Inst inst;
    if (decode(words.data(), words.size(), 0, inst) != DecodeStatus::kOk) continue;
    if (kPlainBackend_isa_v2.bind(inst) != nullptr) return true;
  }
  return false;
}

std::string tested_by(const std::string& mnemonic, const Entry& entry) {
  if (entry.implemented == 0) return "refused by name";
  if (const std::string test = spec::how_tested(mnemonic); !test.empty()) return test;
  if (const char* test = spec::how_scalar_tested(mnemonic)) return test;
  if (const char* test = spec::how_memory_tested(mnemonic)) return test;
  return "NO TEST";
}

// False when a row that runs has no test.
bool write(std::FILE* out) {
  std::map<std::string, Entry> entries;
  unsigned rows = 0;
  unsigned done = 0;
  for (const TableRow& row : spec::table_rows()) {
    Entry& entry = entries[row.mnemonic];
    if (!entry.encodings.empty()) entry.encodings += ' ';
    entry.encodings += row.encoding;
    ++entry.rows;
    const bool yes = implemented(row);
    entry.implemented += yes;
    ++rows;
    done += yes;
  }
  unsigned complete = 0;
  bool tested = true;
  for (const auto& [name, entry] : entries) complete += entry.implemented == entry.rows;
  fmt::print(
      out,
      "# Instruction coverage of the emulator\n\n"
      "Written by `gfxgraph-isa-coverage`; a test fails when this file is stale. All legal "
      "gfx1030 (encoding, opcode)\n"
      "pairs decode: {} of them, {} run; {} of {} mnemonics run in every encoding. The "
      "others are refused by name\n"
      "when a kernel reaches them.\n\n"
      "Exact: the bits that the RDNA2 ISA guide defines, in every rounding and denormal "
      "mode, with IEEE and DX10_CLAMP\n"
      "on or off. When several inputs are NaN, or none (an invalid operation), which NaN "
      "comes out is not defined\n"
      "here; without IEEE it may be signalling. \"ulp\": the hardware's approximation is "
      "not public; results are within\n"
      "this bound of the exact value (the hardware's: 1 ulp), but not bit for bit the "
      "hardware's; they are rounded to\n"
      "nearest in every mode. \"denormals flushed\": inputs and results, as the hardware "
      "does for these whatever the mode.\n\n"
      "What the guide leaves open in other modes: a result is tiny, and flushed, if it is "
      "below the smallest normal number\n"
      "after rounding to its precision; minimum, maximum and median flush like arithmetic; "
      "v_cmp_class does not; LDS\n"
      "additions flush by the binary32 field and round to nearest, the other float atomics "
      "take values as they are.\n\n"
      "Of rows that run, these forms are refused by name: DPP and SDWA of v_movrel*; TFE; GDS "
      "except for global wave\n"
      "sync; LDS=1 except for loads of a dword or less by MUBUF, GLOBAL and SCRATCH; more than 4 "
      "bytes a lane through a\n"
      "swizzled buffer; ds_wrxchg2 whose first result is its second operand; clamp where the "
      "result is neither a float nor\n"
      "that of a saturating instruction; signs of integers; v_swap_b32 with a source that is no "
      "VGPR; images that are not linear, or have mip levels, cube maps and multisampling, A16, "
      "LWE, "
      "anisotropic filters, a\nlinear filter on integers; subvector loops in wave32; messages "
      "other than MSG_INTERRUPT;\n"
      "hardware registers other than MODE, STATUS, TRAPSTS, HW_ID, IB_STS, SH_MEM_BASES, "
      "FLAT_SCR, XNACK_MASK, SHADER_CYCLES.\n\n"
      "Tested by: vector_random_test compares random operands, edge values, modifiers, SDWA, "
      "DPP and EXEC masks with a\n"
      "second, plain implementation; so do scalar_row_test (SCC, overlap, EXEC and VCC as "
      "operands) and memory_row_test\n"
      "(addressing modes, range checks, apertures, swizzle, overlap of destination and "
      "address, wild addresses in inactive\n"
      "lanes). float_mode_test does so in all float modes, against MPFR; transcendental_test "
      "measures the distance from\n"
      "MPFR's values; llvm_folding_test compares with LLVM's constant folding. "
      "vector_lane_test, scalar_test,\n"
      "scalar_control_test, buffer_format_test and image_test have cases by hand. Whole compiled "
      "kernels "
      "run in wave32 and wave64.\n\n"
      "| mnemonic | encodings | runs | accuracy | tested by |\n|---|---|---|---|---|\n",
      rows, done, complete, entries.size());
  for (const auto& [name, entry] : entries) {
    const char* runs = entry.implemented == entry.rows ? "yes"
                       : entry.implemented == 0        ? "no"
                                                       : "partly";
    fmt::print(out, "| {} | {} | {} | {} | {} |\n", name, entry.encodings, runs,
               entry.implemented == 0 ? "-" : spec::accuracy(name), tested_by(name, entry));
    if (tested_by(name, entry) == "NO TEST") {
      fmt::print(stderr, "{} has no test\n", name);
      tested = false;
    }
  }
  return tested;
}

}  // namespace
}  // namespace gfxgraph::emulator

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    fmt::print(stderr, "usage: gfxgraph-isa-coverage docs/isa-coverage.md\n");
    return 2;
  }
  std::FILE* out = std::fopen(argv[1], "w");
  if (out == nullptr) return 1;
  const bool tested = gfxgraph::emulator::write(out);
  return std::fclose(out) == 0 && tested ? 0 : 1;
}

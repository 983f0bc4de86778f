// Prints the table of all legal gfx1030 (encoding, opcode) pairs, using the disassembler of the
// installed LLVM. The output is checked in (gfx1030.inc, ops.inc); a test compares the two. Uses
// only the printed text of an instruction, because the order and layout of LLVM's own operand lists
// change between releases.
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <bit>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/table/llvm_target_internal.h"
#include "emulator/table/ops_writer.h"

namespace {

using gfxgraph::emulator::table::Row;

struct Text {
  std::string mnemonic;  // with LLVM's encoding suffix
  std::vector<std::string> operands;
  uint64_t size = 0;  // bytes
};

class Disassembler {
 public:
  Disassembler() {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    const auto triple = gfxgraph::emulator::target_name();
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (target == nullptr) {
      std::fprintf(stderr, "probe: this LLVM has no AMDGPU target: %s\n", error.c_str());
      std::exit(1);
    }
    registers_.reset(target->createMCRegInfo(triple));
    asm_info_.reset(target->createMCAsmInfo(*registers_, triple, llvm::MCTargetOptions()));
    instructions_.reset(target->createMCInstrInfo());
    subtarget_.reset(
        target->createMCSubtargetInfo(triple, "gfx1030", "+wavefrontsize32,-wavefrontsize64"));
    context_ = std::make_unique<llvm::MCContext>(llvm::Triple(triple), asm_info_.get(),
                                                 registers_.get(), subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
    printer_.reset(target->createMCInstPrinter(llvm::Triple(triple), 0, *asm_info_, *instructions_,
                                               *registers_));
  }

  std::optional<Text> decode(const std::array<uint32_t, 5>& words) const {
    std::array<uint8_t, 20> bytes;
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<uint8_t>(words[i / 4] >> (8 * (i % 4)));
    llvm::MCInst inst;
    uint64_t size = 0;
    const auto status =
        disassembler_->getInstruction(inst, size, llvm::ArrayRef<uint8_t>(bytes), 0, llvm::nulls());
    if (status != llvm::MCDisassembler::Success) return std::nullopt;
    std::string line;
    llvm::raw_string_ostream stream(line);
    printer_->printInst(&inst, 0, "", *subtarget_, stream);
    stream.flush();
    // LLVM prints some invalid encodings with a remark in a comment.
    if (line.find("illegal") != std::string::npos || line.find("/*") != std::string::npos)
      return std::nullopt;
    Text text;
    text.size = size;
    split(line, text);
    return text;
  }

 private:
  static void split(const std::string& line, Text& text) {
    size_t at = line.find_first_not_of(" \t");
    size_t end = line.find_first_of(" \t", at);
    text.mnemonic = line.substr(at, end == std::string::npos ? end : end - at);
    if (end == std::string::npos) return;
    std::string operand;
    int depth = 0;
    for (char c : line.substr(end + 1)) {
      if (c == '[' || c == '(') ++depth;
      if (c == ']' || c == ')') --depth;
      if (c == ',' && depth == 0) {
        text.operands.push_back(operand);
        operand.clear();
      } else if (c != ' ' || !operand.empty()) {
        operand += c;
      }
    }
    if (!operand.empty()) text.operands.push_back(operand);
  }

  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> asm_info_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
  std::unique_ptr<llvm::MCInstPrinter> printer_;
};

// "v[2:3] offset:4" -> V2. V, S: registers and how many dwords; I: anything else that is printed.
std::string operand_shape(std::string_view operand) {
  std::string token(operand.substr(0, operand.find(' ')));
  if (token.empty()) return "";
  if (token == "vcc" || token == "exec") return "S2";
  if (token == "vcc_lo" || token == "vcc_hi" || token == "m0" || token == "exec_lo" ||
      token == "scc")
    return "S1";
  if (token == "off" || token == "null") return "N";
  char kind = token[0];
  if ((kind == 'v' || kind == 's') && token.size() > 1) {
    std::string shape(1, kind == 'v' ? 'V' : 'S');
    if (std::isdigit(static_cast<unsigned char>(token[1]))) return shape += '1';
    unsigned first = 0;
    unsigned last = 0;
    if (std::sscanf(token.c_str() + 1, "[%u:%u]", &first, &last) == 2)
      return shape += std::to_string(last - first + 1);
  }
  return "I";
}

struct Encoding {
  const char* name;
  uint32_t base;      // first dword without opcode
  unsigned shift;     // of the opcode in the first dword
  unsigned opcodes;   // the number of opcodes the field can hold
  uint32_t second;    // the second dword that most opcodes accept
  uint32_t first_or;  // operand fields of the first dword
  unsigned dwords;    // without literal
};

// Register operands are even and aligned to 4 so that every width is accepted.
constexpr uint32_t kVop3Second = (256 + 16) | ((256 + 20) << 9) | ((256 + 24) << 18);
constexpr Encoding kEncodings[] = {
    {"SOP2", 0x80000000u, 23, 0x60, 0, 4u << 16 | 8u | 12u << 8, 1},
    {"SOPK", 0xb0000000u, 23, 0x1d, 0, 4u << 16, 1},
    {"SOP1", 0xbe800000u, 8, 0x100, 0, 4u << 16 | 8u, 1},
    {"SOPC", 0xbf000000u, 16, 0x80, 0, 8u | 12u << 8, 1},
    {"SOPP", 0xbf800000u, 16, 0x80, 0, 0, 1},
    {"SMEM", 0xf4000000u, 18, 0x100, 0xfa000000u, 4u << 6 | 4u, 2},
    {"VOP2", 0x00000000u, 25, 0x3e, 0, (256 + 8) | 12u << 9 | 4u << 17, 1},
    {"VOP1", 0x7e000000u, 9, 0x100, 0, (256 + 8) | 4u << 17, 1},
    {"VOPC", 0x7c000000u, 17, 0x100, 0, (256 + 8) | 12u << 9, 1},
    {"VOP3", 0xd4000000u, 16, 0x400, kVop3Second, 4, 2},
    {"VOP3P", 0xcc000000u, 16, 0x80, kVop3Second | 3u << 27, 4 | 1u << 14, 2},
    {"VINTRP", 0xc8000000u, 16, 4, 0, 4u << 18 | 8u, 1},
    {"DS", 0xd8000000u, 18, 0x100, 8u | 12u << 8 | 16u << 16 | 4u << 24, 0, 2},
    {"FLAT", 0xdc000000u, 18, 0x80, 8u | 12u << 8 | 0x7du << 16 | 4u << 24, 0, 2},
    {"GLOBAL", 0xdc008000u, 18, 0x80, 8u | 12u << 8 | 0x7du << 16 | 4u << 24, 0, 2},
    {"SCRATCH", 0xdc004000u, 18, 0x80, 8u | 12u << 8 | 0x7du << 16 | 4u << 24, 0, 2},
    {"MUBUF", 0xe0000000u, 18, 0x100, 8u | 4u << 8 | 2u << 16 | 128u << 24, 0, 2},
    {"MTBUF", 0xe8000000u, 16, 0x10, 8u | 4u << 8 | 2u << 16 | 128u << 24, 0, 2},
    {"MIMG", 0xf0000f08u, 18, 0x100, 8u | 4u << 8 | 2u << 16 | 2u << 21, 0, 2},
    {"EXP", 0xf8000000u, 0, 1, 0x0f0e0d0cu, 0, 2},
};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string without_suffix(std::string name) {
  for (const char* suffix : {"_e32", "_e64", "_sdwa", "_dpp8", "_dpp"}) {
    const std::string_view s = suffix;
    if (name.size() > s.size() && name.compare(name.size() - s.size(), s.size(), s) == 0)
      return name.substr(0, name.size() - s.size());
  }
  return name;
}

class Probe {
 public:
  std::array<uint32_t, 5> words(const Encoding& e, unsigned opcode) const {
    uint32_t first = e.base | e.first_or;
    uint32_t second = e.second;
    const std::string_view name = e.name;
    if (name == "MIMG") {
      first |= (opcode & 0x7f) << 18 | (opcode >> 7);
    } else if (name == "MTBUF") {
      first |= (opcode & 7) << 16 | 22u << 19;
      second |= (opcode >> 3) << 21;
    } else {
      first |= opcode << e.shift;
    }
    return {first, second, 0, 0, 0};
  }

  std::optional<Text> decode(const Encoding& e, unsigned opcode) const {
    const std::array<uint32_t, 5> plain = words(e, opcode);
    if (auto text = disassembler_.decode(plain)) return text;
    // Fields for opcodes with other operands: no destination, scalar or no sources, other sizes.
    constexpr uint32_t kV = 256 + 16;
    for (uint32_t second :
         {kV | (256 + 20) << 9 | 4u << 18, kV | 12u << 9 | 16u << 18, kV | (256 + 20) << 9,
          kV | 12u << 9, kV, 8u | (256 + 20) << 9, 8u | 12u << 9, 0u, 0xfa000000u, 0x007d0000u,
          0x047d0008u, 0x087d0c08u}) {
      for (uint32_t clear : {0u, 0xffu, 0x007f0000u, 0xffffu, 0x1ffu}) {
        for (uint32_t set : {0u, std::string_view(e.name) == "DS" ? 1u << 17 : 0u}) {
          std::array<uint32_t, 5> other = plain;
          other[1] = second;
          other[0] = (other[0] & ~(clear & (e.dwords == 1 ? 0x007fffffu : 0xffffu))) | set;
          if (((other[0] ^ plain[0]) & opcode_mask(e)) != 0) continue;
          if (auto text = disassembler_.decode(other)) return text;
        }
      }
    }
    if (std::string_view(e.name) != "MIMG") return std::nullopt;
    // Ray tracing: DMASK 15, UNRM and R128 are required, and there is no sampler.
    std::array<uint32_t, 5> ray = plain;
    ray[0] = (ray[0] & ~0xfff8u) | 0x9f00u;
    ray[1] = 8u | 4u << 8 | 2u << 16;
    return disassembler_.decode(ray);
  }

  bool accepts(const Encoding& e, unsigned opcode, uint32_t src0, uint32_t second) const {
    std::array<uint32_t, 5> w = words(e, opcode);
    w[0] = (w[0] & ~0x1ffu) | src0;
    w[1] = second;
    const auto text = disassembler_.decode(w);
    return text.has_value() && text->size == 8;
  }

  // Appends the legal rows of one encoding.
  void collect(const Encoding& e, std::vector<Row>& rows) const {
    for (unsigned opcode = 0; opcode < e.opcodes; ++opcode) {
      const std::optional<Text> text = decode(e, opcode);
      if (!text) continue;
      // LLVM ignores the segment field of FLAT atomics; the scratch segment has no atomics.
      if (std::string_view(e.name) == "SCRATCH" && !starts_with(text->mnemonic, "scratch_"))
        continue;
      rows.push_back(row(e, opcode, *text));
    }
  }

 private:
  static uint32_t opcode_mask(const Encoding& e) {
    if (std::string_view(e.name) == "EXP") return 0;
    return (std::bit_ceil(e.opcodes) - 1) << e.shift | 0xfc000000u;
  }

  Row row(const Encoding& e, unsigned opcode, const Text& text) const {
    const std::string_view name = e.name;
    Row row{e.name, opcode, without_suffix(text.mnemonic), {"_", "_", "_", "_", "_"}, ""};
    const auto flag = [&](const char* f) {
      if (!row.flags.empty()) row.flags += '|';
      row.flags += f;
    };
    if (text.size > e.dwords * 4) flag("kLiteral");
    if (name == "VOP1" || name == "VOP2" || name == "VOPC") {
      // Word, zero-extended, whole destination; fields without an operand in this form must be
      // zero.
      const uint32_t sdwa = 8u | (name == "VOPC"   ? 0x06060000u
                                  : name == "VOP1" ? 0x00060600u
                                                   : 0x06060600u);
      if (accepts(e, opcode, 249, sdwa)) flag("kSdwa");
      if (accepts(e, opcode, 250, 0xff000000u | 0xe4u << 8 | 8u)) flag("kDpp16");
      if (accepts(e, opcode, 233, 0x53977000u | 8u)) flag("kDpp8");
    }
    for (size_t n = 0; n < text.operands.size() && n < row.operands.size(); ++n) {
      std::string shape = operand_shape(text.operands[n]);
      if (shape.empty()) shape.assign(1, 'N');
      row.operands[n] = std::move(shape);
    }
    if (row.flags.empty()) row.flags.assign(1, '0');
    return row;
  }

  Disassembler disassembler_;
};

void write_rows(const std::vector<Row>& rows, std::FILE* out) {
  std::fprintf(
      out,
      "// All legal gfx1030 instructions. Written by emulator/table/probe.cpp; do not edit.\n"
      "//\n"
      "// X(encoding, opcode, mnemonic, operands in assembler order (5), flags)\n"
      "// Operand: V or S with a width in dwords for registers, N for off or null, I for what is "
      "no "
      "register,\n"
      "// _ for none. Flags: which extra dword forms exist, and whether a literal always "
      "follows.\n");
  std::string encoding;
  for (const Row& row : rows) {
    if (row.encoding != encoding) std::fprintf(out, "\n");
    encoding = row.encoding;
    const auto& o = row.operands;
    std::fprintf(out, "X(%s, 0x%03x, %s, %s, %s, %s, %s, %s, %s)\n", row.encoding.c_str(),
                 row.opcode, row.mnemonic.c_str(), o[0].c_str(), o[1].c_str(), o[2].c_str(),
                 o[3].c_str(), o[4].c_str(), row.flags.c_str());
  }
}

}  // namespace

// probe ROWS.inc OPS.inc
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Probe probe;
  std::vector<Row> rows;
  for (const Encoding& e : kEncodings) probe.collect(e, rows);
  std::FILE* rows_file = std::fopen(argv[1], "w");
  std::FILE* ops_file = std::fopen(argv[2], "w");
  if (rows_file == nullptr || ops_file == nullptr) return 1;
  write_rows(rows, rows_file);
  gfxgraph::emulator::table::write_ops(rows, ops_file);
  return std::fclose(rows_file) == 0 && std::fclose(ops_file) == 0 ? 0 : 1;
}

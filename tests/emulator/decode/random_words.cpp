#include "tests/emulator/decode/random_words.h"

namespace gfxgraph::emulator {

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
#define X(encoding, opcode, mnemonic, o0, o1, o2, o3, o4, flags) {#encoding, opcode, #mnemonic},
#include "emulator/table/gfx1030.inc"
#undef X
  };
  return table;
}

namespace {

// Bits of the first dword that say encoding and opcode, and their value; MTBUF and MIMG are done by
// hand.
struct Fixed {
  uint32_t mask, value;
};
Fixed fixed_bits(const Row& row) {
  const std::string& e = row.encoding;
  const uint32_t op = row.opcode;
  if (e == "SOP2") return {0xff800000, 0x80000000 | op << 23};
  if (e == "SOPK") return {0xff800000, 0xb0000000 | op << 23};
  if (e == "SOP1") return {0xff80ff00, 0xbe800000 | op << 8};
  if (e == "SOPC") return {0xffff0000, 0xbf000000 | op << 16};
  if (e == "SOPP") return {0xffff0000, 0xbf800000 | op << 16};
  if (e == "SMEM") return {0xfffc0000, 0xf4000000 | op << 18};
  if (e == "VOP2") return {0xfe000000, op << 25};
  // LLVM gives v_nop forms of its own when the unused source field says so.
  if (row.mnemonic == "v_nop" && e == "VOP1") return {0xfe01ffff, 0x7e000000};
  if (e == "VOP1") return {0xfe01fe00, 0x7e000000 | op << 9};
  if (e == "VOPC") return {0xfffe0000, 0x7c000000 | op << 17};
  if (e == "VOP3") return {0xffff0000, 0xd4000000 | op << 16};
  if (e == "VOP3P") return {0xffff0000, 0xcc000000 | op << 16};
  if (e == "VINTRP") return {0xfc030000, 0xc8000000 | op << 16};
  if (e == "DS") return {0xfffc0000, 0xd8000000 | op << 18};
  if (e == "FLAT") return {0xfffcc000, 0xdc000000 | op << 18};
  if (e == "GLOBAL") return {0xfffcc000, 0xdc008000 | op << 18};
  if (e == "SCRATCH") return {0xfffcc000, 0xdc004000 | op << 18};
  if (e == "MUBUF") return {0xfffc0000, 0xe0000000 | op << 18};
  if (e == "MTBUF") return {0xfc070000, 0xe8000000 | (op & 7) << 16};
  if (e == "MIMG") return {0xfdfc0001, 0xf0000000 | (op & 127) << 18 | op >> 7};
  return {0xfc000000, 0xf8000000};
}

}  // namespace

Words random_words(std::mt19937& random, const Row& row) {
  Words w;
  for (uint32_t& word : w) word = static_cast<uint32_t>(random());
  // Fields are often small or zero in real code, and LLVM refuses junk in unused ones.
  if (random() % 2 == 0) w[0] &= static_cast<uint32_t>(random());
  if (random() % 3 == 0) w[1] &= 0x03ffffff & static_cast<uint32_t>(random());
  if (random() % 3 == 0) w[1] |= 0x04020100;
  if (random() % 4 == 0) {  // fields that must be zero, aligned registers
    w[0] &= random() % 2 == 0 ? 0x00030f00 : 0;
    w[1] &= random() % 2 == 0 ? 0x001c0404 : random() % 2 == 0 ? 0x1000 : 0;
  }
  const Fixed f = fixed_bits(row);
  w[0] = (w[0] & ~f.mask) | f.value;
  if (row.encoding == "VOP3" && random() % 8 == 0) w[1] &= 0x1ff;
  if (row.encoding == "MTBUF") w[1] = (w[1] & ~(1u << 21)) | (row.opcode >> 3) << 21;
  if (row.mnemonic == "v_nop") return w;
  // An SGPR destination in an 8-bit field: LLVM reads codes from 128 on as constants, even as a
  // literal.
  if (row.encoding == "VOP3") w[0] &= ~0x80u;
  if (row.mnemonic == "v_readfirstlane_b32") w[0] &= ~(0x80u << 17);
  if ((row.encoding == "VOP1" || row.encoding == "VOP2" || row.encoding == "VOPC") &&
      random() % 2 == 0) {
    static const uint32_t forms[] = {249, 250, 233, 234, 255};
    w[0] = (w[0] & ~0x1ffu) | forms[random() % 5];
    if (random() % 2 == 0) w[1] &= 0x06060600 | 0xff;
    if (random() % 2 == 0) w[1] = (w[1] & 0xff000000) | 0xe400 | (w[1] & 0xff);
  }
  return w;
}

}  // namespace gfxgraph::emulator

// A decoded gfx1030 instruction: what the decoder produces, the code cache keeps and handlers run.
//
// One Inst per dword of code that starts an instruction, 64 bytes, so that "the next instruction"
// is pointer arithmetic. The decoder fills everything but `handler`; a bind function of the
// instruction's family then chooses the handler by op, format and operand kinds (see "Binding"
// below).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "emulator/decode/op_info.h"

namespace gfxgraph::emulator {

struct Inst;
struct Wave;

// Runs one instruction for one wave and returns the instruction to run next: inst->next() unless it
// jumps. Null leaves the run loop; `wave.exit` then says why and `wave.resume` where to go on (see
// wave.h: raise() for faults). The loop counts instructions; a handler touches no pc. Conventions:
// - EXEC (sgpr[126]) is written through wave.set_exec() only: it keeps wave.exec_mask in step.
// - SCC is wave.scc (0 or 1). VCC is sgpr[106], VCC_HI sgpr[107]. In wave32 lane masks are 32 bits
//   wide: carry and compare destinations write one SGPR, bits of inactive lanes become 0.
// - Vector destinations change in active lanes only. Read all sources of all lanes before the first
//   write: destinations may overlap sources.
// - SGPR destinations go through wave.write32/write64: null (125) and EXEC need care.
using Handler = const Inst* (*)(Wave& wave, const Inst* inst);

// Operand codes: those of the manual's 9-bit source field, for every operand of every format.
namespace operand {
inline constexpr uint16_t kVccLo = 106, kVccHi = 107, kTtmp0 = 108, kM0 = 124, kNull = 125,
                          kExecLo = 126, kExecHi = 127;
inline constexpr uint16_t kFirstConstant = 128;  // 128..255: not a register file entry
inline constexpr uint16_t kSharedBase = 235, kSharedLimit = 236, kPrivateBase = 237,
                          kPrivateLimit = 238, kPopsExiting = 239, kVccz = 251, kExecz = 252,
                          kScc = 253, kLdsDirect = 254, kLiteral = 255;
inline constexpr uint16_t kVgpr0 = 256;    // v0..v255 = 256..511
inline constexpr uint16_t kNone = 0xffff;  // the instruction has no such operand
constexpr bool is_vgpr(uint16_t code) { return code - 256u < 256u; }
constexpr bool is_sgpr(uint16_t code) {
  return code < 128;
}  // VCC, TTMP, M0, null and EXEC included
// Sources whose value is known only when the instruction runs, though they are no SGPR.
constexpr bool is_special(uint16_t code) {
  return (code >= kSharedBase && code <= kPopsExiting) || (code >= kVccz && code <= kLdsDirect);
}
}  // namespace operand

enum class Format : uint8_t {
  kSop1,
  kSop2,
  kSopc,
  kSopk,
  kSopp,
  kSmem,
  kVop1,
  kVop2,
  kVopc,
  kVop3,
  kVop3p,
  kVintrp,
  kDs,
  kFlat,
  kGlobal,
  kScratch,
  kMubuf,
  kMtbuf,
  kMimg,
  kExp,
};

// The second dword form of a VOP1/VOP2/VOPC instruction.
enum class VopExtra : uint8_t { kNone, kSdwa, kDpp16, kDpp8 };

// Inst::mods bits of vector ALU instructions.
namespace vmod {
inline constexpr uint32_t kNegShift = 0;       // 3 bits, one per source (VOP3P: neg_lo)
inline constexpr uint32_t kAbsShift = 3;       // 3 bits (VOP3P: neg_hi)
inline constexpr uint32_t kOpSelShift = 6;     // 4 bits: src0..2, dst
inline constexpr uint32_t kOpSelHiShift = 10;  // 3 bits, VOP3P
inline constexpr uint32_t kOmodShift = 13;     // 2 bits: 0 none, 1 x2, 2 x4, 3 /2
inline constexpr uint32_t kClamp = 1u << 15;
inline constexpr uint32_t kAny = 0xffff;  // "no modifier at all" is (mods & kAny) == 0 (not VOP3P)
inline constexpr uint32_t kExtraShift = 16;  // 2 bits: VopExtra
inline constexpr uint32_t kKindsShift = 18;  // 3 bits for handlers: which sources are no VGPRs
}  // namespace vmod

// Inst::mods bits of memory instructions.
namespace mmod {
inline constexpr uint32_t kGlc = 1, kSlc = 2, kDlc = 4, kLds = 8, kOffen = 16, kIdxen = 32,
                          kGds = 64, kTfe = 128;
}

// Formats keep their operands so:
//   VOP*:   dst, sdst (VOP3B carry-out; v_cmp and v_readlane have their SGPR in dst), src[0..2]
//   with the
//           implicit VCC carry-in of VOP2 as src[2] = kVccLo; v_fmac/v_dot*c: src[2] = dst.
//           v_fmamk/v_fmaak: the literal is an ordinary constant source. SDWA/DPP control: see
//           `imm`.
//   SOP*:   dst, src[0..1]; imm = simm16 sign-extended (SOPK, SOPP). s_cmpk, s_addk, s_mulk,
//   s_cmovk, s_setreg:
//           the register is dst, and src[0] too where it is read.
//   SMEM:   dst = sdata (first SGPR), src[0] = sbase, src[1] = soffset SGPR or kNone, imm = signed
//   21 bits;
//           src[2] = sdata for stores and atomics (gfx1030 has none).
//   DS:     dst, src[0] = addr, src[1] = data0, src[2] = data1, imm = the 16 offset bits (offset0 |
//   offset1 << 8). FLAT, GLOBAL, SCRATCH: dst, src[0] = vaddr or kNone, src[1] = vdata, src[2] =
//   saddr or kNone, imm = signed
//           12-bit offset.
//   MUBUF:  dst (loads, atomics with GLC), src[0] = vaddr or kNone, src[1] = vdata (stores,
//   atomics), src[2] = soffset,
//           sdst = srsrc (first SGPR; read, not written), imm = unsigned 12-bit offset. MTBUF
//           alike, format in mods >> 16.
struct alignas(64) Inst {
  std::atomic<Handler> handler{nullptr};  // release-published last: see code_cache.h
  uint64_t pc = 0;                        // device address
  uint64_t k[3] = {0, 0,
                   0};  // value of src[n] if it is an inline constant or literal, as the operand's
                        // type reads it: 16- and 32-bit types in the low bits (f16 constants as
                        // f16; packed types: as the manual says, decoder's job), 64-bit types fully
                        // extended. Branches: k[0] is the target's Inst* (set by the code cache).
  uint16_t advance = 0;  // size in bytes of the Insts to step over: dwords * sizeof(Inst)
  Op op = Op{0};
  Format format = Format::kSopp;
  uint8_t flags = 0;  // kHas*: below
  uint16_t dst = operand::kNone;
  uint16_t sdst = operand::kNone;
  uint16_t src[3] = {operand::kNone, operand::kNone, operand::kNone};
  int32_t imm = 0;    // SDWA and DPP: the raw second dword's bits 31:8 (bits 7:0, src0, cleared)
  uint32_t mods = 0;  // vmod or mmod bits

  static constexpr uint8_t kHasSpecialSource = 1;  // a source is operand::is_special
  static constexpr uint8_t kAnyMode =
      2;  // before binding: for waves whose MODE is not kDefaultMode

  const Inst* next() const {
    return reinterpret_cast<const Inst*>(reinterpret_cast<const char*>(this) + advance);
  }
  uint32_t size_bytes() const { return advance / 16u; }
  uint64_t next_pc() const { return pc + size_bytes(); }
  uint32_t neg() const { return mods >> vmod::kNegShift & 7; }
  uint32_t abs() const { return mods >> vmod::kAbsShift & 7; }
  uint32_t op_sel() const { return mods >> vmod::kOpSelShift & 15; }
  uint32_t op_sel_hi() const { return mods >> vmod::kOpSelHiShift & 7; }
  uint32_t omod() const { return mods >> vmod::kOmodShift & 3; }
  bool clamp() const { return (mods & vmod::kClamp) != 0; }
  VopExtra extra() const { return static_cast<VopExtra>(mods >> vmod::kExtraShift & 3); }
  const Inst* target() const { return reinterpret_cast<const Inst*>(k[0]); }

  // Everything but the handler.
  void copy_fields(const Inst& from) {
    // A slot of the code cache has its pc from the start, and others may be reading it.
    if (pc != from.pc) pc = from.pc;
    for (int n = 0; n < 3; ++n) k[n] = from.k[n];
    advance = from.advance;
    op = from.op;
    format = from.format;
    flags = from.flags;
    dst = from.dst;
    sdst = from.sdst;
    for (int n = 0; n < 3; ++n) src[n] = from.src[n];
    imm = from.imm;
    mods = from.mods;
  }
};
static_assert(sizeof(Inst) == 64);

// ---- decoding (decode.cpp) ----------------------------------------------------------------------

enum class DecodeStatus : uint8_t { kOk, kTruncated, kIllegal };

// Decodes the instruction at `words`, of which `available` dwords may be read, for device address
// `pc`. Fills all of `inst` but handler and k[0] of branches. Pure function of its arguments;
// thread-safe.
DecodeStatus decode(const uint32_t* words, size_t available, uint64_t pc, Inst& inst) noexcept;

// ---- binding (emulator/isa/, compiled once per instruction set of the host)
// -----------------------
//
// Every file in emulator/isa/ is compiled several times, with GFXGRAPH_ISA = isa_v2, isa_v3, isa_v4
// (x86-64 levels; emulator/CMakeLists.txt), and its code stands in `inline namespace GFXGRAPH_ISA`;
// nothing there may be visible outside but through the table below, and inline functions that it
// shares with other files are always_inline. A bind function gives the handler or null
// (unsupported: the engine refuses by name). It may rewrite inst.k/imm for its handler's use, never
// operands (observers read them).
struct VectorBinder {
  Handler (*bind)(Inst& inst);  // formats kVop1..kVop3p
};
// `extern const VectorBinder kVectorBinder;` is declared in isa/isa.h and defined once per host
// instruction set.

}  // namespace gfxgraph::emulator

// What an instruction is, whatever its operands: one row of table/ops.inc per mnemonic, with a
// column for each fact. A row states them all; one that leaves a column out does not compile.
#pragma once

#include <cstdint>

namespace gfxgraph::emulator {

// One enumerator per base mnemonic ("v_add_f32" whatever its encoding), named exactly like it.
enum class Op : uint16_t {
#define GFXGRAPH_OP(name, ...) name,
#include "emulator/table/ops.inc"
#undef GFXGRAPH_OP
  kCount,
};

// How a source reads an inline constant or a literal. f16: floating constants as f16. 64-bit types:
// a literal is the upper half (f64), sign-extended (i64) or zero-extended. i16 sources read
// constants like 32-bit ones: the low half of the 32-bit value (also the floating ones, which are
// then of little use).
enum class ConstantType : uint8_t { k32, kF16, kF64, kI64, kU64, kMix };

// Where the wave goes on.
enum class FlowKind : uint8_t {
  kNext,          // at the next instruction
  kEnd,           // the wave ends
  kJump,          // at the target
  kBranch,        // at the target or the next instruction
  kLoop,          // the same, of s_subvector_loop_*: with other lanes in EXEC
  kCall,          // at the target, and a function comes back behind the call
  kIndirectCall,  // the same, at an address in a register
  kIndirectJump,  // at an address in a register: a return, a jump table
  kUndecoded,     // no instruction, or no memory: the wave ends by a fault
};

// Its target is relative to the instruction.
constexpr bool has_target(FlowKind kind) {
  return kind == FlowKind::kJump || kind == FlowKind::kBranch || kind == FlowKind::kLoop ||
         kind == FlowKind::kCall;
}

// How a wave of 64 lanes runs it (engine/wave64.h).
enum class Wave64 : uint8_t {
  kOnce,    // as in a wave of 32 lanes: scalar
  kHalves,  // once for each half of 32 lanes
  kMasked,  // the same, and the third source has a bit per lane
  kWhole,   // by a handler of its own: it reads across lanes, or a mask of lanes
};

// Which parts of the sources a result comes from.
enum class Dataflow : uint8_t {
  kAll,              // all sources, in vector instructions lane by lane; and memory
  kLowHalves,        // the same; its low half comes only from the low halves of 64-bit sources
  kCopy,             // the first source
  kConditionalCopy,  // the first source if SCC is set
  kSelect,           // the first or second source: by SCC, or by the lane's bit of the third
  kReadLane,         // one lane of the first source
  kWriteLane,        // the first source, to one lane
  kPermute,          // the first source; the instruction selects a lane for each lane
  kPermuteByLanes,   // the second source; each lane's first source names a lane
  kCounter,          // one value in LDS for all lanes
  kSwap,             // exchanges destination and first source
  // Copies of registers whose numbers come from M0.
  kFromRelative,    // the source's
  kToRelative,      // the destination's
  kRelative,        // both, by the same number
  kRelativeHalves,  // both: the source's from the low half of M0, the destination's from the upper
  kRelativeSwap,    // as kRelativeHalves, and exchanges the two
};
constexpr bool has_relative_source(Dataflow flow) {
  return flow >= Dataflow::kFromRelative && flow != Dataflow::kToRelative;
}
constexpr bool has_relative_dest(Dataflow flow) { return flow >= Dataflow::kToRelative; }

enum class Value : uint8_t {
  kBits,        // bits or integers
  kNumber,      // floats, conversions, dot products: neither operands nor results are addresses
  kComparison,  // compares bits or integers
};

// Scalar instructions that work bit by bit. Whether the result is inverted does not matter here.
enum class Logic : uint8_t { kNone, kAnd, kOr, kXor, kAndNot1, kOrNot1, kAndNot2, kOrNot2 };

// How an instruction relates two sources that it compares or subtracts.
enum class Relation : uint8_t {
  kNone,
  kLoose,  // parts of them, or bitwise
  kLower,  // dwords that may be the lower halves of addresses
  kUpper,  // the upper halves, after a subtraction of the lower ones
  kWhole,  // both halves
  kSum,    // a sum of upper halves, one perhaps negated: a difference if the result is small
};

// What the instruction gives if one of its sources is its own result, as in x & y & y.
enum class Again : uint8_t { kDiffers, kSame };

struct OpInfo {
  const char* name;

  // Columns that the probe derives from LLVM. Dword counts are 0 for absent operands; 16-bit
  // operands count as one dword. wave32 sizes (lane masks: 1).
  uint8_t dst_dwords;
  uint8_t sdst_dwords;  // MUBUF: 4, MIMG: 8, and it is a source (see kSdstIsSource)
  uint8_t src_dwords[3];
  uint8_t access_bytes;  // memory: bytes per lane and address (read2: of one element); else 0
  ConstantType constant[3];
  uint32_t flags;
  // clang-format off
  static constexpr uint32_t
      kReadsVcc = 1, kReadsScc = 2, kWritesScc = 4, kReadsM0 = 8,
      kReadsExec = 1 << 4,       // as data: saveexec, cbranch_exec
      kWritesExec = 1 << 5,
      kSdstIsSource = 1 << 6,
      kLoad = 1 << 7, kStore = 1 << 8, kAtomic = 1 << 9,
      kDstIsSource = 1 << 10,    // s_addk, s_cmov, d16 loads, partial writes
      kAccumulates = 1 << 11,    // vector ALU: src[2] is the destination
      kCompares = 1 << 12,       // v_cmp*
      kScalarDst = 1 << 13,      // vector ALU: dst is an SGPR
      kOpaque = 1 << 14,         // operands of its own kind: not decoded
      kExchanges = 1 << 15,      // atomics: memory holds the data afterwards
      kHighHalf = 1 << 16,       // d16_hi: the upper half of the register
      kTwoAddresses = 1 << 17,   // DS: two offsets, and two data operands of stores and exchanges
      kStride64 = 1 << 18,       // of those: offsets count 64 elements
      kComparesAndSwaps = 1 << 19;
  // clang-format on

  // Columns that people fill in.
  FlowKind flow;
  Wave64 wave64;
  Dataflow dataflow;
  Value value;
  Logic logic;
  uint8_t keeps;  // bits 0 to 2: sources of which a result keeps the address, as sums and limits do
  Relation relation;
  Again again;
};
const OpInfo& op_info(Op op) noexcept;
inline const char* op_name(Op op) noexcept { return op_info(op).name; }

inline bool compares_exec(const OpInfo& info) {
  return (info.flags & OpInfo::kCompares) != 0 && (info.flags & OpInfo::kWritesExec) != 0;
}

}  // namespace gfxgraph::emulator

// Instructions that move data between lanes, between VGPRs and SGPRs, or through relative register
// numbers.
#include "emulator/isa/vector/vector_op.h"

namespace gfxgraph::emulator {
inline namespace GFXGRAPH_ISA {
namespace {

// Reads lane 0 if EXEC is 0.
const Inst* readfirstlane(Wave& w, const Inst* i) {
  const uint32_t exec = w.exec();
  const unsigned lane_index = exec == 0 ? 0 : static_cast<unsigned>(__builtin_ctz(exec));
  w.write32(i->dst, operand::is_vgpr(i->src[0]) ? w.v(i->src[0]).lane[lane_index] : w.read32(i, 0));
  return i->next();
}

// Both instructions ignore EXEC; the lane number wraps.
const Inst* readlane(Wave& w, const Inst* i) {
  const uint32_t lane_index = w.read32(i, 1) & 31;
  w.write32(i->dst, operand::is_vgpr(i->src[0]) ? w.v(i->src[0]).lane[lane_index] : w.read32(i, 0));
  return i->next();
}
const Inst* writelane(Wave& w, const Inst* i) {
  w.v(i->dst).lane[w.read32(i, 1) & 31] = w.read32(i, 0);
  return i->next();
}

// src1, src2: sixteen 4-bit lane numbers; kCross: in the other row of 16. op_sel[0]: fetch inactive
// lanes too; op_sel[1] (bound_ctrl): a lane that may not be fetched gives 0, else the destination
// is unchanged.
template <bool kCross>
const Inst* permlane16(Wave& w, const Inst* i) {
  const uint64_t selectors = static_cast<uint64_t>(w.read32(i, 2)) << 32 | w.read32(i, 1);
  const bool fetch_inactive = (i->op_sel() & 1) != 0;
  const bool bound_control = (i->op_sel() & 2) != 0;
  Row in;
  if (operand::is_vgpr(i->src[0]))
    in = w.v(i->src[0]);
  else
    for (unsigned l = 0; l < kLanes; ++l) in.lane[l] = w.read32(i, 0);
  const uint32_t exec = w.exec();
  uint32_t* d = w.v(i->dst).lane;
  for (unsigned l = 0; l < kLanes; ++l) {
    if ((exec >> l & 1) == 0) continue;
    const unsigned row = kCross ? (l & 16) ^ 16 : l & 16;
    const unsigned from = row + static_cast<unsigned>(selectors >> (4 * (l & 15)) & 15);
    if (fetch_inactive || (exec >> from & 1) != 0)
      d[l] = in.lane[from];
    else if (bound_control)
      d[l] = 0;
  }
  return i->next();
}

const Inst* nothing(Wave&, const Inst* i) { return i->next(); }

constexpr const char* kNoSwap = "a swap with a source that is not a VGPR";

const Inst* swap(Wave& w, const Inst* i) {
  if (!operand::is_vgpr(i->src[0])) [[unlikely]]
    return w.unsupported(i, kNoSwap);
  uint32_t* a = w.v(i->dst).lane;
  uint32_t* b = w.v(i->src[0]).lane;
  GFXGRAPH_LANES {
    const uint32_t m = w.exec_mask.lane[l];
    const uint32_t x = a[l];
    const uint32_t y = b[l];
    a[l] = (y & m) | (x & ~m);
    b[l] = (x & m) | (y & ~m);
  }
  return i->next();
}

// ---- relative register numbers: M0 offsets the destination, the source, or both ----

constexpr const char* kBeyondRegisters = "relative VGPR number (M0) beyond v255";

bool in_file(uint32_t number) { return number < 256; }

// kDst, kSrc: which register numbers M0 offsets. kSplit ("_2"): M0[9:0] offsets the source,
// M0[25:16] the destination.
template <bool kDst, bool kSrc, bool kSplit>
const Inst* movrel(Wave& w, const Inst* i) {
  const uint32_t m0 = w.sgpr[operand::kM0];
  const uint32_t src_offset = kSrc ? (kSplit ? m0 & 0x3ff : m0) : 0;
  const uint32_t dst_offset = kDst ? (kSplit ? m0 >> 16 & 0x3ff : m0) : 0;
  const uint32_t dst = i->dst - 256u + dst_offset;
  if (!in_file(dst)) return w.unsupported(i, kBeyondRegisters);
  const uint32_t* mask = w.exec_mask.lane;
  uint32_t* d = w.vgpr[dst].lane;
  if (operand::is_vgpr(i->src[0])) {
    const uint32_t src = i->src[0] - 256u + src_offset;
    if (!in_file(src)) return w.unsupported(i, kBeyondRegisters);
    const uint32_t* s = w.vgpr[src].lane;
    GFXGRAPH_LANES d[l] = (s[l] & mask[l]) | (d[l] & ~mask[l]);
  } else {
    if (kSrc) return w.unsupported(i, "relative source that is not a VGPR");
    const uint32_t v = w.read32(i, 0);
    GFXGRAPH_LANES d[l] = (v & mask[l]) | (d[l] & ~mask[l]);
  }
  return i->next();
}

const Inst* swaprel(Wave& w, const Inst* i) {
  if (!operand::is_vgpr(i->src[0])) return w.unsupported(i, kNoSwap);
  const uint32_t m0 = w.sgpr[operand::kM0];
  const uint32_t dst = i->dst - 256u + (m0 >> 16 & 0x3ff);
  const uint32_t src = i->src[0] - 256u + (m0 & 0x3ff);
  if (!in_file(dst) || !in_file(src)) return w.unsupported(i, kBeyondRegisters);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (w.exec_mask.lane[l] == 0) continue;
    const uint32_t x = w.vgpr[dst].lane[l];
    w.vgpr[dst].lane[l] = w.vgpr[src].lane[l];
    w.vgpr[src].lane[l] = x;
  }
  return i->next();
}

}  // namespace

void add_lane_moves(VectorTable& t) {
  t[Op::v_readfirstlane_b32] = custom(readfirstlane);
  t[Op::v_readlane_b32] = custom(readlane);
  t[Op::v_writelane_b32] = custom(writelane);
  t[Op::v_permlane16_b32] = custom(permlane16<false>);
  t[Op::v_permlanex16_b32] = custom(permlane16<true>);
  t[Op::v_swap_b32] = custom(swap);
  t[Op::v_swaprel_b32] = custom(swaprel);
  t[Op::v_nop] = custom(nothing);
  t[Op::v_pipeflush] = custom(nothing);
  t[Op::v_clrexcp] = custom(nothing);  // exceptions are not modelled
  t[Op::v_movreld_b32] = custom(movrel<true, false, false>);
  t[Op::v_movrels_b32] = custom(movrel<false, true, false>);
  t[Op::v_movrelsd_b32] = custom(movrel<true, true, false>);
  t[Op::v_movrelsd_2_b32] = custom(movrel<true, true, true>);
}

}  // namespace GFXGRAPH_ISA
}  // namespace gfxgraph::emulator

// Words of gfx1030 code for loops. Source: RDNA2 ISA guide, "Microcode Formats".
#pragma once

#include <cstdint>
#include <vector>

namespace gfxgraph::emulator::testing {

class LoopWords {
 public:
  static constexpr uint32_t kVcc = 106, kExec = 126, kZero = 128;
  static constexpr uint32_t number(uint32_t n) { return 128 + n; }  // 0..64
  static constexpr uint32_t vgpr(uint32_t n) { return 256 + n; }

  const std::vector<uint32_t>& words() const { return words_; }
  size_t here() const { return words_.size(); }
  void add(uint32_t word) { words_.push_back(word); }

  void sop2(uint32_t op, uint32_t d, uint32_t a, uint32_t b) {
    add(0x80000000u | op << 23 | d << 16 | b << 8 | a);
  }
  void sop1(uint32_t op, uint32_t d, uint32_t a) { add(0xbe800000u | d << 16 | op << 8 | a); }
  void s_mov(uint32_t d, uint32_t a) { sop1(3, d, a); }
  void s_literal(uint32_t d, uint32_t value) {
    sop1(3, d, 255);
    add(value);
  }
  void s_add(uint32_t d, uint32_t a, uint32_t b) { sop2(0, d, a, b); }
  void s_and(uint32_t d, uint32_t a, uint32_t b) { sop2(14, d, a, b); }
  void s_or(uint32_t d, uint32_t a, uint32_t b) { sop2(16, d, a, b); }
  void s_xor(uint32_t d, uint32_t a, uint32_t b) { sop2(18, d, a, b); }
  void s_select(uint32_t d, uint32_t a, uint32_t b) { sop2(10, d, a, b); }
  void s_compare(uint32_t op, uint32_t a, uint32_t b) { add(0xbf000000u | op << 16 | b << 8 | a); }
  void s_differ(uint32_t a, uint32_t b) { s_compare(7, a, b); }
  void s_less(uint32_t a, uint32_t b) { s_compare(10, a, b); }
  void s_status(uint32_t d) { add(0xb9000000u | d << 16 | 2 | 31u << 11); }
  void s_clock(uint32_t d) {
    add(0xf4900000u | d << 6);
    add(0xfa000000u);
  }
  void v_mov(uint32_t d, uint32_t a) { add(0x7e000200u | d << 17 | a); }
  // From the lane before, within rows of 16.
  void v_mov_from_lane_before(uint32_t d, uint32_t a) {
    add(0x7e000200u | d << 17 | 250);
    add(a | 0x111u << 8 | 0xffu << 24);
  }
  void v_greater_u32(uint32_t a, uint32_t v) { add(0x7c000000u | 0xc4u << 17 | v << 9 | a); }
  void v_readlane(uint32_t d, uint32_t v, uint32_t lane) {
    add(0xd7600000u | d);
    add(vgpr(v) | lane << 9);
  }
  void v_writelane(uint32_t v, uint32_t a, uint32_t lane) {
    add(0xd7610000u | v);
    add(a | lane << 9);
  }
  void v_readfirstlane(uint32_t d, uint32_t v) { add(0x7e000400u | d << 17 | vgpr(v)); }
  void lds_write(uint32_t address, uint32_t v) {
    add(0xd8340000u);
    add(address | v << 8);
  }
  void lds_read(uint32_t d, uint32_t address) {
    add(0xd8d80000u);
    add(address | d << 24);
  }
  void global_store(uint32_t offset, uint32_t v, uint32_t base) {
    add(0xdc708000u);
    add(offset | v << 8 | base << 16);
  }
  void global_load(uint32_t d, uint32_t offset, uint32_t base) {
    add(0xdc308000u);
    add(offset | base << 16 | d << 24);
  }
  void scalar_load(uint32_t d, uint32_t base, uint32_t offset) {
    add(0xf4000000u | d << 6 | base >> 1);
    add(0xfa000000u | offset);
  }
  // Atomics that return what was there before; `op`: a kind of Atomic.
  enum Atomic : uint32_t {
    kSwap = 48,
    kCompareSwap = 49,
    kAdd = 50,
    kSub = 51,
    kAnd = 57,
    kOr = 58
  };
  void global_atomic(Atomic op, uint32_t d, uint32_t offset, uint32_t v, uint32_t base) {
    add(0xdc008000u | 1u << 16 | static_cast<uint32_t>(op) << 18);
    add(offset | v << 8 | base << 16 | d << 24);
  }
  enum Branch : uint32_t { kAlways = 2, kScc0 = 4, kScc1 = 5, kVccnz = 7, kExecnz = 9 };
  void branch(Branch when, size_t to) {
    add(0xbf800000u | static_cast<uint32_t>(when) << 16 |
        (static_cast<uint32_t>(to - here() - 1) & 0xffff));
  }
  void end() { add(0xbf810000u); }

 private:
  std::vector<uint32_t> words_;
};

}  // namespace gfxgraph::emulator::testing

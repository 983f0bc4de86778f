// What is known of scalar registers from the branches of a path.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "emulator/decode/inst.h"

namespace gfxgraph::check {

// What is known of scalar registers from the branches of a path: whether one equals a constant.
// Code skips loads and later what follows them by the same comparison.
struct KnownEqual {
  static constexpr uint16_t kNone = 0xffff;
  uint16_t code = kNone;
  bool equal = false;
  uint32_t value = 0;
  bool operator==(const KnownEqual&) const = default;
};
struct KnownValues {
  std::array<KnownEqual, 3> known;

  bool operator==(const KnownValues&) const = default;
  // Whether the register can equal the value, or differ from it.
  bool allows(const KnownEqual& wanted) const {
    for (const KnownEqual& one : known) {
      if (one.code != wanted.code) continue;
      if (one.value == wanted.value && one.equal != wanted.equal) return false;
      if (one.value != wanted.value && one.equal && wanted.equal) return false;
    }
    return true;
  }
  // The latest ones remain.
  void add(const KnownEqual& fact) {
    for (const KnownEqual& one : known)
      if (one == fact) return;
    for (size_t n = known.size() - 1; n > 0; --n) known[n] = known[n - 1];
    known[0] = fact;
  }
  void forget(unsigned code) {
    for (KnownEqual& one : known)
      if (one.code == code) one = {};
  }
  // Only what both know remains. True: it changed.
  bool meet(const KnownValues& other) {
    bool changed = false;
    for (KnownEqual& one : known) {
      bool both = one.code == KnownEqual::kNone;
      for (const KnownEqual& its : other.known) both |= its == one;
      if (both) continue;
      one = {};
      changed = true;
    }
    return changed;
  }
};

// What SCC is true for after s_cmp_eq_u32 s5, 0 and its relatives.
inline std::optional<KnownEqual> comparison_of(const emulator::Inst& inst) {
  using emulator::Op;
  namespace operand = emulator::operand;
  const bool equal = inst.op == Op::s_cmp_eq_u32 || inst.op == Op::s_cmp_eq_i32;
  if (!equal && inst.op != Op::s_cmp_lg_u32 && inst.op != Op::s_cmp_lg_i32) return std::nullopt;
  const uint16_t value = inst.src[1];
  const bool constant =
      value >= operand::kFirstConstant && value < operand::kVgpr0 && !operand::is_special(value);
  if (!constant || !operand::is_sgpr(inst.src[0])) return std::nullopt;
  return KnownEqual{inst.src[0], equal, static_cast<uint32_t>(inst.k[1])};
}

// What holds where s_cbranch_scc0 or s_cbranch_scc1 goes, after that comparison.
inline KnownEqual fact_of_branch(KnownEqual comparison, emulator::Op branch, bool jumps) {
  if (jumps != (branch == emulator::Op::s_cbranch_scc1)) comparison.equal = !comparison.equal;
  return comparison;
}

}  // namespace gfxgraph::check

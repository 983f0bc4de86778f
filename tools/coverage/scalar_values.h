// The known values of the scalar registers at one place of a kernel, for every path to it: enough
// to follow computed jumps and calls. Nothing is assumed; an instruction that is not modelled makes
// its result unknown.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

#include "emulator/decode/inst.h"
#include "tools/coverage/code_image.h"

namespace gfxgraph::tools {

class ScalarValues {
 public:
  // At the first instruction of a function that was called with its return address in `link`.
  static ScalarValues function_entry(uint16_t link);

  // Executes an instruction that does not jump.
  void apply(const emulator::Inst& inst, const CodeImage& image);
  // A call that came back. LLVM's calling convention: a function keeps s30 and up for its caller.
  void return_from_call(uint16_t link);
  // Keeps values that both agree on; returns true if something was lost.
  bool meet(const ScalarValues& other);

  // The source `n`, when known.
  std::optional<uint32_t> source(const emulator::Inst& inst, int n) const;
  // The same of 64 bits.
  std::optional<uint64_t> pair(const emulator::Inst& inst, int n) const;
  // Whether the register pair holds the address that this function returns to.
  bool is_return_address(uint16_t sgpr) const;
  std::optional<bool> scc() const { return scc_; }

 private:
  void forget(uint16_t sgpr, unsigned dwords);
  void forget_written(const emulator::Inst& inst);
  void set(uint16_t sgpr, std::optional<uint32_t> value);
  void set_pair(uint16_t sgpr, std::optional<uint64_t> value);
  bool apply_known(const emulator::Inst& inst, const CodeImage& image);
  bool apply_compare(const emulator::Inst& inst);
  void load(const emulator::Inst& inst, const CodeImage& image, unsigned dwords);

  uint32_t value_[128] = {};
  std::bitset<128> known_;
  std::bitset<128> return_address_;
  std::optional<bool> scc_;
  bool in_function_ = false;  // reached by a call
};

}  // namespace gfxgraph::tools

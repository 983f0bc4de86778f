// LLVM's disassembler as an oracle for sizes, mnemonics and texts.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>

namespace gfxgraph::emulator {

class LlvmDisassembler {
 public:
  LlvmDisassembler();
  ~LlvmDisassembler();
  // What LLVM says of an opcode, whatever its operands.
  struct Facts {
    bool loads = false;
    bool stores = false;
    bool branches = false;
    bool calls = false;
    bool ends = false;                    // the wave
    bool keeps_dest = false;              // a destination is a source, too
    std::set<std::string> reads, writes;  // registers that are no operands, by LLVM's names
  };
  struct Result {
    bool ok = false;
    unsigned size_bytes = 0;
    std::string mnemonic;  // without _e32, _e64, _sdwa, _dpp, _dpp8
    Facts facts;
  };
  Result decode(std::span<const uint32_t> words) const;
  // The whole text of an instruction for which decode() is ok.
  std::string text(std::span<const uint32_t> words) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gfxgraph::emulator

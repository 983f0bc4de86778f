// LLVM's disassembler as an oracle for sizes, mnemonics and texts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gfxgraph::emulator {

class LlvmDisassembler {
 public:
  LlvmDisassembler();
  ~LlvmDisassembler();
  struct Result {
    bool ok = false;
    unsigned size_bytes = 0;
    std::string mnemonic;  // without _e32, _e64, _sdwa, _dpp, _dpp8
  };
  Result decode(std::span<const uint32_t> words) const;
  // The whole text of an instruction for which decode() is ok.
  std::string text(std::span<const uint32_t> words) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gfxgraph::emulator

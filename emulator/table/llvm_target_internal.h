// What LLVM 19 to 22 call differently. Templates, so that each takes what its LLVM has.
#pragma once

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

#include <string>

namespace gfxgraph::emulator {

inline constexpr const char* kTargetName = "amdgcn-amd-amdhsa";

// The AMDGPU target for functions that take a target by name: a text in older ones, llvm::Triple in
// newer ones, which call the text deprecated.
template <typename Target = llvm::Target>
auto target_name() {
  if constexpr (requires(const Target& target) { target.createMCRegInfo(llvm::Triple()); }) {
    return llvm::Triple(kTargetName);
  } else {
    return std::string(kTargetName);
  }
}

// By pointer in older ones.
template <typename Printer>
std::string mnemonic_of(Printer& printer, const llvm::MCInst& instruction) {
  if constexpr (requires { printer.getMnemonic(instruction); }) {
    return printer.getMnemonic(instruction).first;
  } else {
    return printer.getMnemonic(&instruction).first;
  }
}

}  // namespace gfxgraph::emulator

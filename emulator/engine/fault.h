// A kernel's fault, precise enough to fix the kernel: who (kernel, workgroup, wave, lane), where
// (pc, instruction, source line), what (address, nearest buffer).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "codeobj/code_object.h"

namespace gfxgraph::emulator {

enum class FaultKind : uint8_t {
  kMemory,  // an access outside the memory map, or a write to read-only memory
  kAlignment,
  kUnsupported,  // an instruction, mode or message that the emulator does not have
  kIllegal,      // bytes that are no gfx1030 instruction, or a pc outside code
  kTrap,         // s_trap
  kBadDispatch,  // descriptor, packet or sizes that cannot be run
  kDeadlock,     // no wave can make progress, or none ended within a limit
  kStopped,      // the caller asked to stop
  kOutOfMemory,  // of the host, for what running the kernel takes
};
const char* fault_kind_name(FaultKind kind) noexcept;

struct Fault {
  FaultKind kind = FaultKind::kIllegal;
  std::string kernel;  // without ".kd"; "" when unknown
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  uint32_t wave = 0;                   // in the workgroup
  int32_t lane = -1;                   // -1: scalar, or the whole wave
  uint64_t pc = 0;                     // device address
  uint64_t code_address = 0;           // pc as an ELF virtual address of its code object
  std::array<uint8_t, 20> bytes = {};  // of the instruction
  uint32_t byte_count = 0;
  std::string mnemonic;  // "global_load_dword"; "" when undecodable
  uint64_t address = 0;  // kMemory, kAlignment
  uint32_t access_bytes = 0;
  bool write = false;
  std::optional<codeobj::SourceLocation> source;
  std::string detail;   // nearest buffer, the wave states of a deadlock, ...
  bool proven = false;  // kDeadlock: no wave can make progress; else a limit was reached

  // One line: "kernel saxpy, workgroup (1,0,0) wave 0 lane 20, pc 0x148 global_load_dword
  // (saxpy.cpp:12): address 0x7f.. (4 bytes) is 64 bytes past ..."
  std::string to_string() const;
};

}  // namespace gfxgraph::emulator

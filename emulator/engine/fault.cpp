#include "emulator/engine/fault.h"

#include <fmt/format.h>

#include "base/cli/print.h"

namespace gfxgraph::emulator {

const char* fault_kind_name(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::kMemory: return "memory access fault";
    case FaultKind::kAlignment: return "misaligned access";
    case FaultKind::kUnsupported: return "unsupported instruction";
    case FaultKind::kIllegal: return "illegal instruction";
    case FaultKind::kTrap: return "trap";
    case FaultKind::kBadDispatch: return "bad dispatch";
    case FaultKind::kDeadlock: return "deadlock";
    case FaultKind::kStopped: return "stopped";
    case FaultKind::kOutOfMemory: return "out of host memory";
  }
  return "fault";
}

std::string Fault::to_string() const {
  std::string text = format_printable("{}: kernel {}", fault_kind_name(kind),
                                      kernel.empty() ? "(unknown)" : kernel);
  if (kind == FaultKind::kOutOfMemory) return text;
  if (kind == FaultKind::kBadDispatch || kind == FaultKind::kStopped) return text + ": " + detail;
  text +=
      fmt::format(", workgroup ({},{},{}) wave {}", workgroup[0], workgroup[1], workgroup[2], wave);
  if (lane >= 0) text += fmt::format(" lane {}", lane);
  text += fmt::format(", pc {:#x}", code_address != 0 ? code_address : pc);
  if (!mnemonic.empty()) text += " " + mnemonic;
  if (source) text += format_printable(" ({}:{})", source->file, source->line);
  if (kind == FaultKind::kUnsupported || kind == FaultKind::kIllegal) {
    text += ", bytes";
    for (uint32_t n = 0; n < byte_count; ++n) text += fmt::format(" {:02x}", bytes[n]);
  }
  if (kind == FaultKind::kMemory || kind == FaultKind::kAlignment)
    text +=
        fmt::format(": {} of {} bytes at {:#x}", write ? "write" : "read", access_bytes, address);
  if (kind == FaultKind::kIllegal && address != 0) text += fmt::format(": to {:#x}", address);
  if (!detail.empty()) text += (kind == FaultKind::kMemory ? " " : ": ") + detail;
  return text;
}

}  // namespace gfxgraph::emulator

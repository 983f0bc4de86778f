// Entry code: a kernel of the library itself in front of another one. Its only argument is an
// address; the other kernel runs with the arguments that stand there. A graph's node keeps the
// address, and the library can change the arguments without a call of the runtime.
//
// The code is six scalar instructions (scripts/make-own-code): they load the address, put it into
// the registers of the kernarg segment pointer, and jump to the other kernel's entry. Its kernel
// descriptor is the other one's, so the wave begins with the same registers, LDS and scratch.
// Source: AMDGPUUsage, "Kernel Descriptor" and "Initial Kernel Execution State".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/code/elf_check.h"

namespace gfxgraph::replayer {

inline constexpr const char* kEntryKernel = "gfxgraph_enter";

// A code object with kEntryKernel in front of the kernel whose descriptor stands at `object` on the
// device. kUnsupported: this kernel, or architecture, cannot have one.
Result<std::vector<std::byte>> make_entry_code(const std::string& architecture,
                                               const KernelDescriptor& kernel, uint64_t object);

}  // namespace gfxgraph::replayer

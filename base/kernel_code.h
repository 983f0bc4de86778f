// The effects of a kernel's instructions on memory that its waves share. The software agent, which
// has a decoder, exports a function that returns them; gfxgraph-replay, which has none, calls it by
// name. Constants only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfxgraph {

// Bits. Numbers are never reused: agent and tool may be of different builds.
namespace kernel_code {
inline constexpr uint32_t kStores = 1;   // plain ones, to global memory or LDS; also spills to
                                         // scratch that are made by buffer instructions
inline constexpr uint32_t kAtomics = 2;  // of any kind
inline constexpr uint32_t kReturningAtomics = 4;  // a wave receives the previous value
inline constexpr uint32_t kFloatAtomics = 8;      // floating-point arithmetic
inline constexpr uint32_t kOther = 16;  // it calls or jumps to other code, or cannot be decoded
}  // namespace kernel_code

// For a kernel of an ELF for gfx1030, by its name without ".kd". kOther: also when there is none of
// that name. Thread-safe; throws nothing.
using KernelCodeFunction = uint32_t (*)(const void* elf, size_t elf_bytes, const char* kernel);
inline constexpr const char* kKernelCodeFunction = "gfxgraph_agent_kernel_code";

}  // namespace gfxgraph

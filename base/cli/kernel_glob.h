// Kernels named by globs.
#pragma once

#include <string_view>

namespace gfxgraph {

// `*`: any characters, `?`: one; all others match themselves.
bool matches_glob(std::string_view glob, std::string_view name) noexcept;

// By its symbol, its readable name (demangle.h), or that without return type and parameters:
// "_Z4gemmIfEvPT_", "void gemm<float>(float*)", "gemm<float>" and "gemm".
bool matches_kernel(std::string_view glob, std::string_view symbol, std::string_view readable);

}  // namespace gfxgraph

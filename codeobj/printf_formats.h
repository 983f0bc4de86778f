// Whether kernels print through a buffer.
#pragma once

#include "codeobj/code_object.h"

namespace gfxgraph::codeobj {

// Whether the metadata lists formats of printf (amdhsa.printf): HIP then reads a buffer that the
// kernels fill. Thread-safe.
bool has_printf_formats(const CodeObject& code);

}  // namespace gfxgraph::codeobj

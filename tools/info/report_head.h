// What the reports of gfxgraph info about the order of work have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "format/read/reader.h"

namespace gfxgraph::tools {

// A kernel's name for people; empty: the trace has no such kernel.
std::string short_kernel_name(const format::Trace& trace, format::KernelId kernel);

// "app.gfxg: 3 launches, 2 other operations (copies, memsets)", without a line's end. `what`:
// "copies, memsets".
std::string head_text(const std::string& name, uint64_t launches, uint64_t others,
                      std::string_view what);

}  // namespace gfxgraph::tools

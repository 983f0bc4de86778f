// The arguments of a launch for people: by name, as far as the kernel's metadata tells.
#pragma once

#include <nlohmann/json.hpp>

#include "format/read/reader.h"

namespace gfxgraph::tools {

// An object: the name of each explicit argument, or "argument N" (counted from 0), and its value as
// text. Pointers name their buffer. Metadata has no types of values, only sizes: a value of 4 or 8
// bytes is an integer, and also a floating-point number where it may be one.
nlohmann::ordered_json launch_arguments_json(const format::Trace& trace,
                                             const format::Launch& launch);

}  // namespace gfxgraph::tools

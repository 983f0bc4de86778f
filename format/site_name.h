// Names for call sites, and for memory that the program did not name (docs/ranges.md, "Names").
#pragma once

#include <string>
#include <vector>

#include "format/trace.h"

namespace gfxgraph::format {

// "load_model(char const*)+0x1f4" in the program, "libgemm.so:Gemm::run()+0x20" in a library. If
// the symbol is unknown or not unique in its module: the module and offset, "decode+0x12f4". In
// interpreted code: file and line, "train.py:12".
std::string site_name(const Site& site);

// Of a site of `sites`: the name of the machine code that called HIP beneath its line of
// interpreted code; empty: there is none.
std::string caller_name(const std::vector<Site>& sites, const Site& site);

// "load_model(char const*)+0x1f4#3", the fourth allocation of this site; empty without a site.
std::string made_name(const std::vector<Site>& sites, const AllocationBegin& begin);

}  // namespace gfxgraph::format

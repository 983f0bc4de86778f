// Readable forms of the mangled names of C++.
#pragma once

#include <string>

namespace gfxgraph {

// The name itself when it is not mangled, or when its readable form is too much: 300 bytes can
// stand for gigabytes, because a part that was named before is repeated by two letters. Names that
// repeat much are unfolded in a process of their own, with little time and memory. Thread-safe.
std::string demangle(const std::string& name);

// Of a name that can be trusted, as it stands in this process's own code: starts no process.
std::string demangle_trusted(const std::string& name);

}  // namespace gfxgraph

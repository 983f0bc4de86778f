// Readable forms of the mangled names of C++.
#pragma once

#include <cstddef>
#include <string>

namespace gfxgraph {

// The name itself when it is not mangled, or when its readable form is too much: 300 bytes can
// stand for gigabytes, because a part that was named before is repeated by two letters. Names that
// repeat much are unfolded in a process of their own, with little time and memory. Thread-safe.
std::string demangle(const std::string& name);

// Of a name that can be trusted, as it stands in this process's own code: starts no process.
std::string demangle_trusted(const std::string& name);

// "ns::gemv<true>" of "void ns::(anonymous namespace)::gemv<true>(float const*, int)", for lines
// that people read. If that is longer than `most` bytes, template arguments become "<...>" and what
// is still too long is cut and ends with "...". Different functions may have the same short name.
std::string short_function_name(std::string readable, size_t most);

}  // namespace gfxgraph

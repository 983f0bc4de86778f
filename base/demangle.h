// Readable forms of the mangled names of C++.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace gfxgraph {

// The name itself if it is not mangled, or if its readable form is too long: 300 bytes can expand
// to gigabytes, because two letters repeat an earlier part. Names with many repetitions are
// demangled in a separate process with little time and memory. Thread-safe.
std::string demangle(const std::string& name);

// From now on demangle() starts no process, for libraries in other programs: names with many
// repetitions stay mangled.
void demangle_without_process() noexcept;

// For a trusted name, from this process's own code: starts no process.
std::string demangle_trusted(const std::string& name);

// As demangle(), always in a separate process, which calls `lock` before it looks at the name.
// Nothing: no name, or too expensive.
std::optional<std::string> demangle_apart(const std::string& name, void (*lock)() = nullptr);

// For a process that may not start others: from now on, `other` takes the place of
// demangle_apart().
void demangle_elsewhere(std::optional<std::string> (*other)(const std::string& name));

// "ns::gemv<true>" for "void ns::(anonymous namespace)::gemv<true>(float const*, int)", for lines
// that people read. If that is longer than `most` bytes, template arguments become "<...>", and the
// rest is truncated with "...". Different functions may have the same short name.
std::string short_function_name(std::string readable, size_t most);

}  // namespace gfxgraph

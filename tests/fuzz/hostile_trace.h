// A trace as a list of parts that can be changed in any way and written without a check: hashes,
// sizes and the summary are made right, so that what is wrong is the meaning alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "format/trace.h"

namespace gfxgraph::codeobj {
class CodeObject;
}

namespace gfxgraph::fuzz {

// Takes numbers from a script, and when that is at its end from a generator that began with it: a
// few bytes are a whole run, and a longer script steers it.
class Script {
 public:
  explicit Script(std::span<const std::byte> bytes);
  uint64_t next();
  // 0 ... limit - 1; 0 for 0.
  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : next() % limit; }
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  std::span<const std::byte> bytes_;
  uint64_t state_;
};

struct Blob {
  format::BlobId was;  // the id that the parts name it by; as written it is the hash of the bytes
  std::vector<std::byte> bytes;
};
using Part =
    std::variant<format::Environment, Blob, format::CodeObject, format::Kernel, format::Graph,
                 format::Finding, format::Site, format::Device, format::Event>;

// Of the object's kernels up to vadd.
std::vector<format::Kernel> kernel_records(const codeobj::CodeObject& object);

// The parts of a valid trace, in file order.
std::vector<Part> load_parts(std::span<const std::byte> file);
// A trace of two real kernels with everything that a recorder writes. `elf`: tests/fuzz/corpus.
std::vector<std::byte> kernel_trace(std::span<const std::byte> elf);
// A trace of the lives of memory: threads that allocate and free, memory of each kind with host
// addresses, a device that is reset and gets its addresses anew, graphs with host nodes, ranges,
// host functions, call sites, arrays.
std::vector<std::byte> lives_trace(std::span<const std::byte> elf);

void mutate(std::vector<Part>& parts, Script& script);
// Makes ids, sizes and lengths agree again, where a reader would refuse the trace for them.
void repair(std::vector<Part>& parts);

std::vector<std::byte> write_parts(const std::vector<Part>& parts);

}  // namespace gfxgraph::fuzz

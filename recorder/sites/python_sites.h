// The sites of calls that Python code makes: the line of Python code, and the machine code that
// called HIP beneath it. What calls C functions for Python (libffi) is the same for all of them,
// and is left out. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/trace.h"
#include "recorder/sites/python_code.h"
#include "recorder/sites/site_table.h"

namespace gfxgraph::recorder {

class PythonSites {
 public:
  explicit PythonSites(SiteTable& table) noexcept : table_(table) {}

  // `address` lies in what calls C functions for Python, at this place.
  void add_caller(const void* address, const SiteTable::Module& module, uint64_t offset_bytes);
  // Of the call that this thread makes through it (`caller` 0), or by the machine code with this
  // site, which is the answer if no Python code is behind it.
  format::SiteId at(const void* address, format::SiteId caller);
  // Whether the process has an interpreter whose frames can be read.
  bool has_interpreter() noexcept { return code_.find(); }

 private:
  // More lines, each with what called beneath it, than these have no site.
  static constexpr size_t kMost = 8192;
  struct Key {
    uint64_t instruction = 0;
    format::SiteId caller = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept {
      return key.instruction * UINT64_C(0x9e3779b97f4a7c15) ^ key.caller;
    }
  };
  struct Line {
    PythonCode::Place place;
    std::vector<std::byte> file;  // its name, as in memory
    format::SiteId id = 0;
  };
  format::SiteId without_line(const void* address);

  SiteTable& table_;
  PythonCode code_;
  std::unordered_map<Key, Line, Hash> lines_;
  // The site of a call if nothing is known of the code.
  std::unordered_map<const void*, std::pair<SiteTable::Module, uint64_t>> callers_;
};

}  // namespace gfxgraph::recorder

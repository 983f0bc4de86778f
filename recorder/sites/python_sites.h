// The sites of calls that Python code makes. Their return address lies in what calls C functions
// for Python and is the same everywhere, so that the line of Python code tells them apart. Not
// thread-safe.
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
  // Of the call that this thread makes through it.
  format::SiteId at(const void* address);

 private:
  // More lines than these have no site.
  static constexpr size_t kMost = 8192;
  struct Line {
    PythonCode::Place place;
    std::vector<std::byte> file;  // its name, as in memory
    format::SiteId id = 0;
  };
  format::SiteId without_line(const void* address);

  SiteTable& table_;
  PythonCode code_;
  std::unordered_map<uint64_t, Line> lines_;  // by the instruction
  // The site of a call if nothing is known of the code.
  std::unordered_map<const void*, std::pair<SiteTable::Module, uint64_t>> callers_;
};

}  // namespace gfxgraph::recorder

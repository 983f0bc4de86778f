// Call sites for people, with source lines if this machine still has the program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "codeobj/host_program.h"
#include "format/read/reader.h"

namespace gfxgraph::tools {

struct CallPlace {
  std::string name;    // format::site_name()
  std::string module;  // as in the trace
  uint64_t offset = 0;
  std::string symbol;
  std::string caller;  // format::caller_name()
  std::string file;    // empty: unknown
  uint32_t line = 0;
};

// Opens a program or library of the trace at the first lookup of one of its sites, and uses it if
// it has the recorded build id. Not thread-safe. `trace` must outlive it.
class CallPlaces {
 public:
  // Larger files are not searched for lines.
  explicit CallPlaces(const format::Trace& trace, uint64_t most_file_bytes = UINT64_MAX)
      : trace_(trace), most_file_bytes_(most_file_bytes) {}

  // Empty for site 0 and sites that the trace lacks.
  const CallPlace& find(format::SiteId site);
  // "generate(int)+0x88 (main.cpp:88)", "main (train.py:12), from libgemm.so+0x1020".
  std::string text(format::SiteId site);

 private:
  const codeobj::HostProgram* open(const format::Site& site);

  const format::Trace& trace_;
  const uint64_t most_file_bytes_;
  std::unordered_map<std::string, std::shared_ptr<const codeobj::HostProgram>> programs_;
  std::unordered_map<format::SiteId, CallPlace> places_;
};

}  // namespace gfxgraph::tools

// The contents of gfxgraph info, computed once for text and JSON.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/read/reader.h"

namespace gfxgraph::tools {

struct KernelSummary {
  const format::Kernel* kernel = nullptr;
  uint64_t launches = 0;     // in the stream
  uint64_t graph_nodes = 0;  // in graphs, each counted once
};

struct AllocationSummary {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t unwritten = 0;  // that began without content
};

struct CopySummary {
  uint64_t count = 0;
  uint64_t bytes = 0;
};

// One place that holds a pointer, over all launches or events that hold one there.
struct RelocationSite {
  std::string place;  // "gemv argument 'matrix' at 0x0" or "final contents of allocation 3"
  format::KernelId kernel = 0;  // 0: in memory
  std::string argument;         // "argument 'matrix' at 0x0"; empty: in memory
  const char* reason = "";      // why it is a pointer: "argument type", "argument name", ...
  format::RelocationSource source = format::RelocationSource::kMatched;
  bool ambiguous = false;
  bool outside = false;  // of the allocation that it is relocated with
  bool code = false;     // it is an address in a code object, and the allocation a variable of that
  uint64_t count = 0;
  std::string example;  // "event 12: allocation 3 + 64"
};

struct RelocationCounts {
  uint64_t typed = 0, proven = 0, matched = 0;
  uint64_t ambiguous = 0;  // part of matched
};

struct TraceSummary {
  std::vector<KernelSummary> kernels;                    // in the order of their ids
  std::map<std::string, AllocationSummary> allocations;  // by kind
  uint64_t peak_bytes = 0;                               // live at once
  std::map<std::string, CopySummary> copies;             // by direction
  std::map<std::string, uint64_t> events;                // by kind
  uint64_t streams = 0;  // created ones; the null stream is not counted
  uint64_t threads = 0;
  uint64_t span_ns = 0;  // host time from the first to the last event
  RelocationCounts relocations;
  std::vector<RelocationSite> sites;
};

TraceSummary summarize(const format::Trace& trace);

}  // namespace gfxgraph::tools

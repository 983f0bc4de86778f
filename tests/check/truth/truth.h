// Ground truth: kernels with a planted fault and their right twins. A tool must find every fault,
// in its class, and report nothing else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/check/trace_builder.h"

namespace gfxgraph::check {

// `kernel` is the faulty one or its twin.
using Build = std::function<void(TraceBuilder& trace, const std::string& kernel)>;

struct Fault {
  FindingClass expected;
  std::string name;
  std::string kernel;  // the twin: with "_safe" behind it
  Build build;
  std::string object = "memory.bundle";
  std::string twin = "";                // "": as above
  std::vector<FindingClass> also = {};  // that the same fault is
};

// The default tools and racecheck.
ToolSet with_races();

// Prints precision and recall of each tool that has faults among them; both must be 1.
void check_all(const std::vector<Fault>& faults, const ToolSet& tools = kDefaultTools);

}  // namespace gfxgraph::check

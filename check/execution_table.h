// How much of its kernels a trace executes (gfxgraph check --coverage), and what a check without a
// finding therefore means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gfxgraph::check {

// Of code that can be reached, and of what was executed of it.
struct ExecutionCounts {
  uint64_t instructions = 0, executed = 0;
  uint64_t ways = 0, ways_taken = 0;  // two for each conditional branch
  // Pairs of a vector instruction and a lane that was a work item in some wave of the kernel.
  uint64_t lanes = 0, lanes_executed = 0;

  bool all() const {
    return executed == instructions && ways_taken == ways && lanes_executed == lanes;
  }
};

struct ExecutedBranch {
  bool jumped = false, passed = false;
};

// The instructions of one source line, in one kernel or in a function that it calls.
struct ExecutedLine {
  std::string file;
  uint32_t line = 0;
  ExecutionCounts counts;
  uint64_t executions = 0;  // of its most frequent instruction, by waves
  std::vector<ExecutedBranch> branches;
};

struct ExecutedKernel {
  std::string kernel;
  uint64_t launches = 0;
  ExecutionCounts counts;
  uint64_t unknown_calls = 0;       // through registers: their functions are not counted
  std::string incomplete;           // why not all code that can be reached is counted; "": it is
  std::vector<ExecutedLine> lines;  // by file and line; of code with debug information
};

struct ExecutionTable {
  bool made = false;
  std::vector<ExecutedKernel> kernels;  // that were launched, in the order of the trace
  std::string stopped;                  // why not all launches ran; "": they did
};

// A sentence: what a check by `tools` ("memcheck, lanes") excludes. `findings`: it has of the
// kernel, without notes.
std::string verdict_of(const ExecutedKernel& kernel, const std::string& tools, uint64_t findings);

// "12-14, 20" of each file: lines of which nothing or not all was executed, the first ones.
std::string missing_lines(const ExecutedKernel& kernel);

// A line for each kernel: its verdict.
std::string render_text(const ExecutionTable& table, const std::string& tools,
                        const std::vector<uint64_t>& findings);
// An lcov tracefile, as genhtml reads it.
std::string render_lcov(const std::vector<const ExecutionTable*>& tables);

}  // namespace gfxgraph::check

// The table of --tool perf: counts per kernel and source line, worst first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gfxgraph::check {

// The accesses of one kind at one source line of a kernel.
struct PerfLine {
  std::string kernel;
  std::string file;           // "": unknown, then each instruction has a line of the table
  uint32_t line = 0;          // 0: unknown
  uint64_t code_address = 0;  // of the first instruction, in the ELF
  bool lds = false;           // passes over the banks of LDS; else lines of global memory
  uint64_t instructions = 0;  // different ones
  uint64_t executions = 0;    // by waves of 32 lanes; of a wave64, each half
  uint64_t lanes = 0;         // active ones, summed
  uint64_t units = 0;         // lines touched, or passes
  uint64_t least = 0;         // for as many different bytes
};

// The launches of one kernel; of sizes, those of the launch that wastes most.
struct PerfKernel {
  std::string kernel;
  uint64_t launches = 0;
  uint32_t wave_lanes = 32;
  uint32_t block_items = 0;
  uint32_t idle_lanes = 0;  // of the block's waves
  uint32_t vgprs = 0;       // as allocated
  uint32_t lds_bytes = 0;   // of a workgroup, static and dynamic
  uint32_t waves_fit = 0;   // in a SIMD, of 16 at most
  std::string limit;        // what bounds waves_fit: "registers", "LDS"; "": nothing
};

struct PerfTable {
  bool made = false;
  std::vector<PerfLine> lines;      // most units beyond the least first
  std::vector<PerfKernel> kernels;  // fewest waves first
};

std::string render_text(const PerfTable& table);

}  // namespace gfxgraph::check

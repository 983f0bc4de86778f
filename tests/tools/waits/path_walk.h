// A second opinion on missing waits: executes one path of a kernel with lists of what is under way,
// as the counters of RDNA2 work, instead of a data-flow analysis over all paths.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "emulator/analysis/control_flow.h"
#include "emulator/decode/inst.h"
#include "emulator/engine/observer.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::tools {

// The code that a kernel reaches, with its functions.
struct KernelCode {
  struct Node : emulator::ControlFlow::Node {
    emulator::Inst inst;
    emulator::InstOperands operands;
  };
  std::vector<Node> nodes;
  emulator::RegisterJumps jumps;

  // False: too much code.
  bool read(uint64_t entry, const emulator::RegionTable& memory,
            const emulator::RegisterJumps& known);
};

class PathWalk {
 public:
  PathWalk(const KernelCode& code, uint64_t wait_pc, uint32_t original, uint32_t mutated);

  struct Outcome {
    bool reached = false;     // the mutated wait
    bool retired = false;     // the original one would have completed something that remains
    bool only_stores = true;  // all of that
    std::string violation;    // "": none
  };
  // Runs one path, through the wait if chance finds one. `wait_pc` waits as `mutated` says.
  Outcome run(std::mt19937& random, unsigned most_steps);

 private:
  struct Pending {
    uint64_t pc = 0;
    bool store = false;
    bool to_lds = false;
    bool flat = false;
    bool unordered = false;               // scalar, or GDS
    std::vector<uint32_t> writes, reads;  // code * 2 + upper half
  };
  struct Wait {
    unsigned vector = 63, lgkm = 63, stores = 63, exports = 7;
  };
  struct Lists {
    std::vector<Pending> vector, lgkm, stores, exports;
    void apply(const Wait& wait);
  };
  static Wait wait_of(const emulator::Inst& inst, uint32_t word);
  void count_difference(const Wait& original, const Wait& mutated, Outcome& outcome) const;
  void access(const KernelCode::Node& node, Outcome& outcome) const;
  void issue(const KernelCode::Node& node);
  void find_distances(uint64_t wait_pc);

  const KernelCode& code_;
  uint64_t wait_pc_;
  uint32_t original_, mutated_;
  std::vector<uint32_t> distance_;  // from each node to the wait
  Lists lists_;
};

}  // namespace gfxgraph::tools

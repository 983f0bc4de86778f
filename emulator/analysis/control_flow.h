// The successors of an instruction, and the graph of everything reachable from an entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulator/decode/inst.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::emulator {

struct Flow {
  using Kind = FlowKind;
  Kind kind = Kind::kNext;
  uint64_t target = 0;

  // Whether the kernel's own code goes on elsewhere than in the graph: in a function or at an
  // address in a register.
  bool leaves_graph() const {
    return kind == Kind::kCall || kind == Kind::kIndirectCall || kind == Kind::kIndirectJump;
  }
};
Flow flow_of(const Inst& inst) noexcept;

// What is known of jumps and calls through registers, by the instruction's pc.
struct RegisterJumps {
  std::unordered_map<uint64_t, uint64_t> targets;
  std::unordered_set<uint64_t> returns;  // from a function to its caller
};

// Reads instructions out of a memory map, which must not change meanwhile. Not thread-safe.
class CodeReader {
 public:
  // Refers to it.
  explicit CodeReader(const RegionTable& memory) : memory_(memory) {}
  // False: no gfx1030 instruction, or no memory.
  bool decode_at(uint64_t pc, Inst& inst);

 private:
  const RegionTable& memory_;
  const Region* region_ = nullptr;
};

// The instructions that are reached from an entry, in the order in which they were found; the entry
// is node 0. Functions come back behind their calls. They are part of the graph only if
// RegisterJumps are given: a call then has two successors, the function and what follows the call.
class ControlFlow {
 public:
  struct Node {
    uint64_t pc = 0;
    Flow::Kind kind = Flow::Kind::kUndecoded;
    uint8_t successors = 0;
    uint32_t successor[2] = {0, 0};  // nodes
    uint32_t predecessors = 0;       // without the wave's beginning
  };
  // `visit` is called once for each node, in order, with its instruction; not for kUndecoded ones.
  // Null: there are more than `most_instructions`.
  static std::optional<ControlFlow> trace(
      uint64_t entry, CodeReader& reader, size_t most_instructions,
      const std::function<void(uint32_t node, const Inst& inst)>& visit,
      const RegisterJumps* jumps = nullptr);

  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

}  // namespace gfxgraph::emulator

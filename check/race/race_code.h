// What racecheck reads out of a kernel's code before it runs: which loads wait for other waves, and
// which stores write back a changed value.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulator/analysis/control_flow.h"
#include "emulator/memory/memory_map.h"

namespace gfxgraph::check {

// The code object of a launch.
struct RaceCode {
  uint64_t begin = 0, end = 0;
  bool fences = false;        // orders memory between workgroups
  bool group_fences = false;  // orders memory between the waves of a workgroup, without a barrier
};

// Calls of functions whose address the code computes from its own.
struct CodeCalls {
  std::unordered_map<uint64_t, uint64_t> function;    // by the pc of the call
  std::map<uint64_t, std::vector<uint64_t>> returns;  // by function: behind its calls
  // Null: no call of the function with this instruction is known.
  const std::vector<uint64_t>* returns_of(uint64_t pc) const;
};

struct RaceFacts {
  bool follows_lds = false;   // waves may learn from LDS what others did
  bool waits_in_lds = false;  // some load may wait for a store to LDS
  bool compares = false;      // has compare-and-swap
  // Loads that are repeated until they give another value: only atomic and volatile loads are.
  std::unordered_set<uint64_t> polls;
  CodeCalls calls;
};
// Decodes all bytes from `begin` to `end`. Data among them may be taken for code.
RaceFacts race_facts(const emulator::RegionTable& memory, uint64_t begin, uint64_t end);

// Whether the load is in a loop without barrier and plain store that ends by the value which it
// loads, from the same address each time.
bool is_poll(emulator::CodeReader& reader, const emulator::Inst& load);

// A store to the load's kind of memory or to the stack, of a value computed from a loaded one. A
// bit for each dword that it stores; those of the second place of two from kSecondPlace on.
struct Update {
  static constexpr uint8_t kAnyDword = 0xff;
  static constexpr unsigned kSecondPlace = 8;
  uint64_t store_pc = 0;
  uint8_t loaded = kAnyDword;  // the dword of the load that the value comes from
  uint16_t changed = 0;
  uint16_t repeatable = 0;  // by AND, OR, MIN and MAX: doing it twice changes nothing
  uint16_t copied = 0;      // the loaded value itself
};
struct Uses {
  std::vector<Update> updates;  // by store_pc
  bool compared = false;        // perhaps the value decides what the wave does
};
// Values are followed into functions, and back to what called them.
Uses uses_of(emulator::CodeReader& reader, const CodeCalls& calls, const emulator::Inst& load);

bool is_compare_and_swap(emulator::Op op);

}  // namespace gfxgraph::check

// The trace's code objects in device memory, each where the recorded process had it if a module
// global tells, else at an address of the check's choice.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"
#include "emulator/engine/engine.h"
#include "format/reader.h"
#include "lanecheck/device_memory.h"

namespace gfxgraph::lanecheck {

struct LoadedCode {
  std::shared_ptr<const codeobj::CodeObject> object;
  uint64_t load_address = 0;  // of ELF address 0
  uint64_t end = 0;           // device address behind the last byte
  bool has_fences = false;    // some kernel orders memory between workgroups
  // Offsets from load_address of what is defined; borrowed from `object`.
  std::shared_ptr<const std::map<std::string_view, uint64_t>> symbols;

  // Nothing when the object does not define it.
  std::optional<uint64_t> address_of(const std::string& symbol) const;
};

// Index = code object id - 1. Adds notes for what could not be placed as recorded. An error with an
// exhausted budget: there was no time or memory.
Result<std::vector<LoadedCode>> load_code(const format::Trace& trace, DeviceMemory& memory,
                                          emulator::Engine& engine, Budget& budget,
                                          std::vector<std::string>& notes);

// Where a module global stands now: at its recorded address unless its object had to go elsewhere.
uint64_t global_address(const std::vector<LoadedCode>& loaded,
                        const format::AllocationBegin& global);

// Writes the address of a __managed__ variable where its code object looks for it.
void point_to_managed(const std::vector<LoadedCode>& loaded, const format::AllocationBegin& global,
                      DeviceMemory& memory);

// The code that holds a pc; null when none does.
const LoadedCode* find_code(const std::vector<LoadedCode>& loaded, uint64_t pc);

}  // namespace gfxgraph::lanecheck

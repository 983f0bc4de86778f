// Loads the trace's code objects into device memory: at the recorded address if a module global
// reveals it, else at an address of the check's choice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/memory/device_memory.h"
#include "codeobj/code_object.h"
#include "emulator/engine/engine.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

struct LoadedCode {
  std::shared_ptr<const codeobj::CodeObject> object;
  uint64_t load_address = 0;      // of ELF address 0
  uint64_t end = 0;               // device address after the last byte
  bool has_fences = false;        // some kernel orders memory between workgroups
  bool has_group_fences = false;  // the same between waves, apart from barriers
  // Offsets of defined symbols from load_address; the names are borrowed from `object`.
  std::shared_ptr<const std::map<std::string_view, uint64_t>> symbols;

  // false: other code took its place since.
  bool loaded() const noexcept { return end != 0; }
  // Device address of a symbol; empty if the object does not define it.
  std::optional<uint64_t> address_of(const std::string& symbol) const;
};

// Code whose recorded address is that of other code, which the program had loaded before or after.
enum class Taken {
  kStays,  // it stays elsewhere, with a note
  kMoves,  // move_code() takes it there in its turn
};

// Index of the result: code object id - 1. Adds notes for objects that could not be placed as
// recorded. If the budget is exhausted after an error, time or memory was insufficient.
Result<std::vector<LoadedCode>> load_code(const format::Trace& trace, DeviceMemory& memory,
                                          emulator::Engine& engine, Budget& budget,
                                          std::vector<std::string>& notes,
                                          Taken taken = Taken::kStays);

// Loads a code object anew so that the module global has its recorded address, where other code may
// be: that is unloaded. Fails, possibly after unloading, if a buffer is there, or if `in_use` says
// that globals of this or the other code (by id) are alive.
Result<void> move_code(std::vector<LoadedCode>& loaded, const format::AllocationBegin& global,
                       const std::function<bool(format::CodeObjectId)>& in_use,
                       DeviceMemory& memory, emulator::Engine& engine);

// The current address of a module global: the recorded one unless its object was placed elsewhere.
uint64_t global_address(const std::vector<LoadedCode>& loaded,
                        const format::AllocationBegin& global);

// Writes the address of a __managed__ variable to the pointer that its code object reads.
void point_to_managed(const std::vector<LoadedCode>& loaded, const format::AllocationBegin& global,
                      DeviceMemory& memory);

// The code that contains a pc; null: none.
const LoadedCode* find_code(const std::vector<LoadedCode>& loaded, uint64_t pc);

}  // namespace gfxgraph::check

// Loads code objects into memory: readers, executables, symbols.
//
// An executable's code object gets one block for all its segments, so that code, descriptors and
// variables keep their distances; relocations are applied in place. Handles are numbers that are
// looked up, never pointers: a stale handle is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codeobj/code_object.h"

namespace gfxgraph::hsa {

struct LoadedSymbol {
  std::string name;  // kernels: with ".kd"
  bool kernel = false;
  bool constant = false;  // variables
  uint64_t address = 0;   // device address; of a kernel: its descriptor, the kernel object
  uint64_t size_bytes = 0;
  uint64_t executable = 0;               // handle
  uint32_t device = 0;                   // of the agent that it was loaded for
  codeobj::KernelDescriptor descriptor;  // kernels
  uint32_t kernarg_size_bytes = 0;
  uint32_t kernarg_align_bytes = 0;
};

struct LoadedObject {
  std::shared_ptr<const codeobj::CodeObject> code;
  std::byte* memory = nullptr;
  uint64_t memory_bytes = 0;
  uint64_t load_address = 0;  // where the ELF's address 0 is (or would be)
  uint64_t executable = 0;    // handle
  uint32_t device = 0;        // of the agent that it was loaded for
  uint64_t storage = 0;       // the reader's bytes, as given by the program
  uint64_t storage_bytes = 0;
};

// All functions are thread-safe. Handles are never 0.

// The bytes stay the program's until the reader is destroyed; they are checked at load.
uint64_t create_reader(std::span<const std::byte> bytes);
// As above with bytes that the reader owns (read from a file).
uint64_t create_owning_reader(std::vector<std::byte> bytes);
bool destroy_reader(uint64_t reader);
bool reader_exists(uint64_t reader);

uint64_t create_executable();
bool executable_exists(uint64_t executable);
Result<bool> is_frozen(uint64_t executable);
Result<void> destroy_executable(uint64_t executable);
// Assigns an address to an undefined symbol of code objects that are loaded later. kMismatch:
// already defined.
Result<void> define_variable(uint64_t executable, uint32_t device, const std::string& name,
                             uint64_t address);
// The handle of the loaded object. kUnsupported: another GPU; kNotFound: an undefined symbol;
// kMismatch: it defines a symbol that the executable has already.
Result<uint64_t> load_code_object(uint64_t executable, uint32_t device, uint64_t reader);
Result<void> freeze_executable(uint64_t executable);
// The handle of a symbol; kNotFound.
Result<uint64_t> find_symbol(uint64_t executable, const std::string& name);
Result<std::vector<uint64_t>> symbols_of(uint64_t executable);
Result<std::vector<uint64_t>> loaded_objects_of(uint64_t executable);
std::vector<uint64_t> executables();
// Copies, so that nothing dangles; empty if there is no such handle.
std::optional<LoadedSymbol> get_symbol(uint64_t symbol);
std::optional<LoadedObject> get_loaded_object(uint64_t object);
// The loaded object whose memory holds a device address.
std::optional<LoadedObject> loaded_object_at(uint64_t address);

void reset_loader_after_fork() noexcept;

}  // namespace gfxgraph::hsa

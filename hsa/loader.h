// Loads code objects: the HSA code object readers, executables and symbols.
//
// Each loaded code object gets one block for all its segments, so code, descriptors and variables
// keep their relative addresses; relocations are applied in place. Handles are numbers that are
// looked up, never pointers, so a stale handle is an error.
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
  bool constant = false;  // of variables
  uint64_t address = 0;   // device address; of a kernel: that of its descriptor (the kernel object)
  uint64_t size_bytes = 0;
  uint64_t executable = 0;               // handle
  uint32_t device = 0;                   // that it was loaded for
  codeobj::KernelDescriptor descriptor;  // of kernels
  uint32_t kernarg_size_bytes = 0;
  uint32_t kernarg_align_bytes = 0;
};

struct LoadedObject {
  std::shared_ptr<const codeobj::CodeObject> code;
  std::byte* memory = nullptr;
  uint64_t memory_bytes = 0;
  uint64_t load_address = 0;  // device address of the ELF's address 0
  uint64_t executable = 0;    // handle
  uint32_t device = 0;        // that it was loaded for
  uint64_t storage = 0;       // host address of the reader's bytes
  uint64_t storage_bytes = 0;
};

// All functions are thread-safe. Handles are never 0.

// Returns a handle. The program owns the bytes and must keep them until the reader is destroyed.
// They are checked at load.
uint64_t create_reader(std::span<const std::byte> bytes);
// As above, for bytes that the reader owns (read from a file).
uint64_t create_owning_reader(std::vector<std::byte> bytes);
bool destroy_reader(uint64_t reader);
bool reader_exists(uint64_t reader);

// Errors of the next functions: kInvalidArgument for an unknown executable.
uint64_t create_executable();
bool executable_exists(uint64_t executable);
Result<bool> is_frozen(uint64_t executable);
Result<void> destroy_executable(uint64_t executable);
// Defines a symbol that code objects loaded later may leave undefined. kMismatch: it is already
// defined.
Result<void> define_variable(uint64_t executable, uint32_t device, const std::string& name,
                             uint64_t address);
// Returns the handle of the loaded object. kUnsupported: it is for another GPU; kNotFound: a symbol
// is undefined; kMismatch: the executable already has one of its symbols.
Result<uint64_t> load_code_object(uint64_t executable, uint32_t device, uint64_t reader);
Result<void> freeze_executable(uint64_t executable);
// Returns the handle of a symbol; kNotFound if there is none.
Result<uint64_t> find_symbol(uint64_t executable, const std::string& name);
Result<std::vector<uint64_t>> symbols_of(uint64_t executable);
Result<std::vector<uint64_t>> loaded_objects_of(uint64_t executable);
std::vector<uint64_t> executables();
// Copies, which remain valid after the executable is destroyed; empty for an unknown handle.
std::optional<LoadedSymbol> get_symbol(uint64_t symbol);
std::optional<LoadedObject> get_loaded_object(uint64_t object);
// The loaded object whose memory holds a device address.
std::optional<LoadedObject> loaded_object_at(uint64_t address);

// Unlocks the loader in a forked child, where only the forking thread exists.
void reset_loader_after_fork() noexcept;

}  // namespace gfxgraph::hsa

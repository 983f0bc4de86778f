// The code that the recorded program registered or loaded: fat binaries, modules, kernels and
// device variables. Bytes are parsed when a kernel of theirs is first used. Not thread-safe; the
// recorder's lock guards it.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/trace.h"
#include "pointers/word_resolver.h"
#include "recorder/handle.h"

namespace gfxgraph::codeobj {
class CodeObject;
}

namespace gfxgraph::recorder {

struct HostVariable {
  Handle symbol = nullptr;  // the host's shadow variable
  std::string name;
};

// A __managed__ variable: memory of the runtime that host and device see at one address.
struct ManagedVariable {
  void* const* pointer =
      nullptr;  // the runtime writes the address here, at the latest at first use
  std::string name;
  uint64_t size_bytes = 0;
  bool known = false;  // an allocation of the trace
};

// A fat binary or loaded module.
struct ModuleEntry {
  const std::byte* image = nullptr;  // fat binary: the program's own memory, read at first use
  std::vector<std::byte> bytes;      // module: a copy
  void* module = nullptr;            // hipModule_t; nullptr: fat binary or library
  std::vector<HostVariable> variables;
  std::vector<ManagedVariable> managed;
  void* library = nullptr;  // hipLibrary_t
  bool unloaded = false;
  // Of a fat binary's code on another device than 0: its variables have other places there.
  format::DeviceNumber device = 0;
  bool managed_elsewhere = false;  // the fat binary has __managed__ variables
  // Filled at first use.
  bool parsed = false;
  std::optional<Error> error;
  std::shared_ptr<const codeobj::CodeObject> code;
  // --all-targets: the same code for others, from the same bundle.
  std::vector<std::shared_ptr<const codeobj::CodeObject>> images;
  format::CodeObjectId code_id = 0;
  bool globals_known = false;
  uint64_t globals_span = 0;  // the recorded range in which its variables were taken in
  std::unordered_map<std::string, struct KernelEntry*> kernels;
};

struct KernelEntry {
  format::Kernel kernel;  // kernel.id 0: not in the trace yet
  ModuleEntry* module = nullptr;
  std::vector<pointers::KernargSlot> slots;
  uint32_t pointer_arguments = 0;  // global_buffer arguments
  // Launches read them without the lock.
  std::atomic<uint64_t> ambiguous_reported{0};  // ambiguous_bit() of each such word
  std::atomic<bool> unknown_pointer_reported{false};
  std::atomic<bool> near_pointer_reported{false};
  bool addresses_named = false;  // notes about addresses that a replay cannot follow
  bool patterns_known = false;
  uint64_t patterns = 0;  // of --kernel that it matches, one bit each
};

// A hipLibrary_t whose code the runtime has not read yet.
struct UnreadLibrary {
  const void* image = nullptr;  // the program's own memory
  std::string path;             // where that is null
};

class CodeRegistry {
 public:
  ModuleEntry* add_fat_binary(Handle handle, const void* wrapper);
  void add_function(Handle fat_binary, Handle host_function, std::string name);
  void add_variable(Handle fat_binary, Handle host_symbol, std::string name);
  // nullptr: the fat binary was not seen.
  ModuleEntry* add_managed_variable(Handle fat_binary, ManagedVariable variable);

  ModuleEntry* find_fat_binary(Handle handle) const;
  void remove_fat_binary(Handle handle);

  ModuleEntry* add_module(void* module, std::vector<std::byte> bytes);
  ModuleEntry* find_module(Handle module) const;
  void remove_module(Handle module);
  void add_library(Handle library, UnreadLibrary unread);
  const UnreadLibrary* find_unread_library(Handle library) const;  // nullptr: read, or unknown
  // Ends the unread state: the library is a module from here on. No effect if it is not unread.
  void add_library_code(Handle library, std::vector<std::byte> bytes);
  void add_function_handle(Handle function, Handle module, std::string name);
  // Another handle of the same kernel; not where that is unknown.
  void alias_kernel_handle(Handle function, Handle kernel);
  // The kernel of a stub, as the device has it.
  void alias_function_handle(Handle function, Handle host_function, format::DeviceNumber device);

  struct FunctionName {
    ModuleEntry* module = nullptr;
    std::string name;
    KernelEntry* entry = nullptr;  // set at first use
  };
  // By hipLaunchKernel's stub, or by hipFunction_t; nullptr: never registered.
  FunctionName* find_host_function(Handle host_function);
  FunctionName* find_function_handle(Handle function);
  // The function that a launch names. From HIP 7 on, hipLaunchKernel (`host_function`) also accepts
  // a hipFunction_t and a hipKernel_t.
  // nullptr also: the device cannot run it.
  FunctionName* find_launched(Handle function, bool host_function, format::DeviceNumber device = 0);
  // The fat binary's code as the device has it.
  ModuleEntry& on_device(ModuleEntry& module, format::DeviceNumber device);
  std::vector<ModuleEntry*> on_other_devices(const ModuleEntry& module) const;
  // A kernel of a fat binary as the device has it; nullptr: it belongs to a module or a library,
  // which is loaded for one device.
  FunctionName* on_device(const KernelEntry& kernel, format::DeviceNumber device);
  ModuleEntry* find_variable_owner(Handle host_symbol, std::string* name) const;

  // Parses the module for `gpu_arch`; the error stays with the module.
  // `all_targets`: also its code for other GPUs; what of it cannot be read is in `unread`.
  Result<void> parse(ModuleEntry& module, const std::string& gpu_arch, bool all_targets = false,
                     std::vector<std::string>* unread = nullptr);
  // The kernel of a parsed module, described for the trace (id still 0).
  Result<KernelEntry*> kernel(ModuleEntry& module, const std::string& name);

  std::vector<ModuleEntry*> modules() const;
  // Calls `visit` with each function that launches can name: its handle, whether it is
  // hipLaunchKernel's stub, and its module and name. A stub comes again for each other device that
  // launched a kernel of its fat binary.
  template <typename Visit>
  void each_function(Visit&& visit) const {
    for (const auto& [handle, function] : host_functions_) {
      visit(handle, true, function);
      if (on_devices_.empty()) [[likely]]
        continue;
      for (ModuleEntry* const other : on_other_devices(*function.module))
        visit(handle, true, FunctionName{other, function.name, nullptr});
    }
    for (const auto& [handle, function] : function_handles_) visit(handle, false, function);
  }

  // Changes whenever a function may mean another kernel than before; readable without the lock.
  uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  // Kernels are resolved again at their next use.
  void forget_entries() noexcept;
  void forget_found() noexcept { generation_.fetch_add(1, std::memory_order_release); }

 private:
  // No two registries ever have the same number: one may occupy another's address.
  static uint64_t first_generation() noexcept;
  // On another device than the one that the module was registered for.
  FunctionName& function_of(ModuleEntry& module, const std::string& name);

  std::atomic<uint64_t> generation_{first_generation()};
  std::vector<std::unique_ptr<ModuleEntry>> modules_;
  std::vector<std::unique_ptr<KernelEntry>> kernels_;
  std::unordered_map<Handle, ModuleEntry*> fat_binaries_;
  std::unordered_map<Handle, ModuleEntry*> loaded_;
  std::unordered_map<Handle, UnreadLibrary> unread_;
  std::unordered_map<Handle, FunctionName> host_functions_;
  std::unordered_map<Handle, FunctionName> function_handles_;
  std::unordered_map<Handle, std::pair<ModuleEntry*, std::string>> variables_;
  std::map<std::pair<ModuleEntry*, format::DeviceNumber>, ModuleEntry*> on_devices_;
  std::map<std::pair<ModuleEntry*, std::string>, FunctionName> device_functions_;
};

// The bytes of a module image that a program handed over without a length: a device ELF, or an
// offload bundle. Reads only mapped memory.
Result<std::vector<std::byte>> copy_image(const void* image);

}  // namespace gfxgraph::recorder

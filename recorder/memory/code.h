// The program's code: what it registers and loads, the kernels and variables in it, and how they
// enter the trace. The recorder's lock guards it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recorder/core.h"
#include "recorder/events/flights.h"
#include "recorder/lock_order.h"
#include "recorder/memory/host_writes.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/code_registry.h"
#include "recorder/selection/stretch.h"

namespace gfxgraph::recorder {

class Code : private Part {
 public:
  Code(const Core& core, Allocations& allocations, Stretch& stretch, Flights& flights,
       HostEffects& effects, TracedMemory& traced, HostWrites& host_writes, bool segments) noexcept
      : Part(core),
        allocations_(allocations),
        stretch_(stretch),
        flights_(flights),
        effects_(effects),
        traced_(traced),
        host_writes_(host_writes),
        segments_(segments) {}

  // ---- for hooks; allowed before the first device call ------------------------------------------
  void fat_binary(Handle handle, const void* wrapper) noexcept;
  void fat_binary_unloading(Handle handle) noexcept;  // before the real call
  void function(Handle fat_binary, Handle host_function, const char* name) noexcept;
  void variable(Handle fat_binary, Handle host_symbol, const char* name) noexcept;
  // `pointer` is where the runtime keeps the variable's address.
  void managed_variable(Handle fat_binary, void* const* pointer, const char* name,
                        uint64_t size_bytes) noexcept;
  void module_loaded(void* module, const void* image) noexcept;
  void module_file_loaded(void* module, const char* path) noexcept;
  void module_unloading(Handle module) noexcept;  // before the real call: globals' post-state
  // Libraries of HIP 7: `image` or `path` is null. The runtime reads a library's code later, at the
  // first call that needs it. Call unread_library() before such a call and pass its result to
  // library_read() afterwards. nullopt: the code was read already. Empty: it cannot be read.
  void library_loaded(Handle library, const void* image, const char* path) noexcept;
  std::optional<std::vector<std::byte>> unread_library(Handle library) noexcept;
  void library_read(Handle library, std::vector<std::byte> code) noexcept;
  void function_found(Handle function, Handle module, const char* name) noexcept;
  void function_of_kernel(Handle function, Handle kernel) noexcept;
  void function_of_symbol(Handle function, Handle host_function) noexcept;
  // The program obtained a variable's address: it is an allocation from now on.
  // Of a module or, by `call`, of a library.
  void global_found(Handle module, const char* name, uint64_t address, uint64_t size_bytes,
                    const char* call = "hipModuleGetGlobal") noexcept;
  // 0: not a variable of this program.
  uint64_t symbol_address(Handle host_symbol) noexcept;

  // ---- with the lock ----------------------------------------------------------------------------
  // Hears of what is unloaded.
  void tell(Departures& departures) noexcept { departures_ = &departures; }
  CodeRegistry& registry() noexcept { return registry_; }
  // Processes registrations since the last call. Any thread can check whether there are some.
  bool any_registered() const noexcept { return any_registered_.load(std::memory_order_acquire); }
  void apply_registrations();
  // nullptr: a finding has the reason.
  // Of a parsed module.
  bool has_variables(const ModuleEntry& module) const;
  KernelEntry* describe_kernel(CodeRegistry::FunctionName& function, const char* call);
  // For a flight recorder: items that were described in an earlier segment.
  void describe_again(KernelEntry& kernel);
  void describe_again(ModuleEntry& module);
  // A kernel of the module is about to run: from here on its variables may change.
  void discover_globals(ModuleEntry& module);
  // The program may use them without a call about them: they are in the trace from its beginning.
  void discover_managed_of_all();
  // The device has been reset.
  void forget_found();
  // Before that, of each variable.
  void ends_by_reset(const Allocation& variable, const format::Content& last);
  // At the end of the trace.
  void ends_after_reset(const Allocation& variable, const format::Content& last);
  // For the next trace: nothing is described in it. Returns the names of all kernels.
  std::vector<std::string> number_anew();

 private:
  template <typename F>
  void registering(F&& function) noexcept;
  bool describe_module(ModuleEntry& module, const char* call);
  // The module's code for other targets.
  void describe_images(const ModuleEntry& module);
  void compare_images(const ModuleEntry& module, const std::string& kernel);
  void end_globals(const ModuleEntry& module, const char* call);
  void discover_managed(ModuleEntry& module);
  void add_global(ModuleEntry& module, const std::string& name, uint64_t address, uint64_t size,
                  bool managed = false);

  Allocations& allocations_;
  Stretch& stretch_;
  Flights& flights_;
  HostEffects& effects_;
  TracedMemory& traced_;
  HostWrites& host_writes_;
  const bool segments_;

  Mutex<LockRank::kLast> registration_mutex_;
  std::vector<std::function<void()>> registrations_;
  std::atomic<bool> any_registered_{false};

  Departures* departures_ = nullptr;
  CodeRegistry registry_;
  format::KernelId next_kernel_ = 1;
  // Contents of variables when the device was reset, by module and name.
  std::map<std::pair<const void*, std::string>, decltype(format::Content::hash)> before_reset_;
  format::CodeObjectId next_code_object_ = 1;
};

}  // namespace gfxgraph::recorder

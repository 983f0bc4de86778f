#include "recorder/memory/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "codeobj/code_object.h"
#include "recorder/objects/devices.h"
#include "recorder/queue/launch_lane.h"

namespace gfxgraph::recorder {
namespace {

// clang stores the initial value of a __managed__ variable under a separate name; the variable's
// own symbol contains the address that the runtime chose.
bool is_managed(const ModuleEntry& module, const std::string& name) {
  const std::string initial = name + ".managed";
  const auto& symbols = module.code->symbols();
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](const codeobj::Symbol& symbol) { return symbol.name == initial; });
}

constexpr const char* kAllTargets = "--all-targets";

bool same_layout(const codeobj::Kernel& a, const codeobj::Kernel& b) {
  return a.kernarg_size_bytes == b.kernarg_size_bytes &&
         std::ranges::equal(a.arguments, b.arguments, [](const auto& one, const auto& other) {
           return one.value_kind == other.value_kind && one.offset_bytes == other.offset_bytes &&
                  one.size_bytes == other.size_bytes;
         });
}

// Of that name: no variable that a kernel uses.
bool is_initial_value(const ModuleEntry& module, std::string_view name) {
  constexpr std::string_view kEnding = ".managed";
  if (!name.ends_with(kEnding)) return false;
  name.remove_suffix(kEnding.size());
  const auto& symbols = module.code->symbols();
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](const codeobj::Symbol& symbol) { return symbol.name == name; });
}

std::vector<std::byte> file_bytes(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// Whether the symbol is a variable of the program, not a kernel descriptor or compiler-generated.
bool is_variable(const codeobj::Symbol& symbol) {
  return symbol.type == codeobj::Symbol::Type::kObject && !symbol.undefined &&
         symbol.size_bytes != 0 && !symbol.name.ends_with(".kd") &&
         !symbol.name.starts_with("__hip_cuid");
}

}  // namespace

// Registration runs before main, when no device may be touched yet, and inside of dlopen(), with
// the dynamic linker's lock: it waits for no lock under which the runtime is called, as that may
// need the linker's. The next call that is recorded applies it.
template <typename F>
void Code::registering(F&& function) noexcept {
  guard_.unlocked([&] {
    const std::lock_guard lock(registration_mutex_);
    registrations_.emplace_back(std::forward<F>(function));
    any_registered_.store(true, std::memory_order_release);
  });
}

void Code::apply_registrations() {
  std::vector<std::function<void()>> registrations;
  {
    const std::lock_guard lock(registration_mutex_);
    registrations.swap(registrations_);
    any_registered_.store(false, std::memory_order_relaxed);
  }
  for (const std::function<void()>& one : registrations) one();
}

void Code::fat_binary(Handle handle, const void* wrapper) noexcept {
  registering([=, this] { registry_.add_fat_binary(handle, wrapper); });
}

void Code::function(Handle fat_binary, Handle host_function, const char* name) noexcept {
  registering([=, this, text = std::string(name == nullptr ? "" : name)] {
    registry_.add_function(fat_binary, host_function, text);
  });
}

void Code::variable(Handle fat_binary, Handle host_symbol, const char* name) noexcept {
  registering([=, this, text = std::string(name == nullptr ? "" : name)] {
    registry_.add_variable(fat_binary, host_symbol, text);
  });
}

void Code::managed_variable(Handle fat_binary, void* const* pointer, const char* name,
                            uint64_t size_bytes) noexcept {
  registering([=, this, text = std::string(name == nullptr ? "" : name)] {
    ModuleEntry* module =
        registry_.add_managed_variable(fat_binary, {pointer, text, size_bytes, false});
    if (module != nullptr && journal_.begun())
      discover_managed(*module);  // of a library loaded later
  });
}

void Code::module_loaded(void* module, const void* image) noexcept {
  guarded([&] {
    Result<std::vector<std::byte>> bytes = copy_image(image);
    if (bytes) {
      registry_.add_module(module, std::move(*bytes))->device = current_device;
    } else {
      finding(format::FindingKind::kIncomplete, "hipModuleLoadData", bytes.error().message);
    }
  });
}

void Code::module_file_loaded(void* module, const char* path) noexcept {
  guarded([&] { registry_.add_module(module, file_bytes(path))->device = current_device; });
}

void Code::library_loaded(Handle library, const void* image, const char* path) noexcept {
  guarded([&] { registry_.add_library(library, {image, path == nullptr ? "" : path}); });
}

std::optional<std::vector<std::byte>> Code::unread_library(Handle library) noexcept {
  std::optional<std::vector<std::byte>> result;
  guarded([&] {
    const UnreadLibrary* const unread = registry_.find_unread_library(library);
    if (unread == nullptr) return;
    result.emplace();
    if (unread->image == nullptr) {
      *result = file_bytes(unread->path.c_str());
    } else if (Result<std::vector<std::byte>> bytes = copy_image(unread->image)) {
      *result = std::move(*bytes);
    }
  });
  return result;
}

void Code::library_read(Handle library, std::vector<std::byte> code) noexcept {
  guarded([&] { registry_.add_library_code(library, std::move(code)); });
}

// Stores the final contents of the variables of code that is about to be unloaded.
void Code::end_globals(const ModuleEntry& module, const char* call) {
  allocations_.forget_code(&module);
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (allocation->module != &module) continue;
    if (allocation->kept) {
      traced_.end_kept(*allocation, true);
    } else if (allocation->begun) {
      traced_.end_allocation(*allocation, true, 0, host_writes_.content_at_end(*allocation, call));
    }
    traced_.unmap(allocation->address);
    flights_.forget(allocation->id);
    effects_.unwatch(*allocation);
    allocations_.forget_id(*allocation);
  }
}

void Code::fat_binary_unloading(Handle handle) noexcept {
  guard_.unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    apply_registrations();          // they point into the library
    if (!journal_.begun()) return;  // do not start the journal for this
    ModuleEntry* entry = registry_.find_fat_binary(handle);
    if (entry == nullptr) return;
    end_globals(*entry, "__hipUnregisterFatBinary");
    for (const ModuleEntry* const other : registry_.on_other_devices(*entry))
      end_globals(*other, "__hipUnregisterFatBinary");
    if (departures_ != nullptr) departures_->left(*entry);
    registry_.remove_fat_binary(handle);
    guard_.changed();
  });
}

void Code::module_unloading(Handle module) noexcept {
  guarded([&] {
    ModuleEntry* entry = registry_.find_module(module);
    if (entry != nullptr) end_globals(*entry, "hipModuleUnload");
    if (entry != nullptr && departures_ != nullptr) departures_->left(*entry);
    registry_.remove_module(module);
  });
}

void Code::function_found(Handle function, Handle module, const char* name) noexcept {
  guarded([&] { registry_.add_function_handle(function, module, name == nullptr ? "" : name); });
}

void Code::function_of_kernel(Handle function, Handle kernel) noexcept {
  guarded([&] { registry_.alias_kernel_handle(function, kernel); });
}

void Code::function_of_symbol(Handle function, Handle host_function) noexcept {
  guarded([&] { registry_.alias_function_handle(function, host_function, current_device); });
}

bool Code::has_variables(const ModuleEntry& module) const {
  return module.code == nullptr || std::ranges::any_of(module.code->symbols(), is_variable);
}

bool Code::describe_module(ModuleEntry& module, const char* call) {
  std::vector<std::string> unread;
  Result<void> parsed = registry_.parse(module, facts_.gpu_arch, options_.all_targets, &unread);
  for (const std::string& target : unread)
    finding(format::FindingKind::kIncomplete, kAllTargets, target);
  if (!parsed) {
    finding(format::FindingKind::kIncomplete, call, parsed.error().message);
    return false;
  }
  if (module.code_id != 0) return true;
  format::CodeObject object;
  object.id = next_code_object_++;
  object.elf = check(journal_.writer().add_blob(module.code->bytes()));
  object.target = module.code->target();
  traced_.know_device(module.device);
  object.device = module.device;
  check(journal_.writer().add(object));
  module.code_id = object.id;
  describe_images(module);
  return true;
}

void Code::describe_images(const ModuleEntry& module) {
  for (const auto& image : module.images) {
    format::CodeObject object;
    object.id = next_code_object_++;
    object.elf = check(journal_.writer().add_blob(image->bytes()));
    object.target = image->target();
    object.device = module.device;
    object.image_of = module.code_id;
    check(journal_.writer().add(object));
  }
}

// A replay passes them the arguments of the kernel that was launched.
void Code::compare_images(const ModuleEntry& module, const std::string& kernel) {
  const codeobj::Kernel* const recorded = module.code->find_kernel(kernel);
  if (recorded == nullptr) return;
  for (const auto& image : module.images) {
    const codeobj::Kernel* const other = image->find_kernel(kernel);
    if (other == nullptr) {
      finding(
          format::FindingKind::kNote, kAllTargets,
          fmt::format("kernel {} is not in the code for {}: a launch of it does not replay there",
                      kernel, image->gpu_arch()));
    } else if (!same_layout(*recorded, *other)) {
      finding(format::FindingKind::kIncomplete, kAllTargets,
              fmt::format("kernel {} has other arguments in the code for {}", kernel,
                          image->gpu_arch()));
    }
  }
}

KernelEntry* Code::describe_kernel(CodeRegistry::FunctionName& function, const char* call) {
  if (!describe_module(*function.module, call)) return nullptr;
  Result<KernelEntry*> entry = registry_.kernel(*function.module, function.name);
  if (!entry) {
    finding(format::FindingKind::kIncomplete, call, entry.error().message);
    return nullptr;
  }
  format::Kernel& kernel = (*entry)->kernel;
  if (kernel.id == 0) {
    // Without argument metadata, a launch passes the whole segment.
    if (kernel.arguments.empty()) kernel.explicit_size_bytes = kernel.kernarg_size_bytes;
    (*entry)->slots = pointers::kernarg_slots(kernel);
    kernel.code_object = function.module->code_id;
    kernel.id = next_kernel_++;
    check(journal_.writer().add(kernel));
    compare_images(*function.module, function.name);
  }
  function.entry = *entry;
  return *entry;
}

void Code::discover_globals(ModuleEntry& module) {
  module.globals_known = true;
  discover_managed(module);
  uint64_t address = 0;
  uint64_t size = 0;
  for (const HostVariable& variable : module.variables) {
    if (device_.symbol_on(module.device, variable.symbol, &address, &size)) {
      add_global(module, variable.name, address, size);
    }
  }
  if (module.library != nullptr) {
    for (const codeobj::Symbol& symbol : module.code->symbols()) {
      if (!is_variable(symbol) || is_initial_value(module, symbol.name)) continue;
      if (device_.library_global_on(module.device, module.library, symbol.name.c_str(), &address,
                                    &size)) {
        add_global(module, symbol.name, address, size, is_managed(module, symbol.name));
        continue;
      }
      // Not held until HIP accepts the launch: each library is reported once only.
      finding_now(format::FindingKind::kIncomplete, "hipLibraryGetKernel",
                  fmt::format("variable {} of a library: this HIP has no call that returns its "
                              "address (hipLibraryGetGlobal, from 7.14)",
                              symbol.name));
    }
  }
  if (module.module == nullptr) return;
  for (const codeobj::Symbol& symbol : module.code->symbols()) {
    if (!is_variable(symbol)) continue;
    if (device_.module_global_on(module.device, module.module, symbol.name.c_str(), &address,
                                 &size)) {
      add_global(module, symbol.name, address, size, is_managed(module, symbol.name));
    }
  }
}

// The program may use them without any call about them: they are in the trace from its beginning.
void Code::discover_managed(ModuleEntry& module) {
  for (ManagedVariable& variable : module.managed) {
    if (variable.known || *variable.pointer == nullptr) continue;
    if (!describe_module(module, "__hipRegisterManagedVar")) return;
    variable.known = true;
    add_global(module, variable.name, reinterpret_cast<uint64_t>(*variable.pointer),
               variable.size_bytes, true);
  }
}

void Code::add_global(ModuleEntry& module, const std::string& name, uint64_t address, uint64_t size,
                      bool managed) {
  if (address == 0 || size == 0) return;
  const std::shared_ptr<Allocation> known = allocations_.map().find_begin(address);
  if (known && known->kind == format::AllocationKind::kModuleGlobal) return;
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = format::AllocationKind::kModuleGlobal;
  allocation->address = address;
  // Every kernel of the module may use it without being handed its address.
  if (managed) allocation->host_address = address;
  allocation->size_bytes = size;
  allocation->symbol = name;
  allocation->module = &module;
  allocation->device = module.device;
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    module.globals_span = 0;
  }
  format::AllocationBegin begin;
  begin.code_object = module.code_id;
  // First, as it may hold addresses of variables that are still to come.
  allocation->id = allocations_.next_id();
  if (!managed && stretch_.whole()) allocations_.learn_code_range(module, *allocation);
  traced_.insert_allocation(allocation, std::move(begin));
}

void Code::global_found(Handle module, const char* name, uint64_t address, uint64_t size_bytes,
                        const char* call) noexcept {
  guarded([&] {
    ModuleEntry* entry = registry_.find_module(module);
    if (entry == nullptr) {
      finding(format::FindingKind::kIncomplete, call, "of code whose loading was not seen");
      return;
    }
    if (describe_module(*entry, call)) {
      const std::string text = name == nullptr ? "" : name;
      add_global(*entry, text, address, size_bytes, is_managed(*entry, text));
    }
  });
}

uint64_t Code::symbol_address(Handle host_symbol) noexcept {
  uint64_t result = 0;
  guarded([&] {
    std::string name;
    ModuleEntry* module = registry_.find_variable_owner(host_symbol, &name);
    uint64_t address = 0;
    uint64_t size = 0;
    if (module != nullptr) module = &registry_.on_device(*module, current_device);
    if (module == nullptr || !device_.symbol_on(module->device, host_symbol, &address, &size)) {
      return;
    }
    if (describe_module(*module, "hipGetSymbolAddress")) {
      add_global(*module, name, address, size);
    }
    result = address;
  });
  return result;
}

// A launch of a graph, whose kernels were looked up when its nodes were made.
void Code::describe_again(KernelEntry& kernel) {
  if (kernel.kernel.id != 0 || !segments_) return;
  if (!describe_module(*kernel.module, "--flight-recorder")) return;
  kernel.kernel.code_object = kernel.module->code_id;
  kernel.kernel.id = next_kernel_++;
  check(journal_.writer().add(kernel.kernel));
}

void Code::describe_again(ModuleEntry& module) {
  if (segments_) (void)describe_module(module, "--flight-recorder");
}

void Code::discover_managed_of_all() {
  for (ModuleEntry* module : registry_.modules()) {
    if (!module->managed.empty() && !module->unloaded) discover_managed(*module);
  }
}

void Code::forget_found() {
  for (ModuleEntry* module : registry_.modules()) {
    module->globals_known = false;
    allocations_.forget_code(module);
    // Managed variables are not looked for again: what their pointers hold now is not known.
    if (!module->managed.empty()) {
      finding(format::FindingKind::kIncomplete, "hipDeviceReset", "with __managed__ variables");
    }
  }
  registry_.forget_found();
}

void Code::ends_by_reset(const Allocation& variable, const format::Content& last) {
  ends_after_reset(variable, last);
  before_reset_.insert_or_assign({variable.module, variable.symbol}, last.hash);
}

void Code::ends_after_reset(const Allocation& variable, const format::Content& last) {
  const auto before = before_reset_.find({variable.module, variable.symbol});
  if (before == before_reset_.end() || before->second == last.hash) return;
  finding(
      format::FindingKind::kIncomplete, "hipDeviceReset",
      fmt::format("variable {} is used before and after it: a replay compares the last contents "
                  "with both",
                  variable.symbol));
}

std::vector<std::string> Code::number_anew() {
  std::vector<std::string> kernels;
  for (ModuleEntry* module : registry_.modules()) {
    module->code_id = 0;
    for (auto& [name, kernel] : module->kernels) {
      kernel->kernel.id = 0;
      kernel->ambiguous_reported = 0;
      kernel->near_pointer_reported = false;
      kernel->unknown_pointer_reported = kernel->addresses_named = false;
      kernels.push_back(kernel->kernel.name);
    }
  }
  registry_.forget_entries();
  next_kernel_ = 1;
  next_code_object_ = 1;
  return kernels;
}

}  // namespace gfxgraph::recorder

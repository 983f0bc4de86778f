// Fat binaries, modules, kernels and device variables.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "codeobj/code_object.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

// clang keeps the initial value of a __managed__ variable under a name of its own; the variable's
// symbol itself holds the address that the runtime chose.
bool is_managed(const ModuleEntry& module, const std::string& name) {
  const std::string initial = name + ".managed";
  const auto& symbols = module.code->symbols();
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](const codeobj::Symbol& symbol) { return symbol.name == initial; });
}

std::vector<std::byte> file_bytes(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// Whether the symbol is a variable of the program, not a kernel descriptor or the compiler's own.
bool is_variable(const codeobj::Symbol& symbol) {
  return symbol.type == codeobj::Symbol::Type::kObject && !symbol.undefined &&
         symbol.size_bytes != 0 && !symbol.name.ends_with(".kd") &&
         !symbol.name.starts_with("__hip_cuid");
}

}  // namespace

void Recorder::fat_binary(Handle handle, const void* wrapper) noexcept {
  registering([=, this] { code_.add_fat_binary(handle, wrapper); });
}

void Recorder::function(Handle fat_binary, Handle host_function, const char* name) noexcept {
  registering([=, this, text = std::string(name == nullptr ? "" : name)] {
    code_.add_function(fat_binary, host_function, text);
  });
}

void Recorder::variable(Handle fat_binary, Handle host_symbol, const char* name) noexcept {
  registering([=, this, text = std::string(name == nullptr ? "" : name)] {
    code_.add_variable(fat_binary, host_symbol, text);
  });
}

void Recorder::managed_variable(Handle fat_binary, void* const* pointer, const char* name,
                                uint64_t size_bytes) noexcept {
  registering([=, this, text = std::string(name == nullptr ? "" : name)] {
    ModuleEntry* module =
        code_.add_managed_variable(fat_binary, {pointer, text, size_bytes, false});
    if (module != nullptr && journal_.begun())
      discover_managed(*module);  // of a library loaded later
  });
}

void Recorder::module_loaded(void* module, const void* image) noexcept {
  guarded([&] {
    Result<std::vector<std::byte>> bytes = copy_image(image);
    if (bytes) {
      code_.add_module(module, std::move(*bytes));
    } else {
      finding(format::FindingKind::kIncomplete, "hipModuleLoadData", bytes.error().message);
    }
  });
}

void Recorder::module_file_loaded(void* module, const char* path) noexcept {
  guarded([&] { code_.add_module(module, file_bytes(path)); });
}

void Recorder::library_loaded(Handle library, const void* image, const char* path) noexcept {
  guarded([&] { code_.add_library(library, {image, path == nullptr ? "" : path}); });
}

std::optional<std::vector<std::byte>> Recorder::unread_library(Handle library) noexcept {
  std::optional<std::vector<std::byte>> result;
  guarded([&] {
    const UnreadLibrary* const unread = code_.find_unread_library(library);
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

void Recorder::library_read(Handle library, std::vector<std::byte> code) noexcept {
  guarded([&] { code_.add_library_code(library, std::move(code)); });
}

// The variables of code that is about to be unloaded: their last state.
void Recorder::end_globals(const ModuleEntry& module, const char* call) {
  forget_code(&module);
  for (const std::shared_ptr<Allocation>& allocation : map_.all()) {
    if (allocation->module != &module) continue;
    if (allocation->kept) {
      end_kept(*allocation, true);
    } else if (allocation->begun) {
      end_allocation(*allocation, true, 0, content_at_end(*allocation, call));
    }
    unmap(allocation->address);
    flights_.forget(allocation->id);
    unwatch(*allocation);
    forget_id(*allocation);
  }
}

void Recorder::fat_binary_unloading(Handle handle) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(guard_.mutex());
    apply_registrations();          // they point into the library
    if (!journal_.begun()) return;  // nothing is opened for this
    ModuleEntry* entry = code_.find_fat_binary(handle);
    if (entry == nullptr) return;
    end_globals(*entry, "__hipUnregisterFatBinary");
    code_.remove_fat_binary(handle);
    update_ways();
  });
}

void Recorder::module_unloading(Handle module) noexcept {
  guarded([&] {
    ModuleEntry* entry = code_.find_module(module);
    if (entry != nullptr) end_globals(*entry, "hipModuleUnload");
    code_.remove_module(module);
  });
}

void Recorder::function_found(Handle function, Handle module, const char* name) noexcept {
  guarded([&] { code_.add_function_handle(function, module, name == nullptr ? "" : name); });
}

void Recorder::function_of_symbol(Handle function, Handle host_function) noexcept {
  guarded([&] { code_.alias_function_handle(function, host_function); });
}

bool Recorder::describe_module(ModuleEntry& module, const char* call) {
  Result<void> parsed = code_.parse(module, facts_.gpu_arch);
  if (!parsed) {
    finding(format::FindingKind::kIncomplete, call, parsed.error().message);
    return false;
  }
  if (module.code_id != 0) return true;
  format::CodeObject object;
  object.id = next_code_object_++;
  object.elf = check(journal_.writer().add_blob(module.code->bytes()));
  object.target = module.code->target();
  check(journal_.writer().add(object));
  module.code_id = object.id;
  return true;
}

KernelEntry* Recorder::describe_kernel(CodeRegistry::FunctionName& function, const char* call) {
  if (!describe_module(*function.module, call)) return nullptr;
  Result<KernelEntry*> entry = code_.kernel(*function.module, function.name);
  if (!entry) {
    finding(format::FindingKind::kIncomplete, call, entry.error().message);
    return nullptr;
  }
  format::Kernel& kernel = (*entry)->kernel;
  if (kernel.id == 0) {
    // Without argument metadata the whole segment is what a launch passes.
    if (kernel.arguments.empty()) kernel.explicit_size_bytes = kernel.kernarg_size_bytes;
    (*entry)->slots = kernarg_slots(kernel);
    kernel.code_object = function.module->code_id;
    kernel.id = next_kernel_++;
    check(journal_.writer().add(kernel));
  }
  function.entry = *entry;
  return *entry;
}

// A kernel of the module is about to run: from here on its variables may change.
void Recorder::discover_globals(ModuleEntry& module) {
  module.globals_known = true;
  discover_managed(module);
  uint64_t address = 0;
  uint64_t size = 0;
  for (const HostVariable& variable : module.variables) {
    if (device_->symbol(variable.symbol, &address, &size)) {
      add_global(module, variable.name, address, size);
    }
  }
  if (module.library) {
    for (const codeobj::Symbol& symbol : module.code->symbols()) {
      if (!is_variable(symbol)) continue;
      // Not held until HIP accepts the launch: each library is reported once only.
      finding_now(format::FindingKind::kIncomplete, "hipLibraryGetKernel",
                  fmt::format("variable {} of a library: HIP has no call that returns its address",
                              symbol.name));
    }
  }
  if (module.module == nullptr) return;
  for (const codeobj::Symbol& symbol : module.code->symbols()) {
    if (!is_variable(symbol)) continue;
    if (device_->module_global(module.module, symbol.name.c_str(), &address, &size)) {
      add_global(module, symbol.name, address, size, is_managed(module, symbol.name));
    }
  }
}

// The program may use them without any call about them: they are in the trace from its beginning.
void Recorder::discover_managed(ModuleEntry& module) {
  for (ManagedVariable& variable : module.managed) {
    if (variable.known || *variable.pointer == nullptr) continue;
    if (!describe_module(module, "__hipRegisterManagedVar")) return;
    variable.known = true;
    add_global(module, variable.name, reinterpret_cast<uint64_t>(*variable.pointer),
               variable.size_bytes, true);
  }
}

void Recorder::add_global(ModuleEntry& module, const std::string& name, uint64_t address,
                          uint64_t size, bool managed) {
  if (address == 0 || size == 0) return;
  const std::shared_ptr<Allocation> known = map_.find_begin(address);
  if (known && known->kind == format::AllocationKind::kModuleGlobal) return;
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = format::AllocationKind::kModuleGlobal;
  allocation->address = address;
  // Every kernel of the module may use it without being handed its address.
  if (managed) allocation->host_address = address;
  allocation->size_bytes = size;
  allocation->symbol = name;
  allocation->module = &module;
  {
    const LaunchLanes::Alone alone(journal_.lanes());
    module.globals_span = 0;
  }
  format::AllocationBegin begin;
  begin.code_object = module.code_id;
  // First, as it may hold addresses of variables that are still to come.
  allocation->id = next_allocation_;
  if (!managed && selection_.empty()) learn_code_range(module, *allocation);
  insert_allocation(allocation, std::move(begin));
}

// Where a module's variable stands says where its code does.
void Recorder::learn_code_range(const ModuleEntry& module, const Allocation& variable) {
  if (!module.code || module.code->segments().empty()) return;
  for (const codeobj::Symbol& symbol : module.code->symbols()) {
    if (symbol.undefined || symbol.name != variable.symbol) continue;
    CodeRange range;
    range.module = &module;
    range.variable = variable.id;
    range.variable_address = variable.address;
    range.begin = ~uint64_t{0};
    for (const codeobj::Segment& segment : module.code->segments()) {
      const uint64_t begin = variable.address - symbol.address + segment.address;
      range.begin = std::min(range.begin, begin);
      range.end = std::max(range.end, begin + segment.memory_bytes);
    }
    if (range.begin <= variable.address && variable.address < range.end) {
      const LaunchLanes::Alone alone(journal_.lanes());
      words_.add_code(range);
    }
    return;
  }
}

void Recorder::global_found(Handle module, const char* name, uint64_t address,
                            uint64_t size_bytes) noexcept {
  guarded([&] {
    ModuleEntry* entry = code_.find_module(module);
    if (entry == nullptr) {
      finding(format::FindingKind::kIncomplete, "hipModuleGetGlobal",
              "of a module whose loading was not seen");
      return;
    }
    if (describe_module(*entry, "hipModuleGetGlobal")) {
      const std::string text = name == nullptr ? "" : name;
      add_global(*entry, text, address, size_bytes, is_managed(*entry, text));
    }
  });
}

uint64_t Recorder::symbol_address(Handle host_symbol) noexcept {
  uint64_t result = 0;
  guarded([&] {
    std::string name;
    ModuleEntry* module = code_.find_variable_owner(host_symbol, &name);
    uint64_t address = 0;
    uint64_t size = 0;
    if (module == nullptr || !device_->symbol(host_symbol, &address, &size)) return;
    if (describe_module(*module, "hipGetSymbolAddress")) {
      add_global(*module, name, address, size);
    }
    result = address;
  });
  return result;
}

}  // namespace gfxgraph::recorder

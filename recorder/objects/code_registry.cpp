#include "recorder/objects/code_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "codeobj/code_object.h"
#include "codeobj/image.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

// The argument of __hipRegisterFatBinary (clang's CGCUDANV.cpp: "HIPF", version 1).
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void* binary;
  const void* unused;
};
constexpr uint32_t kFatBinaryMagic = 0x48495046;

// The same as codeobj::readable_bytes_at(), slowly, where no file can be opened.
uint64_t probed_bytes(uint64_t start) {
  constexpr uint64_t kPageBytes = 4096;
  std::byte byte{};
  uint64_t end = start;
  while (read_program(end, std::span(&byte, 1))) end += kPageBytes - end % kPageBytes;
  return end - start;
}

Result<uint64_t> image_bytes(const std::byte* image) {
  const std::optional<uint64_t> readable = codeobj::readable_bytes_at(image);
  return codeobj::image_size(
      image, readable ? *readable : probed_bytes(reinterpret_cast<uint64_t>(image)));
}

format::ArgumentKind argument_kind(const codeobj::Argument& argument) {
  if (argument.hidden()) return format::ArgumentKind::kHidden;
  if (argument.value_kind == "global_buffer") return format::ArgumentKind::kGlobalBuffer;
  if (argument.value_kind == "dynamic_shared_pointer") {
    return format::ArgumentKind::kDynamicSharedPointer;
  }
  if (argument.value_kind == "sampler") return format::ArgumentKind::kSampler;
  if (argument.value_kind == "image") return format::ArgumentKind::kImage;
  if (argument.value_kind == "pipe") return format::ArgumentKind::kPipe;
  if (argument.value_kind == "queue") return format::ArgumentKind::kQueue;
  return format::ArgumentKind::kByValue;
}

}  // namespace

Result<std::vector<std::byte>> copy_image(const void* image) {
  if (image == nullptr) return fail(Status::kInvalidArgument, "module image: null");
  const auto* bytes = static_cast<const std::byte*>(image);
  const std::optional<uint64_t> readable = codeobj::readable_bytes_at(image);
  GFXGRAPH_ASSIGN_OR_RETURN(
      const uint64_t size,
      codeobj::image_size(bytes,
                          readable ? *readable : probed_bytes(reinterpret_cast<uint64_t>(image))));
  std::vector<std::byte> copy(size);
  if (!read_program(reinterpret_cast<uint64_t>(image), copy))
    return fail(Status::kInvalidArgument, "module image: it cannot be read");
  return copy;
}

uint64_t CodeRegistry::first_generation() noexcept {
  static std::atomic<uint64_t> registries{0};
  return (registries.fetch_add(1) << 32) + 1;
}

ModuleEntry* CodeRegistry::add_fat_binary(Handle handle, const void* wrapper) {
  auto entry = std::make_unique<ModuleEntry>();
  const auto* fat = static_cast<const FatBinaryWrapper*>(wrapper);
  if (fat == nullptr || fat->magic != kFatBinaryMagic || fat->binary == nullptr) {
    entry->error = Error{Status::kUnsupported, "fat binary: no HIPF wrapper"};
  } else {
    entry->image = static_cast<const std::byte*>(fat->binary);
  }
  modules_.push_back(std::move(entry));
  fat_binaries_[handle] = modules_.back().get();
  return modules_.back().get();
}

void CodeRegistry::add_function(Handle fat_binary, Handle host_function, std::string name) {
  const auto module = fat_binaries_.find(fat_binary);
  if (module == fat_binaries_.end()) return;
  host_functions_[host_function] = FunctionName{module->second, std::move(name), nullptr};
  forget_found();
}

void CodeRegistry::add_variable(Handle fat_binary, Handle host_symbol, std::string name) {
  const auto module = fat_binaries_.find(fat_binary);
  if (module == fat_binaries_.end()) return;
  variables_[host_symbol] = {module->second, name};
  module->second->variables.push_back(HostVariable{host_symbol, std::move(name)});
}

ModuleEntry* CodeRegistry::add_managed_variable(Handle fat_binary, ManagedVariable variable) {
  const auto module = fat_binaries_.find(fat_binary);
  if (module == fat_binaries_.end()) return nullptr;
  module->second->managed.push_back(std::move(variable));
  return module->second;
}

ModuleEntry* CodeRegistry::find_fat_binary(Handle handle) const {
  const auto found = fat_binaries_.find(handle);
  return found == fat_binaries_.end() ? nullptr : found->second;
}

// Stubs and shadow variables are removed with their library, because their addresses may be reused.
void CodeRegistry::remove_fat_binary(Handle handle) {
  const auto found = fat_binaries_.find(handle);
  if (found == fat_binaries_.end()) return;
  ModuleEntry* entry = found->second;
  for (ModuleEntry* const other : on_other_devices(*entry)) {
    other->unloaded = true;
    other->image = nullptr;
    std::erase_if(device_functions_, [&](const auto& f) { return f.first.first == other; });
    std::erase_if(function_handles_, [&](const auto& f) { return f.second.module == other; });
    on_devices_.erase({entry, other->device});
  }
  std::erase_if(device_functions_, [&](const auto& f) { return f.first.first == entry; });
  entry->unloaded = true;
  entry->image = nullptr;
  std::erase_if(host_functions_, [&](const auto& f) { return f.second.module == entry; });
  std::erase_if(function_handles_, [&](const auto& f) { return f.second.module == entry; });
  std::erase_if(variables_, [&](const auto& v) { return v.second.first == entry; });
  fat_binaries_.erase(found);
  forget_found();
}

ModuleEntry* CodeRegistry::add_module(void* module, std::vector<std::byte> bytes) {
  auto entry = std::make_unique<ModuleEntry>();
  entry->bytes = std::move(bytes);
  entry->module = module;
  modules_.push_back(std::move(entry));
  loaded_[module] = modules_.back().get();
  return modules_.back().get();
}

ModuleEntry* CodeRegistry::find_module(Handle module) const {
  const auto found = loaded_.find(module);
  return found == loaded_.end() ? nullptr : found->second;
}

void CodeRegistry::add_library(Handle library, UnreadLibrary unread) {
  unread_[library] = std::move(unread);
}

const UnreadLibrary* CodeRegistry::find_unread_library(Handle library) const {
  const auto found = unread_.find(library);
  return found == unread_.end() ? nullptr : &found->second;
}

void CodeRegistry::add_library_code(Handle library, std::vector<std::byte> bytes) {
  if (unread_.erase(library) == 0) return;  // another thread added the code
  auto entry = std::make_unique<ModuleEntry>();
  entry->bytes = std::move(bytes);
  entry->library = const_cast<void*>(library);
  modules_.push_back(std::move(entry));
  loaded_[library] = modules_.back().get();
}

void CodeRegistry::remove_module(Handle module) {
  unread_.erase(module);
  const auto found = loaded_.find(module);
  if (found == loaded_.end()) return;
  ModuleEntry* entry = found->second;
  entry->unloaded = true;
  std::erase_if(function_handles_, [&](const auto& f) { return f.second.module == entry; });
  loaded_.erase(found);
  forget_found();
}

void CodeRegistry::add_function_handle(Handle function, Handle module, std::string name) {
  ModuleEntry* entry = find_module(module);
  if (entry == nullptr) return;
  function_handles_[function] = FunctionName{entry, std::move(name), nullptr};
  forget_found();
}

void CodeRegistry::alias_kernel_handle(Handle function, Handle kernel) {
  const auto found = function_handles_.find(kernel);
  if (found == function_handles_.end() || function == kernel) return;
  const FunctionName known = found->second;
  function_handles_[function] = known;
  forget_found();
}

void CodeRegistry::alias_function_handle(Handle function, Handle host_function,
                                         format::DeviceNumber device) {
  const auto found = host_functions_.find(host_function);
  if (found == host_functions_.end()) return;
  function_handles_[function] =
      FunctionName{&on_device(*found->second.module, device), found->second.name, nullptr};
  forget_found();
}

CodeRegistry::FunctionName* CodeRegistry::find_host_function(Handle host_function) {
  const auto found = host_functions_.find(host_function);
  return found == host_functions_.end() ? nullptr : &found->second;
}

CodeRegistry::FunctionName* CodeRegistry::find_function_handle(Handle function) {
  const auto found = function_handles_.find(function);
  return found == function_handles_.end() ? nullptr : &found->second;
}

CodeRegistry::FunctionName* CodeRegistry::find_launched(Handle function, bool host_function,
                                                        format::DeviceNumber device) {
  FunctionName* const stub = host_function ? find_host_function(function) : nullptr;
  FunctionName* const found = stub != nullptr ? stub : find_function_handle(function);
  if (found == nullptr || found->module->device == device) return found;
  if (stub == nullptr) return nullptr;  // a module is loaded for one device
  return &function_of(on_device(*found->module, device), found->name);
}

CodeRegistry::FunctionName& CodeRegistry::function_of(ModuleEntry& module,
                                                      const std::string& name) {
  const auto [entry, added] = device_functions_.try_emplace({&module, name});
  if (added) entry->second = FunctionName{&module, name, nullptr};
  return entry->second;
}

ModuleEntry& CodeRegistry::on_device(ModuleEntry& module, format::DeviceNumber device) {
  if (module.device == device) return module;
  ModuleEntry*& found = on_devices_[{&module, device}];
  if (found != nullptr) return *found;
  auto entry = std::make_unique<ModuleEntry>();
  entry->image = module.image;
  entry->variables = module.variables;
  entry->device = device;
  entry->managed_elsewhere = !module.managed.empty();
  entry->parsed = module.parsed;
  entry->error = module.error;
  entry->code = module.code;
  found = entry.get();
  modules_.push_back(std::move(entry));
  return *found;
}

CodeRegistry::FunctionName* CodeRegistry::on_device(const KernelEntry& kernel,
                                                    format::DeviceNumber device) {
  ModuleEntry* module = kernel.module;
  const auto made =
      std::ranges::find(on_devices_, module, [](const auto& one) { return one.second; });
  if (made != on_devices_.end()) module = made->first.first;
  if (module->module != nullptr || module->library) return nullptr;
  return &function_of(on_device(*module, device), kernel.kernel.name);
}

std::vector<ModuleEntry*> CodeRegistry::on_other_devices(const ModuleEntry& module) const {
  std::vector<ModuleEntry*> result;
  for (const auto& [key, entry] : on_devices_)
    if (key.first == &module) result.push_back(entry);
  return result;
}

ModuleEntry* CodeRegistry::find_variable_owner(Handle host_symbol, std::string* name) const {
  const auto found = variables_.find(host_symbol);
  if (found == variables_.end()) return nullptr;
  *name = found->second.second;
  return found->second.first;
}

Result<void> CodeRegistry::parse(ModuleEntry& module, const std::string& gpu_arch, bool all_targets,
                                 std::vector<std::string>* unread) {
  if (module.error) return fail(module.error->status, module.error->message);
  if (module.parsed) return {};
  module.parsed = true;
  const auto load = [&]() -> Result<void> {
    std::span<const std::byte> bytes = module.bytes;
    if (module.image != nullptr) {
      GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t size, image_bytes(module.image));
      bytes = {module.image, size};
    }
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<codeobj::BundleEntry> entries,
                              codeobj::extract_device_elves(bytes));
    const codeobj::BundleEntry* entry = codeobj::select_entry(entries, gpu_arch);
    if (entry == nullptr) {
      return fail(Status::kNotFound,
                  fmt::format("no code object for {} in the fat binary", gpu_arch));
    }
    GFXGRAPH_ASSIGN_OR_RETURN(module.code, codeobj::CodeObject::parse(entry->bytes));
    if (!all_targets) return {};
    std::set<std::string> targets = {entry->target};
    for (const codeobj::BundleEntry& other : entries) {
      if (other.target.empty() || !targets.insert(other.target).second) continue;
      Result<std::shared_ptr<const codeobj::CodeObject>> image =
          codeobj::CodeObject::parse(other.bytes);
      if (image) {
        module.images.push_back(*std::move(image));
      } else if (unread != nullptr) {
        unread->push_back(other.target + ": " + image.error().message);
      }
    }
    return {};
  };
  Result<void> result = load();
  if (!result) module.error = result.error();
  module.bytes.clear();
  module.bytes.shrink_to_fit();
  return result;
}

Result<KernelEntry*> CodeRegistry::kernel(ModuleEntry& module, const std::string& name) {
  const auto known = module.kernels.find(name);
  if (known != module.kernels.end()) return known->second;
  const codeobj::Kernel* found = module.code->find_kernel(name);
  if (found == nullptr) {
    return fail(Status::kNotFound, fmt::format("kernel {} is not in its code object", name));
  }
  auto entry = std::make_unique<KernelEntry>();
  entry->module = &module;
  format::Kernel& kernel = entry->kernel;
  kernel.code_object = module.code_id;
  kernel.name = found->name;
  kernel.kernarg_size_bytes = found->kernarg_size_bytes;
  kernel.explicit_size_bytes = found->explicit_size_bytes();
  kernel.group_segment_bytes = found->descriptor.group_segment_bytes;
  kernel.private_segment_bytes = found->descriptor.private_segment_bytes;
  for (const codeobj::Argument& argument : found->arguments) {
    kernel.arguments.push_back({argument.name, argument.value_kind, argument_kind(argument),
                                argument.offset_bytes, argument.size_bytes});
    entry->pointer_arguments += argument.value_kind == "global_buffer" ? 1 : 0;
  }
  kernels_.push_back(std::move(entry));
  module.kernels[name] = kernels_.back().get();
  return kernels_.back().get();
}

void CodeRegistry::forget_entries() noexcept {
  for (auto& [handle, function] : host_functions_) function.entry = nullptr;
  for (auto& [handle, function] : function_handles_) function.entry = nullptr;
  for (auto& [key, function] : device_functions_) function.entry = nullptr;
  forget_found();
}

std::vector<ModuleEntry*> CodeRegistry::modules() const {
  std::vector<ModuleEntry*> result;
  for (const std::unique_ptr<ModuleEntry>& module : modules_) result.push_back(module.get());
  return result;
}

}  // namespace gfxgraph::recorder

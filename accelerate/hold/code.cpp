#include "accelerate/hold/code.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "codeobj/code_object.h"
#include "codeobj/image.h"

namespace gfxgraph::accelerate {
namespace {

// The argument of __hipRegisterFatBinary (clang's CGCUDANV.cpp: "HIPF", version 1).
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const std::byte* binary;
  const void* unused;
};
constexpr uint32_t kFatBinaryMagic = 0x48495046;

// No copy: for memory that stays while its fat binary is registered.
std::span<const std::byte> image_at(const std::byte* image) {
  const std::optional<uint64_t> readable = codeobj::readable_bytes_at(image);
  if (image == nullptr || !readable) return {};
  const Result<uint64_t> size = codeobj::image_size(image, *readable);
  return size ? std::span(image, *size) : std::span<const std::byte>{};
}

std::shared_ptr<const codeobj::CodeObject> parse(std::span<const std::byte> image,
                                                 const std::string& gpu_arch) {
  if (image.empty()) return nullptr;
  // A device ELF, or a bundle of several.
  Result<std::vector<codeobj::BundleEntry>> entries = codeobj::extract_device_elves(image);
  if (!entries || entries->empty()) return nullptr;
  const codeobj::BundleEntry* const entry =
      entries->size() == 1 ? &entries->front() : codeobj::select_entry(*entries, gpu_arch);
  if (entry == nullptr) return nullptr;
  Result<std::shared_ptr<const codeobj::CodeObject>> code =
      codeobj::CodeObject::parse(entry->bytes);
  return code ? *code : nullptr;
}

// nullptr: arguments whose meaning is not plain bytes.
std::unique_ptr<const Layout> layout_of(const codeobj::Kernel& kernel) {
  auto layout = std::make_unique<Layout>();
  layout->kernel = kernel.name;
  layout->size_bytes = kernel.explicit_size_bytes();
  layout->group_bytes = kernel.descriptor.group_segment_bytes;
  for (const codeobj::Argument& argument : kernel.arguments) {
    if (argument.hidden()) continue;
    if (argument.size_bytes > layout->size_bytes ||
        argument.offset_bytes > layout->size_bytes - argument.size_bytes)
      return nullptr;
    layout->places.push_back({argument.offset_bytes, argument.size_bytes});
  }
  return layout;
}

}  // namespace

struct Code::Object {
  const std::byte* image = nullptr;  // of a fat binary
  std::vector<std::byte> bytes;      // of a module
  bool parsed = false;
  std::shared_ptr<const codeobj::CodeObject> code;
};

void Code::fat_binary(const void* handle, const void* wrapper) {
  const auto* const fat = static_cast<const FatBinaryWrapper*>(wrapper);
  if (fat == nullptr || fat->magic != kFatBinaryMagic) return;
  const std::lock_guard lock(mutex_);
  auto object = std::make_shared<Object>();
  object->image = fat->binary;
  fat_binaries_[handle] = std::move(object);
}

void Code::host_function(const void* fat_binary, const void* stub, const char* name) {
  const std::lock_guard lock(mutex_);
  const auto found = fat_binaries_.find(fat_binary);
  if (found == fat_binaries_.end() || name == nullptr) return;
  stubs_[stub] = Function{.object = found->second, .name = name};
}

void Code::remove_fat_binary(const void* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = fat_binaries_.find(handle);
  if (found == fat_binaries_.end()) return;
  std::erase_if(stubs_, [&](const auto& f) { return f.second.object == found->second; });
  fat_binaries_.erase(found);
}

void Code::add_module(const void* handle, std::vector<std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  auto object = std::make_shared<Object>();
  object->bytes = std::move(bytes);
  modules_[handle] = std::move(object);
}

void Code::module(const void* handle, const void* image) {
  const std::span<const std::byte> bytes = image_at(static_cast<const std::byte*>(image));
  add_module(handle, {bytes.begin(), bytes.end()});
}

void Code::module_file(const void* handle, const char* path) {
  std::vector<std::byte> bytes;
  if (path != nullptr) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
    bytes.assign(begin, begin + text.size());
  }
  add_module(handle, std::move(bytes));
}

void Code::function(const void* handle, const void* module, const char* name) {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end() || name == nullptr) {
    functions_.erase(handle);
    return;
  }
  functions_[handle] = Function{.object = found->second, .name = name};
}

void Code::remove_module(const void* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(handle);
  if (found == modules_.end()) return;
  std::erase_if(functions_, [&](const auto& f) { return f.second.object == found->second; });
  modules_.erase(found);
}

const Layout* Code::layout(const void* function, bool stub, const std::string& gpu_arch) {
  const std::lock_guard lock(mutex_);
  if (stub && stubs_.contains(function)) return find(stubs_, function, gpu_arch);
  return find(functions_, function, gpu_arch);
}

const Layout* Code::find(Functions& functions, const void* function, const std::string& gpu_arch) {
  const auto found = functions.find(function);
  if (found == functions.end()) return nullptr;
  Function& known = found->second;
  if (known.resolved) return known.layout;
  known.resolved = true;
  Object& object = *known.object;
  if (!object.parsed) {
    object.parsed = true;
    object.code = parse(object.image != nullptr ? image_at(object.image) : object.bytes, gpu_arch);
    object.bytes = {};
  }
  const codeobj::Kernel* const kernel =
      object.code != nullptr ? object.code->find_kernel(known.name) : nullptr;
  if (kernel == nullptr) return nullptr;
  std::unique_ptr<const Layout> layout = layout_of(*kernel);
  if (layout == nullptr) return nullptr;
  layouts_.push_back(std::move(layout));
  known.layout = layouts_.back().get();
  return known.layout;
}

}  // namespace gfxgraph::accelerate

#include "replayer/code/registered.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "replayer/code/elf_check.h"

namespace gfxgraph::replayer {
namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kHostEntry = "host-x86_64-unknown-linux";
constexpr uint64_t kCodeAlignment = 4096;

void append(std::vector<std::byte>& bytes, std::string_view text) {
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), data, data + text.size());
}

void append(std::vector<std::byte>& bytes, uint64_t value) {
  char raw[sizeof(value)];
  std::memcpy(raw, &value, sizeof(value));
  append(bytes, std::string_view(raw, sizeof(raw)));
}

void append_entry(std::vector<std::byte>& bytes, uint64_t size_bytes, std::string_view id) {
  append(bytes, kCodeAlignment);
  append(bytes, size_bytes);
  append(bytes, uint64_t{id.size()});
  append(bytes, id);
}

// An offload bundle of an empty host entry and one code object. Source: "Clang Offload Bundler",
// bundled binary file layout.
Result<std::vector<std::byte>> make_bundle(const std::string& target,
                                           std::span<const std::byte> elf) {
  std::vector<std::byte> bundle;
  append(bundle, kBundleMagic);
  append(bundle, uint64_t{2});
  append_entry(bundle, 0, kHostEntry);
  append_entry(bundle, elf.size(), "hipv4-" + target);
  if (bundle.size() > kCodeAlignment)
    return fail(Status::kCorrupt, "its target's name is too long for a bundle");
  bundle.resize(kCodeAlignment);
  bundle.insert(bundle.end(), elf.begin(), elf.end());
  return bundle;
}

bool has_recorded_variables(const Program& program, format::CodeObjectId id) {
  for (const AllocationInfo& info : program.allocations()) {
    if (info.begin != nullptr && info.begin->kind == format::AllocationKind::kModuleGlobal &&
        info.begin->code_object == id)
      return true;
  }
  return false;
}

}  // namespace

bool RegisteredKernels::possible(const HipTable& table) {
  return table.hipLaunchCooperativeKernel != nullptr && table.__hipRegisterFatBinary != nullptr &&
         table.__hipRegisterFunction != nullptr && table.__hipUnregisterFatBinary != nullptr;
}

RegisteredKernels::~RegisteredKernels() {
  for (const Object& object : objects_)
    library_->table().__hipUnregisterFatBinary(object.registration);
}

Result<void**> RegisteredKernels::registration(const Program& program, format::CodeObjectId id,
                                               const std::string& target,
                                               std::span<const std::byte> elf) {
  for (const Object& object : objects_)
    if (object.id == id) return object.registration;
  if (has_recorded_variables(program, id) || has_variables(elf)) {
    return fail(Status::kUnsupported,
                fmt::format("a cooperative launch needs hipModuleLaunchCooperativeKernel, which {} "
                            "lacks; without it, HIP would run the kernel in a second copy of code "
                            "object {}, which has variables",
                            library_->path(), id));
  }
  Object object;
  object.id = id;
  GFXGRAPH_ASSIGN_OR_RETURN(object.bundle, make_bundle(target, elf));
  object.wrapper = std::make_unique<hip::FatBinary>();
  object.wrapper->binary = object.bundle.data();
  objects_.reserve(objects_.size() + 1);  // reserved first: objects known to HIP must be kept
  object.registration = library_->table().__hipRegisterFatBinary(object.wrapper.get());
  if (object.registration == nullptr)
    return fail(Status::kDevice, fmt::format("HIP does not register code object {}", id));
  objects_.push_back(std::move(object));
  return objects_.back().registration;
}

Result<const void*> RegisteredKernels::add(const Program& program, format::KernelId id,
                                           const std::string& target,
                                           std::span<const std::byte> elf) {
  for (const auto& stub : stubs_)
    if (stub->kernel == id) return stub->handle.get();
  const format::Kernel& kernel = program.trace().kernels()[id - 1];
  GFXGRAPH_ASSIGN_OR_RETURN(void** const registered,
                            registration(program, kernel.code_object, target, elf));
  auto stub = std::make_unique<Stub>();
  stub->kernel = id;
  stub->name = kernel.name;
  stub->handle = std::make_unique<char>();
  stubs_.reserve(stubs_.size() + 1);
  library_->table().__hipRegisterFunction(registered, stub->handle.get(), stub->name.data(),
                                          stub->name.c_str(), ~0u, nullptr, nullptr, nullptr,
                                          nullptr, nullptr);
  stubs_.push_back(std::move(stub));
  return stubs_.back()->handle.get();
}

}  // namespace gfxgraph::replayer

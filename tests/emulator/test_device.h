// A small device for tests and benchmarks: loads a code object into memory, allocates buffers,
// launches kernels by name with their explicit arguments and fills in the hidden ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "codeobj/code_object.h"
#include "emulator/engine/backend.h"
#include "emulator/engine/engine.h"

namespace gfxgraph::emulator::testing {

struct Shape {
  std::array<uint32_t, 3> grid = {1, 1, 1};  // work items
  std::array<uint16_t, 3> block = {1, 1, 1};
  uint32_t dynamic_lds = 0;
  bool cooperative = false;  // with the first grid barrier set
};

class TestDevice {
 public:
  explicit TestDevice(const EngineOptions& options = {})
      : engine_(Engine::create(memory_, options)) {}
  TestDevice(const EngineOptions& options, const Backend& backend, void* observer)
      : engine_(create_engine(memory_, options, backend, observer)) {}

  Engine& engine() { return *engine_; }
  MemoryMap& memory() { return memory_; }

  // A code object file: ELF or offload bundle. Returns an error text, empty when it went well.
  std::string load(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> text((std::istreambuf_iterator<char>(file)),
                                 std::istreambuf_iterator<char>());
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(text.data()),
                                           text.size());
    auto elves = codeobj::extract_device_elves(bytes);
    if (!elves) return path + ": " + elves.error().message;
    const codeobj::BundleEntry* entry = codeobj::select_entry(*elves, "gfx1030");
    if (entry == nullptr) return path + ": no code for gfx1030";
    auto code = codeobj::CodeObject::parse(entry->bytes);
    if (!code) return path + ": " + code.error().message;
    code_ = *code;
    std::byte* block = allocate(code_->load_size_bytes(), RegionKind::kCode, "code");
    load_address_ = reinterpret_cast<uint64_t>(block);
    for (const auto& segment : code_->segments())
      std::memcpy(block + segment.address, code_->bytes().data() + segment.file_offset,
                  segment.file_bytes);
    for (const auto& relocation : code_->relocations()) {
      constexpr uint32_t kRelative64 = 13;
      if (relocation.type != kRelative64) return path + ": unexpected relocation";
      const uint64_t value = load_address_ + static_cast<uint64_t>(relocation.addend);
      std::memcpy(block + relocation.address, &value, sizeof(value));
    }
    auto added = engine_->add_code(load_address_, code_);
    return added ? "" : added.error().message;
  }

  // Zeroed, page-aligned; lives as long as the device.
  std::byte* allocate(uint64_t bytes, RegionKind kind = RegionKind::kDevice,
                      const std::string& name = "buffer") {
    constexpr uint64_t kPage = 4096;
    const uint64_t mapped = (bytes + kPage - 1) / kPage * kPage;
    storage_.emplace_back(new (std::align_val_t{kPage}) std::byte[mapped](), Deleter());
    std::byte* host = storage_.back().get();
    Region region;
    region.address = reinterpret_cast<uint64_t>(host);
    region.requested_bytes = bytes;
    region.mapped_bytes = mapped;
    region.host = host;
    region.kind = kind;
    region.name = name;
    static_cast<void>(memory_.add(region));
    return host;
  }
  template <typename T>
  T* array(size_t count, const std::string& name = "buffer") {
    return reinterpret_cast<T*>(allocate(count * sizeof(T), RegionKind::kDevice, name));
  }

  template <typename... Args>
  tl::expected<RunStatistics, Fault> launch(const std::string& kernel_name, const Shape& shape,
                                            Args... args) {
    const codeobj::Kernel* kernel = code_->find_kernel(kernel_name);
    if (kernel == nullptr) {
      Fault fault;
      fault.detail = "no kernel " + kernel_name;
      return tl::unexpected<Fault>(fault);
    }
    return engine_->run(dispatch(*kernel, shape, pack(*kernel, shape, args...)));
  }

  // A dispatch of `kernel` with this argument block (kernel->kernarg_size_bytes).
  Dispatch dispatch(const codeobj::Kernel& kernel, const Shape& shape,
                    const std::vector<std::byte>& kernarg) {
    if (kernarg_ == nullptr) {
      kernarg_ = allocate(4096, RegionKind::kKernarg, "kernarg");
      packet_ = allocate(64, RegionKind::kSystem, "packet");
      // amd_queue_t, as far as kernels read it: the aperture bases.
      queue_ = allocate(256, RegionKind::kSystem, "queue");
      const uint32_t apertures[2] = {Dispatch::kDefaultGroupApertureHi,
                                     Dispatch::kDefaultPrivateApertureHi};
      std::memcpy(queue_ + 64, apertures, sizeof(apertures));
    }
    std::memcpy(kernarg_, kernarg.data(), kernarg.size());
    Dispatch d;
    d.kernel_object = load_address_ + kernel.descriptor_address;
    d.grid_size = shape.grid;
    d.workgroup_size = shape.block;
    d.cooperative = d.set_grid_barrier = shape.cooperative;
    d.group_segment_bytes = kernel.descriptor.group_segment_bytes + shape.dynamic_lds;
    d.private_segment_bytes = kernel.descriptor.private_segment_bytes;
    // Newer compilers leave it to the runtime how deep a recursion may go; older ones ask for this
    // much.
    constexpr uint32_t kStackBytes = 16384;
    if (kernel.uses_dynamic_stack && d.private_segment_bytes < kStackBytes)
      d.private_segment_bytes += kStackBytes;
    d.kernarg_address = reinterpret_cast<uint64_t>(kernarg_);
    d.packet_address = reinterpret_cast<uint64_t>(packet_);
    d.queue_address = reinterpret_cast<uint64_t>(queue_);
    std::memcpy(packet_ + 4, shape.block.data(), 6);
    std::memcpy(packet_ + 12, shape.grid.data(), 12);
    return d;
  }

  template <typename... Args>
  std::vector<std::byte> pack(const codeobj::Kernel& kernel, const Shape& shape, Args... args) {
    std::vector<std::byte> bytes(std::max<size_t>(kernel.kernarg_size_bytes, 256));
    [[maybe_unused]] size_t index = 0;
    (put(bytes, kernel, index++, args), ...);
    for (const auto& argument : kernel.arguments) {
      const std::string& kind = argument.value_kind;
      const auto axis = static_cast<size_t>(kind.empty() ? 0 : kind.back() - 'x');
      uint64_t value = 0;
      if (kind.starts_with("hidden_block_count_"))
        value = shape.grid[axis] / std::max<uint32_t>(shape.block[axis], 1);  // it may be a bad one
      else if (kind.starts_with("hidden_group_size_"))
        value = shape.block[axis];
      else if (kind.starts_with("hidden_remainder_"))
        value = shape.grid[axis] % std::max<uint32_t>(shape.block[axis], 1);
      else if (kind == "hidden_grid_dims")
        value = 3;
      else
        continue;
      std::memcpy(bytes.data() + argument.offset_bytes, &value, argument.size_bytes);
    }
    return bytes;
  }
  const codeobj::CodeObject& code() const { return *code_; }
  uint64_t load_address() const { return load_address_; }

 private:
  struct Deleter {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{4096}); }
  };
  template <typename T>
  static void put(std::vector<std::byte>& bytes, const codeobj::Kernel& kernel, size_t index,
                  const T& value) {
    if (index < kernel.arguments.size() && kernel.arguments[index].size_bytes == sizeof(T))
      std::memcpy(bytes.data() + kernel.arguments[index].offset_bytes, &value, sizeof(T));
  }

  MemoryMap memory_;
  std::vector<std::unique_ptr<std::byte[], Deleter>> storage_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const codeobj::CodeObject> code_;
  uint64_t load_address_ = 0;
  std::byte* kernarg_ = nullptr;
  std::byte* packet_ = nullptr;
  std::byte* queue_ = nullptr;
};

}  // namespace gfxgraph::emulator::testing

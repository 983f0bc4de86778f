// A launch, as the program makes it and as it is kept. No types of HIP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace gfxgraph::accelerate {

struct ArgumentPlace {
  uint32_t offset_bytes = 0;
  uint32_t size_bytes = 0;
};
// How a kernel takes its arguments, without hidden ones. Lives until the process ends.
struct Layout {
  std::string kernel;
  std::vector<ArgumentPlace> places;
  uint32_t size_bytes = 0;
};

// By which of HIP's functions, and with which kind of arguments.
enum class Form : uint8_t {
  kStub,            // hipLaunchKernel
  kFunction,        // hipModuleLaunchKernel with kernelParams
  kFunctionPacked,  // ... with extra
  kItems,           // hipExtModuleLaunchKernel with kernelParams: grid in work items
  kItemsPacked,
};
constexpr bool is_packed(Form form) noexcept {
  return form == Form::kFunctionPacked || form == Form::kItemsPacked;
}
constexpr bool counts_items(Form form) noexcept {
  return form == Form::kItems || form == Form::kItemsPacked;
}

struct Shape {
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint64_t shared_bytes = 0;
  bool operator==(const Shape&) const = default;
};

// Valid during the call.
struct Launch {
  Form form = Form::kStub;
  const void* function = nullptr;
  Shape shape;
  void* stream = nullptr;
  void* const* params = nullptr;  // one pointer for each place of the layout
  std::span<const std::byte> packed;
};

// A launch that returned success, its arguments copied.
struct KeptLaunch {
  Form form = Form::kStub;
  const void* function = nullptr;
  Shape shape;
  void* stream = nullptr;
  const Layout* layout = nullptr;  // nullptr: packed
  uint32_t begin = 0;              // of its arguments in the bytes of its list
  uint32_t size_bytes = 0;
  uint64_t hash = 0;
};

// Launches one after another.
class Launches {
 public:
  size_t size() const noexcept { return kept_.size(); }
  bool empty() const noexcept { return kept_.empty(); }
  const KeptLaunch& operator[](size_t i) const noexcept { return kept_[i]; }
  std::span<const std::byte> arguments(size_t i) const noexcept {
    return std::span(bytes_).subspan(kept_[i].begin, kept_[i].size_bytes);
  }
  // Throws std::bad_alloc.
  void add(const Launch& launch, const Layout* layout);
  void clear() noexcept;
  Launches part(size_t from, size_t count) const;

  // The launch is the i-th one, argument for argument. Allocates nothing.
  bool same(size_t i, const Launch& launch) const noexcept;
  bool same(size_t i, const Launches& other, size_t j) const noexcept;

 private:
  std::vector<KeptLaunch> kept_;
  std::vector<std::byte> bytes_;
};

}  // namespace gfxgraph::accelerate

// A launch, a copy or a fill, as the program makes it and as it is kept. No types of HIP.
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
  uint32_t group_bytes = 0;  // static LDS
};

// By which of HIP's functions, and with which kind of arguments.
enum class Form : uint8_t {
  kStub,            // hipLaunchKernel
  kFunction,        // hipModuleLaunchKernel with kernelParams
  kFunctionPacked,  // ... with extra
  kItems,           // hipExtModuleLaunchKernel with kernelParams: grid in work items
  kItemsPacked,
  kCopy,  // by Launch::function: its packed arguments are a Copy
  kFill,  // ... a Fill
};
constexpr bool is_memory_work(Form form) noexcept {
  return form == Form::kCopy || form == Form::kFill;
}
constexpr bool is_packed(Form form) noexcept {
  return form == Form::kFunctionPacked || form == Form::kItemsPacked || is_memory_work(form);
}
constexpr bool counts_items(Form form) noexcept {
  return form == Form::kItems || form == Form::kItemsPacked;
}

struct Shape {
  uint32_t grid[3] = {};
  uint32_t block[3] = {};
  uint64_t shared_bytes = 0;  // LDS beside the static one
  bool operator==(const Shape&) const = default;
};

// Work on device memory alone. No padding: compared by their bytes.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t size_bytes = 0;
  uint64_t kind = 0;  // HIP's
};
struct Fill {
  void* to = nullptr;
  uint64_t count = 0;  // of elements
  uint32_t value = 0;
  uint32_t element_bytes = 1;
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
  bool changes = false;  // its arguments and LDS may be others each time
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

  // A Copy or a Fill.
  template <typename Kind>
  Kind packed(size_t i) const noexcept {
    Kind kind;
    std::memcpy(&kind, arguments(i).data(), sizeof(kind));
    return kind;
  }

  // The launch is the i-th one, argument for argument. Allocates nothing.
  bool same(size_t i, const Launch& launch) const noexcept;
  bool same(size_t i, const Launches& other, size_t j) const noexcept;
  // The same but for the values of its arguments and an amount of LDS that each device has.
  bool alike(size_t i, const Launch& launch) const noexcept;
  bool alike(size_t i, const Launches& other, size_t j) const noexcept;

  // Arguments and LDS of the i-th launch may be others each time, as long as it is alike.
  void let_change(size_t i) noexcept { kept_[i].changes = true; }
  size_t changing() const noexcept;
  // As same(), or alike() where that is allowed.
  bool goes_on(size_t i, const Launch& launch) const noexcept {
    return kept_[i].changes ? alike(i, launch) : same(i, launch);
  }
  bool covers(size_t i, const Launches& other, size_t j) const noexcept {
    return kept_[i].changes ? alike(i, other, j) : !other[j].changes && same(i, other, j);
  }
  // Values of a launch that is alike. Allocate nothing; `other` is a copy of this list.
  void set(size_t i, const Launch& launch) noexcept;
  void set(size_t i, const Launches& other) noexcept;
  bool same_values(size_t i, const Launches& other) const noexcept;

 private:
  std::vector<KeptLaunch> kept_;
  std::vector<std::byte> bytes_;
};

}  // namespace gfxgraph::accelerate

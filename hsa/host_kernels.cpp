#include "hsa/host_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "base/checked.h"
#include "hsa/device.h"
#include "hsa/memory.h"

namespace gfxgraph::hsa {
namespace {

// The arguments of a dispatch, by their number.
class Arguments {
 public:
  Arguments(const codeobj::Kernel& kernel, const emulator::Dispatch& dispatch)
      : memory_(reinterpret_cast<const std::byte*>(dispatch.kernarg_address)) {
    for (const codeobj::Argument& argument : kernel.arguments)
      if (!argument.hidden()) arguments_.push_back(&argument);
  }
  size_t count() const { return arguments_.size(); }

  // Of up to 8 bytes; bytes that it lacks are 0.
  uint64_t number(size_t index) const { return read<uint64_t>(index, 0); }
  std::byte* pointer(size_t index) const {
    return reinterpret_cast<std::byte*>(number(index) & ~kLockedBit);
  }
  // `at`: bytes into an argument that is passed by value.
  template <typename T>
  T read(size_t index, uint32_t at) const {
    const codeobj::Argument& argument = *arguments_[index];
    T value{};
    const uint32_t has = argument.size_bytes > at ? argument.size_bytes - at : 0;
    std::memcpy(&value, memory_ + argument.offset_bytes + at, std::min<size_t>(sizeof(T), has));
    return value;
  }

 private:
  const std::byte* memory_;
  std::vector<const codeobj::Argument*> arguments_;
};

tl::unexpected<Error> out_of_memory_range(const char* what, const std::byte* begin,
                                          uint64_t bytes) {
  return fail(
      Status::kInvalidArgument,
      fmt::format(
          "memory access fault: {} of {} bytes at {}, which is not all memory of the device", what,
          bytes, static_cast<const void*>(begin)));
}

Result<void> check_readable(const std::byte* begin, uint64_t bytes) {
  if (bytes == 0 || device_range_is_allowed(begin, bytes)) return {};
  return out_of_memory_range("read", begin, bytes);
}

Result<void> check_writable(const std::byte* begin, uint64_t bytes) {
  if (bytes == 0 || (device_range_is_allowed(begin, bytes) && !is_code(begin, bytes))) return {};
  return out_of_memory_range("write", begin, bytes);
}

// Rows of a box: the place of row y of slice z is y * pitch + z * slice. All in bytes.
struct Rows {
  uint64_t width = 0, height = 1, depth = 1, pitch = 0, slice = 0;

  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  // Calls body(offset) for each row.
  template <typename Body>
  Result<void> each(const Body& body) const {
    for (uint64_t z = 0; z < depth && !empty(); ++z)
      for (uint64_t y = 0; y < height; ++y) GFXGRAPH_TRY(body(y, z));
    return {};
  }
};

Result<void> copy_rows(std::byte* to, const std::byte* from, const Rows& to_rows,
                       uint64_t from_pitch, uint64_t from_slice) {
  return to_rows.each([&](uint64_t y, uint64_t z) -> Result<void> {
    std::byte* const out = to + y * to_rows.pitch + z * to_rows.slice;
    const std::byte* const in = from + y * from_pitch + z * from_slice;
    GFXGRAPH_TRY(check_readable(in, to_rows.width));
    GFXGRAPH_TRY(check_writable(out, to_rows.width));
    std::memmove(out, in, to_rows.width);
    return {};
  });
}

// The pattern begins anew in each row.
Result<void> fill_rows(std::byte* to, const Rows& rows, std::span<const std::byte> pattern) {
  return rows.each([&](uint64_t y, uint64_t z) -> Result<void> {
    std::byte* const out = to + y * rows.pitch + z * rows.slice;
    GFXGRAPH_TRY(check_writable(out, rows.width));
    for (uint64_t done = 0; done < rows.width; done += pattern.size())
      std::memcpy(out + done, pattern.data(),
                  std::min<uint64_t>(pattern.size(), rows.width - done));
    return {};
  });
}

constexpr uint64_t kMostPatternBytes = 1 << 16;

// A copy, because the fill may write it.
Result<std::vector<std::byte>> pattern_at(const std::byte* memory, uint64_t bytes) {
  if (bytes == 0 || bytes > kMostPatternBytes)
    return fail(Status::kUnsupported, fmt::format("a fill with a pattern of {} bytes", bytes));
  GFXGRAPH_TRY(check_readable(memory, bytes));
  return std::vector<std::byte>(memory, memory + bytes);
}

Result<uint64_t> product(uint64_t a, uint64_t b) {
  if (const auto result = checked_mul<uint64_t>(a, b)) return *result;
  return fail(Status::kInvalidArgument,
              fmt::format("{} times {} bytes are more than there can be", a, b));
}

// The first four arguments are the buffer as bytes, words of 2, of 4 and of 8: one is not null.
struct Elements {
  std::byte* memory = nullptr;
  uint64_t bytes = 1;
};
Elements elements_of(const Arguments& arguments) {
  for (size_t i = 4; i-- != 0;)
    if (arguments.number(i) != 0) return {arguments.pointer(i), uint64_t{1} << i};
  return {};
}

// buffers, pattern, elements of the pattern, first element, patterns
Result<void> fill_elements(const Arguments& arguments) {
  const Elements elements = elements_of(arguments);
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t bytes, product(arguments.number(5), elements.bytes));
  GFXGRAPH_ASSIGN_OR_RETURN(const auto pattern, pattern_at(arguments.pointer(4), bytes));
  Rows rows;
  GFXGRAPH_ASSIGN_OR_RETURN(rows.width, product(arguments.number(7), bytes));
  return fill_rows(elements.memory + arguments.number(6) * elements.bytes, rows, pattern);
}

// buffers, pattern, elements of the pattern, first element, width, height, pitch: in elements
Result<void> fill_elements_2d(const Arguments& arguments) {
  const Elements elements = elements_of(arguments);
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t bytes, product(arguments.number(5), elements.bytes));
  GFXGRAPH_ASSIGN_OR_RETURN(const auto pattern, pattern_at(arguments.pointer(4), bytes));
  if (bytes != elements.bytes)
    return fail(Status::kUnsupported, "a fill of rows with a pattern of several elements");
  Rows rows;
  GFXGRAPH_ASSIGN_OR_RETURN(rows.width, product(arguments.number(7), bytes));
  rows.height = arguments.number(8);
  rows.pitch = arguments.number(9) * bytes;
  return fill_rows(elements.memory + arguments.number(6) * elements.bytes, rows, pattern);
}

// buffer, pattern, elements of the pattern, bytes of an element, end, ...
Result<void> fill_until(const Arguments& arguments) {
  std::byte* const begin = arguments.pointer(0);
  std::byte* const end = arguments.pointer(4);
  const uint64_t alignment = arguments.number(3);
  const bool wide = alignment == 2 || alignment == 4 || alignment == 8 || alignment == 16;
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t bytes,
                            product(arguments.number(2), wide ? alignment : 1));
  GFXGRAPH_ASSIGN_OR_RETURN(const auto pattern, pattern_at(arguments.pointer(1), bytes));
  if (end <= begin) return {};
  Rows rows;  // whole patterns
  rows.width = (static_cast<uint64_t>(end - begin) + bytes - 1) / bytes * bytes;
  return fill_rows(begin, rows, pattern);
}

// from, to, both origins, elements, bytes of the last one: 8 if elements are bytes, else they are
// words
Result<void> copy_words(const Arguments& arguments) {
  const uint64_t remain = arguments.number(5);
  const uint64_t size = arguments.number(4);
  if (size == 0) return {};
  Rows rows;
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t words, product(size - 1, 4));
  rows.width = remain == 8 ? size : words + remain;
  return copy_rows(arguments.pointer(1) + arguments.number(3),
                   arguments.pointer(0) + arguments.number(2), rows, 0, 0);
}

// from, to, bytes, ...
Result<void> copy_bytes(const Arguments& arguments) {
  Rows rows;
  rows.width = arguments.number(2);
  return copy_rows(arguments.pointer(1), arguments.pointer(0), rows, 0, 0);
}

// from, to, both origins, elements, bytes of an element
Result<void> copy_aligned(const Arguments& arguments) {
  const uint64_t bytes = arguments.number(5) == 16 ? 16 : 4;
  Rows rows;
  GFXGRAPH_ASSIGN_OR_RETURN(rows.width, product(arguments.number(4), bytes));
  return copy_rows(arguments.pointer(1) + arguments.number(3) * bytes,
                   arguments.pointer(0) + arguments.number(2) * bytes, rows, 0, 0);
}

// from, to, {pitch, slice, origin} of both, {width, height, depth}: in elements of `bytes`
Result<void> copy_box(const Arguments& arguments, uint64_t bytes) {
  const auto word = [&](size_t argument, uint32_t place) {
    return arguments.read<uint64_t>(argument, place * 8) * bytes;
  };
  Rows rows;
  GFXGRAPH_ASSIGN_OR_RETURN(rows.width, product(arguments.read<uint64_t>(4, 0), bytes));
  rows.height = arguments.read<uint64_t>(4, 8);
  rows.depth = arguments.read<uint64_t>(4, 16);
  rows.pitch = word(3, 0);
  rows.slice = word(3, 1);
  return copy_rows(arguments.pointer(1) + word(3, 2), arguments.pointer(0) + word(2, 2), rows,
                   word(2, 0), word(2, 1));
}
Result<void> copy_box_bytes(const Arguments& arguments) { return copy_box(arguments, 1); }
Result<void> copy_box_words(const Arguments& arguments) {
  return copy_box(arguments, arguments.read<uint64_t>(4, 24) == 16 ? 16 : 4);
}

template <typename T>
Result<std::atomic_ref<T>> word_at(std::byte* place) {
  GFXGRAPH_TRY(check_writable(place, sizeof(T)));
  if (reinterpret_cast<uint64_t>(place) % sizeof(T) != 0)
    return fail(Status::kInvalidArgument,
                fmt::format("misaligned atomic at {}", static_cast<void*>(place)));
  return std::atomic_ref<T>(*reinterpret_cast<T*>(place));
}

Result<void> store(std::byte* place, uint64_t value) {
  GFXGRAPH_ASSIGN_OR_RETURN(const auto word, word_at<uint64_t>(place));
  word.store(value, std::memory_order_seq_cst);
  return {};
}

// word of 4 bytes or null, word of 8 bytes or null, value
Result<void> write_value(const Arguments& arguments) {
  if (arguments.number(0) == 0) return store(arguments.pointer(1), arguments.number(2));
  GFXGRAPH_ASSIGN_OR_RETURN(const auto word, word_at<uint32_t>(arguments.pointer(0)));
  word.store(static_cast<uint32_t>(arguments.number(2)), std::memory_order_seq_cst);
  return {};
}

// Until `holds` does, or the process ends. Whoever changes the value need not tell.
template <typename Holds>
void poll(const Holds& holds) {
  while (!holds() && !Device::stopping())
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

bool condition_holds(uint64_t now, uint64_t value, uint64_t condition, bool is_32) {
  switch (condition) {
    case 0:
      return is_32 ? static_cast<int32_t>(now - value) >= 0
                   : static_cast<int64_t>(now - value) >= 0;
    case 1: return now == value;
    case 2: return (now & value) != 0;
    default: return (now | value) != (is_32 ? UINT32_MAX : UINT64_MAX);
  }
}

// word of 4 bytes or null, word of 8 bytes or null, value, condition, mask
Result<void> wait_value(const Arguments& arguments) {
  const bool is_32 = arguments.number(0) != 0;
  std::byte* const place = arguments.pointer(is_32 ? 0 : 1);
  const auto wait = [&]<typename T>(std::atomic_ref<T> word) {
    poll([&] {
      return condition_holds(word.load() & static_cast<T>(arguments.number(4)),
                             static_cast<T>(arguments.number(2)), arguments.number(3), is_32);
    });
  };
  if (is_32) {
    GFXGRAPH_ASSIGN_OR_RETURN(const auto word, word_at<uint32_t>(place));
    wait(word);
  } else {
    GFXGRAPH_ASSIGN_OR_RETURN(const auto word, word_at<uint64_t>(place));
    wait(word);
  }
  return {};
}

// Prepares what only kernels use.
Result<void> nothing(const Arguments&) { return {}; }

// ---- the replay library's -----------------------------------------------------------------------

Result<void> own_trial(const Arguments& arguments) {
  GFXGRAPH_ASSIGN_OR_RETURN(const auto word, word_at<uint32_t>(arguments.pointer(0)));
  word.store(static_cast<uint32_t>(arguments.number(1)));
  return {};
}
Result<void> own_store(const Arguments& arguments) {
  return store(arguments.pointer(0), arguments.number(1));
}
Result<void> own_wait(const Arguments& arguments) {
  GFXGRAPH_ASSIGN_OR_RETURN(const auto word, word_at<uint64_t>(arguments.pointer(0)));
  poll([&] { return static_cast<int64_t>(word.load() - arguments.number(1)) >= 0; });
  return {};
}

Rows own_box(const Arguments& arguments, size_t index) {
  const auto word = [&](uint32_t place) { return arguments.read<uint64_t>(index, place * 8); };
  return {word(0), word(1), word(2), word(3), word(4)};
}
Result<void> own_copy(const Arguments& arguments) {
  return copy_rows(arguments.pointer(0), arguments.pointer(1), own_box(arguments, 4),
                   arguments.number(2), arguments.number(3));
}
Result<void> own_fill(const Arguments& arguments) {
  const auto pattern = static_cast<uint32_t>(arguments.number(1));
  return fill_rows(arguments.pointer(0), own_box(arguments, 2),
                   std::as_bytes(std::span(&pattern, 1)));
}

struct HostKernel {
  std::string_view name;
  size_t arguments;
  Result<void> (*run)(const Arguments&);
};

// Versions of one kernel differ in the number of arguments.
constexpr HostKernel kKernels[] = {
    {"__amd_rocclr_fillBufferAligned", 8, fill_elements},  // HIP 5
    {"__amd_rocclr_fillBufferAligned", 6, fill_until},     // 6.4
    {"__amd_rocclr_fillBufferAligned", 7, fill_until},     // 7.2
    {"__amd_rocclr_fillBufferAligned2D", 10, fill_elements_2d},
    {"__amd_rocclr_copyBuffer", 6, copy_words},  // HIP 5
    {"__amd_rocclr_copyBuffer", 7, copy_bytes},  // 6.4
    {"__amd_rocclr_copyBuffer", 8, copy_bytes},  // 7.2
    {"__amd_rocclr_copyBufferAligned", 6, copy_aligned},
    {"__amd_rocclr_copyBufferRect", 5, copy_box_bytes},
    {"__amd_rocclr_copyBufferRectAligned", 5, copy_box_words},
    {"__amd_rocclr_streamOpsWrite", 4, write_value},  // HIP 5
    {"__amd_rocclr_streamOpsWrite", 3, write_value},
    {"__amd_rocclr_streamOpsWait", 5, wait_value},
    {"__amd_rocclr_initHeap", 4, nothing},
    {"__amd_rocclr_gwsInit", 1, nothing},
    {"gfxgraph_trial", 2, own_trial},
    {"gfxgraph_store", 2, own_store},
    {"gfxgraph_wait", 2, own_wait},
    {"gfxgraph_copy", 5, own_copy},
    {"gfxgraph_fill", 3, own_fill},
};

}  // namespace

Result<void> run_on_host(const codeobj::Kernel& kernel, const emulator::Dispatch& dispatch) {
  const std::string_view name = kernel.name;
  const bool of_runtime = name.starts_with("__amd_rocclr_");
  if (!of_runtime && !name.starts_with("gfxgraph_")) return {};
  const Arguments arguments(kernel, dispatch);
  for (const HostKernel& known : kKernels) {
    if (known.name != name || known.arguments != arguments.count()) continue;
    const auto* const kernarg = reinterpret_cast<const std::byte*>(dispatch.kernarg_address);
    GFXGRAPH_TRY(check_readable(kernarg, kernel.explicit_size_bytes()));
    Result<void> done = known.run(arguments);
    if (!done) return with_context(std::move(done).error(), std::string(name));
    return done;
  }
  if (!of_runtime) return {};
  return fail(
      Status::kUnsupported,
      fmt::format("HIP's own kernel {} with {} arguments: the null device executes nothing, "
                  "and the host cannot do this one's work",
                  name, arguments.count()));
}

}  // namespace gfxgraph::hsa

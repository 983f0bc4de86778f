#include "capture/hooks_internal.h"
#include "capture/runtime.h"
#include "capture/turns.h"

#include <pthread.h>

#include <cstddef>
#include <new>
#include <utility>

#include "base/hip_quirks.h"

namespace gfxgraph::capture {

constinit std::atomic<Captures*> made_captures{nullptr};
constinit thread_local int inside = 0;
constinit bool is_child_of_fork = false;

namespace {

constinit thread_local hipError_t last_error = hipSuccess;

constexpr uintptr_t kPerThread = 2;  // hipStreamPerThread

// Its address is the key of this thread's own stream.
constinit thread_local char per_thread = 0;

// A thread's own stream ends with the thread. The next thread's may have the same key, and its work
// must not become a part of a capture that nobody can end.
struct EndOfThread {
  ~EndOfThread() {
    if (!is_child_of_fork) (void)captures().destroyed(&per_thread);
  }
};

// Asked of each stream that becomes a part of a capture.
bool is_blocking(Stream stream) {
  if (stream == &per_thread) {
    static thread_local const EndOfThread at_end;
    (void)at_end;
    return true;
  }
  if (stream == nullptr) return false;
  unsigned int flags = 0;
  const hipError_t result =
      runtime::get_flags(static_cast<hipStream_t>(const_cast<void*>(stream)), &flags);
  return result != hipSuccess || (flags & hipStreamNonBlocking) == 0;
}

}  // namespace

void watch_forks() noexcept {
  // Captures are the parent's; from here on every call that is none of captures' own passes.
  static const int watched = pthread_atfork(nullptr, nullptr, [] {
    is_child_of_fork = true;
    made_captures.store(nullptr);
    ++inside;
  });
  (void)watched;
}

Captures& make_captures() noexcept {
  watch_forks();
  alignas(Captures) static std::byte storage[sizeof(Captures)];
  static Captures* const made = new (storage) Captures(is_blocking);
  made_captures.store(made, std::memory_order_release);
  return *made;
}

Stream key_of(hipStream_t stream) noexcept {
  const auto value = reinterpret_cast<uintptr_t>(stream);
  if (value < kPerThread) return nullptr;
  return value == kPerThread ? &per_thread : static_cast<Stream>(stream);
}

Stream per_thread_key_of(hipStream_t stream) noexcept {
  return stream == nullptr ? &per_thread : key_of(stream);
}

uint64_t this_thread() noexcept {
  static std::atomic<uint64_t> next{0};
  static thread_local const uint64_t number = ++next;
  return number;
}

int runtime_version() {
  static std::atomic<int> known{-1};
  int version = known.load(std::memory_order_relaxed);
  if (version >= 0) return version;
  if (runtime::get_version(&version) != hipSuccess) version = 0;
  known.store(version, std::memory_order_relaxed);
  return version;
}

hipError_t answered(int index, hipError_t error, const char* why) {
  if (error == hipSuccess) return error;
  last_error = error;
  tell(index, error, why);
  return error;
}

hipError_t answered(int index, Answer answer, const char* why) {
  return answered(index, static_cast<hipError_t>(answer), why);
}

// ---- nodes --------------------------------------------------------------------------------------

namespace {

// With more rows than this a memset that needs a node for each is refused.
constexpr size_t kMostRowNodes = 256;

}  // namespace

hipError_t Builder::kernel(void* function, dim3 grid, dim3 block, unsigned shared_bytes,
                           void** params, void** extra) {
  hipKernelNodeParams node = {};
  node.func = function;
  node.gridDim = grid;
  node.blockDim = block;
  node.sharedMemBytes = shared_bytes;
  node.kernelParams = params;
  node.extra = extra;
  const Turn turn;
  return add([&](auto... to) { return runtime::add_kernel(to..., &node); });
}

hipError_t Builder::copy(void* destination, const void* source, size_t bytes, hipMemcpyKind kind) {
  if (bytes == 0) return hipSuccess;
  return add(
      [&](auto... to) { return runtime::add_copy_1d(to..., destination, source, bytes, kind); });
}

hipError_t Builder::copy(const hipMemcpy3DParms& params) {
  return add([&](auto... to) { return runtime::add_copy(to..., &params); });
}

hipError_t Builder::set(void* destination, unsigned value, unsigned element_bytes, size_t width,
                        size_t rows, size_t pitch) {
  if (width == 0 || rows == 0) return hipSuccess;
  hipMemsetParams node = {};
  node.dst = destination;
  node.value = value;
  node.elementSize = element_bytes;
  node.width = width;
  node.height = rows;
  node.pitch = rows == 1 ? width * element_bytes : pitch;
  const int version = runtime_version();
  const bool by_rows =
      rows > 1 &&
      (hip_quirk_avoided(HipQuirk::kPitchedMemsetNodeWritesElementSize, version) ||
       (element_bytes > 1 && hip_quirk_avoided(HipQuirk::kPitchedMemsetNodeTooWide, version)));
  if (!by_rows) return add([&](auto... to) { return runtime::add_set(to..., &node); });
  if (rows > kMostRowNodes)
    return refuse("this runtime's memset nodes have one row, and there are more than 256");
  node.height = 1;
  node.pitch = width * element_bytes;
  hipError_t result = hipSuccess;
  for (size_t row = 0; row < rows && result == hipSuccess; ++row) {
    node.dst = static_cast<char*>(destination) + row * pitch;
    chain();
    result = add([&](auto... to) { return runtime::add_set(to..., &node); });
  }
  return result;
}

}  // namespace gfxgraph::capture

using namespace gfxgraph::capture;

// ---- the last error -----------------------------------------------------------------------------

GFXGRAPH_CAPTURE_HOOK hipError_t hipGetLastError() {
  const hipError_t runtimes = real(kCall_hipGetLastError);
  const hipError_t own = std::exchange(last_error, hipSuccess);
  return own != hipSuccess ? own : runtimes;
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipPeekAtLastError() {
  return last_error != hipSuccess ? last_error : real(kCall_hipPeekAtLastError);
}

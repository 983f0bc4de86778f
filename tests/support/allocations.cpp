#include "tests/support/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

using gfxgraph::testing::Failing;
using gfxgraph::testing::OfThreads;

thread_local bool counting_here = false;
thread_local bool failing_here = false;
thread_local bool paused_here = false;
std::atomic<bool> counting_all{false};
std::atomic<bool> failing_all{false};
std::atomic<size_t> counted{0};
std::atomic<int64_t> remaining{0};  // until one fails; 0 or less: that was reached
std::atomic<Failing> failing{Failing::kOnce};

bool fails_now() {
  if (paused_here) return false;
  if (!failing_here && !failing_all.load(std::memory_order_relaxed)) return false;
  const int64_t before = remaining.fetch_sub(1);
  return before == 1 || (before < 1 && failing.load() == Failing::kFromThenOn);
}

void* allocate(size_t size, size_t alignment) {
  if (counting_here || counting_all.load(std::memory_order_relaxed)) ++counted;
  if (fails_now()) throw std::bad_alloc();
  if (size == 0) size = 1;
  void* const at =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}
// Not inlined: the compiler would see operator new's memory end in std::free and warn.
[[gnu::noinline]] void release(void* at) { std::free(at); }

}  // namespace

// All forms: one of a sanitizer would give memory that the delete below must not free.
void* operator new(size_t size) { return allocate(size, 1); }
void* operator new[](size_t size) { return allocate(size, 1); }
void* operator new(size_t size, std::align_val_t align) {
  return allocate(size, static_cast<size_t>(align));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t size, const std::nothrow_t& tag) noexcept {
  return ::operator new(size, tag);
}
void operator delete(void* at) noexcept { release(at); }
void operator delete[](void* at) noexcept { release(at); }
void operator delete(void* at, size_t) noexcept { release(at); }
void operator delete[](void* at, size_t) noexcept { release(at); }
void operator delete(void* at, std::align_val_t) noexcept { release(at); }
void operator delete(void* at, size_t, std::align_val_t) noexcept { release(at); }
void operator delete(void* at, const std::nothrow_t&) noexcept { release(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { release(at); }

namespace gfxgraph::testing {

void start_counting_allocations(OfThreads threads) noexcept {
  counted = 0;
  counting_here = threads == OfThreads::kThis;
  counting_all = threads == OfThreads::kAll;
}
size_t stop_counting_allocations() noexcept {
  counting_here = false;
  counting_all = false;
  return counted;
}
void fail_allocation(int64_t n, OfThreads threads, Failing how) noexcept {
  remaining = n;
  failing = how;
  failing_here = threads == OfThreads::kThis;
  failing_all = threads == OfThreads::kAll;
}
void pause_failing_allocations(bool paused) noexcept { paused_here = paused; }
bool stop_failing_allocations() noexcept {
  failing_here = false;
  failing_all = false;
  return remaining <= 0;
}

}  // namespace gfxgraph::testing

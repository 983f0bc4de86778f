#include "tests/recorder/failing_allocator.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

thread_local bool counting = false;
thread_local size_t counted = 0;
std::atomic<int64_t> remaining{-1};  // 0: reached, negative: none is to fail

}  // namespace

void* operator new(size_t size) {
  if (counting) ++counted;
  if (remaining.load(std::memory_order_relaxed) > 0 && remaining.fetch_sub(1) == 1) {
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
// The library's own would be a sanitizer's, whose memory the delete below must not free.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

// LLVM is built without exceptions: what it holds when an allocation fails stays allocated.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:llvm::\n"; }

namespace gfxgraph::recorder {

void start_counting_allocations() noexcept {
  counted = 0;
  counting = true;
}
size_t stop_counting_allocations() noexcept {
  counting = false;
  return counted;
}
void fail_allocation(int64_t n) noexcept { remaining = n; }
bool allocation_failed() noexcept { return remaining.exchange(-1) <= 0; }

}  // namespace gfxgraph::recorder

#include "allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<bool> counting = false;
std::atomic<size_t> allocations = 0;
}  // namespace

void* operator new(size_t size) {
  if (counting) ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace gfxgraph::replayer::testing {

void start_counting_allocations() noexcept {
  allocations = 0;
  counting = true;
}

size_t stop_counting_allocations() noexcept {
  counting = false;
  return allocations;
}

}  // namespace gfxgraph::replayer::testing

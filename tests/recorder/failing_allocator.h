// operator new of this program: counted for one thread, and made to fail.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfxgraph::recorder {

void start_counting_allocations() noexcept;  // of the calling thread
size_t stop_counting_allocations() noexcept;

// The n-th allocation from now on, of any thread, throws std::bad_alloc.
void fail_allocation(int64_t n) noexcept;
// Ends that; whether it was reached.
bool allocation_failed() noexcept;

}  // namespace gfxgraph::recorder

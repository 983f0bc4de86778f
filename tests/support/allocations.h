// operator new of a test program: counted, and made to fail. Link tests/support/allocations.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gfxgraph::testing {

enum class OfThreads : uint8_t { kThis, kAll };

void start_counting_allocations(OfThreads threads) noexcept;
// How many there were since the start, which was on the same thread.
size_t stop_counting_allocations() noexcept;

enum class Failing : uint8_t { kOnce, kFromThenOn };
// The n-th allocation from now on, from 1, throws std::bad_alloc.
void fail_allocation(int64_t n, OfThreads threads, Failing failing = Failing::kOnce) noexcept;
// Not while this thread is in code that stands for somebody else's; they neither fail nor count
// towards n.
void pause_failing_allocations(bool paused) noexcept;
// Ends that, on the same thread; whether it was reached.
bool stop_failing_allocations() noexcept;

}  // namespace gfxgraph::testing

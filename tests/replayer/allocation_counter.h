// Counts operator new in this program: the proof that a path allocates nothing.
#pragma once

#include <cstddef>

namespace gfxgraph::replayer::testing {

void start_counting_allocations() noexcept;
// How many there were since the start.
size_t stop_counting_allocations() noexcept;

}  // namespace gfxgraph::replayer::testing

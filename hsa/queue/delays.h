// Random pauses before packets and copies, for tests: queues and copies pass each other in ways
// that an idle machine never shows.
#pragma once

namespace gfxgraph::hsa {

// Whether $GFXGRAPH_DELAYS is set: the longest pause, in microseconds. Read once.
bool delays();
// Sleeps for a random time, often not at all, if delays().
void delay() noexcept;

}  // namespace gfxgraph::hsa

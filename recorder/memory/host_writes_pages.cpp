// Host-visible memory whose pages are watched: what nobody wrote is not compared. See page_watch.h.
#include <algorithm>

#include "recorder/memory/host_writes.h"

namespace gfxgraph::recorder {
namespace {

// Comparing less memory takes less time than a look at its pages.
constexpr uint64_t kLeastWatchedBytes = 16u << 10;

static_assert(PageWatch::kPageBytes == kHostBlockBytes);

}  // namespace

bool HostWrites::begin_watch(Allocation& allocation) {
  if (allocation.pages_unwatched || allocation.size_bytes < kLeastWatchedBytes ||
      !allocation.reachable || allocation.plain_host || allocation.blocks.count() == 0) {
    return false;
  }
  // The page tables do not show what a GPU writes.
  if (!facts_.runs_in_process || allocation.host_address % kHostBlockBytes != 0) {
    allocation.pages_unwatched = true;
    return false;
  }
  if (!std::exchange(pages_asked_for_, true)) pages_ = PageWatch::open();
  auto pages =
      pages_ ? pages_->watch(allocation.host_address, allocation.blocks.count() * kHostBlockBytes)
             : nullptr;
  allocation.pages_unwatched = pages == nullptr;
  if (pages) allocation.blocks.watch(std::move(pages));
  return !allocation.pages_unwatched;
}

bool HostWrites::look(Allocation& allocation) {
  BlockStates& states = allocation.blocks;
  if (!states.watched() && !begin_watch(allocation)) return false;
  WatchedPages& pages = *states.pages();
  if (glance_ != 0 && pages.looked == glance_) return true;
  if (!pages_ || !pages_->look(pages, written_)) {
    allocation.pages_unwatched = true;
    states.unwatch();
    return false;
  }
  for (const PageRun& run : written_) states.unsettle(run.begin, run.end);
  pages.looked = glance_;
  return true;
}

// The block has changed, although its page was not written.
void HostWrites::note_unseen_write(Allocation& allocation, uint64_t block) {
  // It may have been written just now.
  glance_ = 0;
  if (!look(allocation) || !allocation.blocks.settled(block)) return;
  finding(format::FindingKind::kIncomplete, "host memory",
          "it was written past the page tables of the process (by another process, or by a device "
          "that the recorder does not know); which launches read those bytes is unknown");
  pages_.reset();
}

}  // namespace gfxgraph::recorder

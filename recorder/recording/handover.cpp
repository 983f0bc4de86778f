#include "recorder/recording/handover.h"

namespace gfxgraph::recorder {

void Handover::drain(bool all) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard order(mutex_);
    drain_in_order(all, [this] { return lock_soon(guard_.mutex()); });
  });
}

void Handover::drain_if_full() noexcept {
  if (journal_.queue().full()) drain();
}

void Handover::drain_at_wait() noexcept {
  journal_.flusher().at_wait([this] { drain(); });
}

void Handover::drain_last() {
  deferrals_.resolve(true);
  journal_.write_taken();
  journal_.queue().take();
  journal_.write_taken();
}

}  // namespace gfxgraph::recorder

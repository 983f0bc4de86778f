#include "emulator/memory/access_watch.h"

namespace gfxgraph::emulator {
namespace {

constexpr uint64_t kLongestSpan = 4096;

thread_local AccessWatch* current_watch = nullptr;

// Other threads may write the byte.
std::byte load_byte(const std::byte* p) {
  return static_cast<std::byte>(
      __atomic_load_n(reinterpret_cast<const unsigned char*>(p), __ATOMIC_RELAXED));
}

}  // namespace

AccessWatch::AccessWatch() : outer_(current_watch) { current_watch = this; }
AccessWatch::~AccessWatch() { current_watch = outer_; }

AccessWatch* AccessWatch::current() noexcept { return current_watch; }

void AccessWatch::note_change() noexcept {
  if (current_watch != nullptr) current_watch->noted_ = true;
}

bool AccessWatch::access(const Region& region, uint64_t address, uint64_t bytes, bool write) {
  if (write && bytes > kLongestSpan) return false;
  if (address_ == 0) address_ = address;
  host_memory_ =
      host_memory_ || region.kind == RegionKind::kHost || region.kind == RegionKind::kSystem;
  if (!write) return true;
  const std::byte* const host = region.host + (address - region.address);
  written_.push_back({host, old_.size(), static_cast<size_t>(bytes)});
  for (uint64_t n = 0; n < bytes; ++n) old_.push_back(load_byte(host + n));
  return true;
}

void AccessWatch::begin_instruction() {
  noted_ = false;
  address_ = 0;
  written_.clear();
  old_.clear();
}

bool AccessWatch::changed() const {
  if (noted_) return true;
  for (const Written& w : written_)
    for (size_t n = 0; n < w.bytes; ++n)
      if (load_byte(w.host + n) != old_[w.begin + n]) return true;
  return false;
}

}  // namespace gfxgraph::emulator

// The bodies of Recorder's templates: for recorder_*.cpp.
#pragma once

#include <algorithm>
#include <utility>

#include "recorder/contents/host_memory.h"
#include "recorder/recorder.h"

namespace gfxgraph::recorder {

// How long the program is made to wait for the device, at most, before the recorder gives up
// knowing what a buffer holds. A kernel may legally wait for the host for ever.
inline constexpr uint32_t kSettleTimeoutMs = 5'000;

// Contents of up to this many bytes are read and written at once.
inline constexpr size_t kSmallBytes = 64u << 10;

// recorder_marks.cpp: as much of it as may stand in a trace, cut where a character of UTF-8 begins.
std::string cut_name(const char* text);

// recorder_work.cpp: bytes from the first to the last one that the copy touches at one end.
uint64_t copy_extent(const RawCopy& raw, const RawCopyEnd& end);
// What they write.
Flight flight_of(const format::Copy& copy);
Flight flight_of(const format::Memset& set);

// recorder_memory.cpp: memory that the host sees, and one hash per kHostBlockBytes of it.
std::span<const std::byte> visible_bytes(const Allocation& allocation);
std::vector<uint64_t> block_hashes(const Allocation& allocation);

// recorder_flights.cpp: a block of memory that the host sees. Nothing: it cannot be read.
std::optional<std::vector<std::byte>> host_block(const Allocation& allocation, uint64_t block);

// recorder_flights.cpp: which bytes of a block at `base` differ from `saved`, but for those that
// copies among `flights` write; of words that no copy still writes, all. As many of both.
std::vector<bool> changed_beside_copies(std::span<const std::byte> now,
                                        std::span<const std::byte> saved, uint64_t base,
                                        std::span<const Flight> flights);

// recorder_effects.cpp: the node and those that it follows.
std::vector<bool> nodes_before(const std::vector<format::GraphNode>& nodes, size_t node);

// A pointer of which a copy in flight writes a part is written as a whole, if it leads to memory
// that the trace knows: half of it would stay as recorded where a replay has other addresses.
void take_whole_pointers(std::span<const std::byte> now, const WordResolver& words,
                         std::vector<bool>& written);

// What launches have to look at, after anything may have changed it.
inline void Recorder::update_ways() noexcept {
  const bool live = journal_.begun() && !finished_;
  const bool idle = live && !recording_ && graphs_.captures().none();
  if (idle != idle_.load(std::memory_order_relaxed)) idle_.store(idle, std::memory_order_release);
  if (recount_reachable_) {
    recount_reachable_ = false;
    any_reachable_ = std::ranges::any_of(
        map_.host_visible(), [](const auto& allocation) { return allocation->reachable; });
  }
  const bool looked = live && !options_.checkpoints && graphs_.captures().none();
  // In a range, what a launch touches is read before it.
  const bool plain = looked && selection_.empty() && map_.host_visible().empty() && !any_value_;
  const bool light = looked && recording_ && !any_reachable_;
  if (plain != plain_.load(std::memory_order_relaxed) ||
      light != light_.load(std::memory_order_relaxed)) {
    const LaunchLanes::Alone alone(journal_.lanes());
    plain_.store(plain, std::memory_order_release);
    light_.store(light, std::memory_order_release);
  }
  if (flights_.any_kernel() != kernels_fly_.load(std::memory_order_relaxed)) {
    kernels_fly_.store(flights_.any_kernel(), std::memory_order_release);
  }
  if (flights_.idle() == in_flight_.load(std::memory_order_relaxed)) {
    in_flight_.store(!flights_.idle(), std::memory_order_release);
  }
}

// Registration runs before main, when no device may be touched yet, and inside of dlopen(), with
// the dynamic linker's lock: it waits for no lock under which the runtime is called, as that may
// need the linker's. The next call that is recorded applies it.
template <typename F>
void Recorder::registering(F&& function) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard lock(registration_mutex_);
    registrations_.emplace_back(std::forward<F>(function));
    any_registered_.store(true, std::memory_order_release);
  });
}

// The call for which contents are read from now on; `call` must outlive it. With the lock.
class ReadingFor {
 public:
  ReadingFor(std::string_view& holder, std::string_view call) noexcept
      : holder_(holder), before_(std::exchange(holder, call)) {}
  ~ReadingFor() { holder_ = before_; }
  ReadingFor(const ReadingFor&) = delete;
  ReadingFor& operator=(const ReadingFor&) = delete;

 private:
  std::string_view& holder_;
  const std::string_view before_;
};

}  // namespace gfxgraph::recorder

#include "recorder/queue/launch_lane.h"

#include <cstring>
#include <new>
#include <utility>

namespace gfxgraph::recorder {
namespace {

constexpr size_t kOwnBytes = 4096;

// Of this thread.
struct Mine {
  uint64_t owner = 0;
  LaunchLane* lane = nullptr;
};
constinit thread_local Mine mine_now;
constinit thread_local bool ended = false;

// When the thread ends, another thread reuses its lane.
struct GiveBack {
  std::shared_ptr<LaunchLane> lane;
  void give() noexcept {
    if (lane) lane->taken.store(false, std::memory_order_release);
    lane.reset();
  }
  ~GiveBack() {
    ended = true;
    mine_now = {};
    give();
  }
};
thread_local GiveBack give_back;

}  // namespace

void put_launch(const PendingLaunch& pending, std::span<const std::byte> all_bytes,
                uint64_t time_ns, format::Event& event) {
  const std::byte* const bytes = all_bytes.data() + pending.offset_bytes;
  auto* launch = std::get_if<format::Launch>(&event.action);
  if (launch == nullptr) launch = &event.action.emplace<format::Launch>();
  launch->kernel = pending.kernel;
  launch->stream = pending.stream;
  launch->grid = pending.shape.grid;
  launch->grid_remainder = pending.shape.grid_remainder;
  launch->block = pending.shape.block;
  launch->dynamic_lds_bytes = pending.shape.dynamic_lds_bytes;
  launch->cooperative = pending.shape.cooperative;
  launch->kernarg.resize(pending.kernarg_bytes);
  launch->relocations.resize(pending.relocation_count);
  if (pending.kernarg_bytes != 0) {
    std::memcpy(launch->kernarg.data(), bytes, pending.kernarg_bytes);
  }
  if (pending.relocation_count != 0) {
    std::memcpy(launch->relocations.data(), bytes + pending.kernarg_bytes,
                pending.relocation_count * sizeof(format::Relocation));
  }
  event.thread = pending.thread;
  event.time_ns = time_ns;
  event.site = pending.site;
}

uint64_t LaunchLanes::next_number() noexcept {
  static constinit std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::hot]] bool LaunchLanes::only_mine() const noexcept {
  return mine_now.owner == number_ && single();
}

[[gnu::hot]] LaunchLane* LaunchLanes::mine() noexcept {
  if (mine_now.owner == number_) [[likely]]
    return mine_now.lane;
  return ended ? nullptr : take();
}

LaunchLane* LaunchLanes::take() noexcept {
  try {
    give_back.give();
    const std::lock_guard lock(mutex_);
    std::shared_ptr<LaunchLane> lane;
    for (const std::shared_ptr<LaunchLane>& one : all_) {
      if (one->taken.exchange(true, std::memory_order_acq_rel)) continue;
      lane = one;
      break;
    }
    if (!lane) {
      if (!all_.empty() && single()) {
        want_all();
        several_.store(true, std::memory_order_relaxed);
        let_go_of_all();
      }
      lane = std::make_shared<LaunchLane>();
      lane->pending.reserve();
      lane->draining.reserve();
      // Larger than the pieces that malloc places side by side: data that two threads write at each
      // launch must not share a cache line.
      lane->kernarg.reserve(kOwnBytes);
      lane->relocations.reserve(kOwnBytes / sizeof(format::Relocation));
      lane->next = first_.load(std::memory_order_relaxed);
      all_.push_back(lane);
      first_.store(lane.get(), std::memory_order_release);
    }
    mine_now = {number_, lane.get()};
    give_back.lane = std::move(lane);
    return mine_now.lane;
  } catch (...) {
    return nullptr;
  }
}

void LaunchLanes::stop() {
  if (depth_++ != 0) return;
  mutex_.lock();
  want_all();
}

void LaunchLanes::go() {
  if (--depth_ != 0) return;
  let_go_of_all();
  mutex_.unlock();
}

void LaunchLanes::want_all() {
  each([](LaunchLane& lane) { lane.lock.want(); });
  each([](LaunchLane& lane) { lane.lock.wait(); });
}

void LaunchLanes::let_go_of_all() {
  each([](LaunchLane& lane) { lane.lock.let_go(); });
}

void LaunchLanes::not_single() {
  if (!single()) return;
  const Alone alone(*this);
  several_.store(true, std::memory_order_relaxed);
}

}  // namespace gfxgraph::recorder

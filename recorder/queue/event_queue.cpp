#include "recorder/queue/event_queue.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

namespace gfxgraph::recorder {
namespace {

const void* address_of(const Pending& item) {
  return std::visit([](const auto& one) -> const void* { return one.get(); }, item);
}

// The memory in which the next launches will stand, which the flusher's processor read last, is in
// this one's cache by then: writes that wait for it would hold up the next atomic operation.
void fetch_ahead(const LaunchBatch& batch) {
  constexpr size_t kLineBytes = 64;
  constexpr size_t kLaunchesAhead = 4;
  const auto fetch = [](const void* begin, size_t size) {
    for (size_t i = 0; i < size; i += kLineBytes) {
      __builtin_prefetch(static_cast<const std::byte*>(begin) + i, 1);
    }
  };
  // Has no effect past the end of a buffer.
  fetch(batch.launches.data() + batch.launches.size() + kLaunchesAhead, sizeof(PendingLaunch));
  fetch(batch.bytes.data() + batch.bytes.size() + kLaunchesAhead * LaunchBatch::kUsualBytes,
        LaunchBatch::kUsualBytes);
}

}  // namespace

void EventQueue::reserve(uint64_t start_ns) {
  start_ns_ = start_ns;
  clock_.start();
  pending_.reserve(kMost);
  draining_.reserve(kMost);
}

size_t EventQueue::add(uint64_t ticket, Pending item) {
  pending_.push_back({ticket, std::move(item)});
  count_.store(pending_.size(), std::memory_order_relaxed);
  return pending_.size();
}

[[gnu::hot]] PendingLaunch& EventQueue::add(LaunchLane& lane) {
  LaunchBatch& batch = lane.pending;
  const size_t offset = batch.bytes.size();
  const size_t relocation_bytes = lane.relocations.size() * sizeof(format::Relocation);
  const auto append = [&](const void* bytes, size_t size) {
    const auto* begin = static_cast<const std::byte*>(bytes);
    batch.bytes.insert(batch.bytes.end(), begin, begin + size);
  };
  append(lane.kernarg.data(), lane.kernarg.size());
  append(lane.relocations.data(), relocation_bytes);
  PendingLaunch& added = batch.launches.emplace_back();
  added.offset_bytes = offset;
  added.kernarg_bytes = static_cast<uint32_t>(lane.kernarg.size());
  added.relocation_count = static_cast<uint32_t>(lane.relocations.size());
  fetch_ahead(batch);
  return added;
}

bool EventQueue::take() {
  if (!taken_.empty()) return false;
  size_t count = 0;
  {
    const LaunchLanes::Alone alone(lanes_);
    pending_.swap(draining_);
    count_.store(0, std::memory_order_relaxed);
    lanes_.each([&](LaunchLane& lane) {
      std::swap(lane.pending, lane.draining);
      count += lane.draining.launches.size();
    });
  }
  clock_.mark();
  taken_.reserve(count + draining_.size());
  for (Item& item : draining_) taken_.push_back({item.ticket, &item, nullptr, nullptr});
  lanes_.each([&](const LaunchLane& lane) {
    for (const PendingLaunch& launch : lane.draining.launches) {
      taken_.push_back({launch.ticket, nullptr, &launch, &lane});
    }
  });
  merge_taken();
  return true;
}

// The list and each lane are in order by themselves, as a rule.
void EventQueue::merge_taken() {
  const auto in_order = [](const Taken& a, const Taken& b) { return a.ticket < b.ticket; };
  if (std::is_sorted(taken_.begin(), taken_.end(), in_order)) return;
  const auto same_source = [](const Taken& a, const Taken& b) { return a.lane == b.lane; };
  for (auto merged = taken_.begin(); merged != taken_.end();) {
    auto end = merged;
    while (end != taken_.end() && same_source(*merged, *end)) ++end;
    if (!std::is_sorted(merged, end, in_order)) {
      std::ranges::sort(taken_, in_order);
      return;
    }
    std::inplace_merge(taken_.begin(), merged, end, in_order);
    merged = end;
  }
}

Result<bool> EventQueue::write(format::Writer& writer, std::vector<std::string>& refused) {
  const size_t before = written_;
  for (; written_ < taken_.size(); ++written_) {
    Taken& one = taken_[written_];
    if (!blocked_.empty() && one.item != nullptr &&
        blocked_.contains(address_of(one.item->event))) {
      break;
    }
    Result<void> done = write(writer, one);
    if (done) continue;
    if (done.error().status != Status::kInvalidArgument) {
      return tl::unexpected<Error>(std::move(done).error());
    }
    refused.push_back(done.error().message);
  }
  const bool some = written_ != before;
  const bool all = written_ == taken_.size();
  if (all) forget_taken();
  if (some) {
    if (Result<void> flushed = writer.flush(); !flushed) {
      return tl::unexpected<Error>(std::move(flushed).error());
    }
  }
  return all;
}

void EventQueue::forget_taken() {
  taken_.clear();
  written_ = 0;
  draining_.clear();
  lanes_.each([](LaunchLane& lane) { lane.draining.clear(); });
}

Result<void> EventQueue::write(format::Writer& writer, format::Event&& event) {
  if (filter_.on() && !filter_.keeps(event)) return {};
  Result<uint64_t> sequence = writer.add(std::move(event));
  if (!sequence) return tl::unexpected<Error>(std::move(sequence).error());
  return {};
}

Result<void> EventQueue::write(format::Writer& writer, Taken& taken) {
  if (taken.launch != nullptr) {
    const uint64_t ns = clock_.ns_at(taken.launch->ticks);
    put_launch(*taken.launch, std::span(taken.lane->draining.bytes),
               std::max(ns, start_ns_) - start_ns_, launch_);
    return write(writer, std::move(launch_));
  }
  Pending& event = taken.item->event;
  if (auto* graph = std::get_if<std::unique_ptr<format::Graph>>(&event)) {
    if (filter_.on()) filter_.see(**graph);
    return writer.add(**graph);
  }
  if (auto* one = std::get_if<std::unique_ptr<format::Event>>(&event)) {
    Result<void> added = write(writer, std::move(**one));
    one->reset();
    return added;
  }
  for (format::Event& one : *std::get<std::unique_ptr<std::vector<format::Event>>>(event)) {
    if (Result<void> added = write(writer, std::move(one)); !added) return added;
  }
  return {};
}

}  // namespace gfxgraph::recorder

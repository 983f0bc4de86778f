#include "recorder/flights.h"

#include <algorithm>

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kStreamNonBlocking = 1;  // hipStreamNonBlocking

}  // namespace

bool named_kernel(std::span<const Flight> flights) {
  return std::any_of(flights.begin(), flights.end(), [](const Flight& one) { return one.named; });
}

Flights::Set Flights::front(format::StreamId stream) const {
  Set set;
  const auto take = [&](format::StreamId other) {
    if (const auto tail = tails_.find(other); tail != tails_.end()) {
      set.insert(tail->second.begin(), tail->second.end());
    }
  };
  take(stream);
  if (stream == 0) {
    for (const auto& [other, tail] : tails_) {
      if (!unblocking_.contains(other)) set.insert(tail.begin(), tail.end());
    }
  } else if (!unblocking_.contains(stream)) {
    take(0);
  }
  return set;
}

void Flights::issue(format::StreamId stream, Flight flight) {
  flight.stream = stream;
  Set tail = front(stream);
  if (flight.kernel) {
    std::erase_if(tail, [&](uint32_t number) {
      const auto found = out_.find(number);
      if (found == out_.end()) return true;
      const Flight& before = found->second;
      if (!before.kernel || before.allocation != flight.allocation) return false;
      flight.named = flight.named || before.named;
      erase(number);
      return true;
    });
    ++kernels_;
  }
  tail.insert(next_);
  tails_[stream] = std::move(tail);
  out_[next_++] = flight;
}

void Flights::erase(uint32_t number) {
  const auto found = out_.find(number);
  if (found == out_.end()) return;
  if (found->second.kernel) --kernels_;
  out_.erase(found);
}

std::vector<Flight> Flights::land_kernels(const Set& among) {
  Set done;
  for (const uint32_t number : among) {
    const auto found = out_.find(number);
    if (found != out_.end() && found->second.kernel) done.insert(number);
  }
  return land(done, false);
}

std::vector<Flight> Flights::land_kernels(format::StreamId stream) {
  return kernels_ == 0 ? std::vector<Flight>{} : land_kernels(front(stream));
}

std::vector<Flight> Flights::land_all_kernels() {
  Set all;
  for (const auto& [number, flight] : out_) all.insert(number);
  return land_kernels(all);
}

std::vector<Flight> Flights::land(const Set& known, bool late) {
  std::vector<Flight> landed;
  for (const uint32_t number : known) {
    const auto found = out_.find(number);
    if (found == out_.end()) continue;
    landed.push_back(found->second);
    landed.back().late = landed.back().late || late;
    erase(number);
  }
  if (out_.empty()) {
    tails_.clear();
    events_.clear();
    runs_.clear();
  }
  return landed;
}

std::vector<Flight> Flights::follow(const format::Action& action) {
  if (const auto* stream = std::get_if<format::StreamCreate>(&action)) {
    if ((stream->flags & kStreamNonBlocking) != 0) unblocking_.insert(stream->id);
    return {};
  }
  if (out_.empty()) return {};
  if (const auto* record = std::get_if<format::EventRecord>(&action)) {
    events_[record->event] = front(record->stream);
  } else if (const auto* wait = std::get_if<format::StreamWait>(&action)) {
    const Set& captured = events_[wait->event];
    tails_[wait->stream].insert(captured.begin(), captured.end());
  } else if (const auto* function = std::get_if<format::HostFunction>(&action)) {
    if (function->id != 0) runs_[function->id] = front(function->stream);
  } else if (const auto* launch = std::get_if<format::GraphLaunch>(&action)) {
    if (launch->first_host_function != 0) {
      runs_[launch->first_host_function] = front(launch->stream);
    }
  } else if (const auto* copy = std::get_if<format::Copy>(&action)) {
    if (!copy->asynchronous) return land(front(copy->stream), false);
  } else if (const auto* set = std::get_if<format::Memset>(&action)) {
    if (!set->asynchronous) return land(front(set->stream), false);
  } else if (const auto* known = std::get_if<format::Synchronize>(&action)) {
    switch (known->kind) {
      case format::SynchronizeKind::kDevice: {
        Set all;
        for (const auto& [number, flight] : out_) all.insert(number);
        return land(all, false);
      }
      case format::SynchronizeKind::kStream: return land(front(known->object), false);
      case format::SynchronizeKind::kEvent: return land(Set(events_[known->object]), false);
      case format::SynchronizeKind::kHostFunction: {
        const auto after = runs_.upper_bound(known->object);
        if (after == runs_.begin()) return {};
        return land(Set(std::prev(after)->second), true);
      }
    }
  }
  return {};
}

std::vector<Flight> Flights::over(format::AllocationId allocation, uint64_t begin,
                                  uint64_t end) const {
  std::vector<Flight> found;
  for (const auto& [number, flight] : out_) {
    if (flight.allocation == allocation && flight.begin < end && begin < flight.end) {
      found.push_back(flight);
    }
  }
  return found;
}

void Flights::forget(format::AllocationId allocation) {
  std::erase_if(out_, [&](const auto& entry) {
    if (entry.second.allocation != allocation) return false;
    if (entry.second.kernel) --kernels_;
    return true;
  });
}

}  // namespace gfxgraph::recorder

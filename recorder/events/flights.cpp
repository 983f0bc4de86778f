#include "recorder/events/flights.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.h"

namespace gfxgraph::recorder {
namespace {

// The stream of work that synchronises with the null stream, if it is such work.
std::optional<format::StreamId> stream_of_work(const format::Action& action) {
  return std::visit(
      [](const auto& one) -> std::optional<format::StreamId> {
        using Kind = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Kind, format::Launch> || std::is_same_v<Kind, format::Copy> ||
                      std::is_same_v<Kind, format::Memset> ||
                      std::is_same_v<Kind, format::GraphLaunch>) {
          return one.stream;
        } else {
          return std::nullopt;
        }
      },
      action);
}

}  // namespace

bool Flight::writes(uint64_t offset) const noexcept {
  if (offset < begin || offset >= end) return false;
  if (row_bytes == 0) return true;
  const uint64_t in_plane = (offset - begin) % plane_bytes;
  return in_plane / pitch_bytes < rows && in_plane % pitch_bytes < row_bytes;
}

Flight box_flight(format::AllocationId allocation, uint64_t offset, const format::Box& box) {
  const std::optional<uint64_t> size = box.extent();
  Flight flight{.allocation = allocation,
                .begin = offset,
                .end = checked_add(offset, size.value_or(UINT64_MAX)).value_or(UINT64_MAX)};
  if (!size || box.empty() || box.linear() || !box.rows_are_apart()) return flight;
  // With one row or plane the next one's distance says nothing, and may be anything.
  const uint64_t within =
      box.height == 1 ? box.width_bytes : box.pitch() * (box.height - 1) + box.width_bytes;
  const uint64_t plane = box.depth == 1 ? within : box.slice();
  flight.row_bytes = box.width_bytes;
  flight.pitch_bytes = box.height == 1 ? plane : box.pitch();
  flight.rows = box.height;
  flight.plane_bytes = plane;
  return flight;
}

bool named_kernel(std::span<const Flight> flights) {
  return std::any_of(flights.begin(), flights.end(), [](const Flight& one) { return one.named; });
}

void Flights::add(const format::Device& device) {
  devices_.add(device);
  streams_.add(device.null_stream, {device.number, device.null_stream, true});
  several_ = true;
}

uint32_t Flights::issue(format::StreamId stream, Flight flight) {
  flight.stream = stream;
  Set tail = front(stream);
  if (flight.kernel) {
    std::erase_if(tail, [&](uint32_t number) {
      const auto found = out_.find(number);
      if (found == out_.end()) return !is_call(number) && !reads_.contains(number);
      const Flight& before = found->second;
      if (!before.kernel || before.allocation != flight.allocation) return false;
      flight.named = flight.named || before.named;
      if (may_be_followed(number, stream)) {
        replaced_[number].insert(next_);
        return false;
      }
      erase(number);
      return true;
    });
    ++kernels_;
  }
  tail.insert(next_);
  streams_.issued(stream, std::move(tail));
  out_[next_] = flight;
  drop_replaced();
  return next_++;
}

// By work that the next work of `issuing` does not precede. A cheap look: there may be no such
// work.
bool Flights::may_be_followed(uint32_t number, format::StreamId issuing) const {
  bool found = captured_.contains(number);
  streams_.each_tail([&](format::StreamId stream, const Set& tail) {
    found = found || (stream != issuing && tail.contains(number));
  });
  return found;
}

// Whether work may follow the flight without any of those that replace it.
bool Flights::follows_only(uint32_t number, const Set& replacing) const {
  const auto leads = [&](const Set& set) {
    return std::ranges::any_of(replacing, [&](uint32_t later) { return set.contains(later); });
  };
  const auto only = [&](const Set& set) { return set.contains(number) && !leads(set); };
  bool found = false;
  streams_.each_tail([&](format::StreamId stream, const Set& tail) {
    found = found || (only(tail) && !(streams_.joins_null(stream) &&
                                      leads(streams_.tail(streams_.null_stream(stream)))));
  });
  streams_.each_captured([&](const Set& captured) { found = found || only(captured); });
  return found;
}

void Flights::drop_replaced() {
  Set dropped;
  for (const auto& [number, replacing] : replaced_) {
    if (!follows_only(number, replacing)) dropped.insert(number);
  }
  for (const uint32_t number : dropped) erase(number);
}

void Flights::erase(uint32_t number) {
  captured_.erase(number);
  const auto own = replaced_.extract(number);
  for (auto& [earlier, replacing] : replaced_) {
    if (replacing.erase(number) != 0 && !own.empty())
      replacing.insert(own.mapped().begin(), own.mapped().end());
  }
  const auto found = out_.find(number);
  if (found == out_.end()) return;
  if (found->second.kernel) --kernels_;
  out_.erase(found);
  ++erased_;
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

std::vector<Flight> Flights::land_all_kernels(uint32_t issued) {
  Set all;
  for (const auto& [number, flight] : out_) {
    if (number < issued) all.insert(number);
  }
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
  std::erase_if(calls_, [&](const auto& one) { return known.contains(one.second.number); });
  std::erase_if(reads_, [&](uint32_t read) { return known.contains(read); });
  if (idle()) {
    streams_.clear();
    captured_.clear();
    replaced_.clear();
  }
  return landed;
}

// What a blocking copy or memset follows, and its own flight, is done.
std::vector<Flight> Flights::land_work(format::StreamId stream, uint32_t issued) {
  Set known = front(stream);
  std::erase_if(known, [&](uint32_t number) {
    const auto found = out_.find(number);
    return number >= issued && found != out_.end() && found->second.kernel;
  });
  return land(known, false);
}

Flights::Set Flights::before(uint32_t issued, Set known) const {
  known.erase(known.lower_bound(issued), known.end());
  return known;
}

std::vector<Flight> Flights::follow(const format::Action& action, uint32_t issued) {
  if (const auto* stream = std::get_if<format::StreamCreate>(&action)) {
    devices_.add(*stream);
    streams_.add(stream->id, {devices_.device(stream->id), devices_.null_stream(stream->id),
                              (stream->flags & order::kStreamNonBlocking) == 0});
    return {};
  }
  if (const auto* function = std::get_if<format::HostFunction>(&action)) {
    if (function->id != 0) {
      call(function->stream, function->id);
    } else {
      works(function->stream);
    }
    return {};
  }
  if (const auto* launch = std::get_if<format::GraphLaunch>(&action);
      launch != nullptr && launch->first_host_function != 0) {
    call(launch->stream, launch->first_host_function);
    return {};
  }
  if (idle()) return {};
  if (const auto stream = stream_of_work(action)) works(*stream);
  if (const auto* record = std::get_if<format::EventRecord>(&action)) {
    for (const uint32_t number : streams_.record(record->event, record->stream)) {
      if (out_.contains(number)) captured_.insert(number);
    }
    drop_replaced();
  } else if (const auto* wait = std::get_if<format::StreamWait>(&action)) {
    streams_.wait(wait->stream, wait->event);
  } else if (const auto* copy = std::get_if<format::Copy>(&action)) {
    if (!copy->asynchronous) return land_work(copy->stream, issued);
  } else if (const auto* set = std::get_if<format::Memset>(&action)) {
    if (!set->asynchronous) return land_work(set->stream, issued);
  } else if (const auto* known = std::get_if<format::Synchronize>(&action)) {
    switch (known->kind) {
      case format::SynchronizeKind::kDevice: {
        if (several_) return land(before(issued, streams_.of_device(known->object)), false);
        Set all = reads_;
        for (const auto& [number, flight] : out_) all.insert(number);
        for (const auto& [id, call] : calls_) all.insert(call.number);
        return land(before(issued, std::move(all)), false);
      }
      case format::SynchronizeKind::kStream:
        return land(before(issued, front(known->object)), false);
      case format::SynchronizeKind::kStreamItself:
        return land(before(issued, streams_.tail(known->object)), false);
      case format::SynchronizeKind::kEvent: return land(streams_.captured(known->object), false);
      case format::SynchronizeKind::kHostFunction: return land_before(known->object);
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

std::vector<Flight> Flights::over(format::AllocationId allocation, uint64_t begin, uint64_t end,
                                  format::StreamId reader) const {
  const Set before = front(reader);
  std::vector<Flight> found;
  for (const auto& [number, flight] : out_) {
    if (flight.allocation != allocation || flight.begin >= end || begin >= flight.end) continue;
    found.push_back(flight);
    found.back().done = before.contains(number);
  }
  return found;
}

void Flights::functions_follow(uint32_t first_own, std::vector<std::set<uint32_t>> told) {
  first_own_ = first_own;
  told_ = std::move(told);
}

// A stream's function, or all of a graph.
void Flights::call(format::StreamId stream, format::HostFunctionId first) {
  Set after = front(stream);
  Set last = after;
  last.insert(next_);
  streams_.issued(stream, std::move(last));
  after.erase(after.lower_bound(std::exchange(first_own_, UINT32_MAX)), after.end());
  calls_[first] = {next_++, std::move(after), std::exchange(told_, {})};
}

std::vector<Flight> Flights::land_before(format::HostFunctionId function) {
  const auto behind = calls_.upper_bound(function);
  if (behind == calls_.begin()) return {};
  const auto& [first, call] = *std::prev(behind);
  const size_t ordinal = function - first;
  if (ordinal >= std::max<size_t>(call.told.size(), 1)) return {};  // of a later call: known before
  Set done = call.after;
  if (ordinal < call.told.size()) done.insert(call.told[ordinal].begin(), call.told[ordinal].end());
  return land(done, true);
}

bool Flights::is_call(uint32_t number) const {
  return std::ranges::any_of(calls_, [&](const auto& one) { return one.second.number == number; });
}

bool Flights::follows(format::StreamId stream, format::HostFunctionId first) const {
  const auto found = calls_.find(first);
  return found == calls_.end() || front(stream).contains(found->second.number);
}

uint32_t Flights::issue_read(format::StreamId stream) {
  Set last = front(stream);
  last.insert(next_);
  streams_.issued(stream, std::move(last));
  reads_.insert(next_);
  return next_++;
}

bool Flights::follows_read(format::StreamId stream, uint32_t read) const {
  return host_follows_read(read) || front(stream).contains(read);
}

void Flights::forget_read(uint32_t read) {
  reads_.erase(read);
  streams_.each_tail([&](format::StreamId, Set& tail) { tail.erase(read); });
  streams_.each_captured([&](Set& captured) { captured.erase(read); });
}

std::vector<Flight> Flights::beside(format::StreamId stream) const {
  const Set before = front(stream);
  std::vector<Flight> found;
  for (const auto& [number, flight] : out_) {
    if ((flight.named || !flight.kernel) && !before.contains(number)) found.push_back(flight);
  }
  return found;
}

std::vector<Flight> Flights::all() const {
  std::vector<Flight> found;
  for (const auto& [number, flight] : out_) {
    if (flight.named || !flight.kernel) found.push_back(flight);
  }
  return found;
}

void Flights::forget(format::AllocationId allocation) {
  std::erase_if(out_, [&](const auto& entry) {
    if (entry.second.allocation != allocation) return false;
    if (entry.second.kernel) --kernels_;
    ++erased_;
    return true;
  });
}

Flight flight_of(const format::Copy& copy) {
  const format::CopyEnd& to = copy.destination;
  return box_flight(to.allocation, to.offset_bytes, format::box_of(copy, to));
}

Flight flight_of(const format::Memset& set) {
  return box_flight(set.allocation, set.offset_bytes, format::box_of(set).value_or(format::Box{}));
}

}  // namespace gfxgraph::recorder

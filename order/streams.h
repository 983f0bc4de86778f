// HIP's law of streams and events: which work the next work of a stream follows, and which work a
// wait of the host tells it has ended. The one place of these rules. Those who use it decide what
// counts as work, what a set of it is, and when work is forgotten: StreamOrder for work of a trace,
// the recorder's Flights for work in flight.
//
// From the HIP programming manual ("Streams", "Default stream", "Events"): a stream keeps its
// order; the null stream of a device waits for every blocking stream of that device, and these wait
// for it; a record of an event, a wait for one and a host function are work of their stream; a wait
// makes later work of the stream follow the work that the event had captured when it was last
// recorded.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "format/trace.h"

namespace gfxgraph::order {

inline constexpr uint32_t kStreamNonBlocking = 1;  // hipStreamNonBlocking

// Of a stream that was not added: blocking, of device 0, whose null stream is 0.
struct Stream {
  format::DeviceNumber device = 0;
  format::StreamId null_stream = 0;  // of the device; its own id: it is one
  bool blocking = true;              // for others than null streams
};

// `Sets` has a type Set, add(Set&, const Set&), which unites, and reduce(Set&), which may drop work
// that other work of the set follows. Not thread-safe; concurrent calls of const methods are.
template <typename Sets>
class Streams {
 public:
  using Set = typename Sets::Set;

  explicit Streams(Sets sets = {}) : sets_(std::move(sets)) {}
  void add(format::StreamId stream, const Stream& facts) { facts_[stream] = facts; }

  // What the next work of the stream follows, and `set`.
  Set front(format::StreamId stream, Set set = {}) const {
    const auto add_tail = [&](format::StreamId one) {
      if (const auto found = tails_.find(one); found != tails_.end()) sets_.add(set, found->second);
    };
    add_tail(stream);
    const Stream own = facts(stream);
    if (stream == own.null_stream) {
      for (const auto& [other, tail] : tails_) {
        const Stream one = facts(other);
        if (other != stream && one.blocking && one.null_stream == stream) sets_.add(set, tail);
      }
    } else if (own.blocking) {
      add_tail(own.null_stream);
    }
    sets_.reduce(set);
    return set;
  }
  // The same without what the null stream, or those that it waits for, add.
  Set tail(format::StreamId stream) const {
    const auto found = tails_.find(stream);
    return found == tails_.end() ? Set{} : found->second;
  }
  Set of_device(format::DeviceNumber device) const {
    Set set;
    for (const auto& [stream, tail] : tails_)
      if (facts(stream).device == device) sets_.add(set, tail);
    sets_.reduce(set);
    return set;
  }
  // Whether the stream is no null stream, and waits for its device's.
  bool joins_null(format::StreamId stream) const {
    const Stream own = facts(stream);
    return own.blocking && stream != own.null_stream;
  }
  format::StreamId null_stream(format::StreamId stream) const { return facts(stream).null_stream; }

  // Work was issued: what its stream's later work follows.
  void issued(format::StreamId stream, Set last) { tails_[stream] = std::move(last); }
  // The same of work that is in no set. Returns what it follows.
  const Set& passed(format::StreamId stream) {
    Set& tail = tails_[stream];
    if (is_null(stream) || joins_null(stream)) tail = front(stream);
    return tail;
  }
  // Returns what the event stands for.
  const Set& record(format::EventId event, format::StreamId stream) {
    return captured_[event] = is_null(stream) ? passed(stream) : front(stream);
  }
  void wait(format::StreamId stream, format::EventId event) {
    if (is_null(stream)) passed(stream);
    const auto found = captured_.find(event);
    if (found == captured_.end()) return;
    Set& set = tails_[stream];
    sets_.add(set, found->second);
    sets_.reduce(set);
  }
  // What the host learns to have ended by waiting for an event.
  Set captured(format::EventId event) const {
    const auto found = captured_.find(event);
    return found == captured_.end() ? Set{} : found->second;
  }

  // visit(stream, set) for what each stream's next work follows by itself, visit(set) for what each
  // event stands for; the sets may be changed.
  template <typename Visit>
  void each_tail(const Visit& visit) {
    for (auto& [stream, set] : tails_) visit(stream, set);
  }
  template <typename Visit>
  void each_tail(const Visit& visit) const {
    for (const auto& [stream, set] : tails_) visit(stream, set);
  }
  template <typename Visit>
  void each_captured(const Visit& visit) {
    for (auto& [event, set] : captured_) visit(set);
  }
  template <typename Visit>
  void each_captured(const Visit& visit) const {
    for (const auto& [event, set] : captured_) visit(set);
  }
  // All work was forgotten; the streams are known as before.
  void clear() {
    tails_.clear();
    captured_.clear();
  }

 private:
  Stream facts(format::StreamId stream) const {
    const auto found = facts_.find(stream);
    return found == facts_.end() ? Stream{} : found->second;
  }
  bool is_null(format::StreamId stream) const { return facts(stream).null_stream == stream; }

  Sets sets_;
  std::unordered_map<format::StreamId, Stream> facts_;
  std::unordered_map<format::StreamId, Set> tails_;    // what later work of the stream follows
  std::unordered_map<format::EventId, Set> captured_;  // by event: the work that it stands for
};

}  // namespace gfxgraph::order

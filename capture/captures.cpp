#include "capture/captures.h"

#include <algorithm>
#include <utility>

namespace gfxgraph::capture {
namespace {

constinit thread_local Mode thread_mode = Mode::kGlobal;

}  // namespace

Mode Captures::exchange_mode(Mode mode) noexcept { return std::exchange(thread_mode, mode); }

Capture* Captures::of(Stream stream) {
  const auto found = by_stream_.find(stream);
  return found == by_stream_.end() ? nullptr : found->second;
}

Capture* Captures::active(uint64_t id) {
  const auto found = captures_.find(id);
  return found == captures_.end() ? nullptr : found->second.get();
}

void Captures::update() noexcept {
  any_.store(!captures_.empty(), std::memory_order_release);
  any_event_.store(!events_.empty(), std::memory_order_release);
}

void Captures::add(Nodes& to, std::span<const Node> nodes) {
  for (Node node : nodes) {
    if (std::ranges::find(to, node) == to.end()) to.push_back(node);
  }
}

bool Captures::null_stream_waits(const Capture& capture) const {
  return std::ranges::any_of(capture.streams, [](const auto& one) { return one.second.blocking; });
}

// The null stream is used: captures that it would wait for cannot go on.
Answer Captures::implicit() {
  Answer answer = Answer::kSuccess;
  for (const auto& [id, capture] : captures_) {
    if (!null_stream_waits(*capture)) continue;
    capture->valid = false;
    answer = Answer::kImplicit;
  }
  return answer;
}

// ---- begin and end ------------------------------------------------------------------------------

Answer Captures::may_begin(Stream stream) {
  if (stream == nullptr) return Answer::kUnsupported;
  const std::lock_guard lock(mutex_);
  return of(stream) == nullptr ? Answer::kSuccess : Answer::kIllegalState;
}

Answer Captures::begin(Stream stream, Mode mode, uint64_t thread, Graph graph, bool graph_is_ours,
                       Nodes after) {
  const bool blocking = stream_is_blocking_(stream);
  const std::lock_guard lock(mutex_);
  if (of(stream) != nullptr) return Answer::kIllegalState;
  // What may throw stands before what it would leave half done.
  Capture*& entry = by_stream_[stream];
  auto capture = std::make_unique<Capture>();
  const uint64_t id = next_id_++;
  capture->id = id;
  capture->graph = graph;
  capture->graph_is_ours = graph_is_ours;
  capture->mode = mode;
  capture->thread = thread;
  capture->origin = stream;
  capture->streams[stream] = {blocking, std::move(after)};
  entry = captures_.emplace(id, std::move(capture)).first->second.get();
  update();
  return Answer::kSuccess;
}

void Captures::forget(const Capture& capture) {
  for (const auto& [stream, member] : capture.streams) by_stream_.erase(stream);
  captures_.erase(capture.id);
  update();
}

Captures::Ended Captures::end(Stream stream, uint64_t thread,
                              const std::function<bool(Node)>& has_dependents) {
  const std::lock_guard lock(mutex_);
  Capture* const capture = of(stream);
  if (capture == nullptr) return {.answer = Answer::kIllegalState};
  if (capture->origin != stream) return {.answer = Answer::kUnmatched};
  if (capture->mode != Mode::kRelaxed && capture->thread != thread)
    return {.answer = Answer::kWrongThread};
  Ended ended{.over = true,
              .graph = capture->graph,
              .graph_is_ours = capture->graph_is_ours,
              .id = capture->id};
  const Nodes& last = capture->streams[stream].after;
  // Each other stream has been joined: somebody follows its last work.
  const bool joined = std::ranges::all_of(capture->streams, [&](const auto& one) {
    return std::ranges::all_of(one.second.after, [&](Node node) {
      return std::ranges::find(last, node) != last.end() || has_dependents(node);
    });
  });
  if (!capture->valid) {
    ended.answer = Answer::kInvalidated;
  } else if (!joined) {
    ended.answer = Answer::kUnjoined;
  }
  forget(*capture);
  return ended;
}

Graph Captures::destroyed(Stream stream) {
  if (!any()) return nullptr;
  const std::lock_guard lock(mutex_);
  Capture* const capture = of(stream);
  if (capture == nullptr) return nullptr;
  // Of an origin nobody can end the capture any more.
  if (capture->origin == stream) {
    const Graph graph = capture->graph_is_ours ? capture->graph : nullptr;
    forget(*capture);
    return graph;
  }
  capture->valid = false;
  capture->streams.erase(stream);
  by_stream_.erase(stream);
  return nullptr;
}

// ---- work ---------------------------------------------------------------------------------------

Captures::Work Captures::work_on(Stream stream) {
  Work work(*this);
  Capture* const capture = of(stream);
  if (capture == nullptr) {
    if (stream == nullptr) work.refused_ = implicit();
    return work;
  }
  if (!capture->valid) {
    work.refused_ = Answer::kInvalidated;
    return work;
  }
  work.capture_ = capture;
  work.member_ = &capture->streams.at(stream);
  return work;
}

// ---- events -------------------------------------------------------------------------------------

bool Captures::recorded(Event event, Stream stream, Answer& answer) {
  answer = Answer::kSuccess;
  const std::lock_guard lock(mutex_);
  Capture* const capture = of(stream);
  if (capture == nullptr) {
    if (stream == nullptr) answer = implicit();
    if (answer == Answer::kSuccess && events_.erase(event) != 0) update();
    return answer != Answer::kSuccess;
  }
  if (!capture->valid) {
    answer = Answer::kInvalidated;
  } else {
    events_[event] = {capture->id, capture->streams.at(stream).after};
    update();
  }
  return true;
}

bool Captures::waits(Stream stream, Event event, Answer& answer) {
  answer = Answer::kSuccess;
  const bool blocking = stream_is_blocking_(stream);
  const std::lock_guard lock(mutex_);
  Capture* const own = of(stream);
  const auto found = events_.find(event);
  if (found == events_.end()) {
    if (own == nullptr) {
      if (stream == nullptr) answer = implicit();
      return answer != Answer::kSuccess;
    }
    // Work from before the capture, or from outside of it.
    answer = own->valid ? Answer::kIsolation : Answer::kInvalidated;
    own->valid = false;
    return true;
  }
  Capture* const capture = active(found->second.capture);
  if (own != nullptr && !own->valid) {
    answer = Answer::kInvalidated;
  } else if (own != nullptr && own != capture) {
    answer = capture == nullptr ? Answer::kIsolation : Answer::kMerge;
    own->valid = false;
  } else if (capture == nullptr) {
    answer = Answer::kCapturedEvent;
  } else if (!capture->valid) {
    answer = Answer::kInvalidated;
  } else if (stream == nullptr) {
    answer = Answer::kImplicit;
    capture->valid = false;
  } else if (own == capture) {
    add(capture->streams.at(stream).after, found->second.after);
  } else {
    Capture*& entry = by_stream_[stream];
    capture->streams[stream] = {blocking, found->second.after};
    entry = capture;
  }
  return true;
}

Answer Captures::event_used(Event event) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(event);
  if (found == events_.end()) return Answer::kSuccess;
  if (Capture* const capture = active(found->second.capture)) capture->valid = false;
  return Answer::kCapturedEvent;
}

void Captures::event_destroyed(Event event) {
  if (!any_event()) return;
  const std::lock_guard lock(mutex_);
  events_.erase(event);
  update();
}

// ---- calls that are refused ---------------------------------------------------------------------

Answer Captures::unsafe(uint64_t thread, Answer answer) {
  if (thread_mode == Mode::kRelaxed) return Answer::kSuccess;
  const std::lock_guard lock(mutex_);
  bool refused = false;
  for (const auto& [id, capture] : captures_) {
    const bool own = capture->thread == thread && capture->mode != Mode::kRelaxed;
    const bool global = thread_mode == Mode::kGlobal && capture->mode == Mode::kGlobal;
    if (!own && !global) continue;
    capture->valid = false;
    refused = true;
  }
  return refused ? answer : Answer::kSuccess;
}

Answer Captures::waits_for_device() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, capture] : captures_) capture->valid = false;
  return captures_.empty() ? Answer::kSuccess : Answer::kUnsupported;
}

Answer Captures::stream_used(Stream stream, uint64_t thread, bool waits) {
  {
    const std::lock_guard lock(mutex_);
    if (Capture* const capture = of(stream)) {
      capture->valid = false;
      return Answer::kUnsupported;
    }
    if (stream == nullptr) {
      const Answer answer = implicit();
      if (answer != Answer::kSuccess) return answer;
    }
  }
  return waits ? unsafe(thread) : Answer::kSuccess;
}

// ---- what is known of a stream ------------------------------------------------------------------

Captures::Info Captures::info(Stream stream) {
  Info info;
  const std::lock_guard lock(mutex_);
  Capture* const capture = of(stream);
  if (capture == nullptr) {
    // It asks, and changes nothing.
    const bool waits = stream == nullptr && std::ranges::any_of(captures_, [&](const auto& one) {
                         return null_stream_waits(*one.second);
                       });
    if (waits) info.answer = Answer::kImplicit;
    return info;
  }
  info.status = capture->valid ? Status::kActive : Status::kInvalidated;
  info.id = capture->id;
  if (!capture->valid) return info;
  info.graph = capture->graph;
  info.after = capture->streams.at(stream).after;
  return info;
}

Answer Captures::set_dependencies(Stream stream, std::span<const Node> nodes, bool replace) {
  const std::lock_guard lock(mutex_);
  Capture* const capture = of(stream);
  if (capture == nullptr) return Answer::kIllegalState;
  if (!capture->valid) return Answer::kInvalidated;
  Nodes& after = capture->streams.at(stream).after;
  if (replace) after.clear();
  add(after, nodes);
  return Answer::kSuccess;
}

}  // namespace gfxgraph::capture

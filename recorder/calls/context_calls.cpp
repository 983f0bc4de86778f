#include "recorder/calls/context_calls.h"

#include <algorithm>
#include <utility>

#include "order/streams.h"

namespace gfxgraph::recorder {

using format::FindingKind;

void ContextCalls::made(Handle context, format::DeviceNumber device, bool primary) noexcept {
  guarded([&] {
    // The device's own context is the same in each call.
    if (primary && contexts_.contains(context)) return;
    contexts_.insert_or_assign(context, Context{.device = device, .primary = primary});
  });
}

ContextCalls::Leaving ContextCalls::leaves(Handle context) noexcept {
  Leaving leaving;
  guarded([&] {
    const auto found = contexts_.find(context);
    // HIP does not destroy the device's own one.
    if (found == contexts_.end() || found->second.primary) return;
    leaving = {std::move(found->second.streams), found->second.device, true};
    contexts_.erase(found);
  });
  return leaving;
}

void ContextCalls::put_back(Handle context, Leaving&& leaving) noexcept {
  if (!leaving.known) return;
  guarded([&] {
    contexts_.insert_or_assign(context, Context{leaving.device, false, std::move(leaving.streams)});
  });
}

format::DeviceNumber ContextCalls::device_of(Handle context) noexcept {
  format::DeviceNumber device = 0;
  guarded([&] {
    const auto found = contexts_.find(context);
    if (found != contexts_.end()) device = found->second.device;
  });
  return device;
}

void ContextCalls::stream_made(Handle context, Handle stream) noexcept {
  guarded([&] {
    const auto found = contexts_.find(context);
    if (found == contexts_.end()) {
      finding(FindingKind::kIncomplete, "hipExecutionCtxStreamCreate",
              "of a context whose creation was not seen");
      return;
    }
    found->second.streams.push_back(stream);
  });
}

void ContextCalls::stream_leaves(Handle stream) noexcept {
  guarded([&] {
    for (auto& [handle, context] : contexts_) std::erase(context.streams, stream);
  });
}

ContextCalls::Context* ContextCalls::find(Handle context, std::string_view call) {
  const auto found = contexts_.find(context);
  if (found == contexts_.end()) {
    finding(FindingKind::kIncomplete, call, "of a context whose creation was not seen");
    return nullptr;
  }
  // Documents and published code differ in which streams count there.
  if (found->second.primary) {
    finding(FindingKind::kIncomplete, call,
            "of a device's primary context: which streams it means is not known");
    return nullptr;
  }
  if (std::ranges::any_of(found->second.streams,
                          [&](Handle stream) { return graphs_.captures().capturing(stream); })) {
    finding(FindingKind::kIncomplete, call, "while a stream of the context is captured");
    return nullptr;
  }
  return &found->second;
}

void ContextCalls::event_recorded(Handle context, Handle event, std::string_view call) noexcept {
  guarded([&] {
    Context* const known = find(context, call);
    if (known == nullptr || known->streams.empty()) return;
    graphs_.captures().forget_event(event);
    if (stretch_.outside()) return;
    const format::EventId id = events_.event_id(event);
    if (known->streams.size() == 1) {
      return events_.append(format::EventRecord{id, events_.stream_id(known->streams.front())});
    }
    if (known->join == 0 || known->numbering != events_.streams().numbering()) {
      events_.know_device(known->device);
      const format::StreamCreate join =
          events_.streams().made(order::kStreamNonBlocking, 0, known->device);
      known->join = join.id;
      known->numbering = events_.streams().numbering();
      events_.append(join);
    }
    const format::EventId each = events_.event_id(&contexts_);
    for (const Handle stream : known->streams) {
      events_.append(format::EventRecord{each, events_.stream_id(stream)});
      events_.append(format::StreamWait{known->join, each, 0});
    }
    events_.append(format::EventRecord{id, known->join});
  });
  handover_.drain_if_full();
}

void ContextCalls::waits(Handle context, Handle event, std::string_view call) noexcept {
  for (const Handle stream : streams_of(context, call)) streams_.stream_waits(stream, event, 0);
}

void ContextCalls::synchronized(Handle context, std::string_view call) noexcept {
  for (const Handle stream : streams_of(context, call))
    streams_.synchronized(format::SynchronizeKind::kStreamItself, stream, call);
}

std::vector<Handle> ContextCalls::streams_of(Handle context, std::string_view call) noexcept {
  std::vector<Handle> streams;
  guarded([&] {
    if (const Context* const known = find(context, call)) streams = known->streams;
  });
  return streams;
}

}  // namespace gfxgraph::recorder

#include "format/codec/unpack_internal.h"

namespace gfxgraph::format {
namespace {

AllocationBegin unpack(Unpacker& unpacker, const fbs::AllocationBegin& from) {
  AllocationBegin to;
  to.id = from.id();
  to.kind = unpacker.member(static_cast<uint8_t>(from.kind()), AllocationKind::kSurface,
                            "allocation kind");
  to.recorded_address = from.recorded_address();
  to.host_address = from.host_address();
  to.size_bytes = from.size_bytes();
  to.mapped_bytes = from.mapped_bytes();
  to.flags = from.flags();
  to.stream = from.stream();
  to.code_object = from.code_object();
  to.symbol = unpacker.text(from.symbol());
  to.initial = unpacker.content(from.initial());
  to.name = unpacker.text(from.name());
  to.site = from.site();
  to.site_ordinal = from.site_ordinal();
  to.device = from.device();
  if (from.array() != nullptr) to.array = unpacker.array(*from.array());
  if (from.object() != nullptr) to.object = unpacker.object(*from.object());
  return to;
}

AllocationEnd unpack(Unpacker& unpacker, const fbs::AllocationEnd& from) {
  return {from.id(), from.freed(), from.stream(), unpacker.content(from.post()), from.gone()};
}

HostWrite unpack(Unpacker& unpacker, const fbs::HostWrite& from) {
  return {from.allocation(), from.offset_bytes(), unpacker.content(from.content()),
          from.in_doubt()};
}

Checkpoint unpack(Unpacker& unpacker, const fbs::Checkpoint& from) {
  Checkpoint to;
  if (from.states() == nullptr ||
      !unpacker.spend(uint64_t{from.states()->size()} * Unpacker::kTableBytes)) {
    return to;
  }
  to.states.reserve(from.states()->size());
  for (const fbs::CheckpointState* state : *from.states()) {
    to.states.push_back({state->allocation(),
                         {state->hash_low(), state->hash_high()},
                         unpacker.relocations(state->relocations())});
  }
  return to;
}

Action unpack_action(Unpacker& unpacker, const fbs::Event& from) {
  switch (from.action_type()) {
    case fbs::Action::AllocationBegin: return unpack(unpacker, *from.action_as_AllocationBegin());
    case fbs::Action::AllocationEnd: return unpack(unpacker, *from.action_as_AllocationEnd());
    case fbs::Action::HostWrite: return unpack(unpacker, *from.action_as_HostWrite());
    case fbs::Action::StreamCreate: {
      const fbs::StreamCreate& action = *from.action_as_StreamCreate();
      return StreamCreate{action.id(), action.flags(), action.priority(), action.device()};
    }
    case fbs::Action::StreamDestroy: return StreamDestroy{from.action_as_StreamDestroy()->id()};
    case fbs::Action::EventCreate: {
      const fbs::EventCreate& action = *from.action_as_EventCreate();
      return EventCreate{action.id(), action.flags()};
    }
    case fbs::Action::EventDestroy: return EventDestroy{from.action_as_EventDestroy()->id()};
    case fbs::Action::EventRecord: {
      const fbs::EventRecord& action = *from.action_as_EventRecord();
      return EventRecord{action.event(), action.stream()};
    }
    case fbs::Action::StreamWait: {
      const fbs::StreamWait& action = *from.action_as_StreamWait();
      return StreamWait{action.stream(), action.event(), action.flags()};
    }
    case fbs::Action::Synchronize: {
      const fbs::Synchronize& action = *from.action_as_Synchronize();
      return Synchronize{unpacker.member(static_cast<uint8_t>(action.kind()),
                                         SynchronizeKind::kStreamItself, "kind of synchronize"),
                         action.object(), unpacker.text(action.call())};
    }
    case fbs::Action::Launch: return unpacker.action(*from.action_as_Launch());
    case fbs::Action::Copy: return unpacker.action(*from.action_as_Copy());
    case fbs::Action::Memset: return unpacker.action(*from.action_as_Memset());
    case fbs::Action::HostFunction: return unpacker.action(*from.action_as_HostFunction());
    case fbs::Action::GraphLaunch: {
      const fbs::GraphLaunch& action = *from.action_as_GraphLaunch();
      return GraphLaunch{action.graph(), action.stream(), action.first_host_function()};
    }
    case fbs::Action::Marker: {
      const fbs::Marker& action = *from.action_as_Marker();
      return Marker{
          unpacker.text(action.text()),
          unpacker.member(static_cast<uint8_t>(action.kind()), MarkerKind::kName, "kind of marker"),
          action.range(), action.ordinal(), action.allocation()};
    }
    case fbs::Action::Checkpoint: return unpack(unpacker, *from.action_as_Checkpoint());
    case fbs::Action::NONE: break;
  }
  unpacker.member(static_cast<uint8_t>(from.action_type()), fbs::Action::MAX, "kind of event");
  unpacker.refuse(Status::kCorrupt, "an event lacks its action");
  return Marker{};
}

}  // namespace

Result<std::vector<Event>> unpack_events(std::span<const std::byte> payload) {
  GFXGRAPH_ASSIGN_OR_RETURN(const fbs::EventChunk* chunk,
                            verified_root<fbs::EventChunk>(payload, "events"));
  std::vector<Event> events;
  Unpacker unpacker(payload.size());
  const auto* from = chunk->events();
  if (from == nullptr || from->size() == 0)
    return fail(Status::kCorrupt, "events: the list is empty");
  // An event is two tables and the offsets to them.
  if (unpacker.spend(uint64_t{from->size()} * 2 * Unpacker::kTableBytes))
    events.reserve(from->size());
  uint64_t sequence = chunk->first_sequence();
  for (const fbs::Event* event : *from) {
    // A union of a known kind without its table, or of a kind that no generated code has verified.
    if (event->action() == nullptr) {
      unpacker.refuse(Status::kCorrupt, "an event lacks its action");
      break;
    }
    Action action = unpack_action(unpacker, *event);
    if (unpacker.failed()) break;
    events.push_back(
        {sequence++, event->thread(), event->time_ns(), std::move(action), event->site()});
  }
  if (unpacker.failed()) {
    return with_context(unpacker.error(),
                        fmt::format("event {}", chunk->first_sequence() + events.size()));
  }
  return events;
}

}  // namespace gfxgraph::format

#include "format/codec/pack_internal.h"

namespace gfxgraph::format {
namespace {

Offset<fbs::CopyEnd> pack_copy_end(Builder& builder, const CopyEnd& end) {
  fbs::CopyEndBuilder table(builder);
  table.add_allocation(end.allocation);
  table.add_offset_bytes(end.offset_bytes);
  table.add_pitch_bytes(end.pitch_bytes);
  table.add_slice_bytes(end.slice_bytes);
  return table.Finish();
}

Offset<fbs::AllocationBegin> pack_action(Builder& builder, const AllocationBegin& action) {
  const auto symbol = pack_text(builder, action.symbol);
  const auto initial = pack_content(builder, action.initial);
  const auto name = pack_text(builder, action.name);
  const auto array = action.array ? pack_array(builder, *action.array) : Offset<fbs::ArrayShape>();
  const auto object =
      action.object ? pack_object(builder, *action.object) : Offset<fbs::ImageObject>();
  fbs::AllocationBeginBuilder table(builder);
  table.add_id(action.id);
  table.add_kind(static_cast<fbs::AllocationKind>(action.kind));
  table.add_recorded_address(action.recorded_address);
  table.add_host_address(action.host_address);
  table.add_size_bytes(action.size_bytes);
  table.add_mapped_bytes(action.mapped_bytes);
  table.add_flags(action.flags);
  table.add_stream(action.stream);
  table.add_code_object(action.code_object);
  table.add_symbol(symbol);
  table.add_initial(initial);
  table.add_name(name);
  table.add_site(action.site);
  table.add_site_ordinal(action.site_ordinal);
  table.add_device(action.device);
  if (action.array) table.add_array(array);
  if (action.object) table.add_object(object);
  return table.Finish();
}

Offset<fbs::AllocationEnd> pack_action(Builder& builder, const AllocationEnd& action) {
  const auto post = pack_content(builder, action.post);
  fbs::AllocationEndBuilder table(builder);
  table.add_id(action.id);
  table.add_freed(action.freed);
  table.add_stream(action.stream);
  table.add_post(post);
  table.add_gone(action.gone);
  return table.Finish();
}

Offset<fbs::HostWrite> pack_action(Builder& builder, const HostWrite& action) {
  const auto content = pack_content(builder, action.content);
  fbs::HostWriteBuilder table(builder);
  table.add_allocation(action.allocation);
  table.add_offset_bytes(action.offset_bytes);
  table.add_content(content);
  table.add_in_doubt(action.in_doubt);
  return table.Finish();
}

Offset<fbs::Checkpoint> pack_action(Builder& builder, const Checkpoint& action) {
  std::vector<Offset<fbs::CheckpointState>> states;
  states.reserve(action.states.size());
  for (const Checkpoint::State& state : action.states) {
    const auto relocations = pack_relocations(builder, state.relocations);
    fbs::CheckpointStateBuilder table(builder);
    table.add_allocation(state.allocation);
    table.add_hash_low(state.hash.low);
    table.add_hash_high(state.hash.high);
    table.add_relocations(relocations);
    states.push_back(table.Finish());
  }
  return fbs::CreateCheckpoint(builder, builder.CreateVector(states));
}

Offset<fbs::StreamCreate> pack_action(Builder& builder, const StreamCreate& action) {
  return fbs::CreateStreamCreate(builder, action.id, action.flags, action.priority, action.device);
}
Offset<fbs::StreamDestroy> pack_action(Builder& builder, const StreamDestroy& action) {
  return fbs::CreateStreamDestroy(builder, action.id);
}
Offset<fbs::EventCreate> pack_action(Builder& builder, const EventCreate& action) {
  return fbs::CreateEventCreate(builder, action.id, action.flags);
}
Offset<fbs::EventDestroy> pack_action(Builder& builder, const EventDestroy& action) {
  return fbs::CreateEventDestroy(builder, action.id);
}
Offset<fbs::EventRecord> pack_action(Builder& builder, const EventRecord& action) {
  return fbs::CreateEventRecord(builder, action.event, action.stream);
}
Offset<fbs::StreamWait> pack_action(Builder& builder, const StreamWait& action) {
  return fbs::CreateStreamWait(builder, action.stream, action.event, action.flags);
}
Offset<fbs::Synchronize> pack_action(Builder& builder, const Synchronize& action) {
  return fbs::CreateSynchronize(builder, static_cast<fbs::SynchronizeKind>(action.kind),
                                action.object, pack_text(builder, action.call));
}
Offset<fbs::GraphLaunch> pack_action(Builder& builder, const GraphLaunch& action) {
  return fbs::CreateGraphLaunch(builder, action.graph, action.stream, action.first_host_function);
}
Offset<fbs::Marker> pack_action(Builder& builder, const Marker& action) {
  return fbs::CreateMarker(builder, pack_text(builder, action.text),
                           static_cast<fbs::MarkerKind>(action.kind), action.range, action.ordinal,
                           action.allocation);
}

// fbs::Action::X for format::X, whose place in the variant is not its number in the file.
template <typename T>
constexpr fbs::Action action_type();
#define GFXGRAPH_ACTION(name)                 \
  template <>                                 \
  constexpr fbs::Action action_type<name>() { \
    return fbs::Action::name;                 \
  }
GFXGRAPH_ACTION(AllocationBegin)
GFXGRAPH_ACTION(AllocationEnd)
GFXGRAPH_ACTION(HostWrite)
GFXGRAPH_ACTION(StreamCreate)
GFXGRAPH_ACTION(StreamDestroy)
GFXGRAPH_ACTION(EventCreate)
GFXGRAPH_ACTION(EventDestroy)
GFXGRAPH_ACTION(EventRecord)
GFXGRAPH_ACTION(StreamWait)
GFXGRAPH_ACTION(Synchronize)
GFXGRAPH_ACTION(Launch)
GFXGRAPH_ACTION(Copy)
GFXGRAPH_ACTION(Memset)
GFXGRAPH_ACTION(HostFunction)
GFXGRAPH_ACTION(GraphLaunch)
GFXGRAPH_ACTION(Marker)
GFXGRAPH_ACTION(Checkpoint)
#undef GFXGRAPH_ACTION

Offset<fbs::Event> pack_event(Builder& builder, const Event& event) {
  fbs::Action type = fbs::Action::NONE;
  Offset<void> action = 0;
  std::visit(
      [&](const auto& value) {
        type = action_type<std::decay_t<decltype(value)>>();
        action = pack_action(builder, value).Union();
      },
      event.action);
  fbs::EventBuilder table(builder);
  table.add_thread(event.thread);
  table.add_time_ns(event.time_ns);
  table.add_action_type(type);
  table.add_action(action);
  table.add_site(event.site);
  return table.Finish();
}

}  // namespace

Offset<fbs::Launch> pack_action(Builder& builder, const Launch& action) {
  const auto relocations = pack_relocations(builder, action.relocations);
  Offset<flatbuffers::Vector<uint8_t>> kernarg = 0;
  if (!action.kernarg.empty()) kernarg = builder.CreateVector(action.kernarg);
  fbs::LaunchBuilder table(builder);
  table.add_kernel(action.kernel);
  table.add_stream(action.stream);
  table.add_grid_x(action.grid[0]);
  table.add_grid_y(action.grid[1]);
  table.add_grid_z(action.grid[2]);
  table.add_block_x(action.block[0]);
  table.add_block_y(action.block[1]);
  table.add_block_z(action.block[2]);
  table.add_remainder_x(action.grid_remainder[0]);
  table.add_remainder_y(action.grid_remainder[1]);
  table.add_remainder_z(action.grid_remainder[2]);
  table.add_dynamic_lds_bytes(action.dynamic_lds_bytes);
  table.add_cooperative(action.cooperative);
  table.add_kernarg(kernarg);
  table.add_relocations(relocations);
  return table.Finish();
}

Offset<fbs::Copy> pack_action(Builder& builder, const Copy& action) {
  const auto destination = pack_copy_end(builder, action.destination);
  const auto source = pack_copy_end(builder, action.source);
  const auto host_source = pack_content(builder, action.host_source);
  const auto host_result = pack_content(builder, action.host_result);
  fbs::CopyBuilder table(builder);
  table.add_destination(destination);
  table.add_source(source);
  table.add_width_bytes(action.width_bytes);
  table.add_height(action.height);
  table.add_depth(action.depth);
  table.add_host_source(host_source);
  table.add_host_result(host_result);
  table.add_asynchronous(action.asynchronous);
  table.add_stream(action.stream);
  table.add_source_is_pinned(action.source_is_pinned);
  return table.Finish();
}

Offset<fbs::Memset> pack_action(Builder& builder, const Memset& action) {
  fbs::MemsetBuilder table(builder);
  table.add_allocation(action.allocation);
  table.add_offset_bytes(action.offset_bytes);
  table.add_pitch_bytes(action.pitch_bytes);
  table.add_slice_bytes(action.slice_bytes);
  table.add_element_bytes(action.element_bytes);
  table.add_value(action.value);
  table.add_width_elements(action.width_elements);
  table.add_height(action.height);
  table.add_depth(action.depth);
  table.add_asynchronous(action.asynchronous);
  table.add_stream(action.stream);
  return table.Finish();
}

Offset<fbs::HostFunction> pack_action(Builder& builder, const HostFunction& action) {
  return fbs::CreateHostFunction(builder, action.stream, pack_text(builder, action.call),
                                 action.id);
}

std::span<const std::byte> Packer::pack(std::span<const Event> events) {
  Builder& builder = impl_->builder;
  builder.Clear();
  std::vector<Offset<fbs::Event>> offsets;
  offsets.reserve(events.size());
  for (const Event& event : events) offsets.push_back(pack_event(builder, event));
  const auto event_vector = builder.CreateVector(offsets);
  fbs::EventChunkBuilder table(builder);
  table.add_first_sequence(events.front().sequence);
  table.add_events(event_vector);
  return impl_->finish(table.Finish());
}

}  // namespace gfxgraph::format

// The fields of each table of trace.fbs and the members of trace.h that they hold: the one list by
// which tables are packed, measured and unpacked. Internal to format/codec.
//
// fields() calls a visitor with (member, getter of the table, setter of the table's builder, what
// else the member's type needs): for an enum its last member and its name in messages, for a part
// that must be present its name. Rows stand in the order in which fields are written: stored traces
// keep their bytes.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <type_traits>

#include "format/codec/unpack.h"
#include "format/trace.h"
#include "format/trace_generated.h"

namespace gfxgraph::format {

template <typename T, typename U>
concept Is = std::is_same_v<std::remove_const_t<T>, U>;

template <typename T>
struct TableFor;
template <typename T>
using TableOf = typename TableFor<T>::Type;

#define GFXGRAPH_TABLE_AS(name, table) \
  template <>                          \
  struct TableFor<name> {              \
    using Type = fbs::table;           \
  };                                   \
  inline void fields([[maybe_unused]] auto&& visit, [[maybe_unused]] Is<name> auto& value)
#define GFXGRAPH_TABLE(name) GFXGRAPH_TABLE_AS(name, name)
#define FIELD_AS(member, name, ...)                                 \
  visit(                                                            \
      value.member, [](const auto& table) { return table.name(); }, \
      [](auto& builder, auto field) { builder.add_##name(field); } __VA_OPT__(, ) __VA_ARGS__)
#define FIELD(name, ...) FIELD_AS(name, name __VA_OPT__(, ) __VA_ARGS__)
#define ID_FIELDS(member, name)     \
  FIELD_AS(member.low, name##_low); \
  FIELD_AS(member.high, name##_high)

GFXGRAPH_TABLE(Environment) {
  FIELD(gfxgraph_version);
  FIELD(gpu_arch);
  FIELD(device_name);
  FIELD(emulated);
  FIELD(hip_runtime_version);
  FIELD(hip_driver_version);
  FIELD(command_line);
  FIELD(start_unix_ns);
}

GFXGRAPH_TABLE(CodeObject) {
  FIELD(id);
  ID_FIELDS(elf, elf);
  FIELD(target);
  FIELD(device);
  FIELD(image_of);
}

GFXGRAPH_TABLE(Argument) {
  FIELD(name);
  FIELD(value_kind);
  FIELD(kind, ArgumentKind::kHidden, "argument kind");
  FIELD(offset_bytes);
  FIELD(size_bytes);
}

GFXGRAPH_TABLE(Kernel) {
  FIELD(id);
  FIELD(code_object);
  FIELD(name);
  FIELD(kernarg_size_bytes);
  FIELD(explicit_size_bytes);
  FIELD(group_segment_bytes);
  FIELD(private_segment_bytes);
  FIELD(arguments);
}

GFXGRAPH_TABLE(Content) {
  FIELD(size_bytes);
  ID_FIELDS(blob, blob);
  FIELD(fill);
  ID_FIELDS(hash, hash);
  FIELD(stored);
  FIELD(relocations);
  FIELD(unwritten);
}

GFXGRAPH_TABLE(TexelFormat) {
  FIELD_AS(bits[0], x_bits);
  FIELD_AS(bits[1], y_bits);
  FIELD_AS(bits[2], z_bits);
  FIELD_AS(bits[3], w_bits);
  FIELD(kind, TexelKind::kFloat, "texel kind");
}

GFXGRAPH_TABLE(ArrayShape) {
  FIELD(width);
  FIELD(height);
  FIELD(depth);
  FIELD(format, "array");
  FIELD(flags);
}

GFXGRAPH_TABLE(ImageObject) {
  FIELD(resource, ImageResource::kPitched, "image resource");
  FIELD(allocation);
  FIELD(offset_bytes);
  FIELD(format, "image of memory", value.resource != ImageResource::kArray);
  FIELD(size_bytes);
  FIELD(width);
  FIELD(height);
  FIELD(pitch_bytes);
  FIELD_AS(address_mode[0], address_mode_x);
  FIELD_AS(address_mode[1], address_mode_y);
  FIELD_AS(address_mode[2], address_mode_z);
  FIELD(filter);
  FIELD(read_mode);
  FIELD(srgb);
  FIELD(normalized);
  FIELD(mip_filter);
  FIELD(max_anisotropy);
  FIELD_AS(border[0], border_x);
  FIELD_AS(border[1], border_y);
  FIELD_AS(border[2], border_z);
  FIELD_AS(border[3], border_w);
  FIELD(mip_bias);
  FIELD(mip_least);
  FIELD(mip_most);
  FIELD(has_view);
  FIELD(view_format);
  FIELD(view_width);
  FIELD(view_height);
  FIELD(view_depth);
  FIELD(first_level);
  FIELD(last_level);
  FIELD(first_layer);
  FIELD(last_layer);
}

// ---- events -------------------------------------------------------------------------------------

GFXGRAPH_TABLE(AllocationBegin) {
  FIELD(id);
  FIELD(kind, AllocationKind::kSurface, "allocation kind");
  FIELD(recorded_address);
  FIELD(host_address);
  FIELD(size_bytes);
  FIELD(mapped_bytes);
  FIELD(flags);
  FIELD(stream);
  FIELD(code_object);
  FIELD(symbol);
  FIELD(initial);
  FIELD(name);
  FIELD(site);
  FIELD(site_ordinal);
  FIELD(device);
  FIELD(array);
  FIELD(object);
}

GFXGRAPH_TABLE(AllocationEnd) {
  FIELD(id);
  FIELD(freed);
  FIELD(stream);
  FIELD(post);
  FIELD(gone);
}

GFXGRAPH_TABLE(HostWrite) {
  FIELD(allocation);
  FIELD(offset_bytes);
  FIELD(content);
  FIELD(in_doubt);
}

GFXGRAPH_TABLE(StreamCreate) {
  FIELD(device);
  FIELD(priority);
  FIELD(flags);
  FIELD(id);
}

GFXGRAPH_TABLE(StreamDestroy) { FIELD(id); }

GFXGRAPH_TABLE(EventCreate) {
  FIELD(flags);
  FIELD(id);
}

GFXGRAPH_TABLE(EventDestroy) { FIELD(id); }

GFXGRAPH_TABLE(EventRecord) {
  FIELD(stream);
  FIELD(event);
}

GFXGRAPH_TABLE(StreamWait) {
  FIELD(flags);
  FIELD(event);
  FIELD(stream);
}

GFXGRAPH_TABLE(Synchronize) {
  FIELD(call);
  FIELD(object);
  FIELD(kind, SynchronizeKind::kStreamItself, "kind of synchronize");
}

GFXGRAPH_TABLE(Launch) {
  FIELD(kernel);
  FIELD(stream);
  FIELD_AS(grid[0], grid_x);
  FIELD_AS(grid[1], grid_y);
  FIELD_AS(grid[2], grid_z);
  FIELD_AS(block[0], block_x);
  FIELD_AS(block[1], block_y);
  FIELD_AS(block[2], block_z);
  FIELD_AS(grid_remainder[0], remainder_x);
  FIELD_AS(grid_remainder[1], remainder_y);
  FIELD_AS(grid_remainder[2], remainder_z);
  FIELD(dynamic_lds_bytes);
  FIELD(cooperative);
  FIELD(kernarg);
  FIELD(relocations);
}

GFXGRAPH_TABLE(CopyEnd) {
  FIELD(allocation);
  FIELD(offset_bytes);
  FIELD(pitch_bytes);
  FIELD(slice_bytes);
}

GFXGRAPH_TABLE(Copy) {
  FIELD(destination, "destination");
  FIELD(source, "source");
  FIELD(width_bytes);
  FIELD(height);
  FIELD(depth);
  FIELD(host_source);
  FIELD(host_result);
  FIELD(asynchronous);
  FIELD(stream);
  FIELD(source_is_pinned);
}

GFXGRAPH_TABLE(Memset) {
  FIELD(allocation);
  FIELD(offset_bytes);
  FIELD(pitch_bytes);
  FIELD(slice_bytes);
  FIELD(element_bytes);
  FIELD(value);
  FIELD(width_elements);
  FIELD(height);
  FIELD(depth);
  FIELD(asynchronous);
  FIELD(stream);
}

GFXGRAPH_TABLE(HostFunction) {
  FIELD(id);
  FIELD(call);
  FIELD(stream);
}

GFXGRAPH_TABLE(GraphLaunch) {
  FIELD(first_host_function);
  FIELD(stream);
  FIELD(graph);
}

GFXGRAPH_TABLE(Marker) {
  FIELD(allocation);
  FIELD(ordinal);
  FIELD(range);
  FIELD(text);
  FIELD(kind, MarkerKind::kName, "kind of marker");
}

GFXGRAPH_TABLE_AS(Checkpoint::State, CheckpointState) {
  FIELD(allocation);
  ID_FIELDS(hash, hash);
  FIELD(relocations);
}

GFXGRAPH_TABLE(Checkpoint) { FIELD(states); }

GFXGRAPH_TABLE(CallFault) {
  FIELD(call);
  FIELD(error);
  FIELD(allocation);
  FIELD(offset_bytes);
  FIELD(size_bytes);
  FIELD(write);
}

// ---- other records ------------------------------------------------------------------------------

GFXGRAPH_TABLE(Graph) {
  FIELD(id);
  FIELD(nodes);
}

GFXGRAPH_TABLE(Finding) {
  FIELD(kind, FindingKind::kNote, "finding kind");
  FIELD(call);
  FIELD(count);
  FIELD(detail);
}

GFXGRAPH_TABLE(Site) {
  FIELD(id);
  FIELD_AS(module, module_);
  FIELD(build_id);
  FIELD(symbol);
  FIELD(offset_bytes);
  FIELD(symbol_offset_bytes);
  FIELD(program);
  FIELD(symbol_unique);
  FIELD(line);
  FIELD(caller);
}

GFXGRAPH_TABLE(Device) {
  FIELD(null_stream);
  FIELD(number);
}

GFXGRAPH_TABLE(Summary) {
  FIELD_AS(statistics.events, events);
  FIELD_AS(statistics.launches, launches);
  FIELD_AS(statistics.copies, copies);
  FIELD_AS(statistics.allocations, allocations);
  FIELD_AS(statistics.kernels, kernels);
  FIELD_AS(statistics.code_objects, code_objects);
  FIELD_AS(statistics.blobs, blobs);
  FIELD_AS(statistics.blob_bytes, blob_bytes);
  FIELD_AS(statistics.stored_blob_bytes, stored_blob_bytes);
  FIELD_AS(statistics.relocations_typed, relocations_typed);
  FIELD_AS(statistics.relocations_proven, relocations_proven);
  FIELD_AS(statistics.relocations_matched, relocations_matched);
  FIELD_AS(statistics.relocations_ambiguous, relocations_ambiguous);
  FIELD(graphs);
  FIELD(findings);
  FIELD(index_offset);
}

// Its action is a union and its fields are not rows: pack.cpp and unpack.cpp convert it.
template <>
struct TableFor<GraphNode> {
  using Type = fbs::GraphNode;
};

#undef ID_FIELDS
#undef FIELD
#undef FIELD_AS
#undef GFXGRAPH_TABLE
#undef GFXGRAPH_TABLE_AS

// In the column of sources: the word points outside its allocation.
inline constexpr uint8_t kOutsideSource =
    static_cast<uint8_t>(fbs::RelocationSource::typed_outside);

}  // namespace gfxgraph::format

// The fields of everything in a trace, by kind: numbers, names, bytes. A new field belongs here.
#pragma once

#include <memory>
#include <type_traits>
#include <variant>

#include "format/trace.h"

namespace gfxgraph::fuzz {

// `visit` is called with each number (any integer, bool or enum), std::string, kernarg and list of
// relocations or indices.
template <typename Visit>
void for_each_field(format::Environment& v, const Visit& visit) {
  visit(v.gfxgraph_version), visit(v.gpu_arch), visit(v.device_name), visit(v.emulated);
  visit(v.hip_runtime_version), visit(v.hip_driver_version), visit(v.start_unix_ns);
  for (std::string& word : v.command_line) visit(word);
}
template <typename Visit>
void for_each_field(format::CodeObject& v, const Visit& visit) {
  visit(v.id), visit(v.elf.low), visit(v.target), visit(v.device);
}
template <typename Visit>
void for_each_field(format::Kernel& v, const Visit& visit) {
  visit(v.id), visit(v.code_object), visit(v.name), visit(v.kernarg_size_bytes);
  visit(v.explicit_size_bytes), visit(v.group_segment_bytes), visit(v.private_segment_bytes);
  for (format::Argument& a : v.arguments) {
    visit(a.name), visit(a.value_kind), visit(a.kind), visit(a.offset_bytes), visit(a.size_bytes);
  }
}
template <typename Visit>
void for_each_field(format::Finding& v, const Visit& visit) {
  visit(v.kind), visit(v.call), visit(v.count), visit(v.detail);
}
template <typename Visit>
void for_each_field(format::Site& v, const Visit& visit) {
  visit(v.id), visit(v.module), visit(v.build_id), visit(v.symbol), visit(v.offset_bytes);
  visit(v.symbol_offset_bytes), visit(v.program), visit(v.symbol_unique), visit(v.caller);
}
template <typename Visit>
void for_each_field(format::Device& v, const Visit& visit) {
  visit(v.number), visit(v.null_stream);
}
template <typename Visit>
void for_each_field(format::TexelFormat& v, const Visit& visit) {
  for (uint8_t& bits : v.bits) visit(bits);
  visit(v.kind);
}
template <typename Visit>
void for_each_field(format::ArrayShape& v, const Visit& visit) {
  visit(v.width), visit(v.height), visit(v.depth), visit(v.flags);
  for_each_field(v.format, visit);
}
template <typename Visit>
void for_each_field(format::ImageObject& v, const Visit& visit) {
  visit(v.resource), visit(v.allocation), visit(v.offset_bytes), visit(v.size_bytes);
  visit(v.width), visit(v.height), visit(v.pitch_bytes), visit(v.filter), visit(v.read_mode);
  visit(v.srgb), visit(v.normalized), visit(v.mip_filter), visit(v.max_anisotropy);
  visit(v.has_view), visit(v.view_format), visit(v.view_width), visit(v.view_height);
  visit(v.view_depth), visit(v.first_level), visit(v.last_level), visit(v.first_layer);
  visit(v.last_layer);
  for (uint8_t& mode : v.address_mode) visit(mode);
  for_each_field(v.format, visit);
}
// What several events may share.
template <typename Shared, typename Visit>
void for_each_shared_field(std::shared_ptr<const Shared>& shared, const Visit& visit) {
  if (shared == nullptr) return;
  const auto own = std::make_shared<Shared>(*shared);
  for_each_field(*own, visit);
  shared = own;
}
template <typename Visit>
void for_each_field(std::vector<format::Relocation>& list, const Visit& visit) {
  for (format::Relocation& r : list) {
    visit(r.offset_bytes), visit(r.allocation), visit(r.addend), visit(r.source);
    visit(r.ambiguous), visit(r.outside);
  }
  visit(list);
}
template <typename Visit>
void for_each_field(format::Content& v, const Visit& visit) {
  visit(v.size_bytes), visit(v.blob.low), visit(v.fill), visit(v.hash.low), visit(v.stored);
  visit(v.unwritten);
  for_each_field(v.relocations, visit);
}
template <typename Visit>
void for_each_field(format::AllocationBegin& v, const Visit& visit) {
  visit(v.id), visit(v.kind), visit(v.recorded_address), visit(v.host_address);
  visit(v.size_bytes), visit(v.mapped_bytes), visit(v.flags), visit(v.stream);
  visit(v.code_object), visit(v.symbol), visit(v.name), visit(v.site), visit(v.site_ordinal);
  visit(v.device);
  for_each_shared_field(v.array, visit), for_each_shared_field(v.object, visit);
  for_each_field(v.initial, visit);
}
template <typename Visit>
void for_each_field(format::AllocationEnd& v, const Visit& visit) {
  visit(v.id), visit(v.freed), visit(v.stream), visit(v.gone);
  for_each_field(v.post, visit);
}
template <typename Visit>
void for_each_field(format::HostWrite& v, const Visit& visit) {
  visit(v.allocation), visit(v.offset_bytes), visit(v.in_doubt);
  for_each_field(v.content, visit);
}
template <typename Visit>
void for_each_field(format::StreamCreate& v, const Visit& visit) {
  visit(v.id), visit(v.flags), visit(v.priority), visit(v.device);
}
template <typename Visit>
void for_each_field(format::StreamDestroy& v, const Visit& visit) {
  visit(v.id);
}
template <typename Visit>
void for_each_field(format::EventCreate& v, const Visit& visit) {
  visit(v.id), visit(v.flags);
}
template <typename Visit>
void for_each_field(format::EventDestroy& v, const Visit& visit) {
  visit(v.id);
}
template <typename Visit>
void for_each_field(format::EventRecord& v, const Visit& visit) {
  visit(v.event), visit(v.stream);
}
template <typename Visit>
void for_each_field(format::StreamWait& v, const Visit& visit) {
  visit(v.stream), visit(v.event), visit(v.flags);
}
template <typename Visit>
void for_each_field(format::Synchronize& v, const Visit& visit) {
  visit(v.kind), visit(v.object), visit(v.call);
}
template <typename Visit>
void for_each_field(format::Launch& v, const Visit& visit) {
  visit(v.kernel), visit(v.stream), visit(v.dynamic_lds_bytes), visit(v.cooperative);
  for (size_t axis = 0; axis < 3; ++axis) {
    visit(v.grid[axis]), visit(v.grid_remainder[axis]), visit(v.block[axis]);
  }
  visit(v.kernarg);
  for_each_field(v.relocations, visit);
}
template <typename Visit>
void for_each_field(format::CopyEnd& v, const Visit& visit) {
  visit(v.allocation), visit(v.offset_bytes), visit(v.pitch_bytes), visit(v.slice_bytes);
}
template <typename Visit>
void for_each_field(format::Copy& v, const Visit& visit) {
  for_each_field(v.destination, visit), for_each_field(v.source, visit);
  visit(v.width_bytes), visit(v.height), visit(v.depth), visit(v.asynchronous), visit(v.stream);
  visit(v.source_is_pinned);
  for_each_field(v.host_source, visit), for_each_field(v.host_result, visit);
}
template <typename Visit>
void for_each_field(format::Memset& v, const Visit& visit) {
  visit(v.allocation), visit(v.offset_bytes), visit(v.pitch_bytes), visit(v.slice_bytes);
  visit(v.element_bytes), visit(v.value), visit(v.width_elements), visit(v.height);
  visit(v.depth), visit(v.asynchronous), visit(v.stream);
}
template <typename Visit>
void for_each_field(format::HostFunction& v, const Visit& visit) {
  visit(v.stream), visit(v.call), visit(v.id);
}
template <typename Visit>
void for_each_field(format::GraphLaunch& v, const Visit& visit) {
  visit(v.graph), visit(v.stream), visit(v.first_host_function);
}
template <typename Visit>
void for_each_field(format::Marker& v, const Visit& visit) {
  visit(v.text), visit(v.kind), visit(v.range), visit(v.ordinal), visit(v.allocation);
}
template <typename Visit>
void for_each_field(format::Checkpoint& v, const Visit& visit) {
  for (format::Checkpoint::State& state : v.states) {
    visit(state.allocation), visit(state.hash.low);
    for_each_field(state.relocations, visit);
  }
}
template <typename Visit>
void for_each_field(format::CallFault& v, const Visit& visit) {
  visit(v.call), visit(v.error), visit(v.allocation), visit(v.offset_bytes);
  visit(v.size_bytes), visit(v.write);
}
template <typename Visit>
void for_each_field(std::monostate&, const Visit&) {}
template <typename Visit>
void for_each_field(format::Event& v, const Visit& visit) {
  visit(v.thread), visit(v.time_ns), visit(v.site);
  std::visit([&](auto& action) { for_each_field(action, visit); }, v.action);
}
template <typename Visit>
void for_each_field(format::Graph& v, const Visit& visit) {
  visit(v.id);
  for (format::GraphNode& node : v.nodes) {
    std::visit([&](auto& action) { for_each_field(action, visit); }, node.action);
    visit(node.dependencies);
  }
}

// All contents of an action of an event or a graph node.
template <typename Variant, typename Visit>
void for_each_content(Variant& action, const Visit& visit) {
  std::visit(
      [&](auto& a) {
        if constexpr (requires { a.initial; }) visit(a.initial);
        if constexpr (requires { a.post; }) visit(a.post);
        if constexpr (requires { a.content; }) visit(a.content);
        if constexpr (requires { a.host_source; }) {
          visit(a.host_source);
          visit(a.host_result);
        }
      },
      action);
}

}  // namespace gfxgraph::fuzz

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "format/check/check.h"

namespace gfxgraph::format {

Result<void> Checker::check_stream(StreamId id, const char* what) const {
  if (id != 0 && !streams_.contains(id)) {
    return fail(Status::kCorrupt, fmt::format("{}: stream {} does not exist", what, id));
  }
  return {};
}

Result<void> Checker::check_site(SiteId id, const char* what) const {
  if (id > site_is_line_.size()) {
    return fail(Status::kCorrupt, fmt::format("{}: site {} does not exist", what, id));
  }
  return {};
}

Result<void> Checker::check_event_id(EventId id, const char* what) const {
  if (!hip_events_.contains(id)) {
    return fail(Status::kCorrupt, fmt::format("{}: event {} does not exist", what, id));
  }
  return {};
}

Result<void> Checker::check(const Launch& launch) const {
  if (launch.kernel == 0 || launch.kernel > kernel_explicit_bytes_.size()) {
    return fail(Status::kCorrupt, fmt::format("launch: kernel {} does not exist", launch.kernel));
  }
  for (size_t axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] == 0 || launch.block[axis] == 0) {
      return fail(Status::kCorrupt, "launch: a dimension of grid or block is 0");
    }
    if (launch.grid_remainder[axis] >= launch.block[axis]) {
      return fail(Status::kCorrupt,
                  fmt::format("launch: a partial workgroup of {} work items in blocks of {}",
                              launch.grid_remainder[axis], launch.block[axis]));
    }
  }
  const uint32_t expected = kernel_explicit_bytes_[launch.kernel - 1];
  if (launch.kernarg.size() != expected) {
    return fail(Status::kCorrupt,
                fmt::format("launch: {} kernarg bytes for kernel {}, which takes {}",
                            launch.kernarg.size(), launch.kernel, expected));
  }
  GFXGRAPH_TRY(check_relocations(launch.relocations, launch.kernarg.size(), "launch: kernarg"));
  return check_stream(launch.stream, "launch");
}

Result<void> Checker::check(const HostFunction& function) const {
  if (function.call.empty()) return fail(Status::kCorrupt, "host function: its call is empty");
  return check_stream(function.stream, "host function");
}

// Checks first, then changes state: a rejected event leaves the checker unchanged.
class EventChecker {
 public:
  explicit EventChecker(Checker& state) : state_(state) {}

  Result<void> operator()(const AllocationBegin& action) {
    if (action.id == 0 || state_.allocations_.contains(action.id)) {
      return fail(Status::kCorrupt,
                  fmt::format("allocation begin: id {} is already used", action.id));
    }
    GFXGRAPH_TRY(check_dense(action.id, "allocation begin"));
    const uint64_t limit = std::max(action.size_bytes, action.mapped_bytes);
    if (action.size_bytes == 0) return fail(Status::kCorrupt, "allocation begin: size is 0");
    if (!range_fits(action.recorded_address, limit, UINT64_MAX) ||
        !range_fits(action.host_address, limit, UINT64_MAX)) {
      return fail(Status::kCorrupt,
                  fmt::format("allocation begin: {} bytes at {:#x} exceed the address space", limit,
                              action.recorded_address));
    }
    if (action.initial.size_bytes > limit) {
      return fail(Status::kCorrupt,
                  fmt::format("allocation begin: {} initial bytes in an allocation of {}",
                              action.initial.size_bytes, limit));
    }
    GFXGRAPH_TRY(state_.check_device(action.device, "allocation begin"));
    GFXGRAPH_TRY(check_global(action));
    GFXGRAPH_TRY(state_.check_image(action));
    GFXGRAPH_TRY(check_name(action.name, "allocation begin"));
    GFXGRAPH_TRY(check_maker(action));
    GFXGRAPH_TRY(state_.check_stream(action.stream, "allocation begin"));
    const Checker::Allocation entry{limit, false, action.array, action.object != nullptr};
    if (action.initial.unwritten) {
      GFXGRAPH_TRY(state_.check_unwritten(action));
      state_.allocations_.emplace(action.id, entry);
      return {};
    }
    // The initial bytes may hold the allocation's own address: a list that points to itself.
    state_.allocations_.emplace(action.id, entry);
    Result<void> content = state_.check_content(action.initial, "allocation begin: initial");
    if (!content) {
      state_.recent_ = {};
      state_.allocations_.erase(action.id);
    }
    return content;
  }

  Result<void> operator()(const AllocationEnd& action) {
    const auto found = state_.allocations_.find(action.id);
    if (found == state_.allocations_.end() || found->second.ended) {
      return fail(Status::kCorrupt,
                  fmt::format("allocation end: allocation {} is not alive", action.id));
    }
    if (action.post.size_bytes > found->second.limit_bytes) {
      return fail(Status::kCorrupt,
                  fmt::format("allocation end: {} bytes of post-state in an allocation of {}",
                              action.post.size_bytes, found->second.limit_bytes));
    }
    GFXGRAPH_TRY(state_.check_stream(action.stream, "allocation end"));
    if (found->second.object && (action.post.stored || action.post.hash))
      return fail(Status::kCorrupt, "allocation end: a texture or surface with a post-state");
    GFXGRAPH_TRY(state_.check_content(action.post, "allocation end: post"));
    if (action.gone && (action.post.stored || action.post.hash)) {
      return fail(Status::kCorrupt, "allocation end: has a post-state but is marked gone");
    }
    found->second.ended = true;
    return {};
  }

  Result<void> operator()(const HostWrite& action) {
    GFXGRAPH_TRY(state_.check_memory(action.allocation, "host write"));
    GFXGRAPH_TRY(state_.check_range(action.allocation, action.offset_bytes,
                                    action.content.size_bytes, "host write"));
    return state_.check_content(action.content, "host write");
  }

  Result<void> operator()(const StreamCreate& action) {
    GFXGRAPH_TRY(state_.check_device(action.device, "stream create"));
    GFXGRAPH_TRY(create(state_.streams_, action.id, "stream create"));
    if (action.device != 0) state_.stream_devices_[action.id] = action.device;
    return {};
  }
  Result<void> operator()(const StreamDestroy& action) {
    if (state_.is_null_stream(action.id))
      return fail(Status::kCorrupt, "stream destroy: a null stream");
    return destroy(state_.streams_, action.id, "stream destroy");
  }
  Result<void> operator()(const EventCreate& action) {
    return create(state_.hip_events_, action.id, "event create");
  }
  Result<void> operator()(const EventDestroy& action) {
    return destroy(state_.hip_events_, action.id, "event destroy");
  }

  Result<void> operator()(const EventRecord& action) {
    GFXGRAPH_TRY(state_.check_event_id(action.event, "event record"));
    return state_.check_stream(action.stream, "event record");
  }
  Result<void> operator()(const StreamWait& action) {
    GFXGRAPH_TRY(state_.check_event_id(action.event, "stream wait"));
    return state_.check_stream(action.stream, "stream wait");
  }

  Result<void> operator()(const Synchronize& action) {
    switch (action.kind) {
      case SynchronizeKind::kDevice: return state_.check_device(action.object, "synchronize");
      case SynchronizeKind::kStream: return state_.check_stream(action.object, "synchronize");
      case SynchronizeKind::kStreamItself:
        if (!state_.is_null_stream(action.object))
          return state_.check_stream(action.object, "synchronize");
        return fail(Status::kCorrupt,
                    "synchronize: the null stream cannot be waited for by itself");
      case SynchronizeKind::kEvent: return state_.check_event_id(action.object, "synchronize");
      case SynchronizeKind::kHostFunction:
        if (action.object != 0 && action.object <= state_.last_host_function_) return {};
        return fail(Status::kCorrupt,
                    fmt::format("synchronize: host function {} was not issued", action.object));
    }
    return fail(Status::kCorrupt, "synchronize: unknown kind");
  }

  Result<void> operator()(const Launch& action) {
    GFXGRAPH_TRY(state_.check(action));
    return state_.check_device(action);
  }
  Result<void> operator()(const Copy& action) { return state_.check(action); }
  Result<void> operator()(const Memset& action) { return state_.check(action); }
  Result<void> operator()(const HostFunction& action) {
    GFXGRAPH_TRY(state_.check(action));
    return issue(action.id, 1, "host function");
  }
  Result<void> operator()(const Marker& action) {
    if (action.kind != MarkerKind::kName && action.allocation != 0) {
      return fail(Status::kCorrupt, "marker: an allocation, but no name");
    }
    switch (action.kind) {
      case MarkerKind::kMark:
        if (action.range == 0) return {};
        return fail(Status::kCorrupt, "marker: a mark has a range");
      case MarkerKind::kRangeBegin:
        if (action.range <= state_.last_range_) {
          return fail(Status::kCorrupt,
                      fmt::format("marker: range {} is already used", action.range));
        }
        state_.open_ranges_.insert(action.range);
        state_.last_range_ = action.range;
        return {};
      case MarkerKind::kRangeEnd:
        if (state_.open_ranges_.erase(action.range) != 0) return {};
        return fail(Status::kCorrupt, fmt::format("marker: range {} is not open", action.range));
      case MarkerKind::kName: {
        const auto found = state_.allocations_.find(action.allocation);
        if (found == state_.allocations_.end() || found->second.ended) {
          return fail(Status::kCorrupt,
                      fmt::format("marker: allocation {} is not alive", action.allocation));
        }
        if (action.text.empty() || action.range != 0) {
          return fail(Status::kCorrupt, "marker: a name is empty or has a range");
        }
        return check_name(action.text, "marker");
      }
    }
    return fail(Status::kCorrupt, "marker: unknown kind");
  }

  Result<void> operator()(const GraphLaunch& action) {
    if (action.graph == 0 || action.graph > state_.graphs_) {
      return fail(Status::kCorrupt,
                  fmt::format("graph launch: graph {} does not exist", action.graph));
    }
    GFXGRAPH_TRY(state_.check_stream(action.stream, "graph launch"));
    return issue(action.first_host_function, state_.graph_host_functions_[action.graph - 1],
                 "graph launch");
  }

  Result<void> operator()(const Checkpoint& action) {
    for (const Checkpoint::State& entry : action.states) {
      GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t limit,
                                state_.allocation_limit(entry.allocation, "checkpoint"));
      GFXGRAPH_TRY(state_.check_relocations(entry.relocations, limit, "checkpoint"));
    }
    return {};
  }

  Result<void> operator()(const CallFault& action) {
    if (action.call.empty()) return fail(Status::kCorrupt, "call fault: its call is empty");
    GFXGRAPH_TRY(check_name(action.call, "call fault"));
    GFXGRAPH_TRY(check_name(action.error, "call fault"));
    if (action.allocation == 0) {
      if (action.offset_bytes == 0 && action.size_bytes == 0 && !action.write) return {};
      return fail(Status::kCorrupt, "call fault: bytes of no allocation");
    }
    const auto found = state_.allocations_.find(action.allocation);
    if (found == state_.allocations_.end()) {
      return fail(Status::kCorrupt,
                  fmt::format("call fault: allocation {} has not begun", action.allocation));
    }
    if (action.offset_bytes <= found->second.limit_bytes) return {};
    return fail(Status::kCorrupt, fmt::format("call fault: byte {} of allocation {}",
                                              action.offset_bytes, action.allocation));
  }

 private:
  // The host functions from `first` on; 0: none of them was recorded.
  Result<void> issue(HostFunctionId first, uint32_t count, const char* what) {
    if (first == 0) return {};
    if (first <= state_.last_host_function_ || count == 0 || count - 1 > UINT32_MAX - first) {
      return fail(Status::kCorrupt,
                  fmt::format("{}: {} host functions from id {}", what, count, first));
    }
    state_.last_host_function_ = first + (count - 1);
    return {};
  }

  Result<void> check_name(const std::string& name, const char* what) const {
    if (name.size() <= kMostNameBytes && name.find('\0') == std::string::npos) return {};
    return fail(Status::kCorrupt,
                fmt::format("{}: a name of {} bytes, or with a NUL in it", what, name.size()));
  }

  Result<void> check_maker(const AllocationBegin& action) const {
    if (action.site == 0 && action.site_ordinal != 0) {
      return fail(Status::kCorrupt, "allocation begin: an ordinal without a site");
    }
    if (action.site != 0 && action.kind == AllocationKind::kModuleGlobal) {
      return fail(Status::kCorrupt, "allocation begin: a module global with a site");
    }
    return state_.check_site(action.site, "allocation begin");
  }

  Result<void> check_global(const AllocationBegin& action) const {
    const bool global = action.kind == AllocationKind::kModuleGlobal;
    if (global && (action.symbol.empty() || action.code_object == 0)) {
      return fail(Status::kCorrupt,
                  "allocation begin: a module global without code object or symbol");
    }
    if (!global && action.code_object != 0) {
      return fail(Status::kCorrupt, "allocation begin: a code object, but no module global");
    }
    if (action.code_object > state_.code_objects_) {
      return fail(Status::kCorrupt, fmt::format("allocation begin: code object {} does not exist",
                                                action.code_object));
    }
    if (global && state_.code_images_[action.code_object - 1] != 0) {
      return fail(Status::kCorrupt,
                  fmt::format("allocation begin: code object {} is for another target",
                              action.code_object));
    }
    if (global && action.device != state_.code_devices_[action.code_object - 1]) {
      return fail(Status::kCorrupt,
                  fmt::format("allocation begin: device {} for a variable of code object {}",
                              action.device, action.code_object));
    }
    return {};
  }

  // Readers have tables by id: an id far above the number of events would exhaust memory.
  Result<void> check_dense(uint32_t id, const char* what) const {
    constexpr uint64_t kSlack = 1u << 20;
    if (id <= state_.events_ + kSlack) return {};
    return fail(Status::kCorrupt, fmt::format("{}: id {} is out of range", what, id));
  }

  template <typename Map>
  Result<void> create(Map& map, uint32_t id, const char* what) {
    GFXGRAPH_TRY(check_dense(id, what));
    if (id == 0 || !map.emplace(id, false).second) {
      return fail(Status::kCorrupt, fmt::format("{}: id {} is already used", what, id));
    }
    return {};
  }

  template <typename Map>
  Result<void> destroy(Map& map, uint32_t id, const char* what) {
    const auto found = map.find(id);
    if (found == map.end() || found->second) {
      return fail(Status::kCorrupt, fmt::format("{}: id {} does not exist", what, id));
    }
    found->second = true;
    return {};
  }

  Checker& state_;
};

Result<void> Checker::add(const Event& event) {
  if (event.sequence != events_) {
    return fail(Status::kCorrupt,
                fmt::format("sequence number {}, expected {}", event.sequence, events_));
  }
  GFXGRAPH_TRY(check_site(event.site, "event"));
  GFXGRAPH_TRY(std::visit(EventChecker(*this), event.action));
  ++events_;
  return {};
}

}  // namespace gfxgraph::format

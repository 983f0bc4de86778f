#include "tools/extract/trace_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "format/write/content_writer.h"

namespace gfxgraph::tools {
namespace {

template <typename Id>
Id next_id(const std::unordered_map<Id, Id>& known) {
  return static_cast<Id>(known.size() + 1);
}

// Fills the rooms of a content one after another from pieces of any size.
class Pieces {
 public:
  explicit Pieces(format::ContentWriter& writer) : writer_(writer) {}

  Result<void> add(std::span<const std::byte> piece) {
    while (!piece.empty()) {
      if (room_.size() == filled_) {
        GFXGRAPH_ASSIGN_OR_RETURN(room_, writer_.room());
        filled_ = 0;
      }
      const size_t size = std::min(piece.size(), room_.size() - filled_);
      std::memcpy(room_.data() + filled_, piece.data(), size);
      filled_ += size;
      piece = piece.subspan(size);
      if (filled_ == room_.size()) GFXGRAPH_TRY(writer_.put());
    }
    return {};
  }

 private:
  format::ContentWriter& writer_;
  std::span<std::byte> room_;
  size_t filled_ = 0;
};

}  // namespace

TraceCopy::TraceCopy(const format::Trace& from, format::Writer& to) : from_(from), to_(to) {
  for (const format::Event& event : from.events()) {
    if (const auto* stream = std::get_if<format::StreamCreate>(&event.action))
      made_streams_[stream->id] = *stream;
    if (const auto* one = std::get_if<format::EventCreate>(&event.action))
      made_events_[one->id] = *one;
  }
}

Result<format::Content> TraceCopy::store(std::span<const std::byte> bytes) {
  format::ContentWriter writer(to_, bytes.size());
  GFXGRAPH_TRY(Pieces(writer).add(bytes));
  GFXGRAPH_ASSIGN_OR_RETURN(format::Content content, writer.finish());
  if (content.blob) stored_.insert(content.blob);
  return content;
}

Result<void> TraceCopy::add(const format::Event& at, format::Action action) {
  GFXGRAPH_ASSIGN_OR_RETURN(const bool kept,
                            std::visit([&](auto& one) { return use(one, at); }, action));
  if (!kept) return {};
  format::Event event;
  event.thread = at.thread;
  event.time_ns = at.time_ns;
  event.site = at.site;
  if (std::holds_alternative<format::AllocationBegin>(action)) event.site = 0;
  GFXGRAPH_TRY(use_site(event.site));
  event.action = std::move(action);
  GFXGRAPH_TRY(to_.add(std::move(event)));
  return {};
}

// ---- what is referred to ------------------------------------------------------------------------

Result<void> TraceCopy::use_device(format::DeviceNumber number) {
  for (const format::Device& device : from_.devices()) {
    if (device.number != number || streams_.contains(device.null_stream)) continue;
    const format::StreamId id = next_id(streams_);
    streams_[device.null_stream] = id;
    GFXGRAPH_TRY(to_.add(format::Device{number, id}));
  }
  return {};
}

Result<void> TraceCopy::begin_stream(format::StreamId& id, const format::Event& at) {
  if (id == 0) return {};
  for (const format::Device& device : from_.devices())
    if (device.null_stream == id) GFXGRAPH_TRY(use_device(device.number));
  if (const auto known = streams_.find(id); known != streams_.end()) {
    id = known->second;
    return {};
  }
  format::StreamCreate create = made_streams_[id];
  GFXGRAPH_TRY(use_device(create.device));
  create.id = next_id(streams_);
  streams_[id] = create.id;
  id = create.id;
  format::Event event;
  event.thread = at.thread;
  event.time_ns = at.time_ns;
  event.action = create;
  GFXGRAPH_TRY(to_.add(std::move(event)));
  return {};
}

Result<void> TraceCopy::begin_event(format::EventId& id, const format::Event& at) {
  if (const auto known = events_.find(id); known != events_.end()) {
    id = known->second;
    return {};
  }
  format::EventCreate create = made_events_[id];
  create.id = next_id(events_);
  events_[id] = create.id;
  id = create.id;
  format::Event event;
  event.thread = at.thread;
  event.time_ns = at.time_ns;
  event.action = create;
  GFXGRAPH_TRY(to_.add(std::move(event)));
  return {};
}

Result<void> TraceCopy::use_code(format::CodeObjectId& id) {
  if (id == 0) return {};
  if (const auto known = code_.find(id); known != code_.end()) {
    id = known->second;
    return {};
  }
  format::CodeObject code = from_.code_objects()[id - 1];
  GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> elf, from_.blob(code.elf));
  GFXGRAPH_ASSIGN_OR_RETURN(code.elf, to_.add_blob(elf));
  GFXGRAPH_TRY(use_device(code.device));
  code.id = next_id(code_);
  GFXGRAPH_TRY(to_.add(code));
  code_[id] = code.id;
  // With it, the same code for other targets.
  for (format::CodeObject image : from_.code_objects()) {
    if (image.image_of != id) continue;
    const format::CodeObjectId of = image.id;
    GFXGRAPH_ASSIGN_OR_RETURN(const std::span<const std::byte> other, from_.blob(image.elf));
    GFXGRAPH_ASSIGN_OR_RETURN(image.elf, to_.add_blob(other));
    image.id = next_id(code_);
    image.image_of = code.id;
    GFXGRAPH_TRY(to_.add(image));
    code_[of] = image.id;
  }
  id = code.id;
  return {};
}

Result<void> TraceCopy::use_kernel(format::KernelId& id) {
  if (const auto known = kernels_.find(id); known != kernels_.end()) {
    id = known->second;
    return {};
  }
  format::Kernel kernel = from_.kernels()[id - 1];
  GFXGRAPH_TRY(use_code(kernel.code_object));
  kernel.id = next_id(kernels_);
  GFXGRAPH_TRY(to_.add(kernel));
  kernels_[id] = kernel.id;
  id = kernel.id;
  return {};
}

Result<void> TraceCopy::use_site(format::SiteId& id) {
  if (id == 0) return {};
  if (const auto known = sites_.find(id); known != sites_.end()) {
    id = known->second;
    return {};
  }
  format::Site site = from_.sites()[id - 1];
  GFXGRAPH_TRY(use_site(site.caller));  // which has none itself
  site.id = next_id(sites_);
  GFXGRAPH_TRY(to_.add(site));
  sites_[id] = site.id;
  id = site.id;
  return {};
}

Result<void> TraceCopy::use_graph(format::GraphId& id, const format::Event& at) {
  if (const auto known = graphs_.find(id); known != graphs_.end()) {
    id = known->second;
    return {};
  }
  format::Graph graph = from_.graphs()[id - 1];
  for (format::GraphNode& node : graph.nodes)
    GFXGRAPH_TRY(std::visit([&](auto& action) { return use(action, at); }, node.action));
  graph.id = next_id(graphs_);
  GFXGRAPH_TRY(to_.add(graph));
  graphs_[id] = graph.id;
  id = graph.id;
  return {};
}

bool TraceCopy::use_allocation(format::AllocationId& id) const {
  const auto known = allocations_.find(id);
  if (known == allocations_.end()) return false;
  id = known->second;
  return true;
}

Result<void> TraceCopy::missing_allocation(const format::Event& at, format::AllocationId id) const {
  return fail(Status::kUnsupported,
              fmt::format("event {} uses buffer #{}, which was freed before", at.sequence, id));
}

void TraceCopy::use_relocations(std::vector<format::Relocation>& relocations) {
  dropped_ += std::erase_if(
      relocations, [this](format::Relocation& word) { return !use_allocation(word.allocation); });
}

Result<void> TraceCopy::use_content(format::Content& content) {
  use_relocations(content.relocations);
  if (!content.stored || content.unwritten || !content.blob || stored_.contains(content.blob))
    return {};
  format::ContentWriter writer(to_, content.size_bytes);
  Pieces pieces(writer);
  GFXGRAPH_TRY(from_.visit_content(
      content, [&](uint64_t, std::span<const std::byte> piece) { return pieces.add(piece); }));
  GFXGRAPH_ASSIGN_OR_RETURN(format::Content copy, writer.finish());
  copy.relocations = std::move(content.relocations);
  content = std::move(copy);
  if (content.blob) stored_.insert(content.blob);
  return {};
}

// ---- actions ------------------------------------------------------------------------------------

Result<bool> TraceCopy::use(format::AllocationBegin& begin, const format::Event& at) {
  if (begin.object) {
    auto object = std::make_shared<format::ImageObject>(*begin.object);
    if (!use_allocation(object->allocation)) {
      GFXGRAPH_TRY(missing_allocation(at, object->allocation));
    }
    begin.object = std::move(object);
  }
  const format::AllocationId id = next_id(allocations_);
  allocations_[begin.id] = id;
  begin.id = id;
  GFXGRAPH_TRY(begin_stream(begin.stream, at));
  GFXGRAPH_TRY(use_device(begin.device));
  GFXGRAPH_TRY(use_code(begin.code_object));
  GFXGRAPH_TRY(use_site(begin.site));
  GFXGRAPH_TRY(use_content(begin.initial));
  return true;
}

Result<bool> TraceCopy::use(format::AllocationEnd& end, const format::Event& at) {
  if (!use_allocation(end.id)) return false;
  GFXGRAPH_TRY(begin_stream(end.stream, at));
  GFXGRAPH_TRY(use_content(end.post));
  return true;
}

Result<bool> TraceCopy::use(format::HostWrite& write, const format::Event& at) {
  if (!use_allocation(write.allocation)) {
    GFXGRAPH_TRY(missing_allocation(at, write.allocation));
  }
  GFXGRAPH_TRY(use_content(write.content));
  return true;
}

// begin_stream() writes the event.
Result<bool> TraceCopy::use(format::StreamCreate& create, const format::Event& at) {
  GFXGRAPH_TRY(begin_stream(create.id, at));
  return false;
}

Result<bool> TraceCopy::use(format::StreamDestroy& destroy, const format::Event& at) {
  GFXGRAPH_TRY(begin_stream(destroy.id, at));
  return true;
}

Result<bool> TraceCopy::use(format::EventCreate& create, const format::Event& at) {
  GFXGRAPH_TRY(begin_event(create.id, at));
  return false;
}

Result<bool> TraceCopy::use(format::EventDestroy& destroy, const format::Event& at) {
  GFXGRAPH_TRY(begin_event(destroy.id, at));
  return true;
}

Result<bool> TraceCopy::use(format::EventRecord& record, const format::Event& at) {
  GFXGRAPH_TRY(begin_event(record.event, at));
  GFXGRAPH_TRY(begin_stream(record.stream, at));
  return true;
}

Result<bool> TraceCopy::use(format::StreamWait& wait, const format::Event& at) {
  GFXGRAPH_TRY(begin_event(wait.event, at));
  GFXGRAPH_TRY(begin_stream(wait.stream, at));
  return true;
}

Result<bool> TraceCopy::use(format::Synchronize& synchronize, const format::Event& at) {
  switch (synchronize.kind) {
    case format::SynchronizeKind::kDevice:
      GFXGRAPH_TRY(use_device(synchronize.object));
      return true;
    case format::SynchronizeKind::kEvent:
      GFXGRAPH_TRY(begin_event(synchronize.object, at));
      return true;
    case format::SynchronizeKind::kHostFunction: return functions_.contains(synchronize.object);
    case format::SynchronizeKind::kStream:
    case format::SynchronizeKind::kStreamItself:
      GFXGRAPH_TRY(begin_stream(synchronize.object, at));
      return true;
  }
  return true;
}

Result<bool> TraceCopy::use(format::Launch& launch, const format::Event& at) {
  GFXGRAPH_TRY(use_kernel(launch.kernel));
  GFXGRAPH_TRY(begin_stream(launch.stream, at));
  use_relocations(launch.relocations);
  return true;
}

Result<bool> TraceCopy::use(format::Copy& copy, const format::Event& at) {
  for (format::CopyEnd* end : {&copy.destination, &copy.source}) {
    if (end->allocation != 0 && !use_allocation(end->allocation)) {
      GFXGRAPH_TRY(missing_allocation(at, end->allocation));
    }
  }
  GFXGRAPH_TRY(begin_stream(copy.stream, at));
  GFXGRAPH_TRY(use_content(copy.host_source));
  GFXGRAPH_TRY(use_content(copy.host_result));
  return true;
}

Result<bool> TraceCopy::use(format::Memset& memset, const format::Event& at) {
  if (!use_allocation(memset.allocation)) {
    GFXGRAPH_TRY(missing_allocation(at, memset.allocation));
  }
  GFXGRAPH_TRY(begin_stream(memset.stream, at));
  return true;
}

Result<bool> TraceCopy::use(format::HostFunction& function, const format::Event& at) {
  GFXGRAPH_TRY(begin_stream(function.stream, at));
  if (function.id != 0) functions_.insert(function.id);
  return true;
}

Result<bool> TraceCopy::use(format::GraphLaunch& launch, const format::Event& at) {
  if (launch.first_host_function != 0) {
    format::HostFunctionId id = launch.first_host_function;
    for (const format::GraphNode& node : from_.graphs()[launch.graph - 1].nodes)
      if (std::holds_alternative<format::HostFunction>(node.action)) functions_.insert(id++);
  }
  GFXGRAPH_TRY(use_graph(launch.graph, at));
  GFXGRAPH_TRY(begin_stream(launch.stream, at));
  return true;
}

Result<bool> TraceCopy::use(format::Marker& marker, const format::Event&) {
  switch (marker.kind) {
    case format::MarkerKind::kMark: return true;
    case format::MarkerKind::kRangeBegin: ranges_.insert(marker.range); return true;
    case format::MarkerKind::kRangeEnd: return ranges_.erase(marker.range) != 0;
    case format::MarkerKind::kName: return use_allocation(marker.allocation);
  }
  return true;
}

Result<bool> TraceCopy::use(format::Checkpoint& checkpoint, const format::Event&) {
  std::erase_if(checkpoint.states, [this](format::Checkpoint::State& state) {
    return !use_allocation(state.allocation);
  });
  for (format::Checkpoint::State& state : checkpoint.states) use_relocations(state.relocations);
  return true;
}

Result<bool> TraceCopy::use(format::CallFault& fault, const format::Event&) {
  return fault.allocation == 0 || use_allocation(fault.allocation);
}

}  // namespace gfxgraph::tools

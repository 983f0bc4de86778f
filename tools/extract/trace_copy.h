// Copies parts of a trace into a new one, with new ids. Adds code, graphs, streams, events and call
// sites when a copied action refers to them.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "format/read/reader.h"
#include "format/write/writer.h"

namespace gfxgraph::tools {

// Both must outlive this. Not thread-safe.
class TraceCopy {
 public:
  TraceCopy(const format::Trace& from, format::Writer& to);

  // Adds an action with the ids of `from`; thread, time and call site come from `at`. Omits actions
  // that mean nothing in the new trace: the end, name or checkpoint of an allocation that is not in
  // it, and waits for host functions and ends of ranges that began before the part.
  Result<void> add(const format::Event& at, format::Action action);
  Result<void> add(const format::Event& event) { return add(event, event.action); }

  // Stores bytes in the new trace and returns the content to put into an action for add(), which
  // takes relocations with the ids of `from`.
  Result<format::Content> store(std::span<const std::byte> bytes);

  // Whether the new trace has this allocation.
  bool has(format::AllocationId id) const { return allocations_.contains(id); }
  // Pointers to memory that the new trace lacks; they keep their recorded values.
  uint64_t dropped_relocations() const { return dropped_; }

 private:
  Result<void> use_device(format::DeviceNumber number);
  Result<void> begin_stream(format::StreamId& id, const format::Event& at);
  Result<void> begin_event(format::EventId& id, const format::Event& at);
  Result<void> use_kernel(format::KernelId& id);
  Result<void> use_code(format::CodeObjectId& id);
  Result<void> use_site(format::SiteId& id);
  Result<void> use_graph(format::GraphId& id, const format::Event& at);
  Result<void> use_content(format::Content& content);
  void use_relocations(std::vector<format::Relocation>& relocations);
  bool use_allocation(format::AllocationId& id) const;
  Result<void> missing_allocation(const format::Event& at, format::AllocationId id) const;

  // Each translates the ids of an action; false: the action is omitted.
  Result<bool> use(format::AllocationBegin& begin, const format::Event& at);
  Result<bool> use(format::AllocationEnd& end, const format::Event& at);
  Result<bool> use(format::HostWrite& write, const format::Event& at);
  Result<bool> use(format::StreamCreate& create, const format::Event& at);
  Result<bool> use(format::StreamDestroy& destroy, const format::Event& at);
  Result<bool> use(format::EventCreate& create, const format::Event& at);
  Result<bool> use(format::EventDestroy& destroy, const format::Event& at);
  Result<bool> use(format::EventRecord& record, const format::Event& at);
  Result<bool> use(format::StreamWait& wait, const format::Event& at);
  Result<bool> use(format::Synchronize& synchronize, const format::Event& at);
  Result<bool> use(format::Launch& launch, const format::Event& at);
  Result<bool> use(format::Copy& copy, const format::Event& at);
  Result<bool> use(format::Memset& memset, const format::Event& at);
  Result<bool> use(format::HostFunction& function, const format::Event& at);
  Result<bool> use(format::GraphLaunch& launch, const format::Event& at);
  Result<bool> use(format::Marker& marker, const format::Event& at);
  Result<bool> use(format::Checkpoint& checkpoint, const format::Event& at);
  Result<bool> use(format::CallFault& fault, const format::Event& at);
  Result<bool> use(std::monostate&, const format::Event&) { return true; }

  const format::Trace& from_;
  format::Writer& to_;
  // As `from` made them.
  std::unordered_map<format::StreamId, format::StreamCreate> made_streams_;
  std::unordered_map<format::EventId, format::EventCreate> made_events_;
  // New ids by those of `from`.
  std::unordered_map<format::AllocationId, format::AllocationId> allocations_;
  std::unordered_map<format::StreamId, format::StreamId> streams_;
  std::unordered_map<format::EventId, format::EventId> events_;
  std::unordered_map<format::KernelId, format::KernelId> kernels_;
  std::unordered_map<format::CodeObjectId, format::CodeObjectId> code_;
  std::unordered_map<format::SiteId, format::SiteId> sites_;
  std::unordered_map<format::GraphId, format::GraphId> graphs_;
  std::unordered_set<format::HostFunctionId> functions_;
  std::unordered_set<format::RangeId> ranges_;  // that are open
  std::set<format::BlobId> stored_;             // in the new trace
  uint64_t dropped_ = 0;
};

}  // namespace gfxgraph::tools

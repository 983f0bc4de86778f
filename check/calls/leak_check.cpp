#include "check/calls/leak_check.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "format/names.h"

namespace gfxgraph::check {
namespace {

using format::AllocationId;
using format::AllocationKind;

constexpr uint64_t kNoSite = uint64_t{1} << 63;

struct Life {
  const format::AllocationBegin* begin = nullptr;
  uint64_t event = 0;
  bool freed = false;
  bool used = false;     // by anything
  bool pointed = false;  // memory holds its address: any launch may read it
  // The last copy to it that nothing has read.
  struct Unread {
    uint64_t event = 0;
    format::SiteId site = 0;
  };
  std::optional<Unread> unread;
};

// Whether only kernels and copies can read it, by an address that they are given.
bool of_device_alone(AllocationKind kind) {
  return kind == AllocationKind::kDevice || kind == AllocationKind::kStreamOrdered ||
         kind == AllocationKind::kArray;
}

class LeakCheck {
 public:
  LeakCheck(const format::Trace& trace, Sites& sites) : trace_(trace), sites_(sites) {}

  void run(std::vector<std::string>& notes) {
    for (const format::Event& event : trace_.events()) {
      at_ = &event;
      std::visit([this](const auto& action) { see(action); }, event.action);
    }
    if (!trace_.sealed()) {
      notes.push_back(
          "leakcheck: the recording was cut off, so what is left at its end says nothing");
    } else {
      for (const auto& [id, life] : lives_) leaked(life);
      for (const auto& [id, made] : streams_) object("hipStreamCreate", "stream", id, made);
      for (const auto& [id, made] : events_) object("hipEventCreate", "event", id, made);
    }
    if (outside_) {
      notes.push_back(
          "leakcheck: an argument points outside of its buffer, so any memory may be used: unused "
          "memory (L3) and copies (L4) were not looked for");
      return;
    }
    for (auto& [id, life] : lives_) {
      unread(life);
      if (life.used || !of_device_alone(life.begin->kind) || !life.begin->initial.unwritten)
        continue;
      memory(FindingClass::kL3, life, life.event, life.begin->site, "");
    }
  }

 private:
  struct Made {
    uint64_t event = 0;
    format::SiteId site = 0;
  };

  // ---- the trace ----
  template <typename Action>
  void see(const Action&) {}
  void see(const format::AllocationBegin& begin) {
    if (begin.size_bytes == 0 || begin.kind == AllocationKind::kModuleGlobal) return;
    Life& life = lives_[begin.id];
    life = Life();
    life.begin = &begin;
    life.event = at_->sequence;
    if (begin.object) use(begin.object->allocation);
    points(begin.initial.relocations);
  }
  void see(const format::AllocationEnd& end) {
    points(end.post.relocations);
    if (Life* const life = find(end.id)) life->freed = end.freed;
  }
  void see(const format::HostWrite& write) {
    use(write.allocation);
    points(write.content.relocations);
  }
  void see(const format::Launch& launch) {
    for (const format::Relocation& word : launch.relocations) {
      outside_ = outside_ || word.outside;
      read(word.allocation);
      // A texture, and the array that it is made of.
      const Life* const life = find(word.allocation);
      if (life != nullptr && life->begin->object) read(life->begin->object->allocation);
    }
  }
  void see(const format::Copy& copy) {
    points(copy.host_source.relocations);
    read(copy.source.allocation);
    use(copy.destination.allocation);
    Life* const life = find(copy.destination.allocation);
    if (life == nullptr || !of_device_alone(life->begin->kind)) return;
    life->unread = {at_->sequence, at_->site};
  }
  void see(const format::Memset& memset) { use(memset.allocation); }
  void see(const format::CallFault& fault) { read(fault.allocation); }
  void see(const format::GraphLaunch& launch) {
    if (launch.graph == 0 || launch.graph > trace_.graphs().size()) return;
    for (const format::GraphNode& node : trace_.graphs()[launch.graph - 1].nodes)
      std::visit([this](const auto& action) { see(action); }, node.action);
  }
  void see(const format::StreamCreate& create) { streams_[create.id] = {at_->sequence, at_->site}; }
  void see(const format::StreamDestroy& destroy) { streams_.erase(destroy.id); }
  void see(const format::EventCreate& create) { events_[create.id] = {at_->sequence, at_->site}; }
  void see(const format::EventDestroy& destroy) { events_.erase(destroy.id); }

  Life* find(AllocationId id) {
    const auto found = lives_.find(id);
    return found == lives_.end() ? nullptr : &found->second;
  }
  void use(AllocationId id) {
    if (Life* const life = find(id)) life->used = true;
  }
  void read(AllocationId id) {
    if (Life* const life = find(id)) {
      life->used = true;
      life->unread.reset();
    }
  }
  void points(const std::vector<format::Relocation>& words) {
    for (const format::Relocation& word : words) {
      outside_ = outside_ || word.outside;
      if (Life* const life = find(word.allocation)) life->used = life->pointed = true;
    }
  }

  // ---- findings ----
  void leaked(const Life& life) {
    if (life.freed) return;
    const format::AllocationBegin& begin = *life.begin;
    const bool image = format::is_image_object(begin.kind);
    memory(
        image ? FindingClass::kL2 : FindingClass::kL1, life, life.event, begin.site,
        fmt::format("{} memory of {} bytes", format::name_of(begin.kind).words, begin.size_bytes));
  }
  void unread(const Life& life) {
    if (!life.unread || life.pointed) return;
    memory(FindingClass::kL4, life, life.unread->event, life.unread->site,
           fmt::format("the copy of event {}", life.unread->event));
  }
  // One finding for all memory of one call of the program.
  void memory(FindingClass found, const Life& life, uint64_t event, format::SiteId site,
              std::string detail) {
    const format::AllocationBegin& begin = *life.begin;
    LaneEvent one = event_of(found, event, site);
    one.address = begin.recorded_address;
    one.mnemonic = fmt::format(
        "{} #{}", begin.array || begin.object ? format::name_of(begin.kind).key : "buffer",
        begin.id);
    if (!begin.name.empty()) one.mnemonic += fmt::format(" \"{}\"", begin.name);
    one.detail = std::move(detail);
    NearestBuffer near;
    near.allocation = begin.id;
    near.name = one.mnemonic;
    near.address = begin.recorded_address;
    near.size_bytes = near.mapped_bytes = begin.size_bytes;
    near.distance_bytes = -static_cast<int64_t>(begin.size_bytes);
    add(one, std::move(near));
  }
  void object(const char* call, const char* what, uint32_t id, const Made& made) {
    LaneEvent one = event_of(FindingClass::kL2, made.event, made.site);
    one.mnemonic = fmt::format("{} {}", what, id);
    one.detail = call;
    add(one, std::nullopt);
  }
  static LaneEvent event_of(FindingClass found, uint64_t event, format::SiteId site) {
    LaneEvent one;
    one.finding_class = found;
    one.trace_event = event;
    one.pc = site != 0 ? site : kNoSite | event;
    return one;
  }
  void add(const LaneEvent& event, std::optional<NearestBuffer> near) {
    sites_.add(0, event);
    const auto found = sites_.all().find({0, event.pc, event.finding_class});
    if (found == sites_.all().end() || found->second.nearest) return;
    found->second.event_sequence = event.trace_event;
    found->second.nearest = std::move(near);
  }

  const format::Trace& trace_;
  Sites& sites_;
  const format::Event* at_ = nullptr;
  bool outside_ = false;
  std::map<AllocationId, Life> lives_;
  std::map<format::StreamId, Made> streams_;
  std::map<format::EventId, Made> events_;
};

}  // namespace

void find_leaks(const format::Trace& trace, Sites& sites, std::vector<std::string>& notes) {
  LeakCheck(trace, sites).run(notes);
}

}  // namespace gfxgraph::check

#include "format/read/stored_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "base/file/file.h"
#include "format/container/chunks.h"

namespace gfxgraph::format {

bool StoredTrace::complete() const {
  return std::ranges::none_of(
      findings(), [](const Finding& finding) { return finding.kind == FindingKind::kIncomplete; });
}

Result<std::span<const std::byte>> StoredTrace::blob(BlobId id) const {
  try {
    return blobs_.get(id);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "no memory for a blob");
  }
}

Result<void> StoredTrace::read_blob(BlobId id, std::span<std::byte> out) const {
  return blobs_.read(id, out);
}

Result<std::vector<std::byte>> StoredTrace::content(const Content& content) const {
  if (!content.stored) {
    return fail(Status::kNotFound,
                fmt::format("only the hash of {} bytes was recorded", content.size_bytes));
  }
  try {
    if (content.size_bytes > physical_memory_bytes()) {
      return fail(Status::kOutOfMemory,
                  fmt::format("{} bytes exceed the memory of this machine", content.size_bytes));
    }
    std::vector<std::byte> bytes(content.size_bytes, std::byte{content.fill});
    if (content.blob) GFXGRAPH_TRY(blobs_.read(content.blob, bytes));
    return bytes;
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, fmt::format("no memory for {} bytes", content.size_bytes));
  }
}

Result<void> StoredTrace::visit_content(const Content& given, const Visitor& visit) const {
  try {
    if (given.stored && given.blob) return blobs_.visit(given.blob, visit);
    if (!given.stored || given.blob) {
      GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, content(given));
      return visit(0, bytes);
    }
    const std::vector<std::byte> bytes(std::min(given.size_bytes, kMaxChunkBytes),
                                       std::byte{given.fill});
    uint64_t at = 0;
    do {
      const uint64_t size = std::min<uint64_t>(bytes.size(), given.size_bytes - at);
      GFXGRAPH_TRY(visit(at, std::span(bytes).first(size)));
      at += size;
    } while (at < given.size_bytes);
    return {};
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "no memory for a chunk");
  }
}

uint64_t StoredTrace::nonzero_bytes(const Content& content) const {
  if (!content.stored || !content.blob) return Trace::nonzero_bytes(content);
  return blobs_.nonzero_bytes(content.blob);
}

Result<void> StoredTrace::check_blobs(std::span<const BlobId> ids) const {
  return blobs_.check(ids);
}

namespace {

BlobTable table_of(const HeldTrace& held) {
  BlobTable table;
  for (const HeldBlob& blob : held.blobs) {
    LoadedBlob loaded;
    loaded.view = {blob.header, blob.stored()};
    table.add(loaded);
  }
  return table;
}

class HeldReader : public StoredTrace {
 public:
  explicit HeldReader(std::shared_ptr<const HeldTrace> held)
      : StoredTrace(table_of(*held), {}, 0), held_(std::move(held)) {}

  const Environment& environment() const override { return held_->environment; }
  const std::vector<CodeObject>& code_objects() const override { return held_->code_objects; }
  const std::vector<Kernel>& kernels() const override { return held_->kernels; }
  const std::vector<Graph>& graphs() const override { return held_->graphs; }
  const std::vector<Site>& sites() const override { return held_->sites; }
  const std::vector<Device>& devices() const override { return held_->devices; }
  const std::vector<Finding>& findings() const override { return held_->findings; }
  const Statistics& statistics() const override { return held_->statistics; }
  bool sealed() const override { return true; }
  const std::string& torn_reason() const override {
    static const std::string none;
    return none;
  }

  // Most users visit events, and few need them all at hand.
  const std::vector<Event>& events() const override {
    GFXGRAPH_CHECK(loaded_.load(std::memory_order_acquire));
    return events_;
  }
  Result<void> load_events() const override {
    const std::lock_guard lock(loading_);
    if (loaded_) return {};
    try {
      events_.reserve(held_->statistics.events);
      GFXGRAPH_TRY(visit_events(kEveryAction, [&](const Event& event) -> Result<void> {
        events_.push_back(event);
        return {};
      }));
    } catch (const std::bad_alloc&) {
      events_.clear();
      return fail(Status::kOutOfMemory, "no memory for the events");
    }
    loaded_.store(true, std::memory_order_release);
    return {};
  }

  Result<void> visit_events(ActionKinds kinds, const EventVisitor& visit) const override {
    const std::vector<HeldLaunch>& launches = held_->launches;
    const size_t count = (kinds & kinds_of<Launch>()) != 0 ? launches.size() : 0;
    size_t next = 0;
    Event launch;
    const auto launches_before = [&](uint64_t sequence) -> Result<void> {
      for (; next < count && launches[next].sequence < sequence; ++next) {
        launches[next].put_into(launch);
        GFXGRAPH_TRY(visit(launch));
      }
      return {};
    };
    for (const Event& event : held_->events) {
      GFXGRAPH_TRY(launches_before(event.sequence));
      if ((kind_of(event.action) & kinds) != 0) GFXGRAPH_TRY(visit(event));
    }
    return launches_before(UINT64_MAX);
  }

 private:
  std::shared_ptr<const HeldTrace> held_;
  mutable std::mutex loading_;
  mutable std::atomic<bool> loaded_{false};
  mutable std::vector<Event> events_;
};

}  // namespace

std::shared_ptr<const Trace> open_held(std::shared_ptr<const HeldTrace> held) {
  return std::make_shared<const HeldReader>(std::move(held));
}

}  // namespace gfxgraph::format

// Contents that are large are read in pieces, which the writer's threads search for pointers, hash,
// compress and write while the next one is read. What is in memory is bounded; who reads waits for
// who writes.
#include "recorder/memory/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "format/write/content_writer.h"
#include "recorder/contract/sealing.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/program_memory.h"

namespace gfxgraph::recorder {
namespace {

constexpr size_t kMostNamedUnread = 32;

bool uniform(std::span<const std::byte> bytes) {
  return bytes.empty() || std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

format::Content unknown_content(const Allocation& allocation) {
  format::Content unknown;
  unknown.size_bytes = allocation.size_bytes;
  unknown.stored = false;
  return unknown;
}

}  // namespace

void Contents::write_into_beginning(const HostEffects::Change& change) {
  const auto found = std::ranges::find(deferred_begins_, change.allocation, &DeferredBegin::id);
  if (found == deferred_begins_.end() ||
      !range_fits(change.offset_bytes, change.bytes.size(), found->bytes.size())) {
    finding(format::FindingKind::kIncomplete, "host function",
            "it wrote memory that was allocated while it ran; the initial content of that memory "
            "is unknown");
    return;
  }
  found->written |= found->bytes.write(change.offset_bytes, change.bytes.all());
}

void Contents::append_beginning(format::AllocationBegin begin, const ReadPiece& read) {
  const format::AllocationId id = begin.id;
  const uint64_t size = begin.size_bytes;
  events_.note_runs_if_any();
  format::Event& event = events_.push(std::move(begin));
  if (!runs_.deferred().any_effect()) return;
  deferred_begins_.push_back(
      {id, &std::get<format::AllocationBegin>(event.action), store_.keep(size, read)});
}

format::Content Contents::make_content(std::span<const std::byte> bytes, bool store) {
  return make_content(bytes, store, allocations_.words(), nullptr);
}

format::Content Contents::make_content(std::span<const std::byte> bytes, bool store,
                                       const WordResolver& words, const Allocation* holder) {
  if (bytes.size() > kSmallBytes) {
    return *take_content(bytes.size(), store, words, holder,
                         [&](uint64_t offset, std::span<std::byte> piece) {
                           std::ranges::copy(bytes.subspan(offset, piece.size()), piece.begin());
                           return true;
                         });
  }
  format::Content content;
  content.size_bytes = bytes.size();
  content.hash = format::hash_bytes(bytes);
  content.stored = store;
  if (!bytes.empty() && uniform(bytes)) {
    content.fill = static_cast<uint8_t>(bytes[0]);
    content.stored = true;  // one byte says it all
  } else if (store && !bytes.empty()) {
    content.blob = check(journal_.writer().add_blob(bytes));
  }
  pointers::MemoryWords found(words);
  found.add(bytes);
  journal_.findings().near(content, found.near());
  content.relocations = found.take();
  traced_.take_in_targets(content.relocations, bytes, holder);
  traced_.mark_reachable(content.relocations, true);
  return content;
}

// Variables are not: no caller of a replay could bind them.
bool Contents::leaves_out(const Allocation& allocation) const {
  return options_.contents == WhichContents::kNone && !allocation.host_visible() &&
         allocation.kind != format::AllocationKind::kModuleGlobal;
}

format::Content Contents::first_content(const Allocation& allocation) {
  if (options_.contents == WhichContents::kInPlace) return unknown_content(allocation);
  if (!leaves_out(allocation)) return read_content(allocation, true, Held::kFirst);
  if (!std::exchange(left_out_, true)) {
    finding(format::FindingKind::kNote, "--contents none",
            "device memory contents are not in the trace, except words that look like pointers and "
            "buffers of one repeated byte; a replay begins the rest with zeros unless buffers are "
            "bound, and compares nothing");
  }
  return read_content(allocation, false, Held::kFirst);
}

format::Content Contents::post_content(const Allocation& allocation) {
  if (options_.post == PostState::kNone) return unknown_content(allocation);
  return read_content(allocation, options_.post == PostState::kFull, Held::kLast);
}

std::optional<format::Content> Contents::take_content(uint64_t size_bytes, bool store,
                                                      const WordResolver& words,
                                                      const Allocation* holder,
                                                      const ReadPiece& read) {
  if (size_bytes <= kSmallBytes) {
    std::vector<std::byte> bytes(size_bytes);
    if (!read(0, bytes)) return std::nullopt;
    return make_content(bytes, store, words, holder);
  }
  format::Content content;
  pointers::MemoryWords found(words);
  {
    // Its buffer is given back before the targets' contents are read.
    format::ContentWriter writer(journal_.writer(), size_bytes, store);
    for (uint64_t offset = 0; offset < size_bytes;) {
      const std::span<std::byte> piece = check(writer.room());
      if (!read(offset, piece)) return std::nullopt;
      check(writer.put([&found](std::span<const std::byte> bytes) { found.add(bytes); }));
      offset += piece.size();
      sealing_mark().add(piece.size());
    }
    content = check(writer.finish());
  }
  journal_.findings().near(content, found.near());
  content.relocations = found.take();
  traced_.take_in_targets(
      content.relocations, [&](uint64_t offset) { return found.held(offset); }, holder);
  traced_.mark_reachable(content.relocations, true);
  return content;
}

format::Content Contents::read_content(const Allocation& allocation, bool store, Held held) {
  if (allocation.absent) return unknown_content(allocation);
  if (allocation.object) return unknown_content(allocation);
  const auto read = [&](uint64_t offset, std::span<std::byte> piece) {
    if (allocation.host_visible()) return read_program(allocation.host_address + offset, piece);
    if (allocation.array) {
      return device_.read_array(allocation.device, piece.data(), allocation.array_handle,
                                *allocation.array, offset, piece.size());
    }
    return device_.read_on(allocation.device, piece.data(), allocation.address + offset,
                           piece.size());
  };
  if (allocation.unreadable) {
    note_unread(allocation, reading_for_, held);
    return unknown_content(allocation);
  }
  if (auto content =
          take_content(allocation.size_bytes, store, allocations_.words(), &allocation, read)) {
    return *std::move(content);
  }
  note_unread(allocation, reading_for_, held);
  return unknown_content(allocation);
}

// Missing initial contents make the trace incomplete; final contents are only compared.
void Contents::note_unread(const Allocation& allocation, std::string_view call, Held held) {
  const auto kind =
      held == Held::kFirst ? format::FindingKind::kIncomplete : format::FindingKind::kNote;
  const char* const which = held == Held::kFirst ? "what it held before" : "its state";
  // A device that is lost reads nothing more.
  if (unread_++ >= kMostNamedUnread) {
    return finding(kind, call, fmt::format("one more buffer cannot be read: {} is unknown", which));
  }
  finding(kind, call, fmt::format("{} cannot be read: {} is unknown", describe(allocation), which));
}

void Contents::note_lost_bytes() {
  if (!store_.failed()) return;
  if (const std::optional<std::string> why = store_.take_error()) {
    finding_now(format::FindingKind::kIncomplete, "temporary file",
                *why +
                    ": initial contents of memory that the program may overwrite are lost; the "
                    "file is beside the trace");
  }
}

void Contents::resolve_beginnings() {
  for (size_t i = 0; i < deferred_begins_.size(); ++i) {  // what they lead to may add some
    if (!std::exchange(deferred_begins_[i].written, false)) continue;
    const KeptBytes bytes = deferred_begins_[i].bytes;
    auto content = take_content(bytes.size(), true, allocations_.words(), nullptr, bytes.reader());
    if (content) deferred_begins_[i].begin->initial = *std::move(content);
  }
  if (!runs_.deferred().any_effect()) deferred_begins_.clear();
}

void Contents::forget_trace() {
  left_out_ = false;
  deferred_begins_.clear();
}

}  // namespace gfxgraph::recorder

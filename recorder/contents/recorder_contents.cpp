// Contents that are large: read in pieces, which the writer's threads compress and write while the
// next one is read. What is in memory is bounded; who reads waits for who writes.
#include <fmt/format.h>

#include "format/content_writer.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

constexpr size_t kMostNamedUnread = 32;

}  // namespace

std::optional<format::Content> Recorder::take_content(uint64_t size_bytes, bool store,
                                                      const WordResolver& words,
                                                      const Allocation* holder,
                                                      const ReadPiece& read) {
  if (size_bytes <= kSmallBytes) {
    std::vector<std::byte> bytes(size_bytes);
    if (!read(0, bytes)) return std::nullopt;
    return make_content(bytes, store, words, holder);
  }
  format::Content content;
  MemoryWords found(words);
  {
    // Its buffer is given back before the targets' contents are read.
    format::ContentWriter writer(journal_.writer(), size_bytes, store);
    for (uint64_t offset = 0; offset < size_bytes;) {
      const std::span<std::byte> piece = check(writer.room());
      if (!read(offset, piece)) return std::nullopt;
      found.add(piece);
      check(writer.put());
      offset += piece.size();
    }
    content = check(writer.finish());
  }
  journal_.findings().near(content, found);
  content.relocations = found.take();
  take_in_targets(content.relocations, [&](uint64_t offset) { return found.held(offset); }, holder);
  mark_reachable(content.relocations, true);
  return content;
}

format::Content Recorder::read_content(const Allocation& allocation, bool store, Held held) {
  if (allocation.host_visible()) {
    return make_content(visible_bytes(allocation), store, words_, &allocation);
  }
  const auto read = [&](uint64_t offset, std::span<std::byte> piece) {
    return device_->read(piece.data(), allocation.address + offset, piece.size());
  };
  if (auto content = take_content(allocation.size_bytes, store, words_, &allocation, read)) {
    return *std::move(content);
  }
  note_unread(allocation, reading_for_, held);
  format::Content unknown;
  unknown.size_bytes = allocation.size_bytes;
  unknown.stored = false;
  return unknown;
}

// What work was given and a replay lacks makes the trace incomplete; a last state is only compared.
void Recorder::note_unread(const Allocation& allocation, std::string_view call, Held held) {
  const auto kind =
      held == Held::kFirst ? format::FindingKind::kIncomplete : format::FindingKind::kNote;
  const char* const which = held == Held::kFirst ? "what it held before" : "its state";
  // A device that is lost reads nothing more.
  if (unread_++ >= kMostNamedUnread) {
    return finding(kind, call, fmt::format("one more buffer cannot be read: {} is unknown", which));
  }
  finding(kind, call, fmt::format("{} cannot be read: {} is unknown", describe(allocation), which));
}

// What was to be kept for later, and is lost.
void Recorder::note_lost_bytes() {
  if (!store_.failed()) return;
  if (const std::optional<std::string> why = store_.take_error()) {
    finding_now(format::FindingKind::kIncomplete, "temporary file",
                *why +
                    ": what memory held that the program may write meanwhile is lost; the file "
                    "stands beside the trace");
  }
}

}  // namespace gfxgraph::recorder

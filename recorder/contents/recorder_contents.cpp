// Contents that are large: read in pieces, which the writer's threads compress and write while the
// next one is read. What is in memory is bounded; who reads waits for who writes.
#include "format/content_writer.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

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
    format::ContentWriter writer(*writer_, size_bytes, store);
    for (uint64_t offset = 0; offset < size_bytes;) {
      const std::span<std::byte> piece = check(writer.room());
      if (!read(offset, piece)) return std::nullopt;
      found.add(piece);
      check(writer.put());
      offset += piece.size();
    }
    content = check(writer.finish());
  }
  findings_.near(content, found);
  content.relocations = found.take();
  take_in_targets(content.relocations, [&](uint64_t offset) { return found.held(offset); }, holder);
  mark_reachable(content.relocations, true);
  return content;
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

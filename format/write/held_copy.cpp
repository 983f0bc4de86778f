#include "format/write/held_copy.h"

#include <algorithm>
#include <utility>

#include "format/read/stored_trace.h"
#include "format/write/content_writer.h"

namespace gfxgraph::format {
namespace {

// As the recorder stores large contents: chunks that the file has already are not written again.
Result<void> copy_chunked(const Trace& from, const HeldBlob& blob, Writer& to) {
  ContentWriter pieces(to, blob.header.size_bytes);
  std::span<std::byte> room;
  size_t filled = 0;
  Content content;
  content.size_bytes = blob.header.size_bytes;
  content.blob = blob.header.id;
  const auto take = [&](uint64_t, std::span<const std::byte> bytes) -> Result<void> {
    while (!bytes.empty()) {
      if (filled == 0) {
        GFXGRAPH_ASSIGN_OR_RETURN(room, pieces.room());
      }
      const size_t size = std::min(bytes.size(), room.size() - filled);
      std::ranges::copy(bytes.first(size), room.begin() + static_cast<ptrdiff_t>(filled));
      bytes = bytes.subspan(size);
      filled += size;
      if (filled != room.size()) continue;
      filled = 0;
      GFXGRAPH_TRY(pieces.put());
    }
    return {};
  };
  GFXGRAPH_TRY(from.visit_content(content, take));
  GFXGRAPH_TRY(pieces.finish());
  return {};
}

Result<void> add(Writer& to, const auto& items) {
  for (const auto& item : items) GFXGRAPH_TRY(to.add(item));
  return {};
}

}  // namespace

Result<void> copy_held(const HeldTrace& held, Writer& to) {
  // Owns nothing: it lives as long as this call.
  GFXGRAPH_ASSIGN_OR_RETURN(
      const std::shared_ptr<const Trace> from,
      Trace::of(std::shared_ptr<const HeldTrace>(std::shared_ptr<const HeldTrace>(), &held)));
  GFXGRAPH_TRY(to.add(held.environment));
  GFXGRAPH_TRY(add(to, held.devices));
  GFXGRAPH_TRY(add(to, held.sites));
  for (const HeldBlob& blob : held.blobs) {
    if (blob.header.codec == BlobCodec::kChunks) {
      GFXGRAPH_TRY(copy_chunked(*from, blob, to));
    } else {
      GFXGRAPH_TRY(to.add_blob(blob.stored()));
    }
  }
  GFXGRAPH_TRY(add(to, held.code_objects));
  GFXGRAPH_TRY(add(to, held.kernels));
  size_t graph = 0;
  uint64_t events = 0;
  const auto graphs_here = [&]() -> Result<void> {
    for (; graph < held.graphs.size() && held.events_before_graphs[graph] <= events; ++graph)
      GFXGRAPH_TRY(to.add(held.graphs[graph]));
    return {};
  };
  const auto take = [&](const Event& event) -> Result<void> {
    GFXGRAPH_TRY(graphs_here());
    ++events;
    GFXGRAPH_TRY(to.add(event));
    return {};
  };
  GFXGRAPH_TRY(from->visit_events(kEveryAction, take));
  GFXGRAPH_TRY(graphs_here());
  GFXGRAPH_TRY(add(to, held.findings));
  return to.seal();
}

}  // namespace gfxgraph::format

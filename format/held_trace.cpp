#include "format/held_trace.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gfxgraph::format {

const void* KeptArrays::copy(const void* bytes, size_t size) {
  const size_t room = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (room > room_.size()) {
    const size_t all = std::max(room, kBlockBytes);
    room_ = {blocks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(all)).get(), all};
  }
  std::byte* const at = room_.data();
  room_ = room_.subspan(room);
  std::memcpy(at, bytes, size);
  return at;
}

void HeldLaunch::put_into(Event& event) const {
  auto* launch = std::get_if<Launch>(&event.action);
  if (launch == nullptr) launch = &event.action.emplace<Launch>();
  event.sequence = sequence;
  event.thread = thread;
  event.time_ns = time_ns;
  event.site = site;
  launch->kernel = kernel;
  launch->stream = stream;
  launch->grid = grid;
  launch->grid_remainder = grid_remainder;
  launch->block = block;
  launch->dynamic_lds_bytes = dynamic_lds_bytes;
  launch->cooperative = cooperative;
  launch->kernarg.assign(kernarg, kernarg + kernarg_bytes);
  launch->relocations.assign(relocations, relocations + relocation_count);
}

void HeldTrace::keep(const Graph& item) {
  events_before_graphs.push_back(events.size() + launches.size());
  graphs.push_back(item);
}

void HeldTrace::keep(Event& event) {
  const auto* const launch = std::get_if<Launch>(&event.action);
  if (launch == nullptr) {
    events.push_back(std::move(event));
    return;
  }
  HeldLaunch kept;
  kept.sequence = event.sequence;
  kept.time_ns = event.time_ns;
  kept.kernarg = arrays_.keep(launch->kernarg);
  kept.relocations = arrays_.keep(launch->relocations);
  kept.kernarg_bytes = static_cast<uint32_t>(launch->kernarg.size());
  kept.relocation_count = static_cast<uint32_t>(launch->relocations.size());
  kept.thread = event.thread;
  kept.site = event.site;
  kept.kernel = launch->kernel;
  kept.stream = launch->stream;
  kept.grid = launch->grid;
  kept.grid_remainder = launch->grid_remainder;
  kept.block = launch->block;
  kept.dynamic_lds_bytes = launch->dynamic_lds_bytes;
  kept.cooperative = launch->cooperative;
  launches.push_back(kept);
}

void HeldTrace::keep(const BlobHeader& header, std::span<const std::byte> stored) {
  HeldBlob& blob = blobs.emplace_back();
  blob.header = header;
  blob.record.reserve(kBlobHeaderBytes + stored.size());
  const auto encoded = encode_blob_header(header);
  blob.record.insert(blob.record.end(), encoded.begin(), encoded.end());
  blob.record.insert(blob.record.end(), stored.begin(), stored.end());
}

// GFXGRAPH_HELD_HEADERS: a hash of the headers that define it (CMakeLists.txt).
const char* held_layout() noexcept {
#define GFXGRAPH_TEXT_OF(value) #value
#define GFXGRAPH_TEXT(value) GFXGRAPH_TEXT_OF(value)
#ifdef _GLIBCXX_DEBUG
#define GFXGRAPH_CONTAINERS "debug"
#else
#define GFXGRAPH_CONTAINERS "release"
#endif
  return GFXGRAPH_HELD_HEADERS " " __VERSION__ " " GFXGRAPH_TEXT(
      _GLIBCXX_RELEASE) " " GFXGRAPH_TEXT(_GLIBCXX_USE_CXX11_ABI) " " GFXGRAPH_CONTAINERS;
#undef GFXGRAPH_CONTAINERS
#undef GFXGRAPH_TEXT
#undef GFXGRAPH_TEXT_OF
}

}  // namespace gfxgraph::format

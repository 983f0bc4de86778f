#include "recorder/events/sources_in_flight.h"

#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "recorder/bytes/kept_bytes.h"
#include "recorder/events/host_memory.h"

namespace gfxgraph::recorder {
namespace {

// Nothing if a byte cannot be read.
std::optional<uint64_t> hash_of_source(const RawCopy& copy) {
  const std::optional<HostRows> rows = HostRows::of(copy, copy.source);
  if (!rows) return std::nullopt;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  if (!state) throw std::bad_alloc();
  XXH3_64bits_reset(state.get());
  std::vector<std::byte> piece(std::min<uint64_t>(rows->size_bytes(), ByteStore::kPieceBytes));
  for (uint64_t at = 0; at < rows->size_bytes(); at += piece.size()) {
    const auto part =
        std::span(piece).first(std::min<uint64_t>(piece.size(), rows->size_bytes() - at));
    if (!rows->read(at, part)) return std::nullopt;
    XXH3_64bits_update(state.get(), part.data(), part.size());
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace

void SourcesInFlight::add(format::AllocationId source, const RawCopy& copy,
                          format::StreamId stream) {
  if (const std::optional<uint64_t> hash = hash_of_source(copy))
    sources_.push_back({source, copy, *hash, flights_.issue_read(stream)});
}

void SourcesInFlight::host_learned(bool late) {
  std::erase_if(sources_, [&](const Source& source) {
    if (!flights_.host_follows_read(source.read)) return false;
    if (!late) compare(source);
    return true;
  });
}

void SourcesInFlight::end() {
  for (const Source& source : sources_) {
    compare(source);
    flights_.forget_read(source.read);
  }
  sources_.clear();
}

void SourcesInFlight::compare(const Source& source) {
  if (allocations_.living(source.allocation) == nullptr) return;
  const std::optional<uint64_t> now = hash_of_source(source.copy);
  if (!now || *now == source.hash) return;
  finding(format::FindingKind::kIncomplete, "host memory",
          "the source of a copy changed before the host knew that the copy was done, while a host "
          "function might run: which bytes were copied is unknown");
}

}  // namespace gfxgraph::recorder

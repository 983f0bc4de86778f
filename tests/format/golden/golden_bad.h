// What damaged traces are made of: a small whole one, with something changed.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "base/cursor.h"
#include "format/codec/pack.h"
#include "format/container/chunks.h"
#include "golden/golden_cases.h"
#include "trace_builder.h"

namespace gfxgraph::format {

template <typename T>
std::vector<std::byte> packed(const T& item) {
  Packer packer;
  const std::span<const std::byte> payload = packer.pack(item);
  return {payload.begin(), payload.end()};
}

std::vector<std::byte> packed_events(std::vector<Action> actions, uint64_t first);
std::vector<std::byte> raw(const flatbuffers::FlatBufferBuilder& builder);

// Preamble, stream 1, event 1, allocations 1 (4096 bytes) and 2 (32 bytes): 4 events.
std::vector<RawRecord> base_records();

// What base_records() say in their summary.
Statistics base_statistics();

// The base with one more record before the summary. The summary's counts are then wrong, too, but
// the reader must have stopped before.
std::vector<std::byte> with_record(RecordKind kind, std::vector<std::byte> payload,
                                   uint32_t flags = 0);
std::vector<std::byte> with_event(Action action);
std::vector<std::byte> with_launch(const std::function<void(Launch&)>& change);
std::vector<std::byte> with_copy(const std::function<void(Copy&)>& change);
std::vector<std::byte> with_memset(const std::function<void(Memset&)>& change);
std::vector<std::byte> with_kernel(const std::function<void(Kernel&)>& change);
std::vector<std::byte> with_graph(const std::function<void(Graph&)>& change);
std::vector<std::byte> with_site(const std::function<void(Site&)>& change);
std::vector<std::byte> with_known(const std::function<void(std::vector<KnownWords>&)>& change);
std::vector<std::byte> with_begin(const std::function<void(AllocationBegin&)>& change);
// The base with sample_images(1, 3), changed, and then with `more`.
std::vector<std::byte> with_images(const std::function<void(std::vector<AllocationBegin>&)>& change,
                                   std::vector<Action> more = {});
// The same with `change` of one of them: 0 the array, 1 a texture, 2 a surface, 3 linear, 4
// pitched.
std::vector<std::byte> with_array(const std::function<void(ArrayShape&)>& change);
std::vector<std::byte> with_object(size_t which, const std::function<void(ImageObject&)>& change);
std::vector<std::byte> with_content(const std::function<void(Content&)>& change);
// The base with an index, which the summary names `shift` bytes behind where it stands.
std::vector<std::byte> with_index(const std::function<void(std::vector<std::byte>&)>& change,
                                  uint64_t shift = 0);
std::vector<std::byte> with_blob(BlobHeader header, const std::vector<std::byte>& stored);

// `bytes` with a number changed and nothing repaired.
template <typename T>
std::vector<std::byte> patched(std::vector<std::byte> bytes, size_t at, T value) {
  store_le(bytes.data() + at, value);
  return bytes;
}

// Cases of golden_bad_images.cpp.
void add_device_cases(std::vector<GoldenCase>& cases);
void add_image_cases(std::vector<GoldenCase>& cases);

std::vector<std::byte> base();
std::vector<std::byte> cut(size_t keep);

}  // namespace gfxgraph::format

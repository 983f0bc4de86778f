#include "golden/golden_bad.h"

#include <utility>

namespace gfxgraph::format {

std::vector<std::byte> packed_events(std::vector<Action> actions, uint64_t first) {
  std::vector<Event> events;
  for (Action& action : actions) {
    events.push_back(event_of(std::move(action)));
    events.back().sequence = first++;
  }
  return packed(std::span<const Event>(events));
}

std::vector<std::byte> raw(const flatbuffers::FlatBufferBuilder& builder) {
  const auto* at = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {at, at + builder.GetSize()};
}

std::vector<RawRecord> base_records() {
  return split_records(trace_bytes([](Writer& writer) {
    GFXGRAPH_CHECK(add_preamble(writer).has_value());
    for (const Action& action :
         std::vector<Action>{StreamCreate{1, 0, 0}, EventCreate{1, 0}, sample_allocation(1),
                             sample_allocation(2, 32)}) {
      GFXGRAPH_CHECK(writer.add(event_of(action)).has_value());
    }
  }));
}

Statistics base_statistics() {
  Statistics statistics;
  statistics.events = 4;
  statistics.allocations = 2;
  statistics.kernels = statistics.code_objects = statistics.blobs = 1;
  statistics.blob_bytes = statistics.stored_blob_bytes = 23;
  return statistics;
}

std::vector<std::byte> with_record(RecordKind kind, std::vector<std::byte> payload,
                                   uint32_t flags) {
  std::vector<RawRecord> records = base_records();
  records.insert(records.end() - 1, RawRecord{kind, flags, std::move(payload)});
  return join_records(records);
}

std::vector<std::byte> with_event(Action action) {
  return with_record(RecordKind::kEvents, packed_events({std::move(action)}, 4));
}

std::vector<std::byte> with_launch(const std::function<void(Launch&)>& change) {
  Launch launch = sample_launch(1, 1);
  change(launch);
  return with_event(launch);
}

std::vector<std::byte> with_copy(const std::function<void(Copy&)>& change) {
  Copy copy;
  copy.destination.allocation = 1;
  copy.source.allocation = 2;
  copy.width_bytes = 32;
  change(copy);
  return with_event(copy);
}

std::vector<std::byte> with_memset(const std::function<void(Memset&)>& change) {
  Memset memset;
  memset.allocation = 1;
  memset.width_elements = 32;
  change(memset);
  return with_event(memset);
}

std::vector<std::byte> with_kernel(const std::function<void(Kernel&)>& change) {
  Kernel kernel = sample_kernel(2);
  change(kernel);
  return with_record(RecordKind::kKernel, packed(kernel));
}

std::vector<std::byte> with_graph(const std::function<void(Graph&)>& change) {
  Graph graph;
  graph.id = 1;
  graph.nodes = {{sample_launch(1, 1), {}}, {std::monostate{}, {0}}};
  change(graph);
  return with_record(RecordKind::kGraph, packed(graph));
}

std::vector<std::byte> with_site(const std::function<void(Site&)>& change) {
  Site site{1, "/opt/app/decode", "", "main", 0x1234, 0x34, true, true};
  change(site);
  return with_record(RecordKind::kSite, packed(site), kFlagOptional);
}

std::vector<std::byte> with_known(const std::function<void(std::vector<KnownWords>&)>& change) {
  std::vector<KnownWords> places = {
      {{2, 0, 0, WordPart::kInitial}, {{0, WordVerdict::kData}, {8, WordVerdict::kPointer}}},
      {{3, 0, 0, WordPart::kInitial}, {{16, WordVerdict::kPointer}}}};
  change(places);
  Packer packer;
  const std::span<const std::byte> payload = packer.pack_provenance(places);
  return with_record(RecordKind::kProvenance, {payload.begin(), payload.end()}, kFlagOptional);
}

std::vector<std::byte> with_begin(const std::function<void(AllocationBegin&)>& change) {
  AllocationBegin begin = sample_allocation(3, 64);
  change(begin);
  return with_event(begin);
}

std::vector<std::byte> with_images(const std::function<void(std::vector<AllocationBegin>&)>& change,
                                   std::vector<Action> more) {
  std::vector<AllocationBegin> images = sample_images(1, 3);
  change(images);
  std::vector<Action> actions(images.begin(), images.end());
  actions.insert(actions.end(), more.begin(), more.end());
  return with_record(RecordKind::kEvents, packed_events(std::move(actions), 4));
}

std::vector<std::byte> with_array(const std::function<void(ArrayShape&)>& change) {
  return with_images([&](std::vector<AllocationBegin>& images) {
    ArrayShape shape = *images[0].array;
    change(shape);
    images[0].array = std::make_shared<const ArrayShape>(shape);
  });
}

std::vector<std::byte> with_object(size_t which, const std::function<void(ImageObject&)>& change) {
  return with_images([&](std::vector<AllocationBegin>& images) {
    ImageObject object = *images[which].object;
    change(object);
    images[which].object = std::make_shared<const ImageObject>(object);
  });
}

std::vector<std::byte> with_content(const std::function<void(Content&)>& change) {
  HostWrite write{2, 0, {}};
  write.content.size_bytes = 32;
  change(write.content);
  return with_event(write);
}

std::vector<std::byte> with_blob(BlobHeader header, const std::vector<std::byte>& stored) {
  const auto encoded = encode_blob_header(header);
  std::vector<std::byte> payload(encoded.size() + stored.size());
  std::ranges::copy(encoded, payload.begin());
  std::ranges::copy(stored, payload.begin() + encoded.size());
  std::vector<RawRecord> records = base_records();
  // The summary counts it, so that reading the blob is what fails.
  Statistics statistics = base_statistics();
  ++statistics.blobs;
  statistics.blob_bytes += header.codec == BlobCodec::kChunks ? stored.size() : header.size_bytes;
  statistics.stored_blob_bytes += stored.size();
  Packer packer;
  const auto summary = packer.pack_summary(statistics, 0, 0);
  records.back().payload = {summary.begin(), summary.end()};
  records.insert(records.end() - 1, RawRecord{RecordKind::kBlob, 0, std::move(payload)});
  return join_records(records);
}

std::vector<std::byte> with_index(const std::function<void(std::vector<std::byte>&)>& change,
                                  uint64_t shift) {
  std::vector<RawRecord> records = base_records();
  records.pop_back();
  const uint64_t offset = join_records(records).size() - kFooterBytes;
  std::vector<std::byte> index = index_of(records);
  change(index);
  records.push_back({RecordKind::kIndex, kFlagOptional, std::move(index)});
  Packer packer;
  const auto summary = packer.pack_summary(base_statistics(), 0, 0, offset + shift);
  records.push_back({RecordKind::kSummary, 0, {summary.begin(), summary.end()}});
  return join_records(records);
}

std::vector<std::byte> base() { return join_records(base_records()); }

std::vector<std::byte> cut(size_t keep) {
  std::vector<std::byte> bytes = base();
  bytes.resize(keep);
  return bytes;
}

}  // namespace gfxgraph::format

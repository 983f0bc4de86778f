#include "trace_builder.h"

#include <algorithm>
#include <array>

#include "format/container/chunks.h"
#include "format/container/container_writer.h"
#include "format/write/writer_internal.h"

namespace gfxgraph::format {
namespace {

class MemoryFile : public OutputFile {
 public:
  explicit MemoryFile(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  Result<void> write(std::span<const std::span<const std::byte>> parts) override {
    for (const std::span<const std::byte>& part : parts) {
      bytes_.insert(bytes_.end(), part.begin(), part.end());
    }
    return {};
  }
  Result<void> commit() override { return {}; }
  void abandon() noexcept override {}

 private:
  std::vector<std::byte>& bytes_;
};

Content pointer_content(BlobId blob, AllocationId target) {
  Content content = blob_content(blob, 32);
  content.relocations = {{0, target, 16, RelocationSource::kProven, false},
                         {24, target, 0, RelocationSource::kMatched, true}};
  return content;
}

Result<void> add_allocations(Writer& writer, BlobId table) {
  AllocationBegin first = sample_allocation(1);
  first.mapped_bytes = 65536;
  first.initial.size_bytes = 4096;
  first.initial.fill = 0xab;
  AllocationBegin second = sample_allocation(2, 32);
  second.kind = AllocationKind::kManaged;
  second.host_address = second.recorded_address;
  second.flags = 1;
  second.initial = pointer_content(table, 2);
  AllocationBegin third = sample_allocation(3, 256);
  third.kind = AllocationKind::kModuleGlobal;
  third.code_object = 1;
  third.symbol = "table";
  third.initial.size_bytes = 256;
  third.initial.stored = false;
  third.initial.hash = {1, 2};
  AllocationBegin fourth = sample_allocation(4, 1024);
  fourth.kind = AllocationKind::kStreamOrdered;
  fourth.stream = 1;
  for (const AllocationBegin& begin : {first, second, third, fourth}) {
    GFXGRAPH_TRY(writer.add(event_of(begin)));
  }
  return {};
}

Copy sample_copy(BlobId table) {
  Copy copy;
  copy.destination = {1, 128, 64, 0};
  copy.width_bytes = 8;
  copy.height = 4;
  copy.host_source = blob_content(table, 32);
  copy.asynchronous = true;
  copy.stream = 1;
  return copy;
}

Memset sample_memset() {
  Memset memset;
  memset.allocation = 4;
  memset.offset_bytes = 4;
  memset.element_bytes = 2;
  memset.value = 0xbeef;
  memset.width_elements = 10;
  memset.stream = 1;
  return memset;
}

Result<void> add_graph(Writer& writer, BlobId table) {
  Graph graph;
  graph.id = 1;
  graph.nodes = {{sample_launch(1, 2), {}},
                 {sample_copy(table), {0}},
                 {sample_memset(), {0}},
                 {std::monostate{}, {1, 2}},
                 {HostFunction{0, "hipGraphAddHostNode"}, {3}}};
  graph.nodes[0].action = sample_launch(1, 1);
  return writer.add(graph);
}

Result<void> add_work(Writer& writer, BlobId table) {
  Copy back;
  back.source = {1, 0, 0, 0};
  back.width_bytes = 32;
  back.host_result = blob_content(table, 32);
  HostWrite write{2, 0, pointer_content(table, 1)};
  Checkpoint checkpoint;
  checkpoint.states = {{1, {3, 4}, {}}, {2, {5, 6}, {{8, 1, 4, RelocationSource::kTyped, false}}}};
  const std::vector<Action> actions = {EventRecord{1, 1},
                                       StreamWait{0, 1, 0},
                                       sample_launch(1, 1),
                                       sample_copy(table),
                                       back,
                                       sample_memset(),
                                       write,
                                       HostFunction{1, "hipLaunchHostFunc"},
                                       GraphLaunch{1, 1},
                                       Marker{"region begin"},
                                       checkpoint,
                                       Synchronize{SynchronizeKind::kDevice, 0},
                                       Synchronize{SynchronizeKind::kStream, 1},
                                       Synchronize{SynchronizeKind::kEvent, 1}};
  uint64_t time_ns = 1000;
  for (const Action& action : actions) {
    Event event = event_of(action);
    event.thread = time_ns % 2000 == 0 ? 1 : 0;
    event.time_ns = time_ns += 1000;
    GFXGRAPH_TRY(writer.add(event));
  }
  return {};
}

}  // namespace

Result<void> write_everything(Writer& writer, bool compressed) {
  GFXGRAPH_TRY(add_preamble(writer));
  GFXGRAPH_ASSIGN_OR_RETURN(const BlobId table,
                            writer.add_blob(to_bytes("32 bytes, two of them pointers.\n")));
  GFXGRAPH_TRY(writer.add(event_of(StreamCreate{1, 1, -1})));
  GFXGRAPH_TRY(writer.add(event_of(EventCreate{1, 2})));
  GFXGRAPH_TRY(add_allocations(writer, table));
  GFXGRAPH_TRY(add_graph(writer, table));
  GFXGRAPH_TRY(add_work(writer, table));
  AllocationEnd end{1, true, 0, {}};
  end.post.size_bytes = 4096;
  if (compressed) {
    std::string text;
    for (int i = 0; text.size() < 4096; ++i) text += "row " + std::to_string(i % 50) + "\n";
    text.resize(4096);
    GFXGRAPH_ASSIGN_OR_RETURN(const BlobId big, writer.add_blob(to_bytes(text)));
    end.post = blob_content(big, 4096);
  }
  GFXGRAPH_TRY(writer.add(event_of(end)));
  GFXGRAPH_TRY(writer.add(event_of(AllocationEnd{4, true, 1, {}})));
  GFXGRAPH_TRY(writer.add(event_of(AllocationEnd{2, false, 0, {}})));
  GFXGRAPH_TRY(writer.add(event_of(EventDestroy{1})));
  GFXGRAPH_TRY(writer.add(event_of(StreamDestroy{1})));
  GFXGRAPH_TRY(writer.add(Finding{FindingKind::kNote, "hipGetDeviceProperties", 3, "seen"}));
  return {};
}

std::vector<std::byte> trace_bytes(const std::function<void(Writer&)>& fill,
                                   size_t compress_events_min_bytes, uint64_t index_min_records) {
  std::vector<std::byte> bytes;
  WriterOptions options;
  options.compression_level = 3;
  options.compress_events_min_bytes = compress_events_min_bytes;
  options.content_chunk_bytes = kMinChunkBytes;
  options.threads = 1;
  options.index_min_records = index_min_records;
  Result<std::unique_ptr<Writer>> writer =
      create_writer(std::make_unique<MemoryFile>(bytes), options);
  GFXGRAPH_CHECK(writer.has_value());
  fill(**writer);
  GFXGRAPH_CHECK((*writer)->seal().has_value());
  return bytes;
}

std::vector<std::byte> record_bytes(RecordKind kind, std::span<const std::byte> payload,
                                    uint32_t flags) {
  const auto header = encode_record_header(payload.size(), kind, flags, hash64(payload));
  const size_t used = header.size() + payload.size();
  std::vector<std::byte> bytes((used + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment);
  std::ranges::copy(header, bytes.begin());
  std::ranges::copy(payload, bytes.begin() + header.size());
  return bytes;
}

std::vector<RawRecord> split_records(std::span<const std::byte> file) {
  RecordScanner scanner(file);
  GFXGRAPH_CHECK(scanner.read_head().has_value());
  std::vector<RawRecord> records;
  while (true) {
    const auto record = scanner.next();
    GFXGRAPH_CHECK(record.has_value() && record->has_value());
    if ((*record)->kind == RecordKind::kFooter) return records;
    records.push_back({(*record)->kind,
                       (*record)->flags,
                       {(*record)->payload.begin(), (*record)->payload.end()}});
  }
}

std::vector<std::byte> index_of(const std::vector<RawRecord>& records) {
  IndexBuilder builder;
  for (const RawRecord& record : records) {
    const auto bytes = record_bytes(record.kind, record.payload, record.flags);
    builder.add(std::span(bytes).first(kRecordHeaderBytes), record.kind, record.payload);
  }
  return builder.encode(0);
}

std::vector<std::byte> join_records(const std::vector<RawRecord>& records) {
  const auto head = encode_head();
  std::vector<std::byte> file(head.begin(), head.end());
  RunningHash chain;
  uint64_t last = 0;
  for (const RawRecord& record : records) {
    last = file.size();
    const std::vector<std::byte> bytes = record_bytes(record.kind, record.payload, record.flags);
    chain.add(std::span(bytes).first(kRecordHeaderBytes));
    file.insert(file.end(), bytes.begin(), bytes.end());
  }
  const auto footer = encode_footer(last, records.size(), chain.value());
  file.insert(file.end(), footer.begin(), footer.end());
  return file;
}

}  // namespace gfxgraph::format

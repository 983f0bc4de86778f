#include "tests/fuzz/hostile_trace.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "base/hash.h"
#include "codeobj/code_object.h"
#include "format/codec/pack.h"
#include "format/codec/unpack.h"
#include "format/container/container.h"
#include "format/container/event_codec.h"
#include "format/read/loader.h"
#include "format/write/tally.h"
#include "tests/format/trace_builder.h"
#include "tests/fuzz/hostile_fields.h"

namespace gfxgraph::fuzz {

using namespace format;

Script::Script(std::span<const std::byte> bytes) : bytes_(bytes), state_(hash64(bytes)) {}

uint64_t Script::next() {
  if (bytes_.size() >= 4) {
    uint32_t value = 0;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_ = bytes_.subspan(sizeof(value));
    return value;
  }
  state_ += 0x9e3779b97f4a7c15;
  return mix(state_);
}

std::vector<Part> load_parts(std::span<const std::byte> file) {
  std::vector<Part> parts;
  const auto add = [&](auto unpacked) {
    GFXGRAPH_CHECK(unpacked.has_value());
    parts.emplace_back(std::move(*unpacked));
  };
  for (const RawRecord& record : split_records(file)) {
    switch (record.kind) {
      case RecordKind::kEnvironment: add(unpack_environment(record.payload)); break;
      case RecordKind::kCodeObject: add(unpack_code_object(record.payload)); break;
      case RecordKind::kKernel: add(unpack_kernel(record.payload)); break;
      case RecordKind::kGraph: add(unpack_graph(record.payload)); break;
      case RecordKind::kFinding: add(unpack_finding(record.payload)); break;
      case RecordKind::kSite: add(unpack_site(record.payload)); break;
      case RecordKind::kDevice: add(unpack_device(record.payload)); break;
      case RecordKind::kCompressedEvents:
      case RecordKind::kEvents: {
        EventDecompressor decompressor(UINT64_MAX);
        std::span<const std::byte> plain = record.payload;
        if (record.kind == RecordKind::kCompressedEvents) {
          const auto decompressed = decompressor.decompress(plain);
          GFXGRAPH_CHECK(decompressed.has_value());
          plain = *decompressed;
        }
        const auto events = unpack_events(plain);
        GFXGRAPH_CHECK(events.has_value());
        for (const Event& event : *events) parts.emplace_back(event);
        break;
      }
      case RecordKind::kBlob: {
        const auto blob = decode_blob(record.payload);
        GFXGRAPH_CHECK(blob.has_value());
        Blob copy{blob->header.id, std::vector<std::byte>(blob->header.size_bytes)};
        GFXGRAPH_CHECK(decode_blob_into(*blob, copy.bytes).has_value());
        parts.emplace_back(std::move(copy));
        break;
      }
      default: break;
    }
  }
  return parts;
}

namespace {

ArgumentKind argument_kind(const codeobj::Argument& argument) {
  if (argument.hidden()) return ArgumentKind::kHidden;
  return argument.value_kind == "global_buffer" ? ArgumentKind::kGlobalBuffer
                                                : ArgumentKind::kByValue;
}

Kernel kernel_record(KernelId id, const codeobj::Kernel& from) {
  Kernel kernel;
  kernel.id = id;
  kernel.code_object = 1;
  kernel.name = from.name;
  kernel.kernarg_size_bytes = from.kernarg_size_bytes;
  kernel.explicit_size_bytes = from.explicit_size_bytes();
  kernel.group_segment_bytes = from.descriptor.group_segment_bytes;
  kernel.private_segment_bytes = from.descriptor.private_segment_bytes;
  for (const codeobj::Argument& argument : from.arguments) {
    kernel.arguments.push_back({argument.name, argument.value_kind, argument_kind(argument),
                                argument.offset_bytes, argument.size_bytes});
  }
  return kernel;
}

}  // namespace

std::vector<Kernel> kernel_records(const codeobj::CodeObject& object) {
  std::vector<Kernel> kernels;
  for (const codeobj::Kernel& from : object.kernels()) {
    kernels.push_back(kernel_record(static_cast<KernelId>(kernels.size() + 1), from));
    if (from.name == "vadd") break;
  }
  return kernels;
}

namespace {

// vadd(a, b, c, n) over buffers 1, 2 and 3.
Launch vadd(const Kernel& kernel, uint64_t base) {
  Launch launch;
  launch.kernel = kernel.id;
  launch.grid = {2, 1, 1};
  launch.block = {64, 1, 1};
  launch.kernarg.resize(kernel.explicit_size_bytes);
  for (uint32_t n = 0; n < 3 && 8 * n + 8 <= launch.kernarg.size(); ++n) {
    const uint64_t address = base + uint64_t{n} * 0x10000;
    std::memcpy(launch.kernarg.data() + 8 * size_t{n}, &address, sizeof(address));
    launch.relocations.push_back({8 * uint64_t{n}, n + 1, 0, RelocationSource::kTyped, false});
  }
  return launch;
}

}  // namespace

std::vector<std::byte> kernel_trace(std::span<const std::byte> elf) {
  const auto object = codeobj::CodeObject::parse(elf);
  GFXGRAPH_CHECK(object.has_value());
  constexpr uint64_t kBase = 0x7f0000000000;
  return trace_bytes([&](Writer& writer) {
    const auto done = [](const auto& result) { GFXGRAPH_CHECK(result.has_value()); };
    const auto event = [&](Action action) { done(writer.add(event_of(std::move(action)))); };
    done(writer.add(sample_environment()));
    const auto blob = writer.add_blob(elf);
    done(blob);
    done(writer.add(CodeObject{1, *blob, "amdgcn-amd-amdhsa--gfx1030"}));
    const std::vector<Kernel> kernels = kernel_records(**object);
    for (const Kernel& kernel : kernels) done(writer.add(kernel));
    const Kernel& first = kernels.back();
    const auto words = writer.add_blob(std::vector<std::byte>(256, std::byte{3}));
    done(words);
    event(StreamCreate{1, 1, 0});
    event(EventCreate{1, 0});
    for (AllocationId id = 1; id <= 3; ++id) {
      AllocationBegin begin;
      begin.id = id;
      begin.kind = id == 3 ? AllocationKind::kHostPinned : AllocationKind::kDevice;
      begin.recorded_address = kBase + (id - 1) * uint64_t{0x10000};
      begin.size_bytes = begin.initial.size_bytes = 512;
      begin.initial.fill = static_cast<uint8_t>(id);
      event(begin);
    }
    for (const codeobj::Symbol& symbol : (*object)->symbols()) {
      if (symbol.undefined || symbol.type != codeobj::Symbol::Type::kObject) continue;
      AllocationBegin global;
      global.id = 4;
      global.kind = AllocationKind::kModuleGlobal;
      global.recorded_address = 0x7e0000000000 + symbol.address;
      global.size_bytes = symbol.size_bytes;
      global.code_object = 1;
      global.symbol = symbol.name;
      event(global);
      break;
    }
    Copy copy;
    copy.destination.allocation = 1;
    copy.width_bytes = 256;
    copy.host_source = blob_content(*words, 256);
    event(copy);
    HostWrite write{3, 16, {}};
    write.content.size_bytes = 64;
    write.content.fill = 9;
    event(write);
    Memset memset;
    memset.allocation = 2;
    memset.offset_bytes = 8;
    memset.element_bytes = 4;
    memset.value = 0x01020304;
    memset.width_elements = 8;
    event(memset);
    event(vadd(first, kBase));
    Launch on_stream = vadd(first, kBase);
    on_stream.stream = 1;
    event(on_stream);
    event(EventRecord{1, 1});
    event(StreamWait{0, 1, 0});
    Graph graph{1, {{vadd(first, kBase), {}}, {copy, {}}, {memset, {0, 1}}, {{}, {2}}}};
    done(writer.add(graph));
    event(GraphLaunch{1, 0});
    event(Synchronize{SynchronizeKind::kDevice, 0});
    Copy back;
    back.source.allocation = 3;
    back.width_bytes = 32;
    back.height = 2;
    back.source.pitch_bytes = 64;
    back.host_result.size_bytes = 64;
    back.host_result.stored = false;
    event(back);
    event(HostFunction{1, "hipLaunchHostFunc"});
    event(Marker{"step"});
    event(Checkpoint{{{1, *words, {{0, 2, 4, RelocationSource::kMatched, true}}}}});
    for (AllocationId id = 1; id <= 3; ++id) {
      AllocationEnd end{id, id != 3, 0, {}};
      end.post.size_bytes = 512;
      end.post.fill = 1;
      event(end);
    }
    event(EventDestroy{1});
    event(StreamDestroy{1});
    done(writer.add(Finding{FindingKind::kNote, "hipGetDevice", 2, ""}));
  });
}

namespace {

// The parts name blobs by their old ids.
class Renamer {
 public:
  explicit Renamer(const std::vector<Part>& parts) {
    for (const Part& part : parts) {
      if (const auto* blob = std::get_if<Blob>(&part))
        names_.emplace(blob->was, hash_bytes(blob->bytes));
    }
  }
  void operator()(BlobId& id) const {
    if (const auto found = names_.find(id); found != names_.end()) id = found->second;
  }

 private:
  std::map<BlobId, BlobId> names_;
};

class PartWriter {
 public:
  explicit PartWriter(const std::vector<Part>& parts) : rename_(parts) {
    for (const Part& part : parts) std::visit([this](auto copy) { add(copy); }, part);
    flush();
    records_.push_back(
        {RecordKind::kSummary, 0, copy_of(packer_.pack_summary(statistics_, graphs_, findings_))});
  }
  std::vector<std::byte> file() const { return join_records(records_); }

 private:
  static std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
    return {bytes.begin(), bytes.end()};
  }
  template <typename Item>
  void put(RecordKind kind, const Item& item) {
    flush();
    records_.push_back({kind, 0, copy_of(packer_.pack(item))});
  }
  void flush() {
    if (events_.empty()) return;
    const std::span<const std::byte> plain = packer_.pack(std::span<const Event>(events_));
    // As the writer does: runs of many events are compressed.
    const std::span<const std::byte> compressed =
        plain.size() < 512 ? std::span<const std::byte>() : compressor_.compress(plain, 1);
    if (compressed.empty()) {
      records_.push_back({RecordKind::kEvents, 0, copy_of(plain)});
    } else {
      records_.push_back({RecordKind::kCompressedEvents, 0, copy_of(compressed)});
    }
    events_.clear();
  }

  auto rename_all() {
    return [this](Content& content) {
      rename_(content.blob);
      if (content.blob) content.hash = content.blob;
    };
  }

  void add(const Environment& item) { put(RecordKind::kEnvironment, item); }
  void add(CodeObject& item) {
    rename_(item.elf);
    ++statistics_.code_objects;
    put(RecordKind::kCodeObject, item);
  }
  void add(const Kernel& item) {
    ++statistics_.kernels;
    put(RecordKind::kKernel, item);
  }
  void add(const Site& item) {
    put(RecordKind::kSite, item);
    records_.back().flags = record_flags(RecordKind::kSite);
  }
  void add(const Device& item) { put(RecordKind::kDevice, item); }
  void add(const Finding& item) {
    ++findings_;
    put(RecordKind::kFinding, item);
  }
  void add(Graph& item) {
    for (GraphNode& node : item.nodes) for_each_content(node.action, rename_all());
    count(statistics_, item);
    ++graphs_;
    put(RecordKind::kGraph, item);
  }
  void add(Event& item) {
    for_each_content(item.action, rename_all());
    item.sequence = statistics_.events;
    count(statistics_, item);
    events_.push_back(item);
  }
  void add(const Blob& item) {
    flush();
    const BlobId id = hash_bytes(item.bytes);
    const auto header = encode_blob_header({id, item.bytes.size(), BlobCodec::kPlain});
    std::vector<std::byte> payload(header.begin(), header.end());
    payload.insert(payload.end(), item.bytes.begin(), item.bytes.end());
    records_.push_back({RecordKind::kBlob, 0, std::move(payload)});
    ++statistics_.blobs;
    statistics_.blob_bytes += item.bytes.size();
    statistics_.stored_blob_bytes += item.bytes.size();
  }
  Renamer rename_;
  Packer packer_;
  EventCompressor compressor_;
  std::vector<RawRecord> records_;
  std::vector<Event> events_;
  Statistics statistics_;
  uint64_t graphs_ = 0;
  uint64_t findings_ = 0;
};

}  // namespace

std::vector<std::byte> write_parts(const std::vector<Part>& parts) {
  return PartWriter(parts).file();
}

}  // namespace gfxgraph::fuzz

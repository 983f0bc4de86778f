#include "golden/golden_cases.h"

#include <fmt/format.h>

#include <map>

#include "format/container/chunks.h"
#include "format/write/content_writer.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

// What told the host that work was done.
Result<void> add_host_knowledge(Writer& writer) {
  Graph graph;
  graph.id = 1;
  graph.nodes = {{HostFunction{0, "hipGraphAddHostNode"}, {}},
                 {std::monostate{}, {0}},
                 {HostFunction{0, "hipGraphAddHostNode"}, {1}}};
  GFXGRAPH_TRY(writer.add(graph));
  const std::vector<Action> actions = {HostFunction{0, "hipStreamAddCallback", 1},
                                       GraphLaunch{1, 0, 2},
                                       Synchronize{SynchronizeKind::kHostFunction, 1},
                                       Synchronize{SynchronizeKind::kHostFunction, 3},
                                       HostFunction{0, "hipStreamAddCallback"},
                                       Synchronize{SynchronizeKind::kDevice, 0, "hipFree"}};
  for (const Action& action : actions) {
    Event event;
    event.action = action;
    GFXGRAPH_TRY(writer.add(event));
  }
  return {};
}

// Which words are pointers and which are data. Of a graph node, and of a launch.
std::vector<std::byte> with_provenance() {
  const std::vector<std::byte> plain = trace_bytes([](Writer& writer) {
    GFXGRAPH_CHECK(add_preamble(writer).has_value());
    for (const AllocationId id : {1, 2})
      GFXGRAPH_CHECK(writer.add(event_of(sample_allocation(id, 8192))).has_value());
    Graph graph;
    graph.id = 1;
    graph.nodes = {{std::monostate{}, {}}, {sample_launch(1, 2), {0}}};
    GFXGRAPH_CHECK(writer.add(graph).has_value());
    GFXGRAPH_CHECK(writer.add(event_of(sample_launch(1, 2))).has_value());
  });
  const TemporaryFolder folder;
  GFXGRAPH_CHECK(write_file_atomic(folder / "plain.gfxg", plain).has_value());
  Provenance known;
  known.places = {
      {{0, 1, 1, WordPart::kArguments}, {{8, WordVerdict::kPointer}, {16, WordVerdict::kPointer}}},
      {{2, 0, 0, WordPart::kArguments}, {{16, WordVerdict::kData}}}};
  GFXGRAPH_CHECK(write_provenance(folder / "plain.gfxg", folder / "known.gfxg", known).has_value());
  return *read_file(folder / "known.gfxg", 1 << 20);
}

// Ranges of the program, nested, overlapping, and one that was not left.
Result<void> add_ranges(Writer& writer) {
  const std::vector<Action> actions = {
      Marker{"decode", MarkerKind::kRangeBegin, 1},    Marker{"layer", MarkerKind::kRangeBegin, 2},
      Marker{"token", MarkerKind::kMark, 0},           Marker{"decode", MarkerKind::kRangeEnd, 1},
      Marker{"decode", MarkerKind::kRangeBegin, 7, 1}, Marker{"layer", MarkerKind::kRangeEnd, 2}};
  for (const Action& action : actions) {
    Event event;
    event.action = action;
    GFXGRAPH_TRY(writer.add(event));
  }
  return {};
}

// Allocations that the program named, before they began and later.
Result<void> add_names(Writer& writer) {
  AllocationBegin weights = sample_allocation(1);
  weights.name = "weights";
  const std::vector<Action> actions = {StreamCreate{1, 0, 0}, weights, sample_allocation(2, 32),
                                       Marker{"kv cache", MarkerKind::kName, 0, 0, 2}};
  for (const Action& action : actions) {
    Event event;
    event.action = action;
    GFXGRAPH_TRY(writer.add(event));
  }
  return {};
}

// Calls that failed, one that HIP accepted, and one of memory that has ended.
Result<void> add_call_faults(Writer& writer) {
  const std::vector<Action> actions = {
      StreamCreate{1, 0, 0},
      sample_allocation(1, 32),
      CallFault{"hipMemcpy", "hipErrorInvalidValue", 1, 0, 36, true},
      CallFault{"hipMemset2DAsync", "", 1, 32, 8, true},
      AllocationEnd{1, true, 0, {}},
      CallFault{"hipFree", "hipErrorInvalidValue", 1, 0, 0, true},
      CallFault{"hipLaunchKernel", "hipErrorInvalidConfiguration", 0, 0, 0, false}};
  for (const Action& action : actions) GFXGRAPH_TRY(writer.add(event_of(action)));
  return {};
}

// Where the program's code called HIP.
Result<void> add_sites(Writer& writer) {
  Site site{1,   "/opt/app/decode", "00112233aabb", "load_model(char const*)", 0x12f4, 0x1f4, true,
            true};
  GFXGRAPH_TRY(writer.add(site));
  GFXGRAPH_TRY(writer.add(Site{2, "libstripped.so", "", "", 0x8010}));
  AllocationBegin weights = sample_allocation(1);
  weights.site = 1;
  weights.site_ordinal = 3;
  const std::vector<std::pair<Action, SiteId>> actions = {
      {StreamCreate{1, 0, 0}, 0}, {weights, 0}, {Synchronize{SynchronizeKind::kDevice, 0}, 2}};
  for (const auto& [action, at] : actions) {
    Event event;
    event.action = action;
    event.site = at;
    GFXGRAPH_TRY(writer.add(event));
  }
  return {};
}

// The call stands in interpreted code.
Result<void> add_sites_of_lines(Writer& writer) {
  GFXGRAPH_TRY(
      writer.add(Site{1, "/opt/app/train.py", "", "Model.step", 212, 0, false, false, 212}));
  Event event;
  event.action = Synchronize{SynchronizeKind::kDevice, 0};
  event.site = 1;
  GFXGRAPH_TRY(writer.add(event));
  return {};
}

// The same, beneath which a library called.
Result<void> add_sites_of_callers(Writer& writer) {
  GFXGRAPH_TRY(writer.add(Site{1, "/opt/app/libgemm.so", "00aa", "", 0x8010}));
  Site site{2, "/opt/app/train.py", "", "Model.step", 212, 0, false, false, 212};
  site.caller = 1;
  GFXGRAPH_TRY(writer.add(site));
  Event event;
  event.action = Synchronize{SynchronizeKind::kDevice, 0};
  event.site = 2;
  GFXGRAPH_TRY(writer.add(event));
  return {};
}

// A content larger than one chunk, then one that differs in its last chunk.
Result<void> add_chunks(Writer& writer) {
  std::vector<std::byte> bytes = random_bytes(2 * kMinChunkBytes + 100);
  std::ranges::fill(std::span(bytes).subspan(kMinChunkBytes, kMinChunkBytes), std::byte{0});
  for (AllocationId id = 1; id <= 2; ++id) {
    bytes.back() = static_cast<std::byte>(id);
    ContentWriter content(writer, bytes.size());
    for (size_t at = 0; at < bytes.size();) {
      GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> room, content.room());
      std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), room.size(), room.begin());
      at += room.size();
      GFXGRAPH_TRY(content.put());
    }
    AllocationBegin begin = sample_allocation(id, static_cast<uint32_t>(bytes.size()));
    GFXGRAPH_ASSIGN_OR_RETURN(begin.initial, content.finish());
    // The file's order does not depend on how fast the writer's thread is.
    GFXGRAPH_TRY(writer.settle());
    GFXGRAPH_TRY(writer.add(event_of(begin)));
    GFXGRAPH_TRY(writer.flush());
  }
  return {};
}

// A second device, with a null stream, a stream, memory, code and a variable of its own.
Result<void> add_devices(Writer& writer) {
  GFXGRAPH_TRY(writer.add(Device{1, 2}));
  GFXGRAPH_ASSIGN_OR_RETURN(const BlobId elf, writer.add_blob(to_bytes("\x7f"
                                                                       "ELF, as if it were one")));
  GFXGRAPH_TRY(writer.add(CodeObject{2, elf, "amdgcn-amd-amdhsa--gfx1030", 1}));
  Kernel plain;
  plain.id = 2;
  plain.code_object = 2;
  plain.name = "plain";
  GFXGRAPH_TRY(writer.add(plain));
  AllocationBegin buffer = sample_allocation(1);
  buffer.device = 1;
  AllocationBegin variable = sample_allocation(2, 32);
  variable.kind = AllocationKind::kModuleGlobal;
  variable.code_object = 2;
  variable.symbol = "counter";
  variable.device = 1;
  Launch launch;
  launch.kernel = 2;
  launch.stream = 2;
  Launch other = launch;
  other.stream = 1;
  const std::vector<Action> actions = {
      StreamCreate{1, 1, 0, 1},
      buffer,
      variable,
      launch,
      other,
      Synchronize{SynchronizeKind::kStream, 2, "hipStreamSynchronize"},
      Synchronize{SynchronizeKind::kDevice, 1, "hipDeviceSynchronize"},
      Synchronize{SynchronizeKind::kDevice, 0, "hipDeviceSynchronize"}};
  for (const Action& action : actions) GFXGRAPH_TRY(writer.add(event_of(action)));
  return {};
}

// Memory that nobody had written when the program got it.
Result<void> add_unwritten(Writer& writer) {
  AllocationBegin device = sample_allocation(1);
  AllocationBegin pool = sample_allocation(2, 32);
  pool.kind = AllocationKind::kStreamOrdered;
  for (AllocationBegin* begin : {&device, &pool}) {
    begin->initial.size_bytes = begin->size_bytes;
    begin->initial.unwritten = true;
    GFXGRAPH_TRY(writer.add(event_of(*begin)));
  }
  return {};
}

// Memory that a graph freed.
Result<void> add_gone(Writer& writer) {
  GFXGRAPH_TRY(add_unwritten(writer));
  AllocationEnd end{2, false, 0, {}, true};
  end.post.size_bytes = 32;
  end.post.stored = false;
  GFXGRAPH_TRY(writer.add(event_of(end)));
  return {};
}

// An array, a surface of it, textures of it and of memory; a copy into the array, and a
// launch that gets a handle.
Result<void> add_images(Writer& writer) {
  GFXGRAPH_TRY(writer.add(event_of(StreamCreate{1, 0, 0})));
  GFXGRAPH_TRY(writer.add(event_of(sample_allocation(1))));
  for (const AllocationBegin& begin : sample_images(1, 2))
    GFXGRAPH_TRY(writer.add(event_of(begin)));
  Copy copy;
  copy.destination = {2, 4 * 16 + 8, 16, 48};  // in the second row of the second slice
  copy.width_bytes = 8;
  copy.height = 2;
  copy.host_source.size_bytes = 16;
  GFXGRAPH_TRY(writer.add(event_of(copy)));
  Launch launch = sample_launch(1, 1);
  launch.relocations = {{0, 3, 0, RelocationSource::kTyped, false, false}};
  GFXGRAPH_TRY(writer.add(event_of(launch)));
  AllocationEnd end{5, true, 0, {}, false};
  end.post.size_bytes = kTextureBytes;
  end.post.stored = false;
  GFXGRAPH_TRY(writer.add(event_of(end)));
  return {};
}

}  // namespace

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  cases.push_back({"smallest", trace_bytes([](Writer&) {})});
  const auto everything = [](bool compressed) {
    return trace_bytes([compressed](Writer& writer) {
      GFXGRAPH_CHECK(write_everything(writer, compressed).has_value());
    });
  };
  cases.push_back({"everything", everything(false)});
  cases.push_back({"compressed", everything(true), false, true});
  cases.push_back({"incomplete", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     (void)writer.add(
                         Finding{FindingKind::kIncomplete, "hipMemcpyToArray", 2, "not recorded"});
                   })});
  const std::vector<std::byte> incomplete = cases.back().bytes;
  // Pointers outside of the buffers that they were made from: in front, behind, and tagged.
  cases.push_back({"outside", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     for (const Action& action :
                          std::vector<Action>{StreamCreate{1, 0, 0}, sample_allocation(1),
                                              sample_allocation(2, 32)}) {
                       GFXGRAPH_CHECK(writer.add(event_of(action)).has_value());
                     }
                     Launch launch = sample_launch(1, 1);
                     launch.relocations = {
                         {0, 1, -2048, RelocationSource::kTyped, false, true},
                         {8, 1, 4097, RelocationSource::kProven, false, true},
                     };
                     GFXGRAPH_CHECK(writer.add(event_of(launch)).has_value());
                     HostWrite write{2, 0, {}};
                     write.content.size_bytes = 32;
                     write.content.relocations = {
                         {8, 1, INT64_C(0x7a) << 56, RelocationSource::kMatched, true, true}};
                     GFXGRAPH_CHECK(writer.add(event_of(write)).has_value());
                   })});
  std::vector<RawRecord> records = split_records(incomplete);
  records.insert(records.begin() + 1, {RecordKind{kFirstPrivateKind + 7}, kFlagOptional,
                                       to_bytes("a record of somebody else")});
  cases.push_back({"private_record", join_records(records)});
  cases.push_back({"host_knowledge", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_host_knowledge(writer).has_value());
                   })});
  cases.push_back({"ranges", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_ranges(writer).has_value());
                   })});
  cases.push_back({"doubt", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     AllocationBegin pinned = sample_allocation(1, 64);
                     pinned.kind = AllocationKind::kHostPinned;
                     GFXGRAPH_CHECK(writer.add(event_of(pinned)).has_value());
                     HostWrite write{1, 16, {}};
                     write.content.size_bytes = 8;
                     write.in_doubt = true;
                     GFXGRAPH_CHECK(writer.add(event_of(write)).has_value());
                   })});
  cases.push_back({"pinned_source", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(writer.add(event_of(sample_allocation(1, 64))).has_value());
                     Copy copy;
                     copy.destination.allocation = 1;
                     copy.width_bytes = 8;
                     copy.host_source.size_bytes = 8;
                     copy.source_is_pinned = true;
                     GFXGRAPH_CHECK(writer.add(event_of(copy)).has_value());
                   })});
  cases.push_back({"stream_itself", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(writer.add(event_of(StreamCreate{1, 0, 0})).has_value());
                     const Synchronize wait{SynchronizeKind::kStreamItself, 1, "hipStreamDestroy"};
                     GFXGRAPH_CHECK(writer.add(event_of(wait)).has_value());
                   })});
  cases.push_back({"names", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_names(writer).has_value());
                   })});
  cases.push_back({"call_faults", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_call_faults(writer).has_value());
                   })});
  cases.push_back({"sites", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_sites(writer).has_value());
                   })});
  cases.push_back({"sites_of_lines", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_sites_of_lines(writer).has_value());
                   })});
  cases.push_back({"sites_of_callers", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_sites_of_callers(writer).has_value());
                   })});
  cases.push_back({"provenance", with_provenance()});
  cases.push_back({"chunks", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_chunks(writer).has_value());
                   })});
  cases.push_back({"index", trace_bytes(
                                [](Writer& writer) {
                                  GFXGRAPH_CHECK(add_preamble(writer).has_value());
                                  GFXGRAPH_CHECK(add_chunks(writer).has_value());
                                },
                                SIZE_MAX, 1)});
  cases.push_back({"devices", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_devices(writer).has_value());
                   })});
  cases.push_back({"unwritten", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_unwritten(writer).has_value());
                   })});
  cases.push_back({"gone", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_gone(writer).has_value());
                   })});
  cases.push_back({"images", trace_bytes([](Writer& writer) {
                     GFXGRAPH_CHECK(add_preamble(writer).has_value());
                     GFXGRAPH_CHECK(add_images(writer).has_value());
                   })});
  cases.push_back(
      {"compressed_events",
       trace_bytes(
           [](Writer& writer) { GFXGRAPH_CHECK(write_everything(writer, false).has_value()); },
           512),
       false, true});
  std::vector<std::byte> torn = cases[1].bytes;
  torn.resize(torn.size() - 3 * kFooterBytes - 20);
  cases.push_back({"torn", torn, true});
  return cases;
}

std::string first_error(std::span<const std::byte> bytes) {
  const auto text = [](const Error& error) {
    return fmt::format("{}: {}", status_name(error.status), error.message);
  };
  const auto trace = Trace::from_bytes(bytes);
  if (!trace) return text(trace.error());
  // The blobs that a reader can name, and those that nothing refers to.
  for (const CodeObject& code_object : (*trace)->code_objects()) {
    const auto blob = (*trace)->blob(code_object.elf);
    if (!blob) return text(blob.error());
  }
  for (const RawRecord& record : split_records(bytes)) {
    if (record.kind != RecordKind::kBlob) continue;
    const auto blob = (*trace)->blob(decode_blob(record.payload)->header.id);
    if (!blob) return text(blob.error());
  }
  return "";
}

std::string bad_messages() {
  std::map<std::string, std::string> lines;
  for (const GoldenCase& bad : bad_cases()) lines[bad.name] = first_error(bad.bytes);
  std::string text;
  for (const auto& [name, error] : lines) text += name + ": " + error + "\n";
  return text;
}

std::filesystem::path golden_folder() {
  return std::filesystem::path(GFXGRAPH_SOURCE_DIR) / "tests" / "golden";
}

}  // namespace gfxgraph::format

#include "golden/golden_cases.h"

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include <functional>

#include "base/cursor.h"
#include "format/codec/pack.h"
#include "format/container/chunks.h"
#include "format/container/event_codec.h"
#include "format/trace_generated.h"
#include "golden/golden_bad.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

std::vector<std::byte> newer_major() {
  std::vector<std::byte> bytes = base();
  std::ranges::copy(encode_head(kVersionMajor + 1, 3), bytes.begin());
  return bytes;
}

std::vector<std::byte> swapped_records() {
  // Right one by one, but the footer remembers the order. Two findings can change places.
  const auto file = trace_bytes([](Writer& writer) {
    (void)writer.add(Finding{FindingKind::kNote, "a", 1, ""});
    (void)writer.add(Finding{FindingKind::kNote, "b", 1, ""});
  });
  std::vector<RawRecord> records = split_records(file);
  std::swap(records[0], records[1]);
  std::vector<std::byte> swapped = join_records(records);
  std::copy(file.end() - kFooterBytes, file.end(), swapped.end() - kFooterBytes);
  return swapped;
}

std::vector<std::byte> footer_elsewhere() {
  std::vector<std::byte> bytes = base();
  RunningHash chain;
  const auto footer = encode_footer(kHeadBytes, base_records().size(), 0);
  std::copy(footer.begin(), footer.end(), bytes.end() - kFooterBytes);
  return bytes;
}

std::vector<std::byte> summary_wrong(const std::function<void(Statistics&)>& change) {
  std::vector<RawRecord> records = base_records();
  Statistics statistics = base_statistics();
  change(statistics);
  Packer packer;
  const auto payload = packer.pack_summary(statistics, 0, 0);
  records.back().payload = {payload.begin(), payload.end()};
  return join_records(records);
}

std::vector<std::byte> unknown_event_kind() {
  flatbuffers::FlatBufferBuilder builder;
  const auto marker = fbs::CreateMarker(builder, builder.CreateString("?"));
  fbs::EventBuilder event(builder);
  event.add_action_type(static_cast<fbs::Action>(200));
  event.add_action(marker.Union());
  const std::vector<flatbuffers::Offset<fbs::Event>> events = {event.Finish()};
  builder.Finish(fbs::CreateEventChunk(builder, 4, builder.CreateVector(events)));
  return with_record(RecordKind::kEvents, raw(builder));
}

std::vector<std::byte> event_without_action() {
  flatbuffers::FlatBufferBuilder builder;
  fbs::EventBuilder event(builder);
  event.add_action_type(fbs::Action::Launch);
  const std::vector<flatbuffers::Offset<fbs::Event>> events = {event.Finish()};
  builder.Finish(fbs::CreateEventChunk(builder, 4, builder.CreateVector(events)));
  return with_record(RecordKind::kEvents, raw(builder));
}

// 100 events that are all one event with one long text: 300 KB out of 3.5 KB.
std::vector<std::byte> shared_bytes() {
  flatbuffers::FlatBufferBuilder builder;
  const auto marker = fbs::CreateMarker(builder, builder.CreateString(std::string(3000, 'x')));
  const auto event = fbs::CreateEvent(builder, 0, 0, fbs::Action::Marker, marker.Union());
  const std::vector<flatbuffers::Offset<fbs::Event>> events(100, event);
  builder.Finish(fbs::CreateEventChunk(builder, 4, builder.CreateVector(events)));
  return with_record(RecordKind::kEvents, raw(builder));
}

std::vector<std::byte> relocation_columns() {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<uint64_t> offsets = {8, 16};
  // One after the other: the order in which a compiler evaluates arguments is its own.
  const auto allocation_column = builder.CreateVector(std::vector<uint32_t>{1});
  const auto offset_column = builder.CreateVector(offsets);
  const auto relocations = fbs::CreateRelocations(builder, offset_column, allocation_column);
  fbs::LaunchBuilder launch(builder);
  launch.add_kernel(1);
  launch.add_relocations(relocations);
  const auto action = launch.Finish().Union();
  const std::vector<flatbuffers::Offset<fbs::Event>> events = {
      fbs::CreateEvent(builder, 0, 0, fbs::Action::Launch, action)};
  builder.Finish(fbs::CreateEventChunk(builder, 4, builder.CreateVector(events)));
  return with_record(RecordKind::kEvents, raw(builder));
}

// What is known of one place, as bytes that no packer makes: of two words, `data` and a part of the
// event.
std::vector<std::byte> known_words(const std::vector<uint8_t>& data, unsigned part,
                                   bool aligned = true) {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<uint64_t> offsets = {8, 16};
  const auto data_column = builder.CreateVector(data);
  flatbuffers::Offset<flatbuffers::Vector<uint64_t>> offset_column;
  if (aligned) {
    offset_column = builder.CreateVector(offsets);
  } else {
    // By hand, because StartVector() would align the offsets; here their number is.
    std::vector<std::byte> column(sizeof(uint32_t) + offsets.size() * sizeof(uint64_t));
    store_le(column.data(), static_cast<uint32_t>(offsets.size()));
    for (size_t n = 0; n < offsets.size(); ++n)
      store_le(column.data() + sizeof(uint32_t) + n * sizeof(uint64_t), offsets[n]);
    builder.ForceVectorAlignment(column.size(), 1, sizeof(uint64_t));
    builder.PushBytes(reinterpret_cast<const uint8_t*>(column.data()), column.size());
    offset_column = builder.GetSize();
  }
  fbs::KnownWordsBuilder known(builder);
  known.add_event(3);
  known.add_part(static_cast<fbs::WordPart>(part));
  known.add_offset_bytes(offset_column);
  known.add_data(data_column);
  const std::vector<flatbuffers::Offset<fbs::KnownWords>> places = {known.Finish()};
  builder.Finish(fbs::CreateProvenance(builder, builder.CreateVector(places)));
  return with_record(RecordKind::kProvenance, raw(builder), kFlagOptional);
}

// Two records, of which the second one knows something of an earlier event.
std::vector<std::byte> provenance_records_fall() {
  std::vector<RawRecord> records = base_records();
  for (const uint64_t event : {3, 2}) {
    const KnownWords known = {{event, 0, 0, WordPart::kInitial}, {{0, WordVerdict::kData}}};
    Packer packer;
    const std::span<const std::byte> payload = packer.pack_provenance({&known, 1});
    records.insert(
        records.end() - 1,
        RawRecord{RecordKind::kProvenance, kFlagOptional, {payload.begin(), payload.end()}});
  }
  return join_records(records);
}

std::vector<std::byte> copy_without_ends() {
  flatbuffers::FlatBufferBuilder builder;
  const auto copy = fbs::CreateCopy(builder);
  const std::vector<flatbuffers::Offset<fbs::Event>> events = {
      fbs::CreateEvent(builder, 0, 0, fbs::Action::Copy, copy.Union())};
  builder.Finish(fbs::CreateEventChunk(builder, 4, builder.CreateVector(events)));
  return with_record(RecordKind::kEvents, raw(builder));
}

// One blob, of the code object, is record 1 of the base.
void add_index_cases(std::vector<GoldenCase>& cases) {
  const auto at = [](size_t from_end, auto value) {
    return with_index([=](std::vector<std::byte>& index) {
      store_le(index.data() + index.size() - from_end, value);
    });
  };
  const auto as_it_is = [](std::vector<std::byte>&) {};
  cases.push_back({"index_elsewhere", with_index(as_it_is, kRecordAlignment)});
  cases.push_back({"index_of_nothing", with_index([](auto& index) { index.resize(15); })});
  cases.push_back(
      {"index_too_long", with_index([](auto& index) { index.resize(index.size() + 8); })});
  cases.push_back({"index_counts_records", with_index([](auto& index) {
                     store_le(index.data(), load_le<uint64_t>(index.data()) + (uint64_t{1} << 59));
                   })});
  cases.push_back(
      {"index_header_damaged", with_index([](auto& index) { index[16] ^= std::byte{1}; })});
  cases.push_back({"index_header_of_another", with_index([](auto& index) {
                     const auto header = encode_record_header(7, RecordKind::kEnvironment, 0, 1);
                     std::ranges::copy(header, index.begin() + 16);
                   })});
  cases.push_back({"index_blob_id", at(32, uint64_t{7})});
  cases.push_back({"index_blob_size", at(16, uint64_t{24})});
  cases.push_back({"index_blob_codec", at(8, uint32_t{1})});
  cases.push_back({"index_blob_codec_unknown", at(8, uint32_t{3})});
  cases.push_back({"index_blob_record", at(4, uint32_t{0})});
  cases.push_back({"index_blob_record_absurd", at(4, UINT32_MAX)});
  cases.push_back({"index_flagged_required", [] {
                     std::vector<RawRecord> records = base_records();
                     records.insert(records.end() - 1, {RecordKind::kIndex, 0, index_of(records)});
                     return join_records(records);
                   }()});
}

void add_container_cases(std::vector<GoldenCase>& cases) {
  const std::vector<std::byte> whole = base();
  const std::vector<RawRecord> records = base_records();
  cases.push_back({"empty", {}});
  cases.push_back({"not_a_trace", to_bytes("#!/bin/sh\necho this is no trace\n")});
  cases.push_back({"cut_in_head", cut(40)});
  cases.push_back({"cut_behind_head", cut(kHeadBytes)});
  cases.push_back({"cut_in_record_header", cut(kHeadBytes + 10)});
  cases.push_back({"cut_in_payload", cut(kHeadBytes + 50)});
  cases.push_back({"cut_in_footer", cut(whole.size() - 40)});
  cases.push_back({"cut_before_footer", cut(whole.size() - kFooterBytes)});
  cases.push_back({"head_damaged", patched(whole, 20, uint8_t{1})});
  cases.push_back({"newer_major_version", newer_major()});
  cases.push_back({"record_length_damaged", patched(whole, kHeadBytes, uint64_t{1} << 60)});
  cases.push_back({"payload_damaged", patched(whole, kHeadBytes + kRecordHeaderBytes + 5, 'X')});
  cases.push_back({"last_magic_damaged", patched(whole, whole.size() - 1, 'X')});
  std::vector<std::byte> longer = whole;
  longer.resize(whole.size() + 64);
  cases.push_back({"bytes_behind_the_end", longer});
  cases.push_back({"records_swapped", swapped_records()});
  add_index_cases(cases);
  cases.push_back({"footer_names_no_summary", footer_elsewhere()});
  cases.push_back({"flags_on_known_record", with_record(RecordKind::kFinding, {}, kFlagOptional)});
  cases.push_back({"unknown_flags", with_record(RecordKind{77}, {}, 3)});
  cases.push_back({"unknown_record_not_optional", with_record(RecordKind{77}, to_bytes("new"))});
  std::vector<RawRecord> after = records;
  after.push_back({RecordKind::kFinding, 0, packed(Finding{FindingKind::kNote, "a", 1, ""})});
  cases.push_back({"record_behind_summary", join_records(after)});
  std::vector<RawRecord> none = records;
  none.pop_back();
  cases.push_back({"no_summary", join_records(none)});
  cases.push_back({"summary_wrong_events", summary_wrong([](Statistics& s) { s.events = 5; })});
  cases.push_back(
      {"summary_wrong_blob_bytes", summary_wrong([](Statistics& s) { s.blob_bytes = 1; })});
}

// A frame of one raw block, which every zstd reads: up to 255 bytes.
std::vector<std::byte> raw_frame(std::span<const std::byte> bytes) {
  GFXGRAPH_CHECK(bytes.size() < 256);
  // Source: RFC 8878, single segment with a content size of one byte; last block, raw.
  std::vector<std::byte> frame = to_bytes("\x28\xb5\x2f\xfd\x20");
  frame.push_back(static_cast<std::byte>(bytes.size()));
  const size_t block = bytes.size() << 3 | 1;
  for (int shift = 0; shift < 24; shift += 8)
    frame.push_back(static_cast<std::byte>(block >> shift));
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  return frame;
}

std::vector<std::byte> with_compressed_events(uint64_t declared,
                                              const std::vector<std::byte>& stored) {
  std::vector<std::byte> payload(kCompressedEventsHeaderBytes);
  store_le(payload.data(), declared);
  payload.insert(payload.end(), stored.begin(), stored.end());
  return with_record(RecordKind::kCompressedEvents, std::move(payload));
}

void add_compressed_cases(std::vector<GoldenCase>& cases) {
  const std::vector<std::byte> events = packed_events({Marker{"x"}}, 4);
  const std::vector<std::byte> frame = raw_frame(events);
  std::vector<std::byte> behind = frame;
  behind.push_back(std::byte{0});
  const std::vector<std::byte> other = to_bytes("0123456789abcdef");
  const std::vector<std::byte> gap = packed_events({Marker{"x"}}, 5);
  cases.push_back(
      {"compressed_events_short", with_record(RecordKind::kCompressedEvents, to_bytes("short"))});
  cases.push_back({"compressed_events_empty", with_compressed_events(0, {})});
  cases.push_back({"compressed_events_too_large",
                   with_compressed_events(kMaxCompressedEventsBytes + 1, frame)});
  cases.push_back(
      {"compressed_events_bomb", with_compressed_events(kMaxCompressedEventsBytes, frame)});
  cases.push_back({"compressed_events_not_zstd", with_compressed_events(events.size(), events)});
  cases.push_back({"compressed_events_longer", with_compressed_events(events.size() - 1, frame)});
  cases.push_back({"compressed_events_shorter", with_compressed_events(events.size() + 1, frame)});
  cases.push_back({"compressed_events_behind", with_compressed_events(events.size(), behind)});
  cases.push_back(
      {"compressed_events_not_flatbuffer", with_compressed_events(other.size(), raw_frame(other))});
  cases.push_back({"compressed_events_gap", with_compressed_events(gap.size(), raw_frame(gap))});
}

void add_payload_cases(std::vector<GoldenCase>& cases) {
  const std::vector<std::byte> text = to_bytes("stored bytes");
  const BlobId id = hash_bytes(text);
  cases.push_back({"blob_shorter_than_header", with_record(RecordKind::kBlob, to_bytes("short"))});
  cases.push_back({"blob_without_id", with_blob({{}, text.size(), BlobCodec::kPlain}, text)});
  cases.push_back({"blob_wrong_size", with_blob({id, 5, BlobCodec::kPlain}, text)});
  cases.push_back({"blob_wrong_id", with_blob({{1, 2}, text.size(), BlobCodec::kPlain}, text)});
  cases.push_back({"blob_unknown_codec", with_blob({id, text.size(), BlobCodec{9}}, text)});
  cases.push_back({"blob_too_large", with_blob({id, kMaxBlobBytes + 1, BlobCodec::kZstd}, text)});
  cases.push_back({"blob_bomb", with_blob({id, UINT64_C(1) << 30, BlobCodec::kZstd}, text)});
  cases.push_back({"blob_not_zstd", with_blob({id, 100, BlobCodec::kZstd}, text)});
  const std::vector<std::byte> elf = to_bytes(
      "\x7f"
      "ELF, as if it were one");
  cases.push_back({"blob_twice", with_blob({hash_bytes(elf), elf.size(), BlobCodec::kPlain}, elf)});
  cases.push_back(
      {"payload_not_flatbuffer", with_record(RecordKind::kEvents, to_bytes("0123456789abcdef"))});
  cases.push_back({"payload_empty", with_record(RecordKind::kFinding, {})});
  cases.push_back({"payload_shares_bytes", with_record(RecordKind::kEvents, {})});
  cases.back().bytes = shared_bytes();
  cases.push_back({"event_of_unknown_kind", unknown_event_kind()});
  cases.push_back({"event_without_action", event_without_action()});
  cases.push_back({"relocation_columns_differ", relocation_columns()});
  cases.push_back({"copy_without_ends", copy_without_ends()});
  cases.push_back(
      {"allocation_kind_unknown", with_begin([](auto& b) { b.kind = AllocationKind{50}; })});
  cases.push_back(
      {"environment_twice", with_record(RecordKind::kEnvironment, packed(Environment{}))});
  cases.push_back({"finding_without_call", with_record(RecordKind::kFinding, packed(Finding{}))});
}

void add_chunk_cases(std::vector<GoldenCase>& cases) {
  const BlobId elf =
      hash_bytes(to_bytes("\x7f"
                          "ELF, as if it were one"));
  constexpr uint64_t kChunk = kMinChunkBytes;
  const auto list = [](uint64_t size, uint64_t chunk_bytes, const std::vector<BlobId>& chunks) {
    return with_blob({{1, 2}, size, BlobCodec::kChunks}, encode_chunk_list(chunk_bytes, chunks));
  };
  const BlobId zeros = fill_chunk(0);
  cases.push_back({"chunk_list_without_head",
                   with_blob({{1, 2}, 2 * kChunk, BlobCodec::kChunks}, to_bytes("short"))});
  cases.push_back({"chunk_list_chunk_bytes", list(2 * kChunk, kChunk + 1, {zeros, zeros})});
  cases.push_back({"chunk_list_chunk_bytes_zero", list(2 * kChunk, 0, {zeros, zeros})});
  cases.push_back({"chunk_list_of_one_chunk", list(kChunk, kChunk, {zeros})});
  cases.push_back({"chunk_list_too_short", list(3 * kChunk, kChunk, {zeros, zeros})});
  cases.push_back({"chunk_list_too_long", list(2 * kChunk, kChunk, {zeros, zeros, zeros})});
  cases.push_back({"chunk_list_absurd", list(kMaxBlobBytes, kChunk, {zeros, zeros})});
  cases.push_back({"chunk_list_too_large", list(kMaxBlobBytes + 1, kMaxChunkBytes, {zeros})});
  cases.push_back({"chunk_list_chunk_missing", list(2 * kChunk, kChunk, {zeros, {7, 7}})});
  cases.push_back({"chunk_list_chunk_size", list(2 * kChunk, kChunk, {zeros, elf})});
  cases.push_back({"chunk_list_of_itself", list(2 * kChunk, kChunk, {zeros, {1, 2}})});
  cases.push_back({"chunk_list_wrong_id", list(2 * kChunk, kChunk, {zeros, zeros})});
}

void add_object_cases(std::vector<GoldenCase>& cases) {
  const BlobId elf =
      hash_bytes(to_bytes("\x7f"
                          "ELF, as if it were one"));
  const auto code_object = [&](CodeObject c) {
    return with_record(RecordKind::kCodeObject, packed(c));
  };
  cases.push_back({"code_object_id_not_next", code_object({3, elf, "t"})});
  cases.push_back({"code_object_image_of_itself", code_object({2, elf, "t", 0, 2})});
  cases.push_back({"code_object_without_target", code_object({2, elf, ""})});
  cases.push_back({"code_object_without_blob", code_object({2, {1, 1}, "t"})});
  cases.push_back({"kernel_id_not_next", with_kernel([](Kernel& k) { k.id = 1; })});
  cases.push_back({"kernel_without_name", with_kernel([](Kernel& k) { k.name.clear(); })});
  cases.push_back({"kernel_name_with_nul", with_kernel([](Kernel& k) { k.name[2] = '\0'; })});
  cases.push_back(
      {"kernel_code_object_missing", with_kernel([](Kernel& k) { k.code_object = 2; })});
  cases.push_back(
      {"kernel_explicit_too_large", with_kernel([](Kernel& k) { k.explicit_size_bytes = 41; })});
  cases.push_back({"argument_outside_kernarg",
                   with_kernel([](Kernel& k) { k.arguments[3].offset_bytes = 26; })});
  cases.push_back({"argument_order",
                   with_kernel([](Kernel& k) { std::swap(k.arguments[1], k.arguments[2]); })});
  cases.push_back({"site_not_optional", with_record(RecordKind::kSite, {})});
  cases.push_back({"site_id_not_next", with_site([](Site& s) { s.id = 2; })});
  cases.push_back({"site_without_module", with_site([](Site& s) { s.module.clear(); })});
  cases.push_back({"site_before_its_symbol", with_site([](Site& s) { s.offset_bytes = 0x33; })});
  cases.push_back({"site_caller_of_machine_code", with_site([](Site& s) { s.caller = 1; })});
  cases.push_back({"site_caller_not_earlier", with_site([](Site& s) {
                     s = {1, "/opt/app/train.py", "", "step", 12, 0, false, false, 12};
                     s.caller = 1;
                   })});
  cases.push_back({"site_line_of_program", with_site([](Site& s) { s.line = 0x1234; })});
  cases.push_back({"site_unique_without_symbol", with_site([](Site& s) { s.symbol.clear(); })});
  using Places = std::vector<KnownWords>;
  cases.push_back({"provenance_not_optional", with_record(RecordKind::kProvenance, {})});
  cases.push_back(
      {"provenance_event_missing", with_known([](Places& p) { p[1].place.event = 4; })});
  cases.push_back({"provenance_node_of_event", with_known([](Places& p) { p[1].place.node = 1; })});
  cases.push_back({"provenance_graph_missing",
                   with_known([](Places& p) { p[0].place = {0, 1, 0, WordPart::kArguments}; })});
  cases.push_back({"provenance_places_fall", with_known([](Places& p) { std::swap(p[0], p[1]); })});
  cases.push_back({"provenance_records_fall", provenance_records_fall()});
  cases.push_back({"provenance_without_words", with_known([](Places& p) { p[1].words.clear(); })});
  cases.push_back({"provenance_offsets_fall",
                   with_known([](Places& p) { std::swap(p[0].words[0], p[0].words[1]); })});
  cases.push_back({"provenance_columns", known_words({1}, 1)});
  cases.push_back({"provenance_neither_true_nor_false", known_words({1, 2}, 1)});
  cases.push_back({"provenance_part_unknown", known_words({1, 0}, 6)});
  cases.push_back({"provenance_offsets_not_aligned", known_words({1, 0}, 1, false)});
  cases.push_back({"graph_id_not_next", with_graph([](Graph& g) { g.id = 2; })});
  cases.push_back(
      {"graph_depends_on_later_node", with_graph([](Graph& g) { g.nodes[0].dependencies = {1}; })});
  cases.push_back({"graph_dependencies_double",
                   with_graph([](Graph& g) { g.nodes[1].dependencies = {0, 0}; })});
  cases.push_back({"graph_node_kernel_missing",
                   with_graph([](Graph& g) { std::get<Launch>(g.nodes[0].action).kernel = 2; })});
}

void add_event_cases(std::vector<GoldenCase>& cases) {
  cases.push_back(
      {"sequence_gap", with_record(RecordKind::kEvents, packed_events({Marker{"x"}}, 5))});
  cases.push_back({"launch_kernel_missing", with_launch([](Launch& l) { l.kernel = 2; })});
  cases.push_back({"launch_stream_missing", with_launch([](Launch& l) { l.stream = 2; })});
  cases.push_back({"launch_grid_zero", with_launch([](Launch& l) { l.grid[1] = 0; })});
  cases.push_back({"launch_block_zero", with_launch([](Launch& l) { l.block[2] = 0; })});
  cases.push_back(
      {"launch_remainder_too_large", with_launch([](Launch& l) { l.grid_remainder[0] = 256; })});
  cases.push_back({"launch_kernarg_size", with_launch([](Launch& l) {
                     l.kernarg.resize(24);
                     l.relocations.clear();
                   })});
  cases.push_back(
      {"relocation_outside", with_launch([](Launch& l) { l.relocations[1].offset_bytes = 21; })});
  cases.push_back(
      {"relocation_overlap", with_launch([](Launch& l) { l.relocations[1].offset_bytes = 12; })});
  cases.push_back({"relocation_allocation_missing",
                   with_launch([](Launch& l) { l.relocations[0].allocation = 3; })});
  cases.push_back({"relocation_addend_too_large",
                   with_launch([](Launch& l) { l.relocations[0].addend = 4097; })});
  cases.push_back(
      {"relocation_addend_negative", with_launch([](Launch& l) { l.relocations[0].addend = -1; })});
  cases.push_back({"relocation_outside_but_inside",
                   with_launch([](Launch& l) { l.relocations[0].outside = true; })});
  cases.push_back({"relocation_source_unknown",
                   with_launch([](Launch& l) { l.relocations[0].source = RelocationSource{3}; })});
  cases.push_back({"allocation_id_zero", with_begin([](auto& b) { b.id = 0; })});
  cases.push_back({"allocation_id_reused", with_begin([](auto& b) { b.id = 2; })});
  cases.push_back({"allocation_without_bytes", with_begin([](auto& b) { b.size_bytes = 0; })});
  cases.push_back(
      {"allocation_wraps", with_begin([](auto& b) { b.recorded_address = UINT64_MAX; })});
  cases.push_back(
      {"allocation_initial_too_large", with_begin([](auto& b) { b.initial.size_bytes = 65; })});
  const auto unwritten = [](const auto& change) {
    return with_begin([&](AllocationBegin& b) {
      b.initial = {};
      b.initial.unwritten = true;
      b.initial.size_bytes = b.size_bytes;
      change(b);
    });
  };
  cases.push_back({"unwritten_with_fill", unwritten([](auto& b) { b.initial.fill = 1; })});
  cases.push_back({"unwritten_with_hash", unwritten([](auto& b) { b.initial.hash = {1, 2}; })});
  cases.push_back({"unwritten_not_stored", unwritten([](auto& b) { b.initial.stored = false; })});
  cases.push_back({"unwritten_in_part", unwritten([](auto& b) { b.initial.size_bytes = 8; })});
  cases.push_back({"unwritten_registered", unwritten([](auto& b) {
                     b.kind = AllocationKind::kHostRegistered;
                     b.host_address = b.recorded_address;
                   })});
  AllocationEnd unwritten_end{2, true, 0, {}};
  unwritten_end.post.size_bytes = 32;
  unwritten_end.post.unwritten = true;
  cases.push_back({"unwritten_post", with_event(unwritten_end)});
  AllocationEnd gone{2, true, 0, {}, true};
  cases.push_back({"gone_with_post", with_event(gone)});
  gone.post.stored = false;
  gone.post.hash = {1, 2};
  cases.push_back({"gone_with_hash", with_event(gone)});
  cases.push_back({"allocation_stream_missing", with_begin([](auto& b) { b.stream = 9; })});
  cases.push_back({"global_without_symbol", with_begin([](auto& b) {
                     b.kind = AllocationKind::kModuleGlobal;
                     b.code_object = 1;
                   })});
  cases.push_back({"global_code_object_missing", with_begin([](auto& b) {
                     b.kind = AllocationKind::kModuleGlobal;
                     b.code_object = 2;
                     b.symbol = std::string("global");
                   })});
  cases.push_back({"code_object_of_no_global", with_begin([](auto& b) { b.code_object = 1; })});
  cases.push_back({"allocation_end_missing", with_event(AllocationEnd{3, true, 0, {}})});
  cases.push_back({"allocation_end_twice",
                   with_record(RecordKind::kEvents, packed_events({AllocationEnd{1, true, 0, {}},
                                                                   AllocationEnd{1, true, 0, {}}},
                                                                  4))});
  AllocationEnd large{2, true, 0, {}};
  large.post.size_bytes = 33;
  cases.push_back({"allocation_post_too_large", with_event(large)});
  cases.push_back({"stream_id_reused", with_event(StreamCreate{1, 0, 0})});
  cases.push_back({"stream_destroy_missing", with_event(StreamDestroy{2})});
  cases.push_back({"event_id_zero", with_event(EventCreate{0, 0})});
  cases.push_back({"event_destroy_missing", with_event(EventDestroy{2})});
  cases.push_back({"event_record_missing", with_event(EventRecord{2, 0})});
  cases.push_back({"stream_wait_stream_missing", with_event(StreamWait{2, 1, 0})});
  cases.push_back({"synchronize_kind_unknown", with_event(Synchronize{SynchronizeKind{5}, 0})});
  cases.push_back(
      {"synchronize_device_with_id", with_event(Synchronize{SynchronizeKind::kDevice, 1})});
  cases.push_back({"graph_launch_missing", with_event(GraphLaunch{1, 0})});
  cases.push_back({"host_function_without_call", with_event(HostFunction{0, ""})});
  cases.push_back({"synchronize_host_function_missing",
                   with_event(Synchronize{SynchronizeKind::kHostFunction, 1})});
  cases.push_back({"synchronize_host_function_zero",
                   with_event(Synchronize{SynchronizeKind::kHostFunction, 0})});
  cases.push_back({"synchronize_null_stream_itself",
                   with_event(Synchronize{SynchronizeKind::kStreamItself, 0})});
  cases.push_back({"marker_kind_unknown", with_event(Marker{"x", MarkerKind{4}, 0})});
  cases.push_back({"marker_mark_with_range", with_event(Marker{"x", MarkerKind::kMark, 1})});
  cases.push_back({"marker_range_zero", with_event(Marker{"x", MarkerKind::kRangeBegin, 0})});
  cases.push_back({"allocation_name_too_long",
                   with_begin([](auto& b) { b.name = std::string(kMostNameBytes + 1, 'n'); })});
  cases.push_back(
      {"allocation_name_with_nul", with_begin([](auto& b) { b.name = std::string("a\0b", 3); })});
  const auto named = [](std::string text, RangeId range, AllocationId allocation) {
    return Marker{std::move(text), MarkerKind::kName, range, 0, allocation};
  };
  cases.push_back({"marker_name_of_nothing", with_event(named("x", 0, 0))});
  cases.push_back({"marker_name_allocation_missing", with_event(named("x", 0, 9))});
  cases.push_back({"marker_name_empty", with_event(named("", 0, 1))});
  cases.push_back({"marker_name_with_range", with_event(named("x", 1, 1))});
  cases.push_back(
      {"marker_name_too_long", with_event(named(std::string(kMostNameBytes + 1, 'n'), 0, 1))});
  cases.push_back(
      {"marker_mark_with_allocation", with_event(Marker{"x", MarkerKind::kMark, 0, 0, 1})});
  cases.push_back({"marker_range_not_open", with_event(Marker{"x", MarkerKind::kRangeEnd, 1})});
  const auto fault = [](std::string call, AllocationId allocation, uint64_t offset) {
    return CallFault{std::move(call), "hipErrorInvalidValue", allocation, offset, 4, false};
  };
  cases.push_back({"call_fault_without_call", with_event(fault("", 1, 0))});
  cases.push_back(
      {"call_fault_call_too_long", with_event(fault(std::string(kMostNameBytes + 1, 'n'), 1, 0))});
  cases.push_back({"call_fault_bytes_of_nothing", with_event(fault("hipMemcpy", 0, 0))});
  cases.push_back({"call_fault_allocation_missing", with_event(fault("hipMemcpy", 9, 0))});
  cases.push_back({"call_fault_outside", with_event(fault("hipMemcpy", 1, 1 << 20))});
  Checkpoint checkpoint;
  checkpoint.states = {{9, {1, 1}, {}}};
  cases.push_back({"checkpoint_allocation_missing", with_event(checkpoint)});
}

void add_memory_cases(std::vector<GoldenCase>& cases) {
  const BlobId elf =
      hash_bytes(to_bytes("\x7f"
                          "ELF, as if it were one"));
  cases.push_back({"content_blob_missing", with_content([](Content& c) { c.blob = {5, 5}; })});
  cases.push_back({"content_size_not_the_blobs", with_content([&](Content& c) { c.blob = elf; })});
  cases.push_back({"content_blob_but_not_stored", with_content([&](Content& c) {
                     c.size_bytes = 23;
                     c.blob = elf;
                     c.stored = false;
                   })});
  cases.push_back({"content_hash_not_the_blobs", with_content([&](Content& c) {
                     c.size_bytes = 23;
                     c.blob = elf;
                     c.hash = {7, 7};
                   })});
  cases.push_back({"content_fill_but_not_stored", with_content([](Content& c) {
                     c.fill = 1;
                     c.stored = false;
                   })});
  cases.push_back({"host_write_outside", with_content([](Content& c) { c.size_bytes = 33; })});
  cases.push_back({"copy_outside", with_copy([](Copy& c) { c.source.offset_bytes = 1; })});
  cases.push_back({"copy_outside_at_both_ends", with_copy([](Copy& c) {
                     c.destination = c.source = {};
                     c.host_source.size_bytes = 32;
                     c.host_source.fill = 1;
                   })});
  cases.push_back({"copy_rows_outside", with_copy([](Copy& c) {
                     c.width_bytes = 8;
                     c.height = 5;
                     c.destination.pitch_bytes = 16;
                   })});
  cases.push_back({"copy_pitch_too_small", with_copy([](Copy& c) {
                     c.width_bytes = 8;
                     c.height = 4;
                     c.destination.pitch_bytes = 4;
                   })});
  cases.push_back({"copy_slice_too_small", with_copy([](Copy& c) {
                     c.width_bytes = 2;
                     c.height = 4;
                     c.depth = 2;
                     c.destination.slice_bytes = 7;
                   })});
  cases.push_back({"copy_size_overflows", with_copy([](Copy& c) {
                     c.height = UINT64_C(1) << 40;
                     c.depth = UINT64_C(1) << 40;
                   })});
  cases.push_back({"copy_without_host_source", with_copy([](Copy& c) { c.source = {}; })});
  cases.push_back(
      {"copy_host_source_of_device", with_copy([](Copy& c) { c.host_source.size_bytes = 32; })});
  cases.push_back(
      {"copy_pinned_source_of_device", with_copy([](Copy& c) { c.source_is_pinned = true; })});
  cases.push_back({"copy_host_result_size", with_copy([](Copy& c) {
                     c.destination = {};
                     c.host_result.size_bytes = 31;
                   })});
  cases.push_back({"copy_allocation_missing", with_copy([](Copy& c) { c.source.allocation = 7; })});
  cases.push_back({"memset_element_size", with_memset([](Memset& m) { m.element_bytes = 3; })});
  cases.push_back({"memset_value_too_large", with_memset([](Memset& m) { m.value = 256; })});
  cases.push_back({"memset_outside", with_memset([](Memset& m) { m.offset_bytes = 4065; })});
  cases.push_back({"memset_size_overflows", with_memset([](Memset& m) {
                     m.element_bytes = 4;
                     m.width_elements = UINT64_C(1) << 63;
                   })});
}

}  // namespace

std::vector<GoldenCase> bad_cases() {
  std::vector<GoldenCase> cases;
  add_container_cases(cases);
  add_payload_cases(cases);
  add_compressed_cases(cases);
  add_chunk_cases(cases);
  add_object_cases(cases);
  add_event_cases(cases);
  add_memory_cases(cases);
  add_device_cases(cases);
  add_image_cases(cases);
  return cases;
}

}  // namespace gfxgraph::format

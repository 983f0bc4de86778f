#include "format/read/recover.h"

#include <fmt/format.h>

#include <new>
#include <optional>

#include "base/file/file.h"
#include "format/codec/pack.h"
#include "format/container/container_writer.h"
#include "format/read/loader.h"

namespace gfxgraph::format {
namespace {

// The partial file of a running recording will grow; a copy of half of it would look complete.
Result<void> check_not_recording(const std::filesystem::path& path) {
  GFXGRAPH_ASSIGN_OR_RETURN(File file, File::open_read(path));
  GFXGRAPH_ASSIGN_OR_RETURN(const bool free, file.try_lock());
  if (!free) {
    return fail(
        Status::kInvalidArgument,
        fmt::format("{}: a recording is still writing it; wait for it to end", path.string()));
  }
  return {};
}

Result<LoadedTrace> load(const MappedFile& mapped, const std::filesystem::path& path) {
  Result<LoadedTrace> loaded = load_trace(mapped.bytes(), {.allow_torn = true, .lazy = true});
  if (!loaded) return with_context(std::move(loaded).error(), path.string());
  return loaded;
}

RecoverReport report_of(const LoadedTrace& trace, uint64_t file_bytes) {
  RecoverReport report;
  report.intact = trace.sealed;
  report.reason = trace.torn_reason;
  report.kept_records = trace.whole_records;
  report.kept_bytes = trace.sealed ? file_bytes : trace.whole_bytes;
  report.lost_bytes = file_bytes - report.kept_bytes;
  report.statistics = trace.statistics;
  report.findings = trace.findings;
  return report;
}

// `finding`: whether the report's last finding is still to be written.
Result<void> finish(ContainerWriter& out, const RecoverReport& report, uint64_t graphs,
                    bool finding, uint64_t index_min_records = kMinIndexedRecords) {
  Packer packer;
  if (finding) {
    GFXGRAPH_TRY(
        out.append(PreparedRecord(RecordKind::kFinding, packer.pack(report.findings.back()))));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t index, out.append_index(index_min_records));
  return out.seal(PreparedRecord(
      RecordKind::kSummary,
      packer.pack_summary(report.statistics, graphs, report.findings.size(), index)));
}

// Whether the file had an index; the copy omits it.
Result<bool> copy_records(std::span<const std::byte> file, const LoadedTrace& trace,
                          ContainerWriter& out) {
  bool indexed = false;
  RecordScanner scanner(file);
  GFXGRAPH_TRY(scanner.read_head());
  for (uint64_t i = 0; i < trace.whole_records; ++i) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::optional<RecordView> record, scanner.next());
    GFXGRAPH_CHECK(record.has_value());
    if (record->kind == RecordKind::kSummary) break;  // the output gets its own
    indexed |= record->kind == RecordKind::kIndex;
    if (record->kind == RecordKind::kIndex) continue;
    GFXGRAPH_TRY(out.append(PreparedRecord(record->kind, record->payload, {}, record->flags)));
  }
  return indexed;
}

Finding loss(const LoadedTrace& trace, uint64_t lost_bytes) {
  return {FindingKind::kIncomplete, kRecoverCall, 1,
          fmt::format("the recording is truncated ({}): {} bytes after record {} and everything "
                      "not yet written are lost",
                      trace.torn_reason, lost_bytes, trace.whole_records)};
}

Result<RecoverReport> recover_file(const std::filesystem::path& in,
                                   const std::filesystem::path& out) {
  std::error_code ignored;
  if (std::filesystem::equivalent(in, out, ignored)) {
    return fail(Status::kInvalidArgument,
                fmt::format("{}: input and output are the same file", out.string()));
  }
  GFXGRAPH_TRY(check_not_recording(in));
  GFXGRAPH_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(in));
  GFXGRAPH_ASSIGN_OR_RETURN(const LoadedTrace trace, load(mapped, in));
  RecoverReport report = report_of(trace, mapped.bytes().size());

  GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, create_new_file(out));
  ContainerWriter writer(std::move(file));
  GFXGRAPH_TRY(writer.write_head());
  GFXGRAPH_ASSIGN_OR_RETURN(const bool indexed, copy_records(mapped.bytes(), trace, writer));
  if (!trace.sealed) report.findings.push_back(loss(trace, report.lost_bytes));
  GFXGRAPH_TRY(
      finish(writer, report, trace.graphs.size(), !trace.sealed, indexed ? 0 : kMinIndexedRecords));
  return report;
}

struct WholeRecords {
  uint64_t bytes = kHeadBytes;
  uint64_t count = 0;
  RunningHash chain;
  IndexBuilder index;
};

// Without a summary, which does not count the finding to come. An index stays, and means nothing.
Result<WholeRecords> whole_records(std::span<const std::byte> file, uint64_t count) {
  RecordScanner scanner(file, true);  // the hashes have been checked
  GFXGRAPH_TRY(scanner.read_head());
  WholeRecords whole;
  while (whole.count < count) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::optional<RecordView> record, scanner.next());
    GFXGRAPH_CHECK(record.has_value());
    if (record->kind == RecordKind::kSummary) break;
    const std::span<const std::byte> header = file.subspan(record->offset, kRecordHeaderBytes);
    whole.chain.add(header);
    whole.index.add(header, record->kind, record->payload);
    whole.bytes = scanner.offset();
    ++whole.count;
  }
  return whole;
}

Result<void> seal_in_place(const std::filesystem::path& partial, const std::filesystem::path& out,
                           const RecoverReport& report, uint64_t graphs, WholeRecords whole) {
  Result<void> sealed;
  {
    GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                              continue_partial_file(partial, out, whole.bytes));
    ContainerWriter writer(std::move(file), whole.bytes, whole.count, std::move(whole.chain),
                           std::move(whole.index));
    sealed = finish(writer, report, graphs, true);
  }
  // On a full disk: remove the partial record after the complete ones.
  if (!sealed) (void)continue_partial_file(partial, out, whole.bytes);
  return sealed;
}

Result<RecoverReport> close_file(const std::filesystem::path& partial,
                                 const std::filesystem::path& out, const Closing& closing) {
  GFXGRAPH_TRY(check_not_recording(partial));
  GFXGRAPH_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::open(partial));
  GFXGRAPH_ASSIGN_OR_RETURN(LoadedTrace trace, load(mapped, partial));
  if (trace.whole_records == 0) {
    return fail(Status::kTruncated, fmt::format("{}: holds no records", partial.string()));
  }
  if (trace.environment.start_unix_ns < closing.not_before_unix_ns) {
    return fail(Status::kInvalidArgument,
                fmt::format("{}: left from an earlier recording", partial.string()));
  }
  // A killed process truncates the file; other damage may have more records after it.
  if (trace.torn_status == Status::kCorrupt) {
    return fail(Status::kCorrupt, fmt::format("{}: {}", partial.string(), trace.torn_reason));
  }
  RecoverReport report = report_of(trace, mapped.bytes().size());
  if (trace.sealed) {
    GFXGRAPH_TRY(rename_file(partial, out));
    return report;
  }
  GFXGRAPH_ASSIGN_OR_RETURN(WholeRecords whole, whole_records(mapped.bytes(), trace.whole_records));
  report.kept_bytes = whole.bytes;
  report.kept_records = whole.count;
  report.findings.push_back(
      {FindingKind::kIncomplete, kCloseCall, 1,
       fmt::format("{}; the trace ends at record {} and lacks everything not yet written",
                   closing.reason, whole.count)});
  const uint64_t graphs = trace.graphs.size();
  trace = LoadedTrace();
  mapped = MappedFile();  // the file must not be truncated while mapped
  GFXGRAPH_TRY(seal_in_place(partial, out, report, graphs, std::move(whole)));
  return report;
}

// Untrusted files may request any amount of memory.
template <typename Work>
Result<RecoverReport> with_memory_for(const std::filesystem::path& path, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, fmt::format("{}: out of memory", path.string()));
  }
}

}  // namespace

Result<RecoverReport> recover(const std::filesystem::path& in, const std::filesystem::path& out) {
  return with_memory_for(in, [&] { return recover_file(in, out); });
}

Result<RecoverReport> close_recording(const std::filesystem::path& partial,
                                      const std::filesystem::path& out, const Closing& closing) {
  return with_memory_for(partial, [&] { return close_file(partial, out, closing); });
}

}  // namespace gfxgraph::format

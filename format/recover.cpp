#include "format/recover.h"

#include <fmt/format.h>

#include <new>
#include <optional>

#include "base/file.h"
#include "format/container_writer.h"
#include "format/loader.h"
#include "format/pack.h"

namespace gfxgraph::format {
namespace {

// The partial file of a living recording has more to come; half of it would look like the whole.
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

Result<void> copy_records(std::span<const std::byte> file, const LoadedTrace& trace,
                          ContainerWriter& out) {
  RecordScanner scanner(file);
  GFXGRAPH_TRY(scanner.read_head());
  for (uint64_t i = 0; i < trace.whole_records; ++i) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::optional<RecordView> record, scanner.next());
    GFXGRAPH_CHECK(record.has_value());
    if (record->kind == RecordKind::kSummary) break;  // the output gets its own
    GFXGRAPH_TRY(out.append(PreparedRecord(record->kind, record->payload, {}, record->flags)));
  }
  return {};
}

Finding loss(const LoadedTrace& trace, uint64_t lost_bytes) {
  return {
      FindingKind::kIncomplete, "gfxgraph recover", 1,
      fmt::format("the recording has no proper end ({}): {} bytes behind record {} are lost, and "
                  "all that was not yet written",
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
  Result<LoadedTrace> loaded = load_trace(mapped.bytes(), {.allow_torn = true});
  if (!loaded) return with_context(std::move(loaded).error(), in.string());
  const LoadedTrace& trace = *loaded;

  RecoverReport report;
  report.intact = trace.sealed;
  report.reason = trace.torn_reason;
  report.kept_records = trace.whole_records;
  report.kept_bytes = trace.sealed ? mapped.bytes().size() : trace.whole_bytes;
  report.lost_bytes = mapped.bytes().size() - report.kept_bytes;
  report.statistics = trace.statistics;

  // `in` is often the .partial of `out`: another name, so that it stays.
  GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                            create_partial_file(out, ".recovered.partial"));
  ContainerWriter writer(std::move(file));
  GFXGRAPH_TRY(writer.write_head());
  GFXGRAPH_TRY(copy_records(mapped.bytes(), trace, writer));
  Packer packer;
  uint64_t findings = trace.findings.size();
  if (!trace.sealed) {
    const Finding finding = loss(trace, report.lost_bytes);
    GFXGRAPH_TRY(writer.append(PreparedRecord(RecordKind::kFinding, packer.pack(finding))));
    ++findings;
  }
  GFXGRAPH_TRY(writer.seal(PreparedRecord(
      RecordKind::kSummary, packer.pack_summary(trace.statistics, trace.graphs.size(), findings))));
  return report;
}

}  // namespace

Result<RecoverReport> recover(const std::filesystem::path& in, const std::filesystem::path& out) {
  try {
    return recover_file(in, out);
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, fmt::format("{}: no memory for it", in.string()));
  }
}

}  // namespace gfxgraph::format

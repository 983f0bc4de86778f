#include "format/read/verify.h"

#include <fmt/format.h>

#include <new>
#include <optional>

#include "base/file/file.h"
#include "format/read/loader.h"

namespace gfxgraph::format {
namespace {

class Verifier {
 public:
  explicit Verifier(std::span<const std::byte> file)
      : file_(file), scanner_(file), loader_(file.size()) {
    report_.file_bytes = file.size();
  }

  VerifyReport run() {
    if (Result<void> head = scanner_.read_head(); !head) {
      add(0, head.error());
      return std::move(report_);
    }
    while (!report_.problems_cut && step()) {
    }
    return std::move(report_);
  }

 private:
  bool step() {
    const uint64_t at = scanner_.offset();
    const Result<std::optional<RecordView>> record = scanner_.next();
    if (!record) {
      add(at, record.error());
      meaning_ = false;
      return scanner_.skip_damaged();
    }
    if (!record->has_value()) return false;
    const RecordView& found = **record;
    ++report_.records;
    if (found.kind == RecordKind::kFooter) report_.sealed = true;
    if (found.kind == RecordKind::kBlob) check_blob(found);
    if (meaning_) {
      if (Result<void> added = loader_.add(found); !added) {
        add(found.offset, added.error());
        meaning_ = false;
      }
    }
    return true;
  }

  void check_blob(const RecordView& record) {
    const Result<BlobView> blob = decode_blob(record.payload);
    if (!blob) {
      // The loader says this, too, as long as it is fed.
      if (!meaning_) add_at(record, blob.error());
      return;
    }
    // After damage, a list may name blobs that were not loaded.
    if (!meaning_ && blob->header.codec == BlobCodec::kChunks) return;
    ++report_.blobs;
    if (Result<void> right = gfxgraph::format::check_blob(*blob, loader_.trace().blobs); !right) {
      add_at(record, right.error());
    }
  }

  void add_at(const RecordView& record, const Error& error) {
    add(record.offset, {error.status, record.where() + ": " + error.message});
  }

  void add(uint64_t offset, const Error& error) {
    if (report_.problems.size() >= VerifyReport::kMaxProblems) {
      report_.problems_cut = true;
      return;
    }
    report_.problems.push_back({offset, error.status, error.message});
  }

  std::span<const std::byte> file_;
  RecordScanner scanner_;
  Loader loader_;
  bool meaning_ = true;
  VerifyReport report_;
};

}  // namespace

Result<VerifyReport> verify_bytes(std::span<const std::byte> bytes) {
  try {
    return Verifier(bytes).run();
  } catch (const std::bad_alloc&) {
    return fail(Status::kOutOfMemory, "no memory to verify the trace");
  }
}

Result<VerifyReport> verify(const std::filesystem::path& path) {
  GFXGRAPH_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(path));
  return verify_bytes(mapped.bytes());
}

}  // namespace gfxgraph::format

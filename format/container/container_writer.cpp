#include "format/container/container_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/checked.h"
#include "base/cli/output.h"
#include "base/file/file.h"
#include "base/file/new_file.h"
#include "base/log.h"

namespace gfxgraph::format {
namespace {

constexpr std::array<std::byte, kRecordAlignment> kZeros{};

class PartialFile : public OutputFile {
 public:
  PartialFile(File file, File folder, std::filesystem::path final_path, uint64_t written = 0)
      : file_(std::move(file)),
        folder_(std::move(folder)),
        final_path_(std::move(final_path)),
        written_(written) {}

  Result<void> write(std::span<const std::span<const std::byte>> parts) override {
    GFXGRAPH_TRY(file_.write_all(parts));
    for (const std::span<const std::byte>& part : parts) written_ += part.size();
    if (!parts.empty() && parts.back().size() == last_.size()) {
      std::ranges::copy(parts.back(), last_.begin());
    }
    return {};
  }

  Result<void> commit() override {
    GFXGRAPH_TRY(file_.sync());
    GFXGRAPH_TRY(read_back());
    GFXGRAPH_TRY(rename_in(folder_, file_, file_.path().filename(), final_path_.filename()));
    // If the program has changed its root or user, the folder cannot be opened by name; the rename
    // itself has succeeded.
    (void)sync_folder(final_path_.parent_path());
    return {};
  }

  // Closing does not unlock: the lock belongs to the open file, which the parent still holds.
  void abandon() noexcept override {
    file_.close();
    folder_.close();
  }

 private:
  // The program that this runs in may have truncated or overwritten the file.
  Result<void> read_back() const {
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t size, file_.size());
    std::array<std::byte, kFooterBytes> footer{};
    if (size == written_ && written_ >= footer.size()) {
      GFXGRAPH_TRY(file_.read_at(written_ - footer.size(), footer));
      if (footer == last_) return {};
    }
    return fail(
        Status::kIo,
        fmt::format("{}: changed by the program or another process: {} bytes, {} were written",
                    file_.path().string(), size, written_));
  }

  File file_;
  File folder_;
  std::filesystem::path final_path_;
  uint64_t written_;                            // the file's size
  std::array<std::byte, kFooterBytes> last_{};  // the last write, if it was a footer
};

class UnnamedFile : public OutputFile {
 public:
  explicit UnnamedFile(NewFile file) : file_(std::move(file)) {}

  Result<void> write(std::span<const std::span<const std::byte>> parts) override {
    return file_.write(parts);
  }
  Result<void> commit() override { return file_.commit(); }
  void abandon() noexcept override {}  // only recorded programs fork

 private:
  NewFile file_;
};

class MemoryFile : public OutputFile {
 public:
  explicit MemoryFile(File file) : file_(std::move(file)) {}

  Result<void> write(std::span<const std::span<const std::byte>> parts) override {
    return file_.write_all(parts);
  }
  Result<void> commit() override { return {}; }
  void abandon() noexcept override { file_.close(); }

 private:
  File file_;
};

}  // namespace

Result<std::unique_ptr<OutputFile>> create_partial_file(const std::filesystem::path& path,
                                                        const char* suffix) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return fail_errno("create", path, EISDIR);
  const std::filesystem::path partial = path.string() + suffix;
  GFXGRAPH_TRY(check_output_path(path));
  GFXGRAPH_TRY(check_output_path(partial));
  // Retry if the file was renamed between open and lock, by its owner or by a process like this.
  for (int round = 0; round < 8; ++round) {
    GFXGRAPH_ASSIGN_OR_RETURN(File file, File::open_guarded(partial));
    GFXGRAPH_ASSIGN_OR_RETURN(const bool locked, file.try_lock());
    if (!locked) {
      return fail(Status::kIo, fmt::format("create {}: another recording is writing it; choose "
                                           "another file name or wait for it to end",
                                           partial.string()));
    }
    if (!file.is_current()) continue;
    GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t size, file.size());
    if (size == 0) {
      GFXGRAPH_ASSIGN_OR_RETURN(File folder, File::open_guarded_folder(path.parent_path()));
      return std::make_unique<PartialFile>(std::move(file), std::move(folder), path);
    }
    const std::filesystem::path old = partial.string() + ".old";
    log(LogLevel::kWarning, "{} was left by a recording that died; kept as {}", partial.string(),
        old.string());
    GFXGRAPH_TRY(rename_file(partial, old));
  }
  return fail(Status::kIo,
              fmt::format("create {}: other recordings keep taking this name", partial.string()));
}

Result<std::unique_ptr<OutputFile>> create_new_file(const std::filesystem::path& path) {
  GFXGRAPH_ASSIGN_OR_RETURN(NewFile file, NewFile::create(path, FileUse::kTrace));
  return std::make_unique<UnnamedFile>(std::move(file));
}

Result<std::unique_ptr<OutputFile>> create_memory_file(File& descriptor) {
  GFXGRAPH_ASSIGN_OR_RETURN(File file, File::in_memory());
  GFXGRAPH_ASSIGN_OR_RETURN(descriptor, file.duplicate());
  return std::make_unique<MemoryFile>(std::move(file));
}

Result<std::unique_ptr<OutputFile>> continue_partial_file(const std::filesystem::path& partial,
                                                          const std::filesystem::path& path,
                                                          uint64_t keep_bytes) {
  GFXGRAPH_TRY(check_output_path(path));
  GFXGRAPH_ASSIGN_OR_RETURN(File file, File::open_guarded(partial));
  GFXGRAPH_ASSIGN_OR_RETURN(const bool locked, file.try_lock());
  if (!locked || !file.is_current()) {
    return fail(Status::kIo, fmt::format("{}: a recording is still writing it", partial.string()));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(File folder, File::open_guarded_folder(path.parent_path()));
  GFXGRAPH_TRY(file.truncate(keep_bytes));
  GFXGRAPH_TRY(file.seek(keep_bytes));
  return std::make_unique<PartialFile>(std::move(file), std::move(folder), path, keep_bytes);
}

PreparedRecord::PreparedRecord(RecordKind kind, std::span<const std::byte> first,
                               std::span<const std::byte> second, uint32_t flags)
    : parts{first, second}, payload_bytes(first.size() + second.size()) {
  const uint64_t hash =
      second.empty() ? hash64(first) : hash64_parts(std::span(parts.data(), parts.size()));
  header = encode_record_header(payload_bytes, kind, flags, hash);
}

Result<void> ContainerWriter::write_head() {
  const std::array<std::byte, kHeadBytes> head = encode_head();
  const std::span<const std::byte> part = head;
  GFXGRAPH_TRY(file_->write(std::span(&part, 1)));
  offset_ = kHeadBytes;
  return {};
}

Result<void> ContainerWriter::append(const PreparedRecord& record) {
  const std::optional<uint64_t> end =
      checked_add(offset_ + kRecordHeaderBytes, record.payload_bytes);
  const std::optional<uint64_t> next =
      end ? checked_align_up(*end, kRecordAlignment) : std::nullopt;
  if (!next) return fail(Status::kInvalidArgument, "the trace is too large");
  const std::array<std::span<const std::byte>, 2 + PreparedRecord::kMaxParts> parts = {
      record.header, record.parts[0], record.parts[1], std::span(kZeros).first(*next - *end)};
  GFXGRAPH_TRY(file_->write(parts));
  chain_.add(record.header);
  index_.add(record.header, decode_record_header(record.header).kind, record.parts[0]);
  offset_ = *next;
  ++records_;
  return {};
}

Result<uint64_t> ContainerWriter::append_index(uint64_t min_records) {
  const std::vector<std::byte> index = index_.encode(min_records);
  if (index.empty()) return 0;
  const uint64_t offset = offset_;
  GFXGRAPH_TRY(
      append(PreparedRecord(RecordKind::kIndex, index, {}, record_flags(RecordKind::kIndex))));
  return offset;
}

Result<void> ContainerWriter::seal(const PreparedRecord& summary) {
  const uint64_t summary_offset = offset_;
  GFXGRAPH_TRY(append(summary));
  const std::array<std::byte, kFooterBytes> footer =
      encode_footer(summary_offset, records_, chain_.value());
  const std::span<const std::byte> part = footer;
  GFXGRAPH_TRY(file_->write(std::span(&part, 1)));
  return file_->commit();
}

}  // namespace gfxgraph::format

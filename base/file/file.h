// Files: RAII descriptors, whole writes, locks, renames, read-only mappings. Every error is kIo
// (kNotFound if the file does not exist) and names the path and the system's error text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph {

// "No space left on device"; for any number a text.
std::string errno_message(int error);

// kNotFound for ENOENT, kOutOfMemory for ENOMEM, otherwise kIo: "<action> <path>: <system error>".
tl::unexpected<Error> fail_errno(const char* action, const std::filesystem::path& path, int error);

// Owns a descriptor, opened close-on-exec. Move-only; not thread-safe.
class File {
 public:
  File() = default;
  ~File() { close(); }
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  // Takes over an open descriptor; `path` is for messages.
  static File own(int fd, const std::filesystem::path& path) { return {fd, path}; }
  static Result<File> open_read(const std::filesystem::path& path);
  // Read and write; created when missing, for this user alone (mode 0600); never truncated.
  static Result<File> open_write(const std::filesystem::path& path);
  // As open_write, for a file that stays open in another program's process: only a regular file and
  // no link, readable only by its owner, under a high descriptor number. The program may close the
  // descriptor or reuse its number (closefrom, dup2): each use checks that it is still this file
  // and otherwise fails, and close() leaves it alone.
  static Result<File> open_guarded(const std::filesystem::path& path);
  // The folder of a guarded file, for rename_in(): works also after chroot(). Guarded as well.
  static Result<File> open_guarded_folder(const std::filesystem::path& path);
  // A new unnamed file in the folder: it vanishes when it is closed. Guarded as well.
  static Result<File> open_unnamed(const std::filesystem::path& folder);
  // The same in memory only.
  static Result<File> in_memory();

  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

  [[nodiscard]] Result<uint64_t> size() const;
  // All bytes of all parts, at the current position. Short writes and EINTR are continued. A file
  // size limit (RLIMIT_FSIZE) is an error, not the signal SIGXFSZ.
  [[nodiscard]] Result<void> write_all(std::span<const std::span<const std::byte>> parts);
  [[nodiscard]] Result<void> write_all(std::span<const std::byte> bytes);
  // All bytes at `offset`, whatever the current position is; else as write_all().
  [[nodiscard]] Result<void> write_at(uint64_t offset, std::span<const std::byte> bytes);
  // Exactly `bytes.size()` bytes from `offset`; kTruncated when the file is shorter.
  [[nodiscard]] Result<void> read_at(uint64_t offset, std::span<std::byte> bytes) const;
  [[nodiscard]] Result<void> truncate(uint64_t size_bytes);
  // Another descriptor of the same open file, not guarded.
  [[nodiscard]] Result<File> duplicate() const;
  // The offset where write_all() continues.
  [[nodiscard]] Result<void> seek(uint64_t offset);
  // Data to the disk.
  [[nodiscard]] Result<void> sync();
  // Exclusive advisory lock (flock); false when another open file holds it. Lost when the last
  // descriptor of this open file closes, also those that a fork() copied.
  [[nodiscard]] Result<bool> try_lock();
  // Whether the path still names this file (it was not renamed or replaced).
  [[nodiscard]] bool is_current() const noexcept;
  // Whether `name` in `folder` is this file.
  [[nodiscard]] bool is_named(const File& folder, const std::string& name) const noexcept;
  void close() noexcept;

 private:
  File(int fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}
  // Moves the descriptor up and remembers what it refers to.
  Result<void> guard();
  [[nodiscard]] bool is_intact() const noexcept;
  [[nodiscard]] Result<void> check_intact() const;

  int fd_ = -1;
  uint64_t device_ = 0;  // of a guarded file
  uint64_t inode_ = 0;   // 0: not guarded
  std::filesystem::path path_;
};

// Atomic; replaces `to`, but only a regular file (base/cli/output.h).
Result<void> rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
// The same by names in `folder` (open_guarded_folder), for `file`, which has the name `from`: an
// error otherwise. Afterwards it has the name `to`.
Result<void> rename_in(const File& folder, const File& file, const std::string& from,
                       const std::string& to);
// Makes a rename in this folder survive a power loss. File systems that cannot do this do not cause
// an error.
Result<void> sync_folder(const std::filesystem::path& folder);
// Whole file; kInvalidArgument when larger than `limit_bytes`.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path,
                                         uint64_t limit_bytes = UINT64_C(1) << 40);
// For this user alone: write_new_file() of base/file/new_file.h, which is for other files too.
Result<void> write_file_atomic(const std::filesystem::path& path, std::span<const std::byte> bytes);

// A regular file mapped read-only. Bytes stay valid as long as this object. The file must not
// shrink meanwhile (the system would raise SIGBUS): gfxgraph itself only replaces files by rename.
class MappedFile {
 public:
  MappedFile() = default;
  ~MappedFile() { reset(); }
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  static Result<MappedFile> open(const std::filesystem::path& path);
  // Of an open file, which is not closed; `name` is for messages.
  static Result<MappedFile> map(int descriptor, const std::filesystem::path& name);
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  void reset() noexcept;
  std::span<const std::byte> bytes_;
};

// Bytes of memory in this machine; the limit for allocations that a file can cause.
uint64_t physical_memory_bytes() noexcept;

}  // namespace gfxgraph

#include "base/file/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/cli/output.h"
#include "base/file/new_file.h"

namespace gfxgraph {
namespace {

constexpr int kHighestGuarded = 16384;
constexpr int kGuardedRange = 64;

tl::unexpected<Error> not_regular(const std::filesystem::path& path) {
  return fail(Status::kInvalidArgument,
              fmt::format("{}: not a regular file, will not be written or replaced; name another "
                          "output",
                          path.string()));
}

// A write past RLIMIT_FSIZE raises SIGXFSZ, which kills the process unless ignored. A library must
// not change the program's signal handling, so it checks the limit before the write.
bool exceeds_file_size_limit(uint64_t offset, uint64_t more_bytes) {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  return !range_fits(offset, more_bytes, limit.rlim_cur);
}

bool exceeds_file_size_limit_here(int fd, uint64_t more_bytes) {
  const off_t position = ::lseek(fd, 0, SEEK_CUR);
  return position >= 0 && exceeds_file_size_limit(static_cast<uint64_t>(position), more_bytes);
}

}  // namespace

std::string errno_message(int error) {
  const char* text = ::strerrordesc_np(error);
  return text != nullptr ? text : fmt::format("system error {}", error);
}

tl::unexpected<Error> fail_errno(const char* action, const std::filesystem::path& path, int error) {
  const Status status = error == ENOENT   ? Status::kNotFound
                        : error == ENOMEM ? Status::kOutOfMemory
                                          : Status::kIo;
  return fail(status, fmt::format("{} {}: {}", action, path.string(), errno_message(error)));
}

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      device_(other.device_),
      inode_(std::exchange(other.inode_, 0)),
      path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    device_ = other.device_;
    inode_ = std::exchange(other.inode_, 0);
    path_ = std::move(other.path_);
  }
  return *this;
}

Result<File> File::open_read(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail_errno("open", path, errno);
  return File(fd, path);
}

Result<File> File::open_write(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail_errno("create", path, errno);
  return File(fd, path);
}

Result<File> File::open_guarded(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe without a reader would block indefinitely.
  const int fd =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (fd < 0 && (errno == ELOOP || errno == ENXIO)) return not_regular(path);
  if (fd < 0) return fail_errno("create", path, errno);
  File file(fd, path);
  struct stat status{};
  if (::fstat(fd, &status) != 0) return fail_errno("stat", path, errno);
  if (!S_ISREG(status.st_mode)) return not_regular(path);
  GFXGRAPH_TRY(file.guard());
  return file;
}

Result<File> File::open_guarded_folder(const std::filesystem::path& path) {
  const int fd = ::open(path.empty() ? "." : path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno("open", path, errno);
  File folder(fd, path);
  GFXGRAPH_TRY(folder.guard());
  return folder;
}

Result<File> File::open_unnamed(const std::filesystem::path& folder) {
  const std::filesystem::path in = folder.empty() ? "." : folder;
  const std::filesystem::path name = in / "(temporary file)";
  int fd = ::open(in.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    std::string pattern = (in / ".gfxgraph-XXXXXX").string();  // some file systems lack the flag
    fd = ::mkostemp(pattern.data(), O_CLOEXEC);
    if (fd >= 0) (void)::unlink(pattern.c_str());
  }
  if (fd < 0) return fail_errno("create", name, errno);
  File file(fd, name);
  GFXGRAPH_TRY(file.guard());
  return file;
}

Result<File> File::in_memory() {
  const std::filesystem::path name = "(file in memory)";
  const int fd = ::memfd_create("gfxgraph", MFD_CLOEXEC);
  if (fd < 0) return fail_errno("create", name, errno);
  File file(fd, name);
  GFXGRAPH_TRY(file.guard());
  return file;
}

Result<File> File::duplicate() const {
  GFXGRAPH_TRY(check_intact());
  const int fd = ::fcntl(fd_, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return fail_errno("duplicate", path_, errno);
  return File(fd, path_);
}

Result<void> File::guard() {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    // Higher numbers would enlarge the kernel's descriptor table.
    const int highest = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kHighestGuarded));
    const int moved = ::fcntl(fd_, F_DUPFD_CLOEXEC, std::max(highest - kGuardedRange, 0));
    if (moved >= 0) {
      ::close(fd_);
      fd_ = moved;
    }
  }
  struct stat status{};
  if (::fstat(fd_, &status) != 0) return fail_errno("stat", path_, errno);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return {};
}

bool File::is_intact() const noexcept {
  if (inode_ == 0) return true;
  struct stat status{};
  return ::fstat(fd_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

Result<void> File::check_intact() const {
  if (is_intact()) return {};
  return fail(Status::kIo,
              fmt::format("write {}: the program closed its file descriptor", path_.string()));
}

Result<uint64_t> File::size() const {
  GFXGRAPH_TRY(check_intact());
  struct stat status{};
  if (::fstat(fd_, &status) != 0) return fail_errno("stat", path_, errno);
  return static_cast<uint64_t>(status.st_size);
}

Result<void> File::write_all(std::span<const std::span<const std::byte>> parts) {
  // Few parts per record; a fixed array keeps the hot path free of allocations.
  std::array<iovec, 8> vectors;
  uint64_t total = 0;
  for (const std::span<const std::byte>& part : parts) total += part.size();
  GFXGRAPH_TRY(check_intact());
  if (exceeds_file_size_limit_here(fd_, total)) return fail_errno("write", path_, EFBIG);

  size_t next = 0;        // first part not completely written
  size_t done_of_it = 0;  // bytes of that part already written
  while (next < parts.size()) {
    size_t count = 0;
    for (size_t i = next; i < parts.size() && count < vectors.size(); ++i) {
      const size_t from = i == next ? done_of_it : 0;
      if (parts[i].size() == from) continue;
      vectors[count++] = {const_cast<std::byte*>(parts[i].data()) + from, parts[i].size() - from};
    }
    if (count == 0) break;
    const ssize_t written = ::writev(fd_, vectors.data(), static_cast<int>(count));
    if (written < 0) {
      if (errno == EINTR) continue;
      return fail_errno("write", path_, errno);
    }
    if (written == 0) return fail_errno("write", path_, ENOSPC);
    size_t left = static_cast<size_t>(written);
    while (next < parts.size() && left >= parts[next].size() - done_of_it) {
      left -= parts[next].size() - done_of_it;
      ++next;
      done_of_it = 0;
    }
    done_of_it += left;
  }
  return {};
}

Result<void> File::write_all(std::span<const std::byte> bytes) {
  return write_all(std::span(&bytes, 1));
}

Result<void> File::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  GFXGRAPH_TRY(check_intact());
  if (exceeds_file_size_limit(offset, bytes.size())) return fail_errno("write", path_, EFBIG);
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail_errno("write", path_, written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return {};
}

Result<void> File::read_at(uint64_t offset, std::span<std::byte> bytes) const {
  GFXGRAPH_TRY(check_intact());
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      return fail_errno("read", path_, errno);
    }
    if (got == 0) {
      return fail(Status::kTruncated,
                  fmt::format("read {}: ends at byte {}, {} bytes wanted from "
                              "byte {}",
                              path_.string(), offset + done, bytes.size(), offset));
    }
    done += static_cast<size_t>(got);
  }
  return {};
}

Result<void> File::truncate(uint64_t size_bytes) {
  GFXGRAPH_TRY(check_intact());
  if (::ftruncate(fd_, static_cast<off_t>(size_bytes)) != 0) {
    return fail_errno("truncate", path_, errno);
  }
  return {};
}

Result<void> File::seek(uint64_t offset) {
  GFXGRAPH_TRY(check_intact());
  if (::lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0) {
    return fail_errno("seek in", path_, errno);
  }
  return {};
}

Result<void> File::sync() {
  GFXGRAPH_TRY(check_intact());
  while (::fsync(fd_) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == ENOTSUP) return {};  // a pipe or /dev/null: nothing to sync
    return fail_errno("sync", path_, errno);
  }
  return {};
}

Result<bool> File::try_lock() {
  GFXGRAPH_TRY(check_intact());
  while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return false;
    return fail_errno("lock", path_, errno);
  }
  return true;
}

bool File::is_current() const noexcept {
  struct stat mine{};
  struct stat named{};
  return ::fstat(fd_, &mine) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

bool File::is_named(const File& folder, const std::string& name) const noexcept {
  struct stat mine{};
  struct stat named{};
  return is_intact() && folder.is_intact() && ::fstat(fd_, &mine) == 0 &&
         ::fstatat(folder.fd_, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

void File::close() noexcept {
  const bool mine = fd_ >= 0 && is_intact();
  const int fd = std::exchange(fd_, -1);
  inode_ = 0;
  if (mine) ::close(fd);
}

Result<void> rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  GFXGRAPH_TRY(check_output_path(to));
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    return fail_errno("rename", from.string() + " to " + to.string(), error);
  }
  return {};
}

Result<void> rename_in(const File& folder, const File& file, const std::string& from,
                       const std::string& to) {
  const std::filesystem::path old_name = folder.path() / from;
  const std::filesystem::path new_name = folder.path() / to;
  if (!file.is_named(folder, from)) {
    return fail(Status::kIo, fmt::format("rename {}: the file was moved, removed or replaced",
                                         old_name.string()));
  }
  struct stat status{};
  if (::fstatat(folder.fd(), to.c_str(), &status, 0) == 0 && !S_ISREG(status.st_mode)) {
    return not_regular(new_name);
  }
  if (::renameat(folder.fd(), from.c_str(), folder.fd(), to.c_str()) != 0) {
    const int error = errno;
    return fail_errno("rename", old_name.string() + " to " + new_name.string(), error);
  }
  if (!file.is_named(folder, to)) {
    return fail(Status::kIo,
                fmt::format("{}: replaced by another file meanwhile", new_name.string()));
  }
  return {};
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder.empty() ? std::filesystem::path(".") : folder;
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder without read permission cannot be synced; the rename itself is done.
  if (fd < 0) return errno == EACCES ? Result<void>() : fail_errno("open", path, errno);
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  if (result != 0 && error != EINVAL && error != ENOTSUP) return fail_errno("sync", path, error);
  return {};
}

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, uint64_t limit_bytes) {
  GFXGRAPH_ASSIGN_OR_RETURN(const File file, File::open_read(path));
  std::vector<std::byte> bytes;
  GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t expected, file.size());
  if (expected <= limit_bytes) bytes.reserve(expected);
  // Read to the end and do not rely on the size: files in /proc report 0.
  std::array<std::byte, 65536> buffer;
  while (true) {
    const ssize_t got = ::read(file.fd(), buffer.data(), buffer.size());
    if (got < 0) {
      if (errno == EINTR) continue;
      return fail_errno("read", path, errno);
    }
    if (got == 0) return bytes;
    if (bytes.size() + static_cast<size_t>(got) > limit_bytes) {
      return fail(
          Status::kInvalidArgument,
          fmt::format("read {}: larger than the limit of {} bytes", path.string(), limit_bytes));
    }
    bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + got);
  }
}

Result<void> write_file_atomic(const std::filesystem::path& path,
                               std::span<const std::byte> bytes) {
  return write_new_file(path, FileUse::kMemory, bytes);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    reset();
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  struct stat status{};
  // Opening a pipe without a writer would block indefinitely.
  if (::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode)) {
    return fail(Status::kIo, fmt::format("open {}: not a regular file", path.string()));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const File file, File::open_read(path));
  return map(file.fd(), path);
}

Result<MappedFile> MappedFile::map(int descriptor, const std::filesystem::path& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return fail_errno("stat", path, errno);
  if (S_ISDIR(status.st_mode)) return fail_errno("open", path, EISDIR);
  if (!S_ISREG(status.st_mode)) {
    return fail(Status::kIo, fmt::format("open {}: not a regular file", path.string()));
  }
  MappedFile mapped;
  const size_t size = static_cast<size_t>(status.st_size);
  if (size == 0) return mapped;
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (at == MAP_FAILED) return fail_errno("map", path, errno);
  mapped.bytes_ = {static_cast<const std::byte*>(at), size};
  return mapped;
}

void MappedFile::reset() noexcept {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  bytes_ = {};
}

uint64_t physical_memory_bytes() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return UINT64_C(1) << 32;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

}  // namespace gfxgraph

#include "base/file/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/cli/output.h"

namespace gfxgraph {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 16;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::optional<int> number_of(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || rest != end || error != std::errc() || value < 0) return std::nullopt;
  return value;
}

// By its folder, which has many spellings.
std::optional<int> own_descriptor(const fs::path& path) {
  std::error_code error;
  const fs::path folder = folder_of(path);
  const std::string name = path.filename().string();
  const auto in = [&](const char* other) { return fs::equivalent(folder, other, error) && !error; };
  if (in("/dev")) {
    struct stat link{};
    if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return std::nullopt;
    if (name == "stdin") return STDIN_FILENO;
    if (name == "stdout") return STDOUT_FILENO;
    if (name == "stderr") return STDERR_FILENO;
    return std::nullopt;
  }
  if (in("/proc/self/fd") || in("/proc/thread-self/fd")) return number_of(name);
  return std::nullopt;
}

bool is_null_device(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

std::string random_name() {
  std::array<uint64_t, 2> words = {};
  // Cannot fail for so few bytes once the system has started.
  while (::getrandom(words.data(), sizeof(words), 0) < 0 && errno == EINTR) continue;
  return fmt::format(".gfxgraph-{:016x}{:016x}", words[0], words[1]);
}

std::string descriptor_path(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

bool is_stream(const struct stat& named) {
  return S_ISFIFO(named.st_mode) || is_null_device(named);
}

// A target that is written in place, if it is one.
Result<std::optional<int>> open_stream(const fs::path& path) {
  if (const std::optional<int> number = own_descriptor(path)) {
    const int mode = ::fcntl(*number, F_GETFL);
    if (mode < 0) return fail_errno("write", path, errno);
    if ((mode & O_ACCMODE) == O_RDONLY) return fail_errno("write", path, EBADF);
    const int copy = ::fcntl(*number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy < 0) return fail_errno("write", path, errno);
    return copy;
  }
  struct stat named{};
  if (::lstat(path.c_str(), &named) != 0) return std::nullopt;
  if (!is_stream(named)) return std::nullopt;
  int fd = -1;
  do {
    fd = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return fail_errno("write", path, errno);
  struct stat opened{};
  const bool same =
      ::fstat(fd, &opened) == 0 && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
  if (same) return fd;
  ::close(fd);
  return fail(Status::kIo, fmt::format("{}: replaced by another file meanwhile", path.string()));
}

Result<void> check_target(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.empty() || name == "." || name == "..") {
    return fail(Status::kInvalidArgument, fmt::format("{}: not the name of a file", path.string()));
  }
  return check_output_path(path);
}

struct Identity {
  uint64_t device = 0;
  uint64_t inode = 0;
  friend bool operator==(const Identity&, const Identity&) = default;
};

std::optional<Identity> regular(int result, const struct stat& status) {
  if (result != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return Identity{status.st_dev, status.st_ino};
}

// Of a regular file; nothing else is destroyed by writing to it.
std::optional<Identity> identity_of(const std::string& path) {
  struct stat status{};
  const std::optional<int> number =
      path.empty() ? std::optional<int>(STDOUT_FILENO) : own_descriptor(path);
  if (number) return regular(::fstat(*number, &status), status);
  return regular(::stat(path.c_str(), &status), status);
}

bool is_new(const std::string& path) {
  struct stat status{};
  return !path.empty() && ::stat(path.c_str(), &status) != 0;
}

// Two names of one file that does not exist yet.
bool same_new_name(const std::string& a, const std::string& b) {
  std::error_code error;
  const fs::path one = fs::path(a).lexically_normal();
  const fs::path other = fs::path(b).lexically_normal();
  if (one.filename() != other.filename()) return false;
  const bool same = fs::equivalent(folder_of(a), folder_of(b), error);
  return error ? one == other : same;
}

}  // namespace

Result<NewFile> NewFile::create(const fs::path& path, FileUse use) {
  NewFile made;
  made.path_ = path;
  if (use != FileUse::kTrace) {
    GFXGRAPH_ASSIGN_OR_RETURN(const std::optional<int> stream, open_stream(path));
    if (stream) {
      made.file_ = File::own(*stream, path);
      return made;
    }
  } else if (own_descriptor(path)) {
    return fail(
        Status::kInvalidArgument,
        fmt::format("{}: a trace is a file with a name; name another output", path.string()));
  }
  GFXGRAPH_TRY(check_target(path));
  GFXGRAPH_TRY(made.open_temporary(use));
  return made;
}

Result<void> NewFile::open_temporary(FileUse use) {
  const fs::path folder = folder_of(path_);
  const int in = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (in < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return fail(Status::kInvalidArgument,
                fmt::format("{}: {} is not a directory; create it or choose another -o path",
                            path_.string(), folder.string()));
  }
  if (in < 0) return fail_errno("open", folder, errno);
  folder_ = File::own(in, folder);
  const mode_t mode = use == FileUse::kReport ? 0666 : 0600;
  // Without a name nothing stays if the process is killed. Its name comes by /proc.
  int fd = ::openat(in, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (fd >= 0 && ::access(descriptor_path(fd).c_str(), F_OK) != 0) {
    ::close(fd);
    fd = -1;
    errno = EOPNOTSUPP;
  }
  const bool unnamed =
      fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL && errno != ENOENT);
  for (int round = 0; !unnamed && fd < 0 && round < kMostTries; ++round) {
    temporary_ = random_name();
    fd = ::openat(in, temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && errno != EEXIST) break;
  }
  if (fd < 0) {
    const int error = errno;
    temporary_.clear();  // not this object's
    return fail_errno("create", path_, error);
  }
  file_ = File::own(fd, path_);
  return {};
}

NewFile::~NewFile() {
  if (!temporary_.empty() && folder_.is_open()) ::unlinkat(folder_.fd(), temporary_.c_str(), 0);
}

Result<void> NewFile::write(std::span<const std::span<const std::byte>> parts) {
  return file_.write_all(parts);
}

Result<void> NewFile::write(std::span<const std::byte> bytes) { return file_.write_all(bytes); }

// rename() replaces, linkat() does not.
Result<void> NewFile::name_it() {
  const std::string from = descriptor_path(file_.fd());
  for (int round = 0; round < kMostTries; ++round) {
    const std::string name = random_name();
    if (::linkat(AT_FDCWD, from.c_str(), folder_.fd(), name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return {};
    }
    if (errno != EEXIST) break;
  }
  return fail_errno("create", path_, errno);
}

Result<void> NewFile::commit() {
  GFXGRAPH_TRY(file_.sync());
  if (!folder_.is_open()) {
    file_.close();
    return {};
  }
  GFXGRAPH_TRY(check_target(path_));  // it may have become something else meanwhile
  if (temporary_.empty()) GFXGRAPH_TRY(name_it());
  if (::renameat(folder_.fd(), temporary_.c_str(), folder_.fd(), path_.filename().c_str()) != 0)
    return fail_errno("create", path_, errno);
  temporary_.clear();
  file_.close();
  return sync_folder(path_.parent_path());
}

Result<void> write_new_file(const fs::path& path, FileUse use, std::span<const std::byte> bytes) {
  GFXGRAPH_ASSIGN_OR_RETURN(NewFile file, NewFile::create(path, use));
  GFXGRAPH_TRY(file.write(bytes));
  return file.commit();
}

Result<void> check_new_file(const fs::path& path, FileUse use) {
  struct stat named{};
  if (use != FileUse::kTrace && !own_descriptor(path) && ::lstat(path.c_str(), &named) == 0 &&
      is_stream(named)) {
    return {};
  }
  GFXGRAPH_TRY(NewFile::create(path, use));
  return {};
}

Result<void> check_distinct(std::span<const std::string> outputs,
                            std::span<const std::string> inputs) {
  const auto shown = [](const std::string& path) {
    return path.empty() ? "standard output" : path;
  };
  std::vector<std::optional<Identity>> written;
  std::vector<std::optional<Identity>> read;
  std::vector<bool> made;
  for (const std::string& output : outputs) {
    written.push_back(identity_of(output));
    made.push_back(is_new(output));
  }
  for (const std::string& input : inputs)
    read.push_back(input.empty() ? std::nullopt : identity_of(input));
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (written[i] && read[k] == written[i]) {
        return fail(Status::kInvalidArgument,
                    fmt::format("{}: is the same file as the input {}; name another output",
                                shown(outputs[i]), inputs[k]));
      }
    }
    for (size_t k = 0; k < i; ++k) {
      if ((written[i] && written[k] == written[i]) ||
          (made[i] && made[k] && same_new_name(outputs[i], outputs[k]))) {
        return fail(Status::kInvalidArgument,
                    fmt::format("{}: is the same file as the output {}; name another one",
                                shown(outputs[i]), shown(outputs[k])));
      }
    }
  }
  return {};
}

}  // namespace gfxgraph

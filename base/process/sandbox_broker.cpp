// How the parent of a worker answers: it opens and names what the command line names.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/demangle.h"
#include "base/process/sandbox_internal.h"

namespace gfxgraph::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPathBytes = 4096;
constexpr size_t kMostNameBytes = 1 << 16;
constexpr size_t kMostTemporaries = 256;

// What the C library and the standard library read of the system.
constexpr const char* kSystemFiles[] = {"/sys/devices/system/cpu/online",
                                        "/sys/devices/system/cpu/possible", "/proc/meminfo",
                                        "/proc/sys/vm/overcommit_memory", "/etc/localtime"};

bool is_beneath(const std::string& name, const std::string& folder) {
  return name.size() > folder.size() && name.starts_with(folder) &&
         (folder.ends_with('/') || name[folder.size()] == '/');
}

// A temporary name of base/file/new_file.h.
bool is_random(const fs::path& path) { return path.filename().string().starts_with(".gfxgraph-"); }

// Left by a recording, or by a command that was killed: they are written over.
bool is_unfinished(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".partial") || name.ends_with(".partial.old") ||
         name.find(".tmp") != name.npos;
}

bool changes_files(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC | O_APPEND)) != 0 ||
         (flags & O_TMPFILE) == O_TMPFILE;
}

// Empty: newer than libseccomp.
std::string call_name(int number) {
  const std::unique_ptr<char, decltype(&std::free)> name(
      ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), &std::free);
  return name != nullptr ? name.get() : "";
}

int as_int(uint64_t argument) { return static_cast<int>(static_cast<uint32_t>(argument)); }

}  // namespace

Policy::Policy(const Access& access) : programs_(access.programs) {
  std::error_code error;
  working_folder_ = fs::current_path(error);
  for (const fs::path& path : access.read) add(inputs_, path);
  for (const fs::path& path : access.folders) add(trees_, path);
  for (const fs::path& path : access.write) {
    if (path.empty()) continue;
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    add(output_folders_, folder);
    // By both spellings of its directory. A link is not followed: what it leads to is no output.
    const fs::path real = fs::canonical(folder, error);
    outputs_.emplace((working_folder_ / path).lexically_normal().string(), path);
    if (!error) outputs_.emplace((real / path.filename()).string(), path);
    output_names_.insert(path.filename().string());
  }
}

void Policy::add(Names& names, const fs::path& path) const {
  if (path.empty()) return;
  const auto without_slash = [](fs::path normal) {
    return normal.has_filename() || normal == normal.root_path() ? normal : normal.parent_path();
  };
  names.emplace(without_slash((working_folder_ / path).lexically_normal()).string(), path);
  std::error_code error;
  // A directory of the output may not exist yet, and stand behind a link.
  const fs::path real = fs::weakly_canonical(working_folder_ / path, error);
  if (!error) names.emplace(without_slash(real).string(), path);
}

Policy::Place Policy::find(const fs::path& path) const {
  fs::path normal = path.lexically_normal();
  if (!normal.has_filename() && normal != normal.root_path()) normal = normal.parent_path();
  const std::string name = normal.string();
  if (const auto at = outputs_.find(name); at != outputs_.end()) return {Kind::kOutput, at->second};
  if (const auto at = inputs_.find(name); at != inputs_.end()) return {Kind::kInput, at->second};
  if (const auto at = trees_.find(name); at != trees_.end()) return {Kind::kAbove, at->second};
  for (const auto& [folder, as_given] : trees_) {
    if (is_beneath(name, folder)) {
      return {Kind::kInside, as_given / normal.lexically_relative(folder)};
    }
  }
  if (const auto at = output_folders_.find(name); at != output_folders_.end())
    return {Kind::kFolder, at->second};
  const std::string file = normal.filename().string();
  if (const auto at = output_folders_.find(normal.parent_path().string());
      at != output_folders_.end()) {
    const bool belongs =
        std::any_of(output_names_.begin(), output_names_.end(),
                    [&](const std::string& output) { return file.starts_with(output + "."); });
    if (belongs || is_random(normal)) return {Kind::kBeside, at->second / file};
  }
  for (const auto& [folder, as_given] : trees_) {
    if (is_beneath(folder, name)) return {Kind::kAbove, normal};
  }
  for (const char* const file_of_system : kSystemFiles) {
    if (name == file_of_system) return {Kind::kSystem, normal};
  }
  return {Kind::kElsewhere, path};
}

Broker::Broker(pid_t worker, int listener, const Access& access)
    : worker_(worker), listener_(listener), policy_(access) {}

bool Broker::answer_one() {
  seccomp_notif* request = nullptr;
  seccomp_notif_resp* response = nullptr;
  if (::seccomp_notify_alloc(&request, &response) != 0) return true;
  const auto respond = [&](int error) {
    response->id = request->id;
    response->error = -error;
    (void)::seccomp_notify_respond(listener_, response);
  };
  bool allowed = true;
  if (::seccomp_notify_receive(listener_, request) == 0) {
    Answer given = answer(*request);
    // The thread may have ended while its memory was read: then another one was.
    if (::seccomp_notify_id_valid(listener_, request->id) != 0) {
      given.crime.clear();
    } else if (!given.crime.empty()) {
      crime_ = std::move(given.crime);
      allowed = false;
    } else if (given.fd >= 0) {
      seccomp_notif_addfd passed{};
      passed.id = request->id;
      passed.flags = SECCOMP_ADDFD_FLAG_SEND;
      passed.srcfd = static_cast<uint32_t>(given.fd);
      passed.newfd_flags = O_CLOEXEC;
      if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_ADDFD, &passed) < 0) respond(errno);
    } else {
      respond(given.error);
    }
    if (given.fd >= 0) ::close(given.fd);
  }
  ::seccomp_notify_free(request, response);
  return allowed;
}

Broker::Answer Broker::answer(const seccomp_notif& request) {
  const auto& a = request.data.args;
  switch (request.data.nr) {
    case SYS_open: return open(AT_FDCWD, a[0], a[1], a[2]);
    case SYS_openat:
      if (as_int(a[0]) == kDemangleRequest) return demangle(a[1]);
      return open(as_int(a[0]), a[1], a[2], a[3]);
    case SYS_creat: return open(AT_FDCWD, a[0], O_CREAT | O_WRONLY | O_TRUNC, a[1]);
    case SYS_rename: return rename(AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
    case SYS_renameat: return rename(as_int(a[0]), a[1], as_int(a[2]), a[3], 0);
    case SYS_renameat2: return rename(as_int(a[0]), a[1], as_int(a[2]), a[3], a[4]);
    case SYS_linkat: return link(as_int(a[0]), a[1], as_int(a[2]), a[3]);
    case SYS_unlink: return unlink(AT_FDCWD, a[0], 0);
    case SYS_unlinkat: return unlink(as_int(a[0]), a[1], a[2]);
    case SYS_mkdir: return make_folder(AT_FDCWD, a[0], a[1]);
    case SYS_mkdirat: return make_folder(as_int(a[0]), a[1], a[2]);
    default: break;
  }
  const std::string name = call_name(request.data.nr);
  // The C library may try a new call first, and use an old one if the kernel does not have it.
  if (name.empty()) return {.error = ENOSYS};
  return {.crime = "the system call " + name};
}

Broker::Answer Broker::open(int folder, uint64_t name, uint64_t wanted, uint64_t mode_bits) {
  using Kind = Policy::Kind;
  const std::optional<fs::path> path = path_of(folder, name);
  if (!path) return {.error = EFAULT};
  const int flags = as_int(wanted) | O_CLOEXEC | O_NOCTTY;
  const mode_t mode = static_cast<mode_t>(mode_bits) & 0777;
  const Policy::Place place = policy_.find(*path);
  const bool is_folder = place.kind == Kind::kFolder || place.kind == Kind::kAbove;
  if (changes_files(flags)) {
    const bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    if (unnamed ? is_folder : place.kind == Kind::kOutput || place.kind == Kind::kInside)
      return open_new(place, flags, mode);
    if (!unnamed && place.kind == Kind::kBeside) return open_new(place, flags | O_NOFOLLOW, mode);
    return {.crime = "opening " + path->string() + " for writing"};
  }
  if (place.kind == Kind::kElsewhere) {
    if (!policy_.programs()) return {.error = EACCES};
    return open_program(place.path);
  }
  if (is_folder && (flags & (O_PATH | O_DIRECTORY)) == 0) return {.error = EACCES};
  // The kernel does not pass on a descriptor that is only a place.
  const int fd = ::open(place.path.c_str(), flags & ~O_PATH);
  return {.fd = fd, .error = errno};
}

Broker::Answer Broker::open_new(const Policy::Place& place, int flags, mode_t mode) {
  if (place.kind != Policy::Kind::kBeside || created_.contains(place.path)) {
    const int links = place.kind == Policy::Kind::kInside ? O_NOFOLLOW : 0;
    const int fd = ::open(place.path.c_str(), flags | links, mode);
    return {.fd = fd, .error = errno};
  }
  if (created_.size() >= kMostTemporaries) return {.error = ENOSPC};
  int fd = ::open(place.path.c_str(), flags | O_CREAT | O_EXCL, mode);
  const int error = errno;
  if (fd >= 0) created_.insert(place.path);
  // A file that is there is somebody's, but for the leavings of a command like this one.
  if (fd < 0 && error == EEXIST && (flags & O_EXCL) == 0 && is_unfinished(place.path)) {
    fd = ::open(place.path.c_str(), flags, mode);
    return {.fd = fd, .error = errno};
  }
  return {.fd = fd, .error = error};
}

// Only what begins as ELF files do: the worker cannot read a key or a password by this way.
Broker::Answer Broker::open_program(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {.error = errno};
  struct stat status{};
  std::array<char, 4> magic = {};
  const bool program = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                       ::pread(fd, magic.data(), magic.size(), 0) == ssize_t{4} &&
                       std::memcmp(magic.data(), "\177ELF", magic.size()) == 0;
  if (program) return {.fd = fd};
  ::close(fd);
  return {.error = EACCES};
}

Broker::Answer Broker::rename(int from_folder, uint64_t from, int to_folder, uint64_t to,
                              uint64_t flags) {
  using Kind = Policy::Kind;
  const std::optional<fs::path> old_path = path_of(from_folder, from);
  const std::optional<fs::path> new_path = path_of(to_folder, to);
  if (!old_path || !new_path) return {.error = EFAULT};
  const Policy::Place source = policy_.find(*old_path);
  const Policy::Place target = policy_.find(*new_path);
  const bool own =
      source.kind == Kind::kInside ||
      (source.kind == Kind::kBeside &&
       (created_.contains(source.path) || is_random(source.path) || is_unfinished(source.path)));
  const bool free = target.kind == Kind::kOutput || target.kind == Kind::kInside ||
                    (target.kind == Kind::kBeside && is_unfinished(target.path));
  if (!own || !free || flags != 0)
    return {.crime = fmt::format("renaming {} to {}", old_path->string(), new_path->string())};
  if (::rename(source.path.c_str(), target.path.c_str()) != 0) return {.error = errno};
  created_.erase(source.path);
  return {};
}

// Gives a name to a file without one (O_TMPFILE), by "/proc/self/fd/N" as linkat(2) has it.
Broker::Answer Broker::link(int from_folder, uint64_t from, int to_folder, uint64_t to) {
  constexpr std::string_view kDescriptors = "/proc/self/fd/";
  const std::optional<fs::path> source = path_of(from_folder, from);
  const std::optional<fs::path> named = path_of(to_folder, to);
  if (!source || !named) return {.error = EFAULT};
  const Policy::Place target = policy_.find(*named);
  const std::string text = source->string();
  const std::string number = text.substr(std::min(text.size(), kDescriptors.size()));
  const std::string file = fmt::format("/proc/{}/fd/{}", worker_, number);
  struct stat status{};
  const bool unnamed = text.starts_with(kDescriptors) && !number.empty() &&
                       number.find_first_not_of("0123456789") == number.npos &&
                       ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
                       status.st_nlink == 0;
  const bool free = target.kind == Policy::Kind::kInside ||
                    (target.kind == Policy::Kind::kBeside && is_random(target.path));
  if (!unnamed || !free) return {.crime = fmt::format("naming {} {}", text, named->string())};
  if (::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, target.path.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return {.error = errno};
  created_.insert(target.path);
  return {};
}

Broker::Answer Broker::unlink(int folder, uint64_t name, uint64_t flags) {
  using Kind = Policy::Kind;
  const std::optional<fs::path> path = path_of(folder, name);
  if (!path) return {.error = EFAULT};
  const Policy::Place place = policy_.find(*path);
  const bool own =
      place.kind == Kind::kOutput || place.kind == Kind::kInside ||
      (place.kind == Kind::kBeside && (created_.contains(place.path) || is_unfinished(place.path)));
  if (!own || flags != 0) return {.crime = "removing " + path->string()};
  if (::unlink(place.path.c_str()) != 0) return {.error = errno};
  created_.erase(place.path);
  return {};
}

Broker::Answer Broker::make_folder(int folder, uint64_t name, uint64_t mode) {
  const std::optional<fs::path> path = path_of(folder, name);
  if (!path) return {.error = EFAULT};
  const Policy::Place place = policy_.find(*path);
  if (place.kind != Policy::Kind::kInside && place.kind != Policy::Kind::kAbove)
    return {.crime = "making the directory " + path->string()};
  if (::mkdir(place.path.c_str(), static_cast<mode_t>(mode) & 0777) != 0) return {.error = errno};
  return {};
}

// A hostile name can take all time and memory: in a process of its own, which can do nothing else.
Broker::Answer Broker::demangle(uint64_t name) {
  const std::optional<std::string> mangled = text(name, kMostNameBytes);
  if (!mangled) return {.error = EFAULT};
  const std::optional<std::string> readable = demangle_apart(*mangled, [] {
    if (!install_strict_filter()) ::_exit(1);
  });
  if (!readable) return {.error = ENOENT};
  const int fd = ::memfd_create("gfxgraph-name", MFD_CLOEXEC);
  if (fd < 0) return {.error = errno};
  if (::pwrite(fd, readable->data(), readable->size(), 0) ==
      static_cast<ssize_t>(readable->size())) {
    return {.fd = fd};
  }
  ::close(fd);
  return {.error = EIO};
}

std::optional<std::string> Broker::text(uint64_t address, size_t most) const {
  constexpr size_t kPage = 4096;
  std::string text;
  std::array<char, kPage> part;
  while (text.size() <= most) {
    // Not over the end of a page: the next one may be missing.
    const size_t wanted = kPage - (address & (kPage - 1));
    iovec here{part.data(), wanted};
    iovec there{reinterpret_cast<void*>(address), wanted};  // of the other process
    const ssize_t got = ::process_vm_readv(worker_, &here, 1, &there, 1, 0);
    if (got <= 0) return std::nullopt;
    const std::string_view bytes(part.data(), static_cast<size_t>(got));
    const size_t end = bytes.find('\0');
    text += bytes.substr(0, end);
    if (end != bytes.npos) return text.size() <= most ? std::optional(text) : std::nullopt;
    address += static_cast<uint64_t>(got);
  }
  return std::nullopt;
}

std::optional<fs::path> Broker::path_of(int folder, uint64_t name) const {
  const std::optional<std::string> path = text(name, kMostPathBytes);
  if (!path) return std::nullopt;
  if (path->starts_with('/')) return *path;
  if (folder == AT_FDCWD) return policy_.working_folder() / *path;
  std::error_code error;
  const fs::path opened = fs::read_symlink(fmt::format("/proc/{}/fd/{}", worker_, folder), error);
  if (error) return std::nullopt;
  return opened / *path;
}

}  // namespace gfxgraph::sandbox

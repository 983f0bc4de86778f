#include "recorder/bytes/page_writers.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gfxgraph::recorder {
namespace {

// Of include/uapi/linux/magic.h and of the file systems themselves.
constexpr int64_t kXfs = 0x58465342;
constexpr int64_t kPidDescriptors = 0x50494446;
// Without O_DIRECT, read() copies from the page cache, or from the kernel's own memory. Others
// (FUSE, 9p, SMB) may hand the caller's pages to whoever answers.
constexpr int64_t kCopying[] = {EXT4_SUPER_MAGIC,      kXfs,
                                BTRFS_SUPER_MAGIC,     F2FS_SUPER_MAGIC,
                                TMPFS_MAGIC,           RAMFS_MAGIC,
                                OVERLAYFS_SUPER_MAGIC, SQUASHFS_MAGIC,
                                ISOFS_SUPER_MAGIC,     MSDOS_SUPER_MAGIC,
                                NFS_SUPER_MAGIC,       PROC_SUPER_MAGIC,
                                SYSFS_MAGIC,           CGROUP_SUPER_MAGIC,
                                CGROUP2_SUPER_MAGIC,   NSFS_MAGIC,
                                DEBUGFS_MAGIC,         TRACEFS_MAGIC,
                                HUGETLBFS_MAGIC,       kPidDescriptors};
constexpr std::string_view kCopyingKinds[] = {"anon_inode:[eventfd]",    "anon_inode:[eventpoll]",
                                              "anon_inode:[timerfd]",    "anon_inode:[signalfd]",
                                              "anon_inode:inotify",      "anon_inode:[pidfd]",
                                              "anon_inode:[userfaultfd]"};
constexpr int kCopyingDomains[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

bool is_among(const auto& list, const auto& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

// null, zero, random and the like, and terminals.
bool is_plain_character_device(dev_t device) {
  const unsigned kind = major(device);
  constexpr unsigned kMemory = 1, kVirtualTerminal = 4, kTerminal = 5;
  constexpr unsigned kFirstPseudoTerminal = 136, kLastPseudoTerminal = 143;
  if (kind == kMemory) return minor(device) > 2;  // the others are physical memory
  return kind == kVirtualTerminal || kind == kTerminal ||
         (kind >= kFirstPseudoTerminal && kind <= kLastPseudoTerminal);
}

bool file_system_copies(int descriptor) {
  struct statfs system{};
  return fstatfs(descriptor, &system) == 0 &&
         is_among(kCopying, static_cast<int64_t>(system.f_type));
}

struct FileCloser {
  void operator()(FILE* file) const noexcept { (void)std::fclose(file); }
};
struct LineDeleter {
  void operator()(char* line) const noexcept { std::free(line); }
};

// Calls `visit` with each line until it returns false. False: the file cannot be read.
template <typename Visit>
bool each_line(const char* path, Visit&& visit) {
  const std::unique_ptr<FILE, FileCloser> file(std::fopen(path, "re"));
  if (!file) return false;
  char* line = nullptr;
  size_t room = 0;
  ssize_t size = 0;
  bool more = true;
  while (more && (size = getline(&line, &room, file.get())) > 0) {
    std::string_view text(line, static_cast<size_t>(size));
    if (text.ends_with('\n')) text.remove_suffix(1);
    more = visit(text);
  }
  const std::unique_ptr<char, LineDeleter> owner(line);
  return std::ferror(file.get()) == 0;
}

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool shared = false;
  bool of_file = false;  // it has an inode
  std::string_view name;
};

// "7f00-7f10 rw-p 00000000 00:00 0    [heap]"
std::optional<Mapping> mapping_of(std::string_view line) {
  Mapping mapping;
  const char* const end = line.data() + line.size();
  auto at = std::from_chars(line.data(), end, mapping.begin, 16);
  if (at.ec != std::errc() || at.ptr == end) return std::nullopt;
  at = std::from_chars(at.ptr + 1, end, mapping.end, 16);
  if (at.ec != std::errc()) return std::nullopt;
  std::string_view rest(at.ptr, static_cast<size_t>(end - at.ptr));
  std::string_view words[4];  // access, offset, device, inode
  for (std::string_view& word : words) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
  }
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  if (words[0].size() != 4 || words[3].empty()) return std::nullopt;
  mapping.shared = words[0][3] != 'p';
  mapping.of_file = words[3] != "0";
  mapping.name = rest;
  return mapping;
}

bool mapping_may_write_pages(const Mapping& mapping) {
  if (mapping.name.starts_with("/[aio]") || mapping.name.starts_with("anon_inode:")) return true;
  return mapping.name.starts_with("/dev/") && !mapping.name.starts_with("/dev/shm/") &&
         !mapping.name.starts_with("/dev/zero");
}

// `none`: without an answer.
template <typename Question>
bool answered(bool none, Question&& question) noexcept {
  try {
    return question();
  } catch (const std::exception&) {
    return none;
  }
}

struct FolderCloser {
  void operator()(DIR* folder) const noexcept { (void)closedir(folder); }
};

bool any_descriptor_may_write_pages() {
  // The process's own name would be wrong once its first thread has ended.
  const std::unique_ptr<DIR, FolderCloser> folder(opendir("/proc/thread-self/fd"));
  if (!folder) return true;
  while (const dirent* const entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    int descriptor = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (error != std::errc() || end != name.data() + name.size()) continue;  // "."
    if (descriptor_may_write_pages(descriptor)) return true;
  }
  return false;
}

}  // namespace

bool descriptor_may_write_pages(int descriptor) noexcept {
  struct stat status{};
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fstat(descriptor, &status) != 0) return false;  // closed meanwhile
  if ((flags & O_PATH) != 0) return false;
  char path[64];
  char link[64];
  (void)std::snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", descriptor);
  const ssize_t size = readlink(path, link, sizeof(link));
  if (size <= 0) return true;
  const std::string_view kind(link, static_cast<size_t>(size));
  if (kind.starts_with("anon_inode:")) return !is_among(kCopyingKinds, kind);
  switch (status.st_mode & S_IFMT) {
    case S_IFREG:
      if ((flags & O_ACCMODE) == O_WRONLY) return false;
      return (flags & O_DIRECT) != 0 || !file_system_copies(descriptor);
    case S_IFDIR:
    case S_IFIFO: return false;
    case S_IFCHR: return !is_plain_character_device(status.st_rdev);
    case S_IFSOCK: {
      int domain = 0;
      socklen_t bytes = sizeof(domain);
      return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0 ||
             !is_among(kCopyingDomains, domain);
    }
    default: return true;
  }
}

bool pages_may_have_other_writers() noexcept {
  return answered(true, [] {
    bool found = false;
    const bool read = each_line("/proc/thread-self/maps", [&](std::string_view line) {
      const std::optional<Mapping> mapping = mapping_of(line);
      found = !mapping || mapping_may_write_pages(*mapping);
      return !found;
    });
    return !read || found || any_descriptor_may_write_pages();
  });
}

bool is_private_anonymous(uint64_t begin, uint64_t end) noexcept {
  return answered(false, [&] {
    uint64_t reached = begin;
    const bool read = each_line("/proc/thread-self/maps", [&](std::string_view line) {
      const std::optional<Mapping> mapping = mapping_of(line);
      if (!mapping) return false;
      if (mapping->end <= reached) return true;
      if (mapping->begin > reached || mapping->shared || mapping->of_file) return false;
      reached = mapping->end;
      return reached < end;
    });
    return read && reached >= end;
  });
}

bool system_calls_are_filtered() noexcept {
  return answered(true, [] {
    bool none = false;
    const bool read = each_line("/proc/thread-self/status", [&](std::string_view line) {
      if (!line.starts_with("Seccomp:")) return true;
      none = line.ends_with("\t0");
      return false;
    });
    return !read || !none;
  });
}

}  // namespace gfxgraph::recorder

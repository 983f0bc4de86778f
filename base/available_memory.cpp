#include "base/available_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/file/file.h"

namespace gfxgraph {
namespace {

// The beginning of a file of the kernel, all of which are shorter; empty if it cannot be read.
class KernelText {
 public:
  explicit KernelText(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    for (ssize_t got = 1; got > 0 && size_ < bytes_.size(); size_ += static_cast<size_t>(got))
      got = std::max<ssize_t>(::read(file, bytes_.data() + size_, bytes_.size() - size_), 0);
    ::close(file);
    rest_ = {bytes_.data(), size_};
  }

  std::optional<std::string_view> next_line() {
    if (rest_.empty()) return std::nullopt;
    const std::string_view line = rest_.substr(0, rest_.find('\n'));
    rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
    return line;
  }

 private:
  std::array<char, 16384> bytes_;
  size_t size_ = 0;
  std::string_view rest_;
};

// The number behind `name` at the beginning of a line; without a name the one that the file begins
// with.
std::optional<uint64_t> number_in(const std::string& path, std::string_view name) {
  KernelText text(path);
  while (std::optional<std::string_view> line = text.next_line()) {
    if (!line->starts_with(name)) continue;
    line->remove_prefix(name.size());
    line->remove_prefix(std::min(line->size(), line->find_first_not_of(" \t")));
    uint64_t number = 0;
    if (std::from_chars(line->data(), line->data() + line->size(), number).ec == std::errc())
      return number;
    return std::nullopt;  // "max"
  }
  return std::nullopt;
}

struct GroupFiles {
  const char* limit;
  const char* used;
  const char* reclaimed;  // in memory.stat: what the system takes back before it refuses memory
};

// The process's own group, "/a/b", and those around it.
void limit_by_groups(const std::string& mount, std::string_view own, const GroupFiles& names,
                     uint64_t& available) {
  for (std::string_view at = own;; at = at.substr(0, at.rfind('/'))) {
    while (at.ends_with('/')) at.remove_suffix(1);
    std::string folder = mount;
    folder.append(at).append("/");
    const std::optional<uint64_t> limit = number_in(folder + names.limit, "");
    const std::optional<uint64_t> used = number_in(folder + names.used, "");
    if (limit && used) {
      const uint64_t back = number_in(folder + "memory.stat", names.reclaimed).value_or(0);
      const uint64_t taken = *used - std::min(*used, back);
      available = std::min(available, *limit - std::min(*limit, taken));
    }
    if (at.empty() || at.find('/') == std::string_view::npos) return;
  }
}

// Of "1,memory,2".
bool has_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::string_view one = controllers.substr(0, controllers.find(','));
    if (one == "memory") return true;
    controllers.remove_prefix(std::min(controllers.size(), one.size() + 1));
  }
  return false;
}

}  // namespace

uint64_t available_memory_bytes(const std::string& root) {
  uint64_t available = physical_memory_bytes();
  const std::string meminfo = root + "/proc/meminfo";
  if (const auto kib = number_in(meminfo, "MemAvailable:"))
    available = (*kib + number_in(meminfo, "SwapFree:").value_or(0)) * 1024;
  KernelText groups(root + "/proc/self/cgroup");
  while (const std::optional<std::string_view> line = groups.next_line()) {
    const size_t kinds = line->find(':');
    const size_t path = kinds == std::string_view::npos ? kinds : line->find(':', kinds + 1);
    if (path == std::string_view::npos) continue;
    const std::string_view controllers = line->substr(kinds + 1, path - kinds - 1);
    if (controllers.empty()) {
      limit_by_groups(root + "/sys/fs/cgroup", line->substr(path + 1),
                      {"memory.max", "memory.current", "inactive_file"}, available);
    } else if (has_memory(controllers)) {
      limit_by_groups(root + "/sys/fs/cgroup/memory", line->substr(path + 1),
                      {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
                      available);
    }
  }
  return available;
}

}  // namespace gfxgraph

#include "recorder/contract/sealing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <string_view>

namespace gfxgraph::recorder {
namespace {

constexpr std::string_view kSealing = "sealing";

}  // namespace

struct SealingMark::Page {
  uint64_t total_bytes;
  std::atomic<uint64_t> done_bytes;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

void SealingMark::begin(const std::string& status_folder, const std::string& key,
                        uint64_t total_bytes) noexcept {
  if (status_folder.empty() || page_.load() != nullptr) return;
  try {
    path_ = status_folder + "/" + std::string(kSealing) + key;
  } catch (...) {
    return;  // no memory for a path
  }
  const int file = ::open(path_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return;
  // Not only its size: a page for which a full disk has no room would be a SIGBUS.
  void* const memory =
      ::posix_fallocate(file, 0, sizeof(Page)) == 0
          ? ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
          : MAP_FAILED;
  ::close(file);
  if (memory == MAP_FAILED) {
    ::unlink(path_.c_str());
    return;
  }
  page_.store(new (memory) Page{total_bytes, 0});
}

void SealingMark::add(uint64_t bytes) noexcept {
  if (Page* const page = page_.load(std::memory_order_acquire); page != nullptr)
    page->done_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void SealingMark::reach(uint64_t bytes) noexcept {
  if (Page* const page = page_.load(std::memory_order_acquire); page != nullptr)
    page->done_bytes.store(std::max(page->done_bytes.load(), bytes), std::memory_order_relaxed);
}

// The page stays mapped: another thread may be in add().
void SealingMark::end() noexcept {
  if (page_.exchange(nullptr) != nullptr) ::unlink(path_.c_str());
}

SealingMark& sealing_mark() noexcept {
  // Never destroyed: threads may go on while the process ends.
  alignas(SealingMark) static std::byte storage[sizeof(SealingMark)];
  static SealingMark* const mark = new (storage) SealingMark;
  return *mark;
}

std::optional<SealingCount> sealing_now(const std::string& status_folder) {
  std::optional<SealingCount> sum;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(status_folder.c_str()), &::closedir);
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
    if (!std::string_view(entry->d_name).starts_with(kSealing)) continue;
    const int file =
        ::openat(::dirfd(open.get()), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) continue;
    uint64_t words[2] = {};
    if (::pread(file, words, sizeof(words), 0) == static_cast<ssize_t>(sizeof(words))) {
      if (!sum) sum.emplace();
      sum->total_bytes += words[0];
      sum->done_bytes += std::min(words[1], words[0]);  // targets of pointers come on top
    }
    ::close(file);
  }
  return sum;
}

}  // namespace gfxgraph::recorder

// Which pages of memory were not written since they were last looked at, as the kernel's page
// tables say: asynchronous write protection of userfaultfd, read with PAGEMAP_SCAN (Linux 6.7). The
// program sees nothing of it but a short fault at the first write to a protected page.
//
// Page tables see what threads of this process and system calls write, and what other processes
// write through ptrace. They do not see:
// - devices, and kernel code that was given pages before they were protected (direct I/O,
//   io_uring, RDMA): pages count as unwritten only some time after they were protected, if the
//   process then has no descriptor and no mapping of that kind (`others_may_write`);
// - other mappings of the same pages: only private anonymous memory is watched.
// Wherever there is a doubt, a page counts as written. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace gfxgraph::recorder {

// Pages [begin, end) of watched memory, counted from its first one.
struct PageRun {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool operator==(const PageRun&) const = default;
};

class PageWatch;

// Some memory that is watched until this is destroyed, which must be before the program gives the
// memory back.
class WatchedPages {
 public:
  ~WatchedPages();
  WatchedPages(const WatchedPages&) = delete;
  WatchedPages& operator=(const WatchedPages&) = delete;
  // For the caller: when it looked last.
  uint64_t looked = 0;

 private:
  friend class PageWatch;
  WatchedPages(std::shared_ptr<PageWatch> watch, uint64_t address, uint64_t size_bytes);

  const std::shared_ptr<PageWatch> watch_;
  const uint64_t address_;
  const uint64_t end_;
  std::vector<PageRun> fresh_;  // protected, but not for long enough
  uint64_t protected_ns_ = 0;   // the last time that some were
  uint64_t round_ = 0;
  // In vain the last time: they are left alone for more rounds each time.
  uint64_t patience_ = 1;
};

class PageWatch : public std::enable_shared_from_this<PageWatch> {
 public:
  static constexpr uint64_t kPageBytes = 4096;

  // What a test may replace.
  struct Surroundings {
    std::function<bool()> others_may_write;
    std::function<uint64_t()> now_ns;
    // Between two rounds, in each of which pages are protected; those of the round before count as
    // unwritten from then on.
    uint64_t round_ns = 100'000'000;
  };
  static Surroundings real_surroundings();

  // nullptr: the kernel, or a filter of the process, does not offer this, or descriptors are few.
  static std::shared_ptr<PageWatch> open(Surroundings surroundings = real_surroundings());
  ~PageWatch();
  PageWatch(const PageWatch&) = delete;
  PageWatch& operator=(const PageWatch&) = delete;

  // Whole pages. nullptr: not all of it is private anonymous memory, another userfaultfd has it, or
  // much is watched already.
  std::unique_ptr<WatchedPages> watch(uint64_t address, uint64_t size_bytes);
  // Replaces `written` with the pages that may have been written since the last look, in order and
  // apart; all of them at first. False: the memory is no longer watched (it was mapped anew), and
  // nothing is known.
  bool look(WatchedPages& pages, std::vector<PageRun>& written);
  // The memory is no longer watched. In a forked child: the descriptors are the parent's.
  void abandon() noexcept { file_ = -1; }

 private:
  friend class WatchedPages;
  struct Region;
  PageWatch(int file, int pagemap, Surroundings surroundings);
  bool scan(const WatchedPages& pages, bool protect);
  void begin_round(uint64_t now);
  void protect(WatchedPages& pages, std::vector<PageRun>& written);
  void unregister(uint64_t address, uint64_t end) noexcept;
  bool is_own() const noexcept;

  int file_;  // userfaultfd
  const uint64_t inode_;
  const int pagemap_;
  const Surroundings surroundings_;
  uint32_t watched_ = 0;
  std::unique_ptr<Region[]> regions_;
  std::vector<PageRun> found_;  // by scan()
  uint64_t round_ = 0;
  uint64_t round_began_ns_ = 0;
  uint64_t next_round_ns_ = 0;
  bool others_may_write_ = true;  // when the round began
};

}  // namespace gfxgraph::recorder

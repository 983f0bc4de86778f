#include "recorder/bytes/page_watch.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "recorder/bytes/page_writers.h"
#include "recorder/queue/tick_clock.h"

namespace gfxgraph::recorder {
namespace {

// Of include/uapi/linux/userfaultfd.h and fs.h in Linux 6.7, which older headers lack.
constexpr uint64_t kFeatureWriteProtectUnpopulated = uint64_t{1} << 13;
constexpr uint64_t kFeatureWriteProtectAsync = uint64_t{1} << 15;
constexpr uint64_t kPageIsWritten = 1 << 1;
constexpr uint64_t kPageIsPresent = 1 << 3;
constexpr uint64_t kProtectMatching = 1 << 0;   // PM_SCAN_WP_MATCHING
constexpr uint64_t kCheckProtectable = 1 << 1;  // PM_SCAN_CHECK_WPASYNC
struct ScanArgument {                           // pm_scan_arg
  uint64_t size;
  uint64_t flags;
  uint64_t start;
  uint64_t end;
  uint64_t walk_end;
  uint64_t vec;
  uint64_t vec_len;
  uint64_t max_pages;
  uint64_t category_inverted;
  uint64_t category_mask;
  uint64_t category_anyof_mask;
  uint64_t return_mask;
};
constexpr unsigned long kScan = _IOWR('f', 16, ScanArgument);  // PAGEMAP_SCAN

// More runs than this: the rest counts as written.
constexpr uint64_t kMostRegions = 256;
// Each may divide a mapping of the program into three, of which the system has a limit (65530).
constexpr uint32_t kMostWatched = 1024;
constexpr rlim_t kFewDescriptors = 256;
constexpr uint64_t kMostRoundsLeftAlone = 16;
// Of the time between two rounds, at most this part is spent on what a round asks for.
constexpr uint64_t kPartOfRound = 100;

class KeepErrno {
 public:
  KeepErrno() : error_(errno) {}
  ~KeepErrno() { errno = error_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  const int error_;
};

// A high number, as of the recorder's other descriptors: programs expect low ones.
int moved_up(int file) {
  if (file < 0) return file;
  rlimit limit{};
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  const int highest = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024));
  const int moved = fcntl(file, F_DUPFD_CLOEXEC, highest - 64);
  if (moved < 0) return file;
  (void)close(file);
  return moved;
}

uint64_t inode_of(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 ? status.st_ino : 0;
}

void add(std::vector<PageRun>& runs, PageRun run) {
  if (!runs.empty() && run.begin <= runs.back().end) {
    runs.back().end = std::max(runs.back().end, run.end);
  } else {
    runs.push_back(run);
  }
}

// Both in order.
std::vector<PageRun> both(const std::vector<PageRun>& a, const std::vector<PageRun>& b) {
  std::vector<PageRun> all;
  all.reserve(a.size() + b.size());
  for (auto x = a.begin(), y = b.begin(); x != a.end() || y != b.end();) {
    const bool first = y == b.end() || (x != a.end() && x->begin <= y->begin);
    add(all, first ? *x++ : *y++);
  }
  return all;
}

}  // namespace

struct PageWatch::Region {  // page_region
  uint64_t start;
  uint64_t end;
  uint64_t categories;
};

PageWatch::Surroundings PageWatch::real_surroundings() {
  return {.others_may_write = [] { return pages_may_have_other_writers(); },
          .now_ns = monotonic_ns};
}

std::shared_ptr<PageWatch> PageWatch::open(Surroundings surroundings) {
  const KeepErrno keep;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < kFewDescriptors) return nullptr;
  // A filter may end the process for a call that it does not expect.
  if (system_calls_are_filtered()) return nullptr;
  const int file =
      moved_up(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY)));
  if (file < 0) return nullptr;
  const int pagemap = moved_up(::open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC));
  // Reports its errors by leaving out the features.
  uffdio_api api{};
  api.api = UFFD_API;
  api.features =
      UFFD_FEATURE_PAGEFAULT_FLAG_WP | kFeatureWriteProtectUnpopulated | kFeatureWriteProtectAsync;
  if (pagemap < 0 || ioctl(file, UFFDIO_API, &api) != 0) {
    (void)close(file);
    if (pagemap >= 0) (void)close(pagemap);
    return nullptr;
  }
  return std::shared_ptr<PageWatch>(new PageWatch(file, pagemap, std::move(surroundings)));
}

PageWatch::PageWatch(int file, int pagemap, Surroundings surroundings)
    : file_(file),
      inode_(inode_of(file)),
      pagemap_(pagemap),
      surroundings_(std::move(surroundings)),
      regions_(std::make_unique<Region[]>(kMostRegions)) {
  found_.reserve(kMostRegions + 1);
}

PageWatch::~PageWatch() {
  const KeepErrno keep;
  if (file_ < 0) return;
  if (is_own()) (void)close(file_);
  (void)close(pagemap_);
}

// The program may have closed it, and may have another file under its number.
bool PageWatch::is_own() const noexcept { return file_ >= 0 && inode_of(file_) == inode_; }

WatchedPages::WatchedPages(std::shared_ptr<PageWatch> watch, uint64_t address, uint64_t size_bytes)
    : watch_(std::move(watch)), address_(address), end_(address + size_bytes) {
  ++watch_->watched_;
}

WatchedPages::~WatchedPages() {
  --watch_->watched_;
  watch_->unregister(address_, end_);
}

std::unique_ptr<WatchedPages> PageWatch::watch(uint64_t address, uint64_t size_bytes) {
  const KeepErrno keep;
  if (size_bytes == 0 || address % kPageBytes != 0 || size_bytes % kPageBytes != 0 ||
      watched_ >= kMostWatched || !is_own()) {
    return nullptr;
  }
  uffdio_register request{};
  request.range = {address, size_bytes};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  if (ioctl(file_, UFFDIO_REGISTER, &request) != 0) return nullptr;
  std::unique_ptr<WatchedPages> pages(new WatchedPages(shared_from_this(), address, size_bytes));
  // Only now: what is mapped there later is not registered.
  if (!is_private_anonymous(address, address + size_bytes)) return nullptr;
  return pages;
}

void PageWatch::unregister(uint64_t address, uint64_t end) noexcept {
  const KeepErrno keep;
  if (!is_own()) return;
  uffdio_range range{address, end - address};
  (void)ioctl(file_, UFFDIO_UNREGISTER, &range);
}

// Sets found_. False: not all of the memory is registered any more.
bool PageWatch::scan(const WatchedPages& pages, bool protect) {
  if (file_ < 0) return false;
  ScanArgument scan{};
  scan.size = sizeof(scan);
  scan.flags = kCheckProtectable | (protect ? kProtectMatching : 0);
  scan.start = pages.address_;
  scan.end = pages.end_;
  scan.vec = reinterpret_cast<uint64_t>(regions_.get());
  scan.vec_len = kMostRegions;
  // Written, or not there. A page that was given back (madvise) reads as zero, and many kernels do
  // not count it as written.
  scan.category_inverted = kPageIsPresent;
  scan.category_anyof_mask = kPageIsWritten | kPageIsPresent;
  const int count = ioctl(pagemap_, kScan, &scan);
  if (count < 0) return false;
  found_.clear();
  for (int i = 0; i < count; ++i) {
    const Region& region = regions_[static_cast<size_t>(i)];
    add(found_,
        {(region.start - pages.address_) / kPageBytes, (region.end - pages.address_) / kPageBytes});
  }
  if (scan.walk_end < pages.end_) {
    add(found_, {(scan.walk_end - pages.address_) / kPageBytes,
                 (pages.end_ - pages.address_) / kPageBytes});
  }
  return true;
}

bool PageWatch::look(WatchedPages& pages, std::vector<PageRun>& written) {
  const KeepErrno keep;
  written.clear();
  if (!scan(pages, false)) return false;
  if (found_.empty() && pages.fresh_.empty()) [[likely]]
    return true;
  const uint64_t now = surroundings_.now_ns();
  if (now >= next_round_ns_) begin_round(now);
  if (!others_may_write_ && round_ - pages.round_ >= pages.patience_) {
    pages.round_ = round_;
    if (!scan(pages, true)) return false;
    protect(pages, written);
  } else {
    written = both(found_, pages.fresh_);
  }
  return true;
}

void PageWatch::begin_round(uint64_t now) {
  ++round_;
  others_may_write_ = surroundings_.others_may_write();
  round_began_ns_ = surroundings_.now_ns();
  next_round_ns_ =
      round_began_ns_ + std::max(surroundings_.round_ns, (round_began_ns_ - now) * kPartOfRound);
}

// The pages of found_ are protected now.
void PageWatch::protect(WatchedPages& pages, std::vector<PageRun>& written) {
  written = both(found_, pages.fresh_);
  // Whoever had been given pages when they were protected is done with them: no descriptor is left
  // by which the work could still be under way. The caller reads them once more now.
  const bool long_enough =
      round_began_ns_ >= pages.protected_ns_ + surroundings_.round_ns / 2 || pages.fresh_.empty();
  uint64_t before = 0;
  uint64_t after = 0;
  for (const PageRun& run : pages.fresh_) before += run.end - run.begin;
  pages.fresh_ = long_enough ? found_ : written;
  for (const PageRun& run : pages.fresh_) after += run.end - run.begin;
  const bool in_vain = before != 0 && after >= before;
  pages.patience_ = in_vain ? std::min(pages.patience_ * 2, kMostRoundsLeftAlone) : 1;
  pages.protected_ns_ = surroundings_.now_ns();
}

}  // namespace gfxgraph::recorder

// How far the sealing of a trace is: a page that the recorder in the program and gfxgraph-record
// share, the file sealing[KEY] of the status folder (claim.h). It exists while a trace is sealed.
// Best effort: without room or rights for the file nobody sees the progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace gfxgraph::recorder {

struct SealingCount {
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;  // of the final contents to read
};

// The recorder's side. add() may be called at any time and by any thread, and does nothing outside
// of begin() and end(), which one thread calls.
class SealingMark {
 public:
  SealingMark() = default;
  ~SealingMark() { end(); }
  SealingMark(const SealingMark&) = delete;
  SealingMark& operator=(const SealingMark&) = delete;

  void begin(const std::string& status_folder, const std::string& key,
             uint64_t total_bytes) noexcept;
  void add(uint64_t bytes) noexcept;
  // At least `bytes` are done: what was not read, because it holds nothing, counts as well.
  void reach(uint64_t bytes) noexcept;
  void end() noexcept;

 private:
  struct Page;
  std::atomic<Page*> page_ = nullptr;
  std::string path_;
};

// That of this process, which makes one recording.
SealingMark& sealing_mark() noexcept;

// The tool's side: the sum of all traces that are being sealed now.
std::optional<SealingCount> sealing_now(const std::string& status_folder);

}  // namespace gfxgraph::recorder

// The graphs that were made of sequences: which of them may still run, with which values, and when
// they are given back. Not thread-safe; throws std::bad_alloc.
//
// A graph runs from its submission until something tells that it is done: a wait of the program
// that came after, or an event of its own. Values of its nodes are changed, and it is destroyed,
// only when it does not run. Nothing here waits: a kernel may wait for what the program does next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "accelerate/hold/device.h"
#include "accelerate/hold/launch.h"

namespace gfxgraph::accelerate {

struct Graph {
  void* prepared = nullptr;
  Launches given;  // the values that its nodes have
  void* stream = nullptr;
  uint64_t ticket = 0;  // of its last submission; 0: it does not run
  bool marked = false;  // its event is behind that submission
  bool owned = true;    // by a sequence; otherwise it is destroyed when it does not run
  uint64_t updates = 0;
};

// How a sequence was submitted.
struct Submission {
  enum class Kind : uint8_t { kGraph, kBusy, kFailed } kind = Kind::kGraph;
  std::string reason;  // of kFailed
  size_t updates = 0;  // nodes that got other values
};

class Graphs {
 public:
  // At one time, of all sequences. Graphs of one sequence whose values change: so many may run.
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostOfOne = 8;

  explicit Graphs(Device& device) noexcept : device_(device) {}

  bool full() const noexcept { return all_.size() >= kMost; }
  size_t made() const noexcept { return made_; }
  size_t destroyed() const noexcept { return destroyed_; }

  // One more graph of the launches, into `own`. An Error has HIP's error.
  Result<void> add(const Launches& launches, std::vector<Graph*>& own);
  // By a graph of `own` that does not run if values change, otherwise by the only one. kBusy: all
  // run, and nothing was submitted; kFailed: the same, and graphs may have a part of the values.
  Submission submit(const Launches& launches, std::vector<Graph*>& own);
  // They are submitted no more. `may_mark`: no stream is captured.
  void give_up(std::vector<Graph*>& own, bool may_mark);
  // Destroys what was given up and does not run any more.
  void destroy_done();
  // Waits of the program tell nothing from now on.
  void ignore_waits() noexcept { waits_count_ = awaited_ = false; }
  // Streams may be destroyed and made again, so that a wait for one tells no more.
  void forget_streams() noexcept;
  // The device is reset: what was made is gone.
  void abandon() noexcept;

  // The last submission. A wait for a stream, or for all (`any`), has returned that began when this
  // was the last one.
  uint64_t ticket() const noexcept { return ticket_; }
  void waited(void* stream, bool any, uint64_t ticket) noexcept;
  bool wants_waits() const noexcept { return awaited_; }

 private:
  bool runs(Graph& graph);

  Device& device_;
  bool waits_count_ = true;
  std::vector<std::unique_ptr<Graph>> all_;
  uint64_t ticket_ = 0;
  bool awaited_ = false;  // a wait would tell something that counts
  size_t made_ = 0;
  size_t destroyed_ = 0;
};

}  // namespace gfxgraph::accelerate

// Holds launches that repeat a known sequence and submits them as a graph when the sequence is
// whole. Whatever else happens first makes it submit what is held one by one, in order, as it came.
//
// One sequence at a time, of one thread and one stream: a call of any other thread or stream
// submits first. A lock guards the state; calls take it only while something is held or looked for
// (attention), or while launches are compared. Submissions are made with the lock held, so that no
// call can overtake them; other calls of the runtime never are.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "accelerate/hold/device.h"
#include "accelerate/hold/finder.h"
#include "accelerate/hold/graphs.h"
#include "accelerate/hold/sequence.h"

// Not 0: calls must tell the holder. Trampolines read it.
extern "C" std::atomic<uint32_t> gfxgraph_accelerate_attention;
// 1: launches are not looked at, for a while or any more.
extern "C" std::atomic<uint8_t> gfxgraph_accelerate_resting;

namespace gfxgraph::accelerate {

// What is held goes out after this time. The thread that sees to it wakes a little earlier; the
// operating system adds its own delay.
constexpr uint64_t kBoundNs = 100'000;
// Shorter sequences are not worth a graph's own submission.
constexpr size_t kShortest = 8;

enum class WayAsked : uint8_t { kMeasured, kGraph, kCalls };

struct Options {
  WayAsked way = WayAsked::kMeasured;
  size_t shortest = kShortest;
  bool debug = false;       // each choice is told by tell()
  int runtime_version = 0;  // as hipRuntimeGetVersion counts
  void (*tell)(const std::string& line) = nullptr;
};

// What a launch is to do.
struct Offer {
  bool held = false;   // it returns success; otherwise the program's call is made ...
  bool noted = false;  // ... and returned() is told of it
  int error = 0;       // of what was submitted instead, if that failed: told by a later call
};

struct Report {
  uint64_t launches = 0;  // that were looked at
  uint64_t held = 0;
  uint64_t submits = 0;  // graphs
  uint64_t updates = 0;  // nodes of graphs that were given other values
  uint64_t graphs_made = 0;
  uint64_t graphs_destroyed = 0;
  uint64_t one_by_one = 0;                   // held launches that were submitted as they came
  double submit_us = 0.0;                    // in submissions as graphs
  std::string stopped;                       // why the process holds nothing (any more); "": it may
  std::map<std::string, uint64_t> not_held;  // launches, by reason
  struct Line {
    uint32_t number;
    size_t launches;
    std::string first_kernel;
    Phase phase;
    size_t changing;  // launches whose arguments may be others each time
    uint64_t held, submits, updates, early, overdue, busy;
    double submit_us;
    double calls_us, graph_us;  // medians; 0: not measured
    std::string reason;
  };
  std::vector<Line> sequences;
};

class Holder {
 public:
  Holder(Device& device, const Options& options) noexcept;

  // Whether launches are to be offered at all. Any thread, no lock.
  bool on() const noexcept { return state_.load(std::memory_order_relaxed) == State::kOn; }
  bool off() const noexcept { return state_.load(std::memory_order_relaxed) == State::kOff; }

  // Before a launch. `thread`: not 0, of the calling thread.
  Offer offer(const Launch& launch, uint64_t thread) noexcept;
  // A launch with Offer::noted returned `error`.
  void returned(const Launch& launch, uint64_t thread, int error) noexcept;
  // A launch that cannot be held, and why: as before(), and counted.
  void unheld(const char* why, uint64_t thread) noexcept;

  // Before any call that may submit or observe work: what is held is submitted.
  void before() noexcept;
  // The same, by the thread that keeps the bound, if it was held since `since_ns`.
  void overdue(uint64_t since_ns) noexcept;
  // Since when something is held; 0: nothing is. Any thread, no lock.
  uint64_t held_since_ns() const noexcept { return since_ns_.load(); }
  // Before a call after which sequences may be wrong: all are forgotten. `reset`: it also takes
  // what was made on the device.
  void forget(const char* why, bool reset = false) noexcept;
  // Nothing is held any more, for the process's life.
  void stop(std::string why) noexcept;
  // Calls that use kernels, on HIP 5: see KERNELS in calls.inc.
  void uses_kernels(uint64_t thread) noexcept;
  // A call that does not submit failed: see CHECK in calls.inc.
  void failed(uint64_t thread) noexcept;
  // Captures of streams in progress: nothing is held meanwhile.
  void capturing(bool begins) noexcept;
  // A wait of the program has returned, which submissions() had before it.
  // If waits_of_one_thread(): a call that waits, before it, in whichever way.
  bool waits_of_one_thread() const noexcept { return waits_of_one_thread_; }
  void thread_waits(uint64_t thread) noexcept;
  enum class WaitFor : uint8_t { kDevice, kStream, kOther };
  uint64_t submissions() noexcept;
  void waited(WaitFor what, void* stream, uint64_t submissions) noexcept;
  bool wants_waits() const noexcept { return waits_.load(std::memory_order_relaxed); }

  // The error of a submission that no call has returned yet; 0: none. Returned once.
  int take_error() noexcept {
    return error_.load(std::memory_order_relaxed) == 0 ? 0 : error_.exchange(0);
  }
  int peek_error() const noexcept { return error_.load(std::memory_order_relaxed); }

  // fork(): the state is whole and nothing is held between these; the child holds nothing.
  void before_fork() noexcept;
  void after_fork(bool child) noexcept;

  Report report();
  // After launches that looked for nothing: whether to look again.
  void look_again() noexcept;

 private:
  enum class State : uint8_t {
    kOn,
    kIdle,  // nothing repeats: launches are not looked at for a while
    kOff,
  };

  bool match(const Launch& launch, uint64_t thread, Offer& offer);
  bool begin(const Launch& launch, uint64_t thread, Offer& offer);
  void end_match();
  void finish(Sequence& sequence, bool graph, uint64_t began_ns, uint64_t ended_ns);
  // False: it went out one by one.
  bool submit_graph(Sequence& sequence);
  void submit_calls(const Launches& launches, size_t from, size_t to);
  void end_run();
  void end_all();
  void take_values(const Launch& launch) noexcept;
  void add_sequence(Launches launches);
  void try_graph(Sequence& sequence);
  void decide(Sequence& sequence);
  void retire(Sequence& sequence, std::string reason);
  void stop_locked(std::string why);
  void count(Sequence& sequence);
  void rest();
  bool only_thread(uint64_t thread);
  bool launches_alone(uint64_t thread) const noexcept;
  void settle() noexcept;
  void tell(const Sequence& sequence);
  template <typename Call>
  void guarded(Call&& call) noexcept;

  Device& device_;
  const Options options_;
  std::mutex mutex_;
  std::atomic<State> state_{State::kOn};
  std::atomic<uint64_t> since_ns_{0};
  std::atomic<int> error_{0};
  std::atomic<bool> waits_{false};

  Finder finder_;
  uint64_t run_thread_ = 0;
  int64_t left_;  // launches until looking for sequences ends
  std::vector<std::unique_ptr<Sequence>> sequences_;
  std::vector<std::unique_ptr<Sequence>> forgotten_;
  uint32_t numbers_ = 0;
  Graphs graphs_;
  const bool waits_of_one_thread_;  // kWaitForgetsWork
  uint32_t captures_ = 0;
  uint64_t launching_thread_ = 0;

  // The launches so far are the beginning of each of these sequences.
  struct Match {
    std::vector<Sequence*> candidates;
    Sequence* any = nullptr;    // has all launches so far
    Sequence* whole = nullptr;  // the longest that was whole
    size_t position = 0;
    size_t whole_at = 0;
    uint64_t thread = 0;
    uint64_t began_ns = 0;
    uint64_t whole_ns = 0;  // when the last launch of `whole` returned, if it is not held
    bool held = false;
    bool no_more = false;
    bool active() const noexcept { return position != 0; }
  } match_;
  // The submission that the program's next wait ends.
  Sequence* last_ = nullptr;
  bool last_graph_ = false;
  uint64_t last_began_ns_ = 0;

  Report counted_;
};

}  // namespace gfxgraph::accelerate

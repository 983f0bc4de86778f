// Which buffers a step uses and writes, by what the recorded program did, and whether steps of one
// session get into each other's way.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/abi/hip_abi.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// Index = id - 1.
struct UsedBuffers {
  std::vector<bool> used;
  std::vector<bool> written;
};
// What launches reach by their arguments, and by words in memory; what copies, fills and host
// writes name. A kernel has written what it reaches if the trace does not show that it ended with
// the bytes that it began with.
UsedBuffers find_used_buffers(const Program& program);

// A step of a session. It enters and leaves while no step of the session runs.
class SessionStep {
 public:
  SessionStep() = default;
  virtual ~SessionStep() = default;
  SessionStep(const SessionStep&) = delete;
  SessionStep& operator=(const SessionStep&) = delete;

  // Blocks until what was submitted is complete.
  virtual Result<void> wait() = 0;
  // Whether all work in `stream` is complete. Changes nothing; thread-safe.
  virtual Result<bool> is_idle(hip::Stream stream) const = 0;
  virtual const Program& used_program() const = 0;
  // Whether what comes later on the stream of a run follows it.
  virtual bool holds_its_stream() const = 0;
  // Whether one of the two writes memory that the other uses.
  bool conflicts_with(const SessionStep& other) const;

 protected:
  // Around the calls that submit a run to `stream`. kUnsupported, while one that it shares written
  // buffers with may be in flight on another stream, or is being submitted, but for those that are
  // submitted `together`, by whoever orders them. Takes no lock.
  Result<void> begin_run(hip::Stream stream, std::span<SessionStep* const> together = {});
  void end_run() { flight_.store(Flight::kSubmitted, std::memory_order_release); }
  void completed() { flight_.store(Flight::kNone, std::memory_order_release); }
  bool in_flight() const { return flight_.load(std::memory_order_acquire) != Flight::kNone; }

 private:
  enum class Flight : uint8_t { kNone, kSubmitting, kSubmitted };
  friend class SessionSteps;
  struct Conflict {
    SessionStep* other = nullptr;
    size_t buffer = 0;  // id - 1 of the first one in the way
  };
  std::optional<UsedBuffers> buffers_;  // looked for when there are two steps
  std::vector<Conflict> conflicts_;
  Result<void> check_conflicts(hip::Stream stream, std::span<SessionStep* const> together) const;

  // Set by the thread that runs the step; others read them.
  std::atomic<Flight> flight_ = Flight::kNone;
  std::atomic<hip::Stream> flight_stream_ = nullptr;
};

// The steps of a session.
class SessionSteps {
 public:
  // `concurrent`: whoever runs them sees to their order.
  void enter(SessionStep& step, bool concurrent);
  void leave(SessionStep& step) noexcept;
  size_t count() const { return steps_.size(); }
  // Blocks until everything submitted by any of them is complete.
  Result<void> wait() const;

  // Around one launch on `stream` that is a run of each of these: all begin, or none.
  static Result<void> begin_together(std::span<SessionStep* const> steps, hip::Stream stream);
  static void end_together(std::span<SessionStep* const> steps) noexcept;

 private:
  std::vector<SessionStep*> steps_;
};

}  // namespace gfxgraph::replayer

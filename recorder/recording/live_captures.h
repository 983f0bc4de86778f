// Steps that the program captures of itself (gfxgraph/capture.h): a trace in memory for each, and
// what of the program's own objects the step works with. One at a time in a process.
//
// Between captures the model is kept, as outside of recorded ranges, and nothing is written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "base/live/objects.h"
#include "recorder/core.h"
#include "recorder/memory/code.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/departures.h"
#include "recorder/recording/handover.h"
#include "recorder/recording/marks.h"
#include "recorder/recording/next_trace.h"
#include "recorder/recording/sections.h"
#include "recorder/recording/trace_file.h"

namespace gfxgraph::recorder {

struct CaptureRequest {
  std::string name;  // of its ranges
  Handle stream = nullptr;
  bool contents = false;  // with the contents of memory, and all work of the process
  bool held = false;      // the trace is not written: Captured::held
  uint32_t wait_ms = 0;   // for a capture of another thread
};

// Shared by the step and by the recorder, which tells it what is gone.
class LiveStep {
 public:
  live::Code code(uint32_t kernel) const noexcept;
  live::Place place(uint32_t allocation) const noexcept;
  const live::Gone& gone() const noexcept { return gone_; }

 private:
  friend class LiveCaptures;
  struct Kernel {
    live::Code code;
    const ModuleEntry* module = nullptr;
    format::CodeObjectId code_object = 0;
  };
  struct Memory {
    live::Place place;
    std::shared_ptr<const Allocation> allocation;
    std::atomic<bool> gone{false};
  };
  std::vector<Kernel> kernels_;                  // by id - 1
  std::vector<std::unique_ptr<Memory>> memory_;  // by id - 1; null: not of the program any more
  std::vector<std::atomic<bool>> code_gone_;     // by id - 1
  live::Gone gone_;
};

struct Captured {
  File file;  // not open: it is held
  std::shared_ptr<const format::HeldTrace> held;
  std::shared_ptr<LiveStep> step;
};

class LiveCaptures final : public Departures, private Part {
 public:
  // `options`: those of `core`. They change from capture to capture.
  LiveCaptures(const Core& core, Options& options, Allocations& allocations, Events& events,
               Code& code, Launches& launches, Handover& handover, TraceFile& file,
               Sections& sections, Marks& marks, NextTrace& next) noexcept
      : Part(core),
        own_options_(options),
        allocations_(allocations),
        events_(events),
        code_(code),
        launches_(launches),
        handover_(handover),
        file_(file),
        sections_(sections),
        marks_(marks),
        next_(next) {}

  bool on() const noexcept { return options_.in_process; }
  // The model is about to be open. With the recorder's lock.
  void opened(const format::Environment& environment);
  Result<std::unique_ptr<format::Writer>> new_writer();

  // Each is called by the program, outside of HIP's calls. `capture` is what begin() gave; another
  // one is refused.
  Result<uint64_t> begin(const CaptureRequest& request) noexcept;
  // What follows does not belong to it, until resume() begins another iteration.
  Result<void> pause(uint64_t capture) noexcept;
  Result<void> resume(uint64_t capture) noexcept;
  // The caller's border: here the step's run calls it.
  Result<void> mark(uint64_t capture, const char* text) noexcept;
  // Of the trace, so far.
  Result<uint64_t> launches(uint64_t capture) noexcept;
  Result<Captured> end(uint64_t capture) noexcept;
  void abandon(uint64_t capture) noexcept;
  // Whether this thread has one open that does not pause.
  bool capturing() const noexcept { return has_open() && open_.range.load() != 0; }

  // ---- Departures -------------------------------------------------------------------------------
  void left(const Allocation& allocation) noexcept override;
  void left(const ModuleEntry& module) noexcept override;

 private:
  template <typename T, typename Body>
  Result<T> with_locks(Body&& body) noexcept;
  Result<void> check_alive() const;
  Result<void> check_open(uint64_t capture) const;
  bool has_open() const noexcept;  // this thread
  void begin_range();
  void end_range();
  std::shared_ptr<LiveStep> take_objects();
  void begin_anew(bool held);
  void close();

  Options& own_options_;
  Allocations& allocations_;
  Events& events_;
  Code& code_;
  Launches& launches_;
  Handover& handover_;
  TraceFile& file_;
  Sections& sections_;
  Marks& marks_;
  NextTrace& next_;

  // The capture that is open, or was the last one.
  struct Open {
    std::atomic<uint64_t> number{0};  // 0: none is
    std::atomic<uint32_t> thread{0};
    std::atomic<format::RangeId> range{0};  // 0: it pauses
    uint64_t last = 0;
    std::string name;
    uint32_t ordinal = 0;
  };
  std::binary_semaphore free_{1};  // none is open
  Open open_;
  format::Environment environment_;  // of all
  bool held_ = true;                 // the trace is, whose writer is open
  File file_in_memory_;              // else
  std::vector<std::weak_ptr<LiveStep>> steps_;
};

}  // namespace gfxgraph::recorder

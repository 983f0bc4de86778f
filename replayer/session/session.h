// A trace loaded onto a device: modules and memory, once, for all steps that are made of it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "order/needed_edges.h"
#include "replayer/abi/hip_library.h"
#include "replayer/code/modules.h"
#include "replayer/memory/limits.h"
#include "replayer/memory/memory.h"
#include "replayer/packets/packet_device.h"
#include "replayer/program/options.h"
#include "replayer/program/program.h"
#include "replayer/session/launch_lock.h"
#include "replayer/session/session_steps.h"

namespace gfxgraph::replayer {

// kUnsupported, in place: `what` needs recorded contents.
Result<void> check_apart(const SessionOptions& options, const char* what);
// The same of a binding that is to be filled.
Result<void> check_fill(const SessionOptions& options, const Binding& binding);

// Not thread-safe, but that different steps may run at the same time; two sessions share nothing
// but the HIP runtime, and take no common lock. Its steps are destroyed before it.
class Session {
 public:
  // Leaves the memory unset: restore() comes before the first run.
  static Result<std::shared_ptr<Session>> load(std::shared_ptr<const Program> program,
                                               std::shared_ptr<const HipLibrary> library,
                                               const SessionOptions& options);

  // Whether the trace's code objects run on such a device.
  static Result<void> check_architecture(const format::Trace& trace, const HipDevice& device);

  // The whole trace.
  const std::shared_ptr<const Program>& program() const { return program_; }
  const HipLibrary& library() const { return *library_; }
  const std::shared_ptr<const HipLibrary>& shared_library() const { return library_; }
  const HipTable& hip() const { return library_->table(); }
  const HipDevice& device() const { return device_; }
  const SessionOptions& options() const { return options_; }
  const Modules& modules() const { return *modules_; }
  Memory& memory() { return *memory_; }
  const Memory& memory() const { return *memory_; }
  // Of loading, also of a step: what is slow there asks it.
  Deadline& deadline() { return deadline_; }
  // Over code and memory of the program in this process (SessionOptions::live).
  bool in_place() const { return options_.live != nullptr; }
  void start_deadline() { deadline_ = Deadline(options_.max_load_seconds); }

  // Memory of the caller in place of an allocation, from now on and for all steps, with what it
  // holds (as Memory::bind_anew); waits for the device. The caller keeps it alive.
  Result<void> bind(const Binding& binding);
  // What was bound since loading, in order.
  const std::vector<Move>& moves() const { return moves_; }

  // Steps that are prepared from now on keep this order in modes graph and packets, as long as its
  // proof holds; null: the recorded one. kInvalidArgument: it is another trace's; kUnsupported:
  // allocations share memory by the recorded order (MemoryUse::kPacked), or other code than was
  // analysed runs on this device.
  Result<void> use_order(std::shared_ptr<const order::NeededEdges> edges);
  // Null: the recorded one.
  const std::shared_ptr<const order::NeededEdges>& order() const { return order_; }

  // Of mode packets: one for all its steps.
  Result<std::shared_ptr<PacketDevice>> packet_device();

  SessionSteps& steps() { return steps_; }
  LaunchLock& launch_lock() { return *launch_lock_; }
  // Waits for what its steps have submitted.
  Result<void> synchronize() const { return steps_.wait(); }
  // Waits, then gives every buffer that begins before `end_event` its recorded initial content;
  // `all`: also those of the caller that keep theirs. Reads no other content of the trace.
  Result<void> restore(uint64_t end_event, bool all = false);
  // Gives recorded content to what begins before `end_event` and never had any here.
  Result<void> restore_rest(uint64_t end_event);
  // Whether memory has been restored since it was loaded.
  bool has_content() const { return restored_until_ != 0; }
  // Which step's initial state memory holds; nullptr: unknown. Set by its restoring, ended by runs,
  // writes and bindings of any step. Writes of the caller to his own memory are not seen.
  void set_fresh_for(const void* step) noexcept { fresh_for_.store(step); }
  void changed() noexcept {  // any thread that runs a step
    if (fresh_for_.load(std::memory_order_relaxed) != nullptr) fresh_for_.store(nullptr);
  }
  bool fresh_for(const void* step) const noexcept { return fresh_for_.load() == step; }
  double load_us() const { return load_us_; }

  void log(int32_t level, const std::string& text) const {
    if (options_.log.write != nullptr)
      options_.log.write(options_.log.context, level, text.c_str());
  }

 private:
  Session(std::shared_ptr<const Program> program, std::shared_ptr<const HipLibrary> library,
          const SessionOptions& options)
      : program_(std::move(program)), library_(std::move(library)), options_(options) {}

  void log_memory() const;
  void log_loaded() const;
  Result<void> check_contents(uint64_t end_event);

  std::shared_ptr<const Program> program_;
  std::shared_ptr<const HipLibrary> library_;
  SessionOptions options_;
  Deadline deadline_;
  HipDevice device_;
  std::unique_ptr<Modules> displaced_modules_;
  std::unique_ptr<Modules> modules_;
  std::unique_ptr<Memory> memory_;
  std::vector<Move> moves_;
  std::shared_ptr<const order::NeededEdges> order_;
  std::weak_ptr<PacketDevice> packet_device_;
  uint64_t checked_until_ = 0;   // the contents of what begins before this event
  uint64_t restored_until_ = 0;  // what begins before this event has had content
  std::atomic<const void*> fresh_for_ = nullptr;
  SessionSteps steps_;
  std::shared_ptr<LaunchLock> launch_lock_ = std::make_shared<LaunchLock>();
  double load_us_ = 0;
};

}  // namespace gfxgraph::replayer

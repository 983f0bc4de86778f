// A step: a program (a range of a trace, or all of it) prepared in one mode, and the stream it runs
// on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/memory/input_ring.h"
#include "replayer/program/transfers.h"
#include "replayer/session/executor.h"
#include "replayer/session/instance.h"
#include "replayer/session/session_steps.h"
#include "replayer/step/step_arguments.h"
#include "replayer/step/step_values.h"

namespace gfxgraph::replayer {

struct LoadTimes {
  double load_us = 0;     // modules, memory, prepared arguments
  double restore_us = 0;  // writing the initial contents
  double build_us = 0;    // graph nodes
  double instantiate_us = 0;
};

// Not thread-safe; two steps of one session may be set, run and waited for at the same time.
class Step : public SessionStep {
 public:
  // `program` is the session's, or a part of it. Writes the contents with which it begins, and for
  // kAuto measures the modes. In place it does neither.
  static Result<std::unique_ptr<Step>> prepare(std::shared_ptr<Session> session,
                                               std::shared_ptr<const Program> program,
                                               const StepOptions& options);
  // In a session of its own.
  static Result<std::unique_ptr<Step>> load(std::shared_ptr<const Program> program,
                                            std::shared_ptr<const HipLibrary> library,
                                            const LoadOptions& options);
  ~Step() override;

  Mode mode() const { return mode_; }  // never kAuto
  const std::string& mode_reason() const { return mode_reason_; }
  Instance& instance() { return *instance_; }
  const Instance& instance() const { return *instance_; }
  const LoadTimes& load_times() const { return load_times_; }
  GraphStatistics graph_statistics() const { return executor_->graph_statistics(); }
  Executor& executor() const { return *executor_; }
  const ExecutorOptions& executor_options() const { return executor_options_; }

  // The stream that batch and graph submit to from now on; null: the null stream. The caller keeps
  // it alive.
  void set_stream(hip::Stream stream) { stream_ = stream; }
  hip::Stream stream() const { return stream_; }
  // Made at the first call in place, where most steps never need it.
  Result<hip::Stream> own_stream();

  // Submits one run behind what the stream holds. Applies changed arguments first. kUnsupported on
  // a stream that is capturing, and where another step is in the way (session_steps.h). kNotFound
  // in place: the program gave back a buffer or kernel that it uses; nothing was submitted.
  Result<void> run();
  // Mode packets: the same without fences, for callers that order runs and the stream's work
  // themselves, by wait(). Other modes: run().
  Result<void> run_unfenced();
  Result<void> wait() override;
  Result<bool> is_complete();
  Result<bool> is_idle(hip::Stream stream) const override { return executor_->is_complete(stream); }
  const Program& used_program() const override { return instance_->program(); }
  bool holds_its_stream() const override { return mode_ != Mode::kEager; }
  // Restores the memory contents of the program's beginning. kUnsupported in place.
  Result<void> restore();
  // The same, but does nothing if memory is still as restore() left it. Assumes that only the
  // session's steps write the caller's memory.
  Result<void> restore_if_changed();
  // What its operations work with; the next run uses it.
  StepValues& values() { return values_; }
  // The bytes that the next runs get, and where they leave theirs; null: in memory of the step.
  // Transfers are those of the step's program. kInvalidArgument: not its size.
  Result<void> set_input(const Transfer& input, std::span<const std::byte> bytes);
  Result<void> set_output(const Transfer& output, std::span<std::byte> bytes);
  // Waits, then copies what the last run left.
  Result<void> read_output(const Transfer& output, std::span<std::byte> bytes);
  // Applies changed arguments now instead of in the next run. In place kNotFound as run().
  Result<void> commit();
  // What its operations are set to, and sets them to what another step's, or earlier this one's,
  // were, which must be the same work (check_same_work()). kUnsupported: memory was bound
  // meanwhile.
  Result<StepArguments> arguments();
  Result<void> set_arguments(const StepArguments& arguments);

 private:
  Step(std::unique_ptr<Instance> instance, const StepOptions& options);
  Result<void> submit(bool fenced);
  Result<void> refuse_capture() const;
  void log_prepared() const;
  Result<void> choose_mode(const StepOptions& options);
  Result<void> choose_unmeasured();
  Result<void> use(Mode mode);
  void use(Mode mode, std::unique_ptr<Executor> executor);
  void use_launch_lock();

  std::unique_ptr<Instance> instance_;
  std::shared_ptr<const ArgumentsOf> arguments_of_;  // of its own program, or of what was set
  ExecutorOptions executor_options_;
  Mode mode_ = Mode::kBatch;
  std::string mode_reason_;
  std::unique_ptr<Executor> executor_;
  StepValues values_;
  hip::Stream own_stream_ = nullptr;
  hip::Stream stream_ = nullptr;
  bool entered_ = false;                                  // the session's steps
  std::map<uint32_t, std::unique_ptr<InputRing>> rings_;  // by operation
  LoadTimes load_times_;
};

}  // namespace gfxgraph::replayer

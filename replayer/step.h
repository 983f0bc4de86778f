// A step: a program (a range of a trace, or all of it) prepared in one mode, and the stream it runs
// on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/bisect.h"
#include "replayer/executor.h"
#include "replayer/input_ring.h"
#include "replayer/instance.h"
#include "replayer/session_steps.h"
#include "replayer/transfers.h"
#include "replayer/verify.h"

namespace gfxgraph::replayer {

// Host times of repetitions, in microseconds.
struct Timing {
  std::vector<double> samples;  // in the order in which they were taken
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};
Timing summarise(std::vector<double> samples);
// Whether runs took less time than others by more than the spread of both: nine of ten against nine
// of ten. No: too few of either to have a spread.
bool clearly_faster(const std::vector<double>& runs, const std::vector<double>& others);

struct Measurement {
  Timing submit;      // from the call of run() to its return
  Timing end_to_end;  // until the work is complete
};

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
  // kAuto measures the modes.
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

  // The stream that batch and graph submit to from now on; null: the null stream. The caller keeps
  // it alive.
  void set_stream(hip::Stream stream) { stream_ = stream; }
  hip::Stream stream() const { return stream_; }
  hip::Stream own_stream() const { return own_stream_; }

  // Submits one run behind what the stream holds. Applies changed arguments first. kUnsupported on
  // a stream that is capturing, and where another step is in the way (session_steps.h).
  Result<void> run();
  // Mode packets: the same without fences, for callers that order runs and the stream's work
  // themselves, by wait(). Other modes: run().
  Result<void> run_unfenced();
  Result<void> wait() override;
  Result<bool> is_complete();
  Result<bool> is_idle(hip::Stream stream) const override { return executor_->is_complete(stream); }
  const Program& used_program() const override { return instance_->program(); }
  bool holds_its_stream() const override { return mode_ != Mode::kEager; }
  // Restores the memory contents of the program's beginning.
  Result<void> restore();
  // The same, but does nothing if memory is still as restore() left it. Assumes that only the
  // session's steps write the caller's memory.
  Result<void> restore_if_changed();
  Result<void> set_kernarg(uint32_t launch_index, uint64_t offset,
                           std::span<const std::byte> bytes);
  // In workgroups.
  Result<void> set_grid(uint32_t launch_index, const hip::Dim3& grid);
  // As Instance::set_place().
  Result<void> set_place(const PlaceTarget& target, const PlaceValue& value);
  // All places of a parameter.
  Result<void> set(const StepParameter& parameter, const PlaceValue& value);
  // The bytes that the next runs get, and where they leave theirs; null: in memory of the step.
  // Transfers are those of the step's program. kInvalidArgument: not its size.
  Result<void> set_input(const Transfer& input, std::span<const std::byte> bytes);
  Result<void> set_output(const Transfer& output, std::span<std::byte> bytes);
  // Waits, then copies what the last run left.
  Result<void> read_output(const Transfer& output, std::span<std::byte> bytes);
  // Applies changed arguments now instead of in the next run.
  Result<void> commit();
  // Waits, then compares. If differing bytes may never have been written, runs the program again
  // to determine that (origins.h), and restores memory afterwards.
  Result<VerifyReport> verify();
  // `repetitions` runs, each from the restored state, restored outside of the measured part.
  Result<Measurement> measure(size_t repetitions);
  Result<BisectReport> find_divergence(const Progress& progress = {});

 private:
  Step(std::unique_ptr<Instance> instance, const StepOptions& options);
  Result<void> submit(bool fenced);
  Result<void> refuse_capture() const;
  void log_prepared() const;
  Result<void> choose_mode(const StepOptions& options);
  void operation_changed(uint32_t operation);
  void note_resized(uint32_t operation);
  void arguments_changed(uint32_t operation);
  Result<void> use(Mode mode);
  void use_launch_lock();

  std::unique_ptr<Instance> instance_;
  ExecutorOptions executor_options_;
  Mode mode_ = Mode::kBatch;
  std::string mode_reason_;
  std::unique_ptr<Executor> executor_;
  hip::Stream own_stream_ = nullptr;
  hip::Stream stream_ = nullptr;
  bool entered_ = false;                                  // the session's steps
  std::map<uint32_t, std::unique_ptr<InputRing>> rings_;  // by operation
  LoadTimes load_times_;
  std::optional<OriginMap> origins_;  // of what differed so far
  // Launches whose new sizes commit() has not accepted yet; by operation, and as a list.
  std::vector<bool> is_resized_;
  std::vector<uint32_t> resized_;
};

}  // namespace gfxgraph::replayer

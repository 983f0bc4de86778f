#include "replayer/step/step.h"
#include "base/amount.h"

#include <fmt/format.h>

#include <chrono>
#include <cstring>

namespace gfxgraph::replayer {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

}  // namespace

const char* mode_name(Mode mode) noexcept {
  switch (mode) {
    case Mode::kEager: return "eager";
    case Mode::kBatch: return "batch";
    case Mode::kGraph: return "graph";
    case Mode::kAuto: return "auto";
    case Mode::kPackets: return "packets";
  }
  return "unknown";
}

Step::Step(std::unique_ptr<Instance> instance, const StepOptions& options)
    : instance_(std::move(instance)), values_(*instance_) {
  executor_options_.graph_max_nodes = options.graph_max_nodes;
  executor_options_.graph_linear = options.graph_linear;
  executor_options_.values_change = options.values_change;
}

Step::~Step() {
  instance_->session().changed();  // another one may get this address
  if (entered_) {
    instance_->session().steps().leave(*this);
    use_launch_lock();
  }
  // Wait, because memory must not be freed while work uses it; a device in error has no such work.
  // The wait may throw if there is no memory for the text of an error.
  const HipTable& hip = instance_->hip();
  try {
    if (executor_) (void)executor_->wait(stream_);
  } catch (...) {
    hip.hipGetLastError();
  }
  rings_.clear();
  executor_.reset();
  if (own_stream_ != nullptr) hip.hipStreamDestroy(own_stream_);
}

[[gnu::cold]] Result<std::unique_ptr<Step>> Step::load(std::shared_ptr<const Program> program,
                                                       std::shared_ptr<const HipLibrary> library,
                                                       const LoadOptions& options) {
  const Clock::time_point start = Clock::now();
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<Session> session,
                            Session::load(program, std::move(library), options));
  const double session_us = microseconds(start, Clock::now());
  GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<Step> step,
                            prepare(std::move(session), std::move(program), options));
  step->load_times_.load_us += session_us;
  return step;
}

[[gnu::cold]] Result<std::unique_ptr<Step>> Step::prepare(std::shared_ptr<Session> session,
                                                          std::shared_ptr<const Program> program,
                                                          const StepOptions& options) {
  const Clock::time_point start = Clock::now();
  auto of = std::make_shared<ArgumentsOf>();
  GFXGRAPH_ASSIGN_OR_RETURN(of->use, LiveUse::find(*session, *program));
  of->session = session;
  of->program = program;
  GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<Instance> instance,
                            Instance::load(std::move(session), std::move(program)));
  std::unique_ptr<Step> step(new Step(std::move(instance), options));
  step->arguments_of_ = std::move(of);
  step->instance_->set_border_call(options.border);
  const bool in_place = step->instance_->session().in_place();
  if (!in_place) {
    GFXGRAPH_ASSIGN_OR_RETURN(step->stream_, step->own_stream());
  }
  const Clock::time_point loaded = Clock::now();
  step->load_times_.load_us = microseconds(start, loaded);
  if (options.keep_memory && options.mode == Mode::kAuto && !in_place) {
    return fail(Status::kInvalidArgument,
                "mode auto runs the step to measure it: it cannot keep the session's memory");
  }
  if (options.keep_memory || in_place) {  // in place: begins only what the session made itself
    GFXGRAPH_TRY(step->instance_->session().restore_rest(step->instance_->program().end_event()));
  } else {
    GFXGRAPH_TRY(step->restore());
  }
  step->load_times_.restore_us = microseconds(loaded, Clock::now());
  if (options.mode == Mode::kAuto) {
    GFXGRAPH_TRY(in_place ? step->choose_unmeasured() : step->choose_mode(options));
  } else {
    GFXGRAPH_TRY(step->use(options.mode));
    step->mode_reason_ = "as asked";
  }
  const GraphStatistics statistics = step->graph_statistics();
  step->load_times_.build_us = statistics.build_us;
  step->load_times_.instantiate_us = statistics.instantiate_us;
  step->instance_->session().deadline() = Deadline();
  Session& session_of_step = step->instance_->session();
  step->entered_ = true;  // and leaves, where it has only half entered
  session_of_step.steps().enter(*step, session_of_step.options().concurrent_steps);
  step->use_launch_lock();
  step->log_prepared();
  return step;
}

Result<hip::Stream> Step::own_stream() {
  if (own_stream_ == nullptr) {
    GFXGRAPH_TRY(instance_->library().check(
        instance_->hip().hipStreamCreateWithFlags(&own_stream_, hip::kStreamNonBlocking),
        "stream for the replay"));
  }
  return own_stream_;
}

void Step::use_launch_lock() {
  Session& session = instance_->session();
  if (session.in_place()) return;
  session.launch_lock().use(session.steps().count() > 1 &&
                            session.library().avoids(HipQuirk::kGraphKernelsMix));
}

Result<void> Step::use(Mode mode) {
  GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                            make_executor(mode, *instance_, executor_options_));
  use(mode, std::move(executor));
  return {};
}

void Step::use(Mode mode, std::unique_ptr<Executor> executor) {
  mode_ = mode;
  executor_ = std::move(executor);
  values_.use(*executor_);
}

// Runtimes capture some of a replay's calls and execute or drop the others.
Result<void> Step::refuse_capture() const {
  const auto is_capturing = instance_->hip().hipStreamIsCapturing;
  if (stream_ == own_stream_ || stream_ == nullptr || is_capturing == nullptr) return {};
  int status = hip::kNotCapturing;
  const hip::Error code = is_capturing(stream_, &status);
  if (code == hip::kSuccess && status == hip::kNotCapturing) [[likely]]
    return {};
  if (code != hip::kSuccess) return instance_->library().check(code, "hipStreamIsCapturing");
  return fail(Status::kUnsupported,
              "the stream is capturing: nothing was submitted; end its capture before the run");
}

Result<void> Step::run() { return submit(true); }

Result<void> Step::run_unfenced() { return submit(false); }

Result<void> Step::submit(bool fenced) {
  GFXGRAPH_TRY(refuse_capture());
  // Its streams are those of the program: what begins on one of them is not behind what the run
  // before left on another.
  if (mode_ == Mode::kEager && in_flight()) GFXGRAPH_TRY(wait());
  GFXGRAPH_TRY(commit());
  // Eager mode runs on streams of its own, behind what the caller queued on his; ours holds
  // nothing.
  const bool idle = mode_ == Mode::kEager && own_stream_ != nullptr && stream_ == own_stream_;
  GFXGRAPH_TRY(begin_run(stream_));
  instance_->session().changed();
  Result<void> submitted =
      fenced ? executor_->run(idle ? nullptr : stream_) : executor_->run_unfenced(stream_);
  end_run();
  return submitted;
}

Result<void> Step::wait() {
  GFXGRAPH_TRY(executor_->wait(stream_));
  executor_->runs().all_have_ended();
  completed();
  return {};
}

Result<bool> Step::is_complete() {
  if (!in_flight()) return true;
  GFXGRAPH_ASSIGN_OR_RETURN(const bool complete, executor_->is_complete(stream_));
  if (complete) {
    executor_->runs().all_have_ended();
    completed();
  }
  return complete;
}

void Step::log_prepared() const {
  const Session& session = instance_->session();
  if (session.options().log.write == nullptr) return;
  session.log(kLogInfo, fmt::format("step of {} with {}, in mode {} ({})",
                                    counted(instance_->program().operations().size(), "operation"),
                                    counted(instance_->program().launch_count(), "launch"),
                                    mode_name(mode_), mode_reason_));
}

[[gnu::cold]] Result<void> Step::restore() {
  GFXGRAPH_TRY(check_apart(instance_->session().options(), "restore"));
  if (stream_ != own_stream_) GFXGRAPH_TRY(instance_->library().wait_for(stream_));
  if (executor_) GFXGRAPH_TRY(wait());
  instance_->follow_moves(executor_.get());
  GFXGRAPH_TRY(instance_->restore());
  instance_->session().set_fresh_for(this);
  return {};
}

Result<void> Step::restore_if_changed() {
  return instance_->session().fresh_for(this) ? Result<void>() : restore();
}

namespace {

Result<void> check_size(const Transfer& transfer, size_t size_bytes) {
  if (size_bytes == transfer.size_bytes) return {};
  return fail(Status::kInvalidArgument,
              fmt::format("{} bytes given for {}, which has {}", size_bytes, transfer.name,
                          transfer.size_bytes));
}

const PreparedCopy& copy_of(const Instance& instance, const Transfer& transfer) {
  return instance.copy(instance.operation(transfer.index).index);
}

}  // namespace

Result<void> Step::set_input(const Transfer& input, std::span<const std::byte> bytes) {
  GFXGRAPH_TRY(check_size(input, bytes.size()));
  if (input.kind == TransferKind::kHostWrite) {
    values_.set_host_write(input.index, bytes);  // the host is done with it when run() returns
    return {};
  }
  std::unique_ptr<InputRing>& ring = rings_[input.index];
  if (!ring) {
    ring = std::make_unique<InputRing>(instance_->memory().source(), executor_->runs(),
                                       const_cast<uint8_t*>(copy_of(*instance_, input).source),
                                       bytes.size());
  }
  // Its own streams: eager work is not behind an event on the caller's.
  if (mode_ == Mode::kEager && in_flight()) GFXGRAPH_TRY(wait());
  GFXGRAPH_TRY(refuse_capture());
  GFXGRAPH_TRY(ring->turn());
  std::memcpy(ring->current(), bytes.data(), bytes.size());
  values_.set_host_source(input.index, ring->current());
  return {};
}

Result<void> Step::set_output(const Transfer& output, std::span<std::byte> bytes) {
  if (bytes.data() != nullptr) GFXGRAPH_TRY(check_size(output, bytes.size()));
  values_.set_host_destination(output.index, reinterpret_cast<uint8_t*>(bytes.data()));
  return {};
}

Result<void> Step::read_output(const Transfer& output, std::span<std::byte> bytes) {
  GFXGRAPH_TRY(check_size(output, bytes.size()));
  GFXGRAPH_TRY(wait());
  std::memcpy(bytes.data(), copy_of(*instance_, output).destination, bytes.size());
  return {};
}

Result<void> Step::commit() {
  if (values_.any_resized()) [[unlikely]]
    GFXGRAPH_TRY(values_.check_resized());
  instance_->follow_moves(executor_.get());
  // A changed graph may take code that is gone.
  GFXGRAPH_TRY(arguments_of_->use.check(instance_->prepared()));
  return executor_->apply_changes();
}

[[gnu::cold]] Result<StepArguments> Step::arguments() {
  if (in_flight()) GFXGRAPH_TRY(wait());  // moves are followed when nothing is
  instance_->follow_moves(executor_.get());
  StepArguments arguments = arguments_of(instance_->prepared());
  arguments.of = arguments_of_;
  arguments.moves = arguments_of_->session->moves().size();
  return arguments;
}

[[gnu::cold]] Result<void> Step::set_arguments(const StepArguments& arguments) {
  if (arguments.of->session->moves().size() != arguments.moves) {
    return fail(Status::kUnsupported,
                "memory was bound in the session after its arguments were kept: keep them again");
  }
  instance_->follow_moves(executor_.get());
  values_.set_all(arguments);
  arguments_of_ = arguments.of;
  return {};
}

}  // namespace gfxgraph::replayer

#include "replayer/step.h"
#include "base/amount.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace gfxgraph::replayer {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(position);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(low);
  return sorted[low] + fraction * (sorted[high] - sorted[low]);
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

Timing summarise(std::vector<double> samples) {
  Timing timing;
  if (samples.empty()) return timing;
  timing.samples = samples;
  std::sort(samples.begin(), samples.end());
  timing.median = quantile(samples, 0.5);
  timing.p10 = quantile(samples, 0.1);
  timing.p90 = quantile(samples, 0.9);
  return timing;
}

Step::Step(std::unique_ptr<Instance> instance, const StepOptions& options)
    : instance_(std::move(instance)), is_resized_(instance_->program().operations().size()) {
  resized_.reserve(is_resized_.size());
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

Result<std::unique_ptr<Step>> Step::load(std::shared_ptr<const Program> program,
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

Result<std::unique_ptr<Step>> Step::prepare(std::shared_ptr<Session> session,
                                            std::shared_ptr<const Program> program,
                                            const StepOptions& options) {
  const Clock::time_point start = Clock::now();
  GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<Instance> instance,
                            Instance::load(std::move(session), std::move(program)));
  std::unique_ptr<Step> step(new Step(std::move(instance), options));
  GFXGRAPH_TRY(step->instance_->library().check(
      step->instance_->hip().hipStreamCreateWithFlags(&step->own_stream_, hip::kStreamNonBlocking),
      "stream for the replay"));
  step->stream_ = step->own_stream_;
  const Clock::time_point loaded = Clock::now();
  step->load_times_.load_us = microseconds(start, loaded);
  if (options.keep_memory && options.mode == Mode::kAuto) {
    return fail(Status::kInvalidArgument,
                "mode auto runs the step to measure it: it cannot keep the session's memory");
  }
  if (options.keep_memory) {
    GFXGRAPH_TRY(step->instance_->session().restore_rest(step->instance_->program().end_event()));
  } else {
    GFXGRAPH_TRY(step->restore());
  }
  step->load_times_.restore_us = microseconds(loaded, Clock::now());
  if (options.mode == Mode::kAuto) {
    GFXGRAPH_TRY(step->choose_mode(options));
  } else {
    GFXGRAPH_TRY(step->use(options.mode));
    step->mode_reason_ = "as asked";
  }
  const GraphStatistics statistics = step->graph_statistics();
  step->load_times_.build_us = statistics.build_us;
  step->load_times_.instantiate_us = statistics.instantiate_us;
  step->instance_->deadline() = Deadline();
  Session& session_of_step = step->instance_->session();
  step->entered_ = true;  // and leaves, where it has only half entered
  session_of_step.steps().enter(*step, session_of_step.options().concurrent_steps);
  step->use_launch_lock();
  step->log_prepared();
  return step;
}

void Step::use_launch_lock() {
  Session& session = instance_->session();
  session.launch_lock().use(session.steps().count() > 1 &&
                            session.library().avoids(HipQuirk::kGraphKernelsMix));
}

Result<void> Step::use(Mode mode) {
  GFXGRAPH_ASSIGN_OR_RETURN(executor_, make_executor(mode, *instance_, executor_options_));
  mode_ = mode;
  return {};
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
  const bool idle = mode_ == Mode::kEager && stream_ == own_stream_;
  GFXGRAPH_TRY(begin_run(stream_));
  instance_->session().changed();
  Result<void> submitted =
      fenced ? executor_->run(idle ? nullptr : stream_) : executor_->run_unfenced(stream_);
  end_run();
  return submitted;
}

Result<void> Step::wait() {
  GFXGRAPH_TRY(executor_->wait(stream_));
  completed();
  return {};
}

Result<bool> Step::is_complete() {
  if (!in_flight()) return true;
  GFXGRAPH_ASSIGN_OR_RETURN(const bool complete, executor_->is_complete(stream_));
  if (complete) {
    executor_->ended();
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

Result<void> Step::restore() {
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

Result<void> Step::set_kernarg(uint32_t launch_index, uint64_t offset,
                               std::span<const std::byte> bytes) {
  GFXGRAPH_ASSIGN_OR_RETURN(const bool changed,
                            instance_->set_kernarg(launch_index, offset, bytes));
  if (changed) arguments_changed(instance_->program().launch_operation(launch_index));
  return {};
}

Result<void> Step::set_grid(uint32_t launch_index, const hip::Dim3& grid) {
  const Program& program = instance_->program();
  const uint32_t first = program.first_launch();
  if (launch_index < first || launch_index - first >= program.launch_count()) {
    return fail(Status::kNotFound, fmt::format("launch {} does not exist: there are {}, from {}",
                                               launch_index, program.launch_count(), first));
  }
  const uint32_t operation = program.launch_operation(launch_index);
  GFXGRAPH_TRY(instance_->check_sizes(operation, &grid));
  GFXGRAPH_TRY(set_place({operation, ranges::PlaceKind::kGridX, 0, 4}, {0, grid.x}));
  GFXGRAPH_TRY(set_place({operation, ranges::PlaceKind::kGridY, 0, 4}, {0, grid.y}));
  return set_place({operation, ranges::PlaceKind::kGridZ, 0, 4}, {0, grid.z});
}

Result<void> Step::set_place(const PlaceTarget& target, const PlaceValue& value) {
  if (const std::optional<bool> set = instance_->set_number(target, value)) [[likely]] {
    if (*set) arguments_changed(target.operation);
    return {};
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const bool changed, instance_->set_place(target, value));
  if (!changed) return {};
  if (target.kind == ranges::PlaceKind::kArgument) [[likely]] {
    arguments_changed(target.operation);
  } else {
    if (instance_->operation(target.operation).kind == OperationKind::kLaunch)
      note_resized(target.operation);
    operation_changed(target.operation);
  }
  return {};
}

Result<void> Step::set(const StepParameter& parameter, const PlaceValue& value) {
  for (const PlaceTarget& target : parameter.targets) {
    Result<void> done = set_place(target, value);
    if (!done) return with_context(std::move(done).error(), parameter.name);
  }
  return {};
}

namespace {

Result<void> check_size(const Transfer& transfer, size_t size_bytes) {
  if (size_bytes == transfer.size_bytes) return {};
  return fail(Status::kInvalidArgument,
              fmt::format("{} bytes given for {}, which has {}", size_bytes, transfer.name,
                          transfer.size_bytes));
}

}  // namespace

Result<void> Step::set_input(const Transfer& input, std::span<const std::byte> bytes) {
  GFXGRAPH_TRY(check_size(input, bytes.size()));
  origins_.reset();
  if (input.kind == TransferKind::kHostWrite) {
    instance_->set_host_write(input.index, bytes);  // the host is done with it when run() returns
    return {};
  }
  std::unique_ptr<InputRing>& ring = rings_[input.index];
  if (!ring) {
    ring = std::make_unique<InputRing>(instance_->memory().source(),
                                       instance_->host_source(input.index), bytes.size());
  }
  // Its own streams: eager work is not behind an event on the caller's.
  if (mode_ == Mode::kEager && in_flight()) GFXGRAPH_TRY(wait());
  GFXGRAPH_TRY(refuse_capture());
  uint8_t* const before = ring->current();
  GFXGRAPH_TRY(ring->turn(in_flight(), stream_));
  std::memcpy(ring->current(), bytes.data(), bytes.size());
  if (ring->current() == before) {
    instance_->given_source(input.index);
    return {};
  }
  instance_->set_host_source(input.index, ring->current());
  operation_changed(input.index);
  return {};
}

Result<void> Step::set_output(const Transfer& output, std::span<std::byte> bytes) {
  if (bytes.data() != nullptr) GFXGRAPH_TRY(check_size(output, bytes.size()));
  instance_->set_host_destination(output.index, reinterpret_cast<uint8_t*>(bytes.data()));
  operation_changed(output.index);
  return {};
}

Result<void> Step::read_output(const Transfer& output, std::span<std::byte> bytes) {
  GFXGRAPH_TRY(check_size(output, bytes.size()));
  GFXGRAPH_TRY(wait());
  std::memcpy(bytes.data(), instance_->host_destination(output.index), bytes.size());
  return {};
}

void Step::operation_changed(uint32_t operation) {
  executor_->changed(operation);
  origins_.reset();
}

void Step::arguments_changed(uint32_t operation) {
  executor_->arguments_changed(operation);
  origins_.reset();
}

void Step::note_resized(uint32_t operation) {
  if (is_resized_[operation]) return;
  is_resized_[operation] = true;
  resized_.push_back(operation);  // has room: setting allocates nothing
}

Result<void> Step::commit() {
  // Not when they are set, because a caller sets them one by one.
  while (!resized_.empty()) {
    GFXGRAPH_TRY(instance_->check_sizes(resized_.back(), nullptr));
    is_resized_[resized_.back()] = false;
    resized_.pop_back();
  }
  instance_->follow_moves(executor_.get());
  return executor_->apply_changes();
}

Result<VerifyReport> Step::verify() {
  GFXGRAPH_TRY(executor_->wait(stream_));
  const OriginMap* const known = origins_ ? &*origins_ : nullptr;
  GFXGRAPH_ASSIGN_OR_RETURN(VerifyReport report, replayer::verify(*instance_, known));
  if (!report.differs() || !begins_unwritten(instance_->program()) ||
      (known != nullptr && known->covers(report))) {
    return report;
  }
  instance_->session().changed();
  Result<OriginMap> found =
      OriginMap::find(*instance_, executor_options_, stream_, report, known, machine_memory());
  if (!found) {
    report.unwritten_failure = found.error().message;
    return report;
  }
  origins_ = std::move(*found);
  return replayer::verify(*instance_, &*origins_);
}

Result<Measurement> Step::measure(size_t repetitions) {
  GFXGRAPH_TRY(commit());
  std::vector<double> submit;
  std::vector<double> end_to_end;
  for (size_t i = 0; i < repetitions; ++i) {
    GFXGRAPH_TRY(restore_if_changed());
    instance_->session().changed();
    const Clock::time_point start = Clock::now();
    GFXGRAPH_TRY(executor_->run(stream_));
    const Clock::time_point submitted = Clock::now();
    GFXGRAPH_TRY(executor_->wait(stream_));
    submit.push_back(microseconds(start, submitted));
    end_to_end.push_back(microseconds(start, Clock::now()));
  }
  return Measurement{summarise(std::move(submit)), summarise(std::move(end_to_end))};
}

Result<BisectReport> Step::find_divergence(const Progress& progress) {
  if (!instance_->memory().packing().turnovers.empty()) {
    return fail(Status::kUnsupported,
                "buffers share memory; finding the divergent operation needs separate buffers "
                "(--memory apart)");
  }
  GFXGRAPH_TRY(executor_->wait(stream_));
  instance_->session().changed();
  return bisect(*instance_, mode_, executor_options_, stream_, origins_ ? &*origins_ : nullptr,
                progress);
}

}  // namespace gfxgraph::replayer

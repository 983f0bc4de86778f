#include "recorder/recording/live_captures.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "recorder/program_memory.h"
#include "recorder/recording_error.h"

namespace gfxgraph::recorder {
namespace {

constexpr const char* kStopped =
    "gfxgraph does not follow this process any more: it is a child of fork(), or an earlier error "
    "ended it";
constexpr const char* kNotOpen = "this capture is not open: it has ended, or was abandoned";

void set_once(std::atomic<uint32_t>& gone, uint32_t id) noexcept {
  uint32_t none = 0;
  gone.compare_exchange_strong(none, id, std::memory_order_acq_rel);
}

}  // namespace

// ---- what a step works with ---------------------------------------------------------------------

live::Code LiveStep::code(uint32_t kernel) const noexcept {
  if (kernel == 0 || kernel > kernels_.size()) return {};
  const Kernel& one = kernels_[kernel - 1];
  if (one.code_object == 0 || code_gone_[one.code_object - 1].load(std::memory_order_acquire))
    return {};
  return one.code;
}

live::Place LiveStep::place(uint32_t allocation) const noexcept {
  if (allocation == 0 || allocation > memory_.size()) return {};
  const Memory* const one = memory_[allocation - 1].get();
  return one == nullptr || one->gone.load(std::memory_order_acquire) ? live::Place{} : one->place;
}

void LiveCaptures::left(const Allocation& allocation) noexcept {
  for (const std::weak_ptr<LiveStep>& one : steps_) {
    const std::shared_ptr<LiveStep> step = one.lock();
    if (!step) continue;
    for (size_t i = 0; i < step->memory_.size(); ++i) {
      LiveStep::Memory* const memory = step->memory_[i].get();
      if (memory == nullptr || memory->allocation.get() != &allocation) continue;
      memory->gone.store(true, std::memory_order_release);
      set_once(step->gone_.allocation, static_cast<uint32_t>(i + 1));
    }
  }
}

void LiveCaptures::left(const ModuleEntry& module) noexcept {
  for (const std::weak_ptr<LiveStep>& one : steps_) {
    const std::shared_ptr<LiveStep> step = one.lock();
    if (!step) continue;
    for (const LiveStep::Kernel& kernel : step->kernels_) {
      if (kernel.module != &module || kernel.code_object == 0) continue;
      step->code_gone_[kernel.code_object - 1].store(true, std::memory_order_release);
      set_once(step->gone_.code_object, kernel.code_object);
    }
  }
}

// Before the ids of the trace are forgotten.
std::shared_ptr<LiveStep> LiveCaptures::take_objects() {
  auto step = std::make_shared<LiveStep>();
  size_t codes = 0;
  for (ModuleEntry* module : code_.registry().modules()) {
    codes = std::max<size_t>(codes, module->code_id);
    for (const auto& [name, kernel] : module->kernels) {
      const format::KernelId id = kernel->kernel.id;
      if (id == 0) continue;
      if (step->kernels_.size() < id) step->kernels_.resize(id);
      step->kernels_[id - 1] = {{}, module, module->code_id};
    }
  }
  step->code_gone_ = std::vector<std::atomic<bool>>(codes);
  code_.registry().each_function(
      [&](Handle handle, bool stub, const CodeRegistry::FunctionName& function) {
        const auto kernel = function.module->kernels.find(function.name);
        if (kernel == function.module->kernels.end() || kernel->second->kernel.id == 0) return;
        live::Code& code = step->kernels_[kernel->second->kernel.id - 1].code;
        if (stub) {
          code.stub = handle;
        } else {
          code.function = const_cast<void*>(handle);
        }
      });
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (!allocation->begun || allocation->absent) continue;
    if (step->memory_.size() < allocation->id) step->memory_.resize(allocation->id);
    auto memory = std::make_unique<LiveStep::Memory>();
    memory->allocation = allocation;
    live::Place& place = memory->place;
    place.size_bytes = allocation->size_bytes;
    if (allocation->array) {
      place.array = const_cast<void*>(allocation->array_handle);
    } else {
      place.device = reinterpret_cast<void*>(allocation->address);
      place.host = reinterpret_cast<void*>(allocation->host_address);
    }
    step->memory_[allocation->id - 1] = std::move(memory);
  }
  std::erase_if(steps_, [](const std::weak_ptr<LiveStep>& one) { return one.expired(); });
  steps_.push_back(step);
  return step;
}

// ---- captures -----------------------------------------------------------------------------------

// With both locks. The recorder's errors are the caller's, and end all captures: what they left is
// in no order.
template <typename T, typename Body>
Result<T> LiveCaptures::with_locks(Body&& body) noexcept {
  GFXGRAPH_TRY(check_alive());
  try {
    Result<T> result = fail(Status::kInternal, kStopped);
    guarded_unlocked([&] {
      const std::lock_guard order(handover_.mutex());
      const std::lock_guard lock(guard_.mutex());
      if (life_.finished || !journal_.begun()) return;
      try {
        result = body();
      } catch (const RecordingError& caught) {
        result = tl::unexpected<Error>(caught.error);
        throw;
      } catch (const std::bad_alloc&) {
        result = tl::unexpected<Error>(Error{Status::kOutOfMemory, "out of memory"});
        throw;
      }
      guard_.changed();
    });
    return result;
  } catch (const std::bad_alloc&) {
    return tl::unexpected<Error>(Error{Status::kOutOfMemory, "out of memory"});
  }
}

Result<void> LiveCaptures::check_alive() const {
  if (!on()) return fail(Status::kUnsupported, "this process is being recorded");
  return guard_.active() ? Result<void>() : fail(Status::kUnsupported, kStopped);
}

void LiveCaptures::opened(const format::Environment& environment) {
  environment_ = environment;
  allocations_.tell(*this);
  code_.tell(*this);
  journal_.sites().remember();
}

Result<std::unique_ptr<format::Writer>> LiveCaptures::new_writer() {
  format::WriterOptions options;
  options.compression_level = 0;  // it stays in memory, and is read at once
  options.threads = 1;
  file_in_memory_ = {};
  return held_ ? format::Writer::create_held(options)
               : format::Writer::create_in_memory(file_in_memory_, options);
}

Result<void> LiveCaptures::check_open(uint64_t capture) const {
  if (capture != 0 && open_.number.load() == capture) return {};
  return fail(Status::kInvalidArgument, kNotOpen);
}

bool LiveCaptures::has_open() const noexcept {
  return open_.number.load(std::memory_order_acquire) != 0 &&
         open_.thread.load() == thread_number();
}

void LiveCaptures::begin_range() {
  open_.range = marks_.new_range();
  journal_.queue().filter().add(open_.range);
  events_.append(
      format::Marker{open_.name, format::MarkerKind::kRangeBegin, open_.range, open_.ordinal++});
  launches_.update_ways();  // launches stand behind it
}

void LiveCaptures::end_range() {
  if (open_.range == 0) return;
  events_.append(
      format::Marker{open_.name, format::MarkerKind::kRangeEnd, open_.range.exchange(0)});
}

Result<uint64_t> LiveCaptures::begin(const CaptureRequest& request) noexcept {
  if (has_open()) {
    return fail(Status::kInvalidArgument, "this thread has a capture open: end it first");
  }
  GFXGRAPH_TRY(check_alive());
  if (!free_.try_acquire_for(std::chrono::milliseconds(request.wait_ms))) {
    return fail(Status::kNotReady,
                "another thread has a capture open, and it did not end in time: captures of one "
                "process follow each other");
  }
  const Result<uint64_t> begun = with_locks<uint64_t>([&]() -> Result<uint64_t> {
    own_options_.contents = request.contents ? WhichContents::kTouched : WhichContents::kInPlace;
    own_options_.post = request.contents ? PostState::kFull : PostState::kNone;
    allocations_.follow_host(request.contents);
    // What was found meanwhile is about no capture.
    if (!journal_.findings().take().empty() || held_ != request.held) begin_anew(request.held);
    open_.name = cut_name(request.name.c_str());
    open_.ordinal = 0;
    sections_.enter();
    journal_.queue().filter().begin(events_.stream_id(request.stream), thread_number());
    if (request.contents) journal_.queue().filter().end();
    begin_range();
    open_.thread.store(thread_number());
    open_.number.store(++open_.last, std::memory_order_release);
    return open_.last;
  });
  if (!begun) free_.release();
  return begun;
}

Result<void> LiveCaptures::pause(uint64_t capture) noexcept {
  return with_locks<void>([&]() -> Result<void> {
    GFXGRAPH_TRY(check_open(capture));
    if (open_.range == 0) return fail(Status::kInvalidArgument, "this capture pauses already");
    end_range();
    return {};
  });
}

Result<void> LiveCaptures::resume(uint64_t capture) noexcept {
  return with_locks<void>([&]() -> Result<void> {
    GFXGRAPH_TRY(check_open(capture));
    if (open_.range != 0) return fail(Status::kInvalidArgument, "this capture does not pause");
    begin_range();
    return {};
  });
}

Result<void> LiveCaptures::mark(uint64_t capture, const char* text) noexcept {
  return with_locks<void>([&]() -> Result<void> {
    GFXGRAPH_TRY(check_open(capture));
    events_.append(format::Marker{cut_name(text), format::MarkerKind::kMark, 0});
    return {};
  });
}

Result<uint64_t> LiveCaptures::launches(uint64_t capture) noexcept {
  return with_locks<uint64_t>([&]() -> Result<uint64_t> {
    GFXGRAPH_TRY(check_open(capture));
    handover_.drain_last();
    return journal_.writer().statistics().launches;
  });
}

Result<Captured> LiveCaptures::end(uint64_t capture) noexcept {
  std::vector<Device::Bypass> bypasses;
  guarded_unlocked([&] { bypasses = device_.bypasses(); });
  Result<Captured> ended = with_locks<Captured>([&]() -> Result<Captured> {
    GFXGRAPH_TRY(check_open(capture));
    for (const Device::Bypass& bypass : bypasses)
      finding(format::FindingKind::kIncomplete, bypass.what, bypass.why);
    Captured captured;
    end_range();
    sections_.end();
    captured.step = take_objects();
    sections_.forget();
    handover_.drain_last();
    if (const std::string& missing = journal_.queue().filter().missing(); !missing.empty())
      finding(format::FindingKind::kIncomplete, "hipStreamWaitEvent", missing);
    file_.seal();
    captured.held = journal_.writer().held();
    captured.file = std::move(file_in_memory_);
    close();
    return captured;
  });
  return ended;
}

void LiveCaptures::abandon(uint64_t capture) noexcept {
  (void)with_locks<void>([&]() -> Result<void> {
    GFXGRAPH_TRY(check_open(capture));
    end_range();
    sections_.leave();
    handover_.drain_last();
    close();
    return {};
  });
}

// With both locks.
void LiveCaptures::begin_anew(bool held) {
  held_ = held;
  next_.begin(check(new_writer()), environment_, NextTrace::Earlier::kForgotten);
}

// With both locks: the trace of the capture has its end, and another one begins.
void LiveCaptures::close() {
  journal_.queue().filter().end();
  begin_anew(held_);
  open_.number.store(0, std::memory_order_release);
  free_.release();
}

}  // namespace gfxgraph::recorder

// The flight recorder: between two segments one file is sealed as the end of a recorded range is,
// and another one begins, with numbers, code objects and memory of its own. No call of the program
// is under way then.
#include <unordered_set>

#include "recorder/queue/end_signals.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kIdleTimeoutMs = 1'000;

// Of bytes that one segment holds: a later one reads them anew.
bool about_contents(std::string_view call) {
  return call == "range" || call == "host function" || call == "host memory";
}

}  // namespace

// Before a launch, or on the flusher's thread: `own` calls are the caller's. Never waits for calls,
// and not for long for the device.
bool Recorder::next_segment(uint32_t own) noexcept {
  bool done = false;
  uint64_t waited_ns = 0;
  if (segments_->gate.close(own)) {
    guarded_unlocked([&] {
      const uint64_t begin_ns = journal_.now_ns();
      {
        const std::lock_guard lock(guard_.mutex());
        if (!journal_.begun() || finished_ || graphs_.captures().any()) return;
        look_before_wait();
      }
      // Without the locks: what the device waits for may need them.
      if (!device_->synchronize(kIdleTimeoutMs) || !runs_to_come().empty()) {
        waited_ns = journal_.now_ns() - begin_ns;
        return;
      }
      const std::lock_guard order(drain_mutex_);
      const std::lock_guard lock(guard_.mutex());
      if (finished_) return;
      const bool keep = take_keep() || segments_->keeps_all();
      end_segment();
      check(segments_->files.sealed(keep));
      begin_segment();
      done = true;
    });
    segments_->gate.open();
  }
  if (done) return true;
  segments_->put_off(waited_ns);
  if (segments_->too_long()) {
    note("--flight-recorder",
         "no moment between two launches at which no other call was under way, the device became "
         "idle and nothing was captured: this file has more than " +
             segments_->text());
  }
  return false;
}

void Recorder::end_segment() {
  note_runs();
  leave_range();
  take_effects();
  note_unrecorded_processes();
  seal_trace();
}

void Recorder::begin_segment() {
  std::unique_ptr<format::Writer> next = check(new_writer());
  check(next->add(segments_->environment));
  journal_.begin(std::move(next));
  forget_trace();
  journal_.sites().repeat();
  segments_->begin();
  enter_range();
  for (auto& [range, begin] : open_ranges_) {
    traced_.insert(range);
    append(begin);
  }
  update_ways();
}

// Whatever has a number in the file that was sealed: it is described again where it is next used.
void Recorder::forget_trace() {
  const LaunchLanes::Alone alone(journal_.lanes());
  std::unordered_set<std::string_view> kernels;
  for (ModuleEntry* module : code_.modules()) {
    module->code_id = 0;
    for (auto& [name, kernel] : module->kernels) {
      kernel->kernel.id = 0;
      kernel->ambiguous_reported = 0;
      kernel->near_pointer_reported = false;
      kernel->unknown_pointer_reported = kernel->addresses_named = false;
      kernels.insert(kernel->kernel.name);
    }
  }
  code_.forget_entries();

  // What was not followed before may have changed what the program does: it stays said.
  for (const Findings::Count& found : journal_.findings().take()) {
    if (found.kind != format::FindingKind::kIncomplete || about_contents(found.call) ||
        kernels.contains(found.call)) {
      continue;
    }
    finding_now(found.kind, found.call, found.detail);
  }
  left_out_ = false;
  journal_.forget_refused();
  report_.graph_launches = 0;

  streams_.number_anew();
  waited_for_stream_.clear();
  flights_ = Flights();
  values_.lose_all();
  {
    const std::lock_guard lock(ran_mutex_);
    deferred_.clear();
    deferred_effects_.clear();
    deferred_begins_.clear();
    ended_effects_.clear();
  }
  run_ids_.clear();
  graphs_.number_anew();
  ended_.clear();
  by_id_.clear();
  next_untraced_ = UINT32_MAX;
  map_.number_anew([&](Allocation& allocation, bool live) {
    if (by_id(allocation.id) == &allocation) return;  // it has two ranges of addresses
    allocation.former_id = 0;
    allocation.id = next_untraced_--;
    if (live) by_id_[allocation.id] = &allocation;
  });
  words_then_.reset();
  next_allocation_ = 1;
  next_kernel_ = 1;
  next_code_object_ = 1;
  next_graph_ = 1;
  next_host_function_ = 1;
}

// A launch of a graph, whose kernels were looked up when its nodes were made.
void Recorder::describe_again(KernelEntry& kernel) {
  if (kernel.kernel.id != 0 || !segments_) return;
  if (!describe_module(*kernel.module, "--flight-recorder")) return;
  kernel.kernel.code_object = kernel.module->code_id;
  kernel.kernel.id = next_kernel_++;
  check(journal_.writer().add(kernel.kernel));
}

// On the flusher's thread: SIGUSR2, while the program launches nothing.
void Recorder::keep_segment() noexcept {
  if (segments_ && keep_wanted() && segments_->over()) (void)next_segment(0);
}

}  // namespace gfxgraph::recorder

#include "recorder/recorder.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "base/process/own_process.h"
#include "recorder/contract/sealing.h"
#include "recorder/no_cancel.h"
#include "recorder/objects/devices.h"
#include "recorder/queue/end_signals.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kSignalTimeoutMs = 2'000;  // Ctrl-C should not wait for a kernel
constexpr uint32_t kFlushTimeoutMs = 1'000;   // for each lock, at abort()

// For process exits that must not wait indefinitely: on timeout it does not own the lock.
template <typename M>
std::unique_lock<M> lock_within(M& mutex, uint32_t milliseconds) noexcept {
  for (const uint64_t end = monotonic_ns() + uint64_t{milliseconds} * 1'000'000u;;) {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (lock || monotonic_ns() > end) return lock;
    const timespec moment{0, 1'000'000};
    (void)nanosleep(&moment, nullptr);
  }
}

// Without initial contents, results of a replay cannot be compared.
Options consistent(Options options) {
  if (options.contents == WhichContents::kNone) options.post = PostState::kNone;
  return options;
}

std::unique_ptr<Segments> segments_of(const Options& options) {
  const Result<SegmentSize> size = parse_segment_size(options.flight_recorder);
  if (!size) return nullptr;
  return std::make_unique<Segments>(*size, options.keep_segments);
}

}  // namespace

Recorder::Recorder(Options options, std::unique_ptr<Device> device)
    : options_(consistent(std::move(options))),
      device_(std::move(device)),
      segments_(segments_of(options_)) {
  if (options_.output.empty() && !options_.in_process) (void)guard_.stop();
}

Recorder::~Recorder() { journal_.flusher().stop(); }

void Recorder::failed(const Error& error) noexcept {
  try {
    report_.error = error.message;
    if (journal_.begun()) (void)journal_.writer().flush();
  } catch (...) {
    // The error cannot be reported; the report keeps "sealed 0".
  }
  write_report_file();
}

// The runtime may load libraries when it is first asked: not under the model's lock, for which
// other threads may wait with the dynamic linker's.
void Recorder::ready() {
  if (asked_.load(std::memory_order_acquire)) [[likely]]
    return;
  const std::lock_guard lock(asking_mutex_);
  if (asked_.load(std::memory_order_relaxed) || !active()) return;
  if (options_.in_process || file_.claim()) {
    facts_ = device_->facts();
  } else {
    (void)guard_.stop();
    elsewhere_.store(true);
  }
  asked_.store(true, std::memory_order_release);
}

void Recorder::enter() {
  if (code_.any_registered()) code_.apply_registrations();
  if (!life_.begun) open();
}

void Recorder::leave() {
  contents_.note_lost_bytes();
  launches_.update_ways();
}

void Recorder::open() {
  life_.begun = true;
  const format::Environment environment = file_.environment();
  if (options_.in_process) {
    live_.opened(environment);
    journal_.begin(check(live_.new_writer()));
    std::error_code none;
    store_.place_in(std::filesystem::temp_directory_path(none));
  } else {
    journal_.begin(check(file_.new_writer()));
    report_.trace = file_.claimed().output;
    store_.place_in(std::filesystem::path(report_.trace).parent_path());
  }
  check(journal_.writer().add(environment));
  flight_.opened(environment);
  report_.device = fmt::format("{} {}", environment.gpu_arch, environment.device_name);
  code_.discover_managed_of_all();

  marks_.append_early();
  if (options_.in_process) return;  // a capture hands over what it has

  // Without it events are still handed over at synchronisations and when many have gathered.
  const bool flushes = journal_.flusher().start(
      [this] { note_bypasses(); }, [this] { return flush_round(); }, [this] { flusher_ends(); });
  if (flushes && options_.end_signals) watch_end_signals(flight_.on());
}

void Recorder::begin() noexcept {
  guarded([] {});
}

// Takes the lock itself, after the search.
void Recorder::note_bypasses() noexcept {
  guarded_unlocked([&] {
    {
      const std::lock_guard lock(guard_.mutex());
      if (life_.finished || !journal_.begun()) return;
    }
    const std::vector<Device::Bypass> found = device_->bypasses();
    const std::lock_guard lock(guard_.mutex());
    if (!life_.finished && journal_.begun()) note(found);
  });
}

void Recorder::note(const std::vector<Device::Bypass>& bypasses) {
  for (const Device::Bypass& bypass : bypasses) {
    if (!journal_.findings().has(bypass.what, bypass.why))
      finding(format::FindingKind::kIncomplete, bypass.what, bypass.why);
  }
}

// Runs on the flusher's thread, like the functions below.
bool Recorder::flush_round() noexcept {
  if (!active()) return false;
  if (pending_end_signal() != 0) end_by_signal();
  flight_.keep();
  handover_.drain();
  return active();
}

// The last check for signals: removes the handlers, then acts on a signal that arrived before.
void Recorder::flusher_ends() noexcept {
  if (!options_.end_signals) return;
  unwatch_end_signals();
  if (const int signal = pending_end_signal(); signal != 0) die_by(signal);
}

// Seals unless the program holds the recorder up: then the trace stays
// torn.
void Recorder::end_by_signal() noexcept {
  guarded_unlocked([&] {
    const std::vector<Device::Bypass> bypasses = device_->bypasses();
    const std::unique_lock order = lock_within(handover_.mutex(), kSignalTimeoutMs);
    if (!order) return;
    const std::unique_lock lock = lock_within(guard_.mutex(), kSignalTimeoutMs);
    if (!lock) return;
    life_.longest_wait_ms = kSignalTimeoutMs;
    if (!life_.finished && journal_.begun()) note(bypasses);
    end_trace();
    if (life_.finished) write_report_file();
  });
  die_by(pending_end_signal());
}

// Another thread may hold the locks and wait for a hung device: this is the longest wait for each.
void Recorder::flush() noexcept {
  guarded_unlocked([&] {
    const std::unique_lock order = lock_within(handover_.mutex(), kFlushTimeoutMs);
    if (!order) return;
    if (!handover_.drain_in_order(true,
                                  [this] { return lock_within(guard_.mutex(), kFlushTimeoutMs); }))
      return;
    if (life_.begun && journal_.begun()) (void)journal_.writer().settle();
  });
}

bool Recorder::abandon() noexcept {
  // Without the lock the other threads of the parent may have been in the middle of something.
  if (asking_mutex_.try_lock()) {
    if (guard_.mutex().try_lock()) {
      const bool untouched = !life_.begun && !asked_.load(std::memory_order_relaxed);
      guard_.mutex().unlock();
      asking_mutex_.unlock();
      if (untouched) return false;
    } else {
      asking_mutex_.unlock();
    }
  }
  elsewhere_.store(!options_.output.empty());
  (void)guard_.stop();
  file_.leave();
  if (journal_.begun()) journal_.writer().abandon();
  store_.abandon();
  host_writes_.abandon();
  // The flusher does not exist in the child, where nothing destroys or joins this object.
  return true;
}

void Recorder::count(const HeldFindings& held) noexcept {
  if (held.empty()) return;
  guarded([&] { check(journal_.findings().count(held)); });
}

void Recorder::commit(Work& work) noexcept {
  work_.commit(work);
  handover_.drain_if_full();
}

void Recorder::note_incomplete(std::string_view call, std::string_view detail) noexcept {
  guarded([&] { finding(format::FindingKind::kIncomplete, call, detail); });
}

void Recorder::note(std::string_view call, std::string_view detail) noexcept {
  guarded([&] { finding(format::FindingKind::kNote, call, detail); });
}

void Recorder::finish_contents() {
  if (graphs_.captures().any()) {
    finding(format::FindingKind::kNote, "hipStreamBeginCapture",
            "the program ended inside a capture");
  }
  if (!stretch_.recording()) return;
  host_writes_.look_before_wait();
  if (device_->synchronize(life_.longest_wait_ms)) {
    runs_.wait_for_functions();
    return sections_.end_contents("exit");
  }
  finding(
      format::FindingKind::kNote, "exit",
      "the device failed or did not become idle; the final contents of its buffers are unknown");
}

void Recorder::finish(Ends ends) noexcept {
  if (options_.in_process) {
    (void)guard_.stop();
    return;
  }
  note_bypasses();
  guarded_unlocked([&] {
    // Both until the end: other threads may go on, and what they do after the buffers' last states
    // were taken must not get into the trace.
    const std::lock_guard order(handover_.mutex());
    const std::lock_guard lock(guard_.mutex());
    end_trace(ends);
  });
  if (life_.finished) write_report_file();
}

namespace {

// Marks the time from here to its end as sealing.
class Sealing {
 public:
  Sealing(const std::string& status_folder, const std::string& key, Allocations& allocations) {
    uint64_t bytes = 0;
    for (const std::shared_ptr<Allocation>& allocation : allocations.map().all()) {
      if (allocation->begun && !allocation->kept) bytes += allocation->size_bytes;
    }
    sealing_mark().begin(status_folder, key, bytes);
  }
  ~Sealing() { sealing_mark().end(); }
  Sealing(const Sealing&) = delete;
  Sealing& operator=(const Sealing&) = delete;
};

}  // namespace

// Requires both locks.
void Recorder::end_trace(Ends ends) {
  if (life_.finished || !life_.begun || !journal_.begun()) return;
  life_.finished = true;
  const Sealing shown(options_.status_folder, file_.claimed().key, allocations_);
  if (stretch_.leaving()) sections_.leave();
  launches_.update_ways();
  finish_contents();
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (allocation->kept) traced_.end_kept(*allocation, false);
  }
  file_.note_unrecorded_processes();
  marks_.note_open_ranges();
  sections_.note_missed();
  file_.seal();
  if (!active()) return;
  report_.sealed = true;
  (void)guard_.stop();
  // The trace does not contain what this process does from now on.
  if (ends == Ends::kForGood) {
    ended_process_.store(getpid());
    ended_thread_.store(gettid());
  }
  elsewhere_.store(true);
}

void Recorder::unrecorded_work(std::string_view call) noexcept {
  // Threads that go on while this process exits, at whatever moment it ends.
  const bool at_exit = ended_process_.load() == getpid();
  if (at_exit && ended_thread_.load() != gettid()) return;
  if (pending_end_signal() != 0) return;  // the program is being terminated
  file_.mark_unrecorded(call, at_exit);
}

Report Recorder::report() {
  Report report = report_;
  report.graph_launches = work_.graph_launches();
  if (journal_.begun()) {
    const format::Statistics& statistics = journal_.writer().statistics();
    report.events = statistics.events;
    report.copies = statistics.copies;
    report.allocations = statistics.allocations;
    report.launches = statistics.launches;
    report.kernels = statistics.kernels;
    report.relocations_typed = statistics.relocations_typed;
    report.relocations_matched = statistics.relocations_matched;
    report.relocations_ambiguous = statistics.relocations_ambiguous;
  }
  report.incomplete = journal_.refused();
  journal_.findings().add_to(report);
  return report;
}

void Recorder::write_report_file() noexcept {
  const NoCancel own;
  try {
    file_.write_report(report());
  } catch (...) {
    // No memory for it: the tool then says that the recording ended without a report.
  }
}

}  // namespace gfxgraph::recorder

#include "recorder/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "base/own_process.h"
#include "recorder/model/devices.h"
#include "recorder/queue/end_signals.h"
#include "recorder/recorder_internal.h"
#include "recorder/tool/sealing.h"

namespace gfxgraph::recorder {
namespace {

constexpr uint32_t kSignalTimeoutMs = 2'000;  // Ctrl-C should not wait for a kernel
constexpr uint32_t kFlushTimeoutMs = 1'000;   // for each lock, at abort()

// For process exits that must not wait indefinitely: on timeout it does not own the lock.
std::unique_lock<std::mutex> lock_within(std::mutex& mutex, uint32_t milliseconds) noexcept {
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

Handle per_thread_stream() noexcept {
  // One for each device. Aligned: those of a later thread stand where all of an earlier one's did.
  alignas(format::kMostDevices) static thread_local std::array<bool, format::kMostDevices> known;
  bool& stream = known[current_device % format::kMostDevices];
  if (current_device != 0 && !std::exchange(stream, true)) [[unlikely]]
    DeviceStreams::created(&stream, current_device);
  return &stream;
}

Recorder::Recorder(Options options, std::unique_ptr<Device> device)
    : options_(consistent(std::move(options))),
      device_(std::move(device)),
      segments_(segments_of(options_)) {
  if (options_.output.empty()) (void)guard_.stop();
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
  claim_ = check(claim_recording(options_));
  if (claim_.mine) {
    facts_ = device_->facts();
  } else {
    (void)guard_.stop();
    elsewhere_.store(true);
  }
  asked_.store(true, std::memory_order_release);
}

void Recorder::enter() {
  if (code_.any_registered()) code_.apply_registrations();
  if (!begun_) open();
}

void Recorder::update_ways() noexcept { launches_.update_ways(journal_.begun() && !finished_); }

void Recorder::leave() {
  contents_.note_lost_bytes();
  update_ways();
}

void Recorder::open() {
  begun_ = true;
  journal_.begin(check(new_writer()));
  report_.trace = claim_.output;
  store_.place_in(std::filesystem::path(claim_.output).parent_path());

  format::Environment environment;
  environment.gfxgraph_version = GFXGRAPH_VERSION;
  environment.gpu_arch = facts_.gpu_arch.substr(0, facts_.gpu_arch.find(':'));
  environment.device_name = facts_.device_name;
  environment.emulated = options_.emulated;
  environment.hip_runtime_version = facts_.runtime_version;
  environment.hip_driver_version = facts_.driver_version;
  if (!options_.redact) environment.command_line = own_command_line();
  environment.start_unix_ns =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
  check(journal_.writer().add(environment));
  if (segments_) {
    const std::string& status = options_.status_folder;
    segments_->files = SegmentFiles(claim_.output, options_.replace,
                                    status.empty() ? "" : segment_list(status, claim_.key));
    segments_->partial = claim_.output + ".partial";
    segments_->environment = environment;
    journal_.sites().remember();
  }
  report_.device = fmt::format("{} {}", environment.gpu_arch, environment.device_name);
  code_.discover_managed_of_all();

  append_early_markers();

  // Without it events are still handed over at synchronisations and when many have gathered.
  const bool flushes = journal_.flusher().start(
      [this] { note_bypasses(); }, [this] { return flush_round(); }, [this] { flusher_ends(); });
  if (flushes && options_.end_signals) watch_end_signals(segments_ != nullptr);
}

Result<std::unique_ptr<format::Writer>> Recorder::new_writer() const {
  format::WriterOptions options;
  options.compression_level = options_.compression_level;
  return format::Writer::create(claim_.output, options);
}

void Recorder::begin() noexcept {
  guarded([] {});
}

void Recorder::drain(bool all) noexcept {
  guarded_unlocked([&] {
    const std::lock_guard order(drain_mutex_);
    drain_in_order(all, [this] { return lock_soon(guard_.mutex()); });
  });
}

// Needs the drain lock. `lock_model` gives that of the model; false: it did not, and something may
// be left.
template <typename LockModel>
bool Recorder::drain_in_order(bool all, LockModel&& lock_model) {
  for (bool again = true; again;) {
    {
      const std::unique_lock<std::mutex> lock = lock_model();
      if (!lock) return false;
      if (!journal_.begun()) return true;
      deferrals_.resolve(all);
      again = !journal_.queue().take();
    }
    again = journal_.write_taken() && again;
  }
  return true;
}

void Recorder::drain_if_full() noexcept {
  if (journal_.queue().full()) drain();
}

// Hands the finished work to the kernel's file cache, so that it survives any end of the program.
void Recorder::drain_at_wait() noexcept {
  journal_.flusher().at_wait([this] { drain(); });
}

// Takes the lock itself, after the search.
void Recorder::note_bypasses() noexcept {
  guarded_unlocked([&] {
    {
      const std::lock_guard lock(guard_.mutex());
      if (finished_ || !journal_.begun()) return;
    }
    const std::vector<Device::Bypass> found = device_->bypasses();
    const std::lock_guard lock(guard_.mutex());
    if (!finished_ && journal_.begun()) note(found);
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
  keep_segment();
  drain();
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
    const std::unique_lock order = lock_within(drain_mutex_, kSignalTimeoutMs);
    if (!order) return;
    const std::unique_lock lock = lock_within(guard_.mutex(), kSignalTimeoutMs);
    if (!lock) return;
    finish_timeout_ms_ = kSignalTimeoutMs;
    if (!finished_ && journal_.begun()) note(bypasses);
    end_trace();
    if (finished_) write_report_file();
  });
  die_by(pending_end_signal());
}

// Another thread may hold the locks and wait for a hung device: this is the longest wait for each.
void Recorder::flush() noexcept {
  guarded_unlocked([&] {
    const std::unique_lock order = lock_within(drain_mutex_, kFlushTimeoutMs);
    if (!order) return;
    if (!drain_in_order(true, [this] { return lock_within(guard_.mutex(), kFlushTimeoutMs); }))
      return;
    if (begun_ && journal_.begun()) (void)journal_.writer().settle();
  });
}

bool Recorder::abandon() noexcept {
  // Without the lock the other threads of the parent may have been in the middle of something.
  if (asking_mutex_.try_lock()) {
    if (guard_.mutex().try_lock()) {
      const bool untouched = !begun_ && !asked_.load(std::memory_order_relaxed);
      guard_.mutex().unlock();
      asking_mutex_.unlock();
      if (untouched) return false;
    } else {
      asking_mutex_.unlock();
    }
  }
  elsewhere_.store(!options_.output.empty());
  (void)guard_.stop();
  claim_.report.close();
  if (journal_.begun()) journal_.writer().abandon();
  store_.abandon();
  // The flusher does not exist in the child, where nothing destroys or joins this object.
  return true;
}

void Recorder::count(const HeldFindings& held) noexcept {
  if (held.empty()) return;
  guarded([&] { check(journal_.findings().count(held)); });
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
  if (device_->synchronize(finish_timeout_ms_)) {
    runs_.wait_for_functions();
    return end_contents("exit");
  }
  finding(
      format::FindingKind::kNote, "exit",
      "the device failed or did not become idle; the final contents of its buffers are unknown");
}

// The device is idle.
void Recorder::end_contents(const char* call) {
  const Contents::ReadingFor reading(contents_, call);
  if (!flights_.empty()) events_.append_devices_done(call);
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().host_visible()) {
    if (!allocation->begun || allocation->kept) continue;
    host_writes_.check_host_writes(*allocation, 0, allocation->size_bytes);
  }
  uint64_t ended_bytes = 0;
  // What contents lead to enters the trace, or leaves its rest between two ranges, and has an end,
  // too. So variables are kept when all contents have been read.
  std::vector<std::pair<std::shared_ptr<Allocation>, format::Content>> variables;
  std::unordered_set<const Allocation*> ended;
  for (bool more = true; std::exchange(more, false);) {
    for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
      if (!allocation->begun || allocation->kept || !ended.insert(allocation.get()).second)
        continue;
      more = true;
      format::Content post = contents_.post_content(*allocation);
      if (allocation->module != nullptr) {
        variables.emplace_back(allocation, std::move(post));
      } else {
        contents_.end_allocation(*allocation, false, 0, std::move(post));
      }
      sealing_mark().reach(ended_bytes += allocation->size_bytes);
    }
  }
  for (auto& [variable, post] : variables) {
    code_.ends_after_reset(*variable, post);
    end_or_keep(*variable, std::move(post));
  }
  for (const std::shared_ptr<Allocation>& allocation : allocations_.adopted()) {
    contents_.end_allocation(*allocation, false, 0, host_writes_.last_content(*allocation));
  }
}

// All that it is to hold has been handed over.
void Recorder::seal_trace() {
  deferrals_.resolve(true);
  journal_.write_taken();
  journal_.queue().take();
  journal_.write_taken();
  contents_.note_lost_bytes();
  check(journal_.findings().write_counts());
  if (active()) check(journal_.writer().seal());
}

void Recorder::finish(Ends ends) noexcept {
  note_bypasses();
  guarded_unlocked([&] {
    // Both until the end: other threads may go on, and what they do after the buffers' last states
    // were taken must not get into the trace.
    const std::lock_guard order(drain_mutex_);
    const std::lock_guard lock(guard_.mutex());
    end_trace(ends);
  });
  if (finished_) write_report_file();
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
  if (finished_ || !begun_ || !journal_.begun()) return;
  finished_ = true;
  const Sealing shown(options_.status_folder, claim_.key, allocations_);
  if (stretch_.leaving()) leave_range();
  update_ways();
  finish_contents();
  for (const std::shared_ptr<Allocation>& allocation : allocations_.map().all()) {
    if (allocation->kept) contents_.end_kept(*allocation, false);
  }
  note_unrecorded_processes();
  note_open_ranges();
  note_missed_ranges();
  seal_trace();
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

// Allocates little and takes no lock: in a forked child, threads that no longer exist may hold
// locks.
void Recorder::unrecorded_work(std::string_view call) noexcept {
  static constinit std::atomic<pid_t> noted{0};
  const pid_t self = getpid();
  // Threads that go on while this process exits, at whatever moment it ends.
  const bool at_exit = ended_process_.load() == self;
  if (at_exit && ended_thread_.load() != gettid()) return;
  if (options_.status_folder.empty() || noted.exchange(self) == self) return;
  if (pending_end_signal() != 0) return;  // the program is being terminated
  const NoCancel own;
  try {
    char program[64] = "";
    (void)pthread_getname_np(pthread_self(), program, sizeof(program));
    const std::string path =
        fmt::format("{}/unrecorded{}.{}", options_.status_folder, claim_.key, self);
    const std::string text =
        fmt::format("process {} ({}): {}{}", self, program, call, at_exit ? kBehindTheEnd : "");
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return;
    (void)!::write(file, text.data(), text.size());
    ::close(file);
  } catch (...) {
    // No memory for a path: nothing can be done here.
  }
}

void Recorder::note_unrecorded_processes() {
  for (const std::string& mark : unrecorded_processes(options_.status_folder, claim_.key)) {
    if (journal_.findings().has(mark)) continue;  // of an earlier segment
    finding(format::FindingKind::kIncomplete, mark,
            "the work of this process, which the program started, is not in the trace");
  }
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
  if (options_.status_folder.empty()) return;
  const NoCancel own;
  try {
    const std::string text = write_report(report());
    if (claim_.report.write_all(std::as_bytes(std::span(text)))) return;
    std::ofstream file(options_.status_folder + "/report" + claim_.key,
                       std::ios::binary | std::ios::app);
    if (file << text << std::flush) return;
    if (denied_.exchange(true)) return;
    std::ofstream(options_.denied_file, std::ios::binary | std::ios::app) << fmt::format(
        "process {}: {}; it may not write its trace, or what gfxgraph-record is to be told: did it "
        "change its user or its root before its first HIP call?\n",
        getpid(), report_.error.empty() ? options_.status_folder : report_.error);
  } catch (...) {
    // The tool then says that the recording ended without a report.
  }
}

}  // namespace gfxgraph::recorder

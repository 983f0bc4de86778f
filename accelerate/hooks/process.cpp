// The life of the process: options, the end, forks, the report.
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "accelerate/hold/report.h"
#include "accelerate/hooks/bound_keeper.h"
#include "accelerate/hooks/hooks_internal.h"

namespace gfxgraph::accelerate {

constinit std::atomic<Holder*> made_holder{nullptr};
constinit thread_local int inside = 0;

namespace {

constinit std::atomic<pid_t> own_process{0};
// Why nothing is held, if that was known before there was a holder. Written once.
constinit std::atomic<bool> stopped_early{false};
constinit char early_reason[200] = {};

std::string_view variable(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view(value);
}

enum class Wanted : uint8_t { kOff, kOn, kDebug };

Wanted read_wanted() noexcept {
  const std::string_view value = variable("GFXGRAPH");
  if (value == "0") return Wanted::kOff;
  if (value.empty() || value == "1") return Wanted::kOn;
  if (value == "debug") return Wanted::kDebug;
  tell(
      value == "validate"
          ? "GFXGRAPH=validate: not supported by gfxgraph accelerate; nothing is held; use 0, 1 or "
            "debug"
          : fmt::format("GFXGRAPH={}: not known; nothing is held; use 0, 1 or debug", value));
  return Wanted::kOff;
}
Wanted wanted_mode() noexcept {
  static const Wanted mode = read_wanted();
  return mode;
}

Options read_options() {
  Options options{
      .debug = wanted_mode() == Wanted::kDebug, .runtime_version = runtime_version(), .tell = tell};
  // For tests, and to see what a way costs: no measurement.
  const std::string_view way = variable("GFXGRAPH_ACCELERATE_WAY");
  if (way == "graph") {
    options.way = WayAsked::kGraph;
    options.shortest = 2;
  } else if (way == "calls") {
    options.way = WayAsked::kCalls;
  } else if (!way.empty() && way != "measured") {
    tell(
        fmt::format("GFXGRAPH_ACCELERATE_WAY={}: not known; ways are measured; use measured, "
                    "graph or calls",
                    way));
  }
  return options;
}

// In a child of vfork() or posix_spawn() the memory still belongs to the parent.
bool is_own_process() noexcept { return own_process.load() == getpid(); }

void write_all(int file, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void write_json(const Report& report) {
  const char* const path = std::getenv("GFXGRAPH_ACCELERATE_JSON");
  if (path == nullptr || *path == '\0') return;
  char program[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", program, sizeof(program));
  const std::string name = size > 0 ? std::string(program, static_cast<size_t>(size)) : "";
  const std::string json = report_json(report, name, getpid());
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return tell(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  write_all(file, json);
  if (::close(file) != 0)
    tell(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

void make_report(Holder& all) noexcept {
  try {
    const Report report = all.report();
    // Other programs that this one starts launch nothing.
    if (report.launches == 0 && report.stopped.empty()) return;
    write_json(report);
    if (variable("GFXGRAPH_ACCELERATE_QUIET") != "1") write_all(STDERR_FILENO, report_text(report));
  } catch (const std::bad_alloc&) {
    write_all(STDERR_FILENO, "gfxgraph accelerate: no memory for the report\n");
  }
}

// Handlers that run later may launch: these calls are made as they are, because parts of the
// runtime may have ended.
void at_exit() noexcept {
  end_process(true);
  if (Holder* const all = holder(); all != nullptr && is_own_process())
    all->stop("the process ends");
}

void before_fork() noexcept {
  if (Holder* const all = holder(); all != nullptr) all->before_fork();
}
void after_fork_in_parent() noexcept {
  if (Holder* const all = holder(); all != nullptr) all->after_fork(false);
}
void after_fork_in_child() noexcept {
  if (Holder* const all = holder(); all != nullptr) all->after_fork(true);
}

}  // namespace

bool wanted() noexcept { return wanted_mode() != Wanted::kOff; }

void tell(const std::string& line) noexcept {
  char text[600];
  const int size = std::snprintf(text, sizeof(text), "gfxgraph accelerate: %.560s\n", line.c_str());
  if (size > 0) write_all(STDERR_FILENO, {text, static_cast<size_t>(size)});
}

Code& code() noexcept {
  alignas(Code) static std::byte storage[sizeof(Code)];
  static Code* const made = new (storage) Code;
  return *made;
}

Holder* make_holder() noexcept {
  if (Holder* const made = holder(); made != nullptr) [[likely]]
    return made;
  if (!wanted()) {
    gfxgraph_accelerate_resting.store(1, std::memory_order_relaxed);
    return nullptr;
  }
  alignas(Holder) static std::byte storage[sizeof(Holder)];
  static Holder* const made = [] {
    const Inside here;
    auto* const all = new (storage) Holder(hip_device(), read_options());
    own_process.store(getpid());
    // Behind a call of the runtime: handlers run in the reverse order, and those that it has must
    // find nothing held.
    (void)std::atexit(at_exit);
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    made_holder.store(all, std::memory_order_release);
    char path[PATH_MAX];
    if (preload::find_loaded("libgfxgraph-recorder", path))
      all->stop("the recorder is loaded, and would record graphs in place of launches");
    if (!all->off() && !bound_keeper().start()) all->stop("no thread for the bound could be made");
    return all;
  }();
  if (stopped_early.load(std::memory_order_acquire) && !made->off()) made->stop(early_reason);
  return made;
}

void stop_process(const char* name, const char* why) noexcept {
  if (Holder* const all = holder(); all != nullptr) {
    if (!all->off()) all->stop(fmt::format("{}: {}", name, why));
    return;
  }
  static constinit std::atomic<bool> writing{false};
  if (writing.exchange(true)) return;
  (void)std::snprintf(early_reason, sizeof(early_reason), "%.100s: %.90s", name, why);
  stopped_early.store(true, std::memory_order_release);
}

uint64_t this_thread() noexcept {
  static std::atomic<uint64_t> next{0};
  static thread_local const uint64_t number = ++next;
  return number;
}

void end_process(bool report) noexcept {
  Holder* const all = holder();
  if (all == nullptr || !is_own_process() || inside != 0) return;
  all->before();
  static std::atomic<bool> made{false};
  if (report && !made.exchange(true)) make_report(*all);
}

}  // namespace gfxgraph::accelerate

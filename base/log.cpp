#include "base/log.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>

#include "base/cli/print.h"

namespace gfxgraph {
namespace {

LogLevel level_from_environment() noexcept {
  const char* value = std::getenv("GFXGRAPH_LOG");
  const std::string_view text = value == nullptr ? "" : value;
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "error") return LogLevel::kError;
  if (text == "off") return LogLevel::kOff;
  // Not by log(), which needs the level.
  if (!text.empty() && text != "warning")
    write_text(stderr,
               "gfxgraph: GFXGRAPH_LOG: expected debug, info, warning, error or off; using "
               "warning\n");
  return LogLevel::kWarning;
}

std::atomic<LogLevel>& current_level() noexcept {
  static std::atomic<LogLevel> level{level_from_environment()};
  return level;
}

struct Sink {
  std::mutex mutex;
  LogSink function = nullptr;
  void* context = nullptr;
};

// Never destroyed: static destructors of the host program may still write messages. Nothing here
// allocates, because a message may report that memory has run out.
Sink& sink() noexcept {
  alignas(Sink) static std::byte storage[sizeof(Sink)];
  static Sink* instance = new (storage) Sink;
  return *instance;
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

void write_to_stderr(std::string_view text) noexcept {
  // Names in the message may come from files. Ordinary text is not copied: memory may have run out.
  std::string escaped;
  if (has_controls(text)) {
    try {
      escaped = printable(Lines{text});
      text = escaped;
    } catch (const std::bad_alloc&) {
      text = "a message was dropped: out of memory";
    }
  }
  char begin[] = "gfxgraph: ";
  char end[] = "\n";
  const iovec parts[] = {{begin, sizeof(begin) - 1},
                         {const_cast<char*>(text.data()), text.size()},
                         {end, sizeof(end) - 1}};
  // One write, so that lines of several threads do not mix. There is nowhere to report a failure.
  [[maybe_unused]] const ssize_t written = ::writev(STDERR_FILENO, parts, 3);
}

}  // namespace

void set_log_sink(LogSink function, void* context) noexcept {
  const std::lock_guard lock(sink().mutex);
  sink().function = function;
  sink().context = context;
}

void set_log_level(LogLevel level) noexcept {
  current_level().store(level, std::memory_order_relaxed);
}

bool log_enabled(LogLevel level) noexcept {
  return level >= current_level().load(std::memory_order_relaxed);
}

void log_text(LogLevel level, std::string_view text) noexcept {
  const std::lock_guard lock(sink().mutex);
  if (sink().function != nullptr) {
    sink().function(level, text, sink().context);
  } else {
    write_to_stderr(text);
  }
}

}  // namespace gfxgraph

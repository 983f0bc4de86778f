// Messages for people go through one sink, so that a library inside a foreign process never takes
// over the process's stderr. Default: warnings and errors to stderr as "gfxgraph: <text>\n".
#pragma once

#include <string_view>

#include "base/cli/print.h"

namespace gfxgraph {

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kOff = 4 };

using LogSink = void (*)(LogLevel level, std::string_view text, void* context);

// Thread-safe. `context` must outlive its use; nullptr restores the default sink.
void set_log_sink(LogSink sink, void* context) noexcept;
// Default kWarning, or the environment variable GFXGRAPH_LOG (debug, info, warning, error, off).
void set_log_level(LogLevel level) noexcept;
bool log_enabled(LogLevel level) noexcept;
void log_text(LogLevel level, std::string_view text) noexcept;

// Strings go through printable(), as in print(): a line break stays only in Lines.
template <typename... Args>
void log(LogLevel level, fmt::format_string<print_detail::Checked<Args>...> format,
         const Args&... args) {
  if (log_enabled(level)) log_text(level, format_printable<Args...>(format, args...));
}

}  // namespace gfxgraph

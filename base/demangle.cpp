#include "base/demangle.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace gfxgraph {
namespace {

// Each reference to an earlier part at most doubles the text before it.
constexpr size_t kFewReferences = 10;
constexpr size_t kShortBytes = 1 << 12;
constexpr size_t kMaxReadableBytes = 1 << 16;
constexpr size_t kMaxMangledBytes = 1 << 16;
constexpr int kMaxMilliseconds = 1000;
constexpr rlim_t kMaxChildBytes = rlim_t{1} << 30;
// A file may hold many such names: after this total time, none is tried again.
constexpr std::chrono::milliseconds kMaxTogether{5000};

// Counts "S_", "S12_", "T_", "T3_". May overestimate, because identifiers that look like references
// count too.
size_t count_references(std::string_view name) {
  size_t count = 0;
  for (size_t at = 0; at + 1 < name.size(); ++at) {
    if (name[at] != 'S' && name[at] != 'T') continue;
    size_t end = at + 1;
    while (end < name.size() &&
           ((name[end] >= '0' && name[end] <= '9') || (name[end] >= 'A' && name[end] <= 'Z'))) {
      ++end;
    }
    if (end < name.size() && name[end] == '_') ++count;
  }
  return count;
}

// Pack expansions ("Dp") in each other multiply.
bool has_two_expansions(std::string_view name) {
  const size_t first = name.find("Dp");
  return first != name.npos && name.find("Dp", first + 2) != name.npos;
}

std::optional<std::string> demangle_here(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  return std::string(text.get());
}

std::atomic<std::optional<std::string> (*)(const std::string&)> elsewhere{nullptr};

[[noreturn]] void demangle_in_child(const std::string& name, int pipe, void (*lock)()) {
  const rlimit seconds{1, 1};
  const rlimit bytes{kMaxChildBytes, kMaxChildBytes};
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CPU, &seconds);
  ::setrlimit(RLIMIT_DATA, &bytes);
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (lock != nullptr) lock();
  const std::optional<std::string> text = demangle_here(name);
  if (!text || text->size() > kMaxReadableBytes) ::_exit(1);
  for (std::string_view left = *text; !left.empty();) {
    const ssize_t written = ::write(pipe, left.data(), left.size());
    if (written <= 0) ::_exit(1);
    left.remove_prefix(static_cast<size_t>(written));
  }
  ::_exit(0);
}

// The child's complete output; nothing if reading takes too long.
std::optional<std::string> read_all(int pipe) {
  std::string text;
  char buffer[4096];
  while (text.size() <= kMaxReadableBytes) {
    pollfd ready{pipe, POLLIN, 0};
    const int polled = ::poll(&ready, 1, kMaxMilliseconds);
    if (polled < 0 && errno == EINTR) continue;
    if (polled <= 0) return std::nullopt;
    const ssize_t got = ::read(pipe, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
  }
  return std::nullopt;
}

// The name itself if its brackets are not balanced.
std::string without_template_arguments(const std::string& name) {
  std::string result;
  size_t depth = 0;
  for (const char c : name) {
    if (c == '>') {
      if (depth == 0) return name;
      if (--depth == 0) result += "<...";
    }
    if (c == '<') ++depth;
    if (depth == 0) result += c;
  }
  return depth == 0 ? result : name;
}

}  // namespace

std::optional<std::string> demangle_apart(const std::string& name, void (*lock)()) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    demangle_in_child(name, pipe[1], lock);
  }
  ::close(pipe[1]);
  std::optional<std::string> text;
  if (child > 0) {
    text = read_all(pipe[0]);
    if (!text) ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) text.reset();
  }
  ::close(pipe[0]);
  return text;
}

void demangle_elsewhere(std::optional<std::string> (*other)(const std::string&)) {
  elsewhere = other;
}

std::string demangle_trusted(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > kMaxMangledBytes) return name;
  return demangle_here(name).value_or(name);
}

namespace {
std::atomic<bool> starts_process{true};
}  // namespace

void demangle_without_process() noexcept { starts_process.store(false, std::memory_order_relaxed); }

std::string demangle(const std::string& name) {
  static std::atomic<int64_t> spent_ns{0};
  if (!name.starts_with("_Z") || name.size() > kMaxMangledBytes) return name;
  if (name.size() <= kShortBytes && count_references(name) <= kFewReferences &&
      !has_two_expansions(name)) {
    std::optional<std::string> text = demangle_here(name);
    return text && text->size() <= kMaxReadableBytes ? std::move(*text) : name;
  }
  if (!starts_process.load(std::memory_order_relaxed) ||
      std::chrono::nanoseconds(spent_ns.load()) >= kMaxTogether)
    return name;
  const auto start = std::chrono::steady_clock::now();
  const auto other = elsewhere.load();
  std::optional<std::string> text = other != nullptr ? other(name) : demangle_apart(name);
  spent_ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  return std::move(text).value_or(name);
}

std::string short_function_name(std::string readable, size_t most) {
  std::string name = std::move(readable);
  if (!name.empty() && name.back() == ')') {
    int depth = 0;
    for (size_t i = name.size(); i-- > 0;) {
      depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
      if (depth != 0) continue;
      if (i != 0) name.resize(i);
      break;
    }
  }
  static constexpr std::string_view kAnonymous = "(anonymous namespace)::", kVoid = "void ";
  if (name.starts_with(kVoid)) name.erase(0, kVoid.size());
  for (size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous, at)) {
    name.erase(at, kAnonymous.size());
  }
  if (name.size() > most) name = without_template_arguments(name);
  if (name.size() > most) name = name.substr(0, most) + "...";
  return name;
}

}  // namespace gfxgraph

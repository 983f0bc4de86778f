#include "recorder/selection/segments.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>

#include "base/amount.h"
#include "recorder/queue/end_signals.h"
#include "recorder/queue/tick_clock.h"

namespace gfxgraph::recorder {
namespace {

// The program waits for the recorder at most a tenth of the time.
constexpr uint64_t kRest = 10;

}  // namespace

Result<SegmentSize> parse_segment_size(std::string_view text) {
  constexpr struct {
    std::string_view name;
    unsigned shift;
  } kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  SegmentSize size;
  if (error == std::errc() && number != 0) {
    if (rest.empty()) size.launches = number;
    for (const auto& unit : kUnits) {
      if (rest == unit.name && number <= UINT64_MAX >> unit.shift)
        size.bytes = number << unit.shift;
    }
  }
  if (size.launches != 0 || size.bytes != 0) return size;
  return fail(Status::kInvalidArgument,
              fmt::format("--flight-recorder '{}': expected a number of launches (5000) or a size "
                          "of the trace in KiB, MiB or GiB (64MiB)",
                          text));
}

std::string Segments::text() const {
  return size_.launches != 0 ? counted(size_.launches, "launch") : counted(size_.bytes, "byte");
}

bool Segments::over() noexcept {
  const uint64_t launches = launches_.load(std::memory_order_relaxed);
  const bool keep = keep_wanted();
  if (!keep && launches < look_at_.load(std::memory_order_relaxed)) return false;
  if (const uint64_t until = not_before_.load(std::memory_order_relaxed); until != 0) {
    if (monotonic_ns() < until) return false;
  }
  if (keep) return true;
  if (size_.launches != 0) {
    look_at_.store(size_.launches, std::memory_order_relaxed);
    return launches >= size_.launches;
  }
  struct stat file{};
  const bool full = launches != 0 && ::stat(partial.c_str(), &file) == 0 &&
                    static_cast<uint64_t>(file.st_size) >= size_.bytes;
  if (!full) look_at_.store(launches + kLaunchesBetweenLooks, std::memory_order_relaxed);
  return full;
}

void Segments::put_off(uint64_t waited_ns) noexcept {
  if (waited_ns != 0)
    not_before_.store(monotonic_ns() + kRest * waited_ns, std::memory_order_relaxed);
}

bool Segments::too_long() noexcept {
  if (size_.launches != 0) {
    if (launches_.load(std::memory_order_relaxed) / kTooLong < size_.launches) return false;
  } else {
    struct stat file{};
    if (::stat(partial.c_str(), &file) != 0 ||
        static_cast<uint64_t>(file.st_size) / kTooLong < size_.bytes) {
      return false;
    }
  }
  return !told_.exchange(true);
}

void Segments::begin() noexcept {
  launches_.store(0, std::memory_order_relaxed);
  look_at_.store(0, std::memory_order_relaxed);
  not_before_.store(0, std::memory_order_relaxed);
  told_.store(false, std::memory_order_relaxed);
}

}  // namespace gfxgraph::recorder

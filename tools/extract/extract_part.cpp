// Which part of a trace is meant.
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/cli/kernel_glob.h"
#include "base/cli/print.h"
#include "base/cli/suggestion.h"
#include "base/demangle.h"
#include "format/walk.h"
#include "recorder/selection/launch_selection.h"
#include "replayer/program/parameters.h"
#include "tools/extract/extract.h"

namespace gfxgraph::tools {
namespace {

std::vector<format::PlacedLaunch> launches_of(const format::Trace& trace) {
  std::vector<format::PlacedLaunch> launches;
  format::for_each_launch(trace, [&](const format::PlacedLaunch& one) { launches.push_back(one); });
  return launches;
}

}  // namespace

Result<TracePart> find_range_part(const format::Trace& trace, const std::string& range) {
  GFXGRAPH_ASSIGN_OR_RETURN(const ranges::RangeSummary found,
                            replayer::find_range_or_period(trace, range));
  TracePart part;
  part.first_event = found.first_event;
  part.end_event = std::min<uint64_t>(found.end_event + 1, trace.events().size());
  part.text = "range " + range;
  // A period ends before the event that begins the next one.
  const auto* const marker = std::get_if<format::Marker>(&trace.events()[part.first_event].action);
  if (marker == nullptr || marker->kind != format::MarkerKind::kRangeBegin)
    part.end_event = found.end_event;
  return part;
}

Result<TracePart> find_launches_part(const format::Trace& trace, const std::string& launches) {
  GFXGRAPH_ASSIGN_OR_RETURN(const recorder::LaunchInterval interval,
                            recorder::parse_launch_interval(launches));
  const std::vector<format::PlacedLaunch> all = launches_of(trace);
  if (interval.first >= all.size()) {
    return fail(Status::kInvalidArgument,
                fmt::format("launch {} does not exist: the trace has {}, counted from 0",
                            interval.first, all.size()));
  }
  const uint64_t end = std::min<uint64_t>(interval.end, all.size());
  const auto cuts = [&](uint64_t at) {
    return at > 0 && at < all.size() && all[at].event == all[at - 1].event;
  };
  for (const uint64_t at : {interval.first, end}) {
    if (!cuts(at)) continue;
    return fail(Status::kInvalidArgument,
                fmt::format("launches {} and {} belong to one graph launch (event {}), which is "
                            "extracted as a whole; choose other launches, or one of its kernels "
                            "with --kernel",
                            at - 1, at, all[at].event->sequence));
  }
  TracePart part;
  part.first_event = all[interval.first].event->sequence;
  part.end_event = all[end - 1].event->sequence + 1;
  part.text = "launches " + launches;
  return part;
}

Result<std::vector<TracePart>> find_pieces(const format::Trace& trace, uint32_t count) {
  std::vector<uint64_t> events;  // of launches; one of a graph counts once
  std::vector<uint64_t> before;  // launches before each
  uint64_t launches = 0;
  format::for_each_launch(trace, [&](const format::PlacedLaunch& one) {
    if (events.empty() || events.back() != one.event->sequence) {
      events.push_back(one.event->sequence);
      before.push_back(launches);
    }
    ++launches;
  });
  const uint64_t most = std::min<uint64_t>(events.size(), kMostPieces);
  if (count == 0 || count > most) {
    return fail(Status::kInvalidArgument,
                fmt::format("{} pieces: this trace can be cut into 1 to {}", count, most));
  }
  std::vector<TracePart> pieces;
  size_t at = 0;
  uint64_t first_event = 0;
  for (uint32_t n = 1; n <= count; ++n) {
    const size_t begin = at;
    // Each of the others gets a launch.
    const size_t last = events.size() - (count - n);
    for (++at; at < last && (n == count || before[at] < launches * n / count);) ++at;
    TracePart piece;
    piece.first_event = first_event;
    piece.end_event = n == count ? trace.events().size() : events[at];
    piece.text = fmt::format("piece {} of {}, launches {}:{}", n, count, before[begin],
                             n == count ? launches : before[at]);
    first_event = piece.end_event;
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

Result<TracePart> find_kernel_part(const format::Trace& trace, const std::string& kernel) {
  GFXGRAPH_ASSIGN_OR_RETURN(const recorder::KernelPattern pattern,
                            recorder::parse_kernel_pattern(kernel));
  const bool all = pattern.last == UINT64_MAX;
  if (!all && pattern.last != pattern.first) {
    return fail(Status::kInvalidArgument,
                format_printable("'{}' names several launches; --kernel takes one", kernel));
  }
  std::vector<bool> matches;
  for (const format::Kernel& one : trace.kernels())
    matches.push_back(matches_kernel(pattern.glob, one.name, demangle(one.name)));
  uint64_t count = 0;
  for (const format::PlacedLaunch& launch : launches_of(trace)) {
    if (!matches[launch.launch->kernel - 1] || count++ != pattern.first) continue;
    TracePart part;
    part.first_event = launch.event->sequence;
    part.end_event = launch.event->sequence + 1;
    part.node = launch.node;
    part.text = format_printable("launch {} of kernel {}", pattern.first,
                                 demangle(trace.kernels()[launch.launch->kernel - 1].name));
    return part;
  }
  constexpr size_t kMostName = 60;
  std::vector<std::string> names;
  for (const format::Kernel& one : trace.kernels()) {
    if (names.size() == kMostShown) break;
    names.push_back(short_function_name(demangle(one.name), kMostName));
  }
  return fail(Status::kNotFound,
              format_printable("'{}': {} launches of the trace match; its kernels: {} (gfxgraph "
                               "info --kernels lists them)",
                               kernel, count, shown_names(names, trace.kernels().size())));
}

}  // namespace gfxgraph::tools

#include "tools/info/range_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "base/amount.h"
#include "base/hash.h"
#include "format/stream_devices.h"

namespace gfxgraph::tools {

using namespace ranges;
namespace {

constexpr const char* kWait = "the host may not wait for work that is being captured";
constexpr const char* kBlocking = "it waits for the device, which a capture does not allow";
constexpr const char* kAllocation =
    "a capture does not allow it, and the next step may get another address";
constexpr const char* kStreamOrdered =
    "a node only where the runtime has memory nodes; the address may change";
constexpr const char* kModule = "a capture does not allow loading or unloading code";
constexpr const char* kFirst = "it may load code: run the step once before capture";
constexpr const char* kNull = "the null stream cannot be captured, and it waits for other streams";
constexpr const char* kPageable =
    "a graph uses these host addresses at every launch; outside of one the host waits for it";
constexpr const char* kCallback = "a capture does not support it; use hipLaunchHostFunc";
constexpr const char* kHostFunction = "the device waits for the host at every launch of the graph";
constexpr const char* kHostWrite = "it is not in the graph: write before each launch";
constexpr const char* kArgument = "a graph keeps the arguments of its capture: set them anew";
constexpr const char* kShape = "a graph keeps the grids of its capture: set them anew";
constexpr const char* kCopy =
    "a graph keeps places, sizes and values of its capture: set them anew";
constexpr const char* kWork = "one captured graph cannot do the work of all iterations";

// Names of calls come from the file.
constexpr size_t kMostCalls = 64;
constexpr size_t kMostNames = 4;
constexpr size_t kMostNameBytes = 60;

using Stretches = std::vector<std::pair<uint64_t, uint64_t>>;  // of events, in order, apart

// One kind of event that the lint found, and the events of this kind.
struct Finding {
  LintLine line;
  std::vector<uint64_t> events;  // rising
};

// The call site: of the allocation for memory, otherwise of the event.
format::SiteId site_of(const format::Trace& trace, uint64_t event) {
  if (event >= trace.events().size()) return 0;
  const format::Event& found = trace.events()[event];
  const auto* begin = std::get_if<format::AllocationBegin>(&found.action);
  return begin != nullptr && begin->site != 0 ? begin->site : found.site;
}

// Counts calls by where they stand in the program.
class SiteCounts {
 public:
  explicit SiteCounts(const format::Trace& trace) : trace_(trace) {}
  void add(uint64_t event) {
    if (const format::SiteId site = site_of(trace_, event); site != 0) ++counts_[site];
  }
  std::vector<LintSite> sites() const {
    std::vector<LintSite> all;
    for (const auto& [site, count] : counts_) all.push_back({site, count});
    std::ranges::stable_sort(all, std::greater{}, &LintSite::count);
    return all;
  }

 private:
  const format::Trace& trace_;
  std::map<format::SiteId, uint64_t> counts_;
};

class Linter {
 public:
  Linter(const format::Trace& trace, const std::vector<RangeSummary>& ranges)
      : trace_(trace), ranges_(ranges), devices_(trace.devices()) {}

  void collect() {
    look_at_allocations();
    for (const format::Event& event : trace_.events())
      if (const auto* made = std::get_if<format::StreamCreate>(&event.action)) devices_.add(*made);
    for (const format::Event& event : trace_.events()) {
      event_ = event.sequence;
      std::visit([&](const auto& action) { look_at(action); }, event.action);
    }
  }

  LintReport report(LintReport::Kind kind, std::string name, const Stretches& stretches) const {
    LintReport report;
    report.kind = kind;
    report.name = std::move(name);
    report.launches = count(launches_, stretches).first;
    for (const auto& [key, finding] : findings_) {
      const auto [events, first] = count(finding.events, stretches);
      if (events == 0) continue;
      report.lines.push_back(finding.line);
      report.lines.back().count = events;
      report.lines.back().first_event = first;
      SiteCounts sites(trace_);
      for (const auto& [begin, end] : stretches) {
        for (auto at = std::ranges::lower_bound(finding.events, begin);
             at != finding.events.end() && *at < end; ++at) {
          sites.add(*at);
        }
      }
      report.lines.back().sites = sites.sites();
    }
    return report;
  }

 private:
  // With the first one.
  static std::pair<uint64_t, uint64_t> count(const std::vector<uint64_t>& events,
                                             const Stretches& stretches) {
    uint64_t sum = 0, first = 0;
    for (const auto& [begin, end] : stretches) {
      const auto from = std::ranges::lower_bound(events, begin);
      const auto to = std::lower_bound(from, events.end(), end);
      if (from == to) continue;
      if (sum == 0) first = *from;
      sum += static_cast<uint64_t>(to - from);
    }
    return {sum, first};
  }

  void look_at_allocations() {
    std::unordered_set<format::RangeId, SeededHash> open;
    ranges_only_ = !ranges_.empty();
    for (const format::Event& event : trace_.events()) {
      if (const auto* marker = std::get_if<format::Marker>(&event.action)) {
        if (marker->kind == format::MarkerKind::kRangeBegin) open.insert(marker->range);
        if (marker->kind == format::MarkerKind::kRangeEnd) open.erase(marker->range);
      } else if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
        kinds_[begin->id] = begin->kind;
        ranges_only_ = ranges_only_ && !open.empty();
      } else if (const auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
        if (end->freed) freed_.insert(end->id);
      }
    }
  }

  void add(Severity severity, const char* category, std::string_view what, const char* why) {
    const Key key{severity, category, what};
    auto found = findings_.find(key);
    if (found == findings_.end()) {
      if (findings_.size() >= kMostCalls) what = "other calls";
      found = findings_.try_emplace({severity, category, std::string(what)}).first;
      found->second.line = {severity, category, std::string(what), 0, 0, why};
    }
    found->second.events.push_back(event_);
  }

  void on_stream(format::StreamId stream) {
    if (!devices_.is_null(stream)) return;
    add(Severity::kBreaksCapture, "null_stream", "work on the null stream", kNull);
  }

  void look_at(const format::Launch& launch) {
    launches_.push_back(event_);
    if (!ranges_only_ && launched_.insert(launch.kernel).second) {
      add(Severity::kSlows, "first_launch", "first launch of a kernel", kFirst);
    }
    on_stream(launch.stream);
  }
  void look_at(const format::GraphLaunch& launch) {
    launches_.push_back(event_);
    on_stream(launch.stream);
  }
  void look_at(const format::Copy& copy) {
    const bool from = copy.source.allocation == 0 && !copy.source_is_pinned;
    const bool to = copy.destination.allocation == 0;
    if (copy.asynchronous) {
      on_stream(copy.stream);
    } else if (devices_.is_null(copy.stream) || (!from && !to)) {
      add(Severity::kBreaksCapture, "blocking_copy", "blocking copy", kBlocking);
    }
    // Else an asynchronous copy, as a rule, which waits because its memory is pageable; in a
    // capture it does not.
    if (from) {
      add(Severity::kSpoilsReuse, "pageable_copy", "copy from pageable host memory", kPageable);
    }
    if (to) add(Severity::kSpoilsReuse, "pageable_copy", "copy to pageable host memory", kPageable);
  }
  void look_at(const format::Memset& set) {
    if (set.asynchronous) return on_stream(set.stream);
    add(Severity::kBreaksCapture, "blocking_copy", "blocking memset", kBlocking);
  }
  void look_at(const format::HostFunction& function) {
    on_stream(function.stream);
    if (function.call.starts_with("hipStreamAddCallback")) {
      return add(Severity::kBreaksCapture, "host_function", function.call, kCallback);
    }
    add(Severity::kSlows, "host_function", function.call, kHostFunction);
  }
  void look_at(const format::Synchronize& wait) {
    // The program did not ask for it.
    if (wait.kind == format::SynchronizeKind::kHostFunction) return;
    add(Severity::kBreaksCapture, "synchronization",
        wait.call.empty() ? std::string_view("wait of the host") : std::string_view(wait.call),
        kWait);
  }
  void look_at(const format::AllocationBegin& begin) {
    if (ranges_only_ && !freed_.contains(begin.id)) return;
    look_at_memory(begin.kind, true);
  }
  void look_at(const format::AllocationEnd& end) {
    if (end.freed) look_at_memory(kinds_[end.id], false);
  }
  void look_at_memory(format::AllocationKind kind, bool begins) {
    using Kind = format::AllocationKind;
    if (kind == Kind::kModuleGlobal) {
      if (ranges_only_) return;
      return add(Severity::kBreaksCapture, "module_load",
                 begins ? "variable of a module that is loaded or first used"
                        : "variable of a module that is unloaded",
                 kModule);
    }
    const char* const category = begins ? "allocation" : "free";
    if (kind == Kind::kStreamOrdered) {
      return add(Severity::kSpoilsReuse, category,
                 begins ? "stream-ordered allocation" : "stream-ordered free", kStreamOrdered);
    }
    const bool registered = kind == Kind::kHostRegistered;
    const bool host = kind == Kind::kHostPinned;
    const char* what = begins ? "allocation of device memory" : "free of device memory";
    if (host) what = begins ? "allocation of pinned memory" : "free of pinned memory";
    if (registered) what = begins ? "registration of host memory" : "end of a registration";
    add(Severity::kBreaksCapture, category, what, kAllocation);
  }
  void look_at(const format::HostWrite&) {
    add(Severity::kSpoilsReuse, "host_write", "host write to memory of the device", kHostWrite);
  }
  template <typename Other>
  void look_at(const Other&) {}

  using Key = std::tuple<Severity, std::string_view, std::string_view>;
  using OwnKey = std::tuple<Severity, std::string, std::string>;
  struct Less {
    using is_transparent = void;
    bool operator()(const auto& one, const auto& other) const { return one < other; }
  };

  const format::Trace& trace_;
  const std::vector<RangeSummary>& ranges_;
  format::StreamDevices devices_;
  uint64_t event_ = 0;
  bool ranges_only_ = false;
  std::unordered_map<format::AllocationId, format::AllocationKind, SeededHash> kinds_;
  std::unordered_set<format::AllocationId, SeededHash> freed_;
  std::unordered_set<format::KernelId, SeededHash> launched_;
  std::vector<uint64_t> launches_;
  std::map<OwnKey, Finding, Less> findings_;
};

// The first names of what changes, and how.
class Changes {
 public:
  Changes(const format::Trace& trace, const char* category, const char* title, const char* why)
      : trace_(trace), sites_(trace), category_(category), title_(title), why_(why) {}

  void add(const Parameter& parameter, const Place& place) {
    first_event_ = places_ == 0 ? place.event : std::min(first_event_, place.event);
    ++places_;
    sites_.add(place.event);
    if (parameter_ == &parameter) return;
    parameter_ = &parameter;
    ++parameters_;
    if (parameters_ > kMostNames) return;
    // A parameter may have its name from a place of another category.
    const std::string name = place.argument != kNone ? parameter.name : place_text(trace_, place);
    text_ += fmt::format(
        "{}{}{} ({})", text_.empty() ? "" : ", ", std::string_view(name).substr(0, kMostNameBytes),
        name.size() > kMostNameBytes ? "..." : "", pattern_name(parameter.match.pattern));
  }

  void finish(LintReport& report) const {
    if (places_ == 0) return;
    std::string what = fmt::format("{}: {}", title_, text_);
    if (parameters_ > kMostNames) what += fmt::format(" and {} more", parameters_ - kMostNames);
    report.lines.push_back({Severity::kSpoilsReuse, category_, std::move(what), places_,
                            first_event_, why_, sites_.sites()});
  }

 private:
  const format::Trace& trace_;
  SiteCounts sites_;
  const char* category_;
  const char* title_;
  const char* why_;
  const Parameter* parameter_ = nullptr;
  uint64_t places_ = 0, parameters_ = 0, first_event_ = 0;
  std::string text_;
};

// Summary of all comparisons with one name: ranges of that name, or a period (shape 0).
void add_changes(const format::Trace& trace, LintReport& report,
                 const std::vector<const RangeComparison*>& comparisons) {
  Changes arguments(trace, "changing_argument", "arguments that change", kArgument);
  Changes shapes(trace, "changing_shape", "grids, blocks or LDS that change", kShape);
  Changes copies(trace, "changing_copy", "copies or memsets that change", kCopy);
  for (const RangeComparison* comparison : comparisons) {
    report.compared = report.compared || comparison->not_compared.empty();
    for (const Parameter& parameter : comparison->parameters) {
      for (const Place& place : parameter.places) {
        Changes& changes = place.kernel == 0                    ? copies
                           : place.kind == PlaceKind::kArgument ? arguments
                                                                : shapes;
        changes.add(parameter, place);
      }
    }
  }
  for (const Changes* changes : {&arguments, &shapes, &copies}) changes->finish(report);
}

void add_other_work(LintReport& report, const std::vector<const RangeSummary*>& ranges) {
  std::set<uint32_t> shapes;
  const RangeSummary* first = nullptr;
  const RangeSummary* other = nullptr;
  uint64_t least = UINT64_MAX, most = 0;
  for (const RangeSummary* range : ranges) {
    if (!range->ended) continue;
    if (first == nullptr) first = range;
    if (other == nullptr && range->shape != first->shape) other = range;
    shapes.insert(range->shape);
    least = std::min(least, range->launches);
    most = std::max(most, range->launches);
  }
  if (other == nullptr) return;
  const std::string launches = least == most ? counted(least, "launch") + " each"
                                             : fmt::format("{} to {} launches", least, most);
  report.lines.push_back({Severity::kSpoilsReuse, "changing_work",
                          fmt::format("iterations of different work, {}", launches), shapes.size(),
                          other->first_event, kWork});
}

void sort_lines(LintReport& report) {
  std::ranges::stable_sort(report.lines, {}, &LintLine::severity);
}

}  // namespace

std::vector<LintReport> lint_steps(const format::Trace& trace,
                                   const std::vector<RangeSummary>& ranges,
                                   const std::vector<Period>& periods,
                                   const std::vector<RangeComparison>& comparisons) {
  Linter linter(trace, ranges);
  linter.collect();
  std::vector<LintReport> reports;
  std::map<std::pair<bool, std::string_view>, std::vector<const RangeComparison*>> compared;
  for (const RangeComparison& comparison : comparisons) {
    compared[{comparison.shape == 0, comparison.name}].push_back(&comparison);
  }
  std::vector<std::vector<const RangeSummary*>> names;
  std::unordered_map<std::string_view, size_t> index;
  for (const RangeSummary& range : ranges) {
    const auto [found, added] = index.try_emplace(range.name, names.size());
    if (added) names.emplace_back();
    names[found->second].push_back(&range);
  }
  for (const auto& named : names) {
    Stretches stretches;  // ranges that overlap are one
    for (const RangeSummary* range : named) {
      if (!stretches.empty() && range->first_event < stretches.back().second) {
        stretches.back().second = std::max(stretches.back().second, range->end_event);
      } else {
        stretches.emplace_back(range->first_event, range->end_event);
      }
    }
    LintReport& report =
        reports.emplace_back(linter.report(LintReport::Kind::kRange, named[0]->name, stretches));
    report.iterations = named.size();
    add_changes(trace, report, compared[{false, named[0]->name}]);
    add_other_work(report, named);
    sort_lines(report);
  }
  if (!ranges.empty()) return reports;
  const std::vector<IterationGroup> groups = group_periods(periods);
  for (const IterationGroup& group : groups) {
    const Stretches stretch = {
        {group.iterations.front().first_event, group.iterations.back().end_event}};
    LintReport& report =
        reports.emplace_back(linter.report(LintReport::Kind::kPeriod, group.name, stretch));
    report.iterations = group.iterations.size();
    add_changes(trace, report, compared[{true, group.name}]);
    sort_lines(report);
  }
  LintReport& report = reports.emplace_back(
      linter.report(LintReport::Kind::kTrace, "", {{0, trace.events().size()}}));
  report.iterations = 1;
  sort_lines(report);
  return reports;
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kBreaksCapture: return "breaks capture";
    case Severity::kSpoilsReuse: return "spoils reuse";
    case Severity::kSlows: return "slows";
  }
  return "unknown";
}

}  // namespace gfxgraph::tools

#include "tools/export/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/names.h"
#include "format/stream_devices.h"
#include "tools/trace/argument_json.h"
#include "tools/trace/event_json.h"
#include "tools/trace/trace_summary.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kThreads = 1;
constexpr int kStreams = 2;

class Timeline {
 public:
  using Visit = std::function<void(const Json&)>;
  Timeline(const format::Trace& trace, const Visit& visit) : trace_(trace), visit_(visit) {}

  void write() {
    name_tracks();
    find_widths();
    for (const format::Event& event : trace_.events()) {
      event_ = &event;
      const std::string name = title();
      Json arguments = events_.event(event);
      arguments.erase("relocations");  // with the names of buffers nobody reads them here
      if (const auto* launch = std::get_if<format::Launch>(&event.action)) {
        arguments.erase("kernarg");
        arguments["arguments"] = launch_arguments_json(trace_, *launch);
      }
      if (!std::holds_alternative<format::Marker>(event.action))
        show(kThreads, event.thread, name, arguments);
      if (const std::optional<format::StreamId> stream = work_of())
        show(kStreams, *stream, name, arguments);
      order();
      marker();
      memory();
    }
    for (const auto& [range, name] : open_) range_edge("e", range, name);
  }

 private:
  double microseconds() const { return static_cast<double>(event_->time_ns) / 1000; }

  void name(int process, uint32_t track, const std::string& text) {
    visit_({{"ph", "M"},
            {"name", "thread_name"},
            {"pid", process},
            {"tid", track},
            {"args", {{"name", text}}}});
  }
  void name_tracks() {
    std::set<uint32_t> threads;
    std::set<format::StreamId> streams;
    for (const format::Event& event : trace_.events()) {
      event_ = &event;
      threads.insert(event.thread);
      if (const auto stream = work_of()) streams.insert(*stream);
    }
    const char* const names[] = {"threads of the program", "streams"};
    for (const int process : {kThreads, kStreams}) {
      visit_({{"ph", "M"},
              {"name", "process_name"},
              {"pid", process},
              {"args", {{"name", names[process - 1]}}}});
    }
    for (const uint32_t thread : threads) name(kThreads, thread, fmt::format("thread {}", thread));
    format::StreamDevices devices(trace_.devices());
    for (const format::Event& event : trace_.events())
      if (const auto* made = std::get_if<format::StreamCreate>(&event.action)) devices.add(*made);
    for (const format::StreamId stream : streams) {
      std::string text = devices.is_null(stream) ? "null stream" : fmt::format("stream {}", stream);
      if (const auto device = devices.device(stream); device != 0)
        text += fmt::format(" of device {}", device);
      name(kStreams, stream, text);
    }
  }

  // The trace holds when calls returned, not how long they took or work ran: work that takes time
  // lasts until the next event of its thread, and in its stream at most until the next work there.
  void find_widths() {
    widths_.resize(trace_.events().size());
    std::unordered_map<uint32_t, uint64_t> threads;
    std::unordered_map<format::StreamId, uint64_t> streams;
    for (size_t i = trace_.events().size(); i-- > 0;) {
      event_ = &trace_.events()[i];
      const uint64_t now = event_->time_ns;
      const auto until = [&](auto& next, auto track) {
        const auto [found, last] = next.try_emplace(track, now);
        const uint64_t width = last || found->second < now ? 0 : found->second - now;
        found->second = now;
        return width;
      };
      widths_[i].thread_ns = until(threads, event_->thread);
      widths_[i].stream_ns = widths_[i].thread_ns;
      if (const auto stream = work_of())
        widths_[i].stream_ns = std::min(widths_[i].thread_ns, until(streams, *stream));
    }
  }

  void show(int process, uint32_t track, const std::string& text, const Json& arguments) {
    const auto index = static_cast<size_t>(event_ - trace_.events().data());
    if (std::holds_alternative<format::Launch>(event_->action) ||
        std::holds_alternative<format::GraphLaunch>(event_->action) ||
        std::holds_alternative<format::Copy>(event_->action) ||
        std::holds_alternative<format::Memset>(event_->action)) {
      return slice(process, track, text, arguments,
                   process == kThreads ? widths_[index].thread_ns : widths_[index].stream_ns);
    }
    instant(process, track, text, arguments);
  }

  void slice(int process, uint32_t track, const std::string& text, Json arguments, uint64_t width) {
    arguments["width"] =
        process == kThreads
            ? "until the thread's next event, not the time of the call"
            : "until the next event of its thread or stream, not the time of the work";
    visit_({{"ph", "X"},
            {"name", text},
            {"cat", name_of(event_->action).key},
            {"ts", microseconds()},
            {"dur", static_cast<double>(width) / 1000},
            {"pid", process},
            {"tid", track},
            {"args", std::move(arguments)}});
  }

  void instant(int process, uint32_t track, const std::string& text, const Json& arguments) {
    visit_({{"ph", "i"},
            {"s", "t"},
            {"name", text},
            {"cat", name_of(event_->action).key},
            {"ts", microseconds()},
            {"pid", process},
            {"tid", track},
            {"args", arguments}});
  }

  std::string title() {
    if (const auto* launch = std::get_if<format::Launch>(&event_->action))
      return events_.kernel_name(launch->kernel);
    if (const auto* graph = std::get_if<format::GraphLaunch>(&event_->action))
      return fmt::format("graph {}", graph->graph);
    return name_of(event_->action).key;
  }

  // The stream that was given the event's work.
  std::optional<format::StreamId> work_of() const {
    return std::visit(
        []<typename T>(const T& one) -> std::optional<format::StreamId> {
          if constexpr (std::is_same_v<T, format::Launch> || std::is_same_v<T, format::Copy> ||
                        std::is_same_v<T, format::Memset> ||
                        std::is_same_v<T, format::HostFunction> ||
                        std::is_same_v<T, format::GraphLaunch> ||
                        std::is_same_v<T, format::EventRecord> ||
                        std::is_same_v<T, format::StreamWait>) {
            return one.stream;
          } else {
            return std::nullopt;
          }
        },
        event_->action);
  }

  void arrow(const char* phase, uint64_t number, format::StreamId stream) {
    Json json = {{"ph", phase},          {"name", "HIP event"}, {"cat", "order"}, {"id", number},
                 {"ts", microseconds()}, {"pid", kStreams},     {"tid", stream}};
    if (*phase == 'f') json["bp"] = "e";
    visit_(json);
  }
  // One arrow for each wait: a record may have several.
  void order() {
    if (const auto* record = std::get_if<format::EventRecord>(&event_->action)) {
      recorded_[record->event] = {record->stream, microseconds()};
    } else if (const auto* wait = std::get_if<format::StreamWait>(&event_->action)) {
      const auto from = recorded_.find(wait->event);
      if (from == recorded_.end()) return;
      const uint64_t number = ++arrows_;
      visit_({{"ph", "s"},
              {"name", "HIP event"},
              {"cat", "order"},
              {"id", number},
              {"ts", from->second.second},
              {"pid", kStreams},
              {"tid", from->second.first}});
      arrow("f", number, wait->stream);
    }
  }

  void range_edge(const char* phase, format::RangeId range, const std::string& text) {
    visit_({{"ph", phase},
            {"name", text},
            {"cat", "range"},
            {"id", range},
            {"ts", microseconds()},
            {"pid", kThreads},
            {"tid", event_->thread}});
  }
  void marker() {
    const auto* marker = std::get_if<format::Marker>(&event_->action);
    if (marker == nullptr) return;
    switch (marker->kind) {
      case format::MarkerKind::kRangeBegin:
        open_[marker->range] = fmt::format("{}#{}", marker->text, marker->ordinal);
        return range_edge("b", marker->range, open_[marker->range]);
      case format::MarkerKind::kRangeEnd: {
        const auto open = open_.find(marker->range);
        if (open == open_.end()) return;
        range_edge("e", marker->range, open->second);
        open_.erase(open);
        return;
      }
      case format::MarkerKind::kMark:
        return instant(kThreads, event_->thread, marker->text, Json::object());
      case format::MarkerKind::kName: return;
    }
  }

  void memory() {
    if (const auto* begin = std::get_if<format::AllocationBegin>(&event_->action)) {
      live_[begin->id] = {begin->kind, begin->size_bytes};
      bytes_[begin->kind] += begin->size_bytes;
    } else if (const auto* end = std::get_if<format::AllocationEnd>(&event_->action)) {
      const auto live = live_.find(end->id);
      if (live == live_.end()) return;
      bytes_[live->second.first] -= live->second.second;
      live_.erase(live);
    } else {
      return;
    }
    Json kinds = Json::object();
    for (const auto& [kind, bytes] : bytes_) kinds[name_of(kind).key] = bytes;
    visit_({{"ph", "C"},
            {"name", "live bytes"},
            {"ts", microseconds()},
            {"pid", kThreads},
            {"args", std::move(kinds)}});
  }

  const format::Trace& trace_;
  const Visit& visit_;
  const format::Event* event_ = nullptr;
  EventJson events_{trace_};
  struct Width {
    uint64_t thread_ns = 0;
    uint64_t stream_ns = 0;
  };
  std::vector<Width> widths_;  // of each event
  std::unordered_map<format::EventId, std::pair<format::StreamId, double>> recorded_;
  uint64_t arrows_ = 0;
  std::map<format::RangeId, std::string> open_;
  std::unordered_map<format::AllocationId, std::pair<format::AllocationKind, uint64_t>> live_;
  std::map<format::AllocationKind, uint64_t> bytes_;
};

}  // namespace

void for_each_timeline_event(const format::Trace& trace,
                             const std::function<void(const nlohmann::ordered_json&)>& visit) {
  Timeline(trace, visit).write();
}

}  // namespace gfxgraph::tools

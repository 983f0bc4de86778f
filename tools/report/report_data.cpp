#include "tools/report/report_data.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/amount.h"
#include "tools/info/lint_report.h"
#include "tools/info/ranges_report.h"
#include "tools/trace/call_places.h"
#include "tools/trace/event_json.h"
#include "tools/trace/trace_buffers.h"
#include "tools/trace/trace_tables.h"
#include "tools/trace/work_text.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;

// Texts that many entries share, each stored once.
class Texts {
 public:
  size_t index(const std::string& text) {
    const auto [place, added] = indexes_.try_emplace(text, list_.size());
    if (added) list_.push_back(text);
    return place->second;
  }
  Json json() const { return list_; }

 private:
  std::unordered_map<std::string, size_t> indexes_;
  std::vector<std::string> list_;
};

// Order of the page's colours.
enum class WorkKind : uint8_t { kLaunch, kCopy, kMemset, kHostFunction, kGraph, kRecord, kWait };

// The timeline: one array per field, an element per entry.
class TimelineData {
 public:
  explicit TimelineData(const format::Trace& trace) : trace_(trace) {
    // Larger programs are slow to read for a few source lines.
    constexpr uint64_t kMostFileBytes = UINT64_C(256) << 20;
    places_ = std::make_unique<CallPlaces>(trace, kMostFileBytes);
  }

  Json json(size_t most) {
    for (const format::Event& event : trace_.events()) {
      std::visit([&](const auto& action) { visit(event, action, most); }, event.action);
    }
    return {{"total", total_}, {"event", event_},    {"time_us", time_},      {"stream", stream_},
            {"kind", kind_},   {"text", text_},      {"detail", detail_},     {"thread", thread_},
            {"site", site_},   {"waits_for", from_}, {"texts", texts_.json()}};
  }

 private:
  template <typename T>
  void visit(const format::Event& event, const T& action, size_t most) {
    if constexpr (std::is_same_v<T, format::Launch>) {
      std::string more =
          fmt::format("block {}x{}x{}", action.block[0], action.block[1], action.block[2]);
      if (action.dynamic_lds_bytes != 0)
        more += fmt::format(", {} bytes of dynamic LDS", action.dynamic_lds_bytes);
      if (action.cooperative) more += ", cooperative";
      add(event, action.stream, WorkKind::kLaunch, work_text(names_, action), more, most);
    } else if constexpr (std::is_same_v<T, format::Copy>) {
      add(event, action.stream, WorkKind::kCopy, work_text(names_, action),
          action.asynchronous ? "asynchronous" : "", most);
    } else if constexpr (std::is_same_v<T, format::Memset>) {
      add(event, action.stream, WorkKind::kMemset, work_text(names_, action),
          action.asynchronous ? "asynchronous" : "", most);
    } else if constexpr (std::is_same_v<T, format::HostFunction>) {
      add(event, action.stream, WorkKind::kHostFunction, work_text(names_, action), "", most);
    } else if constexpr (std::is_same_v<T, format::GraphLaunch>) {
      add(event, action.stream, WorkKind::kGraph, fmt::format("graph {}", action.graph),
          counted(trace_.graphs()[action.graph - 1].nodes.size(), "node"), most);
    } else if constexpr (std::is_same_v<T, format::EventRecord>) {
      recorded_[action.event] = total_;
      add(event, action.stream, WorkKind::kRecord, fmt::format("record event {}", action.event), "",
          most);
    } else if constexpr (std::is_same_v<T, format::StreamWait>) {
      const auto from = recorded_.find(action.event);
      add(event, action.stream, WorkKind::kWait, fmt::format("wait for event {}", action.event), "",
          most, from == recorded_.end() ? -1 : static_cast<int64_t>(from->second));
    }
  }

  void add(const format::Event& event, format::StreamId stream, WorkKind kind,
           const std::string& text, const std::string& detail, size_t most, int64_t from = -1) {
    if (total_++ >= most) return;
    event_.push_back(event.sequence);
    time_.push_back(static_cast<double>(event.time_ns) / 1000);
    stream_.push_back(stream);
    kind_.push_back(static_cast<int>(kind));
    text_.push_back(texts_.index(text));
    detail_.push_back(texts_.index(detail));
    thread_.push_back(event.thread);
    site_.push_back(texts_.index(event.site == 0 ? "" : places_->text(event.site)));
    from_.push_back(from);
  }

  const format::Trace& trace_;
  EventJson names_{trace_};
  std::unique_ptr<CallPlaces> places_;
  Texts texts_;
  std::unordered_map<format::EventId, size_t> recorded_;
  size_t total_ = 0;
  std::vector<uint64_t> event_;
  std::vector<double> time_;
  std::vector<uint64_t> stream_;
  std::vector<int> kind_;
  std::vector<size_t> text_, detail_, site_;
  std::vector<uint32_t> thread_;
  std::vector<int64_t> from_;
};

Json trace_json(const format::Trace& trace) {
  const format::Environment& environment = trace.environment();
  std::string command;
  for (const std::string& word : environment.command_line)
    command += (command.empty() ? "" : " ") + word;
  return {{"gfxgraph_version", environment.gfxgraph_version},
          {"gpu_arch", environment.gpu_arch},
          {"device_name", environment.device_name},
          {"emulated", environment.emulated},
          {"hip_runtime_version", environment.hip_runtime_version},
          {"command_line", command},
          {"start_unix_ns", environment.start_unix_ns},
          {"events", trace.events().size()},
          {"sealed", trace.sealed()},
          {"complete", trace.sealed() && trace.complete()},
          {"torn_reason", trace.torn_reason()}};
}

Json ranges_json(const std::vector<ranges::RangeSummary>& all, size_t most) {
  Json list = Json::array();
  for (const ranges::RangeSummary& range : all) {
    if (list.size() == most) break;
    list.push_back({{"name", range.name},
                    {"ordinal", range.ordinal},
                    {"first_event", range.first_event},
                    {"end_event", range.end_event},
                    {"ended", range.ended},
                    {"span_ns", range.span_ns},
                    {"launches", range.launches}});
  }
  return {{"total", all.size()}, {"list", std::move(list)}};
}

Json graphs_json(const format::Trace& trace, size_t most) {
  EventJson names(trace);
  Json list = Json::array();
  size_t nodes = 0;
  for (const format::Graph& graph : trace.graphs()) {
    if (nodes + graph.nodes.size() > most) continue;
    nodes += graph.nodes.size();
    Json texts = Json::array();
    for (const format::GraphNode& node : graph.nodes)
      texts.push_back({{"text", node_text(names, node)}, {"after", node.dependencies}});
    list.push_back({{"graph", graph.id}, {"nodes", std::move(texts)}});
  }
  return {{"total", trace.graphs().size()}, {"list", std::move(list)}};
}

}  // namespace

Json report_data(const format::Trace& trace, const ReportLimits& limits) {
  Json data = {{"schema", "gfxgraph-report/1"}, {"trace", trace_json(trace)}};
  data["kernels"] = trace_table_json(trace, TableKind::kKernels, trace.kernels().size());
  data["work"] = TimelineData(trace).json(limits.work);
  data["buffers"] = trace_table_json(trace, TableKind::kBuffers, limits.buffers);
  size_t count = 0;
  for (const format::Event& event : trace.events())
    count += std::holds_alternative<format::AllocationBegin>(event.action);
  data["buffers"]["total"] = count;
  const TraceSteps steps(trace);
  data["ranges"] = ranges_json(steps.ranges, limits.ranges);
  data["graphs"] = graphs_json(trace, limits.graph_nodes);
  data["lint"] = lint_json(trace, lint(trace, steps));
  data["notes"] = Json::array();
  for (const format::Finding& finding : trace.findings())
    data["notes"].push_back(finding_json(finding));
  return data;
}

}  // namespace gfxgraph::tools

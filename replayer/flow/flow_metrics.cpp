#include "replayer/flow/flow_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "replayer/production/metrics.h"
#include "replayer/production/openmetrics.h"

namespace gfxgraph::replayer {
namespace {

struct Family {
  std::string_view name;
  std::string_view type;
  std::string_view help;
};
constexpr Family kFamilies[] = {
#define GFXGRAPH_FLOW_METRIC(name, type, help) {#name, #type, help},
#include "replayer/flow/flow_metrics.inc"
#undef GFXGRAPH_FLOW_METRIC
};

std::string labelled(const std::string& labels, std::string_view key, std::string_view value) {
  return fmt::format("{},{}=\"{}\"", labels, key, escaped(value));
}

class FlowText {
 public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = fmt::format("gfxgraph_flow_{}", name);
    text_ += fmt::format("# TYPE {0} {1}\n# HELP {0} {2}\n", name_, type, help);
    if (type == "summary") text_ += fmt::format("# UNIT {} seconds\n", name_);
    suffix_ = type == "counter" ? "_total" : "";
  }
  void sample(std::string_view suffix, const std::string& labels, std::string_view value) {
    text_ += fmt::format("{}{}{{{}}} {}\n", name_, suffix, labels, value);
  }
  void number(const std::string& labels, uint64_t value) {
    sample(suffix_, labels, fmt::to_string(value));
  }
  void times(const std::string& labels, const Durations& durations) {
    for (const Quantile& one : kQuantiles) {
      if (durations.count() == 0) break;
      sample("", labelled(labels, "quantile", one.label), seconds(durations.percentile(one.share)));
    }
    sample("_count", labels, fmt::to_string(durations.count()));
    sample("_sum", labels, seconds(durations.sum()));
  }
  std::string take() { return std::move(text_ += "# EOF\n"); }

 private:
  std::string name_;
  std::string_view suffix_;
  std::string text_;
};

}  // namespace

Result<std::string> FlowMetrics::begin(const char* kind, const std::string& name) {
  std::string labels = fmt::format("kind=\"{}\",name=\"{}\"", kind, escaped(name));
  if (std::ranges::find(begun_, labels) != begun_.end()) {
    return fail(Status::kInvalidArgument,
                fmt::format("two {} are called {}: give them different names", kind, name));
  }
  begun_.push_back(labels);
  return labels;
}

void FlowMetrics::value(std::string_view family, const std::string& labels, uint64_t value) {
  const auto found = std::ranges::find(kFamilies, family, &Family::name);
  values_.push_back({static_cast<size_t>(found - std::begin(kFamilies)), labels, value});
}

Result<void> FlowMetrics::add(Branches& one) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::string labels, begin("branches", one.name()));
  gfxgraph_branches_info_t info{};
  for (uint32_t i = 0; i < one.count(); ++i) {
    Work& work = works_.emplace_back(labelled(labels, "part", one.branch_name(i)));
    one.add_up(i, info, work.sums);
  }
  value("unknown_values", labels, info.unknown);
  value("default_runs", labels, info.by_default);
  value("flag_reads", labels, info.flag_reads);
  return {};
}

Result<void> FlowMetrics::add(Loop& one) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::string labels, begin("loop", one.name()));
  gfxgraph_loop_info_t info{};
  Work& work = works_.emplace_back(labelled(labels, "part", "body"));
  one.add_up(info, work.sums);
  value("flag_reads", labels, info.flag_reads);
  for (uint32_t end = 0; end < GFXGRAPH_LOOP_ENDS; ++end)
    value("loop_runs", labelled(labels, "end", loop_end_name(end)), info.runs[end]);
  return {};
}

Result<void> FlowMetrics::add(Composition& one) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::string labels, begin("composition", one.name()));
  gfxgraph_composition_info_t info{};
  one.add_up(info, submits_.emplace_back(labels).durations);
  value("composition_runs", labelled(labels, "as", "graph"), info.graph_runs);
  value("composition_runs", labelled(labels, "as", "order"), info.ordered_runs);
  value("composition_failures", labels, info.failures);
  value("composition_builds", labels, info.builds);
  value("composition_nodes", labels, info.nodes);
  return {};
}

Result<void> FlowMetrics::add(Pipeline& one) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::string labels, begin("pipeline", one.name()));
  gfxgraph_pipeline_info_t info{};
  Work& work = works_.emplace_back(labelled(labels, "part", "all"));
  one.add_up(info, work.sums, until_seen_.emplace_back(labels).durations);
  value("pipeline_waits", labels, info.waits);
  value("pipeline_refusals", labels, info.refusals);
  value("pipeline_device_errors", labels, info.device_errors);
  value("pipeline_in_flight", labels, info.in_flight);
  value("pipeline_most_in_flight", labels, info.most_in_flight);
  value("pipeline_device_bytes", labels, info.device_bytes);
  return {};
}

std::string FlowMetrics::text() const {
  FlowText text;
  text.family("runs", "counter", "Runs that succeeded, by the way that they went.");
  for (const Work& one : works_) {
    for (uint32_t way = 0; way < GFXGRAPH_WAYS; ++way)
      text.number(labelled(one.labels, "way", way_name(way)), one.sums.counts.runs[way]);
  }
  text.family("falls", "counter", "Runs that went another way than the first, by the reason.");
  for (const Work& one : works_) {
    for (uint32_t fall = 1; fall < GFXGRAPH_FALLS; ++fall)
      text.number(labelled(one.labels, "reason", fall_name(fall)), one.sums.counts.falls[fall]);
  }
  const auto counts = [&](const char* name, const char* help, uint64_t gfxgraph_counts_t::* which) {
    text.family(name, "counter", help);
    for (const Work& one : works_) text.number(one.labels, one.sums.counts.*which);
  };
  counts("captures", "Captures that succeeded.", &gfxgraph_counts_t::captures);
  counts("work_failures", "Runs in which the caller's function failed.",
         &gfxgraph_counts_t::work_failures);
  counts("failures", "Runs that failed otherwise.", &gfxgraph_counts_t::failures);
  for (size_t i = 0; i < std::size(kFamilies); ++i) {
    text.family(kFamilies[i].name, kFamilies[i].type, kFamilies[i].help);
    for (const Value& one : values_) {
      if (one.family == i) text.number(one.labels, one.value);
    }
  }
  text.family("submit_seconds", "summary", "Time of the call on the host.");
  for (const Work& one : works_) text.times(one.labels, one.sums.submit);
  for (const Times& one : submits_) text.times(one.labels, one.durations);
  text.family("until_seen_seconds", "summary",
              "Time from the submission of a pipeline's run to where its end was seen.");
  for (const Times& one : until_seen_) text.times(one.labels, one.durations);
  return text.take();
}

}  // namespace gfxgraph::replayer

#include "lanecheck/trace_analysis.h"

#include <algorithm>
#include <utility>

#include "lanecheck/event_order.h"

namespace gfxgraph::lanecheck {
namespace {

// Visits the rows of a box with the offsets of their first bytes.
template <typename Visit>
void for_rows(const format::CopyEnd& end, uint64_t width, uint64_t height, uint64_t depth,
              const Visit& visit) {
  const uint64_t pitch = end.pitch_bytes != 0 ? end.pitch_bytes : width;
  const uint64_t slice = end.slice_bytes != 0 ? end.slice_bytes : pitch * height;
  for (uint64_t z = 0; width != 0 && z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y) visit(end.offset_bytes + z * slice + y * pitch);
}

}  // namespace

void TraceAnalysis::next_event(uint64_t sequence) {
  event_ = sequence;
  if (words_ != nullptr) words_->next_event(sequence);
}

void TraceAnalysis::next_node(format::GraphId graph, uint32_t node) {
  if (words_ != nullptr) words_->next_node(graph, node);
}

void TraceAnalysis::begin_node(DataNode::Kind kind, format::StreamId stream) {
  DataNode node;
  node.kind = kind;
  node.event = event_;
  node.stream = stream;
  order_->begin(std::move(node));
}

void TraceAnalysis::apply(const format::AllocationBegin& action) {
  if (words_ != nullptr) words_->apply(action);
  const uint64_t bytes = std::max(action.size_bytes, action.mapped_bytes);
  addresses_[action.id] = {action.recorded_address, bytes};
  if (order_ != nullptr && bytes != 0) {
    order_->forget(action.recorded_address, bytes);
    order_->add_memory(action.recorded_address, bytes);
  }
}

void TraceAnalysis::apply(const format::AllocationEnd& action) {
  if (words_ != nullptr) words_->apply(action);
  if (order_ != nullptr) order_->remove_memory(address_of(action.id));
}

void TraceAnalysis::apply(const format::HostWrite& action) {
  if (words_ != nullptr) words_->apply(action);
  if (order_ == nullptr || action.content.size_bytes == 0) return;
  begin_node(DataNode::Kind::kHostWrite, 0);
  order_->write(address_of(action.allocation) + action.offset_bytes, action.content.size_bytes);
  order_->end();
}

void TraceAnalysis::apply(const format::Copy& action) {
  if (words_ != nullptr) words_->apply(action);
  if (order_ == nullptr) return;
  begin_node(DataNode::Kind::kCopy, action.stream);
  const auto rows = [&](const format::CopyEnd& end, const auto& visit) {
    if (end.allocation == 0) return;
    for_rows(end, action.width_bytes, action.height, action.depth,
             [&](uint64_t offset) { visit(address_of(end.allocation) + offset); });
  };
  rows(action.source, [&](uint64_t at) { order_->read(at, action.width_bytes); });
  rows(action.destination, [&](uint64_t at) { order_->write(at, action.width_bytes); });
  order_->end();
}

void TraceAnalysis::apply(const format::Memset& action) {
  if (words_ != nullptr) words_->apply(action);
  if (order_ == nullptr) return;
  begin_node(DataNode::Kind::kMemset, action.stream);
  const format::CopyEnd to{action.allocation, action.offset_bytes, action.pitch_bytes,
                           action.slice_bytes};
  const uint64_t width = action.width_elements * action.element_bytes;
  for_rows(to, width, action.height, action.depth,
           [&](uint64_t offset) { order_->write(address_of(action.allocation) + offset, width); });
  order_->end();
}

void TraceAnalysis::begin_launch(uint64_t number, const format::Launch& action,
                                 uint64_t kernarg_address) {
  if (words_ != nullptr) words_->launch(action, kernarg_address);
  if (order_ == nullptr) return;
  begin_node(DataNode::Kind::kLaunch, action.stream);
  order_->current().launch = number;
  order_->current().kernel = action.kernel;
}

void TraceAnalysis::end_launch(uint64_t wave_instructions) {
  if (order_ == nullptr) return;
  order_->current().wave_instructions = wave_instructions;
  order_->end();
}

namespace {

CheckOptions analysis_options(const BudgetLimits& limits, const LaunchProgress& progress) {
  CheckOptions options;
  options.selection.tools = {};
  options.limits = limits;
  options.progress = progress;
  return options;
}

template <typename To>
void take_failures(const Report& from, To& to) {
  to.failed_launches = from.failed_launches;
  if (!from.failed.empty())
    to.failure = from.failed.front().kernel + ": " + from.failed.front().reason;
  if (from.stopped) to.stopped = from.stopped->reason;
}

}  // namespace

Result<ProvenanceReport> prove_pointers(const format::Trace& trace, const BudgetLimits& limits,
                                        bool list, const LaunchProgress& progress) {
  Budget budget(limits);
  Provenance words(budget);
  TraceAnalysis analysis(&words, nullptr);
  const CheckOptions options = analysis_options(limits, progress);
  GFXGRAPH_ASSIGN_OR_RETURN(const Report ran, run_analysis(trace, options, budget, analysis));
  ProvenanceReport report;
  take_failures(ran, report);
  report.launches = ran.launches;
  report.wave_instructions = ran.wave_instructions;
  words.finish(report, list);
  return report;
}

Result<DataOrderReport> order_by_data(const format::Trace& trace, const BudgetLimits& limits,
                                      const LaunchProgress& progress) {
  Budget budget(limits);
  DataOrder order(budget);
  TraceAnalysis analysis(nullptr, &order);
  const CheckOptions options = analysis_options(limits, progress);
  GFXGRAPH_ASSIGN_OR_RETURN(const Report ran, run_analysis(trace, options, budget, analysis));
  DataOrderReport report;
  take_failures(ran, report);
  report.nodes = order.nodes();
  compare_orders(order_launches(trace), report);
  return report;
}

}  // namespace gfxgraph::lanecheck

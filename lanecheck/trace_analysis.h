// Executes all launches of a trace to analyse it, not to find errors: where words point
// (provenance.h), which data launches share (data_order.h).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/result.h"
#include "format/reader.h"
#include "lanecheck/budget.h"
#include "lanecheck/check.h"
#include "lanecheck/data_order.h"
#include "lanecheck/provenance.h"
#include "lanecheck/provenance_observer.h"

namespace gfxgraph::lanecheck {

// Passes events to one or both analyses, in trace order, each event after its execution. Either may
// be null; both must outlive the run.
class TraceAnalysis {
 public:
  TraceAnalysis(Provenance* words, DataOrder* order) : words_(words), order_(order) {}

  Provenance* words() const { return words_; }
  DataOrder* order() const { return order_; }

  // The event or graph node that the following calls belong to.
  void next_event(uint64_t sequence);
  void next_node(format::GraphId graph, uint32_t node);
  // `action` of a module variable has its current address.
  void apply(const format::AllocationBegin& action);
  void apply(const format::AllocationEnd& action);
  void apply(const format::HostWrite& action);
  void apply(const format::Copy& action);
  void apply(const format::Memset& action);
  template <typename Other>
  void apply(const Other&) {}
  // The kernel arguments are at `kernarg_address`.
  void begin_launch(uint64_t number, const format::Launch& action, uint64_t kernarg_address);
  void end_launch(uint64_t wave_instructions);

 private:
  uint64_t address_of(format::AllocationId id) const {
    const auto found = addresses_.find(id);
    return found == addresses_.end() ? 0 : found->second.address;
  }
  void begin_node(DataNode::Kind kind, format::StreamId stream);

  Provenance* const words_;
  DataOrder* const order_;
  uint64_t event_ = 0;
  struct Memory {
    uint64_t address = 0, bytes = 0;
  };
  std::unordered_map<format::AllocationId, Memory> addresses_;
};

// As check_trace(), but with this analysis instead of findings.
Result<Report> run_analysis(const format::Trace& trace, const CheckOptions& options, Budget& budget,
                            TraceAnalysis& analysis);

}  // namespace gfxgraph::lanecheck

#include "check/run/trace_analysis.h"

#include <utility>

#include "check/order/event_order.h"

namespace gfxgraph::check {
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
  const CheckOptions options = analysis_options(limits, progress);
  GFXGRAPH_ASSIGN_OR_RETURN(const Report ran, run_analysis(trace, options, budget, {&words}));
  ProvenanceReport report;
  take_failures(ran, report);
  report.launches = ran.launches;
  report.wave_instructions = ran.wave_instructions;
  words.finish(report, list);
  return report;
}

Result<DataOrderReport> order_by_data(const format::Trace& trace, const BudgetLimits& limits,
                                      const LaunchProgress& progress, DataOrder::Touched touched) {
  Budget budget(limits);
  DataOrder order(budget);
  order.watch(std::move(touched));
  const CheckOptions options = analysis_options(limits, progress);
  GFXGRAPH_ASSIGN_OR_RETURN(const Report ran,
                            run_analysis(trace, options, budget, {.order = &order}));
  DataOrderReport report;
  take_failures(ran, report);
  report.nodes = order.nodes();
  compare_orders(order_launches(trace), report);
  return report;
}

Result<ExecutedTrace> executed_code(const format::Trace& trace, const BudgetLimits& limits,
                                    const LaunchProgress& progress) {
  Budget budget(limits);
  ExecutedCode code(budget);
  const CheckOptions options = analysis_options(limits, progress);
  GFXGRAPH_ASSIGN_OR_RETURN(const Report ran,
                            run_analysis(trace, options, budget, {.executed = &code}));
  ExecutedTrace executed;
  take_failures(ran, executed);
  executed.objects = code.take_objects();
  for (const KernelTotals& kernel : ran.kernels) executed.launches.push_back(kernel.launches);
  return executed;
}

}  // namespace gfxgraph::check

#include "replayer/tool/range_end.h"

#include <algorithm>

namespace gfxgraph::replayer {
namespace {

Result<std::unique_ptr<Step>> run_once(const std::shared_ptr<Session>& session,
                                       std::shared_ptr<const Program> program,
                                       StepOptions options) {
  options.mode = Mode::kBatch;  // in recorded order, which satisfies every dependency
  GFXGRAPH_ASSIGN_OR_RETURN(std::unique_ptr<Step> step,
                            Step::prepare(session, std::move(program), options));
  GFXGRAPH_TRY(step->restore());
  GFXGRAPH_TRY(step->run());
  GFXGRAPH_TRY(step->wait());
  return step;
}

}  // namespace

bool RangeEnd::is_needed(const Program& whole, const Program& range) {
  return std::ranges::any_of(whole.allocations(), [&](const AllocationInfo& info) {
    return range.holds(info) && !info.begin->object && !host_visible(*info.begin) &&
           info.end != nullptr && !range.ends_with(info);
  });
}

Result<RangeEnd> RangeEnd::find(const std::shared_ptr<Session>& session,
                                const std::shared_ptr<const Program>& whole, const Program& range,
                                const StepOptions& options) {
  RangeEnd end;
  {
    GFXGRAPH_ASSIGN_OR_RETURN(
        const std::unique_ptr<Step> step,
        run_once(session, whole->cut(whole->first_event(), range.end_event()), options));
    GFXGRAPH_ASSIGN_OR_RETURN(end.hashes_, snapshot(step->instance()));
  }
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Step> step, run_once(session, whole, options));
  GFXGRAPH_ASSIGN_OR_RETURN(const VerifyReport report, StepCheck(*step).verify());
  if (report.differs()) return fail(Status::kIncomplete, "it does not end as recorded");
  if (!report.identical_throughout())
    return fail(Status::kIncomplete, "not everything at its end could be compared");
  return end;
}

Result<void> RangeEnd::compare(const Instance& instance, VerifyReport& report) const {
  if (std::ranges::none_of(report.buffers, &BufferResult::behind_range)) return {};
  GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<format::BlobId> now, snapshot(instance));
  for (BufferResult& buffer : report.buffers) {
    if (!buffer.behind_range) continue;
    if (host_visible(*instance.program().allocations()[buffer.allocation - 1].begin)) {
      buffer.reason = "the program may have written it at the end of the range";
      continue;
    }
    const bool same = now[buffer.allocation - 1] == hashes_[buffer.allocation - 1];
    buffer.comparison = same ? Comparison::kIdentical : Comparison::kDifferent;
    buffer.by_hash = true;
    buffer.reason.clear();
    --report.uncompared;
    ++(same ? report.identical : report.different);
    ++report.by_replay;
  }
  return {};
}

Result<VerifyReport> verify_step(Step& step, StepCheck& check, const RangeEnd* end) {
  GFXGRAPH_ASSIGN_OR_RETURN(VerifyReport report, check.verify());
  if (end != nullptr) GFXGRAPH_TRY(end->compare(step.instance(), report));
  return report;
}

}  // namespace gfxgraph::replayer

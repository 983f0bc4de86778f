#include "replayer/step/step_check.h"

#include <utility>

namespace gfxgraph::replayer {

const OriginMap* StepCheck::known() {
  if (changes_ != step_.values().changes()) origins_.reset();
  return origins_ ? &*origins_ : nullptr;
}

Result<VerifyReport> StepCheck::verify() {
  GFXGRAPH_TRY(check_apart(step_.instance().session().options(), "verify"));
  GFXGRAPH_TRY(step_.executor().wait(step_.stream()));
  Instance& instance = step_.instance();
  const OriginMap* const before = known();
  GFXGRAPH_ASSIGN_OR_RETURN(VerifyReport report, replayer::verify(instance, before));
  if (!report.differs() || !begins_unwritten(instance.program()) ||
      (before != nullptr && before->covers(report))) {
    return report;
  }
  instance.session().changed();
  Result<OriginMap> found = OriginMap::find(instance, step_.executor_options(), step_.stream(),
                                            report, before, machine_memory());
  if (!found) {
    report.unwritten_failure = found.error().message;
    return report;
  }
  origins_ = std::move(*found);
  changes_ = step_.values().changes();
  return replayer::verify(instance, &*origins_);
}

Result<BisectReport> StepCheck::find_divergence(const Progress& progress) {
  Instance& instance = step_.instance();
  GFXGRAPH_TRY(check_apart(instance.session().options(), "finding the divergent operation"));
  if (!instance.memory().packing().turnovers.empty()) {
    return fail(Status::kUnsupported,
                "buffers share memory; finding the divergent operation needs separate buffers "
                "(--memory apart)");
  }
  GFXGRAPH_TRY(step_.executor().wait(step_.stream()));
  instance.session().changed();
  return bisect(instance, step_.mode(), step_.executor_options(), step_.stream(), known(),
                progress);
}

}  // namespace gfxgraph::replayer

#include "replayer/check/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace gfxgraph::replayer {
namespace {

class Bisection {
 public:
  Bisection(Instance& instance, Mode mode, const ExecutorOptions& options, hip::Stream stream,
            const OriginMap* origins, const Progress& progress)
      : instance_(instance),
        mode_(mode),
        options_(options),
        stream_(stream),
        origins_(origins),
        progress_(progress) {}

  Result<std::optional<Divergence>> by_checkpoints() {
    const std::vector<CheckpointInfo>& checkpoints = instance_.program().checkpoints();
    format::AllocationId wrong = 0;
    const auto bad = [&](size_t index) -> Result<bool> {
      GFXGRAPH_TRY(run_prefix(mode_, checkpoints[index].operations_before));
      GFXGRAPH_ASSIGN_OR_RETURN(const format::AllocationId found, compare(checkpoints[index]));
      if (found != 0) wrong = found;
      return found != 0;
    };
    GFXGRAPH_ASSIGN_OR_RETURN(const size_t first, first_bad(checkpoints.size(), bad));
    if (first == checkpoints.size()) return std::optional<Divergence>();
    // Once more, so that `wrong` belongs to the first bad one.
    GFXGRAPH_TRY(bad(first));
    Divergence divergence;
    divergence.first_operation = first == 0 ? 0 : checkpoints[first - 1].operations_before;
    const uint32_t end = checkpoints[first].operations_before;
    divergence.last_operation = end == 0 ? 0 : end - 1;
    divergence.first_operation = std::min(divergence.first_operation, divergence.last_operation);
    divergence.allocation = wrong;
    divergence.reference = "recorded checkpoints";
    return std::optional<Divergence>(divergence);
  }

  Result<std::optional<Divergence>> by_eager() {
    const auto count = static_cast<uint32_t>(instance_.program().operations().size());
    format::AllocationId wrong = 0;
    const auto bad = [&](size_t index) -> Result<bool> {
      const auto limit = static_cast<uint32_t>(index + 1);
      GFXGRAPH_TRY(run_prefix(Mode::kEager, limit));
      GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<format::BlobId> expected, snapshot(instance_));
      GFXGRAPH_TRY(run_prefix(mode_, limit));
      GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<format::BlobId> got, snapshot(instance_));
      for (size_t i = 0; i < got.size(); ++i) {
        if (got[i] == expected[i]) continue;
        wrong = static_cast<format::AllocationId>(i + 1);
        return true;
      }
      return false;
    };
    GFXGRAPH_ASSIGN_OR_RETURN(const size_t first, first_bad(count, bad));
    if (first == count) return std::optional<Divergence>();
    GFXGRAPH_TRY(bad(first));
    Divergence divergence;
    divergence.first_operation = static_cast<uint32_t>(first);
    divergence.last_operation = divergence.first_operation;
    divergence.allocation = wrong;
    divergence.reference = "eager mode";
    return std::optional<Divergence>(divergence);
  }

  Result<VerifyReport> verify_eager() {
    GFXGRAPH_TRY(
        run_prefix(Mode::kEager, static_cast<uint32_t>(instance_.program().operations().size())));
    return verify(instance_, origins_);
  }

 private:
  Result<void> run_prefix(Mode mode, uint32_t operations) {
    GFXGRAPH_TRY(instance_.restore());
    ExecutorOptions options = options_;
    options.operation_limit = operations;
    GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                              make_executor(mode, instance_, options));
    GFXGRAPH_TRY(executor->run(stream_));
    GFXGRAPH_TRY(executor->wait(stream_));
    return instance_.session().synchronize();
  }

  // The first allocation that differs from the checkpoint, or 0.
  Result<format::AllocationId> compare(const CheckpointInfo& checkpoint) {
    for (const format::Checkpoint::State& state : checkpoint.checkpoint->states) {
      format::Content expected;
      // Checkpoints hash as many bytes as the program asked for.
      expected.size_bytes =
          instance_.program().allocations()[state.allocation - 1].begin->size_bytes;
      expected.hash = state.hash;
      expected.stored = false;
      expected.relocations = state.relocations;
      GFXGRAPH_ASSIGN_OR_RETURN(
          const BufferResult result,
          compare_buffer(instance_, state.allocation, expected, checkpoint.sequence));
      if (result.comparison == Comparison::kDifferent) return state.allocation;
    }
    return format::AllocationId{0};
  }

  // The first index for which `bad` holds, taken that it stays bad from there on; `count` when the
  // last one is good. A wrong state that a later operation overwrites completely leaves no trace at
  // the end, and is not searched for.
  Result<size_t> first_bad(size_t count, const std::function<Result<bool>(size_t)>& bad) {
    if (count == 0) return count;
    searching(count);
    GFXGRAPH_ASSIGN_OR_RETURN(const bool any, bad(count - 1));
    if (!any) return count;
    size_t low = 0;
    size_t high = count - 1;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      searching(high - low);
      GFXGRAPH_ASSIGN_OR_RETURN(const bool is_bad, bad(middle));
      if (is_bad) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  void searching(size_t among) const {
    if (progress_.at)
      progress_.at(fmt::format("bisecting: the first of {} states that differs", among));
  }

  Instance& instance_;
  Mode mode_;
  ExecutorOptions options_;
  hip::Stream stream_;
  const OriginMap* origins_;
  const Progress& progress_;
};

}  // namespace

Result<BisectReport> bisect(Instance& instance, Mode mode, const ExecutorOptions& options,
                            hip::Stream stream, const OriginMap* origins,
                            const Progress& progress) {
  Bisection bisection(instance, mode, options, stream, origins, progress);
  BisectReport report;
  report.checkpoints = instance.program().checkpoints().size();
  if (report.checkpoints != 0) {
    GFXGRAPH_ASSIGN_OR_RETURN(report.divergence, bisection.by_checkpoints());
  }
  if (report.divergence || mode == Mode::kEager) return report;
  GFXGRAPH_ASSIGN_OR_RETURN(report.divergence, bisection.by_eager());
  if (!report.divergence) {
    GFXGRAPH_ASSIGN_OR_RETURN(report.eager, bisection.verify_eager());
  }
  return report;
}

}  // namespace gfxgraph::replayer

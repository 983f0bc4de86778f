#include "replayer/tool/run.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <vector>

#include "base/amount.h"

namespace gfxgraph::replayer {
namespace {

Result<void> verify_run(const RunRequest& request, Step& replay, StepCheck& check, size_t run,
                        ReplayFacts& facts) {
  GFXGRAPH_ASSIGN_OR_RETURN(facts.report, verify_step(replay, check, request.range_end));
  facts.reported_run = run;
  ++facts.verified_runs;
  return {};
}

bool differs(const ReplayFacts& facts) { return facts.report && facts.report->differs(); }

}  // namespace

Result<void> execute(const RunRequest& request, Step& replay, ReplayFacts& facts) {
  const auto at = [&](const std::string& text) {
    if (request.progress.at) request.progress.at(text);
  };
  StepCheck check(replay);
  at("first run");
  GFXGRAPH_TRY(replay.restore_if_changed());  // preparing it has restored
  const auto start = std::chrono::steady_clock::now();
  GFXGRAPH_TRY(replay.run());
  GFXGRAPH_TRY(replay.wait());
  facts.first_run_us = microseconds_since(start);
  if (request.verification != Verification::kNone) {
    at("comparing the first run");
    GFXGRAPH_TRY(verify_run(request, replay, check, 1, facts));
    if (request.progress.found && facts.report->identical_throughout()) {
      request.progress.found(fmt::format("mode {}: the first run took {:.1f} us and is identical",
                                         mode_name(replay.mode()), facts.first_run_us));
    }
  }

  std::vector<double> submit;
  std::vector<double> end_to_end;
  facts.runs_asked = request.repetitions;
  const InterruptWatch watch;
  for (size_t i = 0; i < request.repetitions && !differs(facts) && !facts.interrupted; ++i) {
    if (request.progress.count) request.progress.count("run", i, request.repetitions);
    GFXGRAPH_TRY(replay.restore());
    const auto begin = std::chrono::steady_clock::now();
    GFXGRAPH_TRY(replay.run());
    submit.push_back(microseconds_since(begin));
    GFXGRAPH_TRY(replay.wait());
    end_to_end.push_back(microseconds_since(begin));
    ++facts.runs;
    facts.interrupted = watch.interrupted() && i + 1 < request.repetitions;
    const bool last = i + 1 == request.repetitions || facts.interrupted;
    if (request.verification == Verification::kEveryRun ||
        (last && request.verification == Verification::kFirstAndLast)) {
      GFXGRAPH_TRY(verify_run(request, replay, check, i + 2, facts));
    }
  }
  facts.measurement = Measurement{summarise(std::move(submit)), summarise(std::move(end_to_end))};
  if (differs(facts) && request.bisect) {
    GFXGRAPH_ASSIGN_OR_RETURN(facts.bisect, check.find_divergence(request.progress));
  }
  return {};
}

Verdict verdict_of(const ReplayFacts& facts) {
  if (!facts.report && facts.interrupted) return {kExitInterrupted, interruption_text(facts)};
  if (!facts.report) return {};
  const VerifyReport& report = *facts.report;
  if (report.differs()) {
    const bool own = differs_by_itself(facts);
    return {own ? kExitDataLost : kExitFailed,
            fmt::format("run {}: {} of {} buffers and {} of {} copies differ from the recording{}",
                        facts.reported_run, report.different, report.buffers.size(),
                        report.copies_different, report.copies.size(),
                        own ? ", by the program's own nondeterminism: not comparable" : "")};
  }
  if (report.identical_throughout() && facts.interrupted)
    return {kExitInterrupted, interruption_text(facts)};
  if (report.identical_throughout()) return {};
  if (report.not_compared() == 0)
    return {kExitDataLost, "nothing to compare: the trace holds no state of any buffer or copy"};
  const std::string what =
      fmt::format("{} of {} buffers and {} of {} copies were not compared", report.uncompared,
                  report.buffers.size(), report.copies_uncompared, report.copies.size());
  const size_t own = report.uninitialised();
  if (own == report.not_compared())
    return {kExitDataLost, what + ": the program reads memory that nobody had written"};
  return {kExitDataLost,
          fmt::format("{}: the trace does not hold what the program left or received{}", what,
                      own == 0 ? "" : ", or the program reads memory that nobody had written")};
}

}  // namespace gfxgraph::replayer

// Mode auto: runs the step in each mode within a time budget and keeps the faster one.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "replayer/check/content_comparison.h"
#include "replayer/check/verify.h"
#include "replayer/step/step.h"
#include "replayer/step/timing.h"

namespace gfxgraph::replayer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostRuns = 9;  // of each mode, after its first run

double steady_seconds() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// The time budget for measurements. A run starts only if it is expected to end within the budget,
// judged by the duration of earlier similar runs.
class Budget {
 public:
  Budget(double seconds, const std::function<double()>& clock)
      : seconds_(seconds), clock_(clock ? clock : steady_seconds), start_(clock_()) {}
  double now() const { return clock_(); }
  bool has(double expected) const { return clock_() - start_ + expected <= seconds_; }

 private:
  double seconds_;
  std::function<double()> clock_;
  double start_;
};

struct Candidate {
  Mode mode = Mode::kBatch;
  std::unique_ptr<Executor> executor;
  double first_us = 0;     // includes the extra cost of a first run
  std::vector<double> us;  // of the later runs, end to end
};

size_t fastest(const std::vector<Candidate>& candidates) {
  size_t best = 0;
  for (size_t i = 1; i < candidates.size(); ++i) {
    if (clearly_faster(candidates[i].us, candidates[best].us)) best = i;
  }
  return best;
}

// The measurements, and the choice based on them.
std::string reason(const std::vector<Candidate>& candidates, size_t best) {
  const size_t runs = candidates[0].us.size();
  std::string text;
  for (const Candidate& one : candidates) {
    text += fmt::format("{}{} {:.1f} us", text.empty() ? "" : ", ", mode_name(one.mode),
                        runs == 0 ? one.first_us : summarise(one.us).median);
  }
  text += runs == 0 ? " end to end (first runs)" : fmt::format(" end to end (medians of {})", runs);
  const char* const kept = mode_name(candidates[best].mode);
  if (candidates.size() == 1) return fmt::format("{}: {} kept", text, kept);
  if (best != 0) return fmt::format("{}: {} kept, by more than the spread", text, kept);
  return fmt::format("{}: {} kept, no other is faster by more than the spread{}", text, kept,
                     runs < kLeastRuns ? ", which so few runs cannot show" : "");
}

}  // namespace

// The first mode is the reference: another mode is kept only if it leaves the same bytes and is
// faster.
Result<void> Step::choose_mode(const StepOptions& options) {
  const Budget budget(options.auto_seconds, options.auto_clock);
  GFXGRAPH_ASSIGN_OR_RETURN(KeptContents kept, KeptContents::take(instance_->memory()));
  const auto say = [](const auto& listener, const std::string& text) {
    if (listener) listener(text);
  };
  const auto timed = [&](Executor& executor) -> Result<double> {
    if (!instance_->session().fresh_for(this)) {
      GFXGRAPH_TRY(kept.write());
      GFXGRAPH_TRY(restore());
    }
    instance_->session().changed();
    Completion completion(executor, stream_);
    const double begin = budget.now();
    GFXGRAPH_TRY(executor.run(stream_));
    GFXGRAPH_TRY(completion.wait());
    return (budget.now() - begin) * 1e6;
  };

  std::vector<Candidate> candidates;
  std::vector<format::BlobId> reference;
  std::string others;  // the excluded modes, and why
  double longest = 0;  // of the first runs, with their setup
  double round = 0;    // a run in each mode
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph, Mode::kPackets}) {
    if (mode == Mode::kEager && !options.auto_eager) continue;
    if (!candidates.empty() && !budget.has(longest)) {
      others += fmt::format("; {} not measured: another run would take longer than the {} s for it",
                            mode_name(mode), options.auto_seconds);
      continue;
    }
    const double begin = budget.now();
    say(options.progress.at, fmt::format("mode auto: first run in mode {}", mode_name(mode)));
    Candidate one{mode, nullptr, 0, {}};
    Result<std::unique_ptr<Executor>> executor = make_executor(mode, *instance_, executor_options_);
    if (!executor) {
      const bool needed = mode != Mode::kGraph && mode != Mode::kPackets;
      if (needed || executor.error().status == Status::kOutOfMemory)
        return tl::unexpected<Error>(std::move(executor).error());
      others += fmt::format("; no {}: {}", mode_name(mode), executor.error().message);
      continue;
    }
    one.executor = std::move(*executor);
    const double built = budget.now();
    const Result<double> first = timed(*one.executor);
    if (!first && mode == Mode::kPackets) {
      others += fmt::format("; packets failed: {}", first.error().message);
      continue;
    }
    if (!first) return tl::unexpected<Error>(first.error());
    one.first_us = *first;
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<format::BlobId> bytes, snapshot(*instance_));
    if (candidates.empty()) {
      reference = bytes;
    } else if (bytes != reference) {
      others += fmt::format("; {} and {} leave different bytes", mode_name(mode),
                            mode_name(candidates[0].mode));
      continue;
    }
    // A failed run has no time.
    if (options.progress.found) {
      GFXGRAPH_ASSIGN_OR_RETURN(const VerifyReport report, replayer::verify(*instance_));
      if (report.identical_throughout()) {
        options.progress.found(
            fmt::format("mode {}: the first run took {:.1f} us", mode_name(mode), one.first_us));
      }
    }
    longest = std::max(longest, budget.now() - begin);
    round += budget.now() - built;
    candidates.push_back(std::move(one));
  }

  // Some graphs are right once and wrong when launched again (base/hip_quirks.inc); what is not
  // HIP's own way is believed as little. Memory holds what the last mode left: the others run once
  // more to be looked at, in the time that there is.
  const auto doubtful = [](const Candidate& one) {
    return one.mode == Mode::kGraph || one.mode == Mode::kPackets;
  };
  double again = 0;
  for (size_t i = 1; i + 1 < candidates.size(); ++i) {
    if (doubtful(candidates[i])) again += candidates[i].first_us / 1e6;
  }
  for (size_t run = 1; run <= kMostRuns && candidates.size() > 1; ++run) {
    const double before = budget.now();
    if (!budget.has(round + again)) break;
    for (Candidate& one : candidates) {
      say(options.progress.at,
          fmt::format("mode auto: mode {}, run {} of {}", mode_name(one.mode), run, kMostRuns));
      GFXGRAPH_ASSIGN_OR_RETURN(const double us, timed(*one.executor));
      one.us.push_back(us);
    }
    round = budget.now() - before;
  }

  for (size_t i = candidates.size(); i-- > 1;) {
    Candidate& one = candidates[i];
    if (one.us.empty() || !doubtful(one)) continue;
    if (i + 1 != candidates.size()) GFXGRAPH_TRY(timed(*one.executor));
    GFXGRAPH_ASSIGN_OR_RETURN(const std::vector<format::BlobId> last, snapshot(*instance_));
    if (last == reference) continue;
    others += fmt::format("; {} leaves different bytes when launched again (run {})",
                          mode_name(one.mode), one.us.size() + 1);
    candidates.erase(candidates.begin() + static_cast<ptrdiff_t>(i));
  }
  const size_t best = fastest(candidates);
  GFXGRAPH_TRY(kept.put_back());
  mode_reason_ = reason(candidates, best) + others;
  use(candidates[best].mode, std::move(candidates[best].executor));
  return restore();
}

// In place, where a run would be one of the program.
Result<void> Step::choose_unmeasured() {
  const Result<void> graph = use(Mode::kGraph);
  if (graph) {
    mode_reason_ = "in place nothing is measured: a graph is possible";
    return {};
  }
  if (graph.error().status == Status::kOutOfMemory) return graph;
  GFXGRAPH_TRY(use(Mode::kBatch));
  mode_reason_ = "in place nothing is measured; no graph: " + graph.error().message;
  return {};
}

}  // namespace gfxgraph::replayer

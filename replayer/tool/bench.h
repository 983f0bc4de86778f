// gfxgraph-replay --bench: measures all modes of a program in one run.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/step/step.h"
#include "replayer/tool/range_end.h"

namespace gfxgraph::replayer {

struct BenchRequest {
  size_t rounds = 31;
  std::vector<Mode> modes;  // none is kAuto
  StepOptions step;         // but for its mode
  Progress progress;
  const RangeEnd* range_end = nullptr;  // what the trace does not hold; lives as long
};

// One mode. Times in microseconds, one of each per round, in the order of the rounds.
struct BenchVariant {
  Mode mode = Mode::kBatch;
  std::string refused;  // why the mode cannot run; the rest is empty then
  LoadTimes load;
  // The first run, and one after the last round.
  std::optional<VerifyReport> first, last;
  std::vector<double> submit;      // from the call to its return
  std::vector<double> end_to_end;  // until the work is complete
  // Of runs of their own, between two events on the stream that the run was submitted to; empty in
  // mode eager, which runs on streams of its own, and where the runtime cannot tell.
  std::vector<double> device;

  bool identical() const;
  // Has times, because nothing differs.
  bool timed() const { return refused.empty() && identical() && !end_to_end.empty(); }
};

struct BenchFacts {
  std::string trace_path;
  std::string range;  // empty: all of it
  bool emulated = false;
  HipDevice device;
  std::string runtime_path;
  int runtime_version = 0;
  uint64_t launches = 0;
  uint64_t operations = 0;
  size_t rounds = 0;        // that were made
  size_t rounds_asked = 0;  // more, if Ctrl-C ended them
  bool interrupted() const { return rounds < rounds_asked; }
  std::vector<BenchVariant> variants;  // in the order in which even rounds begin with them
};

// Whether a round runs the variants backwards.
constexpr bool is_reversed(size_t round) { return round % 2 == 1; }
// The order of `count` variants in a round: each is first equally often, in both directions.
std::vector<size_t> bench_order(size_t count, size_t round);

// Each mode is a step of its own in the session; they run one after another, each run from the
// restored state, restored outside of the measured part.
Result<BenchFacts> bench(std::shared_ptr<Session> session, std::shared_ptr<const Program> program,
                         const BenchRequest& request);

// Number of runs after which a graph has saved its build time; none: never.
std::optional<uint64_t> break_even(double build_us, double graph_us, double other_us);

// Names variants that differ or have no times.
std::string bench_text(const BenchFacts& facts);
// "gfxgraph-bench/1"
std::string bench_json(const BenchFacts& facts);
// An exit code: kExitFailed where a variant differs, kExitDataLost where one was not compared
// throughout, kExitInterrupted where not all rounds were made, kExitOk.
int bench_exit_code(const BenchFacts& facts);

}  // namespace gfxgraph::replayer

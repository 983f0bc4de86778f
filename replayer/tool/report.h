// What gfxgraph-replay prints: text for people and JSON, from one set of facts.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "replayer/check/bisect.h"
#include "replayer/check/verify.h"
#include "replayer/step/step.h"
#include "replayer/step/timing.h"
#include "replayer/tool/schedule.h"

namespace gfxgraph::replayer {

inline double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

struct ReplayFacts {
  std::string trace_path;
  bool emulated = false;
  Mode mode_asked = Mode::kAuto;
  Layout layout = Layout::kSame;
  std::optional<MemoryNeed> memory;
  const Step* replay = nullptr;
  size_t runs = 0;        // verified or timed ones
  size_t runs_asked = 0;  // more, if they were interrupted
  std::optional<VerifyReport>
      report;  // of the first run that differed, else of the last; none: not verified
  size_t verified_runs = 0;
  size_t reported_run = 0;  // whose report that is, from 1
  double first_run_us = 0;
  Measurement measurement;
  std::optional<BisectReport> bisect;
  std::optional<ScheduleReport> schedule;  // where a run differs
  bool relocates_ambiguous = false;        // words that may be numbers
  bool interrupted = false;                // by Ctrl-C, before all runs were made
  uint64_t iterations = 0;                 // of --iterations, that were run
  uint64_t iterations_asked = 0;           // more, if they were interrupted
};

// Times are in both only if everything was compared and is identical.
std::string text_report(const ReplayFacts& facts);
std::string json_report(const ReplayFacts& facts);
bool may_print_times(const ReplayFacts& facts);
// Whether all that differs is what the program itself computes anew each time. Not where it depends
// on addresses and a number may have been taken for one.
bool differs_by_itself(const ReplayFacts& facts);
// Of `facts.iterations`, which run when the report is out.
std::string iterations_text(const ReplayFacts& facts);

// "interrupted after 3 of 41 runs"
std::string interruption_text(const ReplayFacts& facts);

// "5.2.21153"
std::string version_text(int runtime_version);

}  // namespace gfxgraph::replayer

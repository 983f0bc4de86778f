// Ground truth of racecheck: order without barriers, and lanes of one wave that lose changes.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/check/truth/truth.h"

namespace gfxgraph::check {
namespace {

constexpr uint64_t kSyncBytes = 16 * 1024;

// One buffer of zeros; `groups` of `size`.
Fault sync(FindingClass expected, const std::string& kernel, int level, uint32_t groups,
           uint32_t size, std::vector<FindingClass> also = {}) {
  return {expected,
          kernel + " -O" + std::to_string(level),
          kernel,
          [groups, size](TraceBuilder& t, const std::string& launched) {
            t.launch(launched, groups, size, {t.buffer(kSyncBytes)});
          },
          "sync_o" + std::to_string(level) + ".bundle",
          "",
          std::move(also)};
}

TEST(RaceSync, DataHandedOverInAWorkgroup) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  const std::vector<FindingClass> lds = {FindingClass::kR2};
  for (const int level : {0, 3}) {
    faults.push_back(sync(FindingClass::kR1, "block_fence", level, 2, 64, lds));
    faults.push_back(
        sync(FindingClass::kR3, "global_block_fence", level, 1, 64, {FindingClass::kR4}));
    faults.push_back(sync(FindingClass::kR1, "lds_counter", level, 2, 128, lds));
    faults.push_back(sync(FindingClass::kR1, "lds_last_wave", level, 2, 128, lds));
    faults.push_back(sync(FindingClass::kR1, "lds_flag", level, 2, 64, lds));
    faults.push_back(sync(FindingClass::kR1, "lds_lock", level, 2, 128, lds));
    faults.push_back(sync(FindingClass::kR1, "lds_search", level, 2, 64, lds));
  }
  check_all(faults, with_races());
}

TEST(RaceSync, AStoreFollowsTheStoreThatItsWaveRead) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  const auto tokens = [](int level) {
    return std::vector{sync(FindingClass::kR4, "wave_token", level, 1, 128),
                       sync(FindingClass::kR4, "volatile_token", level, 1, 128),
                       sync(FindingClass::kR4, "relaxed_lock", level, 1, 256),
                       sync(FindingClass::kR4, "group_token", level, 4, 32),
                       sync(FindingClass::kR4, "atomic_token", level, 4, 32),
                       sync(FindingClass::kR4, "token_of_group", level, 4, 64)};
  };
  check_all(tokens(3), with_races());
  // Without optimisation functions begin and end with waits that look like fences.
  for (const Fault& fault : tokens(0)) {
    TraceBuilder trace(fault.object);
    fault.build(trace, fault.kernel + "_safe");
    CheckOptions options;
    options.selection.tools = with_races();
    const Result<Report> report = trace.try_check(options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->findings.empty()) << fault.name << render_text(*report, "t");
  }
}

TEST(RaceSync, CompareAndSwapLoops) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  const std::vector<FindingClass> written = {FindingClass::kR4};
  for (const int level : {0, 3}) {
    faults.push_back(sync(FindingClass::kR3, "strided_sum", level, 2, 128, written));
    faults.push_back(sync(FindingClass::kR3, "largest_of_all", level, 2, 128, written));
    faults.push_back(sync(FindingClass::kR1, "lds_sum", level, 2, 128, {FindingClass::kR2}));
    faults.push_back(sync(FindingClass::kR3, "peek", level, 2, 64, written));
    faults.push_back(sync(FindingClass::kR3, "peek_float", level, 2, 64, written));
  }
  check_all(faults, with_races());
}

TEST(RaceSync, LanesThatLoseChanges) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const int level : {0, 3}) {
    faults.push_back(sync(FindingClass::kR9, "count_values", level, 1, 32));
    faults.push_back(sync(FindingClass::kR9, "lds_count_values", level, 2, 128));
    faults.push_back(sync(FindingClass::kR9, "add_together", level, 1, 32));
    faults.push_back(sync(FindingClass::kR9, "bits_by_lanes", level, 1, 32));
    faults.push_back(sync(FindingClass::kR9, "scale_by_lanes", level, 1, 32));
    faults.push_back(sync(FindingClass::kR9, "through_local", level, 1, 32));
    faults.push_back(sync(FindingClass::kR9, "volatile_count", level, 1, 32));
    faults.push_back(sync(FindingClass::kR9, "lds_through_local", level, 1, 64));
    faults.push_back(sync(FindingClass::kR9, "wide_sum", level, 1, 32));
    faults.push_back(sync(FindingClass::kR9, "lds_pair", level, 1, 64));
    // Without optimisation another function puts the two words together.
    faults.push_back(sync(FindingClass::kR9, "pair_count", level, 1, 32));
    faults.push_back(sync(FindingClass::kR9, "second_of_pair", level, 1, 32));
    faults.push_back(sync(FindingClass::kR9, "by_functions", level, 1, 32));
  }
  check_all(faults, with_races());
}

TEST(RaceSync, WavesThatChangeAVolatileValue) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  std::vector<Fault> faults;
  for (const int level : {0, 3})
    faults.push_back(sync(FindingClass::kR4, "volatile_step", level, 2, 64));
  check_all(faults, with_races());
}

TEST(RaceSync, LoadsToLds) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  check_all({sync(FindingClass::kR1, "load_to_lds", 3, 1, 64)}, with_races());
}

// In the instruction set an atomic store is a plain store, so the load decides.
TEST(RaceSync, AVolatileLoadMayMeetAnyStore) {
  GFXGRAPH_SKIP_WITHOUT_KERNELS();
  TraceBuilder trace("sync_o3.bundle");
  trace.launch("volatile_load_of_plain_store", 2, 64, {trace.buffer(kSyncBytes)});
  CheckOptions options;
  options.selection.tools = with_races();
  const Result<Report> report = trace.try_check(options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->findings.empty()) << render_text(*report, "t");
}

}  // namespace
}  // namespace gfxgraph::check

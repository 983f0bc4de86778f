// Recordings of launches only: which are selected, and what gets into the trace.
#include <deque>

#include "base/cli/kernel_glob.h"
#include "base/demangle.h"
#include "recorder/selection/launch_selection.h"
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using format::AllocationBegin;
using format::AllocationEnd;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecorderLaunchesTest : public RecorderTest {
 protected:
  void SetUp() override {}

  void select(std::vector<std::string> launches, std::vector<std::string> kernels = {},
              std::vector<std::string> ranges = {}) {
    Options options;
    options.launches = std::move(launches);
    options.kernels = std::move(kernels);
    options.ranges = std::move(ranges);
    make(options);
    image_ = read_text(MODULE_FILE);
    recorder_->code().module_loaded(this, image_.data());
    recorder_->code().function_found(handle(2), this, "module_increment");
    recorder_->code().function_found(handle(3), this, "takes_struct");
    device_memory(a_, sizeof(a_));
  }
  // A launch as the hook makes it; `value` tells launches apart in the trace.
  void launch(int value, Handle function = handle(2), bool success = true,
              const std::function<void()>& during = {}) {
    recorder_->streams().call_begins(true);
    // The number stands at byte 8 of both kernels' arguments.
    uint64_t first[8] = {reinterpret_cast<uint64_t>(a_), static_cast<uint64_t>(value)};
    uint64_t plain = 0;
    void* out = a_;
    const bool second = function == handle(3);
    void* params[] = {first, second ? static_cast<void*>(&plain) : &value, &out};
    launch_function({.function = function}, params, success, [&] {
      if (during) during();
      a_[0] = static_cast<uint64_t>(value);
    });
  }
  // A call that launches one of each.
  void launch_list(int value, std::vector<Handle> functions) {
    recorder_->streams().call_begins(true);
    std::vector<ListedKernel> list;
    for (const Handle function : functions) list.push_back({function});
    const LaunchCall call{.function = functions.front(), .list = &list};
    const LaunchTurn turn = recorder_->turns().begins(call);
    std::deque<Work> works(functions.size());
    for (size_t i = 0; i < works.size(); ++i) {
      Work& work = works[i];
      RawLaunch raw;
      raw.kernel = recorder_->launches().find_kernel(functions[i], false, "list", work.findings);
      work.skip = raw.kernel == nullptr;
      if (work.skip) continue;
      raw.kernarg.resize(raw.kernel->kernel.explicit_size_bytes);
      const int own = value + static_cast<int>(i);
      std::memcpy(raw.kernarg.data() + 8, &own, sizeof(own));
      work.raw = std::move(raw);
      recorder_->work().prepare(work);
    }
    for (Work& work : works) recorder_->commit(work);
    recorder_->turns().ended(call, turn, true);
  }
  void fill(size_t elements) {
    recorder_->streams().call_begins();
    memset_work(a_ + 8, elements);
  }
  static std::vector<int> values(const Trace& trace) {
    std::vector<int> found;
    for (const auto& launch : actions<format::Launch>(trace)) {
      int value = 0;
      std::memcpy(&value, launch.kernarg.data() + 8, sizeof(value));
      found.push_back(value);
    }
    return found;
  }
  static std::vector<std::string> findings(const Trace& trace, format::FindingKind kind) {
    std::vector<std::string> lines;
    for (const format::Finding& finding : trace.findings()) {
      if (finding.kind == kind) lines.push_back(finding.call + ": " + finding.detail);
    }
    return lines;
  }

  std::string image_;
  alignas(256) uint64_t a_[32] = {};
};

TEST_F(RecorderLaunchesTest, AnIntervalIsRecordedFromBeforeItsFirstLaunch) {
  select({"2:4"});
  for (int i = 0; i < 6; ++i) {
    launch(i);
    fill(static_cast<size_t>(i) + 1);
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(values(*trace), ElementsAre(2, 3));
  // Between its launches, and neither before nor after them.
  const auto sets = actions<format::Memset>(*trace);
  ASSERT_THAT(sets, SizeIs(1));
  EXPECT_EQ(sets[0].width_elements, 3u);
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(1));
  const auto initial = trace->content(begins[0].initial);
  ASSERT_TRUE(initial);
  EXPECT_EQ(static_cast<int>((*initial)[0]), 1) << "as the launch before left it";
  const auto ends = actions<AllocationEnd>(*trace);
  ASSERT_THAT(ends, SizeIs(1));
  const auto post = trace->content(ends[0].post);
  ASSERT_TRUE(post);
  EXPECT_EQ(static_cast<int>((*post)[0]), 3);
  EXPECT_THAT(trace->findings(), IsEmpty());
}

TEST_F(RecorderLaunchesTest, EndsMayBeOpenAndIntervalsOverlap) {
  select({":1", "2:4", "3:5", "7:"});
  for (int i = 0; i < 9; ++i) {
    launch(i);
    fill(1);
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(values(*trace), ElementsAre(0, 2, 3, 4, 7, 8));
  EXPECT_THAT(actions<AllocationBegin>(*trace), SizeIs(3)) << "one for each stretch";
}

TEST_F(RecorderLaunchesTest, LaunchesThatFailAreNotCounted) {
  select({"1:2"});
  launch(0);
  launch(70, handle(2), false);
  launch(1);
  launch(2);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(values(*trace), ElementsAre(1));
}

TEST_F(RecorderLaunchesTest, ACallWithAListIsRecordedAsAWholeAndCountsItsKernels) {
  select({"2:3", "6:7"});
  launch(0);
  launch_list(1, {handle(2), handle(3), handle(2)});
  launch(4);
  launch_list(5, {handle(2), handle(3)});
  launch(7);
  auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(values(*trace), ElementsAre(1, 2, 3, 5, 6));
}

TEST_F(RecorderLaunchesTest, AKernelInAListIsSelectedByItsName) {
  select({}, {"takes_*#1"});
  launch_list(1, {handle(2), handle(3)});
  launch(3);
  launch_list(4, {handle(2), handle(3)});
  launch_list(6, {handle(2), handle(3)});
  auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(values(*trace), ElementsAre(4, 5));
}

TEST_F(RecorderLaunchesTest, KernelsAreSelectedByNameAndNumber) {
  select({}, {"takes_*", "module_increment#2"});
  for (int i = 0; i < 5; ++i) {
    launch(i);
    launch(10 + i, handle(3));
    fill(1);
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(values(*trace), ElementsAre(10, 11, 2, 12, 13, 14));
  EXPECT_THAT(actions<format::Memset>(*trace), IsEmpty());
  EXPECT_THAT(actions<AllocationBegin>(*trace), SizeIs(5)) << "neighbours are one stretch";
}

TEST_F(RecorderLaunchesTest, WhatFollowsAtOnceIsTheSameStretch) {
  select({}, {"takes_struct"});
  launch(1, handle(3));
  launch(2, handle(3));
  launch(3, handle(2));
  launch(4, handle(3));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(values(*trace), ElementsAre(1, 2, 4));
  EXPECT_THAT(actions<AllocationBegin>(*trace), SizeIs(2));
}

TEST_F(RecorderLaunchesTest, RangesAndLaunchesTogetherAreAUnion) {
  select({"1:3"}, {}, {"step"});
  launch(0);
  launch(1);
  const format::RangeId range = recorder_->marks().range_begins("step");
  launch(2);
  launch(3);
  recorder_->marks().range_ends(range);
  launch(4);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(values(*trace), ElementsAre(1, 2, 3));
  EXPECT_THAT(actions<AllocationBegin>(*trace), SizeIs(1));
}

TEST_F(RecorderLaunchesTest, WhatWasNotThereIsNamed) {
  select({"9:10", "1:8"}, {"nothing*", "module_*#7", "module_*#0-9"});
  for (int i = 0; i < 3; ++i) launch(i);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  EXPECT_THAT(findings(*trace, format::FindingKind::kIncomplete),
              ElementsAre("--launches: '9:10' was never entered: the program made 3 launches",
                          "--kernel: 'nothing*' matched no launch; the program made 3 launches",
                          "--kernel: 'module_*#7' matched 3 launches"));
  EXPECT_THAT(findings(*trace, format::FindingKind::kNote),
              ElementsAre("--launches: '1:8' ended with the program, which made 3 launches",
                          "--kernel: 'module_*#0-9' matched 3 launches"));
}

// Launch 1 has begun when launch 0 is the last one that counts, and returns as number 1.
TEST_F(RecorderLaunchesTest, ALaunchThatBeganBeforeItsStretchIsNamed) {
  select({"1:2"});
  launch(5, handle(2), true, [&] { launch(0); });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  EXPECT_THAT(values(*trace), IsEmpty());
  EXPECT_THAT(findings(*trace, format::FindingKind::kIncomplete),
              ElementsAre("--launches: a launch of another thread was in progress when its section "
                          "began; it is not in the trace"));
}

// The other way round: what began in the stretch holds it open.
TEST_F(RecorderLaunchesTest, ALaunchThatBeganInAStretchIsRecordedWhole) {
  select({"0:1"});
  launch(1, handle(2), true, [&] { launch(0); });
  launch(2);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(values(*trace), ElementsAre(0, 1));
}

TEST_F(RecorderLaunchesTest, CapturedLaunchesCountWhenTheirGraphIsLaunched) {
  select({"1:2"});
  recorder_->streams().call_begins();
  recorder_->graphs().capture_begins(handle(10));
  for (int i = 0; i < 3; ++i) {
    recorder_->streams().call_begins(true);
    void* address = a_;
    void* params[] = {&address, &i};
    launch_function({.function = handle(2), .stream = handle(10)}, params);
  }
  recorder_->streams().call_begins();
  state_.nodes = {this, this + 1, this + 2};
  recorder_->graphs().capture_ended(handle(10), handle(20));
  recorder_->executables().instantiated(handle(21), handle(20));
  const auto launch_graph = [&] {
    recorder_->streams().call_begins(true);
    const LaunchCall call{.executable = handle(21)};
    const LaunchTurn turn = recorder_->turns().begins(call);
    Work work;
    recorder_->work().prepare_graph_launch(handle(21), nullptr, work);
    recorder_->commit(work);
    recorder_->turns().ended(call, turn, true);
  };
  launch_graph();  // launches 0 to 2
  launch_graph();
  launch(6);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::GraphLaunch>(*trace), SizeIs(1)) << "whole";
  EXPECT_THAT(values(*trace), IsEmpty());
}

TEST_F(RecorderLaunchesTest, OutsideNothingIsAskedOfTheDevice) {
  select({"4:5"});
  fill(1);
  state_.during_call = [] { FAIL() << "the device was asked"; };
  state_.synchronizes = false;
  EXPECT_TRUE(recorder_->launches().idle());
  for (int i = 0; i < 3; ++i) launch(i);
  EXPECT_TRUE(recorder_->launches().idle());
  state_.during_call = {};
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(trace->events(), IsEmpty());
  EXPECT_THAT(trace->kernels(), IsEmpty());
}

// It stands in one place, also in a replay: it begins once, and gets what changed it between.
TEST_F(RecorderLaunchesTest, VariablesGoOnFromStretchToStretch) {
  uint32_t counter = 3;
  state_.symbol = &counter;
  select({"0:1", "2:3", "4:5"});
  launch(0);
  launch(1);
  counter = 5;
  for (int i = 2; i < 6; ++i) launch(i);
  counter = 6;
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  format::AllocationId variable = 0;
  for (const AllocationBegin& begin : actions<AllocationBegin>(*trace)) {
    if (begin.kind != format::AllocationKind::kModuleGlobal) continue;
    EXPECT_EQ(variable, 0u) << "once";
    variable = begin.id;
  }
  ASSERT_NE(variable, 0u);
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1)) << "where it changed";
  EXPECT_EQ(copies[0].destination.allocation, variable);
  EXPECT_FALSE(copies[0].asynchronous);
  const auto bytes = trace->content(copies[0].host_source);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(static_cast<int>((*bytes)[0]), 5);
  EXPECT_THAT(actions<format::Synchronize>(*trace), SizeIs(2))
      << "behind each stretch but the last";
  uint64_t ends = 0;
  for (const AllocationEnd& end : actions<AllocationEnd>(*trace)) {
    if (end.id != variable) continue;
    ++ends;
    const auto post = trace->content(end.post);
    ASSERT_TRUE(post);
    EXPECT_EQ(static_cast<int>((*post)[0]), 5) << "not what came after the last stretch";
  }
  EXPECT_EQ(ends, 1u);
}

TEST(LaunchInterval, Forms) {
  const auto some = parse_launch_interval("3:7");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->first, 3u);
  EXPECT_EQ(some->end, 7u);
  const auto from = parse_launch_interval("3:");
  ASSERT_TRUE(from);
  EXPECT_EQ(from->end, UINT64_MAX);
  const auto to = parse_launch_interval(":7");
  ASSERT_TRUE(to);
  EXPECT_EQ(to->first, 0u);
  for (const char* wrong : {"", ":", "3", "3-7", "7:3", "3:3", ":0", "a:b", "-1:2", "1:2:3", "1 :2",
                            "99999999999999999999:", "0x1:2"}) {
    EXPECT_FALSE(parse_launch_interval(wrong)) << wrong;
  }
}

TEST(KernelPattern, Forms) {
  const auto all = parse_kernel_pattern("gemm*");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->glob, "gemm*");
  EXPECT_EQ(all->first, 0u);
  EXPECT_EQ(all->last, UINT64_MAX);
  const auto one = parse_kernel_pattern("*#3");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->glob, "*");
  EXPECT_EQ(one->first, 3u);
  EXPECT_EQ(one->last, 3u);
  const auto some = parse_kernel_pattern("a#1#2-10");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->glob, "a#1");
  EXPECT_EQ(some->last, 10u);
  const auto lambda = parse_kernel_pattern("*{lambda()#1}*");
  ASSERT_TRUE(lambda);
  EXPECT_EQ(lambda->glob, "*{lambda()#1}*");
  for (const char* wrong :
       {"", "#1", "a#3-2", "a#1-", "a#1-2-3", "a\nb", "a#99999999999999999999"}) {
    EXPECT_FALSE(parse_kernel_pattern(wrong)) << wrong;
  }
}

TEST(KernelPattern, Names) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a*c*e", "abcde"));
  EXPECT_TRUE(matches_glob("a?c", "abc"));
  EXPECT_TRUE(matches_glob("*ab", "aab"));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
  EXPECT_FALSE(matches_glob("", "a"));
  EXPECT_FALSE(matches_glob("abc*d", "abc"));
  EXPECT_TRUE(matches_glob("int [4]", "int [4]")) << "brackets stand for themselves";
  const std::string gemm = "_ZN2ns4gemmIfEEvPT_i";  // void ns::gemm<float>(float*, int)
  for (const char* glob : {"_ZN2ns4gemmIfEEvPT_i", "void ns::gemm<float>(float*, int)",
                           "ns::gemm<float>", "ns::gemm", "*gemm*", "*::gemm"}) {
    EXPECT_TRUE(matches_kernel(glob, gemm, demangle_trusted(gemm))) << glob;
  }
  EXPECT_FALSE(matches_kernel("gemm", gemm, demangle_trusted(gemm)));
  const std::string hidden = "_ZN12_GLOBAL__N_11fEi";
  EXPECT_TRUE(matches_kernel("(anonymous namespace)::f", hidden, demangle_trusted(hidden)));
  EXPECT_TRUE(matches_kernel("saxpy", "saxpy", "saxpy"));
}

}  // namespace
}  // namespace gfxgraph::recorder

#include "tools/info/range_lint.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/format/fake_trace.h"

namespace gfxgraph::tools {

using namespace ranges;
namespace {

using format::AllocationKind;
using format::MarkerKind;

constexpr format::StreamId kStream = 1;

class RangeLint : public ::testing::Test {
 protected:
  RangeLint() {
    format::Kernel kernel;
    kernel.id = 1;
    kernel.name = "attend";
    kernel.kernarg_size_bytes = kernel.explicit_size_bytes = 4;
    kernel.arguments = {{"position", "by_value", format::ArgumentKind::kByValue, 0, 4}};
    trace_.kernels_ = {kernel};
  }

  void allocate(format::AllocationId id, AllocationKind kind = AllocationKind::kDevice) {
    format::AllocationBegin begin;
    begin.id = id;
    begin.kind = kind;
    begin.recorded_address = id * 65536;
    begin.size_bytes = 4096;
    trace_.add(begin);
  }
  void end_allocation(format::AllocationId id, bool freed = true) {
    format::AllocationEnd end;
    end.id = id;
    end.freed = freed;
    trace_.add(end);
  }
  void launch(uint32_t position = 0, uint32_t grid = 1, format::StreamId stream = kStream) {
    format::Launch launch;
    launch.kernel = 1;
    launch.stream = stream;
    launch.grid = {grid, 1, 1};
    launch.kernarg.resize(4);
    std::memcpy(launch.kernarg.data(), &position, 4);
    trace_.add(launch);
  }
  void step(const auto& fill, const char* name = "decode") {
    const format::RangeId id = ++ranges_;
    trace_.add(format::Marker{name, MarkerKind::kRangeBegin, id, ordinals_[name]++});
    fill();
    trace_.add(format::Marker{name, MarkerKind::kRangeEnd, id});
  }
  std::vector<LintReport> reports() {
    const auto ranges = summarize_ranges(trace_);
    const auto periods = find_periods(trace_);
    auto groups = group_iterations(ranges);
    for (auto& group : group_periods(periods)) groups.push_back(group);
    return lint_steps(trace_, ranges, periods, compare_iterations(trace_, groups).comparisons);
  }
  // "category what count@first" of the only report.
  std::vector<std::string> lines() {
    const auto all = reports();
    EXPECT_EQ(all.size(), 1u);
    std::vector<std::string> result;
    for (const LintLine& line : all.at(0).lines) {
      result.push_back(line.category + ", " + line.what + ", " + std::to_string(line.count) + "@" +
                       std::to_string(line.first_event));
    }
    return result;
  }

  format::testing::FakeTrace trace_;
  format::RangeId ranges_ = 0;
  std::map<std::string, uint32_t> ordinals_;
};

using Lines = std::vector<std::string>;

TEST_F(RangeLint, AnEmptyTraceHasAnEmptyReport) {
  const auto all = reports();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, LintReport::Kind::kTrace);
  EXPECT_TRUE(all[0].lines.empty());
}

TEST_F(RangeLint, CleanSteps) {
  allocate(1);
  launch();
  for (int i = 0; i < 3; ++i) step([&] { launch(); });
  EXPECT_EQ(lines(), Lines{});
  const auto all = reports();
  EXPECT_EQ(all[0].iterations, 3u);
  EXPECT_EQ(all[0].launches, 3u);
  EXPECT_TRUE(all[0].compared);
}

TEST_F(RangeLint, WaitsAndBlockingCopies) {
  allocate(1);
  launch();
  const auto wait = [&](format::SynchronizeKind kind, const char* call) {
    trace_.add(format::Synchronize{kind, 0, call});
  };
  for (int i = 0; i < 2; ++i) {
    step([&] {
      launch();
      wait(format::SynchronizeKind::kStream, "hipStreamSynchronize");
      wait(format::SynchronizeKind::kHostFunction, "");
      wait(format::SynchronizeKind::kDevice, "");
      trace_.add(format::Copy{});
      trace_.add(format::Memset{});
    });
  }
  wait(format::SynchronizeKind::kDevice, "hipDeviceSynchronize");  // in no range
  EXPECT_EQ(
      lines(),
      (Lines{"blocking_copy, blocking copy, 2@7", "blocking_copy, blocking memset, 2@8",
             "synchronization, hipStreamSynchronize, 2@4", "synchronization, wait of the host, 2@6",
             "pageable_copy, copy from pageable host memory, 2@7",
             "pageable_copy, copy to pageable host memory, 2@7"}));
}

// hipMemcpyAsync with pageable memory waits outside of a capture only.
TEST_F(RangeLint, PageableCopiesOnAStreamDoNotBreakTheCapture) {
  allocate(1);
  launch();
  step([&] {
    format::Copy copy;
    copy.stream = kStream;
    copy.destination.allocation = 1;
    trace_.add(copy);
    copy.source_is_pinned = true;  // it was asked to block
    trace_.add(copy);
    copy.asynchronous = true;
    trace_.add(copy);
    copy.asynchronous = copy.source_is_pinned = false;
    copy.source.allocation = 1;  // none of the host's memory: as the second one
    trace_.add(copy);
  });
  EXPECT_EQ(lines(), (Lines{"blocking_copy, blocking copy, 2@4",
                            "pageable_copy, copy from pageable host memory, 1@3"}));
}

TEST_F(RangeLint, MemoryAndModules) {
  allocate(1);
  launch();
  step([&] {
    allocate(2);
    allocate(3, AllocationKind::kStreamOrdered);
    allocate(4, AllocationKind::kModuleGlobal);
    allocate(5, AllocationKind::kHostPinned);
    allocate(6, AllocationKind::kHostRegistered);
    for (format::AllocationId id = 2; id <= 6; ++id) end_allocation(id);
  });
  end_allocation(1);
  EXPECT_EQ(
      lines(),
      (Lines{"allocation, allocation of device memory, 1@3",
             "allocation, allocation of pinned memory, 1@6",
             "allocation, registration of host memory, 1@7", "free, end of a registration, 1@12",
             "free, free of device memory, 1@8", "free, free of pinned memory, 1@11",
             "module_load, variable of a module that is loaded or first used, 1@5",
             "module_load, variable of a module that is unloaded, 1@10",
             "allocation, stream-ordered allocation, 1@4", "free, stream-ordered free, 1@9"}));
}

// As a recorder of ranges writes it: nobody allocates there.
TEST_F(RangeLint, MemoryThatBeginsWithARecordedRangeIsNoAllocation) {
  for (format::AllocationId id : {1u, 2u}) {
    step([&] {
      allocate(id);
      launch();
      end_allocation(id, false);
    });
  }
  EXPECT_EQ(lines(), Lines{});
}

TEST_F(RangeLint, TheNullStreamAndHostFunctions) {
  allocate(1);
  launch();
  step([&] {
    launch(0, 1, 0);
    format::Copy copy;
    copy.asynchronous = true;
    copy.source.allocation = copy.destination.allocation = 1;
    trace_.add(copy);
    trace_.add(format::HostFunction{kStream, "hipLaunchHostFunc", 1});
    trace_.add(format::HostFunction{kStream, "hipStreamAddCallback", 2});
    trace_.add(format::HostWrite{});
  });
  EXPECT_EQ(lines(), (Lines{"host_function, hipStreamAddCallback, 1@6",
                            "null_stream, work on the null stream, 2@3",
                            "host_write, host write to memory of the device, 1@7",
                            "host_function, hipLaunchHostFunc, 1@5"}));
}

TEST_F(RangeLint, WhatChanges) {
  allocate(1);
  launch();
  for (uint32_t i = 0; i < 3; ++i) {
    step([&] {
      launch(i);
      launch(i, 1 + i);
      format::Memset set;
      set.asynchronous = true;
      set.stream = kStream;
      set.value = i * i;
      trace_.add(set);
    });
  }
  EXPECT_EQ(lines(),
            (Lines{"changing_argument, arguments that change: position (step), 2@3",
                   "changing_shape, grids, blocks or LDS that change: attend grid x (step), 1@4",
                   "changing_copy, copies or memsets that change: memset value (free), 1@5"}));
}

TEST_F(RangeLint, IterationsOfDifferentWork) {
  allocate(1);
  launch();
  for (const int launches : {2, 2, 3, 2, 5}) {
    step([&] {
      for (int i = 0; i < launches; ++i) launch();
    });
  }
  EXPECT_EQ(lines(), (Lines{"changing_work, iterations of different work, 2 to 5 launches, 3@10"}));
}

TEST_F(RangeLint, FirstLaunchesMayLoadCode) {
  allocate(1);
  step([&] { launch(); });
  step([&] { launch(); });
  EXPECT_EQ(lines(), (Lines{"first_launch, first launch of a kernel, 1@2"}));
}

TEST_F(RangeLint, EachNameHasAReportAndOverlapsCountOnce) {
  allocate(1);
  launch();
  const auto mark = [&](const char* name, MarkerKind kind, format::RangeId id) {
    trace_.add(format::Marker{name, kind, id, 0});
  };
  mark("a", MarkerKind::kRangeBegin, 1);
  mark("b", MarkerKind::kRangeBegin, 2);
  mark("a", MarkerKind::kRangeBegin, 3);
  trace_.add(format::Synchronize{format::SynchronizeKind::kDevice, 0, "hipDeviceSynchronize"});
  mark("a", MarkerKind::kRangeEnd, 1);
  trace_.add(format::Synchronize{format::SynchronizeKind::kDevice, 0, "hipDeviceSynchronize"});
  mark("a", MarkerKind::kRangeEnd, 3);
  launch();  // b was not left
  const auto all = reports();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].iterations, 2u);
  ASSERT_EQ(all[0].lines.size(), 1u);
  EXPECT_EQ(all[0].lines[0].count, 2u);
  ASSERT_EQ(all[1].lines.size(), 1u);
  EXPECT_EQ(all[1].lines[0].count, 2u);
  EXPECT_EQ(all[1].launches, 1u);
  EXPECT_FALSE(all[1].compared);
}

TEST_F(RangeLint, WithoutRangesPeriodsAndTheTrace) {
  allocate(1);
  format::Launch other;
  other.kernel = 2;
  other.stream = kStream;
  for (uint32_t i = 0; i < 4; ++i) {
    launch(i);
    trace_.add(other);
    trace_.add(format::Synchronize{format::SynchronizeKind::kStream, 0, "hipStreamSynchronize"});
  }
  const auto all = reports();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, LintReport::Kind::kPeriod);
  EXPECT_EQ(all[0].iterations, 4u);
  ASSERT_EQ(all[0].lines.size(), 3u);
  EXPECT_EQ(all[0].lines[0].count, 3u) << "the last wait stands behind the last repetition";
  EXPECT_EQ(all[0].lines[1].category, "changing_argument");
  EXPECT_EQ(all[1].kind, LintReport::Kind::kTrace);
  ASSERT_EQ(all[1].lines.size(), 3u);
  EXPECT_EQ(all[1].lines[0].category, "allocation");
  EXPECT_EQ(all[1].lines[1].count, 4u);
}

// Names of calls come from the file.
TEST_F(RangeLint, ManyCallsAreOneLine) {
  for (int i = 0; i < 1000; ++i) {
    trace_.add(
        format::Synchronize{format::SynchronizeKind::kDevice, 0, "call" + std::to_string(i)});
  }
  const auto all = reports();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_LT(all[0].lines.size(), 100u);
  uint64_t sum = 0;
  for (const LintLine& line : all[0].lines) sum += line.count;
  EXPECT_EQ(sum, 1000u);
}

TEST_F(RangeLint, CountsCallsByWhereTheyStand) {
  const auto wait = [&](format::SiteId site) {
    trace_.add(format::Synchronize{format::SynchronizeKind::kDevice, 0, "hipDeviceSynchronize"});
    trace_.events_.back().site = site;
  };
  wait(3);  // outside
  for (int i = 0; i < 2; ++i) {
    step([&] {
      launch();
      wait(1);
      wait(2);
      wait(2);
      wait(0);
      format::AllocationBegin begin;
      begin.id = static_cast<format::AllocationId>(10 + i);
      begin.size_bytes = 64;
      begin.site = 3;
      trace_.add(begin);
      trace_.events_.back().site = 1;
    });
  }
  const auto all = reports();
  ASSERT_EQ(all.size(), 1u);
  std::map<std::string, std::vector<std::pair<format::SiteId, uint64_t>>> sites;
  for (const LintLine& line : all[0].lines) {
    for (const LintSite& site : line.sites) sites[line.category].push_back({site.site, site.count});
  }
  using Sites = std::vector<std::pair<format::SiteId, uint64_t>>;
  EXPECT_EQ(sites["synchronization"], (Sites{{2, 4}, {1, 2}})) << "those with most calls first";
  EXPECT_EQ(sites["first_launch"], Sites{});
}

}  // namespace
}  // namespace gfxgraph::tools

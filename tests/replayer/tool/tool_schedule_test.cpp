#include "replayer/tool/schedule.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "emulator/decode/memory_effects.h"

namespace gfxgraph::replayer {
namespace {

// Two buffers and a copy. From operation 5 on, buffer 2 depends on the number of threads.
Result<Fingerprints> racy(const ProbeRequest& request) {
  Fingerprints runs;
  for (uint32_t i = 0; i < request.runs; ++i) {
    runs.push_back({{1, 1}, {2, request.operations > 5 ? request.threads : 0}, {3, 3}});
  }
  return runs;
}

VerifyReport report_of(bool first_differs, bool second_differs) {
  VerifyReport report;
  for (const bool differs : {first_differs, second_differs}) {
    BufferResult buffer;
    buffer.allocation = static_cast<format::AllocationId>(report.buffers.size() + 1);
    buffer.comparison = differs ? Comparison::kDifferent : Comparison::kIdentical;
    report.different += differs ? 1 : 0;
    report.buffers.push_back(buffer);
  }
  report.copies.push_back({});
  report.copies[0].comparison = Comparison::kIdentical;
  return report;
}

TEST(Schedule, NamesTheOperationAfterWhichBytesDependOnTheSchedule) {
  const ScheduleReport report = compare_schedules(racy, report_of(false, true), 2, 20);
  EXPECT_EQ(report.varying, std::vector<format::AllocationId>{2});
  EXPECT_EQ(report.varying_copies, 0u);
  EXPECT_TRUE(report.explains);
  EXPECT_EQ(report.operation, 5u);
}

TEST(Schedule, DoesNotExcuseOtherBuffers) {
  const ScheduleReport report = compare_schedules(racy, report_of(true, true), 2, 20);
  EXPECT_FALSE(report.explains);
  EXPECT_EQ(report.operation, 5u);
}

TEST(Schedule, WhatVariesSeldomIsFoundWithMoreRuns) {
  uint32_t made = 0;
  const Probe seldom = [&](const ProbeRequest& request) -> Result<Fingerprints> {
    Fingerprints runs;
    for (uint32_t i = 0; i < request.runs; ++i) {
      const bool counts = request.operations > 5 && request.elsewhere == Elsewhere::kNothing;
      const bool varies = counts && ++made % 11 == 0;
      runs.push_back({{1, 1}, {2, varies ? 1u : 0u}, {3, 3}});
    }
    return runs;
  };
  const ScheduleReport report = compare_schedules(seldom, report_of(false, true), 2, 20);
  EXPECT_TRUE(report.explains);
  EXPECT_GE(report.runs, 11u);
  EXPECT_EQ(report.operation, 5u);
}

TEST(Schedule, SameBytesExcuseNothing) {
  const ScheduleReport report = compare_schedules(racy, report_of(false, true), 2, 5);
  EXPECT_TRUE(report.varying.empty());
  EXPECT_FALSE(report.explains);
  EXPECT_FALSE(report.operation);
}

// From operation 5 on, buffer 2 holds an address of host memory, which is another one in each
// process.
Result<Fingerprints> host_address(const ProbeRequest& request) {
  const bool elsewhere = request.elsewhere == Elsewhere::kHostMemory;
  const uint64_t address = request.threads + (elsewhere ? 1000 : 0);
  return Fingerprints(request.runs, {{1, 1}, {2, request.operations > 5 ? address : 0}, {3, 3}});
}

TEST(Schedule, AnAddressOfHostMemoryIsNoOrderOfWorkgroups) {
  const ScheduleReport report = compare_schedules(host_address, report_of(false, true), 2, 20);
  EXPECT_TRUE(report.varying.empty());
  EXPECT_FALSE(report.operation);
  EXPECT_EQ(report.host_addresses.buffers, std::vector<format::AllocationId>{2});
  EXPECT_EQ(report.host_addresses.operation, 5u);
  EXPECT_TRUE(report.buffer_addresses.empty());
  EXPECT_TRUE(report.explains);
  EXPECT_TRUE(report.complete);
  EXPECT_FALSE(compare_schedules(host_address, report_of(true, true), 2, 20).complete);
}

TEST(Schedule, AnAddressOfABufferIsNotTheProgramsOwnDoing) {
  const Probe probe = [](const ProbeRequest& request) -> Result<Fingerprints> {
    const bool elsewhere = request.elsewhere == Elsewhere::kBuffers && request.operations > 5;
    return Fingerprints(request.runs, {{1, 1}, {2, elsewhere ? 1u : 0u}, {3, 3}});
  };
  const ScheduleReport report = compare_schedules(probe, report_of(false, true), 2, 20);
  EXPECT_TRUE(report.varying.empty());
  EXPECT_TRUE(report.host_addresses.empty());
  EXPECT_EQ(report.buffer_addresses.buffers, std::vector<format::AllocationId>{2});
  EXPECT_EQ(report.buffer_addresses.operation, 5u);
  EXPECT_FALSE(report.explains);
  EXPECT_TRUE(report.complete);
}

TEST(Schedule, WhatVariesInOneProcessIsTheOrderOfWorkgroups) {
  uint64_t made = 0;
  const Probe probe = [&](const ProbeRequest& request) -> Result<Fingerprints> {
    Fingerprints runs;
    for (uint32_t i = 0; i < request.runs; ++i) {
      const bool elsewhere = request.elsewhere == Elsewhere::kHostMemory;
      const uint64_t order = request.threads > 1 ? ++made : 0;
      runs.push_back({{1, 1}, {2, order + (elsewhere ? 1000 : 0)}, {3, 3}});
    }
    return runs;
  };
  const ScheduleReport report = compare_schedules(probe, report_of(false, true), 2, 20);
  EXPECT_EQ(report.varying, std::vector<format::AllocationId>{2});
  EXPECT_TRUE(report.host_addresses.empty());
  EXPECT_TRUE(report.explains);
}

TEST(Schedule, TheCauseIsWhatTheKernelsCodeHas) {
  using namespace emulator::memory_effect;  // NOLINT: its bits
  const std::string either = "atomics or a data race";
  EXPECT_EQ(cause_name(kStores), std::string("a data race"));
  EXPECT_EQ(cause_name(kAtomics | kFloatAtomics), std::string("floating-point atomics"));
  EXPECT_EQ(cause_name(kAtomics | kReturningAtomics), std::string("atomics"));
  EXPECT_EQ(cause_name(kAtomics | kReturningAtomics | kStores), either);
  EXPECT_EQ(cause_name(kAtomics | kFloatAtomics | kStores), either);
  EXPECT_EQ(cause_name(kAtomics), either) << "their sum is the same in any order";
  EXPECT_EQ(cause_name(kStores | kOther), either);
  EXPECT_EQ(cause_name(kAtomics | kFloatAtomics | kOther), either);
  EXPECT_EQ(cause_name(0), either);
}

TEST(Schedule, CopiesAreComparedBehindTheBuffers) {
  VerifyReport report = report_of(false, false);
  report.copies[0].comparison = Comparison::kDifferent;
  EXPECT_FALSE(compare_schedules(racy, report, 2, 20).explains);
}

TEST(Schedule, ProbesRunInProcessesOfTheirOwn) {
  auto server = ProbeServer::start([](const ProbeRequest& request) -> Result<Fingerprints> {
    const char* const threads = std::getenv("GFXGRAPH_THREADS");
    if (request.operations == 7) std::abort();
    if (request.operations == 8) return fail(Status::kDevice, "no");
    const uint64_t count = threads == nullptr ? 0 : std::strtoull(threads, nullptr, 10);
    const std::vector<format::BlobId> run = {format::BlobId{count, request.operations}};
    return Fingerprints(request.runs, run);
  });
  ASSERT_TRUE(server);
  const auto runs = server->run({3, 2, 5});
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[1], (std::vector<format::BlobId>{{3, 5}}));
  EXPECT_FALSE(server->run({1, 1, 8}));
  EXPECT_TRUE(server->run({1, 1, 5}));
  EXPECT_FALSE(server->run({1, 1, 7}));
  EXPECT_FALSE(server->run({1, 1, 5})) << "a probe that died ends the server";
}

}  // namespace
}  // namespace gfxgraph::replayer

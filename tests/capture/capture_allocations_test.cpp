// Each allocation that the layer makes fails once, through all of its hooks, in front of a fake
// runtime whose own allocations do not (fake_hip/): calls return errors, a capture that lost work
// does not end with a graph, and everything works afterwards.
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>
#undef __noinline__

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fake_hip/fake_hip.h"
#include "tests/support/allocations.h"

namespace gfxgraph::capture::testing {
namespace {

const int kKernel = 0;  // the fake knows it by its arguments only

class Program {
 public:
  Program() {
    pause_with(gfxgraph::testing::pause_failing_allocations);
    for (hipStream_t* stream : {&first_, &second_})
      EXPECT_EQ(hipStreamCreateWithFlags(stream, hipStreamNonBlocking), hipSuccess);
    for (hipEvent_t* event : {&forked_, &joined_})
      EXPECT_EQ(hipEventCreateWithFlags(event, hipEventDisableTiming), hipSuccess);
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hipStreamBeginCapture(first_, hipStreamCaptureModeGlobal), hipSuccess);
    EXPECT_EQ(launch(first_, 0, 1), hipSuccess);
    EXPECT_EQ(hipStreamEndCapture(first_, &graph), hipSuccess);
    EXPECT_EQ(hipGraphInstantiate(&child_, graph, nullptr, nullptr, 0), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
  }
  ~Program() {
    EXPECT_EQ(hipGraphExecDestroy(child_), hipSuccess);
    for (const hipEvent_t event : {forked_, joined_}) EXPECT_EQ(hipEventDestroy(event), hipSuccess);
    for (const hipStream_t stream : {first_, second_})
      EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // What its calls returned, in their order; the last one is hipStreamEndCapture's. data[0] + 5,
  // data[1] = 0 and then + 8.
  const std::vector<hipError_t>& capture(hipGraph_t& graph) {
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    hipGraph_t live = nullptr;
    const hipGraphNode_t* last = nullptr;
    size_t count = 0;
    graph = nullptr;
    results_.clear();
    add(hipStreamBeginCapture(first_, hipStreamCaptureModeGlobal));
    add(launch(first_, 0, 4));
    add(hipEventRecord(forked_, first_));
    add(hipStreamWaitEvent(second_, forked_, 0));
    add(hipMemsetAsync(data_ + 1, 0, sizeof(int), second_));
    add(launch(second_, 1, 8));
    add(hipEventRecord(joined_, second_));
    add(hipStreamWaitEvent(first_, joined_, 0));
    add(hipGraphLaunch(child_, first_));
    add(hipStreamGetCaptureInfo_v2(first_, &status, nullptr, &live, &last, &count));
    hipGraphNode_t again[kMostLast] = {};
    EXPECT_LE(count, kMostLast);
    std::copy_n(last, std::min(count, kMostLast), again);
    add(hipStreamUpdateCaptureDependencies(first_, again, count, hipStreamSetCaptureDependencies));
    add(hipStreamEndCapture(first_, &graph));
    return results_;
  }
  // Twice, and destroyed.
  void run(hipGraph_t graph) {
    hipGraphExec_t executable = nullptr;
    data_[0] = data_[1] = 0;
    EXPECT_EQ(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(hipGraphLaunch(executable, first_), hipSuccess);
    EXPECT_EQ(hipGraphExecDestroy(executable), hipSuccess);
    EXPECT_EQ(data_[0], 10);
    EXPECT_EQ(data_[1], 8);
  }

 private:
  static constexpr size_t kMostLast = 4;
  void add(hipError_t result) { results_.push_back(result); }
  hipError_t launch(hipStream_t stream, int to, int value) {
    int* const address = data_ + to;
    void* params[] = {const_cast<int**>(&address), &value};
    return hipLaunchKernel(&kKernel, dim3(1), dim3(1), params, 0, stream);
  }

  int data_[2] = {};
  hipStream_t first_ = nullptr, second_ = nullptr;
  hipEvent_t forked_ = nullptr, joined_ = nullptr;
  hipGraphExec_t child_ = nullptr;
  std::vector<hipError_t> results_ = std::vector<hipError_t>(16);  // allocated once
};

TEST(CaptureAllocations, EachMayFailOnce) {
  Program program;
  hipGraph_t graph = nullptr;
  program.run((program.capture(graph), graph));
  int told = 0;
  bool reached = true;
  for (int64_t n = 1; reached; ++n) {
    gfxgraph::testing::fail_allocation(n, gfxgraph::testing::OfThreads::kThis);
    const std::vector<hipError_t>& results = program.capture(graph);
    reached = gfxgraph::testing::stop_failing_allocations();
    const auto failed =
        std::ranges::count_if(results, [](hipError_t one) { return one != hipSuccess; });
    // Dependencies that could not be set are as before: nothing is lost.
    const bool lost = failed != (results[results.size() - 2] == hipErrorOutOfMemory ? 1 : 0);
    EXPECT_EQ(results.back() == hipSuccess, !lost) << n << ::testing::PrintToString(results);
    EXPECT_EQ(results.back() == hipSuccess, graph != nullptr) << n;
    told += lost ? 1 : 0;
    if (graph != nullptr) program.run(graph);
    // The same program, with memory.
    const std::vector<hipError_t>& later = program.capture(graph);
    EXPECT_EQ(later, std::vector<hipError_t>(later.size(), hipSuccess)) << n;
    if (graph != nullptr) program.run(graph);
  }
  EXPECT_GE(told, 8);
}

// What an executable graph holds may be forgotten for want of memory; then it is refused as a child
// of a capture, and runs as ever.
TEST(CaptureAllocations, InstantiationNeedsNone) {
  Program program;
  bool reached = true;
  for (int64_t n = 1; reached; ++n) {
    hipGraph_t graph = nullptr;
    (void)program.capture(graph);
    ASSERT_NE(graph, nullptr);
    gfxgraph::testing::fail_allocation(n, gfxgraph::testing::OfThreads::kThis);
    program.run(graph);
    reached = gfxgraph::testing::stop_failing_allocations();
  }
}

}  // namespace
}  // namespace gfxgraph::capture::testing

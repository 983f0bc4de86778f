// Threads that capture and launch graphs at once, through all of the layer: its hooks are this
// program's functions, and behind them stands a fake runtime (fake_hip/). Values are compared; the
// thread sanitizer looks at the layer's own data.
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>
#undef __noinline__

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/hip_quirks.h"
#include "fake_hip/fake_hip.h"

namespace gfxgraph::capture::testing {
namespace {

constexpr int kThreads = 8;
constexpr int kRounds = 25;

// The fake knows it by its arguments only.
const int kKernel = 0;

bool takes_turns() {
  int version = 0;
  (void)hipRuntimeGetVersion(&version);
  return hip_quirk_avoided(HipQuirk::kGraphKernelsMix, version);
}

void run_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& one : threads) one.join();
}

// What one thread works with. Threads share nothing but the layer.
class Worker {
 public:
  explicit Worker(int number) : number_(number) {
    void* memory = nullptr;
    EXPECT_EQ(hipMalloc(&memory, 2 * sizeof(int)), hipSuccess);
    data_ = static_cast<int*>(memory);
    data_[0] = data_[1] = 0;
    for (hipStream_t* stream : {&first_, &second_})
      EXPECT_EQ(hipStreamCreateWithFlags(stream, hipStreamNonBlocking), hipSuccess);
    for (hipEvent_t* event : {&forked_, &joined_})
      EXPECT_EQ(hipEventCreateWithFlags(event, hipEventDisableTiming), hipSuccess);
  }
  ~Worker() {
    if (child_ != nullptr) {
      EXPECT_EQ(hipGraphExecDestroy(child_), hipSuccess);
    }
    for (const hipEvent_t event : {forked_, joined_}) EXPECT_EQ(hipEventDestroy(event), hipSuccess);
    for (const hipStream_t stream : {first_, second_})
      EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    EXPECT_EQ(hipFree(data_), hipSuccess);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void launch(hipStream_t stream, int to, int value) {
    int* const address = data_ + to;
    void* params[] = {const_cast<int**>(&address), &value};
    EXPECT_EQ(hipLaunchKernel(&kKernel, dim3(1), dim3(1), params, 0, stream), hipSuccess);
  }
  void begin() {
    // One thread captures in the mode that concerns all others: who is relaxed has no part in it.
    const hipStreamCaptureMode mode =
        number_ == 0 ? hipStreamCaptureModeGlobal : hipStreamCaptureModeThreadLocal;
    EXPECT_EQ(hipStreamBeginCapture(first_, mode), hipSuccess);
  }
  hipGraphExec_t instantiate(hipGraph_t graph) {
    hipGraphExec_t executable = nullptr;
    EXPECT_EQ(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), hipSuccess);
    return executable;
  }

  // data[0] + n, data[1] set to 0 and then + n on another stream; and, if there is one, the graph
  // of an earlier round, which adds n to data[0], too.
  hipGraph_t capture_fork() {
    begin();
    launch(first_, 0, number_);
    EXPECT_EQ(hipEventRecord(forked_, first_), hipSuccess);
    EXPECT_EQ(hipStreamWaitEvent(second_, forked_, 0), hipSuccess);
    EXPECT_EQ(hipMemsetAsync(data_ + 1, 0, sizeof(int), second_), hipSuccess);
    launch(second_, 1, number_);
    EXPECT_EQ(hipEventRecord(joined_, second_), hipSuccess);
    EXPECT_EQ(hipStreamWaitEvent(first_, joined_, 0), hipSuccess);
    if (child_ != nullptr) {
      EXPECT_EQ(hipGraphLaunch(child_, first_), hipSuccess);
    }
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hipStreamEndCapture(first_, &graph), hipSuccess);
    return graph;
  }

  void round() {
    const int before = data_[0];
    hipGraph_t graph = capture_fork();
    const int of_graph = child_ == nullptr ? number_ : 2 * number_;
    const hipGraphExec_t executable = instantiate(graph);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);  // lives on as long as `executable`
    for (int i = 0; i < 2; ++i) EXPECT_EQ(hipGraphLaunch(executable, first_), hipSuccess);
    EXPECT_EQ(data_[0], before + 2 * of_graph) << "thread " << number_;
    EXPECT_EQ(data_[1], number_) << "thread " << number_;

    // A graph of the program's own, changed between: other graphs that live are cloned.
    hipGraph_t own = nullptr;
    EXPECT_EQ(hipGraphCreate(&own, 0), hipSuccess);
    add_own(own);
    const hipGraphExec_t added = instantiate(own);
    add_own(own);
    EXPECT_EQ(hipGraphLaunch(added, first_), hipSuccess);
    EXPECT_EQ(data_[0], before + 2 * of_graph + number_);
    hipGraphExecUpdateResult outcome = hipGraphExecUpdateError;
    hipGraphNode_t at = nullptr;
    EXPECT_EQ(hipGraphExecUpdate(added, own, &at, &outcome), hipSuccess);
    EXPECT_EQ(hipGraphLaunch(added, first_), hipSuccess);
    EXPECT_EQ(data_[0], before + 2 * of_graph + 3 * number_);
    EXPECT_EQ(hipGraphDestroy(own), hipSuccess);
    EXPECT_EQ(hipGraphExecDestroy(added), hipSuccess);
    EXPECT_EQ(hipGraphExecDestroy(executable), hipSuccess);
    if (child_ == nullptr) make_child();
    refused();
  }

 private:
  void add_own(hipGraph_t graph) {
    int* const address = data_;
    void* params[] = {const_cast<int**>(&address), &number_};
    hipKernelNodeParams kernel = {};
    kernel.func = const_cast<int*>(&kKernel);
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = params;
    hipGraphNode_t node = nullptr;
    EXPECT_EQ(hipGraphAddKernelNode(&node, graph, nullptr, 0, &kernel), hipSuccess);
  }
  void make_child() {
    begin();
    launch(first_, 0, number_);
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hipStreamEndCapture(first_, &graph), hipSuccess);
    child_ = instantiate(graph);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
  }
  // A capture that another call ends: an error at the end, and the stream is as before.
  void refused() {
    begin();
    launch(first_, 0, 1000);
    EXPECT_EQ(hipStreamQuery(first_), hipErrorStreamCaptureUnsupported);
    EXPECT_EQ(hipGetLastError(), hipErrorStreamCaptureUnsupported);
    hipGraph_t graph = nullptr;
    EXPECT_EQ(hipStreamEndCapture(first_, &graph), hipErrorStreamCaptureInvalidated);
    hipStreamCaptureStatus status = hipStreamCaptureStatusActive;
    EXPECT_EQ(hipStreamIsCapturing(first_, &status), hipSuccess);
    EXPECT_EQ(status, hipStreamCaptureStatusNone);
  }

  int number_;
  int* data_ = nullptr;
  hipStream_t first_ = nullptr, second_ = nullptr;
  hipEvent_t forked_ = nullptr, joined_ = nullptr;
  hipGraphExec_t child_ = nullptr;
};

TEST(CaptureThreads, EachGraphIsTheWorkOfItsThread) {
  run_threads(kThreads, [](int number) {
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    if (number != 0) {
      EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess);
    }
    Worker worker(number);
    for (int i = 0; i < kRounds; ++i) worker.round();
  });
  if (takes_turns()) {
    EXPECT_FALSE(mixed()) << "two threads were in calls on graphs that this HIP mixes";
  }
}

// The twin: where the runtime mixes nothing, launches of graphs are not held up.
TEST(CaptureThreads, LaunchesStayConcurrentWhereTheRuntimeMixesNothing) {
  if (takes_turns()) GTEST_SKIP() << "threads take turns on this version";
  meet_in_launches(2);
  run_threads(2, [](int number) {
    Worker worker(number + 1);
    hipGraph_t graph = worker.capture_fork();
    const hipGraphExec_t executable = worker.instantiate(graph);
    EXPECT_EQ(hipGraphLaunch(executable, nullptr), hipSuccess);
    EXPECT_EQ(hipGraphExecDestroy(executable), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
  });
  meet_in_launches(0);
  EXPECT_EQ(went_on_alone(), 0);
  EXPECT_TRUE(mixed());
}

}  // namespace
}  // namespace gfxgraph::capture::testing

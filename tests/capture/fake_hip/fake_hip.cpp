// A fake of the HIP runtime for tests of the capture layer: a library behind it, as the runtime is.
// "Kernels" are known by two arguments, an int* and an int, and add the one to what the other
// points to. Work is done at once, by who gives it. Graphs do what they hold in the order in which
// it was added. FAKE_HIP_VERSION is what hipRuntimeGetVersion answers.
#include "fake_hip.h"

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using Work = std::function<void()>;

void (*pause_failing)(bool paused) noexcept = nullptr;

// The fake's own allocations do not fail.
class Allocating {
 public:
  Allocating() {
    if (depth++ == 0) pause(true);
  }
  ~Allocating() {
    if (--depth == 0) pause(false);
  }

 private:
  static void pause(bool paused) {
    if (pause_failing != nullptr) pause_failing(paused);
  }
  static thread_local int depth;
};
thread_local int Allocating::depth = 0;

std::atomic<int> in_kernels{0};
std::atomic<bool> were_mixed{false};

// Around a call that HIP 5 mixes with others of its kind.
class MixedCall {
 public:
  MixedCall() {
    if (++in_kernels > 1) were_mixed = true;
    std::this_thread::yield();
  }
  ~MixedCall() { --in_kernels; }
};

std::mutex meeting;
std::condition_variable met;
int wanted = 0, there = 0, round_of_meeting = 0, alone = 0;

void meet() {
  std::unique_lock lock(meeting);
  if (wanted == 0) return;
  const int round = round_of_meeting;
  if (++there == wanted) {
    there = 0;
    ++round_of_meeting;
    met.notify_all();
    return;
  }
  if (met.wait_for(lock, std::chrono::seconds(30), [&] { return round_of_meeting != round; }))
    return;
  --there;
  ++alone;
}

bool is_hip_5() {
  int version = 0;
  (void)hipRuntimeGetVersion(&version);
  return version < 60000000;
}

Work added(void** params) {
  return [to = *static_cast<int**>(params[0]), value = *static_cast<int*>(params[1])] {
    *to += value;
  };
}

// As a node of a graph. HIP 5 keeps the arguments of a kernel with the kernel, whose they are: what
// another thread launches meanwhile takes their place.
std::atomic<int*> kept_to{nullptr};
std::atomic<int> kept_value{0};

Work added_in_graph(void** params) {
  if (!is_hip_5()) return added(params);
  return [to = *static_cast<int**>(params[0]), value = *static_cast<int*>(params[1])] {
    kept_to = to;
    kept_value = value;
    std::this_thread::yield();
    std::atomic_ref<int>(*kept_to).fetch_add(kept_value);
  };
}

}  // namespace

namespace gfxgraph::capture::testing {

void pause_with(void (*pause)(bool paused) noexcept) noexcept { pause_failing = pause; }
bool mixed() noexcept { return were_mixed; }
void meet_in_launches(int threads) noexcept {
  const std::lock_guard lock(meeting);
  wanted = threads;
}
int went_on_alone() noexcept {
  const std::lock_guard lock(meeting);
  return alone;
}

}  // namespace gfxgraph::capture::testing

// HIP declares these names and tells nothing of them.
struct hipGraphNode {
  Work work;
  std::vector<hipGraphNode_t> after, dependents;
};
struct ihipGraph {
  std::vector<std::unique_ptr<hipGraphNode>> nodes;
};
struct hipGraphExec {
  std::vector<Work> work;
};

namespace {

hipError_t add(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after, size_t count,
               Work work) {
  const Allocating here;
  auto made = std::make_unique<hipGraphNode>();
  made->work = std::move(work);
  for (size_t i = 0; i < count; ++i) {
    made->after.push_back(after[i]);
    after[i]->dependents.push_back(made.get());
  }
  *node = made.get();
  graph->nodes.push_back(std::move(made));
  return hipSuccess;
}

std::vector<Work> all_of(const ihipGraph& graph) {
  std::vector<Work> all;
  for (const auto& node : graph.nodes)
    if (node->work) all.push_back(node->work);
  return all;
}

hipError_t give(hipGraphNode_t* nodes, size_t* count, const std::vector<hipGraphNode_t>& all) {
  if (nodes != nullptr) std::copy_n(all.begin(), std::min(*count, all.size()), nodes);
  *count = all.size();
  return hipSuccess;
}

}  // namespace

extern "C" {

hipError_t hipRuntimeGetVersion(int* version) {
  const char* const text = std::getenv("FAKE_HIP_VERSION");
  *version = text == nullptr ? 60300000 : std::atoi(text);
  return hipSuccess;
}
hipError_t hipGetLastError() { return hipSuccess; }
hipError_t hipPeekAtLastError() { return hipSuccess; }

hipError_t hipMalloc(void** address, size_t bytes) {
  *address = std::calloc(1, bytes);
  return hipSuccess;
}
hipError_t hipFree(void* address) {
  std::free(address);
  return hipSuccess;
}

// Handles of streams and events are memory of the size of one byte.
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int) {
  *stream = static_cast<hipStream_t>(std::malloc(1));
  return hipSuccess;
}
hipError_t hipStreamDestroy(hipStream_t stream) {
  std::free(stream);
  return hipSuccess;
}
hipError_t hipStreamGetFlags(hipStream_t, unsigned int* flags) {
  *flags = hipStreamNonBlocking;
  return hipSuccess;
}
hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned int) { return hipSuccess; }
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned int) {
  *event = static_cast<hipEvent_t>(std::malloc(1));
  return hipSuccess;
}
hipError_t hipEventDestroy(hipEvent_t event) {
  std::free(event);
  return hipSuccess;
}
hipError_t hipEventRecord(hipEvent_t, hipStream_t) { return hipSuccess; }
hipError_t hipEventQuery(hipEvent_t) { return hipSuccess; }

hipError_t hipLaunchKernel(const void*, dim3, dim3, void** params, size_t, hipStream_t) {
  added(params)();
  return hipSuccess;
}
hipError_t hipMemsetAsync(void* address, int value, size_t bytes, hipStream_t) {
  std::memset(address, value, bytes);
  return hipSuccess;
}

hipError_t hipGraphCreate(hipGraph_t* graph, unsigned int) {
  const Allocating here;
  *graph = new ihipGraph;
  return hipSuccess;
}
hipError_t hipGraphDestroy(hipGraph_t graph) {
  delete graph;
  return hipSuccess;
}
hipError_t hipGraphClone(hipGraph_t* clone, hipGraph_t graph) {
  const Allocating here;
  *clone = new ihipGraph;
  for (Work& work : all_of(*graph)) {
    hipGraphNode_t node = nullptr;
    (void)add(&node, *clone, nullptr, 0, std::move(work));
  }
  return hipSuccess;
}
hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, size_t count,
                                 const hipKernelNodeParams* params) {
  const MixedCall call;
  return add(node, graph, after, count, added_in_graph(params->kernelParams));
}
hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* after, size_t count,
                                 const hipMemsetParams* params) {
  const Allocating here;
  return add(node, graph, after, count, [set = *params] {
    std::memset(set.dst, static_cast<int>(set.value), set.width * set.elementSize);
  });
}
hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* after,
                                size_t count) {
  return add(node, graph, after, count, {});
}
hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph,
                                     const hipGraphNode_t* after, size_t count, hipGraph_t child) {
  const Allocating here;
  return add(node, graph, after, count, [work = all_of(*child)] {
    for (const Work& one : work) one();
  });
}
hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  const Allocating here;
  std::vector<hipGraphNode_t> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return give(nodes, count, all);
}
hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  const Allocating here;
  std::vector<hipGraphNode_t> all;
  for (const auto& node : graph->nodes)
    if (node->after.empty()) all.push_back(node.get());
  return give(nodes, count, all);
}
hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t* nodes,
                                         size_t* count) {
  return give(nodes, count, node->dependents);
}

hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t*, char*,
                               size_t) {
  const Allocating here;
  const MixedCall call;
  *executable = new hipGraphExec{all_of(*graph)};
  return hipSuccess;
}
hipError_t hipGraphExecUpdate(hipGraphExec_t executable, hipGraph_t graph, hipGraphNode_t*,
                              hipGraphExecUpdateResult* result) {
  const Allocating here;
  const MixedCall call;
  executable->work = all_of(*graph);
  *result = hipGraphExecUpdateSuccess;
  return hipSuccess;
}
hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  delete executable;
  return hipSuccess;
}
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t) {
  const MixedCall call;
  meet();
  for (const Work& one : executable->work) one();
  return hipSuccess;
}

}  // extern "C"

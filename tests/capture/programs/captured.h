// What programs that capture share: buffers of numbers, launches into streams, graphs that run
// twice, and what is expected of all that.
#pragma once

#include <hip/hip_runtime.h>

#include <functional>
#include <mutex>
#include <string>
#include <vector>

// The kernel that launch() launches: adds v to each of n numbers.
extern "C" __global__ void add(int* a, int v, int n);

namespace {

constexpr int kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(int);

std::string failure;

// Of any thread.
void expect(bool right, const std::string& what) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (!right && failure.empty()) failure = what;
}
void succeeds(hipError_t result, const char* call) {
  expect(result == hipSuccess, std::string(call) + ": " + std::to_string(result));
}
void answers(hipError_t result, int wanted, const char* call) {
  expect(result == wanted, std::string(call) + ": " + std::to_string(result) + " instead of " +
                               std::to_string(wanted));
}
#define OK(call) succeeds(call, #call)
#define ANSWERS(wanted, call) answers(call, wanted, #call)

}  // namespace

#include "graph_shape.h"

namespace {

struct Buffer {
  int* data = nullptr;
  Buffer() {
    OK(hipMalloc(&data, kBytes));
    fill(0);
  }
  void fill(int value) {
    const std::vector<int> values(kCount, value);
    OK(hipMemcpy(data, values.data(), kBytes, hipMemcpyHostToDevice));
  }
  std::vector<int> now() const {
    std::vector<int> values(kCount);
    OK(hipMemcpy(values.data(), data, kBytes, hipMemcpyDeviceToHost));
    return values;
  }
  void holds(int value, const char* what) const {
    for (const int one : now()) {
      if (one == value) continue;
      return expect(false, std::string(what) + ": " + std::to_string(one) + " instead of " +
                               std::to_string(value));
    }
  }
};

hipStream_t make_stream(unsigned flags = hipStreamDefault) {
  hipStream_t stream = nullptr;
  OK(hipStreamCreateWithFlags(&stream, flags));
  return stream;
}
hipEvent_t make_event() {
  hipEvent_t event = nullptr;
  OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  return event;
}

constexpr dim3 kGrid(4), kBlock(256);

void launch(hipStream_t stream, int* a, int v) {
  int n = kCount;
  void* arguments[] = {&a, &v, &n};
  OK(hipLaunchKernel(reinterpret_cast<const void*>(add), kGrid, kBlock, arguments, 0, stream));
}
void follow(hipStream_t stream, hipStream_t other, hipEvent_t event) {
  OK(hipEventRecord(event, other));
  OK(hipStreamWaitEvent(stream, event, 0));
}

hipGraph_t capture(hipStream_t stream, const std::function<void()>& work,
                   hipStreamCaptureMode mode = hipStreamCaptureModeGlobal) {
  hipGraph_t graph = nullptr;
  OK(hipStreamBeginCapture(stream, mode));
  work();
  OK(hipStreamEndCapture(stream, &graph));
  return graph;
}
// Twice: a graph runs again.
void run(hipGraph_t graph, hipStream_t stream) {
  if (graph == nullptr) return expect(false, "no graph");
  hipGraphExec_t executable = nullptr;
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  OK(hipGraphDestroy(graph));
  for (int i = 0; i < 2; ++i) OK(hipGraphLaunch(executable, stream));
  OK(hipStreamSynchronize(stream));
  OK(hipGraphExecDestroy(executable));
}
void capture_and_run(hipStream_t stream, const std::function<void()>& work,
                     hipStreamCaptureMode mode = hipStreamCaptureModeGlobal) {
  run(capture(stream, work, mode), stream);
}
// Runs a graph of one explicit node, which adds v.
void run_explicit_node(hipStream_t stream, int* a, int v) {
  int n = kCount;
  void* params[] = {&a, &v, &n};
  hipKernelNodeParams node = {};
  node.func = reinterpret_cast<void*>(add);
  node.gridDim = kGrid;
  node.blockDim = kBlock;
  node.kernelParams = params;
  hipGraph_t graph = nullptr;
  hipGraphNode_t made = nullptr;
  OK(hipGraphCreate(&graph, 0));
  OK(hipGraphAddKernelNode(&made, graph, nullptr, 0, &node));
  run(graph, stream);
}
// Reuses freed host memory, so that an access to what was freed there finds other bytes.
void reuse_freed_memory() {
  static std::vector<std::vector<char>> others;
  for (size_t bytes = 8; bytes <= 2048; bytes += 8)
    others.insert(others.end(), 16, std::vector<char>(bytes));
}
hipModule_t code = nullptr;
hipFunction_t function(const char* name) {
  hipFunction_t found = nullptr;
  OK(hipModuleGetFunction(&found, code, name));
  return found;
}

}  // namespace

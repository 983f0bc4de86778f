// hipGraphs in all the ways in which HIP 5.2 lets a program make, change and capture them, each with
// an answer computed on the host: program_graphs MODE; prints "ok".
#include <functional>
#include <string>
#include <vector>

#include "program.h"

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

__device__ int variable[kCount];

__global__ void add(int* data, int by) { data[threadIdx.x] += by; }
__global__ void multiply(int* data, int by) { data[threadIdx.x] *= by; }
__global__ void add_from(int* data, const int* other) { data[threadIdx.x] += other[threadIdx.x]; }
__global__ void add_variable(int* data) { data[threadIdx.x] += variable[threadIdx.x]; }

static int* device_buffer(int value = 0) {
  int* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(data), value, kCount));
  CHECK(hipDeviceSynchronize());
  return data;
}

static std::vector<int> read(const int* device) {
  std::vector<int> values(kCount);
  CHECK(hipMemcpy(values.data(), device, kBytes, hipMemcpyDeviceToHost));
  return values;
}

static void expect_all(const int* device, int value, const char* what) {
  const std::vector<int> values = read(device);
  if (values != std::vector<int>(kCount, value)) std::printf("%d, not %d: ", values[0], value);
  expect(values == std::vector<int>(kCount, value), what);
}

// Parameters of a kernel node; HIP copies the arguments when it takes them.
struct Kernel {
  Kernel(void (*function)(int*, int), int* to, int value) : data(to), by(value) {
    params.func = reinterpret_cast<void*>(function);
    params.gridDim = dim3(1);
    params.blockDim = dim3(kCount);
    params.kernelParams = arguments;
  }
  int* data;
  int by;
  void* arguments[2] = {&data, &by};
  hipKernelNodeParams params{};
};

static hipGraphNode_t kernel_node(hipGraph_t graph, std::vector<hipGraphNode_t> after,
                                  void (*function)(int*, int), int* data, int by) {
  Kernel kernel(function, data, by);
  hipGraphNode_t node;
  CHECK(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &kernel.params));
  return node;
}

static hipGraph_t new_graph() {
  hipGraph_t graph;
  CHECK(hipGraphCreate(&graph, 0));
  return graph;
}

static hipGraphExec_t instantiate(hipGraph_t graph) {
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  return executable;
}

static void launch(hipGraphExec_t executable, hipStream_t stream) {
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
}

static hipStream_t new_stream() {
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  return stream;
}

// Kernel, memset (also 2D), copy (1D, 3D, from and to a variable), empty and host nodes.
static void nodes() {
  hipStream_t stream = new_stream();
  int* data = device_buffer();
  int* other = device_buffer();
  int* third = device_buffer(1);
  hipGraph_t graph = new_graph();
  hipMemsetParams set{};
  set.dst = data;
  set.elementSize = 4;
  set.value = 7;
  set.width = kCount;
  set.height = 1;
  hipGraphNode_t fill, plane, copy, box, to, from, empty, host;
  CHECK(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
  set.dst = other;
  set.elementSize = 1;
  set.value = 2;
  set.width = 8;
  set.height = 16;
  set.pitch = 16;
  CHECK(hipGraphAddMemsetNode(&plane, graph, nullptr, 0, &set));
  CHECK(hipGraphAddMemcpyNodeToSymbol(&to, graph, &fill, 1, HIP_SYMBOL(variable), data, kBytes, 0,
                                      hipMemcpyDeviceToDevice));
  hipGraphNode_t after[] = {to, plane};
  CHECK(hipGraphAddEmptyNode(&empty, graph, after, 2));
  Kernel with_variable(reinterpret_cast<void (*)(int*, int)>(add_variable), data, 0);
  hipGraphNode_t kernel;
  CHECK(hipGraphAddKernelNode(&kernel, graph, &empty, 1, &with_variable.params));
  CHECK(hipGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, third, data, kBytes / 2,
                                hipMemcpyDeviceToDevice));
  CHECK(hipGraphAddMemcpyNodeFromSymbol(&from, graph, &copy, 1, third + kCount / 2,
                                        HIP_SYMBOL(variable), kBytes / 2, 0,
                                        hipMemcpyDeviceToDevice));
  hipMemcpy3DParms params{};
  params.srcPtr = make_hipPitchedPtr(other, 16, 16, 4);
  params.dstPtr = make_hipPitchedPtr(data, 16, 16, 4);
  params.extent = make_hipExtent(8, 4, 4);
  params.kind = hipMemcpyDeviceToDevice;
  CHECK(hipGraphAddMemcpyNode(&box, graph, &copy, 1, &params));
  static int calls = 0;
  hipHostNodeParams function{};
  function.fn = [](void*) { ++calls; };
  CHECK(hipGraphAddHostNode(&host, graph, &box, 1, &function));
  launch(instantiate(graph), stream);
  expect(calls == 1, "host node");
  const std::vector<int> result = read(data);
  const std::vector<int> copied = read(third);
  const std::vector<int> set_rows = read(other);
  // HIP 5.2.3 writes the size of an element instead of the value.
  const int set_value = set_rows[0];
  expect(set_value == 0x02020202 || set_value == 0x01010101, "2D memset node");
  for (int i = 0; i < kCount; ++i) {
    expect(set_rows[i] == (i % 4 < 2 ? set_value : 0), "2D memset node");
    expect(result[i] == (i % 4 < 2 ? set_value : 14), "3D copy node");
    expect(copied[i] == (i < kCount / 2 ? 14 : 7), "copy nodes");
  }
}

// Every way to change a node, before and after the graph was instantiated.
static void changes() {
  hipStream_t stream = new_stream();
  int* data = device_buffer();
  int* other = device_buffer(3);
  hipGraph_t graph = new_graph();
  hipMemsetParams set{};
  set.dst = data;
  set.elementSize = 4;
  set.value = 1;
  set.width = kCount;
  set.height = 1;
  hipGraphNode_t fill, copy;
  CHECK(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
  const hipGraphNode_t first = kernel_node(graph, {fill}, add, data, 10);
  const hipGraphNode_t second = kernel_node(graph, {first}, multiply, data, 2);
  CHECK(hipGraphAddMemcpyNode1D(&copy, graph, &second, 1, other, data, kBytes / 2,
                                hipMemcpyDeviceToDevice));
  Kernel changed(add, data, 20);
  CHECK(hipGraphKernelNodeSetParams(first, &changed.params));
  set.value = 2;
  CHECK(hipGraphMemsetNodeSetParams(fill, &set));
  CHECK(hipGraphMemcpyNodeSetParams1D(copy, other, data, kBytes, hipMemcpyDeviceToDevice));
  hipGraphExec_t executable = instantiate(graph);
  launch(executable, stream);
  expect_all(data, 44, "changed nodes");
  expect_all(other, 44, "changed copy node");
  changed.by = 30;
  CHECK(hipGraphExecKernelNodeSetParams(executable, first, &changed.params));
  set.value = 3;
  CHECK(hipGraphExecMemsetNodeSetParams(executable, fill, &set));
  CHECK(hipGraphExecMemcpyNodeSetParams1D(executable, copy, other + 8, data, 16,
                                          hipMemcpyDeviceToDevice));
  launch(executable, stream);
  expect_all(data, 66, "changed executable");
  expect(read(other)[7] == 44 && read(other)[8] == 66 && read(other)[12] == 44, "changed copy");
  // A graph of the same shape: only what its nodes do is taken over.
  hipGraph_t update = new_graph();
  set.value = 5;
  hipGraphNode_t update_fill, update_copy, error_node = nullptr;
  CHECK(hipGraphAddMemsetNode(&update_fill, update, nullptr, 0, &set));
  const hipGraphNode_t update_first = kernel_node(update, {update_fill}, add, data, 1);
  const hipGraphNode_t update_second = kernel_node(update, {update_first}, multiply, data, 10);
  CHECK(hipGraphAddMemcpyNode1D(&update_copy, update, &update_second, 1, other, data, kBytes,
                                hipMemcpyDeviceToDevice));
  hipGraphExecUpdateResult result;
  CHECK(hipGraphExecUpdate(executable, update, &error_node, &result));
  launch(executable, stream);
  expect_all(data, 60, "updated executable");
  expect_all(other, 60, "updated executable's copy");
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipGraphDestroy(update));
}

// Clones, removed nodes, edges added and removed.
static void structure() {
  hipStream_t stream = new_stream();
  int* data = device_buffer(1);
  hipGraph_t graph = new_graph();
  const hipGraphNode_t a = kernel_node(graph, {}, add, data, 1);
  const hipGraphNode_t b = kernel_node(graph, {}, multiply, data, 3);
  const hipGraphNode_t c = kernel_node(graph, {b}, add, data, 100);
  CHECK(hipGraphAddDependencies(graph, &a, &b, 1));
  launch(instantiate(graph), stream);
  expect_all(data, 106, "added edge");
  hipGraph_t clone;
  CHECK(hipGraphClone(&clone, graph));
  // Not another order of the nodes: HIP 5.2.3 may then leave some out.
  CHECK(hipGraphRemoveDependencies(graph, &b, &c, 1));
  CHECK(hipGraphAddDependencies(graph, &b, &c, 1));
  launch(instantiate(graph), stream);
  expect_all(data, (106 + 1) * 3 + 100, "removed and added edge");
  hipGraphNode_t cloned;
  CHECK(hipGraphNodeFindInClone(&cloned, b, clone));
  Kernel changed(multiply, data, 2);
  CHECK(hipGraphKernelNodeSetParams(cloned, &changed.params));
  launch(instantiate(clone), stream);
  expect_all(data, (421 + 1) * 2 + 100, "clone");
  hipGraph_t removed = new_graph();
  kernel_node(removed, {}, add, data, 6);
  const hipGraphNode_t gone = kernel_node(removed, {}, multiply, data, 50);
  CHECK(hipGraphDestroyNode(gone));
  launch(instantiate(removed), stream);
  expect_all(data, 944 + 6, "removed node");
}

static void children() {
  hipStream_t stream = new_stream();
  int* data = device_buffer(1);
  hipGraph_t inner = new_graph();
  const hipGraphNode_t inner_add = kernel_node(inner, {}, add, data, 4);
  kernel_node(inner, {inner_add}, multiply, data, 2);
  hipGraph_t middle = new_graph();
  hipGraphNode_t child;
  CHECK(hipGraphAddChildGraphNode(&child, middle, nullptr, 0, inner));
  kernel_node(middle, {child}, add, data, 1);
  hipGraph_t outer = new_graph();
  const hipGraphNode_t first = kernel_node(outer, {}, multiply, data, 5);
  hipGraphNode_t nested, again;
  CHECK(hipGraphAddChildGraphNode(&nested, outer, &first, 1, middle));
  CHECK(hipGraphAddChildGraphNode(&again, outer, &nested, 1, inner));
  hipGraphExec_t executable = instantiate(outer);
  launch(executable, stream);
  expect_all(data, 46, "child graphs");
  hipGraph_t replacement = new_graph();
  const hipGraphNode_t new_add = kernel_node(replacement, {}, add, data, 10);
  kernel_node(replacement, {new_add}, multiply, data, 3);
  // HIP 5.2.3 refuses every change of a child graph: then it must not be recorded either.
  const bool changed =
      hipGraphExecChildGraphNodeSetParams(executable, again, replacement) == hipSuccess;
  (void)hipGetLastError();
  launch(executable, stream);
  const int before_last = (46 * 5 + 4) * 2 + 1;
  expect_all(data, changed ? (before_last + 10) * 3 : (before_last + 4) * 2, "changed child");
}

// An event recorded and one waited for by nodes, with work of another stream in between.
static void event_nodes() {
  hipStream_t stream = new_stream();
  hipStream_t other;
  CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  hipEvent_t before, after, spare;
  CHECK(hipEventCreate(&before));
  CHECK(hipEventCreate(&after));
  CHECK(hipEventCreate(&spare));
  int* data = device_buffer(1);
  hipGraph_t graph = new_graph();
  hipGraphNode_t wait, record;
  CHECK(hipGraphAddEventWaitNode(&wait, graph, nullptr, 0, spare));
  CHECK(hipGraphEventWaitNodeSetEvent(wait, before));
  const hipGraphNode_t kernel = kernel_node(graph, {wait}, multiply, data, 10);
  CHECK(hipGraphAddEventRecordNode(&record, graph, &kernel, 1, spare));
  CHECK(hipGraphEventRecordNodeSetEvent(record, after));
  hipGraphExec_t executable = instantiate(graph);
  for (int round = 0; round < 2; ++round) {
    add<<<1, kCount, 0, other>>>(data, 1);
    CHECK(hipEventRecord(before, other));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamWaitEvent(other, after, 0));
    add<<<1, kCount, 0, other>>>(data, 3);
    CHECK(hipStreamSynchronize(other));
    CHECK(hipStreamSynchronize(stream));
  }
  expect_all(data, (23 + 1) * 10 + 3, "event nodes");
  CHECK(hipGraphExecEventRecordNodeSetEvent(executable, record, spare));
  CHECK(hipGraphExecEventWaitNodeSetEvent(executable, wait, spare));
  launch(executable, stream);
  CHECK(hipEventSynchronize(spare));
  expect_all(data, 2430, "changed event nodes");
}

// Three streams joined into one capture by events, with copies and sets among the kernels.
static void capture() {
  hipStream_t streams[3];
  for (hipStream_t& stream : streams) {
    CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  }
  hipEvent_t fork, joins[2];
  CHECK(hipEventCreate(&fork));
  for (hipEvent_t& join : joins) CHECK(hipEventCreate(&join));
  int* data = device_buffer(1);
  int* left = device_buffer(0);
  int* right = device_buffer(0);
  static int host[kCount];
  hipGraph_t graph;
  CHECK(hipStreamBeginCapture(streams[0], hipStreamCaptureModeGlobal));
  add<<<1, kCount, 0, streams[0]>>>(data, 5);
  CHECK(hipEventRecord(fork, streams[0]));
  CHECK(hipStreamWaitEvent(streams[1], fork, 0));
  CHECK(hipMemcpyAsync(left, data, kBytes, hipMemcpyDeviceToDevice, streams[1]));
  CHECK(hipStreamWaitEvent(streams[2], fork, 0));
  CHECK(hipMemsetAsync(right, 0, kBytes, streams[2]));
  multiply<<<1, kCount, 0, streams[1]>>>(left, 3);
  add_from<<<1, kCount, 0, streams[2]>>>(right, data);
  add<<<1, kCount, 0, streams[2]>>>(right, 100);
  CHECK(hipEventRecord(joins[0], streams[1]));
  CHECK(hipEventRecord(joins[1], streams[2]));
  CHECK(hipStreamWaitEvent(streams[0], joins[0], 0));
  CHECK(hipStreamWaitEvent(streams[0], joins[1], 0));
  add_from<<<1, kCount, 0, streams[0]>>>(data, left);
  add_from<<<1, kCount, 0, streams[0]>>>(data, right);
  CHECK(hipMemcpyAsync(host, data, kBytes, hipMemcpyDeviceToHost, streams[0]));
  CHECK(hipStreamEndCapture(streams[0], &graph));
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiateWithFlags(&executable, graph, 0));
  int value = 1;
  for (int round = 0; round < 3; ++round) {
    CHECK(hipGraphLaunch(executable, streams[round]));
    CHECK(hipStreamSynchronize(streams[round]));
    const int base = value + 5;
    value = base + base * 3 + base + 100;
    expect_all(data, value, "captured graph");
    expect(host[9] == value, "captured copy to the host");
  }
  // HIP 5.2.3 forgets the streams that joined: what they are given later is never executed.
  const int last = read(left)[0];
  add<<<1, kCount, 0, streams[0]>>>(left, 1);
  CHECK(hipStreamSynchronize(streams[0]));
  expect_all(left, last + 1, "work after a capture");
  hipStreamCaptureStatus status;
  CHECK(hipStreamIsCapturing(streams[1], &status));
  add<<<1, kCount, 0, streams[1]>>>(left, 1);
  CHECK(hipDeviceSynchronize());
  expect_all(left, last + (status == hipStreamCaptureStatusNone ? 2 : 1), "forgotten stream");
}

__global__ void digit(unsigned long long* cell, int value) {
  if (threadIdx.x == 0) *cell = *cell * 10 + value;
}

static hipGraphNode_t digit_node(hipGraph_t graph, std::vector<hipGraphNode_t> after,
                                 unsigned long long* cell, int value) {
  return kernel_node(graph, std::move(after), reinterpret_cast<void (*)(int*, int)>(digit),
                     reinterpret_cast<int*>(cell), value);
}

static unsigned long long* cells(int count) {
  unsigned long long* made = nullptr;
  CHECK(hipMalloc(&made, count * sizeof(*made)));
  CHECK(hipMemset(made, 0, count * sizeof(*made)));
  CHECK(hipDeviceSynchronize());
  return made;
}

static void update(hipGraphExec_t executable, hipGraph_t graph) {
  hipGraphNode_t error_node = nullptr;
  hipGraphExecUpdateResult result;
  CHECK(hipGraphExecUpdate(executable, graph, &error_node, &result));
}

// A graph that was put together in another order takes over an executable's nodes.
static void updates() {
  hipStream_t stream = new_stream();
  unsigned long long* cell = cells(1);
  unsigned long long value = 0;
  hipGraph_t graph = new_graph();
  const hipGraphNode_t a = digit_node(graph, {}, cell, 1);
  const hipGraphNode_t b = digit_node(graph, {a}, cell, 2);
  digit_node(graph, {b}, cell, 3);
  hipGraphExec_t executable = instantiate(graph);
  launch(executable, stream);
  hipGraph_t turned = new_graph();
  const hipGraphNode_t last = digit_node(turned, {}, cell, 6);
  const hipGraphNode_t middle = digit_node(turned, {}, cell, 5);
  const hipGraphNode_t first = digit_node(turned, {}, cell, 4);
  CHECK(hipGraphAddDependencies(turned, &first, &middle, 1));
  CHECK(hipGraphAddDependencies(turned, &middle, &last, 1));
  update(executable, turned);
  launch(executable, stream);
  hipGraph_t swapped = new_graph();
  const hipGraphNode_t one = digit_node(swapped, {}, cell, 7);
  const hipGraphNode_t two = digit_node(swapped, {}, cell, 8);
  const hipGraphNode_t three = digit_node(swapped, {}, cell, 9);
  CHECK(hipGraphAddDependencies(swapped, &one, &three, 1));
  CHECK(hipGraphAddDependencies(swapped, &three, &two, 1));
  update(executable, swapped);
  launch(executable, stream);
  CHECK(hipMemcpy(&value, cell, sizeof(value), hipMemcpyDeviceToHost));
  std::printf("%llu\n", value);
  expect(value == 123456798, "updated in another order");
}

// Which node of an executable took over which of the update's is seen when one is changed later.
static void random_updates() {
  constexpr int kNodes = 7;
  hipStream_t stream = new_stream();
  unsigned seed = 12345;
  const auto dice = [&](unsigned sides) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 10) % sides;
  };
  const auto build = [&](unsigned long long* cell, int value, std::vector<hipGraphNode_t>& nodes) {
    hipGraph_t graph = new_graph();
    int names[kNodes];  // the topological order, by creation
    for (int i = 0; i < kNodes; ++i) names[i] = i;
    for (int i = kNodes - 1; i > 0; --i) std::swap(names[i], names[dice(i + 1)]);
    nodes.resize(kNodes);
    for (int i = 0; i < kNodes; ++i) nodes[i] = digit_node(graph, {}, cell + i, value);
    std::vector<std::pair<int, int>> edges;
    for (int i = 0; i < kNodes; ++i) {
      for (int j = i + 1; j < kNodes; ++j) {
        if (dice(3) == 0) edges.emplace_back(names[i], names[j]);
      }
    }
    for (size_t i = edges.size(); i > 1; --i) std::swap(edges[i - 1], edges[dice(i)]);
    for (const auto& [from, to] : edges) {
      CHECK(hipGraphAddDependencies(graph, &nodes[from], &nodes[to], 1));
    }
    return graph;
  };
  unsigned long long* extra = cells(3);  // one each: the nodes may run at once
  for (int round = 0; round < 25; ++round) {
    unsigned long long* cell = cells(kNodes);
    std::vector<hipGraphNode_t> nodes, others;
    hipGraphExec_t executable = instantiate(build(cell, 1, nodes));
    update(executable, build(cell, 2, others));
    for (int i = 0; i < 3; ++i) {
      Kernel changed(reinterpret_cast<void (*)(int*, int)>(digit),
                     reinterpret_cast<int*>(extra + i), 3);
      CHECK(hipGraphExecKernelNodeSetParams(executable, nodes[dice(kNodes)], &changed.params));
    }
    launch(executable, stream);
  }
}

// The graph of a child node, as the runtime keeps it, is changed before and after instantiation.
static void child_handles() {
  hipStream_t stream = new_stream();
  unsigned long long* cell = cells(1);
  unsigned long long value = 0;
  hipGraph_t inner = new_graph();
  const hipGraphNode_t inner_first = digit_node(inner, {}, cell, 1);
  digit_node(inner, {inner_first}, cell, 2);
  hipGraph_t outer = new_graph();
  hipGraphNode_t child;
  CHECK(hipGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
  digit_node(outer, {child}, cell, 3);
  hipGraph_t own = nullptr;
  CHECK(hipGraphChildGraphNodeGetGraph(child, &own));
  hipGraphNode_t nodes[2];
  size_t count = 2;
  CHECK(hipGraphGetNodes(own, nodes, &count));
  expect(own != inner && count == 2, "the child's own graph");
  Kernel changed(reinterpret_cast<void (*)(int*, int)>(digit), reinterpret_cast<int*>(cell), 7);
  CHECK(hipGraphKernelNodeSetParams(nodes[0], &changed.params));
  launch(instantiate(outer), stream);
  digit_node(own, {nodes[1]}, cell, 9);
  launch(instantiate(outer), stream);
  CHECK(hipMemcpy(&value, cell, sizeof(value), hipMemcpyDeviceToHost));
  std::printf("%llu\n", value);
  expect(value == 7237293, "the child's changed graph");
  CHECK(hipGraphDestroy(outer));
}

// A capture whose graph the program adds to by hand.
static void capture_by_hand() {
  hipStream_t stream = new_stream();
  unsigned long long* cell = cells(2);
  unsigned long long value = 0;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  digit<<<1, 1, 0, stream>>>(cell, 1);
  hipStreamCaptureStatus status;
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* after = nullptr;
  size_t count = 0;
  CHECK(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, &after, &count));
  expect(count == 1, "one node so far");
  hipGraphNode_t by_hand = digit_node(graph, {after[0]}, cell, 2);
  CHECK(hipStreamUpdateCaptureDependencies(stream, &by_hand, 1, hipStreamSetCaptureDependencies));
  digit<<<1, 1, 0, stream>>>(cell, 3);
  CHECK(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t executable = instantiate(graph);
  launch(executable, stream);
  launch(executable, stream);
  CHECK(hipMemcpy(&value, cell, sizeof(value), hipMemcpyDeviceToHost));
  std::printf("%llu\n", value);
  expect(value == 123123, "a capture continued by hand");
}

// A stream that joined a capture is destroyed; a new stream gets its handle.
static void reused_stream() {
  hipStream_t first = new_stream();
  hipEvent_t fork, join;
  CHECK(hipEventCreate(&fork));
  CHECK(hipEventCreate(&join));
  int* data = device_buffer(0);
  bool same = false;
  for (int round = 0; round < 10; ++round) {
    hipStream_t second = new_stream();
    hipGraph_t graph;
    CHECK(hipStreamBeginCapture(first, hipStreamCaptureModeGlobal));
    add<<<1, kCount, 0, first>>>(data, 1);
    CHECK(hipEventRecord(fork, first));
    CHECK(hipStreamWaitEvent(second, fork, 0));
    add<<<1, kCount, 0, second>>>(data, 10);
    CHECK(hipEventRecord(join, second));
    CHECK(hipStreamWaitEvent(first, join, 0));
    CHECK(hipStreamEndCapture(first, &graph));
    launch(instantiate(graph), first);
    CHECK(hipStreamDestroy(second));
    hipStream_t third = new_stream();
    same = same || third == second;
    add<<<1, kCount, 0, third>>>(data, 100);
    CHECK(hipStreamSynchronize(third));
    CHECK(hipStreamDestroy(third));
  }
  expect(same, "no handle was used again: the test shows nothing");
  expect_all(data, 1110, "work on streams with used handles");
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::pair<const char*, void (*)()> modes[] = {
      {"nodes", nodes},       {"changes", changes},         {"structure", structure},
      {"children", children}, {"event_nodes", event_nodes}, {"capture", capture},
      {"updates", updates},   {"random_updates", random_updates},
      {"child_handles", child_handles}, {"capture_by_hand", capture_by_hand},
      {"reused_stream", reused_stream}};
  for (const auto& [name, function] : modes) {
    if (mode != name) continue;
    function();
    std::printf("ok\n");
    return 0;
  }
  return 2;
}

// Graphs, captures and per-thread streams of the second of two devices, each with an answer
// computed on the host: program_device_graphs MODE; prints "ok". Asks the software agent for the
// devices, unless the environment already does.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../../../../include/gfxgraph/record.h"
#include "../program.h"

using Word = unsigned long long;
constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(Word);

// Its value differs from device to device, so a kernel shows by its result where it ran.
__device__ Word variable = 7;
__device__ Word other = 1;

__global__ void fill(Word* data, Word value) { data[threadIdx.x] = value + threadIdx.x; }
__global__ void add(Word* to, const Word* from) { to[threadIdx.x] += from[threadIdx.x]; }
__global__ void add_variable(Word* to) { to[threadIdx.x] += variable; }
__global__ void add_other(Word* to) { to[threadIdx.x] += other; }

static void on(int device) { CHECK(hipSetDevice(device)); }

static Word* words_on(int device, Word first) {
  on(device);
  Word* words = nullptr;
  CHECK(hipMalloc(&words, 2 * kBytes));
  Word values[2 * kCount];
  for (int i = 0; i < 2 * kCount; ++i) values[i] = first + i % kCount;
  CHECK(hipMemcpy(words, values, 2 * kBytes, hipMemcpyHostToDevice));
  return words;
}

static hipStream_t stream_on(int device) {
  on(device);
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

static void set_variables() {
  for (int device = 0; device < 2; ++device) {
    on(device);
    const Word value = 100 * (device + 1);
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(variable), &value, sizeof(value)));
  }
}

// data[i] == factor * i + base.
static void expect_line(const Word* data, Word factor, Word base, const char* what) {
  Word values[kCount];
  CHECK(hipMemcpy(values, data, kBytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) {
    if (values[i] != factor * i + base)
      std::printf("%s: word %d is %llu, not %llu\n", what, i, values[i], factor * i + base);
    expect(values[i] == factor * i + base, what);
  }
}

static hipKernelNodeParams kernel(void* function, void** arguments) {
  hipKernelNodeParams params = {};
  params.func = function;
  params.gridDim = dim3(1);
  params.blockDim = dim3(kCount);
  params.kernelParams = arguments;
  return params;
}

static int called = 0;
static void call_host(void* data) { called += *static_cast<int*>(data); }

// Each kind of node, in a chain, all of them of the second device.
static void nodes() {
  set_variables();
  Word* first = words_on(0, 5);  // memory of the other device
  Word* data = words_on(1, 0);
  Word* scratch = words_on(1, 0);
  hipGraph_t graph = nullptr, child = nullptr;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphCreate(&child, 0));
  hipGraphNode_t chain[8] = {};

  void* fill_arguments[2] = {};
  Word value = 10;
  fill_arguments[0] = &data;
  fill_arguments[1] = &value;
  hipKernelNodeParams params = kernel(reinterpret_cast<void*>(fill), fill_arguments);
  CHECK(hipGraphAddKernelNode(&chain[0], graph, nullptr, 0, &params));  // data = 10 + i
  CHECK(hipGraphAddMemcpyNode1D(&chain[1], graph, &chain[0], 1, scratch, first, kBytes,
                                hipMemcpyDeviceToDevice));  // scratch = 5 + i
  void* add_arguments[] = {&data, &scratch};
  params = kernel(reinterpret_cast<void*>(add), add_arguments);
  CHECK(hipGraphAddKernelNode(&chain[2], graph, &chain[1], 1, &params));  // data = 15 + 2 i
  void* data_arguments[] = {&data};
  params = kernel(reinterpret_cast<void*>(add_variable), data_arguments);
  hipGraphNode_t inner = nullptr;
  CHECK(hipGraphAddKernelNode(&inner, child, nullptr, 0, &params));  // data = 215 + 2 i
  CHECK(hipGraphAddChildGraphNode(&chain[3], graph, &chain[2], 1, child));
  CHECK(hipGraphAddMemcpyNodeToSymbol(&chain[4], graph, &chain[3], 1, &other, data,
                                      sizeof(Word), 0, hipMemcpyDeviceToDevice));  // other = 215
  params = kernel(reinterpret_cast<void*>(add_other), data_arguments);
  CHECK(hipGraphAddKernelNode(&chain[5], graph, &chain[4], 1, &params));  // data = 430 + 2 i
  hipMemsetParams set = {};
  set.dst = scratch;
  set.elementSize = 4;
  set.width = kBytes / 4;
  set.height = 1;
  CHECK(hipGraphAddMemsetNode(&chain[6], graph, &chain[5], 1, &set));
  int step = 1;
  hipHostNodeParams host = {call_host, &step};
  CHECK(hipGraphAddHostNode(&chain[7], graph, &chain[6], 1, &host));

  hipGraphExec_t executable = nullptr;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  hipStream_t stream = stream_on(1);
  for (int i = 0; i < 2; ++i) CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expect(called == 2, "a host function of a graph");
  expect_line(data, 2, 430, "nodes of the second device");
  expect_line(scratch, 0, 0, "a memset node of the second device");

  // Changed and cloned.
  value = 1000;
  params = kernel(reinterpret_cast<void*>(fill), fill_arguments);
  CHECK(hipGraphExecKernelNodeSetParams(executable, chain[0], &params));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expect_line(data, 2, 2 * 1205, "a changed node of the second device");
  hipGraph_t clone = nullptr;
  hipGraphExec_t cloned = nullptr;
  CHECK(hipGraphClone(&clone, graph));
  CHECK(hipGraphInstantiate(&cloned, clone, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(cloned, stream));
  CHECK(hipStreamSynchronize(stream));
  expect_line(data, 2, 430, "a clone");
  CHECK(hipGraphExecDestroy(cloned));
  CHECK(hipGraphDestroy(clone));
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(child));
  CHECK(hipGraphDestroy(graph));
}

// Captured with a second stream, launched between work of the first device.
static void captured() {
  set_variables();
  Word* first = words_on(0, 3);
  Word* data = words_on(1, 0);
  Word* beside = words_on(1, 0);
  Word* pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), kBytes, hipHostMallocPortable));
  for (int i = 0; i < kCount; ++i) pinned[i] = 20 + i;
  hipStream_t stream = stream_on(1), fork = stream_on(1);
  hipEvent_t begun, joined;
  CHECK(hipEventCreate(&begun));
  CHECK(hipEventCreate(&joined));
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  add_variable<<<1, kCount, 0, stream>>>(data);
  CHECK(hipEventRecord(begun, stream));
  CHECK(hipStreamWaitEvent(fork, begun, 0));
  CHECK(hipMemcpyAsync(beside, pinned, kBytes, hipMemcpyHostToDevice, fork));
  add<<<1, kCount, 0, fork>>>(beside, first);
  CHECK(hipEventRecord(joined, fork));
  CHECK(hipStreamWaitEvent(stream, joined, 0));
  add<<<1, kCount, 0, stream>>>(data, beside);
  CHECK(hipMemsetAsync(beside, 0, kBytes, stream));
  hipGraph_t graph = nullptr;
  CHECK(hipStreamEndCapture(stream, &graph));
  hipGraphExec_t executable = nullptr;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));

  hipEvent_t filled, done;
  on(0);
  CHECK(hipEventCreate(&filled));
  hipStream_t of_first = stream_on(0);
  fill<<<1, kCount, 0, of_first>>>(first, 1);
  CHECK(hipEventRecord(filled, of_first));
  on(1);
  CHECK(hipEventCreate(&done));
  CHECK(hipStreamWaitEvent(stream, filled, 0));
  CHECK(hipGraphLaunch(executable, stream));  // data = 200 + 20 + 1 + 3 i
  CHECK(hipEventRecord(done, stream));
  on(0);
  CHECK(hipStreamWaitEvent(of_first, done, 0));
  add<<<1, kCount, 0, of_first>>>(first, data);  // first = 222 + 4 i
  CHECK(hipStreamSynchronize(of_first));
  on(1);
  CHECK(hipGraphLaunch(executable, stream));  // data = 221 + 3 i + 200 + 20 + 222 + 5 i
  CHECK(hipDeviceSynchronize());
  expect_line(data, 8, 663, "a capture of the second device");
  expect_line(first, 4, 222, "the first device behind a graph of the second one");
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
}

// Both devices have a graph of the same kernels, and both are in flight.
static void two_graphs() {
  set_variables();
  Word* data[2];
  hipStream_t streams[2];
  hipGraphExec_t executables[2];
  for (int device = 0; device < 2; ++device) {
    data[device] = words_on(device, 0);
    streams[device] = stream_on(device);
    hipGraph_t graph = nullptr;
    CHECK(hipStreamBeginCapture(streams[device], hipStreamCaptureModeThreadLocal));
    for (int i = 0; i < 3; ++i) add_variable<<<1, kCount, 0, streams[device]>>>(data[device]);
    CHECK(hipStreamEndCapture(streams[device], &graph));
    CHECK(hipGraphInstantiate(&executables[device], graph, nullptr, nullptr, 0));
    CHECK(hipGraphDestroy(graph));
  }
  // While the first device is current, and in the second one's null stream.
  on(0);
  for (int i = 0; i < 4; ++i) CHECK(hipGraphLaunch(executables[i % 2], streams[i % 2]));
  on(1);
  CHECK(hipStreamSynchronize(streams[1]));
  CHECK(hipGraphLaunch(executables[1], nullptr));
  CHECK(hipStreamSynchronize(nullptr));
  for (int device = 0; device < 2; ++device) {
    on(device);
    CHECK(hipStreamSynchronize(streams[device]));
    expect_line(data[device], 1, device == 0 ? 600 : 1800, "a graph for each device");
    CHECK(hipGraphExecDestroy(executables[device]));
  }
}

// One graph with a kernel for each device. HIP 5.7 and 6.4 run both on the device of the stream.
// HIP 7.2 does, too, but with the code of the device that was current when the node was made: the
// agent reports a fault.
static void both() {
  set_variables();
  Word* data[2] = {words_on(0, 0), words_on(1, 0)};
  hipGraph_t graph = nullptr;
  CHECK(hipGraphCreate(&graph, 0));
  hipGraphNode_t added[3] = {};
  for (int device = 0; device < 2; ++device) {
    on(device);
    void* arguments[] = {&data[device]};
    hipKernelNodeParams params = kernel(reinterpret_cast<void*>(add_variable), arguments);
    CHECK(hipGraphAddKernelNode(&added[device], graph, device == 0 ? nullptr : &added[0], device,
                                &params));
  }
  CHECK(hipGraphAddMemcpyNode1D(&added[2], graph, &added[1], 1, data[0] + 32, data[1], kBytes / 2,
                                hipMemcpyDeviceToDevice));
  on(0);
  hipGraphExec_t executable = nullptr;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  hipStream_t stream = stream_on(0);
  for (int i = 0; i < 2; ++i) CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expect_line(data[1], 1, 200, "a node of the second device in a graph of both");
  Word values[kCount];
  CHECK(hipMemcpy(values, data[0], kBytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i)
    expect(values[i] == Word(i < 32 ? i + 200 : i - 32 + 200), "a graph of both devices");
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
}

// A stream of its own for each thread and device.
static void per_thread() {
  set_variables();
  Word* data[4];
  for (int i = 0; i < 4; ++i) data[i] = words_on(i % 2, 0);
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 2; ++worker) {
    workers.emplace_back([worker, &data] {
      Word** mine = data + 2 * worker;
      Word values[2][kCount];
      for (int turn = 0; turn < 3; ++turn) {
        for (int device = 0; device < 2; ++device) {
          on(device);
          add_variable<<<1, kCount, 0, hipStreamPerThread>>>(mine[device]);
          add<<<1, kCount, 0, hipStreamPerThread>>>(mine[device], mine[device]);
        }
      }
      for (int device = 1; device >= 0; --device) {
        on(device);
        CHECK(hipMemcpyAsync(values[device], mine[device], kBytes, hipMemcpyDeviceToHost,
                             hipStreamPerThread));
        CHECK(hipMemsetAsync(mine[device], worker, kBytes, hipStreamPerThread));
        CHECK(hipStreamSynchronize(hipStreamPerThread));
        for (int i = 0; i < kCount; ++i)
          expect(values[device][i] == Word(8 * i + 14 * 100 * (device + 1)), "a stream per thread");
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

// Steps of both devices, whose memory, variables, streams and graphs were made before.
static void steps() {
  set_variables();
  Word* data[2];
  hipStream_t streams[2];
  hipGraphExec_t executables[2];
  hipEvent_t done[2];
  for (int device = 0; device < 2; ++device) {
    data[device] = words_on(device, 0);
    streams[device] = stream_on(device);
    CHECK(hipEventCreateWithFlags(&done[device], hipEventDisableTiming));
    hipGraph_t graph = nullptr;
    CHECK(hipStreamBeginCapture(streams[device], hipStreamCaptureModeThreadLocal));
    add_variable<<<1, kCount, 0, streams[device]>>>(data[device]);
    CHECK(hipStreamEndCapture(streams[device], &graph));
    CHECK(hipGraphInstantiate(&executables[device], graph, nullptr, nullptr, 0));
  }
  Word first = 0, second = 0, factor = 1;
  for (int step = 0; step < 4; ++step) {
    gfxgraph_range_begin("step");
    on(0);
    CHECK(hipGraphLaunch(executables[0], streams[0]));
    add_variable<<<1, kCount, 0, streams[0]>>>(data[0]);
    CHECK(hipEventRecord(done[0], streams[0]));
    on(1);
    CHECK(hipStreamWaitEvent(streams[1], done[0], 0));
    CHECK(hipGraphLaunch(executables[1], streams[1]));
    add<<<1, kCount, 0, streams[1]>>>(data[1], data[0]);
    add_variable<<<1, kCount, 0, hipStreamPerThread>>>(data[1] + kCount);
    CHECK(hipEventRecord(done[1], streams[1]));
    on(0);
    CHECK(hipStreamWaitEvent(streams[0], done[1], 0));
    CHECK(hipMemcpyPeerAsync(data[0] + kCount, 0, data[1], 1, kBytes, streams[0]));
    CHECK(hipStreamSynchronize(streams[0]));
    on(1);
    CHECK(hipStreamSynchronize(hipStreamPerThread));
    gfxgraph_range_end("step");
    first += 200;
    second += 200 + first;
    factor += 1;
    expect_line(data[0], 1, first, "a step of the first device");
    expect_line(data[1], factor, second, "a step of the second device");
    expect_line(data[0] + kCount, factor, second, "what a step copied");
  }
  expect_line(data[1] + kCount, 1, 800, "a stream of the thread in steps");
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  setenv("GFXGRAPH_DEVICES", "2", 0);  // before HIP's first call
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  expect(count >= 2, "two devices");
  if (mode == "nodes") {
    nodes();
  } else if (mode == "captured") {
    captured();
  } else if (mode == "two_graphs") {
    two_graphs();
  } else if (mode == "both") {
    both();
  } else if (mode == "steps") {
    steps();
  } else if (mode == "per_thread") {
    per_thread();
  } else {
    return 2;
  }
  std::puts("ok");
  return 0;
}

// Legal programs whose copies read bytes at a particular moment, or that HIP refuses, each with an
// answer computed on the host: program_bytes MODE; prints "ok".
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void add(int* data, int by) { data[threadIdx.x] += by; }
__global__ void set(int* data, int value) { data[threadIdx.x] = value; }
__global__ void work(unsigned long long* word, int rounds) {
  unsigned long long value = *word;
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  *word = value | 1;
}

// Works for long on memory of its own, then writes what the host sees.
__global__ void late(unsigned long long* word, int rounds, volatile int* out, int value) {
  out[1] = value;  // while it runs
  unsigned long long result = *word;
  for (int i = 0; i < rounds; ++i) result = result * 6364136223846793005ull + 1442695040888963407ull;
  *word = result;
  for (int i = 0; i < kCount; ++i) out[i] = value + (result == 1);
}
__global__ void sum(const int* data, int* out) {
  int total = 0;
  for (int i = 0; i < kCount; ++i) total += data[i];
  *out = total;
}

__global__ void accumulate(const int* value, int* total) { *total += *value; }

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

static void keep_busy(hipStream_t stream) {
  static unsigned long long* word = nullptr;
  if (word == nullptr) {
    CHECK(hipMalloc(&word, 8));
    CHECK(hipMemset(word, 0, 8));
    CHECK(hipDeviceSynchronize());  // the stream does not wait for the null stream
  }
  work<<<1, 1, 0, stream>>>(word, 100000);
}

static hipStream_t new_stream() {
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

// What HIP refuses must not reach the program's memory, and is no part of the trace.
static void refused() {
  hipStream_t stream = new_stream();
  int* data = device_buffer(5);
  int calls = 0;
  const auto refuse = [&](hipError_t result, const char* what) {
    expect(result != hipSuccess, what);
    ++calls;
    (void)hipGetLastError();
  };
  refuse(hipMemcpy(data, nullptr, kBytes, hipMemcpyHostToDevice), "hipMemcpy");
  refuse(hipMemcpyAsync(data, nullptr, kBytes, hipMemcpyHostToDevice, stream), "hipMemcpyAsync");
  refuse(hipMemcpyWithStream(data, nullptr, kBytes, hipMemcpyHostToDevice, stream), "WithStream");
  refuse(hipMemcpyHtoD(data, nullptr, kBytes), "hipMemcpyHtoD");
  refuse(hipMemcpyHtoDAsync(data, nullptr, kBytes, stream), "hipMemcpyHtoDAsync");
  refuse(hipMemcpy2D(data, 16, nullptr, 16, 16, 4, hipMemcpyHostToDevice), "hipMemcpy2D");
  static char rows[256];
  refuse(hipMemcpy2D(data, 16, rows, 8, 16, 4, hipMemcpyHostToDevice), "a pitch below the width");
  refuse(hipMemcpy2DAsync(data, 16, nullptr, 16, 16, 4, hipMemcpyHostToDevice, stream), "2DAsync");
  hipMemcpy3DParms box{};
  box.dstPtr = make_hipPitchedPtr(data, 16, 16, 4);
  box.srcPtr = make_hipPitchedPtr(nullptr, 16, 16, 4);
  box.extent = make_hipExtent(16, 4, 1);
  box.kind = hipMemcpyHostToDevice;
  refuse(hipMemcpy3D(&box), "hipMemcpy3D");
  refuse(hipMemcpy3DAsync(&box, stream), "hipMemcpy3DAsync");
  hip_Memcpy2D plane{};
  plane.srcMemoryType = hipMemoryTypeHost;
  plane.dstMemoryType = hipMemoryTypeDevice;
  plane.dstDevice = data;
  plane.WidthInBytes = 16;
  plane.Height = 4;
  refuse(hipMemcpyParam2D(&plane), "hipMemcpyParam2D");
  plane.srcHost = rows;
  plane.dstPitch = 0x7fffffff;
  refuse(hipMemcpyParam2D(&plane), "hipMemcpyParam2D with a huge pitch");
  refuse(hipMemcpy2D(data, 0x7fffffff, rows, 16, 16, 4, hipMemcpyHostToDevice), "a huge pitch");
  HIP_MEMCPY3D driver{};
  driver.srcMemoryType = hipMemoryTypeHost;
  driver.dstMemoryType = hipMemoryTypeDevice;
  driver.dstDevice = data;
  driver.WidthInBytes = 16;
  driver.Height = 4;
  driver.Depth = 1;
  refuse(hipDrvMemcpy3D(&driver), "hipDrvMemcpy3D");
  refuse(hipGraphLaunch(nullptr, stream), "hipGraphLaunch");
  static int no_kernel;
  int version = 0;
  CHECK(hipRuntimeGetVersion(&version));
  if (version < 70000000)  // 7.2.4 follows a null pointer
    refuse(hipLaunchKernel(&no_kernel, dim3(1), dim3(1), nullptr, 0, stream), "no kernel");
  refuse(hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "none");
  add<<<1, kCount, 0, stream>>>(data, 1);
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 6, "the data");
  std::printf("%d refused\n", calls);
}

// A stream callback fills the source of a copy that waits behind it.
static void callback_source() {
  hipStream_t stream = new_stream();
  int* data = device_buffer(0);
  static int source[kCount];
  keep_busy(stream);
  CHECK(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t, void* filled) {
        for (int i = 0; i < kCount; ++i) static_cast<int*>(filled)[i] = 42;
      },
      source, 0));
  CHECK(hipMemcpyAsync(data, source, kBytes, hipMemcpyHostToDevice, stream));
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 42, "what the callback wrote");
}

// The same with pinned memory, where the copy's call returns before the callback has run.
static void callback_pinned() {
  hipStream_t stream = new_stream();
  int* data = device_buffer(0);
  int* source = nullptr;
  CHECK(hipHostMalloc(&source, kBytes, hipHostMallocDefault));
  std::memset(source, 0, kBytes);
  for (int round = 1; round <= 3; ++round) {
    keep_busy(stream);
    CHECK(hipStreamAddCallback(
        stream,
        [](hipStream_t, hipError_t, void* filled) {
          for (int i = 0; i < kCount; ++i) static_cast<int*>(filled)[i] += 42;
        },
        source, 0));
    CHECK(hipMemcpyAsync(data, source, kBytes, hipMemcpyHostToDevice, stream));
    add<<<1, kCount, 0, stream>>>(data, 1);
    CHECK(hipStreamSynchronize(stream));
    expect_all(data, 42 * round + 1, "what the callback wrote to pinned memory");
  }
}

// The callback writes while a recording of a part of the program reads the memory for the first time,
// in the call of the copy: the beginning, which has been read by then.
static void callback_while_read() {
  constexpr size_t kLarge = size_t{32} << 20;
  static std::atomic<bool> runs{false}, goes_on{false};
  hipStream_t stream = new_stream();
  int* data = device_buffer(0);
  int* source = nullptr;
  CHECK(hipHostMalloc(&source, kLarge, hipHostMallocDefault));
  for (size_t i = 0; i < kLarge / sizeof(int); ++i) source[i] = static_cast<int>(i * 2654435761u);
  std::memset(source, 0, kBytes);
  for (int i = 0; i < 8; ++i) {
    add<<<1, kCount, 0, stream>>>(data, 0);
    CHECK(hipStreamSynchronize(stream));
  }
  CHECK(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t, void* filled) {
        runs = true;
        while (!goes_on) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        for (int i = 0; i < kCount; ++i) static_cast<int*>(filled)[i] += 42;
      },
      source, 0));
  while (!runs) std::this_thread::yield();
  goes_on = true;
  CHECK(hipMemcpyAsync(data, source, kBytes, hipMemcpyHostToDevice, stream));
  add<<<1, kCount, 0, stream>>>(data, 1);
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 43, "what the callback wrote while the memory was read");
}

struct GraphNodes {
  GraphNodes() { CHECK(hipGraphCreate(&graph, 0)); }
  hipGraphNode_t kernel(void (*function)(int*, int), int* data, int value,
                        std::vector<hipGraphNode_t> after) {
    void* arguments[] = {&data, &value};
    hipKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(function);
    params.gridDim = dim3(1);
    params.blockDim = dim3(kCount);
    params.kernelParams = arguments;
    hipGraphNode_t node;
    CHECK(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
    return node;
  }
  hipGraphNode_t copy(void* to, const void* from, hipMemcpyKind kind,
                      std::vector<hipGraphNode_t> after) {
    hipGraphNode_t node;
    CHECK(hipGraphAddMemcpyNode1D(&node, graph, after.data(), after.size(), to, from, kBytes, kind));
    return node;
  }
  hipGraphNode_t host(void (*function)(void*), void* data, std::vector<hipGraphNode_t> after) {
    hipHostNodeParams params{};
    params.fn = function;
    params.userData = data;
    hipGraphNode_t node;
    CHECK(hipGraphAddHostNode(&node, graph, after.data(), after.size(), &params));
    return node;
  }
  hipGraphExec_t instantiate() {
    hipGraphExec_t executable;
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    return executable;
  }
  hipGraph_t graph;
};

// A graph copies to the host and back from the same words.
static void graph_round_trip() {
  hipStream_t stream = new_stream();
  int* from = device_buffer(1);
  int* to = device_buffer(0);
  static int host[kCount];
  GraphNodes nodes;
  const hipGraphNode_t first = nodes.kernel(add, from, 6, {});
  const hipGraphNode_t out = nodes.copy(host, from, hipMemcpyDeviceToHost, {first});
  nodes.copy(to, host, hipMemcpyHostToDevice, {out});
  hipGraphExec_t executable = nodes.instantiate();
  for (int round = 1; round <= 3; ++round) {
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    expect(host[5] == 1 + 6 * round, "the host's words");
    expect_all(to, 1 + 6 * round, "the way back");
  }
}

// The host overwrites the words between two launches, of which only the first reads them first.
static void graph_host_words() {
  hipStream_t stream = new_stream();
  int* from = device_buffer(1);
  int* to = device_buffer(0);
  std::vector<int> host(kCount, 50);
  GraphNodes nodes;
  const hipGraphNode_t in = nodes.copy(to, host.data(), hipMemcpyHostToDevice, {});
  const hipGraphNode_t first = nodes.kernel(add, from, 6, {in});
  nodes.copy(host.data(), from, hipMemcpyDeviceToHost, {first});
  hipGraphExec_t executable = nodes.instantiate();
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expect_all(to, 50, "the words before");
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expect_all(to, 7, "the words of the launch before");
  for (int& word : host) word = 90;
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expect_all(to, 90, "the words of the host");
  expect(host[3] == 19, "the last words");
}

// A host node fills the source of a copy node, in plain and in pinned memory.
static void host_node_source() {
  hipStream_t stream = new_stream();
  int* data = device_buffer(0);
  int* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, kBytes, hipHostMallocDefault));
  std::memset(pinned, 0, kBytes);
  static int plain[kCount];
  for (int* source : {plain, pinned}) {
    GraphNodes nodes;
    const hipGraphNode_t fill = nodes.host(
        [](void* filled) {
          for (int i = 0; i < kCount; ++i) static_cast<int*>(filled)[i] += 3;
        },
        source, {nodes.kernel(add, data, 1, {})});
    const hipGraphNode_t copy = nodes.copy(data, source, hipMemcpyHostToDevice, {fill});
    nodes.kernel(add, data, 100, {copy});
    hipGraphExec_t executable = nodes.instantiate();
    for (int round = 1; round <= 3; ++round) {
      CHECK(hipGraphLaunch(executable, stream));
      CHECK(hipStreamSynchronize(stream));
      expect_all(data, 3 * round + 100, "what the host node wrote");
    }
  }
}

// A host node changes what a copy node before it brought, and a copy node behind it reads that. It
// writes other words each time: the same ones as before are no change that a recorder can see if
// the copy lands while the node runs.
static void change_by_host_node(int* host) {
  hipStream_t stream = new_stream();
  int* from = device_buffer(1);
  int* to = device_buffer(0);
  GraphNodes nodes;
  const hipGraphNode_t first = nodes.kernel(set, from, 7, {});
  const hipGraphNode_t out = nodes.copy(host, from, hipMemcpyDeviceToHost, {first});
  const hipGraphNode_t change = nodes.host(
      [](void* brought) {
        static int written = 100;
        ++written;
        for (int i = 0; i < kCount / 2; ++i) static_cast<int*>(brought)[i] = written;
      },
      host, {out});
  nodes.copy(to, host, hipMemcpyHostToDevice, {change});
  hipGraphExec_t executable = nodes.instantiate();
  for (int round = 1; round <= 3; ++round) {
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    const std::vector<int> values = read(to);
    expect(values[0] == host[0] && values[kCount - 1] == 7, "the words behind the host node");
    std::printf("%d\n", host[0]);
  }
}

static void host_node_after_copy() {
  int* plain = new int[kCount]();
  change_by_host_node(plain);
  expect(plain[0] == 103 && plain[kCount - 1] == 7, "the host node's words");
}

// HIP 5.2.3 calls the host node before the copy, from the second launch on.
static void host_node_after_pinned_copy() {
  int* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, kBytes, hipHostMallocDefault));
  std::memset(pinned, 0, kBytes);
  change_by_host_node(pinned);
}

// Copies into pinned memory in flight while the host writes beside them, and reads afterwards.
static void pinned_in_flight() {
  hipStream_t stream = new_stream();
  hipStream_t other = new_stream();
  int* data = device_buffer(5);
  int* result = device_buffer(0);
  int* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, 4 * kBytes, hipHostMallocDefault));
  std::memset(pinned, 0, 4 * kBytes);
  keep_busy(stream);
  add<<<1, kCount, 0, stream>>>(data, 2);
  CHECK(hipMemcpyAsync(pinned + kCount, data, kBytes, hipMemcpyDeviceToHost, stream));
  for (int i = 0; i < kCount; ++i) pinned[i] = 11;  // beside it, on both sides
  for (int i = 0; i < kCount; ++i) pinned[2 * kCount + i] = 22;
  CHECK(hipMemcpyAsync(result, pinned, kBytes, hipMemcpyHostToDevice, other));
  CHECK(hipStreamSynchronize(other));
  hipEvent_t done;
  CHECK(hipEventCreate(&done));
  CHECK(hipEventRecord(done, stream));
  CHECK(hipStreamWaitEvent(other, done, 0));
  CHECK(hipStreamSynchronize(other));
  expect(pinned[kCount] == 7, "the copy in flight landed");
  for (int i = 0; i < kCount; ++i) pinned[kCount + i] += 30;
  add<<<1, kCount, 0, other>>>(pinned + kCount, 1);
  CHECK(hipStreamSynchronize(other));
  expect(pinned[kCount + 7] == 38 && pinned[7] == 11 && pinned[2 * kCount] == 22, "pinned words");
  expect_all(result, 11, "words written beside a copy in flight");
}

struct LongKernel {
  static constexpr int kRounds = 2000000;
  LongKernel() {
    CHECK(hipMalloc(&word, 8));
    CHECK(hipMemset(word, 0, 8));
    CHECK(hipDeviceSynchronize());
    for (int** memory : {&pinned, &other}) {
      CHECK(hipHostMalloc(memory, 4 * kBytes, hipHostMallocDefault));
      std::memset(*memory, 0, 4 * kBytes);
    }
    sum<<<1, 1, 0, stream>>>(other, result);
    CHECK(hipStreamSynchronize(stream));
  }
  void launch(int value) {
    late<<<1, 1, 0, stream>>>(word, kRounds, pinned, value);
    expect(hipStreamQuery(stream) == hipErrorNotReady, "the launch did not wait for its kernel");
    expect(static_cast<volatile int*>(pinned)[0] == value - 1, "the kernel has not ended");
  }
  hipStream_t stream = new_stream();
  int* result = device_buffer(0);
  unsigned long long* word = nullptr;
  int* pinned = nullptr;  // the kernel's part, then slots of the host's
  int* other = nullptr;
};

// Launches of kernels that reach the host's memory return before their kernels have ended, and the
// host goes on writing what those kernels leave alone.
static void long_kernel() {
  LongKernel work;
  int* managed = nullptr;
  CHECK(hipMallocManaged(&managed, kBytes));
  std::memset(managed, 0, kBytes);
  for (int round = 1; round <= 2; ++round) {
    work.launch(round);
    for (int i = 0; i < kCount; ++i) work.other[i] = 10 * round;
    sum<<<1, 1, 0, work.stream>>>(work.other, work.result);
    add<<<1, kCount, 0, work.stream>>>(managed, round);
    add<<<1, kCount, 0, work.stream>>>(managed, 1);
    expect(hipStreamQuery(work.stream) == hipErrorNotReady, "no later launch waited either");
    for (int i = 0; i < kCount; ++i) work.pinned[2 * kCount + i] = 1000 * round;
    CHECK(hipStreamSynchronize(work.stream));
    sum<<<1, 1, 0, work.stream>>>(work.pinned + 2 * kCount, work.result + 1);
    add<<<1, kCount, 0, work.stream>>>(work.pinned, 0);
    CHECK(hipStreamSynchronize(work.stream));
    const std::vector<int> values = read(work.result);
    expect(values[0] == 640 * round, "another allocation");
    expect(values[1] == 64000 * round, "written before the wait, read after it");
    expect(work.pinned[5] == round, "what the kernel wrote");
  }
  expect(managed[9] == 5, "managed memory");
}

// The same memory is given to work behind the kernel, after the host wrote a part of it that the
// kernel leaves alone.
static void long_kernel_shared() {
  LongKernel work;
  for (int round = 1; round <= 2; ++round) {
    late<<<1, 1, 0, work.stream>>>(work.word, 400000, work.pinned, round);
    for (int i = 0; i < kCount; ++i) work.pinned[kCount + i] = 100 * round;
    sum<<<1, 1, 0, work.stream>>>(work.pinned + kCount, work.result);
    add<<<1, kCount, 0, work.stream>>>(work.pinned + kCount, 1);
    sum<<<1, 1, 0, work.stream>>>(work.pinned + kCount, work.result + 1);
    late<<<1, 1, 0, work.stream>>>(work.word, 1000, work.pinned, -round);
    sum<<<1, 1, 0, work.stream>>>(work.pinned, work.result + 2);
    CHECK(hipStreamSynchronize(work.stream));
    const std::vector<int> values = read(work.result);
    expect(values[0] == 6400 * round, "the same allocation");
    expect(values[1] == 6400 * round + 64, "changed in place");
    expect(values[2] == -64 * round, "written twice");
    expect(work.pinned[5] == -round && work.pinned[kCount + 5] == 100 * round + 1, "the words");
  }
}

// While a kernel runs that was given the memory, the host writes words of it, and a copy rows
// between which some of these lie.
static void rows_in_flight() {
  LongKernel work;
  hipStream_t other = new_stream();
  int* data = device_buffer(5);
  work.launch(1);
  int* const box = work.pinned + 2 * kCount;
  for (int i = 0; i < kCount; ++i) box[i] = 100 + i;
  CHECK(hipMemcpy2DAsync(box, 32, data, 16, 16, 8, hipMemcpyDeviceToHost, other));
  CHECK(hipStreamSynchronize(other));
  CHECK(hipStreamSynchronize(work.stream));
  for (int i = 0; i < kCount; ++i) expect(box[i] == (i % 8 < 4 ? 5 : 100 + i), "rows and space");
}

__global__ void store(unsigned long long* word, int rounds, int** out, int* pointer) {
  unsigned long long value = *word;
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  *word = value;
  *out = pointer;
}
__global__ void add_behind(int** data, int by) { (*data)[threadIdx.x] += by; }

// A kernel stores a pointer where a memset wrote a part of the word, and the host sees it before it
// waits for either.
static void word_in_part() {
  LongKernel work;
  int* data = device_buffer(5);
  auto** const slot = reinterpret_cast<int**>(work.pinned);
  CHECK(hipMemsetAsync(reinterpret_cast<char*>(slot) + 2, 7, 48, work.stream));
  store<<<1, 1, 0, work.stream>>>(work.word, 200000, slot, data);
  while (*static_cast<int* volatile*>(slot) != data) {
  }
  CHECK(hipStreamSynchronize(work.stream));
  add_behind<<<1, kCount, 0, work.stream>>>(slot, 3);
  CHECK(hipStreamSynchronize(work.stream));
  expect_all(data, 8, "what the pointer leads to");
}

// A copy to plain memory while a callback is under way that writes another part of the memory.
static void callback_beside() {
  static std::atomic<bool> go;
  hipStream_t stream = new_stream();
  hipStream_t other = new_stream();
  int* data = device_buffer(0);
  int* sources[2] = {};
  CHECK(hipHostMalloc(&sources[0], kBytes, hipHostMallocDefault));
  CHECK(hipMallocManaged(&sources[1], kBytes));
  for (int* source : sources) {
    for (int i = 0; i < kCount; ++i) source[i] = 9;
    CHECK(hipMemcpyAsync(data, source, kBytes, hipMemcpyDefault, stream));
    CHECK(hipStreamSynchronize(stream));
    go = false;
    CHECK(hipStreamAddCallback(
        stream,
        [](hipStream_t, hipError_t, void* written) {
          while (!go) {
          }
          static_cast<int*>(written)[kCount - 1] = 10;
        },
        source, 0));
    static int plain[kCount / 2];
    CHECK(hipMemcpyAsync(plain, source, kBytes / 2, hipMemcpyDefault, other));
    CHECK(hipStreamSynchronize(other));
    expect(plain[0] == 9, "the words before the callback");
    go = true;
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipMemcpyAsync(data, source, kBytes, hipMemcpyDefault, stream));
    CHECK(hipStreamSynchronize(stream));
    expect(read(data)[kCount - 1] == 10, "the callback's word");
  }
}

__global__ void held(volatile int* flag, int* data) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(1);
  data[1] = 1;
}

// Each step gets its position from one word of pinned memory.
static void pinned_steps() {
  hipStream_t stream = new_stream();
  int* position = device_buffer(0);
  int* total = device_buffer(0);
  int* word = nullptr;
  CHECK(hipHostMalloc(&word, sizeof(int), hipHostMallocDefault));
  int expected = 0;
  for (int step = 0; step < 16; ++step) {
    *word = step * step;
    expected += *word;
    CHECK(hipMemcpyAsync(position, word, sizeof(int), hipMemcpyHostToDevice, stream));
    accumulate<<<1, 1, 0, stream>>>(position, total);
    CHECK(hipStreamSynchronize(stream));
  }
  expect(read(total)[0] == expected, "the sum of the positions");
}

// A copy waits behind a kernel that the host holds, and its source is written meanwhile.
static void pinned_held() {
  hipStream_t stream = new_stream();
  int* data = device_buffer(0);
  int* flag = nullptr;
  int* word = nullptr;
  CHECK(hipHostMalloc(&flag, sizeof(int), hipHostMallocDefault));
  CHECK(hipHostMalloc(&word, sizeof(int), hipHostMallocDefault));
  *flag = 0;
  *word = 1;
  held<<<1, 1, 0, stream>>>(flag, data);
  CHECK(hipMemcpyAsync(data, word, sizeof(int), hipMemcpyHostToDevice, stream));
  *word = 7;
  *flag = 1;
  CHECK(hipStreamSynchronize(stream));
  expect(read(data)[0] == 7, "what the host wrote while the kernel ran");
}

// The result of an asynchronous copy on the thread's own stream is part of the trace.
static void per_thread() {
  int* data = device_buffer(3);
  static int host[kCount];
  add<<<1, kCount, 0, hipStreamPerThread>>>(data, 4);
  CHECK(hipMemcpyAsync(host, data, kBytes, hipMemcpyDeviceToHost, hipStreamPerThread));
  expect(host[9] == 7, "the copy is done when its call returns");
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::pair<const char*, void (*)()> modes[] = {{"refused", refused},
                                                      {"callback_source", callback_source},
                                                      {"callback_pinned", callback_pinned},
                                                      {"callback_while_read", callback_while_read},
                                                      {"graph_round_trip", graph_round_trip},
                                                      {"graph_host_words", graph_host_words},
                                                      {"host_node_source", host_node_source},
                                                      {"host_node_after_copy", host_node_after_copy},
                                                      {"host_node_after_pinned_copy",
                                                       host_node_after_pinned_copy},
                                                      {"pinned_in_flight", pinned_in_flight},
                                                      {"pinned_steps", pinned_steps},
                                                      {"pinned_held", pinned_held},
                                                      {"rows_in_flight", rows_in_flight},
                                                      {"word_in_part", word_in_part},
                                                      {"callback_beside", callback_beside},
                                                      {"long_kernel", long_kernel},
                                                      {"long_kernel_shared", long_kernel_shared},
                                                      {"per_thread", per_thread}};
  for (const auto& [name, function] : modes) {
    if (mode != name) continue;
    function();
    std::printf("ok\n");
    return 0;
  }
  return 2;
}

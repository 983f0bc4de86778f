// Functions that HIP 7.2 to 10.2 add, on fake_newer_hip: program_newer MODE [FILE], where FILE is this file as a code
// object; prints "ok" when the results are those computed on the host.
//   contexts, one_stream, host_learns, library, variables, managed, pools, lookups, queries, values
//   primary, discards, copies, condition: makes the trace incomplete
#include "../program.h"

extern "C" {
__device__ int counter[64];
__managed__ int shared_counter[64];
__global__ void newer_add(int* data, int by) { data[threadIdx.x] += by; }
__global__ void newer_sum(int* to, const int* a, const int* b) { to[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }
__global__ void newer_count(int by) { counter[threadIdx.x] += by; }
__global__ void newer_count_shared(int by) { shared_counter[threadIdx.x] += by; }
}

#ifndef CODE_OBJECT
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "newer_calls.h"

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

static int* device_buffer(int value) {
  int* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(data), value, kCount));
  CHECK(hipDeviceSynchronize());
  return data;
}

static void expect_all(const int* device, int value, const char* what) {
  std::vector<int> values(kCount);
  CHECK(hipMemcpy(values.data(), device, kBytes, hipMemcpyDeviceToHost));
  if (values[0] != value) std::printf("%d, not %d: ", values[0], value);
  expect(values == std::vector<int>(kCount, value), what);
}

static NewerContext new_context() {
  NewerResource whole{}, part{}, rest{};
  unsigned groups = 1;
  void* description = nullptr;
  NewerContext context = nullptr;
  CHECK(hipDeviceGetDevResource(0, &whole, 1));
  CHECK(hipDevSmResourceSplitByCount(&part, &groups, &whole, &rest, 0, 2));
  CHECK(hipDevResourceGenerateDesc(&description, &part, 1));
  CHECK(hipGreenCtxCreate(&context, description, 0, 0));
  return context;
}

static hipStream_t new_stream(NewerContext context) {
  hipStream_t stream = nullptr;
  CHECK(hipExecutionCtxStreamCreate(&stream, context, hipStreamDefault, 0));
  return stream;
}

static void add(int* data, int by, hipStream_t stream) { newer_add<<<1, kCount, 0, stream>>>(data, by); }

// Two streams of a context and one of the device, ordered by the context's events alone.
static void contexts() {
  int* const a = device_buffer(1);
  int* const b = device_buffer(2);
  int* const c = device_buffer(0);
  NewerContext const context = new_context();
  hipStream_t const first = new_stream(context);
  hipStream_t const second = new_stream(context);
  hipStream_t other = nullptr;
  hipEvent_t event = nullptr;
  CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  for (int round = 0; round < 3; ++round) {
    add(a, 3, first);
    add(b, 4, second);
    CHECK(hipExecutionCtxRecordEvent(context, event));
    CHECK(hipStreamWaitEvent(other, event, 0));
    newer_sum<<<1, kCount, 0, other>>>(c, a, b);
    CHECK(hipEventRecord(event, other));
    CHECK(hipExecutionCtxWaitEvent(context, event));
    newer_sum<<<1, kCount, 0, first>>>(a, a, c);
    newer_sum<<<1, kCount, 0, second>>>(b, b, c);
  }
  CHECK(hipExecutionCtxSynchronize(context));
  int x = 1, y = 2, z = 0;
  for (int round = 0; round < 3; ++round) {
    x += 3, y += 4, z = x + y;
    x += z, y += z;
  }
  expect_all(a, x, "the first stream");
  expect_all(b, y, "the second stream");
  expect_all(c, z, "the stream outside");
  CHECK(hipStreamDestroy(first));
  CHECK(hipStreamDestroy(second));
  CHECK(hipExecutionCtxDestroy(context));
}

// A context with one stream, with none, and with one again at what may be the same handle.
static void one_stream() {
  int* const data = device_buffer(5);
  NewerContext const context = new_context();
  hipEvent_t event = nullptr;
  CHECK(hipEventCreate(&event));
  CHECK(hipExecutionCtxRecordEvent(context, event));
  CHECK(hipExecutionCtxWaitEvent(context, event));
  CHECK(hipExecutionCtxSynchronize(context));
  int value = 5;
  for (int round = 1; round < 4; ++round) {
    hipStream_t const stream = new_stream(context);
    hipStream_t other = nullptr;
    CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    add(data, round, stream);
    CHECK(hipExecutionCtxRecordEvent(context, event));
    CHECK(hipStreamWaitEvent(other, event, 0));
    newer_sum<<<1, kCount, 0, other>>>(data, data, data);
    CHECK(hipStreamSynchronize(other));
    CHECK(hipStreamDestroy(stream));
    CHECK(hipStreamDestroy(other));
    value = 2 * (value + round);
  }
  CHECK(hipExecutionCtxDestroy(context));
  expect_all(data, value, "one stream");
}

// The host writes memory that kernels read after it has waited for the context.
static void host_learns() {
  int* const data = device_buffer(0);
  NewerContext const context = new_context();
  hipStream_t const first = new_stream(context);
  hipStream_t const second = new_stream(context);
  int* pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), kBytes, 0));
  int total = 0;
  for (int round = 1; round < 5; ++round) {
    for (int i = 0; i < kCount; ++i) pinned[i] = round * 10;
    hipStream_t const stream = round % 2 == 0 ? first : second;
    newer_sum<<<1, kCount, 0, stream>>>(data, data, pinned);
    CHECK(hipExecutionCtxSynchronize(context));
    total += round * 10;
  }
  expect_all(data, total, "what the host wrote between");
  CHECK(hipHostFree(pinned));
  CHECK(hipExecutionCtxDestroy(context));
}

static NewerLibrary load(const std::vector<char>& image) {
  NewerLibrary library = nullptr;
  CHECK(newer_library_load(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  return library;
}

static hipFunction_t function_of(NewerLibrary library, const char* name) {
  NewerKernel kernel = nullptr;
  hipFunction_t function = nullptr;
  CHECK(newer_library_kernel(&kernel, library, name));
  CHECK(newer_kernel_function(&function, kernel));
  return function;
}

static void count_by(hipFunction_t function, int by) {
  void* arguments[] = {&by};
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, kCount, 1, 1, 0, nullptr, arguments, nullptr));
}

// The address of a variable is what the program gets first, and passes on.
static void library(const std::vector<char>& image) {
  NewerLibrary const loaded = load(image);
  void* address = nullptr;
  size_t bytes = 0;
  CHECK(newer_library_global(&address, &bytes, loaded, "counter"));
  expect(bytes == kBytes, "size of a variable");
  expect(newer_library_global(&address, &bytes, loaded, "nothing") == hipErrorNotFound, "a variable that is not there");
  (void)hipGetLastError();
  size_t alone = 0;
  CHECK(newer_library_global(nullptr, &alone, loaded, "counter"));
  expect(alone == kBytes, "size alone");
  std::vector<int> start(kCount, 100);
  CHECK(hipMemcpy(address, start.data(), kBytes, hipMemcpyHostToDevice));
  hipFunction_t const count = function_of(loaded, "newer_count");
  count_by(count, 11);
  add(static_cast<int*>(address), 1, nullptr);
  CHECK(hipDeviceSynchronize());
  expect_all(static_cast<int*>(address), 112, "a variable of a library");
  int* data = device_buffer(1);
  int by = 6;
  void* arguments[] = {&data, &by};
  CHECK(hipModuleLaunchKernel(function_of(loaded, "newer_add"), 1, 1, 1, kCount, 1, 1, 0, nullptr, arguments, nullptr));
  expect_all(data, 7, "a function of a library's kernel");
  CHECK(newer_library_unload(loaded));
}

// The program gets no address: the recorder asks for it when a kernel of the library is launched.
static void variables(const std::vector<char>& image) {
  NewerLibrary const loaded = load(image);
  hipFunction_t const count = function_of(loaded, "newer_count");
  count_by(count, 3);
  count_by(count, 4);
  CHECK(hipDeviceSynchronize());
  void* address = nullptr;
  CHECK(newer_library_global(&address, nullptr, loaded, "counter"));
  expect_all(static_cast<int*>(address), 7, "a variable that is asked for at last");
  CHECK(newer_library_unload(loaded));
}

// The host and kernels write it in turn.
static void managed(const std::vector<char>& image) {
  NewerLibrary const loaded = load(image);
  void* address = nullptr;
  size_t bytes = 0;
  CHECK(newer_library_managed(&address, &bytes, loaded, "shared_counter"));
  expect(bytes == kBytes, "size of a managed variable");
  int* const values = static_cast<int*>(address);
  hipFunction_t const count = function_of(loaded, "newer_count_shared");
  for (int round = 1; round < 4; ++round) {
    for (int i = 0; i < kCount; ++i) values[i] = 10 * round;
    count_by(count, 5);
    CHECK(hipDeviceSynchronize());
    expect(values[0] == 10 * round + 5 && values[kCount - 1] == 10 * round + 5, "a managed variable");
  }
  CHECK(newer_library_unload(loaded));
}

static void pools() {
  NewerLocation here{1, 0};
  hipMemPool_t pool = nullptr;
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  if (newer_default_pool(&pool, &here, 1) == hipSuccess) {
    CHECK(newer_set_pool(&here, 1, pool));
    hipMemPool_t now = nullptr;
    CHECK(newer_get_pool(&now, &here, 1));
    expect(now == pool, "the pool that was set");
  }
  (void)hipGetLastError();
  int* data = nullptr;
  CHECK(hipMallocManaged(reinterpret_cast<void**>(&data), kBytes, hipMemAttachGlobal));
  for (int i = 0; i < kCount; ++i) data[i] = 8;
  void* addresses[] = {data};
  size_t sizes[] = {kBytes}, indices[] = {0};
  CHECK(newer_prefetch(addresses, sizes, 1, &here, indices, 1, 0, stream));
  add(data, 9, stream);
  CHECK(hipStreamSynchronize(stream));
  expect(data[0] == 17 && data[kCount - 1] == 17, "prefetched memory");
}

static void lookups() {
  void* found = nullptr;
  CHECK(newer_proc_address_spt("hipMemcpyAsync", &found, 0, 0, nullptr));
  const auto copy = reinterpret_cast<decltype(&hipMemcpyAsync)>(found);
  std::vector<int> values(kCount, 21);
  int* const data = device_buffer(0);
  CHECK(copy(data, values.data(), kBytes, hipMemcpyHostToDevice, nullptr));
  CHECK(hipStreamSynchronize(hipStreamPerThread));
  expect_all(data, 21, "a copy by a function that was looked up");
}

// Calls that change nothing.
static void queries(const std::vector<char>& image) {
  NewerContext const context = new_context();
  hipStream_t const stream = new_stream(context);
  NewerResource resource{};
  unsigned long long id = 0;
  int device = -1, value = -1;
  char luid[8] = {1};
  unsigned mask = 0;
  CHECK(hipExecutionCtxGetDevResource(context, &resource, 1));
  CHECK(hipStreamGetDevResource(stream, &resource, 1));
  CHECK(hipExecutionCtxGetDevice(&device, context));
  CHECK(hipExecutionCtxGetId(context, &id));
  CHECK(hipDeviceGetLuid(luid, &mask, 0));
  CHECK(hipInitDevice(0, 0, 0));
  CHECK(hipExtSetLoggingParams(1, 1, 1));
  CHECK(hipExtEnableLogging());
  CHECK(hipExtDisableLogging());
  NewerLibrary const loaded = load(image);
  hipFunction_t const kernel = function_of(loaded, "newer_count");
  size_t offset = 1, bytes = 0;
  CHECK(newer_kernel_parameter(kernel, 0, &offset, &bytes));
  CHECK(newer_set_kernel_attribute(8, 0, kernel, 0));
  CHECK(newer_kernel_attribute(&value, 8, kernel, 0));
  __hipOnError(nullptr);
  expect(device == 0 && id != 0 && offset == 0 && value == 0 && luid[0] == 0 && mask == 1, "queries");
  int* const data = device_buffer(2);
  add(data, 3, stream);
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 5, "a kernel beside queries");
}

// As ROCm 10.0: values that a capturing stream writes and waits for are nodes.
static void values() {
  unsigned* flag = nullptr;
  int* const data = device_buffer(1);
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipMalloc(reinterpret_cast<void**>(&flag), 64));
  CHECK(hipMemset(flag, 0, 64));
  CHECK(hipStreamWriteValue32(stream, flag, 5, 0));
  CHECK(hipStreamSynchronize(stream));
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  CHECK(hipStreamWaitValue32(stream, flag, 5, hipStreamWaitValueEq, 0xffffffff));
  add(data, 2, stream);
  CHECK(hipStreamWriteValue32(stream, flag + 1, 6, 0));
  add(data, 3, stream);
  CHECK(hipStreamEndCapture(stream, &graph));
  unsigned now[2] = {};
  CHECK(hipMemcpy(now, flag, sizeof now, hipMemcpyDeviceToHost));
  expect(now[0] == 5 && now[1] == 0, "a captured value is not written yet");
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(now, flag, sizeof now, hipMemcpyDeviceToHost));
  expect(now[1] == 6, "the graph wrote the value");
  expect_all(data, 6, "kernels beside captured values");
}

// ---- what makes the trace incomplete ------------------------------------------------------------

static void primary() {
  NewerContext context = nullptr;
  CHECK(hipDeviceGetExecutionCtx(&context, 0));
  hipStream_t const stream = new_stream(context);
  add(device_buffer(1), 1, stream);
  expect(hipExecutionCtxDestroy(context) != hipSuccess, "the device's own context stays");
  CHECK(hipExecutionCtxSynchronize(context));
}

static void discards() {
  int* data = nullptr;
  CHECK(hipMallocManaged(reinterpret_cast<void**>(&data), kBytes, hipMemAttachGlobal));
  void* addresses[] = {data};
  size_t sizes[] = {kBytes}, indices[] = {0};
  NewerLocation here{1, 0};
  expect(newer_discard(addresses, sizes, 0, 0, nullptr) != hipSuccess, "a refused discard");
  CHECK(newer_discard(addresses, sizes, 1, 0, nullptr));
  CHECK(newer_driver_discard(addresses, sizes, 1, 0, nullptr));
  CHECK(newer_discard_and_prefetch(addresses, sizes, 1, &here, indices, 1, 0, nullptr));
  CHECK(newer_driver_discard_and_prefetch(addresses, sizes, 1, &here, indices, 1, 0, nullptr));
  CHECK(hipDeviceSynchronize());
}

static void copies() {
  int* const from = device_buffer(4);
  int* const to = device_buffer(0);
  void* destinations[] = {to};
  void* sources[] = {from};
  size_t sizes[] = {kBytes};
  CHECK(newer_extended_copies(destinations, sources, sizes, nullptr, nullptr, nullptr, nullptr, 1, nullptr, nullptr, 0,
                              nullptr));
  CHECK(hipDeviceSynchronize());
  expect_all(to, 4, "a list of extended copies");
}

static void condition() {
  int* const data = device_buffer(1);
  hipGraph_t graph = nullptr, body = nullptr;
  hipGraphExec_t executable = nullptr;
  hipGraphNode_t node = nullptr, kernel = nullptr;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphCreate(&body, 0));
  int* to = data;
  int by = 2;
  void* arguments[] = {&to, &by};
  hipKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(newer_add);
  params.gridDim = dim3(1);
  params.blockDim = dim3(kCount);
  params.kernelParams = arguments;
  CHECK(hipGraphAddKernelNode(&kernel, body, nullptr, 0, &params));
  NewerCondition made{};
  CHECK(newer_make_condition(&made, graph, 1, 0));
  CHECK(newer_add_conditional(&node, graph, nullptr, 0, made, 0, 1, &body, 0));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(executable, nullptr));
  CHECK(hipDeviceSynchronize());
  expect_all(data, 3, "a conditional node");
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  std::vector<char> image;
  if (argc > 2) {
    std::ifstream file(argv[2], std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(file), {});
    expect(!image.empty(), "a code object");
  }
  if (mode == "contexts") contexts();
  else if (mode == "one_stream") one_stream();
  else if (mode == "host_learns") host_learns();
  else if (mode == "library") library(image);
  else if (mode == "variables") variables(image);
  else if (mode == "managed") managed(image);
  else if (mode == "pools") pools();
  else if (mode == "lookups") lookups();
  else if (mode == "queries") queries(image);
  else if (mode == "values") values();
  else if (mode == "primary") primary();
  else if (mode == "discards") discards();
  else if (mode == "copies") copies();
  else if (mode == "condition") condition();
  else return 2;
  std::puts("ok");
  return 0;
}
#endif

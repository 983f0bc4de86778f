// One way per mode in which programs ask for device work, or end: program_forms MODE [FILE]. Prints
// "ok" when the results are right.
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "program.h"

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

__device__ int counter = 5;
__constant__ int table[4];

__global__ void increment(int* data, int by) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < kCount) data[i] += by;
}

__global__ void count(int* out) {
  if (threadIdx.x == 0) {
    counter += table[1];
    out[0] = counter;
  }
}

static int* device_buffer() {
  int* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemset(data, 0, kBytes));
  return data;
}

static int first_of(const int* device) {
  int value = -1;
  CHECK(hipMemcpy(&value, device, sizeof(value), hipMemcpyDeviceToHost));
  return value;
}

// The host writes, the device changes, the host reads and writes again.
static void host_memory(int* host, int* device) {
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < kCount; ++i) host[i] = i * round;
    increment<<<2, 32>>>(device, 10);
    CHECK(hipDeviceSynchronize());
    for (int i = 0; i < kCount; ++i) expect(host[i] == i * round + 10, "host-visible memory");
  }
  host[0] = 77;
}

static void managed() {
  int* data = nullptr;
  CHECK(hipMallocManaged(&data, kBytes));
  host_memory(data, data);
}

static void pinned() {
  int* data = nullptr;
  CHECK(hipHostMalloc(&data, kBytes, hipHostMallocDefault));
  host_memory(data, data);
  CHECK(hipHostFree(data));
}

static void registered() {
  void* memory = nullptr;
  expect(posix_memalign(&memory, 4096, 4096) == 0, "posix_memalign");
  std::memset(memory, 0, 4096);
  CHECK(hipHostRegister(memory, 4096, hipHostRegisterDefault));
  int* device = nullptr;
  CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device), memory, 0));
  host_memory(static_cast<int*>(memory), device);
  CHECK(hipHostUnregister(memory));
  std::free(memory);
}

static void staging() {
  int* device = device_buffer();
  int* host = nullptr;
  CHECK(hipHostMalloc(&host, kBytes, hipHostMallocDefault));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kCount; ++i) host[i] = round;
    CHECK(hipMemcpyAsync(device, host, kBytes, hipMemcpyHostToDevice, stream));
    increment<<<2, 32, 0, stream>>>(device, 1);
    CHECK(hipMemcpyAsync(host, device, kBytes, hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    expect(host[kCount - 1] == round + 1, "staged copy");
  }
}

static void symbols() {
  int* data = device_buffer();
  const int values[4] = {1, 2, 3, 4};
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof(values), 0, hipMemcpyHostToDevice));
  count<<<1, 32>>>(data);
  int result = 0;
  CHECK(hipMemcpyFromSymbol(&result, HIP_SYMBOL(counter), sizeof(int), 0, hipMemcpyDeviceToHost));
  expect(result == 7 && first_of(data) == 7, "device variable");
}

static void copies_2d() {
  int* data = nullptr;
  size_t pitch = 0;
  CHECK(hipMallocPitch(reinterpret_cast<void**>(&data), &pitch, 20, 4));
  std::vector<char> host(80);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<char>(i);
  CHECK(hipMemset2D(data, pitch, 7, 20, 4));
  CHECK(hipMemcpy2D(data, pitch, host.data(), 20, 20, 3, hipMemcpyHostToDevice));
  std::vector<char> back(80);
  CHECK(hipMemcpy2D(back.data(), 20, data, pitch, 20, 4, hipMemcpyDeviceToHost));
  expect(back[59] == 59 && back[60] == 7, "2D copy");
}

static void capture() {
  int* data = device_buffer();
  hipStream_t stream, other;
  hipEvent_t event;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipStreamCreate(&other));
  CHECK(hipEventCreate(&event));
  hipGraph_t graph;
  hipGraphExec_t executable;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  increment<<<2, 32, 0, stream>>>(data, 1);
  CHECK(hipEventRecord(event, stream));
  CHECK(hipStreamWaitEvent(other, event, 0));
  increment<<<2, 32, 0, other>>>(data, 2);
  CHECK(hipEventRecord(event, other));
  CHECK(hipStreamWaitEvent(stream, event, 0));
  increment<<<2, 32, 0, stream>>>(data, 3);
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expect(first_of(data) == 12, "captured graph");
}

static void explicit_graph() {
  int* data = device_buffer();
  int by = 5;
  void* arguments[] = {&data, &by};
  hipKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(increment);
  params.gridDim = dim3(2);
  params.blockDim = dim3(32);
  params.kernelParams = arguments;
  hipMemsetParams set{};
  set.dst = data;
  set.elementSize = 4;
  set.value = 100;
  set.width = kCount;
  set.height = 1;
  hipGraph_t graph;
  hipGraphNode_t first, second;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddMemsetNode(&first, graph, nullptr, 0, &set));
  CHECK(hipGraphAddKernelNode(&second, graph, nullptr, 0, &params));
  CHECK(hipGraphAddDependencies(graph, &first, &second, 1));
  hipGraphExec_t executable;
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expect(first_of(data) == 105, "explicit graph");
  by = 6;
  CHECK(hipGraphExecKernelNodeSetParams(executable, second, &params));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  expect(first_of(data) == 106, "changed graph");
}

static std::vector<char> read_file(const char* path) {
  std::FILE* file = std::fopen(path, "rb");
  expect(file != nullptr, "module file");
  std::vector<char> bytes(1 << 22);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  return bytes;
}

// Kernel arguments as a list of pointers, and as one buffer (in the one order of keys that HIP 5.2
// reads).
static void module(const char* path) {
  const std::vector<char> image = read_file(path);
  hipModule_t loaded;
  hipFunction_t function;
  CHECK(hipModuleLoadData(&loaded, image.data()));
  CHECK(hipModuleGetFunction(&function, loaded, "module_increment"));
  int* data = device_buffer();
  int by = 3;
  void* params[] = {&data, &by};
  CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr));
  struct {
    int* data;
    int by;
  } packed{data, 4};
  size_t size = sizeof(packed);
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  expect(first_of(data) == 7, "module launches");
  hipDeviceptr_t global;
  size_t bytes = 0;
  CHECK(hipModuleGetGlobal(&global, &bytes, loaded, "module_counter"));
  expect(bytes == sizeof(int) && first_of(static_cast<int*>(global)) == 2, "module variable");
  CHECK(hipModuleUnload(loaded));
}

// hipLaunchKernel and its like looked up at run time.
static void dynamic() {
  void* library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
  expect(library != nullptr, "dlopen");
  using Malloc = hipError_t (*)(void**, size_t);
  using Free = hipError_t (*)(void*);
  const auto allocate = reinterpret_cast<Malloc>(dlsym(library, "hipMalloc"));
  const auto release = reinterpret_cast<Free>(dlsym(RTLD_DEFAULT, "hipFree"));
  expect(allocate != nullptr && release != nullptr, "dlsym");
  expect(dlsym(library, "hipNoSuchFunction") == nullptr, "dlsym of nothing");
  expect(dlsym(RTLD_DEFAULT, "hipLaunchHostFunc") == nullptr, "dlsym of a newer function");
  void* data = nullptr;
  CHECK(allocate(&data, 4096));
  CHECK(release(data));
}

static void unsupported() {
  int* data = device_buffer();
  hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindSigned);
  hipArray* array = nullptr;
  textureReference texture = {};
  CHECK(hipTexRefSetFlags(&texture, HIP_TRSF_NORMALIZED_COORDINATES));
  CHECK(hipTexRefSetFlags(&texture, HIP_TRSF_READ_AS_INTEGER));
  CHECK(hipMemset(data, 1, 4));
  // Refused by the software agent: nothing changes.
  expect(hipMallocArray(&array, &format, 0, 1, 0) != hipSuccess, "refused call");
}

// HIP 5.2 reports the status of the thread's last call: what the recorder does must not show.
static void last_error() {
  int* data = device_buffer();
  expect(hipMemcpy(nullptr, data, kBytes, hipMemcpyDeviceToHost) != hipSuccess, "bad copy");
  expect(hipPeekAtLastError() != hipSuccess, "error was lost");
  expect(hipGetLastError() != hipSuccess, "error was lost by a look at it");
  void* too_much = nullptr;
  expect(hipMalloc(&too_much, size_t{1} << 60) != hipSuccess, "too much memory");
  expect(hipGetLastError() == hipErrorOutOfMemory, "another error");
  increment<<<2, 32>>>(data, 1);
  expect(hipGetLastError() == hipSuccess, "launch");
}

static void callback() {
  int* data = device_buffer();
  int* host = nullptr;
  CHECK(hipHostMalloc(&host, kBytes, hipHostMallocDefault));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  increment<<<2, 32, 0, stream>>>(data, 1);
  const auto function = [](hipStream_t, hipError_t, void* context) {
    static_cast<int*>(context)[3] = 9;
  };
  CHECK(hipStreamAddCallback(stream, function, host, 0));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpyAsync(data, host, kBytes, hipMemcpyHostToDevice, stream));
  CHECK(hipStreamSynchronize(stream));
  int result = 0;
  CHECK(hipMemcpy(&result, data + 3, sizeof(result), hipMemcpyDeviceToHost));
  expect(result == 9, "callback");
}

static void threads() {
  std::vector<std::thread> workers;
  for (int t = 0; t < 4; ++t) {
    workers.emplace_back([] {
      hipStream_t stream;
      CHECK(hipStreamCreate(&stream));
      int* data = device_buffer();
      CHECK(hipDeviceSynchronize());
      for (int i = 0; i < 50; ++i) increment<<<2, 32, 0, stream>>>(data, 1);
      CHECK(hipStreamSynchronize(stream));
      expect(first_of(data) == 50, "threads");
      CHECK(hipFree(data));
    });
  }
  for (std::thread& worker : workers) worker.join();
}

static void work() {
  int* data = device_buffer();
  increment<<<2, 32>>>(data, 1);
  CHECK(hipDeviceSynchronize());
}

[[noreturn]] static void for_ever() {
  int* data = device_buffer();
  std::printf("started\n");
  std::fflush(stdout);
  while (true) {
    for (int i = 0; i < 20; ++i) increment<<<2, 32>>>(data, 1);
    CHECK(hipDeviceSynchronize());
  }
}

static void in_child() {
  work();
  const pid_t child = fork();
  if (child == 0) {
    void* data = nullptr;
    (void)hipHostMalloc(&data, 16, 0);  // passed on, not recorded, no crash
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 3, "child");
  work();
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "managed") managed();
  if (mode == "pinned") pinned();
  if (mode == "registered") registered();
  if (mode == "staging") staging();
  if (mode == "symbols") symbols();
  if (mode == "copies_2d") copies_2d();
  if (mode == "capture") capture();
  if (mode == "explicit_graph") explicit_graph();
  if (mode == "module" && argc > 2) module(argv[2]);
  if (mode == "dynamic") dynamic();
  if (mode == "unsupported") unsupported();
  if (mode == "last_error") last_error();
  if (mode == "callback") callback();
  if (mode == "threads") threads();
  if (mode == "for_ever") for_ever();
  if (mode == "fork") in_child();
  if (mode == "exit_code") {
    work();
    return 41;
  }
  if (mode == "_exit") {
    work();
    _exit(42);
  }
  if (mode == "quick_exit") {
    work();
    quick_exit(43);
  }
  if (mode == "abort") {
    work();
    abort();
  }
  if (mode == "crash") {
    work();
    usleep(300'000);
    raise(SIGSEGV);
  }
  if (mode == "exec") {
    work();
    execl("/bin/echo", "echo", "from exec", nullptr);
    return 1;
  }
  if (mode == "nothing") return 0;
  std::printf("ok\n");
  return 0;
}

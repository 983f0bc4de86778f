// Kernels that fault, one kind per run.
//   fault KIND               HIP alone: it has no way to say so; the diagnosis and the exit status must
//   fault KIND ERROR WAY     under `gfxgraph run`: WAY is the first call that waits for the kernel; it and all
//                            others answer ERROR, and what has another reason or needs no device does not
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <string>

#include "../check.h"

__global__ void write_outside(int* x, long where) { x[where + threadIdx.x] = 1; }
__global__ void read_null(const int* x, int* out) { out[threadIdx.x] = x[threadIdx.x]; }
__global__ void trap() { __builtin_trap(); }
__global__ void illegal() { asm volatile(".long 0xd7fff000"); }
__global__ void misaligned(int* x) {
  asm volatile("global_atomic_add %0, %1, off" : : "v"(reinterpret_cast<char*>(x) + 2), "v"(1) : "memory");
}
__global__ void far_scratch(int* out, int where) {
  volatile int own[16];
  own[where] = 1;
  out[threadIdx.x] = own[where & 15];
}
__global__ void off_the_end() { asm volatile("s_code_end"); }
__global__ void jump_away() { asm volatile("s_mov_b64 s[0:1], 0x1000\n s_setpc_b64 s[0:1]" : : : "s0", "s1"); }

__global__ void asserts(int n) { assert(static_cast<int>(threadIdx.x) < n); }
__global__ void wait_for_ever(const unsigned* flag) {
  while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(1);
}
__device__ int variable;
__global__ void good(int* x) { x[threadIdx.x] = variable; }

static const char* kind;
static int* x;
static bool is(const char* name) { return std::strcmp(kind, name) == 0; }

static void launch(hipStream_t stream) {
  if (is("write")) write_outside<<<1, 32, 0, stream>>>(x, 1L << 28);
  if (is("read")) read_null<<<1, 32, 0, stream>>>(nullptr, x);
  if (is("trap")) trap<<<1, 32, 0, stream>>>();
  if (is("illegal")) illegal<<<1, 32, 0, stream>>>();
  if (is("misaligned")) misaligned<<<1, 32, 0, stream>>>(x);
  if (is("scratch")) far_scratch<<<1, 32, 0, stream>>>(x, 1 << 20);
  if (is("end")) off_the_end<<<1, 32, 0, stream>>>();
  if (is("jump")) jump_away<<<1, 32, 0, stream>>>();
  if (is("assert")) asserts<<<1, 32, 0, stream>>>(31);
  if (is("forever")) wait_for_ever<<<1, 32, 0, stream>>>(reinterpret_cast<unsigned*>(x));
}

static void with_hip_alone() {
  launch(nullptr);
  (void)hipDeviceSynchronize();
  int host[16];
  (void)hipMemcpy(host, x, 64, hipMemcpyDeviceToHost);
  void* more = nullptr;
  CHECK(hipMalloc(&more, 64) != hipSuccess);
}

static int wrong = 0;
static void expect(const char* call, hipError_t got, hipError_t wanted) {
  if (got == wanted) return;
  std::fprintf(stderr, "%s: %s instead of %s\n", call, hipGetErrorName(got), hipGetErrorName(wanted));
  ++wrong;
}
#define EXPECT(wanted, call, ...) expect(#call, call(__VA_ARGS__), wanted)

struct Things {
  hipStream_t stream, other;
  hipEvent_t before, after;
  hipGraph_t graph;
  hipGraphExec_t executable;  // the faulting kernel
  hipModule_t module;
  int* pinned;
  int* polled;  // copies that were on their way when the kernel faulted may still end here
  void* unused;
  int host[16] = {};
};

// The bundle of this program's own code objects.
static const void* own_code() {
  const int file = open(program_invocation_name, O_RDONLY);
  struct stat facts;
  CHECK(file >= 0 && fstat(file, &facts) == 0);
  const size_t size = static_cast<size_t>(facts.st_size);
  const void* const bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  CHECK(bytes != MAP_FAILED);
  static const std::string magic = std::string("__CLANG_OFFLOAD_") + "BUNDLE__";
  const void* const found = memmem(bytes, size, magic.data(), magic.size());
  CHECK(found != nullptr);
  return found;
}

static void make(Things& t) {
  HIP_OK(hipStreamCreateWithFlags(&t.stream, hipStreamNonBlocking));
  HIP_OK(hipStreamCreate(&t.other));
  HIP_OK(hipEventCreate(&t.before));
  HIP_OK(hipEventCreate(&t.after));
  HIP_OK(hipHostMalloc(&t.pinned, 64, 0));
  HIP_OK(hipHostMalloc(&t.polled, 64, 0));
  HIP_OK(hipMalloc(&t.unused, 64));
  // What the calls below have compiled or allocated at their first use.
  HIP_OK(hipMemset(x, 0, 64));
  good<<<1, 16, 0, t.stream>>>(x);
  HIP_OK(hipStreamSynchronize(t.stream));
  HIP_OK(hipMemcpyToSymbol(HIP_SYMBOL(variable), t.host, 4, 0, hipMemcpyHostToDevice));
  HIP_OK(hipMemset(x, 0, 64));
  HIP_OK(hipModuleLoadData(&t.module, own_code()));
  HIP_OK(hipModuleUnload(t.module));
  HIP_OK(hipDeviceSynchronize());
  HIP_OK(hipStreamBeginCapture(t.stream, hipStreamCaptureModeThreadLocal));
  launch(t.stream);
  HIP_OK(hipStreamEndCapture(t.stream, &t.graph));
  HIP_OK(hipGraphInstantiate(&t.executable, t.graph, nullptr, nullptr, 0));
}

// The first call that waits for the kernel, by its name.
static hipError_t first(const std::string& way, Things& t) {
  if (way == "device") return hipDeviceSynchronize();
  if (way == "stream") return hipStreamSynchronize(t.stream);
  if (way == "event") return hipEventSynchronize(t.after);
  if (way == "memcpy") return hipMemcpyWithStream(t.host, x, 64, hipMemcpyDeviceToHost, t.stream);
  if (way == "graph") return hipStreamSynchronize(t.stream);
  if (way == "free") return hipFree(t.unused);
  if (way == "blocking") return hipPeekAtLastError();
  hipError_t result = hipErrorNotReady;
  while (result == hipErrorNotReady || result == hipSuccess) {
    if (way == "query") result = hipStreamQuery(t.stream);
    if (way == "event_query") result = hipEventQuery(t.after);
    if (way == "launch") result = (good<<<1, 16, 0, t.other>>>(x), hipGetLastError());
    if (way == "peek") result = hipPeekAtLastError();
    if (way == "copy") result = hipMemcpyAsync(t.polled, x, 64, hipMemcpyDeviceToHost, t.other);
    if (way == "fill") result = hipMemsetAsync(x, 0, 64, t.other);
  }
  return result;
}

static hipError_t callback_status = hipSuccess;
static void remember(hipStream_t, hipError_t status, void* data) {
  if (*static_cast<int*>(data) == 42) callback_status = status;
}

static void all_answer(hipError_t error, Things& t) {
  for (int i = 0; i < 16; ++i) t.host[i] = t.pinned[i] = -5;
  EXPECT(error, hipDeviceSynchronize);
  EXPECT(error, hipStreamSynchronize, t.stream);
  EXPECT(error, hipStreamSynchronize, nullptr);
  EXPECT(error, hipStreamQuery, t.other);
  EXPECT(error, hipEventSynchronize, t.after);
  EXPECT(error, hipEventQuery, t.after);
  float ms = 0;
  EXPECT(error, hipEventElapsedTime, &ms, t.before, t.after);
  good<<<1, 16, 0, t.stream>>>(x);
  EXPECT(error, hipPeekAtLastError);
  EXPECT(error, hipGetLastError);
  EXPECT(error, hipGetLastError);
  void* parameters[] = {&x};
  EXPECT(error, hipLaunchKernel, reinterpret_cast<void*>(good), dim3(1), dim3(16), parameters, 0, t.stream);
  EXPECT(error, hipGraphLaunch, t.executable, t.stream);
  EXPECT(error, hipMemcpy, t.host, x, 64, hipMemcpyDeviceToHost);
  EXPECT(error, hipMemcpyAsync, t.pinned, x, 64, hipMemcpyDeviceToHost, t.stream);
  EXPECT(error, hipMemcpy2D, t.host, 16, x, 16, 16, 4, hipMemcpyDeviceToHost);
  EXPECT(error, hipMemcpyToSymbol, HIP_SYMBOL(variable), t.host, 4, 0, hipMemcpyHostToDevice);
  EXPECT(error, hipMemset, x, 0, 64);
  EXPECT(error, hipMemsetAsync, x, 0, 64, t.stream);
  EXPECT(error, hipEventRecord, t.before, t.stream);
  EXPECT(error, hipStreamWaitEvent, t.other, t.before, 0);
  static int answer = 42;
  EXPECT(error, hipStreamAddCallback, t.stream, remember, &answer, 0);
  EXPECT(error, hipStreamSynchronize, t.stream);
  expect("callback", callback_status, error);
  void* more = nullptr;
  EXPECT(error, hipMalloc, &more, 64);
  EXPECT(error, hipHostMalloc, &more, 64, 0);
  hipStream_t stream;
  EXPECT(error, hipStreamCreate, &stream);
  EXPECT(error, hipModuleLoadData, &t.module, own_code());
  EXPECT(error, hipStreamBeginCapture, t.other, hipStreamCaptureModeRelaxed);
  // Another reason than the fault.
  EXPECT(hipErrorInvalidHandle, hipEventSynchronize, nullptr);
  EXPECT(hipErrorFileNotFound, hipModuleLoad, &t.module, "/nowhere/at/all.co");
  // No device is needed.
  int count = 0;
  EXPECT(hipSuccess, hipGetDeviceCount, &count);
  hipDeviceProp_t properties;
  EXPECT(hipSuccess, hipGetDeviceProperties, &properties, 0);
  // Nothing was copied; HIP 6.4.3 may have written old contents of a buffer of its own to t.host.
  for (int i = 0; i < 16; ++i) CHECK(t.pinned[i] == -5);
}

static void with_errors(const char* name, const std::string& way) {
  hipError_t error = hipSuccess;
  for (const hipError_t one :
       {hipErrorIllegalAddress, hipErrorLaunchTimeOut, hipErrorAssert, hipErrorLaunchFailure}) {
    if (std::strcmp(hipGetErrorName(one), name) == 0) error = one;
  }
  CHECK(error != hipSuccess);
  Things t;
  make(t);
  HIP_OK(hipEventRecord(t.before, t.stream));
  // However fast the kernel faults: handing it over succeeded.
  long where = 1L << 28;
  void* arguments[] = {&x, &where};
  if (way == "graph") HIP_OK(hipGraphLaunch(t.executable, t.stream));
  else if (way == "blocking")  // HIP waits in the launch itself
    HIP_OK(hipLaunchKernel(reinterpret_cast<void*>(write_outside), dim3(1), dim3(32), arguments, 0, t.stream));
  else launch(t.stream);
  (void)hipEventRecord(t.after, t.stream);  // may know already
  const hipError_t got = first(way, t);
  std::fprintf(stderr, "%s: %s\n", way.c_str(), hipGetErrorName(got));
  CHECK(got == error);
  all_answer(error, t);
  // Whatever destroys does so; what frees does as well, and says the error.
  EXPECT(error, hipFree, x);
  EXPECT(error, hipHostFree, t.pinned);
  EXPECT(hipSuccess, hipGraphExecDestroy, t.executable);
  EXPECT(hipSuccess, hipGraphDestroy, t.graph);
  EXPECT(hipSuccess, hipEventDestroy, t.before);
  EXPECT(hipSuccess, hipStreamDestroy, t.stream);
  CHECK(wrong == 0);
  std::fprintf(stderr, "every call answered as it must\n");
}

int main(int argc, char** argv) {
  CHECK(argc == 2 || argc == 4);
  kind = argv[1];
  HIP_OK(hipMalloc(&x, 64));
  HIP_OK(hipMemset(x, 0, 64));
  if (argc == 2) with_hip_alone();
  else with_errors(argv[2], argv[3]);
  return done();
}

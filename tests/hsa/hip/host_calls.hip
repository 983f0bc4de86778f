// Kernels that call the host, with and without $GFXGRAPH_HOST_CALLS=deny.
//   host_calls good      printf, assert, malloc and free go on in any case
//   host_calls function  a kernel makes HIP's listener call a function of the program, by its address
//   host_calls fill      HIP 5.2.3 takes a hipMemset of 1 byte at an odd address for one of nearly 2^64
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstring>

#include "check.h"

using TwoWords = long __attribute__((ext_vector_type(2)));
extern "C" __device__ TwoWords __ockl_call_host_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                         uint64_t, uint64_t);

__global__ void call(uint64_t function, long* out) {
  out[threadIdx.x] = __ockl_call_host_function(function, threadIdx.x, 0, 0, 0, 0, 0, 0).x;
}
__global__ void talk(int** list, int n) {
  if (threadIdx.x == 0) printf("block %d of %s talks\n", static_cast<int>(blockIdx.x), "talk");
  assert(n == 64);
  int* const mine = static_cast<int*>(malloc(256));
  for (int i = 0; i < 64; ++i) mine[i] = static_cast<int>(threadIdx.x) + i;
  list[blockIdx.x * blockDim.x + threadIdx.x] = mine;
}
__global__ void sum(int** list, int* out) {
  int* const mine = list[blockIdx.x * blockDim.x + threadIdx.x];
  int total = 0;
  for (int i = 0; i < 64; ++i) total += mine[i];
  free(mine);
  atomicAdd(out, total);
}
__device__ char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static std::atomic<int> calls{0};
static void host_function(uint64_t* output, const uint64_t* input) {
  ++calls;
  output[0] = 1000 + input[0];
  output[1] = 0;
}

static int good() {
  constexpr int kBlocks = 6;
  int** list = nullptr;
  int* out = nullptr;
  HIP_OK(hipMalloc(&list, kBlocks * 64 * sizeof(int*)));
  HIP_OK(hipMalloc(&out, sizeof(int)));
  HIP_OK(hipMemset(out, 0, sizeof(int)));
  talk<<<kBlocks, 64>>>(list, 64);
  HIP_OK(hipDeviceSynchronize());
  sum<<<kBlocks, 64>>>(list, out);
  int total = 0;
  HIP_OK(hipMemcpy(&total, out, sizeof(total), hipMemcpyDeviceToHost));
  CHECK(total == kBlocks * (64 * 64 * 63 / 2) * 2);
  return done();
}

static int function() {
  long* out = nullptr;
  HIP_OK(hipMalloc(&out, 40 * sizeof(long)));
  call<<<1, 40>>>(reinterpret_cast<uint64_t>(host_function), out);
  long results[40] = {};
  const hipError_t error = hipMemcpy(results, out, sizeof(results), hipMemcpyDeviceToHost);
  std::printf("%s, %d calls, %ld\n", hipGetErrorName(error), calls.load(), results[39]);
  return 0;
}

static int fill() {
  char* first = nullptr;
  HIP_OK(hipGetSymbolAddress(reinterpret_cast<void**>(&first), HIP_SYMBOL(bytes)));
  std::printf("%s\n", hipGetErrorName(hipMemset(first + 1, 0, 1)));
  return done();
}

int main(int, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (std::strcmp(argv[1], "good") == 0) return good();
  return std::strcmp(argv[1], "fill") == 0 ? fill() : function();
}

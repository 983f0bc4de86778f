// What `plugins` opens and closes: the same names each time, with another PLUG.
#include <hip/hip_runtime.h>

__device__ int calls;
__constant__ int factor = PLUG;
__device__ int* where;  // an address in this code, which memory holds

template <int N>
__global__ void work(int* data) {
  if (where == nullptr) where = &calls;
  data[threadIdx.x] = data[threadIdx.x] * factor + N;
  if (threadIdx.x == 0) ++*where;
}

extern "C" int plugin_run(int* data, hipStream_t stream) {
  work<PLUG><<<1, 64, 0, stream>>>(data);
  return hipGetLastError();
}
extern "C" int* plugin_counter() {
  void* address = nullptr;
  if (hipGetSymbolAddress(&address, HIP_SYMBOL(calls)) != hipSuccess) return nullptr;
  return static_cast<int*>(address);
}
extern "C" int plugin_calls() {
  int count = -1;
  return hipMemcpyFromSymbol(&count, HIP_SYMBOL(calls), sizeof(count)) == hipSuccess ? count : -1;
}

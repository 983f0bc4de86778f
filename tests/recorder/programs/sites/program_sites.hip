// Calls whose places in the program are looked for: allocations of one function, steps that wait,
// and a library that is loaded (the argument) and allocates by itself.
#include <dlfcn.h>

#include "../../../../include/gfxgraph/record.h"
#include "../program.h"

__global__ void add(int* values, int by) { values[threadIdx.x] += by; }

__attribute__((noinline)) int* load(size_t count) {
  int* values = nullptr;
  CHECK(hipMalloc(&values, count * sizeof(int)));
  CHECK(hipMemset(values, 0, count * sizeof(int)));
  return values;
}

__attribute__((noinline)) void decode(int* weights, int* cache, hipStream_t stream) {
  gfxgraph_range_begin("decode");
  add<<<1, 64, 0, stream>>>(weights, 1);
  add<<<1, 64, 0, stream>>>(cache, 2);
  CHECK(hipStreamSynchronize(stream));
  gfxgraph_range_end("decode");
}

int main(int argc, char** argv) {
  int* const weights = load(64);
  int* const spare = load(128);
  int* cache = nullptr;
  void* library = nullptr;
  if (argc > 1) {
    library = dlopen(argv[1], RTLD_NOW);
    expect(library != nullptr, "the library cannot be loaded");
    cache = reinterpret_cast<int* (*)(size_t)>(dlsym(library, "library_load"))(64);
  } else {
    cache = load(64);
  }
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  for (int step = 0; step < 3; ++step) decode(weights, cache, stream);
  int result[64] = {};
  CHECK(hipMemcpy(result, cache, sizeof(result), hipMemcpyDeviceToHost));
  expect(result[63] == 6, "the sum of three steps");
  CHECK(hipFree(spare));
  CHECK(hipFree(weights));
  CHECK(hipFree(cache));
  std::printf("ok\n");
  return 0;
}

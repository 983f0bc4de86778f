// A tool attaches to a program that has used HIP before: what it did then is unknown to the
// recorder. The same work again must be right, and the trace say what it lacks.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

static void check(hipError_t error, int line) {
  if (error == hipSuccess) return;
  std::printf("line %d: error %d\n", line, static_cast<int>(error));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

__global__ void add(int* values, int number) { values[threadIdx.x] += number; }

int main() {
  hipStream_t stream = nullptr;
  int* values = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&values), 256));
  CHECK(hipMemset(values, 0, 256));
  CHECK(hipStreamCreate(&stream));
  add<<<1, 64, 0, stream>>>(values, 1);
  CHECK(hipStreamSynchronize(stream));
  auto* const attach = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "gfxgraph_test_attach"));
  if (attach != nullptr) attach();
  add<<<1, 64, 0, stream>>>(values, 2);
  int back[64];
  CHECK(hipMemcpyAsync(back, values, sizeof(back), hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  for (int value : back) {
    if (value != 3) {
      std::printf("wrong: %d\n", value);
      return 1;
    }
  }
  std::printf("late_attach: PASS\n");
  return 0;
}

// Device memory, copies, a memset, three launches on two streams, an event: what a recording of an
// ordinary program must hold. Prints "ok" when the results are right.
#include <vector>

#include "program.h"

__device__ int launches_done;

struct Pair {
  float* first;
  int padding;
  float* second;
};

__global__ void fill(float* out, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = value;
}

__global__ void add(Pair pair, unsigned long long plain, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) pair.first[i] += pair.second[i] + static_cast<float>(plain == 0);
  if (i == 0) launches_done += 1;
}

__global__ void read_table(float* const* table, float* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = table[0][i] + table[1][i];
}

int main() {
  constexpr int kCount = 100;
  constexpr size_t kBytes = kCount * sizeof(float);
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  float** table = nullptr;
  CHECK(hipMalloc(&a, kBytes));
  CHECK(hipMalloc(&b, kBytes));
  CHECK(hipMalloc(&c, kBytes));
  CHECK(hipMalloc(&table, 2 * sizeof(float*)));
  hipStream_t stream;
  hipEvent_t event;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipEventCreate(&event));
  std::vector<float> host(kCount, 2.0f);
  CHECK(hipMemcpy(b, host.data(), kBytes, hipMemcpyHostToDevice));
  CHECK(hipMemset(c, 0, kBytes));
  float* const pointers[2] = {a, b};
  CHECK(hipMemcpy(table, pointers, sizeof(pointers), hipMemcpyHostToDevice));

  fill<<<4, 32>>>(a, 1.5f, kCount);
  CHECK(hipGetLastError());
  CHECK(hipEventRecord(event, nullptr));
  CHECK(hipStreamWaitEvent(stream, event, 0));
  const Pair pair{a, 7, b};
  add<<<4, 32, 0, stream>>>(pair, 5, kCount);
  read_table<<<4, 32, 0, stream>>>(table, c, kCount);
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(host.data(), c, kBytes, hipMemcpyDeviceToHost));
  for (const float value : host) expect(value == 5.5f, "sum of the table");
  CHECK(hipFree(a));
  std::printf("ok\n");
  return 0;
}

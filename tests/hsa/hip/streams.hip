// Streams, events, callbacks, many launches, several host threads.
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

__global__ void scale_add(int* to, const int* from, int factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] * factor + to[i];
}
__global__ void increment(int* value) { *value += 1; }

static std::atomic<int> callbacks{0};
static void on_done(hipStream_t, hipError_t status, void* data) {
  CHECK(status == hipSuccess);
  callbacks += *static_cast<int*>(data);
}

static void diamond() {
  const int n = 1000;
  int *a = nullptr, *b = nullptr, *c = nullptr;
  for (int** p : {&a, &b, &c}) {
    HIP_OK(hipMalloc(p, n * 4));
    HIP_OK(hipMemset(*p, 0, n * 4));
  }
  HIP_OK(hipDeviceSynchronize());  // the streams do not wait for the null stream
  std::vector<int> ones(n, 1), out(n);
  hipStream_t s[3];
  hipEvent_t start, left, right, end;
  for (hipStream_t& stream : s) HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (hipEvent_t* event : {&start, &left, &right, &end}) HIP_OK(hipEventCreate(event));
  HIP_OK(hipMemcpyAsync(a, ones.data(), n * 4, hipMemcpyHostToDevice, s[0]));
  HIP_OK(hipEventRecord(start, s[0]));
  HIP_OK(hipStreamWaitEvent(s[1], start, 0));
  HIP_OK(hipStreamWaitEvent(s[2], start, 0));
  scale_add<<<16, 64, 0, s[1]>>>(b, a, 2, n);
  scale_add<<<16, 64, 0, s[2]>>>(c, a, 3, n);
  HIP_OK(hipEventRecord(left, s[1]));
  HIP_OK(hipEventRecord(right, s[2]));
  HIP_OK(hipStreamWaitEvent(s[0], left, 0));
  HIP_OK(hipStreamWaitEvent(s[0], right, 0));
  scale_add<<<16, 64, 0, s[0]>>>(b, c, 10, n);
  HIP_OK(hipEventRecord(end, s[0]));
  int weight = 5;
  HIP_OK(hipStreamAddCallback(s[0], on_done, &weight, 0));
  HIP_OK(hipMemcpyAsync(out.data(), b, n * 4, hipMemcpyDeviceToHost, s[0]));
  HIP_OK(hipStreamSynchronize(s[0]));
  for (const int value : out) CHECK(value == 32);
  CHECK(callbacks == 5);
  float ms = -1;
  HIP_OK(hipEventElapsedTime(&ms, start, end));
  CHECK(ms > 0 && ms < 10000);
  for (hipStream_t stream : s) HIP_OK(hipStreamDestroy(stream));
  for (hipEvent_t event : {start, left, right, end}) HIP_OK(hipEventDestroy(event));
  for (int* p : {a, b, c}) HIP_OK(hipFree(p));
}

static void many_launches() {
  int* value = nullptr;
  HIP_OK(hipMalloc(&value, 4));
  HIP_OK(hipMemset(value, 0, 4));
  const int launches = 20000;  // several times round the ring
  for (int i = 0; i < launches; ++i) increment<<<1, 1>>>(value);
  int out = 0;
  HIP_OK(hipMemcpy(&out, value, 4, hipMemcpyDeviceToHost));
  CHECK(out == launches);
  HIP_OK(hipFree(value));
}

static void threads() {
  std::vector<std::thread> list;
  for (int t = 0; t < 4; ++t) {
    list.emplace_back([t] {
      hipStream_t stream;
      int* value = nullptr;
      HIP_OK(hipStreamCreate(&stream));
      HIP_OK(hipMalloc(&value, 4));
      HIP_OK(hipMemcpyAsync(value, &t, 4, hipMemcpyHostToDevice, stream));
      for (int i = 0; i < 1000; ++i) increment<<<1, 1, 0, stream>>>(value);
      int out = 0;
      HIP_OK(hipMemcpyAsync(&out, value, 4, hipMemcpyDeviceToHost, stream));
      HIP_OK(hipStreamSynchronize(stream));
      CHECK(out == 1000 + t);
      HIP_OK(hipFree(value));
      HIP_OK(hipStreamDestroy(stream));
    });
  }
  for (std::thread& thread : list) thread.join();
}

int main() {
  diamond();
  many_launches();
  threads();
  return done();
}

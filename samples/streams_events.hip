// A graph of work over three streams, joined by events:
//
//   first:   fill a ----------+----> a = a * 3 ---------+
//                             |                         |
//   second:  fill b --> mix c = a + 2 b --> c = c ^ k --+--> join d = a + b + c --> copy out
//                                      |                |
//   third:                             +--> b = c - b --+
//
// repeated a few rounds, so that an order kept only by luck would show.
#include "sample.h"

__global__ void fill(uint32_t* out, uint32_t seed, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (i + seed) * 2654435761u;
}
__global__ void scale(uint32_t* data, uint32_t factor, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}
__global__ void mix(const uint32_t* a, const uint32_t* b, uint32_t* c, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + 2 * b[i];
}
__global__ void flip(uint32_t* data, uint32_t mask, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] ^= mask;
}
__global__ void subtract_from(const uint32_t* c, uint32_t* b, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = c[i] - b[i];
}
__global__ void join(const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d,
                     unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d[i] += a[i] + b[i] + c[i];
}

int main() {
  constexpr unsigned kCount = 5001, kBlock = 128, kRounds = 4;
  const unsigned grid = sample::blocks(kCount, kBlock);
  hipStream_t first, second, third;
  HIP_CHECK(hipStreamCreate(&first));
  HIP_CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  HIP_CHECK(hipStreamCreateWithFlags(&third, hipStreamNonBlocking));
  hipEvent_t filled, mixed, scaled, replaced, joined;
  for (hipEvent_t* event : {&filled, &mixed, &scaled, &replaced, &joined}) {
    HIP_CHECK(hipEventCreateWithFlags(event, hipEventDisableTiming));
  }
  uint32_t* a = sample::device_alloc<uint32_t>(kCount);
  uint32_t* b = sample::device_alloc<uint32_t>(kCount);
  uint32_t* c = sample::device_alloc<uint32_t>(kCount);
  uint32_t* d = sample::device_alloc<uint32_t>(kCount);
  uint32_t* out = nullptr;
  HIP_CHECK(hipHostMalloc(reinterpret_cast<void**>(&out), kCount * sizeof(uint32_t), 0));
  HIP_CHECK(hipMemsetAsync(d, 0, kCount * sizeof(uint32_t), second));

  for (uint32_t round = 0; round < kRounds; ++round) {
    if (round > 0) HIP_CHECK(hipStreamWaitEvent(first, joined, 0));
    fill<<<grid, kBlock, 0, first>>>(a, round, kCount);
    HIP_CHECK(hipEventRecord(filled, first));
    fill<<<grid, kBlock, 0, second>>>(b, round + 77, kCount);
    HIP_CHECK(hipStreamWaitEvent(second, filled, 0));
    mix<<<grid, kBlock, 0, second>>>(a, b, c, kCount);
    HIP_CHECK(hipEventRecord(mixed, second));
    HIP_CHECK(hipStreamWaitEvent(first, mixed, 0));
    scale<<<grid, kBlock, 0, first>>>(a, 3, kCount);
    HIP_CHECK(hipEventRecord(scaled, first));
    HIP_CHECK(hipStreamWaitEvent(third, mixed, 0));
    subtract_from<<<grid, kBlock, 0, third>>>(c, b, kCount);
    HIP_CHECK(hipEventRecord(replaced, third));
    HIP_CHECK(hipStreamWaitEvent(second, replaced, 0));  // c is read by `third` until here
    flip<<<grid, kBlock, 0, second>>>(c, 0x5a5a5a5au + round, kCount);
    HIP_CHECK(hipStreamWaitEvent(second, scaled, 0));
    join<<<grid, kBlock, 0, second>>>(a, b, c, d, kCount);
    HIP_CHECK(hipEventRecord(joined, second));
  }
  HIP_CHECK(hipMemcpyAsync(out, d, kCount * sizeof(uint32_t), hipMemcpyDeviceToHost, second));
  HIP_CHECK(hipStreamSynchronize(second));

  std::vector<uint32_t> expected(kCount, 0);
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (uint32_t i = 0; i < kCount; ++i) {
      uint32_t value_a = (i + round) * 2654435761u;
      uint32_t value_b = (i + round + 77) * 2654435761u;
      uint32_t value_c = value_a + 2 * value_b;
      value_a *= 3;
      value_b = value_c - value_b;
      value_c ^= 0x5a5a5a5au + round;
      expected[i] += value_a + value_b + value_c;
    }
  }
  const bool passed = sample::same("d", std::vector<uint32_t>(out, out + kCount), expected);
  for (uint32_t* pointer : {a, b, c, d}) HIP_CHECK(hipFree(pointer));
  HIP_CHECK(hipHostFree(out));
  for (hipEvent_t event : {filled, mixed, scaled, replaced, joined}) {
    HIP_CHECK(hipEventDestroy(event));
  }
  for (hipStream_t stream : {first, second, third}) HIP_CHECK(hipStreamDestroy(stream));
  return sample::finish("streams_events", passed);
}

// Sum, maximum and an atomic count: shuffles inside a wavefront, LDS across the workgroup, one
// partial result per workgroup, a second launch for the rest.
#include "sample.h"

constexpr unsigned kBlock = 256;
constexpr unsigned kWave = 32;

struct Partial {
  uint32_t sum;
  float maximum;
};

__device__ Partial combine(Partial a, Partial b) {
  return {a.sum + b.sum, a.maximum > b.maximum ? a.maximum : b.maximum};
}

__device__ Partial reduce_block(Partial value) {
  __shared__ Partial waves[kBlock / kWave];
  for (unsigned step = kWave / 2; step > 0; step /= 2) {
    const Partial other = {__shfl_down(value.sum, step, kWave),
                           __shfl_down(value.maximum, step, kWave)};
    value = combine(value, other);
  }
  if (threadIdx.x % kWave == 0) waves[threadIdx.x / kWave] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned i = 1; i < kBlock / kWave; ++i) value = combine(value, waves[i]);
  }
  return value;
}

__global__ void reduce_first(const uint32_t* integers, const float* floats, unsigned n,
                             Partial* partials, unsigned* odd) {
  Partial value = {0, -INFINITY};
  for (unsigned i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {
    value = combine(value, {integers[i], floats[i]});
    if (integers[i] & 1) atomicAdd(odd, 1u);
  }
  value = reduce_block(value);
  if (threadIdx.x == 0) partials[blockIdx.x] = value;
}

__global__ void reduce_second(const Partial* partials, unsigned n, Partial* result) {
  Partial value = {0, -INFINITY};
  for (unsigned i = threadIdx.x; i < n; i += kBlock) value = combine(value, partials[i]);
  value = reduce_block(value);
  if (threadIdx.x == 0) *result = value;
}

int main() {
  constexpr unsigned kCount = 100003;
  constexpr unsigned kBlocks = 20;
  sample::Random random(5);
  std::vector<uint32_t> integers(kCount);
  for (uint32_t& value : integers) value = random.next();
  const std::vector<float> floats = sample::random_floats(kCount, 6, 100.0f);

  uint32_t* device_integers = sample::to_device(integers);
  float* device_floats = sample::to_device(floats);
  Partial* partials = sample::device_alloc<Partial>(kBlocks);
  Partial* result = sample::device_alloc<Partial>(1);
  unsigned* odd = sample::device_alloc<unsigned>(1);
  HIP_CHECK(hipMemset(odd, 0, sizeof(unsigned)));
  reduce_first<<<kBlocks, kBlock>>>(device_integers, device_floats, kCount, partials, odd);
  reduce_second<<<1, kBlock>>>(partials, kBlocks, result);
  HIP_CHECK(hipGetLastError());

  const Partial got = sample::to_host(result, 1)[0];
  const unsigned got_odd = sample::to_host(odd, 1)[0];
  Partial expected = {0, -INFINITY};
  unsigned expected_odd = 0;
  for (unsigned i = 0; i < kCount; ++i) {
    expected.sum += integers[i];
    expected.maximum = std::fmax(expected.maximum, floats[i]);
    expected_odd += integers[i] & 1;
  }
  std::printf("sum %u, maximum %.6f, odd %u\n", got.sum, got.maximum, got_odd);
  for (void* pointer :
       {static_cast<void*>(device_integers), static_cast<void*>(device_floats),
        static_cast<void*>(partials), static_cast<void*>(result), static_cast<void*>(odd)}) {
    HIP_CHECK(hipFree(pointer));
  }
  return sample::finish("reduce", got.sum == expected.sum && got.maximum == expected.maximum &&
                                      got_odd == expected_odd);
}

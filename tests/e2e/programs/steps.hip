// A loop as products have it: inputs copied and written by the host, double buffers, a cache that
// grows, scratch memory of each step, results copied back. With --unmarked it names no ranges.
#include <cstdio>
#include <cstring>

#include "../../../include/gfxgraph/record.h"
#include "../../../samples/sample.h"

namespace {

constexpr int kCount = 64, kSteps = 6;

struct Fields {
  int position;
  float scale;
  float* cache;  // of this step
};

__global__ void advance(const float* input, const float* from, float* to, float* scratch,
                        const int* offset, Fields fields) {
  const unsigned i = threadIdx.x;
  scratch[i] = input[i] + from[i] * fields.scale;
  fields.cache[i] = scratch[i];
  to[i] = scratch[i] + static_cast<float>(*offset + fields.position);
}

}  // namespace

int main(int argc, char** argv) {
  const bool marked = argc < 2 || std::strcmp(argv[1], "--unmarked") != 0;
  float* buffers[2];
  float *input, *cache;
  int* offset;
  hipStream_t stream;
  HIP_CHECK(hipStreamCreate(&stream));
  for (float*& buffer : buffers) {
    HIP_CHECK(hipMalloc(&buffer, kCount * sizeof(float)));
    HIP_CHECK(hipMemset(buffer, 0, kCount * sizeof(float)));
  }
  HIP_CHECK(hipMalloc(&input, kCount * sizeof(float)));
  HIP_CHECK(hipMalloc(&cache, kSteps * kCount * sizeof(float)));
  HIP_CHECK(hipHostMalloc(&offset, sizeof(int)));
  HIP_CHECK(hipDeviceSynchronize());

  float given[kCount], result[kCount], expected = 0.0f;
  for (int step = 0; step < kSteps; ++step) {
    if (marked) gfxgraph_range_begin("step");
    for (float& value : given) value = static_cast<float>(step);
    *offset = 10 * step;
    HIP_CHECK(hipMemcpyAsync(input, given, sizeof(given), hipMemcpyHostToDevice, stream));
    float* scratch;
    HIP_CHECK(hipMalloc(&scratch, kCount * sizeof(float)));
    float* const to = buffers[(step + 1) % 2];
    advance<<<1, kCount, 0, stream>>>(input, buffers[step % 2], to, scratch, offset,
                                      {step, 0.5f, cache + step * kCount});
    HIP_CHECK(hipMemcpyAsync(result, to, sizeof(result), hipMemcpyDeviceToHost, stream));
    HIP_CHECK(hipStreamSynchronize(stream));
    HIP_CHECK(hipFree(scratch));
    if (marked) gfxgraph_range_end("step");
    expected = static_cast<float>(step) + expected * 0.5f + static_cast<float>(11 * step);
  }
  HIP_CHECK(hipStreamDestroy(stream));
  return sample::finish("steps", result[0] == expected && result[kCount - 1] == expected);
}

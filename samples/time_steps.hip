// Heat in a rod, step by step: 67 short launches per step, the same each time, because the number
// of the step is in device memory. The host looks at the rod after each twentieth step only. What
// gfxgraph accelerate submits as a graph (docs/production/accelerate.md). The host computes the
// same.
#include "sample.h"

#include <cmath>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kCells = 64;
constexpr int kSweeps = 32;  // pairs of them in each step
constexpr int kSteps = 300;
constexpr int kBetweenLooks = 20;
constexpr float kRate = 0.2f;

__host__ __device__ float heated(float left, float cell, float right) {
  return cell + kRate * (left - 2.0f * cell + right);
}
__host__ __device__ float source(int step) { return static_cast<float>(step % 17) * 0.01f; }

__global__ void sweep(const float* from, float* to) {
  const int i = static_cast<int>(threadIdx.x);
  to[i] = i == 0 || i == kCells - 1 ? from[i] : heated(from[i - 1], from[i], from[i + 1]);
}
__global__ void remember(const float* cells, float* before) {
  before[threadIdx.x] = cells[threadIdx.x];
}
__global__ void add_source(float* cells, int* step) { cells[kCells / 2] += source((*step)++); }
// How much the last step changed the rod.
__global__ void change(const float* before, const float* cells, float* sum) {
  float total = 0.0f;
  for (int i = 0; i < kCells; ++i) total += fabsf(cells[i] - before[i]);
  *sum = total;
}

void host_step(std::vector<float>& cells, int step) {
  std::vector<float> to(cells);
  for (int k = 0; k < 2 * kSweeps; ++k) {
    for (size_t i = 1; i + 1 < cells.size(); ++i)
      to[i] = heated(cells[i - 1], cells[i], cells[i + 1]);
    cells.swap(to);
  }
  cells[kCells / 2] += source(step);
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : kSteps;
  if (argc > 2 || steps < 1) {
    std::fprintf(stderr, "usage: time_steps [STEPS]\n");
    return 2;
  }
  std::vector<float> expected(kCells, 0.0f);
  for (int i = 0; i < kCells; ++i) expected[i] = static_cast<float>(i % 7);
  float* cells = sample::to_device(expected);
  float* other = sample::to_device(expected);
  float* before = sample::device_alloc<float>(kCells);
  float* sum = sample::device_alloc<float>(1);
  int* number = sample::to_device(std::vector<int>{0});
  hipStream_t stream = nullptr;
  HIP_CHECK(hipStreamCreate(&stream));

  float last = 0.0f;
  for (int step = 0; step < steps; ++step) {
    remember<<<1, kCells, 0, stream>>>(cells, before);
    for (int k = 0; k < kSweeps; ++k) {
      sweep<<<1, kCells, 0, stream>>>(cells, other);
      sweep<<<1, kCells, 0, stream>>>(other, cells);
    }
    add_source<<<1, 1, 0, stream>>>(cells, number);
    change<<<1, 1, 0, stream>>>(before, cells, sum);
    HIP_CHECK(hipGetLastError());
    host_step(expected, step);
    if ((step + 1) % kBetweenLooks != 0 && step + 1 != steps) continue;
    HIP_CHECK(hipMemcpyAsync(&last, sum, sizeof(last), hipMemcpyDeviceToHost, stream));
    HIP_CHECK(hipStreamSynchronize(stream));
  }
  const std::vector<float> got = sample::to_host(cells, kCells);
  std::printf("%d steps, the last one changed the rod by %.3f\n", steps, last);
  const bool passed = sample::close("cells", got, expected, 1e-3f);
  for (float* pointer : {cells, other, before, sum}) HIP_CHECK(hipFree(pointer));
  HIP_CHECK(hipFree(number));
  HIP_CHECK(hipStreamDestroy(stream));
  return sample::finish("time_steps", passed);
}

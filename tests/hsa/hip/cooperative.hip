// Cooperative launches: a grid barrier that all workgroups must reach, in one to three dimensions,
// on several streams, up to the largest grid that HIP lets through.
#include "array.h"

// After the runtime's header, which it needs and does not include.
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

// Each round every work item reads what all the others wrote in the round before: a barrier that
// lets one of them through early changes the sums.
__global__ void rounds(unsigned* a, unsigned* b, unsigned count, unsigned turns) {
  const cg::grid_group grid = cg::this_grid();
  const auto i = static_cast<unsigned>(grid.thread_rank());
  for (unsigned turn = 0; turn < turns; ++turn) {
    if (i < count) b[i] = a[i] + 3 * a[(i * 7 + turn) % count] + a[count - 1 - i];
    grid.sync();
    unsigned* const old = a;
    a = b;
    b = old;
  }
}

// The sum over the grid, then each element's share of it: the usual reason for a grid barrier.
__global__ void share(const unsigned* in, unsigned long long* sums, unsigned* out, unsigned count) {
  const cg::grid_group grid = cg::this_grid();
  unsigned long long mine = 0;
  for (size_t i = grid.thread_rank(); i < count; i += grid.size()) mine += in[i];
  atomicAdd(&sums[blockIdx.x % 8], mine);
  grid.sync();
  unsigned long long total = 0;
  for (int k = 0; k < 8; ++k) total += sums[k];
  for (size_t i = grid.thread_rank(); i < count; i += grid.size())
    out[i] = static_cast<unsigned>(in[i] * 1000ull / total);
}

__global__ void local_barrier(unsigned* out) {
  __shared__ unsigned rows[64];
  rows[threadIdx.x] = blockIdx.x + threadIdx.x;
  cg::grid_group grid = cg::this_grid();
  grid.sync();
  if (grid.is_valid()) out[blockIdx.x * 64 + threadIdx.x] = rows[63 - threadIdx.x];
}

static Digest digest;

static void run_rounds(dim3 blocks, dim3 threads, hipStream_t stream) {
  const size_t total = size_t{blocks.x} * blocks.y * blocks.z * threads.x * threads.y * threads.z;
  unsigned count = static_cast<unsigned>(total) - (total > 10 ? 7 : 0);
  unsigned turns = 5;
  std::vector<unsigned> a = random_integers<unsigned>(count, 1);
  std::vector<unsigned> b(count);
  const DeviceArray<unsigned> first(a);
  const DeviceArray<unsigned> second(b);
  unsigned* p = first.data();
  unsigned* q = second.data();
  void* arguments[] = {&p, &q, &count, &turns};
  HIP_OK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(rounds), blocks, threads, arguments, 0,
                                    stream));
  HIP_OK(hipStreamSynchronize(stream));
  for (unsigned turn = 0; turn < turns; ++turn) {
    for (unsigned i = 0; i < count; ++i)
      b[i] = a[i] + 3 * a[(i * 7 + turn) % count] + a[count - 1 - i];
    std::swap(a, b);
  }
  CHECK((turns % 2 == 0 ? first : second).read() == a);
  digest.add(a);
}

static void run_share(unsigned count) {
  const std::vector<unsigned> in = random_integers<unsigned>(count, count);
  const DeviceArray<unsigned> input(in);
  const DeviceArray<unsigned long long> sums(8);
  const DeviceArray<unsigned> output(count);
  const unsigned* p = input.data();
  unsigned long long* s = sums.data();
  unsigned* q = output.data();
  void* arguments[] = {&p, &s, &q, &count};
  HIP_OK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(share), dim3(13), dim3(96), arguments, 0,
                                    nullptr));
  unsigned long long total = 0;
  for (const unsigned x : in) total += x;
  std::vector<unsigned> expected(count);
  for (unsigned i = 0; i < count; ++i) expected[i] = static_cast<unsigned>(in[i] * 1000ull / total);
  CHECK(output.read() == expected);
  digest.add(expected);
}

// HIP lets a grid through that the device holds at a time, and refuses one more.
static void run_limit() {
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  int per_unit = 0;
  HIP_OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, local_barrier, 64, 0));
  CHECK(per_unit > 0);
  const auto most = static_cast<unsigned>(per_unit * properties.multiProcessorCount);
  const DeviceArray<unsigned> output(size_t{most} * 64);
  unsigned* p = output.data();
  void* arguments[] = {&p};
  auto* const kernel = reinterpret_cast<void*>(local_barrier);
  CHECK(hipLaunchCooperativeKernel(kernel, dim3(most + 1), dim3(64), arguments, 0, nullptr) ==
        hipErrorCooperativeLaunchTooLarge);
  (void)hipGetLastError();
  HIP_OK(hipLaunchCooperativeKernel(kernel, dim3(most), dim3(64), arguments, 0, nullptr));
  const std::vector<unsigned> got = output.read();
  for (unsigned i = 0; i < got.size(); ++i) CHECK(got[i] == i / 64 + 63 - i % 64);
}

int main() {
  int offered = 0;
  HIP_OK(hipDeviceGetAttribute(&offered, hipDeviceAttributeCooperativeLaunch, 0));
  CHECK(offered == 1);
  hipStream_t streams[2];
  for (hipStream_t& stream : streams) HIP_OK(hipStreamCreate(&stream));
  run_rounds(dim3(1), dim3(1), nullptr);
  run_rounds(dim3(1), dim3(256), nullptr);
  run_rounds(dim3(17), dim3(64), streams[0]);
  run_rounds(dim3(5, 3), dim3(32, 4), streams[1]);
  run_rounds(dim3(2, 3, 4), dim3(8, 3, 3), streams[0]);
  run_rounds(dim3(30), dim3(1024), nullptr);
  run_share(10007);
  run_limit();
  digest.print();
  return done();
}

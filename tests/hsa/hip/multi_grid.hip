// A cooperative launch over several devices, of which there is one: the barrier between grids goes
// through memory that HIP provides.
#include "array.h"

// After the runtime's header, which it needs and does not include.
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void meet(unsigned* counts) {
  cg::multi_grid_group grids = cg::this_multi_grid();
  for (unsigned turn = 0; turn < 3; ++turn) {
    atomicAdd(&counts[turn], grids.grid_rank() + 1);
    grids.sync();
    if (atomicAdd(&counts[turn], 0u) != grids.size()) atomicAdd(&counts[3], 1u);
  }
}

int main() {
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  for (const unsigned blocks : {1u, 2u, 45u}) {
    const DeviceArray<unsigned> counts(4);
    unsigned* p = counts.data();
    void* arguments[] = {&p};
    hipLaunchParams launch{};
    launch.func = reinterpret_cast<void*>(meet);
    launch.gridDim = dim3(blocks);
    launch.blockDim = dim3(96);
    launch.args = arguments;
    launch.stream = stream;
    HIP_OK(hipLaunchCooperativeKernelMultiDevice(&launch, 1, 0));
    HIP_OK(hipStreamSynchronize(stream));
    const std::vector<unsigned> got = counts.read();
    for (unsigned turn = 0; turn < 3; ++turn) CHECK(got[turn] == blocks * 96);
    CHECK(got[3] == 0);
  }
  return done();
}

// Kernels that read the device clock, and that wait by it.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void
using Clock = unsigned long long;

__device__ Clock shader() { return __builtin_amdgcn_s_memtime(); }
__device__ Clock wall() { return __builtin_amdgcn_s_memrealtime(); }
__device__ unsigned cycles() { return __builtin_amdgcn_s_getreg((20 - 1) << 11 | 29); }

// Per wave: the clock at its begin, after some work, after a barrier, and the wall clock.
KERNEL stamps(Clock* out, unsigned rounds) {
  const Clock begin = shader();
  unsigned v = threadIdx.x;
  for (unsigned n = 0; n < rounds * (threadIdx.x / 32 + 1); ++n) v = v * 1664525u + 1013904223u;
  const Clock worked = shader();
  __syncthreads();
  const Clock met = shader();
  const Clock real = wall();
  if (threadIdx.x % 32 != 0) return;
  Clock* const mine = out + (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 5;
  mine[0] = begin;
  mine[1] = worked;
  mine[2] = met;
  mine[3] = real;
  mine[4] = v;
}
KERNEL delay_asleep(Clock* out, Clock ticks) {
  const Clock begin = shader();
  Clock rounds = 0;
  while (shader() - begin < ticks) {
    __builtin_amdgcn_s_sleep(10);
    ++rounds;
  }
  out[blockIdx.x] = rounds;
}
KERNEL delay_by_wall_clock(Clock* out, Clock ticks) {
  const Clock begin = wall();
  const Clock shader_begin = shader();
  while (wall() - begin < ticks) __builtin_amdgcn_s_sleep(10);
  out[blockIdx.x] = shader() - shader_begin;
}
KERNEL delay_awake(Clock* out, Clock ticks) {
  const Clock begin = shader();
  Clock rounds = 0;
  while (shader() - begin < ticks) ++rounds;
  out[blockIdx.x] = rounds;
}
// The upper half of the clock changes every 2^32 clocks only.
KERNEL delay_by_high_half(Clock* out) {
  const Clock begin = shader() >> 32;
  while (shader() >> 32 == begin) __builtin_amdgcn_s_sleep(127);
  out[blockIdx.x] = shader() >> 32;
}
KERNEL delay_by_cycles(unsigned* out) {
  const unsigned begin = cycles();
  unsigned rounds = 0;
  while (((cycles() - begin) & 0xfffff) < 100000) {
    __builtin_amdgcn_s_sleep(20);
    ++rounds;
  }
  out[blockIdx.x] = rounds;
}
// For ever: the clock has no say in it.
KERNEL never(volatile unsigned* flag, Clock* out) {
  Clock waited = 0;
  while (*flag == 0) {
    const Clock begin = shader();
    __builtin_amdgcn_s_sleep(1);
    waited += shader() - begin;
  }
  *out = waited;
}

// Kernels that fault, hang or meet at the wrong barriers, each with a right twin. Each gets a buffer and a number.
#include <hip/hip_runtime.h>

#include <cassert>

#define LANE static_cast<int>(threadIdx.x)

extern "C" __global__ void traps(int* to, int bad) {
  if (LANE == bad) __builtin_trap();
  to[LANE] = bad;
}
extern "C" __global__ void traps_safe(int* to, int bad) {
  if (LANE == bad) return;
  to[LANE] = bad;
}
extern "C" __global__ void asserts(int* to, int bad) {
  assert(LANE != bad);
  to[LANE] = bad;
}
extern "C" __global__ void asserts_safe(int* to, int bad) {
  assert(LANE >= 0);
  to[LANE] = bad;
}
extern "C" __global__ void jumps_to_null(int* to, int bad) {
  to[LANE] = bad;
  asm volatile("s_mov_b64 s[40:41], 0\n s_setpc_b64 s[40:41]" ::: "s40", "s41", "memory");
}
extern "C" __global__ void jumps_to_null_safe(int* to, int bad) {
  to[LANE] = bad;
  asm volatile("s_getpc_b64 s[40:41]\n s_add_u32 s40, s40, 16\n s_addc_u32 s41, s41, 0\n s_setpc_b64 s[40:41]\n s_nop 0\n"
               :::"s40", "s41", "scc", "memory");
}
extern "C" __global__ void illegal_instruction(int* to, int bad) {
  to[LANE] = bad;
  asm volatile(".long 0xbf7fffff" ::: "memory");
}
extern "C" __global__ void illegal_instruction_safe(int* to, int bad) {
  to[LANE] = bad;
  asm volatile("s_branch 1\n .long 0xbf7fffff" ::: "memory");
}

// Two barriers where there should be one; by hand, because compilers assume one.
extern "C" __global__ void two_barriers(int* to, int count) {
  if (LANE < 32)
    asm volatile("s_barrier" ::: "memory");
  else
    asm volatile("s_nop 1\n s_barrier" ::: "memory");
  to[LANE] = count;
}
extern "C" __global__ void two_barriers_safe(int* to, int count) {
  if (LANE < 32)
    asm volatile("s_nop 0" ::: "memory");
  else
    asm volatile("s_nop 1" ::: "memory");
  asm volatile("s_barrier" ::: "memory");
  to[LANE] = count;
}
// A wave that has nothing to do ends, and the others go on to a barrier.
extern "C" __global__ void ends_early(int* to, int count) {
  if (LANE >= count) return;
  to[LANE] = LANE;
  __syncthreads();
  to[LANE] += to[(LANE + 1) % count];
}
extern "C" __global__ void ends_early_safe(int* to, int count) {
  if (LANE < count) to[LANE] = LANE;
  __syncthreads();
  if (LANE < count) to[LANE] += to[(LANE + 1) % count];
}
// One barrier less in one wave.
extern "C" __global__ void one_barrier_less(int* to, int count) {
  for (int n = 0; n < (LANE < 32 ? count : count + 1); ++n) asm volatile("s_barrier" ::: "memory");
  to[LANE] = count;
}
extern "C" __global__ void one_barrier_less_safe(int* to, int count) {
  for (int n = 0; n < count; ++n) asm volatile("s_barrier" ::: "memory");
  to[LANE] = count;
}

// Nobody sets the flag.
extern "C" __global__ void waits(int* flag, int) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
}
extern "C" __global__ void waits_safe(int* flag, int) {
  if (LANE == 63) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
}

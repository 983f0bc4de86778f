// Kernels that fault, hang or meet at the wrong barriers, each with a right twin. Each gets a buffer and a number.
#include <hip/hip_runtime.h>

#include <cassert>
#include <cstdint>

// f(A<int, int>, A<S0_, S0_>, ...): every part is twice the one before.
#define PARTS(d) "S_IS" #d "_S" #d "_E"
#define UNFOLDING_NAME                                                                            \
  "_Z1f1AIiiE" PARTS(0) PARTS(1) PARTS(2) PARTS(3) PARTS(4) PARTS(5) PARTS(6) PARTS(7) PARTS(8)    \
      PARTS(9) PARTS(A) PARTS(B) PARTS(C) PARTS(D) PARTS(E) PARTS(F) PARTS(G) PARTS(H) PARTS(I)    \
          PARTS(J) PARTS(K) PARTS(L) PARTS(M) PARTS(N) PARTS(O) PARTS(P) PARTS(Q)

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
// Whatever stands there.
extern "C" __global__ void jumps_to_data(int* to, int bad) {
  asm volatile("s_mov_b64 s[40:41], %0\n s_setpc_b64 s[40:41]" ::"s"(to) : "s40", "s41", "memory");
}
extern "C" __global__ void jumps_to_data_safe(int* to, int bad) {
  to[LANE] = bad;
  asm volatile("s_getpc_b64 s[40:41]\n s_add_u32 s40, s40, 16\n s_addc_u32 s41, s41, 0\n s_setpc_b64 s[40:41]\n s_nop 0\n"
               :::"s40", "s41", "scc", "memory");
}
__device__ int in_memory = 1;
// Its own code, and what belongs to the runtime.
extern "C" __global__ void writes_code(int* to, int bad) {
  uint64_t pc;
  asm volatile("s_getpc_b64 %0" : "=s"(pc));
  *reinterpret_cast<volatile int*>(pc + bad) = 0;
}
extern "C" __global__ void writes_code_safe(int* to, int bad) {
  *const_cast<volatile int*>(&in_memory) = bad;
}
extern "C" __global__ void writes_queue(int* to, int bad) {
  ((volatile int*)__builtin_amdgcn_queue_ptr())[bad] = 0;
}
extern "C" __global__ void writes_queue_safe(int* to, int bad) {
  to[LANE] = ((const volatile int*)__builtin_amdgcn_queue_ptr())[bad];
}
extern "C" __global__ void writes_packet(int* to, int bad) {
  ((volatile int*)__builtin_amdgcn_dispatch_ptr())[bad] = 0;
}
extern "C" __global__ void writes_packet_safe(int* to, int bad) {
  to[LANE] = ((const volatile int*)__builtin_amdgcn_dispatch_ptr())[bad];
}
extern "C" __global__ void writes_arguments(int* to, int bad) {
  ((volatile int*)__builtin_amdgcn_kernarg_segment_ptr())[bad] = 0;
}
extern "C" __global__ void writes_arguments_safe(int* to, int bad) {
  to[LANE] = ((const volatile int*)__builtin_amdgcn_kernarg_segment_ptr())[bad];
}
// A function whose name stands for gigabytes.
__device__ __attribute__((noinline)) void unfolds(int* to) asm(UNFOLDING_NAME);
__device__ __attribute__((noinline)) void unfolds(int* to) {
  asm volatile(".long 0xbf7fffff" ::: "memory");
  *to = 1;
}
extern "C" __global__ void calls_unfolding(int* to, int bad) { unfolds(to + bad); }
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
// Two meetings that a wave has left.
extern "C" __global__ void leaves_early(int* to, int count) {
  if (LANE >= count) return;
  to[LANE] = LANE;
  __syncthreads();
  to[LANE] += to[(LANE + 1) % count];
  __syncthreads();
  to[LANE] *= to[(LANE + 2) % count];
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
// Of 256 KiB.
extern "C" __global__ void long_code(int* to, int bad) {
  asm volatile(".rept 65536\n s_nop 0\n .endr" ::: "memory");
  to[LANE] = bad;
}

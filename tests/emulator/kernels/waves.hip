// The same kernels for wave32 and wave64; and what the two do differently.
// Without HIP's headers, which refuse wave64 on gfx10.
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define KERNEL extern "C" __attribute__((global)) void

#include "wave_items.h"

struct Index {
  unsigned x;
};
#define threadIdx (Index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (Index{__builtin_amdgcn_workgroup_id_x()})
__device__ static inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
__device__ static inline unsigned atomicAdd(unsigned* p, unsigned by) {
  return __atomic_fetch_add(p, by, __ATOMIC_RELAXED);
}

KERNEL items(const unsigned long long* wide, unsigned* narrow_out, unsigned long long* wide_out, double* float_out,
             unsigned count) {
  const unsigned id = blockIdx.x * 96 + threadIdx.x;
  if (id >= count) return;
  const uint64_t* in = reinterpret_cast<const uint64_t*>(wide);
  narrow_out[3 * id] = item_collatz(id);
  narrow_out[3 * id + 1] = item_private(id, in);
  narrow_out[3 * id + 2] = item_switch(id, static_cast<uint32_t>(in[id % 64]));
  wide_out[id] = item_wide(id, in);
  float_out[id] = item_float(id, in);
}

// LDS, barriers, atomics on LDS and memory; workgroups of 160 items: a partial last wave.
KERNEL reduce(const unsigned* in, unsigned* sums, unsigned* bins, unsigned* order) {
  __shared__ unsigned tile[160];
  __shared__ unsigned local[8];
  if (threadIdx.x < 8) local[threadIdx.x] = 0;
  tile[threadIdx.x] = in[blockIdx.x * 160 + threadIdx.x];
  __syncthreads();
  atomicAdd(&local[tile[threadIdx.x] & 7], 1u);
  for (unsigned step = 128; step > 0; step >>= 1) {
    if (threadIdx.x < step && threadIdx.x + step < 160) tile[threadIdx.x] += tile[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = tile[0];
  if (threadIdx.x < 8) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
  order[blockIdx.x * 160 + threadIdx.x] = atomicAdd(&bins[8], 1u);
}

// Pointers to private, LDS and global memory in one instruction.
__device__ __attribute__((noinline)) void add_to(unsigned* p, unsigned by) { *p = *p * 3 + by; }
KERNEL apertures(unsigned* global, unsigned* out) {
  __shared__ unsigned shared[64];
  unsigned own[4] = {threadIdx.x, 1, 2, 3};
  shared[threadIdx.x] = 100 + threadIdx.x;
  global[threadIdx.x] = 200 + threadIdx.x;
  __syncthreads();
  unsigned* p = &own[threadIdx.x % 4];
  if (threadIdx.x % 3 == 1) p = &shared[threadIdx.x];
  if (threadIdx.x % 3 == 2) p = &global[threadIdx.x];
  add_to(p, threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = own[0] + own[1] + own[2] + own[3] + 1000 * shared[threadIdx.x] + 1000000 * global[threadIdx.x];
}

// ---- lane by lane: results of one wave ----

#define OUT(n) out[(n) * 64 + threadIdx.x]
KERNEL lanes(const unsigned* in, unsigned* out, unsigned limit) {
  __shared__ unsigned counter;
  const unsigned x = in[threadIdx.x];
  counter = 50;
  __syncthreads();
  OUT(0) = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  OUT(1) = __builtin_amdgcn_mbcnt_hi(0x0ff0ff0fu, __builtin_amdgcn_mbcnt_lo(0x12345678u, 5));
  OUT(2) = __builtin_amdgcn_readfirstlane(x);
  OUT(3) = __builtin_amdgcn_readlane(x, 45);
  OUT(4) = __builtin_amdgcn_update_dpp(7u, x, 0x111, 0xf, 0xf, false);  // row_shr:1
  OUT(5) = __builtin_amdgcn_update_dpp(7u, x, 0x141, 0x9, 0x5, false);  // half mirror, rows 0 and 3
  OUT(6) = __builtin_amdgcn_mov_dpp8(x, 0x053977);
  OUT(7) = __builtin_amdgcn_permlane16(7u, x, 0x89abcdefu, 0x01234567u, false, false);
  OUT(8) = __builtin_amdgcn_permlanex16(7u, x, 0x89abcdefu, 0x01234567u, false, false);
  OUT(9) = __builtin_amdgcn_ds_swizzle(x, 0x7c00 | 31);  // xor 31
  OUT(10) = __builtin_amdgcn_ds_bpermute((threadIdx.x * 5 + 3) * 4, x);
  OUT(11) = __builtin_amdgcn_ds_permute((threadIdx.x * 5 + 3) * 4, x);
  OUT(12) = 0;
  OUT(13) = 0;
  OUT(14) = 0;
  OUT(15) = 0;
  OUT(16) = 0;
  if (threadIdx.x >= limit) {
    OUT(12) = __builtin_amdgcn_readfirstlane(x + threadIdx.x);
    const unsigned long long mask = __builtin_amdgcn_uicmp(x & 1, 1u, 32);
    OUT(13) = static_cast<unsigned>(mask);
    OUT(14) = static_cast<unsigned>(mask >> 32);
    OUT(15) = __builtin_amdgcn_ds_append((__attribute__((address_space(3))) int*)(&counter));
    OUT(16) = __builtin_amdgcn_ds_bpermute(threadIdx.x * 4 - 8, x);
  }
  __syncthreads();
  OUT(17) = counter;
}

// Adds the number of the pass that the lane is in: the lower half's comes first.
// Each wave loads a dword per work item to its part of LDS; M0 is a byte offset.
KERNEL load_to_lds(const unsigned* in, unsigned* out, unsigned wave_items) {
  __shared__ unsigned tile[128];
  for (unsigned n = threadIdx.x; n < 128; n += 96) tile[n] = 7;
  __syncthreads();
  const unsigned* mine = in + threadIdx.x;
  const unsigned wave = threadIdx.x / wave_items * wave_items * 4;
  if (threadIdx.x % 3 != 0)
    asm volatile(
        "v_readfirstlane_b32 s20, %0\n"
        "s_mov_b32 m0, s20\n"
        "global_load_dword %1, off offset:16 lds\n"
        "s_waitcnt vmcnt(0)\n" ::"v"(wave),
        "v"(mine)
        : "s20", "memory");
  __syncthreads();
  for (unsigned n = threadIdx.x; n < 128; n += 96) out[n] = tile[n];
}

KERNEL subvectors(unsigned* out, unsigned from, unsigned to) {
  unsigned passes = 0;
  if (threadIdx.x >= from && threadIdx.x < to) {
    asm volatile(
        "s_mov_b32 s20, 0\n s_mov_b32 s21, 0\n"
        "s_subvector_loop_begin s20, 2f\n"
        "1:\n s_add_u32 s21, s21, 1\n v_mov_b32 %0, s21\n"
        "s_subvector_loop_end s20, 1b\n"
        "2:\n"
        : "+v"(passes)
        :
        : "s20", "s21", "scc");
  }
  out[threadIdx.x] = passes;
}

KERNEL faults(unsigned* out) {
  if (threadIdx.x == 37) *reinterpret_cast<volatile unsigned*>(16) = 1;
  out[threadIdx.x] = 1;
}

// Kernels that wait: for ever, or long and then go on.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void

__device__ unsigned load(const unsigned* p) {
  return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}

// ---- for ever ----

KERNEL poll(const unsigned* flag) {
  while (load(flag) == 0) {
  }
}
KERNEL poll_asleep(const unsigned* flag) {
  while (load(flag) == 0) __builtin_amdgcn_s_sleep(2);
}
KERNEL poll_by_add(unsigned* flag) {
  while (atomicAdd(flag, 0u) == 0) {
  }
}
// The lock is taken and nobody gives it back.
KERNEL poll_by_compare(unsigned* lock) {
  while (atomicCAS(lock, 0u, 1u) != 0) {
  }
}
KERNEL poll_by_exchange(unsigned* lock) {
  while (atomicExch(lock, 1u) != 0) __builtin_amdgcn_s_sleep(1);
}
// A store of what is there already.
KERNEL poll_and_store(unsigned* flag) {
  while (load(flag) == 0) __hip_atomic_store(flag + 1, 5u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
// The first wave polls, the others wait for it.
KERNEL poll_before_barrier(const unsigned* flag) {
  if (threadIdx.x == 0) {
    while (load(flag) == 0) {
    }
  }
  __syncthreads();
}
// All waves go round through LDS and barriers.
KERNEL poll_through_barriers(const unsigned* flag) {
  __shared__ unsigned seen;
  do {
    __syncthreads();
    if (threadIdx.x == 0) seen = load(flag);
    __syncthreads();
  } while (seen == 0);
}
KERNEL poll_lds() {
  __shared__ unsigned word;
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  while (__hip_atomic_load(&word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {
  }
}
// Three waves of four meet at the global wave sync.
KERNEL meet_init(unsigned waves) { __builtin_amdgcn_ds_gws_init(waves - 1, 0); }
KERNEL meet(unsigned waves) { __builtin_amdgcn_ds_gws_barrier(waves - 1, 0); }

// ---- long, and then on ----

KERNEL count_down(const unsigned* flag, unsigned* out, unsigned rounds) {
  unsigned n = 0;
  while (n < rounds && load(flag) == 0) ++n;
  out[blockIdx.x * blockDim.x + threadIdx.x] = n;
}
// The last workgroup works for long before it tells the others, which poll meanwhile.
KERNEL wait_for_worker(unsigned* flag, unsigned* out, unsigned rounds) {
  unsigned v = threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x) {
    for (unsigned r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u + (v >> 7);
    __hip_atomic_store(flag, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else {
    while (load(flag) == 0) __builtin_amdgcn_s_sleep(1);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
// Two workgroups take turns.
KERNEL take_turns(unsigned* turn, unsigned rounds) {
  for (unsigned r = 0; r < rounds; ++r) {
    while (load(turn) != 2 * r + blockIdx.x) {
    }
    __hip_atomic_store(turn, 2 * r + blockIdx.x + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}
KERNEL wait_for_clock(unsigned* out, unsigned ticks) {
  const unsigned long long begin = clock64();
  while (clock64() - begin < ticks) {
  }
  out[threadIdx.x] = 1;
}
KERNEL wait_for_flag(const unsigned* flag, unsigned* out) {
  while (load(flag) == 0) __builtin_amdgcn_s_sleep(1);
  out[threadIdx.x] = 3;
}
// Wave 0 waits for wave 1, which works, through LDS.
KERNEL wait_through_lds(unsigned* out, unsigned rounds) {
  __shared__ unsigned word;
  if (threadIdx.x == 0) word = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    while (__hip_atomic_load(&word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {
    }
  } else {
    unsigned v = threadIdx.x;
    for (unsigned r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u + (v >> 7);
    __hip_atomic_store(&word, v | 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  out[threadIdx.x] = word;
}

// ---- barriers ----

// Wave 0 meets the others, who are at another barrier; by hand, because compilers assume one.
KERNEL two_barriers(unsigned* out) {
  if (threadIdx.x < 32) {
    asm volatile("s_barrier" ::: "memory");
    out[threadIdx.x] = 1;
  } else {
    asm volatile("s_nop 3\n s_barrier" ::: "memory");
    out[threadIdx.x] = 2;
  }
}
// Waves leave one after the other; those that are left meet each time.
KERNEL leave_in_turn(unsigned* out) {
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  const unsigned wave = threadIdx.x / 32;
  for (unsigned r = 0; r < blockDim.x / 32; ++r) {
    asm volatile("s_waitcnt lgkmcnt(0)\n s_barrier" ::: "memory");
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, 1u);
    asm volatile("s_waitcnt lgkmcnt(0)\n s_barrier" ::: "memory");
    if (wave == r) {
      out[threadIdx.x] = *static_cast<volatile unsigned*>(&sum);
      return;
    }
  }
}

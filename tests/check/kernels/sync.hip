// Waves that order themselves without barriers, and lanes that do not: faults and their right
// twins. Compiled with and without optimisation.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ __launch_bounds__(256) void
#define ITEM (static_cast<int>(threadIdx.x))
#define INDEX (static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x))

// ---- hand over data in LDS ----

// Wave 0 fills a slot and raises a flag, wave 1 waits for it.
template <bool kFirst>
__device__ void slot_and_flag(int* data) {
  __shared__ int slot, full;
  if (ITEM == 0) slot = full = 0;
  __syncthreads();
  if (ITEM == 0) {
    if (kFirst) slot = 5;
    __threadfence_block();
    atomicExch(&full, 1);
    if (!kFirst) slot = 5;
  } else if (ITEM == 32) {
    while (atomicCAS(&full, 1, 1) != 1) {
    }
    __threadfence_block();
    data[0] = slot;
  }
}
KERNEL block_fence(int* data) { slot_and_flag<false>(data); }
KERNEL block_fence_safe(int* data) { slot_and_flag<true>(data); }

// The same in global memory.
template <bool kFirst>
__device__ void global_slot(int* data) {
  if (ITEM == 0) {
    if (kFirst) data[0] = 5;
    __threadfence_block();
    atomicExch(data + 1, 1);
    if (!kFirst) data[0] = 5;
  } else if (ITEM == 32) {
    while (atomicCAS(data + 1, 1, 1) != 1) {
    }
    __threadfence_block();
    data[2] = data[0];
  }
}
KERNEL global_block_fence(int* data) { global_slot<false>(data); }
KERNEL global_block_fence_safe(int* data) { global_slot<true>(data); }

// All waves count themselves, and wait until all have come.
template <bool kWaits>
__device__ void count_in(int* data) {
  __shared__ int tile[256];
  __shared__ int arrived;
  if (ITEM == 0) arrived = 0;
  __syncthreads();
  tile[ITEM] = data[INDEX];
  if (ITEM % 32 == 0) {
    __hip_atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    if (kWaits)
      while (__hip_atomic_load(&arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) <
             static_cast<int>(blockDim.x / 32)) {
      }
  }
  data[INDEX] = tile[(ITEM + 32) % blockDim.x];
}
KERNEL lds_counter(int* data) { count_in<false>(data); }
KERNEL lds_counter_safe(int* data) { count_in<true>(data); }

// The last wave adds up what the others left.
template <bool kBefore>
__device__ void last_wave(int* data) {
  __shared__ int sums[8];
  __shared__ int arrived;
  if (ITEM == 0) arrived = 0;
  __syncthreads();
  if (ITEM % 32 != 0) return;
  if (kBefore) sums[ITEM / 32] = data[INDEX];
  __threadfence_block();
  const int last = atomicAdd(&arrived, 1);
  if (!kBefore) sums[ITEM / 32] = data[INDEX];
  if (last != static_cast<int>(blockDim.x) / 32 - 1) return;
  __threadfence_block();
  int sum = 0;
  for (int n = 0; n < static_cast<int>(blockDim.x) / 32; ++n) sum += sums[n];
  data[INDEX] = sum;
}
KERNEL lds_last_wave(int* data) { last_wave<false>(data); }
KERNEL lds_last_wave_safe(int* data) { last_wave<true>(data); }

// A store that releases and a load that acquires.
template <bool kFirst>
__device__ void store_flag(int* data) {
  __shared__ int slot, flag;
  if (ITEM == 0) slot = flag = 0;
  __syncthreads();
  if (ITEM == 0) {
    if (kFirst) slot = 7;
    __hip_atomic_store(&flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    if (!kFirst) slot = 7;
  } else if (ITEM == 32) {
    while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {
    }
    data[0] = slot;
  }
}
KERNEL lds_flag(int* data) { store_flag<false>(data); }
KERNEL lds_flag_safe(int* data) { store_flag<true>(data); }

// A lock that is taken twice, with work between.
template <bool kLock>
__device__ void lds_lock_twice(int* data) {
  __shared__ int lock, sum;
  if (ITEM == 0) lock = sum = 0;
  __syncthreads();
  if (ITEM % 32 == 0) {
    for (int n = 0; n < 2; ++n) {
      if (kLock)
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
      __threadfence_block();
      sum += data[INDEX];
      __threadfence_block();
      if (kLock) atomicExch(&lock, 0);
    }
  }
  __syncthreads();
  data[INDEX] = sum;
}
KERNEL lds_lock(int* data) { lds_lock_twice<false>(data); }
KERNEL lds_lock_safe(int* data) { lds_lock_twice<true>(data); }

// A search in LDS ends by what it reads, but waits for nobody.
template <bool kSafe>
__device__ void search(int* data) {
  __shared__ int tile[256];
  tile[ITEM] = data[INDEX] + 1;
  if (kSafe) __syncthreads();
  int at = (ITEM + 32) % blockDim.x;
  while (tile[at] == 0) at = (at + 1) & 255;
  if (kSafe) __syncthreads();
  data[INDEX] = at;
}
KERNEL lds_search(int* data) { search<false>(data); }
KERNEL lds_search_safe(int* data) { search<true>(data); }

// ---- a token ----

// Each wave waits for its number, and stores the next one. The fault: it does not wait.
template <bool kWaits, bool kVolatile, bool kGroups>
__device__ void pass_on(int* token) {
  if (ITEM % 32 != 0) return;
  const int mine = kGroups ? INDEX / static_cast<int>(blockDim.x) : ITEM / 32;
  if (kWaits) {
    if (kVolatile)
      while (*static_cast<volatile int*>(token) != mine) {
      }
    else
      while (__hip_atomic_load(token, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != mine) {
      }
  }
  if (kVolatile)
    *static_cast<volatile int*>(token) = mine + 1;
  else
    __hip_atomic_store(token, mine + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL wave_token(int* token) { pass_on<false, false, false>(token); }
KERNEL wave_token_safe(int* token) { pass_on<true, false, false>(token); }
KERNEL volatile_token(int* token) { pass_on<false, true, false>(token); }
KERNEL volatile_token_safe(int* token) { pass_on<true, true, false>(token); }
// Of workgroups of one wave.
KERNEL group_token(int* token) {
  if (ITEM < 32) pass_on<false, false, true>(token);
}
KERNEL group_token_safe(int* token) {
  if (ITEM < 32) pass_on<true, false, true>(token);
}
// The same with an atomic that asks.
template <bool kWaits>
__device__ void asked_token(int* token) {
  if (ITEM != 0) return;
  const int mine = static_cast<int>(blockIdx.x);
  if (kWaits)
    while (atomicAdd(token, 0) != mine) {
    }
  __hip_atomic_store(token, mine + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL atomic_token(int* token) { asked_token<false>(token); }
KERNEL atomic_token_safe(int* token) { asked_token<true>(token); }
// One wave waits, another one of its workgroup stores after a barrier.
template <bool kBarrier>
__device__ void token_by_two(int* token) {
  const int mine = static_cast<int>(blockIdx.x);
  if (ITEM == 0)
    while (__hip_atomic_load(token, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < mine) {
    }
  if (kBarrier) __syncthreads();
  if (ITEM == 32) __hip_atomic_store(token, mine + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL token_of_group(int* token) { token_by_two<false>(token); }
KERNEL token_of_group_safe(int* token) { token_by_two<true>(token); }

// Nothing but the lock itself is shared.
template <bool kLock>
__device__ void relaxed(int* lock) {
  if (ITEM % 32 != 0) return;
  if (kLock)
    while (atomicCAS(lock, 0, 1) != 0) {
    }
  __hip_atomic_store(lock, kLock ? 0 : ITEM, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL relaxed_lock(int* lock) { relaxed<false>(lock); }
KERNEL relaxed_lock_safe(int* lock) { relaxed<true>(lock); }

// A volatile load may meet any store: an atomic store has no other instruction.
KERNEL volatile_load_of_plain_store(int* data) {
  if (INDEX == 0) data[0] = 1;
  if (ITEM == 32) data[INDEX] = *static_cast<volatile int*>(data);
}

// ---- compare-and-swap loops ----

KERNEL strided_sum(float* sums) {
  for (int n = INDEX; n < 512; n += static_cast<int>(blockDim.x * gridDim.x)) sums[n & 31] += 1.0f;
}
KERNEL strided_sum_safe(float* sums) {
  for (int n = INDEX; n < 512; n += static_cast<int>(blockDim.x * gridDim.x))
    atomicAdd(sums + (n & 31), 1.0f);
}

template <bool kCompares>
__device__ void largest(float* most) {
  if (ITEM % 32 != 0) return;
  const float mine = static_cast<float>(INDEX);
  if (kCompares)
    atomicMax(most, mine);
  else if (*most < mine)
    *most = mine;
}
KERNEL largest_of_all(float* most) { largest<false>(most); }
KERNEL largest_of_all_safe(float* most) { largest<true>(most); }

template <bool kCompares>
__device__ void lds_total(float* out) {
  __shared__ float sum;
  if (ITEM == 0) sum = 0;
  __syncthreads();
  if (ITEM % 32 == 0) {
    if (kCompares)
      atomicAdd(&sum, 1.0f);
    else
      sum += 1.0f;
  }
  __syncthreads();
  out[INDEX] = sum;
}
KERNEL lds_sum(float* out) { lds_total<false>(out); }
KERNEL lds_sum_safe(float* out) { lds_total<true>(out); }

// A loop by hand; the fault also reads the word for something else.
template <bool kPeeks>
__device__ void by_hand(unsigned long long* word) {
  if (ITEM % 32 != 0) return;
  if (kPeeks) word[1 + INDEX] = word[0] * 3;
  asm volatile("" ::: "memory");
  unsigned long long old = word[0], assumed;
  do {
    assumed = old;
    old = atomicCAS(word, assumed, assumed * 2 + 1);
  } while (old != assumed);
}
KERNEL peek(unsigned long long* word) { by_hand<true>(word); }
KERNEL peek_safe(unsigned long long* word) { by_hand<false>(word); }

// The same with an instruction that compares floats.
template <bool kPeeks>
__device__ void by_float(float* word) {
  if (ITEM % 32 != 0) return;
  if (kPeeks) word[1 + INDEX] = word[0] * 3;
  float old, assumed;
  asm volatile("global_load_dword %0, %1, off\n s_waitcnt vmcnt(0)" : "=v"(old) : "v"(word) : "memory");
  do {
    assumed = old;
    const float2 data = {assumed + 1, assumed};
    asm volatile("global_atomic_fcmpswap %0, %1, %2, off glc\n s_waitcnt vmcnt(0)"
                 : "=v"(old) : "v"(word), "v"(data) : "memory");
  } while (old != assumed);
}
KERNEL peek_float(float* word) { by_float<true>(word); }
KERNEL peek_float_safe(float* word) { by_float<false>(word); }

// ---- lanes of one wave ----

KERNEL count_values(int* data) { data[64 + data[ITEM & 31] % 4]++; }
KERNEL count_values_safe(int* data) { atomicAdd(data + 64 + data[ITEM & 31] % 4, 1); }

KERNEL lds_count_values(int* data) {
  __shared__ int counts[32];
  counts[ITEM & 31] = 0;
  __syncthreads();
  if (ITEM < 32) counts[ITEM / 3] += 1;
  __syncthreads();
  data[INDEX] = counts[ITEM & 31];
}
KERNEL lds_count_values_safe(int* data) {
  __shared__ int counts[32];
  counts[ITEM & 31] = 0;
  __syncthreads();
  if (ITEM < 32) counts[(ITEM * 5) & 31] += 1;
  __syncthreads();
  data[INDEX] = counts[ITEM & 31];
}

KERNEL add_together(int* sum) { *sum += 1; }
KERNEL add_together_safe(int* sum) {
  if (ITEM == 0) *sum += 1;
}

KERNEL bits_by_lanes(unsigned* mask) { mask[ITEM / 8] |= 1u << (ITEM & 7); }
// All set the same bit: once is as good as eight times.
KERNEL bits_by_lanes_safe(unsigned* mask) { mask[ITEM / 8] |= 4; }

// The winner of a place, whoever it is; and a flag that is stored only where it is not set.
KERNEL scale_by_lanes(int* data) { data[64 + ITEM / 2] = data[64 + ITEM / 2] * 2 + 1; }
KERNEL scale_by_lanes_safe(int* data) {
  data[64 + ITEM / 2] = ITEM;
  if (data[128] == 0) data[128] = 1;
}

// One store of two words: each word of the store is judged by what was loaded from its own place.
KERNEL pair_count(int* data) {
  int2* pair = reinterpret_cast<int2*>(data + 64);
  *pair = make_int2(pair->x + 1, ITEM);
}
KERNEL pair_count_safe(int* data) {
  int2* pair = reinterpret_cast<int2*>(data + 64);
  *pair = make_int2(pair->x | 4, ITEM);  // once more makes no difference
  pair = reinterpret_cast<int2*>(data + 128);
  *pair = make_int2(pair->y + 1, ITEM);  // of the other word
}
KERNEL second_of_pair(int* data) {
  int2* pair = reinterpret_cast<int2*>(data + 64);
  *pair = make_int2(ITEM, pair->y * 2 + 1);
}
KERNEL second_of_pair_safe(int* data) {
  int2* pair = reinterpret_cast<int2*>(data + 64);
  const int2 both = *pair;
  *pair = make_int2(both.x | ITEM / 64 | 1, both.y | 2);
  pair = reinterpret_cast<int2*>(data + 128);
  const int2 other = *pair;
  *pair = make_int2(ITEM, other.x + 1);
}
// The value goes through functions, and comes from one.
struct Account {
  int value;
  __device__ __attribute__((noinline)) int get() const { return value; }
  __device__ __attribute__((noinline)) void put(int to) { value = to; }
};
__device__ __attribute__((noinline)) int with_interest(int value) { return value * 2 + 1; }
KERNEL by_functions(int* data) {
  Account* account = reinterpret_cast<Account*>(data + 64);
  account->put(with_interest(account->get()));
}
KERNEL by_functions_safe(int* data) {
  Account* account = reinterpret_cast<Account*>(data + 64 + ITEM);
  account->put(with_interest(account->get()));
  reinterpret_cast<Account*>(data + 128)->put(with_interest(account->get()));
}
KERNEL wide_sum(double* data) { data[64 + ITEM / 4] = data[64 + ITEM / 4] * 2 + 1; }
KERNEL wide_sum_safe(double* data) { data[64 + ITEM] = data[64 + ITEM] * 2 + 1; }
KERNEL lds_pair(int* data) {
  __shared__ int counts[64];
  counts[ITEM] = 0;
  __syncthreads();
  if (ITEM < 32) {
    const int count = counts[40];
    counts[3] = ITEM;
    counts[40] = count + 1;
  }
  __syncthreads();
  data[ITEM] = counts[ITEM];
}
KERNEL lds_pair_safe(int* data) {
  __shared__ int counts[64];
  counts[ITEM] = 0;
  __syncthreads();
  if (ITEM < 32) {
    const int count = counts[40];
    counts[3] = ITEM;
    counts[40] = count | 4;
  }
  __syncthreads();
  data[ITEM] = counts[ITEM];
}

// A variable, which is on the stack without optimisation.
KERNEL through_local(int* data) {
  int x = data[0];
  x = x * 2 + 1;
  data[0] = x;
}
KERNEL through_local_safe(int* data) {
  // Bits are set once more; the winner of a place is stored through the variable that held it.
  unsigned x = data[0];
  x |= 4;
  data[0] = x;
  int y = data[32];
  data[64 + ITEM] = y;
  y = ITEM;
  data[32] = y;
  // Each lane has its own place, or its own part of the work.
  y = data[128 + ITEM];
  y = y * 2 + 1;
  data[128 + ITEM] = y;
  if (ITEM == 0) {
    y = data[34];
    y = y * 2 + 1;
    data[34] = y;
  }
}

KERNEL volatile_count(volatile int* data) { data[0] = data[0] + 1; }
KERNEL volatile_count_safe(volatile int* data) {
  data[1 + ITEM] = data[1 + ITEM] + 1;
  if (ITEM == 0) data[0] = data[0] + 1;
}

// One lane of each wave: the stores of others are lost.
KERNEL volatile_step(volatile int* data) {
  if (ITEM % 32 != 0) return;
  int x = data[0];
  x = x + 1;
  data[0] = x;
}
KERNEL volatile_step_safe(volatile int* data) {
  if (ITEM % 32 != 0) return;
  int x = data[0];
  x = x + 1;
  data[32 + INDEX] = x;
  // Each wave waits for its turn.
  int turn = data[200];
  while (turn != INDEX / 32) turn = data[200];
  __threadfence();
  data[200] = turn + 1;
}

KERNEL lds_through_local(int* data) {
  __shared__ int sum;
  if (ITEM == 0) sum = 0;
  __syncthreads();
  if (ITEM < 32) {
    int x = sum;
    x = x + data[ITEM];
    sum = x + 1;
  }
  __syncthreads();
  data[ITEM] = sum;
}
KERNEL lds_through_local_safe(int* data) {
  __shared__ int sum;
  if (ITEM == 0) sum = 0;
  __syncthreads();
  int x = sum;
  __syncthreads();
  if (ITEM == 0) {
    x = x + data[ITEM];
    sum = x + 1;
  }
  __syncthreads();
  data[ITEM] = sum;
}

// ---- loads to LDS ----

#ifdef __OPTIMIZE__  // without it the operands of the assembly are in the wrong registers
__device__ void fetch(const int* from, unsigned lane, unsigned lds) {
  const auto address = reinterpret_cast<unsigned long long>(from);
  asm volatile(
      "s_mov_b32 s20, %0\n s_mov_b32 s21, %1\n s_mov_b32 s22, 128\n s_mov_b32 s23, 0x31014fac\n"
      "s_mov_b32 m0, %3\n buffer_load_dword %2, s[20:23], 0 offen lds\n s_waitcnt vmcnt(0)" ::"s"(
          static_cast<unsigned>(address)),
      "s"(static_cast<unsigned>(address >> 32)), "v"(lane * 4), "s"(lds)
      : "s20", "s21", "s22", "s23", "memory");
}
template <bool kBarrier>
__device__ void stage(int* data) {
  __shared__ volatile int tile[32];
  const auto base = __builtin_amdgcn_readfirstlane(
      static_cast<unsigned>(reinterpret_cast<unsigned long long>(&tile[0]) & 0xffff));
  if (ITEM < 32) fetch(data, threadIdx.x, base);
  if (kBarrier) __syncthreads();
  if (ITEM >= 32 && ITEM < 64) data[ITEM] = tile[ITEM - 32];
}
KERNEL load_to_lds(int* data) { stage<false>(data); }
KERNEL load_to_lds_safe(int* data) { stage<true>(data); }
#endif

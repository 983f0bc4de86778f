// Kernels with hazards between waves, and their right twins.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ __launch_bounds__(256) void
#define ITEM (static_cast<int>(threadIdx.x))
#define INDEX (static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x))
#define SIZE (static_cast<int>(blockDim.x))

// ---- LDS ----

// Each work item reads what one of the next wave wrote.
KERNEL lds_read_after_write(int* data) {
  __shared__ int tile[256];
  tile[ITEM] = data[INDEX];
  data[INDEX] = tile[(ITEM + 32) % SIZE];
}
KERNEL lds_read_after_write_safe(int* data) {
  __shared__ int tile[256];
  tile[ITEM] = data[INDEX];
  __syncthreads();
  data[INDEX] = tile[(ITEM + 32) % SIZE];
}

// The second round writes what others may still read.
template <bool kSafe>
__device__ void rounds(int* data, int count) {
  __shared__ int tile[256];
  int sum = 0;
  for (int n = 0; n < count; ++n) {
    tile[ITEM] = data[INDEX] + n;
    __syncthreads();
    sum += tile[(ITEM + 32) % SIZE];
    if (kSafe) __syncthreads();
  }
  data[INDEX] = sum;
}
KERNEL lds_write_after_read(int* data) { rounds<false>(data, 3); }
KERNEL lds_write_after_read_safe(int* data) { rounds<true>(data, 3); }

// More reads than are kept before a write asks for them.
template <bool kSafe>
__device__ void many_reads(int* data) {
  __shared__ int tile[256];
  tile[ITEM] = data[INDEX];
  __syncthreads();
  int sum = 0;
#pragma unroll 1
  for (int n = 0; n < 400; ++n) sum += tile[(ITEM + sum + 32) & 255];
  if (kSafe) __syncthreads();
  tile[ITEM] = sum;
  __syncthreads();
  data[INDEX] = tile[255 - ITEM];
}
KERNEL lds_write_after_many_reads(int* data) { many_reads<false>(data); }
KERNEL lds_write_after_many_reads_safe(int* data) { many_reads<true>(data); }

// All waves write their own number to one place.
KERNEL lds_two_writers(int* data) {
  __shared__ int last;
  if (ITEM % 32 == 0) last = ITEM;
  __syncthreads();
  data[INDEX] = last;
}
KERNEL lds_two_writers_safe(int* data) {
  __shared__ int last;
  if (ITEM == 0) last = ITEM;
  __syncthreads();
  data[INDEX] = last;
}

// A reduction whose last steps lack a barrier: 64 work items are two waves here.
template <int kFrom>
__device__ void reduce(int* data) {
  __shared__ int sum[256];
  sum[ITEM] = data[INDEX];
  __syncthreads();
  for (int step = SIZE / 2; step > 0; step /= 2) {
    if (ITEM < step) sum[ITEM] += sum[ITEM + step];
    if (step > kFrom) __syncthreads();
  }
  __syncthreads();
  data[INDEX] = sum[0];
}
KERNEL lds_reduction(int* data) { reduce<64>(data); }
KERNEL lds_reduction_safe(int* data) { reduce<0>(data); }

// Counters that are cleared, raised and read.
template <bool kFirst, bool kSecond>
__device__ void histogram(int* data) {
  __shared__ int counts[64];
  if (ITEM < 64) counts[ITEM] = 0;
  if (kFirst) __syncthreads();
  atomicAdd(&counts[data[INDEX] & 63], 1);
  if (kSecond) __syncthreads();
  data[INDEX] = counts[ITEM % 64];
}
KERNEL lds_clear_and_add(int* data) { histogram<false, true>(data); }
KERNEL lds_clear_and_add_safe(int* data) { histogram<true, true>(data); }
KERNEL lds_add_and_read(int* data) { histogram<true, false>(data); }
KERNEL lds_add_and_read_safe(int* data) { histogram<true, true>(data); }

// Bytes: neighbours in a dword are no hazard, the same byte is one.
KERNEL lds_bytes(int* data) {
  __shared__ unsigned char bytes[256];
  bytes[ITEM / 4 * 4 + ITEM % 3] = static_cast<unsigned char>(ITEM);
  bytes[(ITEM * 67) % SIZE] = static_cast<unsigned char>(ITEM);
  __syncthreads();
  data[INDEX] = bytes[ITEM];
}
KERNEL lds_bytes_safe(int* data) {
  __shared__ unsigned char bytes[256];
  const int wave = ITEM / 32;
  const int lane = ITEM % 32;
  bytes[lane * 4 + wave % 4] = static_cast<unsigned char>(ITEM);
  __syncthreads();
  data[INDEX] = bytes[ITEM % 128];
}

// Dynamic LDS, and wide accesses.
KERNEL lds_wide(int4* data) {
  extern __shared__ int4 wide[];
  wide[ITEM] = data[INDEX];
  data[INDEX] = wide[(ITEM + 40) % SIZE];
}
KERNEL lds_wide_safe(int4* data) {
  extern __shared__ int4 wide[];
  wide[ITEM] = data[INDEX];
  __syncthreads();
  data[INDEX] = wide[(ITEM + 40) % SIZE];
}

// ---- global memory, in a workgroup ----

KERNEL group_exchange(int* data, int* out) {
  data[INDEX] = out[INDEX];
  asm volatile("" ::: "memory");
  out[INDEX] = data[INDEX / SIZE * SIZE + (ITEM + 32) % SIZE];
}
KERNEL group_exchange_safe(int* data, int* out) {
  data[INDEX] = out[INDEX];
  __syncthreads();
  out[INDEX] = data[INDEX / SIZE * SIZE + (ITEM + 32) % SIZE];
}

// ---- global memory, between workgroups ----

// In place: a work item of the next workgroup may have written its element already.
KERNEL shift_in_place(int* data, int count) {
  if (INDEX + 1 < count) data[INDEX] = data[INDEX + 1];
}
KERNEL shift_in_place_safe(int* data, int count) {
  if (INDEX + 1 < count) data[count + INDEX] = data[INDEX + 1];
}

KERNEL two_groups_write(int* data) { data[ITEM] = static_cast<int>(blockIdx.x); }
KERNEL two_groups_write_safe(int* data) { data[INDEX] = static_cast<int>(blockIdx.x); }
// Groups of 32; each writes the second half of the row of the group before.
KERNEL half_rows(int* data) { data[ITEM + 16 * blockIdx.x] = static_cast<int>(blockIdx.x); }
KERNEL half_rows_safe(int* data) { data[ITEM + 32 * blockIdx.x] = static_cast<int>(blockIdx.x); }

// Sums without an atomic.
KERNEL lost_update(int* data, int* sum) {
  if (ITEM == 0) *sum += data[INDEX] + 1;
}
KERNEL lost_update_safe(int* data, int* sum) {
  if (ITEM == 0) atomicAdd(sum, data[INDEX] + 1);
}
// The same, with an atomic that the compiler makes a loop of.
KERNEL lost_update_float(int*, float* sum) {
  if (ITEM == 0) *sum += 1.5f + static_cast<float>(blockIdx.x);
}
KERNEL lost_update_float_safe(int*, float* sum) {
  if (ITEM == 0) atomicAdd(sum, 1.5f + static_cast<float>(blockIdx.x));
}

// Clears a counter that other workgroups raise.
KERNEL clear_and_add(int*, int* counter) {
  if (INDEX == 0) *counter = 0;
  if (ITEM == 32) atomicAdd(counter, 1);
}
KERNEL clear_and_add_safe(int* data, int* counter) {
  if (INDEX == 0) *data = 0;
  if (ITEM == 32) atomicAdd(counter, 1);
}

// The last workgroup adds up what the others left.
template <bool kFence>
__device__ void last_block(int* data, int* counter) {
  __shared__ bool last;
  data[INDEX] = INDEX;
  if (kFence) __threadfence();
  __syncthreads();
  if (ITEM == 0) last = atomicAdd(counter, 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  int sum = 0;
  for (unsigned n = 0; n < gridDim.x; ++n) sum += data[n * blockDim.x + threadIdx.x];
  data[ITEM] = sum;
}
KERNEL last_block_sum_safe(int* data, int* counter) { last_block<true>(data, counter); }
// A wave's fence counts for the atomic of another wave that met it at the barrier, as compilers make it since clang 21:
// without a fence of that wave behind the barrier.
template <bool kFence>
__device__ void last_block_barrier(int* data, int* counter) {
  __shared__ bool last;
  data[INDEX] = INDEX;
  if (kFence) __threadfence();
  __builtin_amdgcn_s_barrier();
  if (ITEM == 0)
    last = __hip_atomic_fetch_add(counter, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  int sum = 0;
  for (unsigned n = 0; n < gridDim.x; ++n) sum += data[n * blockDim.x + threadIdx.x];
  data[ITEM] = sum;
}
KERNEL last_block_barrier_sum(int* data, int* counter) { last_block_barrier<false>(data, counter); }
KERNEL last_block_barrier_sum_safe(int* data, int* counter) { last_block_barrier<true>(data, counter); }
// Before the data is written.
KERNEL last_block_sum(int* data, int* counter) {
  __shared__ bool last;
  if (ITEM == 0) last = atomicAdd(counter, 1) == static_cast<int>(gridDim.x) - 1;
  __syncthreads();
  data[INDEX] = INDEX;
  __threadfence();
  __syncthreads();
  if (!last) return;
  int sum = 0;
  for (unsigned n = 0; n < gridDim.x; ++n) sum += data[n * blockDim.x + threadIdx.x];
  data[ITEM] = sum;
}

// A workgroup waits for the flag of the one before.
template <bool kBehind>
__device__ void chain(int* data, int* flags) {
  if (blockIdx.x != 0) {
    if (ITEM == 0) {
      while (__hip_atomic_load(&flags[blockIdx.x - 1], __ATOMIC_RELAXED,
                               __HIP_MEMORY_SCOPE_AGENT) == 0) {
      }
    }
    __syncthreads();
    __threadfence();
    data[INDEX] += data[INDEX - SIZE];
  }
  if (kBehind) __threadfence();
  __syncthreads();
  if (ITEM == 0)
    __hip_atomic_store(&flags[blockIdx.x], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  if (!kBehind) data[INDEX] = 1;
}
KERNEL chained_groups(int* data, int* flags) { chain<false>(data, flags); }
KERNEL chained_groups_safe(int* data, int* flags) { chain<true>(data, flags); }

// A lock around a plain update.
template <bool kLock>
__device__ void locked(int* data, int* lock) {
  if (ITEM != 0) return;
  if (kLock) {
    while (atomicCAS(lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
    __threadfence();
  }
  data[0] += 1;
  if (kLock) {
    __threadfence();
    atomicExch(lock, 0);
  }
}
KERNEL with_lock(int* data, int* lock) { locked<false>(data, lock); }
KERNEL with_lock_safe(int* data, int* lock) { locked<true>(data, lock); }

// ---- the same value ----

KERNEL raise_flag(int* data, int* flag) {
  if (data[INDEX] >= 0) *flag = 1;
}
KERNEL lds_raise_flag(int* data) {
  __shared__ int flag;
  if (ITEM == 0) flag = 0;
  __syncthreads();
  if (data[INDEX] >= 0) flag = 1;
  __syncthreads();
  data[INDEX] = flag;
}

// ---- launches ----

KERNEL fill(int* data, int value) { data[INDEX] = value; }
KERNEL add_to(int* to, const int* from) { to[INDEX] += from[INDEX]; }
KERNEL add_to_safe(int* to, const int* from) { to[INDEX] += from[INDEX]; }

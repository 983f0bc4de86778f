// LDS, scratch and atomics: accesses that go wrong, each with a right twin.
#include <hip/hip_runtime.h>

#define PIN(value) asm volatile("" : "+v"(value))
#define LANE static_cast<int>(threadIdx.x)

__device__ inline int* tile_at(int* tile, int index) {
  PIN(index);
  return tile + index;
}
extern "C" __global__ void store_lds(int* to, int shift) {
  __shared__ int tile[64];
  *tile_at(tile, LANE + shift) = LANE;
  __syncthreads();
  to[LANE] = tile[LANE & 31];
}
extern "C" __global__ void store_lds_safe(int* to, int shift) {
  __shared__ int tile[64];
  if (LANE + shift < 64) *tile_at(tile, LANE + shift) = LANE;
  __syncthreads();
  to[LANE] = tile[LANE & 31];
}
extern "C" __global__ void load_lds(int* to, int shift) {
  __shared__ int tile[64];
  tile[LANE] = tile[LANE + 32] = LANE;
  __syncthreads();
  to[LANE] = *tile_at(tile, LANE + shift);
}
extern "C" __global__ void load_lds_safe(int* to, int shift) {
  __shared__ int tile[64];
  tile[LANE] = tile[LANE + 32] = LANE;
  __syncthreads();
  to[LANE] = LANE + shift < 64 ? *tile_at(tile, LANE + shift) : 0;
}
extern "C" __global__ void load_lds_before(int* to, int shift) {
  __shared__ int tile[64];
  tile[LANE] = tile[LANE + 32] = LANE;
  __syncthreads();
  to[LANE] = *tile_at(tile, LANE - shift);
}
extern "C" __global__ void load_lds_before_safe(int* to, int shift) {
  __shared__ int tile[64];
  tile[LANE] = tile[LANE + 32] = LANE;
  __syncthreads();
  to[LANE] = LANE >= shift ? *tile_at(tile, LANE - shift) : 0;
}
// Dynamic shared memory.
extern "C" __global__ void add_dynamic_lds(int* to, int count) {
  extern __shared__ int counters[];
  atomicAdd(counters + LANE, 1);
  to[LANE] = count;
}
extern "C" __global__ void add_dynamic_lds_safe(int* to, int count) {
  extern __shared__ int counters[];
  if (LANE < count) atomicAdd(counters + LANE, 1);
  to[LANE] = count;
}
// An LDS address as a generic one.
extern "C" __global__ void flat_lds(int* to, int shift) {
  __shared__ int tile[64];
  int* at = tile + LANE + shift;
  asm volatile("" : "+v"(at));
  *at = LANE;
  to[LANE] = tile[LANE & 31];
}
extern "C" __global__ void flat_lds_safe(int* to, int shift) {
  __shared__ int tile[64];
  int* at = tile + LANE + shift;
  asm volatile("" : "+v"(at));
  if (LANE + shift < 64) *at = LANE;
  to[LANE] = tile[LANE & 31];
}

// A local array that is indexed with what only the launch knows.
extern "C" __global__ void store_scratch(int* to, int index) {
  volatile int kept[8];
  for (int n = 0; n < 8; ++n) kept[n] = n;
  kept[index + LANE] = 7;
  to[LANE] = kept[LANE & 7];
}
extern "C" __global__ void store_scratch_safe(int* to, int index) {
  volatile int kept[8];
  for (int n = 0; n < 8; ++n) kept[n] = n;
  if (index + LANE < 8) kept[index + LANE] = 7;
  to[LANE] = kept[LANE & 7];
}
extern "C" __global__ void load_scratch(int* to, int index) {
  volatile int kept[8];
  for (int n = 0; n < 8; ++n) kept[n] = n;
  to[LANE] = kept[index + LANE];
}
extern "C" __global__ void load_scratch_safe(int* to, int index) {
  volatile int kept[8];
  for (int n = 0; n < 8; ++n) kept[n] = n;
  to[LANE] = index + LANE < 8 ? kept[index + LANE] : 0;
}

// Atomics of 4 and 8 bytes, at addresses that are not.
extern "C" __global__ void add_misaligned(char* to, int shift) {
  char* at = to + 4 * LANE + shift;
  PIN(at);
  atomicAdd(reinterpret_cast<unsigned*>(at), 1u);
}
extern "C" __global__ void add_misaligned_safe(char* to, int shift) {
  char* at = to + 4 * LANE + (shift & ~3);
  PIN(at);
  atomicAdd(reinterpret_cast<unsigned*>(at), 1u);
}
extern "C" __global__ void swap_misaligned(char* to, int shift) {
  char* at = to + 8 * LANE + shift;
  PIN(at);
  atomicCAS(reinterpret_cast<unsigned long long*>(at), 0ull, 1ull);
}
extern "C" __global__ void swap_misaligned_safe(char* to, int shift) {
  char* at = to + 8 * LANE + (shift & ~7);
  PIN(at);
  atomicCAS(reinterpret_cast<unsigned long long*>(at), 0ull, 1ull);
}
extern "C" __global__ void add_misaligned_lds(int* to, int shift) {
  __shared__ unsigned counters[64];
  counters[LANE] = counters[LANE + 32] = 0;
  unsigned at = 4 * LANE + shift;
  PIN(at);
  atomicAdd(reinterpret_cast<unsigned*>(reinterpret_cast<char*>(counters) + at), 1u);
  to[LANE] = counters[LANE];
}
extern "C" __global__ void add_misaligned_lds_safe(int* to, int shift) {
  __shared__ unsigned counters[64];
  counters[LANE] = counters[LANE + 32] = 0;
  unsigned at = 4 * LANE + (shift & ~3);
  PIN(at);
  atomicAdd(reinterpret_cast<unsigned*>(reinterpret_cast<char*>(counters) + at), 1u);
  to[LANE] = counters[LANE];
}

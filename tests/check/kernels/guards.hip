// Guarded and unguarded accesses in the forms that compilers make of them. PIN keeps a pointer in
// registers as it is, as code from tile compilers does: the compiler can neither move its
// computation behind the guard nor fold it away.
#include <hip/hip_runtime.h>

#define PIN(pointer) asm volatile("" : "+v"(pointer))
#define ITEM static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x)

// The plain guard: EXEC narrows before addresses are formed.
extern "C" __global__ void plain_guard(const float* a, const float* b, float* c, int n) {
  const int i = ITEM;
  if (i < n) c[i] = a[i] + b[i];
}

// All lanes form their addresses, each access is predicated.
extern "C" __global__ void late_guard(const float* a, const float* b, float* c, int n) {
  const int i = ITEM;
  const float* from_a = a + i;
  const float* from_b = b + i;
  float* to = c + i;
  PIN(from_a);
  PIN(from_b);
  PIN(to);
  const bool mask = i < n;
  float x = 0, y = 0;
  if (mask) x = *from_a;
  if (mask) y = *from_b;
  if (mask) *to = x + y;
}

// The same, offsets of masked lanes clamped to 0.
extern "C" __global__ void clamped_guard(const float* a, const float* b, float* c, int n) {
  const int i = ITEM;
  const bool mask = i < n;
  const int safe = mask ? i : 0;
  const float* from_a = a + safe;
  const float* from_b = b + safe;
  float* to = c + safe;
  PIN(from_a);
  PIN(from_b);
  PIN(to);
  float x = 0, y = 0;
  if (mask) x = *from_a;
  if (mask) y = *from_b;
  if (mask) *to = x + y;
}

// All lanes form the address of their own element; the first and the last one have one neighbour.
extern "C" __global__ void guarded_stencil(const float* a, float* out, int n) {
  const int i = ITEM;
  const float* own = a + i;
  PIN(own);
  if (i > 0 && i < n - 1) out[i] = own[-1] + own[1];
}

// A pointer that advances in all lanes, with a predicated load in the last round.
extern "C" __global__ void loop_guard(const float* a, float* out, int count, int stride) {
  const int t = threadIdx.x;
  const float* p = a + static_cast<size_t>(blockIdx.x) * stride + t;
  float sum = 0;
  for (int k = 0; k < count; k += 32) {
    float x = 0;
    if (t < count - k) x = *p;
    sum += x;
    p += 32;
  }
  out[blockIdx.x * 32 + t] = sum;
}

// One offset behind two guards.
extern "C" __global__ void two_guards(const float* a, float* c, int n, int m) {
  const int i = ITEM;
  float x = 0;
  if (i < n) x = a[i];
  x = x * 2 + __shfl_xor(x, 1);
  if (i < m) c[i] = x;
}

// No guard at all, and its twin.
extern "C" __global__ void no_guard(const float* a, float* c, int n) {
  const int i = ITEM;
  c[i] = a[i] + n;
}
extern "C" __global__ void no_guard_safe(const float* a, float* c, int n) {
  const int i = ITEM;
  if (i < n) c[i] = a[i] + n;
}

// One uniform index: a scalar load. The twin checks it.
extern "C" __global__ void scalar_index(const int* __restrict__ table, int* out, int index,
                                        int count) {
  out[threadIdx.x] = table[index];
}
extern "C" __global__ void scalar_index_safe(const int* __restrict__ table, int* out, int index,
                                             int count) {
  if (index < count) out[threadIdx.x] = table[index];
}

// A scalar load through a register that nobody wrote, and through one that was written.
extern "C" __global__ void scalar_undefined(int* out) {
  int value;
  asm volatile("s_load_dword %0, s[78:79], 0x0\n s_waitcnt lgkmcnt(0)"
               : "=s"(value)
               :
               : "s78", "s79");
  out[threadIdx.x] = value;
}
extern "C" __global__ void scalar_defined(int* out) {
  int value;
  asm volatile("s_mov_b64 s[78:79], %1\n s_load_dword %0, s[78:79], 0x0\n s_waitcnt lgkmcnt(0)"
               : "=s"(value)
               : "s"(out)
               : "s78", "s79");
  out[threadIdx.x] = value;
}

// Pointers inside a struct, and a loop behind an early return.
struct Rows {
  const float* values;
  float* sums;
  int rows;
  int columns;
};
extern "C" __global__ void struct_guard(Rows r) {
  const int row = ITEM;
  if (row >= r.rows) return;
  float sum = 0;
  for (int column = 0; column < r.columns; ++column) sum += r.values[row * r.columns + column];
  r.sums[row] = sum;
}

// LDS out of range is defined; parked lanes are no lanes.
extern "C" __global__ void lds_reverse(const int* in, int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__device__ int g_counters[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int* g_pointer = g_counters + 2;
extern "C" __global__ void globals(int* out) {
  out[threadIdx.x] = g_counters[threadIdx.x & 7] + *g_pointer;
  if (threadIdx.x == 0) g_counters[0] = 100;
}

// A call of the host, which nobody answers offline.
extern "C" __global__ void prints(int* out, int condition) {
  out[threadIdx.x] = 1;
  if (condition != 0) printf("lane %d\n", static_cast<int>(threadIdx.x));
}

// The shape as the kernel sees it.
extern "C" __global__ void shape(unsigned* out) {
  if (threadIdx.x == 0) {
    out[blockIdx.x * 3 + 0] = gridDim.x;
    out[blockIdx.x * 3 + 1] = blockDim.x;
    out[blockIdx.x * 3 + 2] = blockIdx.x;
  }
}

// Pointers that differ by path: nested conditions, a loop that lanes leave one by one, registers
// that are written on some ways only.
extern "C" __global__ void pointer_paths(const float* a, const float* b, float* c, int n, int m) {
  const int i = ITEM;
  const float* p = a + i;
  PIN(p);
  float sum = 0;
  for (int k = 0; k < (i & 3) + 1; ++k) {
    if (((i >> k) & 1) != 0) {
      const float* q = b + i * k;
      PIN(q);
      if (i < m)
        p = q;
      else
        sum += 1;
    }
    if (i + k < n) sum += *p;
    p += 32;
    PIN(p);
  }
  float* to = c + i;
  PIN(to);
  if (i < n) *to = sum;
}

// Pointers that rest in scratch memory; entry 2 is written in even lanes only.
extern "C" __global__ void spilled_pointers(const float* a, float* c, int n, int which) {
  const int i = ITEM;
  const float* volatile kept[4];
  for (int k = 0; k < 4; ++k)
    if (k != 2 || (i & 1) == 0) kept[k] = a + i + 8 * k;
  const float* p = kept[which & 3];
  PIN(p);
  if (i < n) c[i] = *p;
}

// A pointer that a called function computes.
__attribute__((noinline)) __device__ const float* far_pointer(const float* a, int i) {
  const float* p = a + i * 3;
  PIN(p);
  return p;
}
extern "C" __global__ void called_pointer(const float* a, float* c, int n, int) {
  const int i = ITEM;
  const float* p = far_pointer(a, i);
  if (i < n) c[i] = *p;
}

// Nobody sets the flag.
extern "C" __global__ void waits(const unsigned* flag) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
}

// Two barriers where there should be one; by hand, because compilers assume one.
extern "C" __global__ void two_barriers() {
  if (threadIdx.x < 32)
    asm volatile("s_barrier" ::: "memory");
  else
    asm volatile("s_nop 1\n s_barrier" ::: "memory");
}

// Neither comes to an end, and both change something all the time.
extern "C" __global__ void counts_in_vain(const unsigned* flag, unsigned* out) {
  unsigned n = 0;
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) ++n;
  out[threadIdx.x] = n;
}
extern "C" __global__ void locks_in_vain(unsigned* lock) {
  if (threadIdx.x != 0) return;
  for (;;) {
    while (atomicCAS(lock, 0u, 1u) != 0) __builtin_amdgcn_s_sleep(1);
    const bool found = __hip_atomic_load(lock + 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 0;
    __hip_atomic_store(lock, 0u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    if (found) return;
  }
}

// 128 KiB of scratch in each lane, 4 MiB in a wave.
extern "C" __global__ void much_scratch(int* to, int n) {
  volatile int kept[1 << 15];
  for (int k = 0; k < n; ++k) kept[k << 8] = k;
  to[threadIdx.x] = kept[0];
}

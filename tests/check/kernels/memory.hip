// Accesses that go wrong, each with a twin that has the guard that it lacks. PIN keeps an address in registers as it
// is: the compiler can neither move its computation behind the guard nor fold it away.
#include <hip/hip_runtime.h>

#define PIN(pointer) asm volatile("" : "+v"(pointer))
#define ITEM static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void store_items(int* to, int count) { to[ITEM] = count; }
extern "C" __global__ void store_items_safe(int* to, int count) {
  if (ITEM < count) to[ITEM] = count;
}
extern "C" __global__ void load_items(int* to, const int* from, int count) {
  int value = from[ITEM];
  PIN(value);
  if (ITEM < count) to[ITEM] = value;
}
extern "C" __global__ void load_items_safe(int* to, const int* from, int count) {
  if (ITEM < count) to[ITEM] = from[ITEM];
}

// From a scalar base in the middle of a buffer.
template <bool kSafe>
__device__ void store_from(char* base, unsigned middle, unsigned start, unsigned count) {
  base += middle * 4;
  const unsigned item = start + threadIdx.x;
  if (!kSafe || middle + item < count) *reinterpret_cast<unsigned*>(base + item * 4) = item;
}
extern "C" __global__ void store_from_middle(char* to, unsigned middle, unsigned start, unsigned count) {
  store_from<false>(to, middle, start, count);
}
extern "C" __global__ void store_from_middle_safe(char* to, unsigned middle, unsigned start, unsigned count) {
  store_from<true>(to, middle, start, count);
}

// Four dwords at a time, of which the last ones are too many.
using Words = unsigned __attribute__((ext_vector_type(4)));
extern "C" __global__ void load_wide(unsigned* to, const Words* from, int count) {
  Words value = from[ITEM];
  PIN(value);
  to[ITEM] = value.x + value.w;
}
extern "C" __global__ void load_wide_safe(unsigned* to, const Words* from, int count) {
  if (ITEM * 4 + 4 > count) return;
  Words value = from[ITEM];
  PIN(value);
  to[ITEM] = value.x + value.w;
}

extern "C" __global__ void add_items(int* to, int count) { atomicAdd(to + ITEM, 1); }
extern "C" __global__ void add_items_safe(int* to, int count) {
  if (ITEM < count) atomicAdd(to + ITEM, 1);
}

// The two ways in which an instruction has the pointer by itself: SADDR, and a buffer without a limit.
__device__ inline void load_by_pointer(int* to, const int* from, unsigned item) {
  int value;
  const unsigned offset = item * 4;
  asm volatile("global_load_dword %0, %1, %2\n s_waitcnt vmcnt(0)" : "=v"(value) : "v"(offset), "s"(from) : "memory");
  to[threadIdx.x] = value;
}
extern "C" __global__ void by_pointer(int* to, const int* from, int first, int count) {
  load_by_pointer(to, from, first + threadIdx.x);
}
extern "C" __global__ void by_pointer_safe(int* to, const int* from, int first, int count) {
  if (first + static_cast<int>(threadIdx.x) < count) load_by_pointer(to, from, first + threadIdx.x);
}
__device__ inline void load_by_buffer(int* to, const int* from, unsigned item) {
  const auto address = reinterpret_cast<unsigned long long>(from);
  const Words buffer = {static_cast<unsigned>(address), static_cast<unsigned>(address >> 32) & 0xffff, 0xffffffff, 0x31004000};
  int value;
  const unsigned offset = item * 4;
  asm volatile("buffer_load_dword %0, %1, %2, 0 offen\n s_waitcnt vmcnt(0)"
               : "=v"(value)
               : "v"(offset), "s"(buffer)
               : "memory");
  to[threadIdx.x] = value;
}
extern "C" __global__ void by_buffer(int* to, const int* from, int first, int count) {
  load_by_buffer(to, from, first + threadIdx.x);
}
extern "C" __global__ void by_buffer_safe(int* to, const int* from, int first, int count) {
  if (first + static_cast<int>(threadIdx.x) < count) load_by_buffer(to, from, first + threadIdx.x);
}

// One uniform address: a scalar load.
extern "C" __global__ void load_uniform(int* to, const int* __restrict__ from, int index, int count) {
  to[threadIdx.x] = from[index];
}
extern "C" __global__ void load_uniform_safe(int* to, const int* __restrict__ from, int index, int count) {
  to[threadIdx.x] = from != nullptr && index < count ? from[index] : 0;
}

// Variables of a module: one that has another one behind it, and two that end in the middle of what is mapped.
__device__ int g_table[40];
__device__ int g_behind[8];
extern "C" __global__ void store_table(int* to, int count) {
  int* at = g_table + ITEM;
  PIN(at);
  if (ITEM < 44) *at = count;
  to[threadIdx.x] = g_behind[threadIdx.x & 7];
}
extern "C" __global__ void store_table_safe(int* to, int count) {
  int* at = g_table + ITEM;
  PIN(at);
  if (ITEM < 40) *at = count;
  to[threadIdx.x] = g_behind[threadIdx.x & 7];
}
__device__ __attribute__((aligned(256))) int g_last[20];
__device__ __attribute__((aligned(256))) int g_after[4];
extern "C" __global__ void store_last(int* to, int first) {
  int* at = g_last + first + threadIdx.x;
  PIN(at);
  *at = first;
  to[threadIdx.x] = g_after[threadIdx.x & 3];
}
extern "C" __global__ void store_last_safe(int* to, int first) {
  int* at = g_last + first + threadIdx.x;
  PIN(at);
  if (first + threadIdx.x < 20) *at = first;
  to[threadIdx.x] = g_after[threadIdx.x & 3];
}
__device__ __attribute__((aligned(256))) static int s_numbers[20] = {1, 2, 3};
extern "C" __global__ void load_static(int* to, int index) {
  const int* at = s_numbers;
  asm volatile("" : "+s"(at));
  int value;
  asm volatile("s_load_dwordx2 s[40:41], %1, 0x4c\n s_waitcnt lgkmcnt(0)\n s_mov_b32 %0, s41"
               : "=s"(value)
               : "s"(at)
               : "s40", "s41");
  to[threadIdx.x] = value + s_numbers[index & 15];
  s_numbers[index & 7] = index;
}
extern "C" __global__ void load_static_safe(int* to, int index) {
  const int* at = s_numbers;
  asm volatile("" : "+s"(at));
  int value;
  asm volatile("s_load_dwordx2 s[40:41], %1, 0x48\n s_waitcnt lgkmcnt(0)\n s_mov_b32 %0, s41"
               : "=s"(value)
               : "s"(at)
               : "s40", "s41");
  to[threadIdx.x] = value + s_numbers[index & 15];
  s_numbers[index & 7] = index;
}

// Pointers in memory: lanes may well access different buffers.
extern "C" __global__ void gather(int* to, int* const* from, int buffers) {
  if (threadIdx.x < buffers) to[threadIdx.x] = *from[threadIdx.x];
}

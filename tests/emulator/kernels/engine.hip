// Kernels of the engine's tests.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ void

KERNEL saxpy(const float* x, float* y, float a, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = a * x[i] + y[i];
}

KERNEL unguarded(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 7; }

// Each work item writes its place: ids, partial workgroups of 16 x 2 x 2. (blockDim would be the partial size.)
KERNEL places(unsigned* out, unsigned width, unsigned height) {
  const unsigned x = blockIdx.x * 16 + threadIdx.x;
  const unsigned y = blockIdx.y * 2 + threadIdx.y;
  const unsigned z = blockIdx.z * 2 + threadIdx.z;
  out[(z * height + y) * width + x] = x | y << 8 | z << 16 | 1u << 24;
}

// Waves 1.. leave before the barrier when `early` is set.
KERNEL barrier_early(int* out, int early) {
  __shared__ int value;
  if (early != 0 && threadIdx.x >= 32) return;
  if (threadIdx.x == 0) value = 5;
  __syncthreads();
  out[threadIdx.x] = value;
}

KERNEL reverse_lds(const int* in, int* out) {
  __shared__ int tile[256];
  tile[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
}

KERNEL dynamic_lds(int* out, int n) {
  extern __shared__ int pool[];
  for (int k = static_cast<int>(threadIdx.x); k < n; k += static_cast<int>(blockDim.x)) pool[k] = k * 3;
  __syncthreads();
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += pool[k];
  out[threadIdx.x] = sum;
}

KERNEL atomics(int* i32, unsigned* u32, unsigned long long* u64, float* f32, double* f64) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i32[0], 1);
  atomicSub(&i32[1], 2);
  atomicMin(&i32[2], -static_cast<int>(item));
  atomicMax(&i32[3], static_cast<int>(item));
  atomicAnd(&u32[0], ~(1u << (item & 15)));
  atomicOr(&u32[1], 1u << (item & 31));
  atomicXor(&u32[2], item);
  atomicExch(&u32[3], 77u);
  atomicInc(&u32[4], 9u);
  atomicDec(&u32[5], 9u);
  atomicCAS(&u32[6], 0u, item + 1000u);
  atomicMax(&u32[7], item);
  atomicAdd(&u64[0], 0x100000001ull);
  atomicMax(&u64[1], static_cast<unsigned long long>(item) << 33);
  atomicCAS(&u64[2], 0ull, 5ull);
  atomicAdd(f32, 1.0f);
  atomicAdd(f64, 0.5);
}

KERNEL returned_atomics(unsigned* counter, unsigned* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1u);
}

KERNEL lds_atomics(unsigned* out) {
  __shared__ unsigned bins[8];
  __shared__ unsigned long long wide;
  if (threadIdx.x < 8) bins[threadIdx.x] = threadIdx.x == 3 ? 100u : 0u;
  if (threadIdx.x == 0) wide = 0;
  __syncthreads();
  const unsigned old = atomicAdd(&bins[0], 1u);
  atomicOr(&bins[1], 1u << (threadIdx.x & 31));
  atomicMax(&bins[2], threadIdx.x);
  atomicMin(&bins[3], threadIdx.x);
  atomicXor(&bins[4], threadIdx.x);
  atomicCAS(&bins[5], 0u, 42u);
  atomicInc(&bins[6], 4u);
  atomicAdd(&wide, 0x100000000ull);
  __syncthreads();
  out[threadIdx.x] = old;
  if (threadIdx.x < 8) out[64 + threadIdx.x] = bins[threadIdx.x];
  if (threadIdx.x == 0) out[72] = static_cast<unsigned>(wide >> 32);
}

// A private array indexed at run time: buffer loads and stores through the scratch resource.
KERNEL scratch_array(const int* in, int* out, int rounds) {
  int values[64];
  const int item = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int k = 0; k < 64; ++k) values[k] = k * item;
  for (int r = 0; r < rounds; ++r) {
    const int at = (in[r] + item) & 63;
    values[at] += r;
    values[(at * 7) & 63] ^= values[at];
  }
  int sum = 0;
  for (int k = 0; k < 64; ++k) sum += values[k] * (k + 1);
  out[item] = sum;
}

struct Mixed {
  unsigned char bytes[5];
  unsigned short half;
  unsigned long long wide;
};
__device__ __noinline__ void touch(Mixed* m, int by) {
  for (int k = 0; k < 5; ++k) m->bytes[k] = static_cast<unsigned char>(m->bytes[k] + by);
  m->half = static_cast<unsigned short>(m->half * 3);
  m->wide += 0x100000000ull;
}
// The same function gets pointers to private, LDS and global memory: FLAT with apertures.
KERNEL flat_pointers(Mixed* global, unsigned* out) {
  __shared__ Mixed shared[32];
  Mixed local = {{1, 2, 3, 4, 5}, 7, 9};
  shared[threadIdx.x] = local;
  global[threadIdx.x] = local;
  __syncthreads();
  Mixed* target = &local;
  if (threadIdx.x % 3 == 1) target = &shared[threadIdx.x];
  if (threadIdx.x % 3 == 2) target = &global[threadIdx.x];
  touch(target, static_cast<int>(threadIdx.x));
  __syncthreads();
  const Mixed all[3] = {local, shared[threadIdx.x], global[threadIdx.x]};
  unsigned sum = 0;
  for (int k = 0; k < 3; ++k)
    sum += all[k].bytes[0] + 2u * all[k].bytes[4] + 5u * all[k].half + static_cast<unsigned>(all[k].wide >> 32) * 1000u;
  out[threadIdx.x] = sum;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL recursion(int* out) { out[threadIdx.x] = fibonacci(static_cast<int>(threadIdx.x % 12)); }

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
KERNEL function_pointers(int* out) {
  int (*const function)(int) = threadIdx.x % 2 != 0 ? twice : square;
  out[threadIdx.x] = function(static_cast<int>(threadIdx.x));
}

KERNEL spin_lock(int* lock, int* value, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x == 0) {
      while (atomicCAS(lock, 0, 1) != 0) {
      }
      __threadfence();
      const int old = *static_cast<volatile int*>(value);
      *static_cast<volatile int*>(value) = old + 1;
      __threadfence();
      atomicExch(lock, 0);
    }
    __syncthreads();
  }
}

// Each workgroup waits for the one after it: progress needs all of them resident.
KERNEL wait_for_later(unsigned* flags, unsigned groups) {
  if (threadIdx.x == 0) {
    if (blockIdx.x + 1 < groups)
      while (atomicAdd(&flags[blockIdx.x + 1], 0u) == 0) {
      }
    atomicExch(&flags[blockIdx.x], 1u);
  }
}

// Even workgroups count up in elements whose words are all the same; odd ones look at them meanwhile
// and count what they see half written.
typedef unsigned Words4 __attribute__((ext_vector_type(4)));
KERNEL torn_quads(Words4* element, unsigned* torn, unsigned rounds) {
  for (unsigned k = 1; k <= rounds; ++k) {
    if (blockIdx.x % 2 == 0) {
      const Words4 value = k;
      __builtin_nontemporal_store(value, &element[threadIdx.x]);
    } else {
      const Words4 value = __builtin_nontemporal_load(&element[threadIdx.x]);
      if (value.x != value.y || value.x != value.z || value.x != value.w) atomicAdd(torn, 1u);
    }
    asm volatile("" ::: "memory");
  }
}

// Wave 0 counts, the others look, with nothing between them: what they see depends on who is when.
KERNEL racing_waves(volatile unsigned* count, unsigned* seen, unsigned rounds) {
  if (threadIdx.x < 32) {
    for (unsigned k = 1; k <= rounds; ++k) *count = k;
  } else {
    seen[threadIdx.x] = *count;
  }
}

// Lacks a barrier: the first wave sets the word again while others may not have looked at it yet. They
// have where waves run about in step, as there is work in between.
KERNEL reused_word(unsigned* out, unsigned rounds) {
  __shared__ volatile unsigned word;
  unsigned sum = 0, work = threadIdx.x;
  for (unsigned k = 0; k < rounds; ++k) {
    if (threadIdx.x == 0) word = k;
    __syncthreads();
    sum += word;
    for (unsigned n = 0; n < 4; ++n) work = work * 1664525u + (work >> 16 ^ sum);
  }
  out[threadIdx.x] = work == 1 ? 0 : sum;
}

KERNEL wait_for_sleeper(unsigned* flag, unsigned sleeps) {
  if (blockIdx.x == 0) {
    for (unsigned k = 0; k < sleeps; ++k) __builtin_amdgcn_s_sleep(63);
    __hip_atomic_store(flag, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
    }
  }
}

KERNEL wait_for_host(volatile unsigned* flag, unsigned* out) {
  __builtin_amdgcn_s_sendmsg(1, 0);
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(1);
  out[threadIdx.x] = 3;
}

KERNEL for_ever(volatile unsigned* flag) {
  while (*flag == 0) {
  }
}

KERNEL traps() { __builtin_trap(); }

KERNEL graphics_instruction(float* out) {
  float r;
  asm volatile("v_interp_mov_f32 %0, p0, attr0.x" : "=v"(r));
  out[threadIdx.x] = r;
}
KERNEL no_instruction() { asm volatile(".long 0xd7fff000"); }
KERNEL halts() { asm volatile("s_sethalt 1"); }

// LDS beyond the workgroup's allocation: reads give 0, writes vanish.
KERNEL lds_bounds(unsigned* out) {
  __shared__ unsigned words[128];
  words[threadIdx.x] = threadIdx.x + 1;
  asm volatile("" : : "v"(&words[0]) : "memory");  // the loads below read it
  __syncthreads();
  unsigned inside, outside, pair0, pair1;
  const unsigned address = threadIdx.x * 4;
  asm volatile("ds_write_b32 %0, %1\n" : : "v"(threadIdx.x * 4 + 60000), "v"(99) : "memory");
  asm volatile("ds_read_b32 %0, %1 offset:4\n s_waitcnt lgkmcnt(0)" : "=v"(inside) : "v"(address) : "memory");
  asm volatile("ds_read_b32 %0, %1 offset:60000\n s_waitcnt lgkmcnt(0)" : "=v"(outside) : "v"(address) : "memory");
  asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(pair0) : "v"(address + 0xffffff00u) : "memory");
  asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=v"(pair1) : "v"(address + 448) : "memory");
  out[threadIdx.x * 4] = inside;
  out[threadIdx.x * 4 + 1] = outside;
  out[threadIdx.x * 4 + 2] = pair0;
  out[threadIdx.x * 4 + 3] = pair1;
}

typedef unsigned Vec4 __attribute__((ext_vector_type(4)));

// The resource and soffset of a buffer instruction in s36..s40.
#define SRD "v_readfirstlane_b32 s36, %1\n v_readfirstlane_b32 s37, %2\n v_readfirstlane_b32 s38, %3\n" \
            "v_readfirstlane_b32 s39, %4\n v_readfirstlane_b32 s40, %5\n s_nop 4\n"
#define SRD_IN "v"(w0), "v"(w1), "v"(w2), "v"(w3), "v"(soffset)
#define SRD_CLOBBERS "s36", "s37", "s38", "s39", "s40", "memory"

// Raw buffer: offsets past `bytes` read 0, stores there vanish; each dword of a wide load by itself.
KERNEL buffer_bounds(unsigned* data, unsigned bytes, unsigned soffset, unsigned* out) {
  const unsigned long long base = reinterpret_cast<unsigned long long>(data);
  const unsigned w0 = static_cast<unsigned>(base), w1 = static_cast<unsigned>(base >> 32) & 0xffffu, w2 = bytes,
                 w3 = 0x31004000u;
  const unsigned lane = threadIdx.x;
  unsigned one, unused;
  Vec4 four;
  asm volatile(SRD "buffer_load_dword %0, %6, s[36:39], s40 offen offset:4\n s_waitcnt vmcnt(0)"
               : "=&v"(one) : SRD_IN, "v"(lane * 4) : SRD_CLOBBERS);
  asm volatile(SRD "buffer_load_dwordx4 %0, %6, s[36:39], s40 offen\n s_waitcnt vmcnt(0)"
               : "=&v"(four) : SRD_IN, "v"(lane * 4) : SRD_CLOBBERS);
  asm volatile(SRD "v_mov_b32 %0, 0xabcd\n buffer_store_dword %0, %6, s[36:39], s40 offen\n s_waitcnt_vscnt null, 0x0"
               : "=&v"(unused) : SRD_IN, "v"(lane * 4 + 256) : SRD_CLOBBERS);
  out[lane] = one;
  out[32 + lane] = four.x;
  out[64 + lane] = four.y;
  out[96 + lane] = four.z;
  out[128 + lane] = four.w;
}

// Structured buffer: index * stride, checked by index.
KERNEL buffer_structured(unsigned* data, unsigned records, unsigned* out) {
  const unsigned long long base = reinterpret_cast<unsigned long long>(data);
  const unsigned w0 = static_cast<unsigned>(base), w1 = (static_cast<unsigned>(base >> 32) & 0xffffu) | 12u << 16,
                 w2 = records, w3 = 0x11004000u, soffset = 0;
  const unsigned lane = threadIdx.x;
  unsigned value;
  asm volatile(SRD "buffer_load_dword %0, %6, s[36:39], 0 idxen offset:8\n s_waitcnt vmcnt(0)"
               : "=&v"(value) : SRD_IN, "v"(lane) : SRD_CLOBBERS);
  out[lane] = value;
}

KERNEL lane_exchange(const unsigned* in, unsigned* out) {
  const unsigned lane = threadIdx.x;
  const unsigned value = in[lane];
  unsigned pulled, pushed, quad, mirrored;
  asm volatile("ds_bpermute_b32 %0, %1, %2\n s_waitcnt lgkmcnt(0)" : "=v"(pulled) : "v"((lane + 5) * 4), "v"(value));
  asm volatile("ds_permute_b32 %0, %1, %2\n s_waitcnt lgkmcnt(0)" : "=v"(pushed) : "v"((lane + 3) * 4), "v"(value));
  asm volatile("ds_swizzle_b32 %0, %1 offset:0x801b\n s_waitcnt lgkmcnt(0)" : "=v"(quad) : "v"(value));
  asm volatile("ds_swizzle_b32 %0, %1 offset:0x7c1f\n s_waitcnt lgkmcnt(0)" : "=v"(mirrored) : "v"(value));
  out[lane] = pulled;
  out[32 + lane] = pushed;
  out[64 + lane] = quad;
  out[96 + lane] = mirrored;
  unsigned partly = 0;
  if (lane < 16)  // the upper half is inactive: reads as 0
    asm volatile("ds_bpermute_b32 %0, %1, %2\n s_waitcnt lgkmcnt(0)" : "=v"(partly) : "v"((lane + 8) * 4), "v"(value));
  out[128 + lane] = partly;
}

// Narrow and wide loads and stores at every alignment.
KERNEL widths(const unsigned char* in, unsigned* out, unsigned char* bytes) {
  const unsigned lane = threadIdx.x;
  const unsigned char* p = in + lane * 3;
  unsigned u8, i8, u16, i16, lo = 0x11112222, hi = 0x33334444;
  Vec4 wide;
  asm volatile("global_load_ubyte %0, %1, off\n s_waitcnt vmcnt(0)" : "=v"(u8) : "v"(p));
  asm volatile("global_load_sbyte %0, %1, off offset:1\n s_waitcnt vmcnt(0)" : "=v"(i8) : "v"(p));
  asm volatile("global_load_ushort %0, %1, off\n s_waitcnt vmcnt(0)" : "=v"(u16) : "v"(p));
  asm volatile("global_load_sshort %0, %1, off offset:-1\n s_waitcnt vmcnt(0)" : "=v"(i16) : "v"(p + 4));
  asm volatile("global_load_short_d16 %0, %1, off\n s_waitcnt vmcnt(0)" : "+v"(lo) : "v"(p));
  asm volatile("global_load_short_d16_hi %0, %1, off\n s_waitcnt vmcnt(0)" : "+v"(hi) : "v"(p));
  asm volatile("global_load_dwordx4 %0, %1, off\n s_waitcnt vmcnt(0)" : "=v"(wide) : "v"(p));
  asm volatile("global_store_byte_d16_hi %0, %1, off\n s_waitcnt_vscnt null, 0x0" : : "v"(bytes + lane), "v"(lane << 16));
  asm volatile("global_store_short %0, %1, off\n s_waitcnt_vscnt null, 0x0" : : "v"(bytes + 64 + 2 * lane), "v"(lane * 257));
  const unsigned all[10] = {u8, i8, u16, i16, lo, hi, wide.x, wide.y, wide.z, wide.w};
  for (int k = 0; k < 10; ++k) out[lane * 10 + k] = all[k];
}

// The address registers are the destination.
KERNEL overlap(const unsigned long long* in, unsigned long long* out) {
  unsigned long long v = reinterpret_cast<unsigned long long>(in + threadIdx.x);
  asm volatile("global_load_dwordx2 %0, %0, off\n s_waitcnt vmcnt(0)" : "+v"(v));
  out[threadIdx.x] = v;
  __shared__ unsigned long long words[32];
  words[threadIdx.x] = v;
  asm volatile("" : : "v"(&words[0]) : "memory");
  __syncthreads();
  unsigned low, high;
  asm volatile("v_mov_b32 v40, %2\n ds_read2_b32 v[40:41], v40 offset0:0 offset1:1\n s_waitcnt lgkmcnt(0)\n"
               "v_mov_b32 %0, v40\n v_mov_b32 %1, v41"
               : "=v"(low), "=v"(high) : "v"(static_cast<unsigned>(threadIdx.x * 8)) : "v40", "v41", "memory");
  out[32 + threadIdx.x] = low | static_cast<unsigned long long>(high) << 32;
}

// Clocks advance.
KERNEL clocks(unsigned long long* out) {
  const unsigned long long first = clock64();
  const unsigned long long second = clock64();
  if (threadIdx.x == 0) out[0] = second - first;
}

KERNEL long_work(const unsigned* in, unsigned* out, unsigned rounds) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = in[item];
  for (unsigned r = 0; r < rounds; ++r) v = v * 1664525u + 1013904223u + (v >> 7);
  out[item] = v;
}

// Reads a word that somebody changes all the time between 0 and ~0, with all lanes, with some and
// from different places; counts the words with two different halves.
KERNEL torn(const volatile unsigned long long* words, unsigned* count, unsigned rounds) {
  const unsigned lane = threadIdx.x;
  const volatile unsigned long long* const mine = words + (lane % 2) * 16;
  unsigned bad = 0;
  const auto look = [&](unsigned long long word) {
    bad += static_cast<unsigned>(word) != static_cast<unsigned>(word >> 32);
  };
  for (unsigned r = 0; r < rounds; ++r) {
    look(words[0]);
    look(*mine);
    if (lane < 7) look(words[lane]);
  }
  atomicAdd(count, bad);
}

// Global wave sync: `waves` waves of several workgroups meet, twice.
KERNEL gws_init(unsigned waves) { __builtin_amdgcn_ds_gws_init(waves - 1, 0); }
KERNEL gws_meet(volatile unsigned* slots, unsigned* out, unsigned waves) {
  const unsigned wave = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  for (unsigned round = 1; round <= 2; ++round) {
    if (threadIdx.x % 32 == 0) slots[wave] = round * (wave + 1);
    __builtin_amdgcn_ds_gws_barrier(waves - 1, 0);
    unsigned sum = 0;
    for (unsigned w = 0; w < waves; ++w) sum += slots[w];
    out[(round - 1) * waves + wave] = sum;
    __builtin_amdgcn_ds_gws_barrier(waves - 1, 0);
  }
}

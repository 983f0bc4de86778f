// Loaded by loader_test and dispatch_test: kernels, variables, a table of pointers that needs relocation.
#include <hip/hip_runtime.h>

__device__ int counter = 41;
__device__ int targets[4] = {10, 11, 12, 13};
__device__ int* pointer_table[2] = {&targets[1], &targets[3]};
__constant__ int scale = 3;

extern "C" __global__ void empty_kernel() {}

extern "C" __global__ void fill(unsigned* out, unsigned value, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value + i;
}

extern "C" __global__ void use_globals(int* out) {
  out[0] = *pointer_table[0];
  out[1] = *pointer_table[1];
  out[2] = counter * scale;
  counter = counter + 1;
}

extern "C" __global__ void write_at(unsigned* out, unsigned long long index) { out[index] = 1; }

// What emulator/decode/memory_effects.h tells apart.
extern "C" __global__ void count_up(unsigned* out) { atomicAdd(out, 1u); }
extern "C" __global__ void take_numbers(unsigned* out) { atomicMax(out + 1, atomicAdd(out, 1u)); }
extern "C" __global__ void add_floats(float value) { asm volatile("ds_add_f32 %0, %1" : : "v"(0), "v"(value) : "memory"); }
extern "C" __global__ void jump(unsigned long long target) { asm volatile("s_setpc_b64 %0" : : "s"(target)); }

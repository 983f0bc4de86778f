// The kernels of random programs: linked into the program, and as a code object (-DCODE_OBJECT) that it loads.
#include <hip/hip_runtime.h>

#include "kernels.h"

using namespace random_programs;

#define RANDOM_GLOBAL(name, type, elements, initial) extern "C" __device__ type name[elements];
#include "globals.inc"
#undef RANDOM_GLOBAL
__device__ unsigned char random_byte[1] = {7};
__device__ unsigned short random_half[1] = {0x0909};
__device__ unsigned char random_odd[13];
__device__ unsigned random_word[1] = {0x03030303};
__device__ unsigned random_block[64];

#define INDEX const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x

extern "C" {

__global__ void fill(uint32_t* d, uint32_t n, uint32_t a, uint32_t spin) {
  INDEX;
  if (i < n) d[i] = fill_value(i, delay(a, spin));
}

__global__ void add(uint32_t* d, const uint32_t* x, uint32_t n, uint32_t a, uint32_t spin) {
  INDEX;
  if (i < n) d[i] = add_value(i, x[i], delay(a, spin));
}

__global__ void combine(uint32_t* d, const uint32_t* x, const uint32_t* y, uint32_t n, uint32_t a, uint32_t spin) {
  INDEX;
  if (i < n) d[i] = combine_value(i, x[i], y[i], delay(a, spin));
}

__global__ void update(uint32_t* d, uint32_t n, uint32_t a, uint32_t spin) {
  INDEX;
  if (i < n) d[i] = update_value(i, d[i], delay(a, spin));
}

__global__ void reverse(uint32_t* d, const uint32_t* x, uint32_t n) {
  __shared__ uint32_t words[kBlockWords];
  INDEX;
  const uint32_t first = blockIdx.x * blockDim.x;
  const uint32_t length = n - first < blockDim.x ? n - first : blockDim.x;
  if (i < n) words[threadIdx.x] = x[i];
  __syncthreads();
  if (i < n) d[i] = words[length - 1 - threadIdx.x];
}

__global__ void histogram(uint32_t* d, const uint32_t* x, uint32_t n) {
  INDEX;
  if (i < n) atomicAdd(&d[x[i] % kBins], 1u);
}

__global__ void add_bytes(uint8_t* d, const uint8_t* x, uint32_t n, uint32_t a, uint32_t spin) {
  INDEX;
  if (i < n) d[i] = byte_value(i, x[i], delay(a, spin));
}

__global__ void packed(Packed p) {
  INDEX;
  if (i < p.n) p.d[i] = add_value(i, p.x[i], p.a);
}

__global__ void gather(uint32_t* d, const uint32_t* const* table, uint32_t entries, uint32_t n, uint32_t a,
                       uint32_t spin) {
  INDEX;
  if (i < n) d[i] = add_value(i, table[i % entries][i], delay(a, spin));
}

__global__ void put_pointer(uint32_t** place, uint32_t* target, uint32_t words) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *place = target + words;
}

__global__ void walk(uint32_t* d, const Node* head, uint32_t most, uint32_t a, uint32_t spin) {
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  uint32_t sum = delay(a, spin);
  for (uint32_t i = 0; i < most && head != nullptr; ++i, head = head->next) sum = mix(sum + head->value);
  d[0] = sum;
}

__global__ void biased(uint32_t* d, const uint32_t* x, uint32_t k, uint32_t n, uint32_t a, uint32_t spin) {
  INDEX;
  if (i < n) d[i] = add_value(i, x[i + k], delay(a, spin));
}

__global__ void read_globals(uint32_t* d, uint32_t n, uint32_t a, uint32_t spin) {
  INDEX;
  if (i < n) {
    d[i] = delay(a, spin) + random_byte[0] + random_half[0] + random_odd[i % 13] + random_word[0] +
           random_block[i % 64];
  }
}

__global__ void write_globals(uint32_t a, uint32_t spin) {
  INDEX;
  if (blockIdx.x != 0) return;
  const uint32_t b = delay(a, spin);
  if (i < 1) {
    random_byte[0] = static_cast<unsigned char>(b);
    random_half[0] = static_cast<unsigned short>(b >> 3);
    random_word[0] = mix(b);
  }
  if (i < 13) random_odd[i] = static_cast<unsigned char>(b + i);
  if (i < 64) random_block[i] = mix(b + i);
}

}  // extern "C"

#ifndef CODE_OBJECT
namespace random_programs {

const void* kernel_function(Kernel kernel) {
  switch (kernel) {
#define RANDOM_KERNEL(name) \
  case Kernel::name: return reinterpret_cast<const void*>(name);
#include "kernels.inc"
#undef RANDOM_KERNEL
    case Kernel::count: break;
  }
  return nullptr;
}

const void* global_symbol(Global global) {
  switch (global) {
#define RANDOM_GLOBAL(name, type, elements, initial) \
  case Global::name: return static_cast<const void*>(&name);
#include "globals.inc"
#undef RANDOM_GLOBAL
    case Global::count: break;
  }
  return nullptr;
}

// The compiler's own form of a launch.
void launch_fill(uint32_t grid, uint32_t block, hipStream_t stream, uint32_t* d, uint32_t n, uint32_t a,
                 uint32_t spin) {
  fill<<<dim3(grid), dim3(block), 0, stream>>>(d, n, a, spin);
}

}  // namespace random_programs
#endif

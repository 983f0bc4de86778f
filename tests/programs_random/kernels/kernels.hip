// The kernels of random programs: linked into the program, and as a code object (-DCODE_OBJECT) that it loads.
#include <hip/hip_runtime.h>

#include "../images.h"
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

__device__ float4 read_texture(hipTextureObject_t texture, const ImageShape& shape, uint32_t i, uint32_t a) {
  const uint32_t quarter = quarter_at(i, a, shape.how);
  int32_t texel[3];
  float at[3];
  for (uint32_t axis = 0; axis < 3; ++axis) {
    texel[axis] = texel_at(i, a, axis, shape.size[axis]);
    at[axis] = coordinate(texel[axis], quarter, shape.size[axis], shape.how);
  }
  // There is no layer outside.
  const int layer = static_cast<int>(mix(a + i) % shape.size[2]);
  switch (shape.dimension) {
    case Dimension::kFetch: return tex1Dfetch<float4>(texture, texel[0]);
    case Dimension::k1D: return tex1D<float4>(texture, at[0]);
    case Dimension::k2D: return tex2D<float4>(texture, at[0], at[1]);
    case Dimension::k3D: return tex3D<float4>(texture, at[0], at[1], at[2]);
    case Dimension::k2DLayers: return tex2DLayered<float4>(texture, at[0], at[1], layer);
  }
  return {};
}

__device__ void put_components(uint32_t* d, uint32_t i, const ImageShape& shape, const float4& value) {
  const float components[4] = {value.x, value.y, value.z, value.w};
  for (uint32_t c = 0; c < shape.components; ++c) {
    d[i * shape.components + c] = (shape.how & kFraction) != 0
                                      ? static_cast<uint32_t>(static_cast<int32_t>(rintf(components[c] * most_of(shape))))
                                      : plain_bits(shape, __float_as_uint(components[c]));
  }
}

__device__ float4 read_surface(hipSurfaceObject_t surface, const ImageShape& shape, int x, int y, int z) {
  const int bytes = x * static_cast<int>(shape.components * shape.bits / 8);
  float4 value = {};
  switch (shape.dimension) {
    case Dimension::k1D: surf1Dread(&value, surface, bytes); break;
    case Dimension::k3D: surf3Dread(&value, surface, bytes, y, z); break;
    default: surf2Dread(&value, surface, bytes, y); break;
  }
  return value;
}

// Texel number i of the part, and what it held before it is added to what is stored.
__device__ void store_texel(hipSurfaceObject_t surface, const ImageShape& shape, uint32_t i, uint32_t a, bool add) {
  const int x = static_cast<int>(shape.at[0] + i % shape.part[0]);
  const int y = static_cast<int>(shape.at[1] + i / shape.part[0] % shape.part[1]);
  const int z = static_cast<int>(shape.at[2] + i / shape.part[0] / shape.part[1]);
  const float4 old = add ? read_surface(surface, shape, x, y, z) : float4{};
  const float before[4] = {old.x, old.y, old.z, old.w};
  float stored[4];
  for (uint32_t c = 0; c < 4; ++c) {
    const uint32_t number = component_of(shape, mix(a + 4 * i + c) + __float_as_uint(before[c]));
    const bool half = shape.kind == TexelKind::kFloat && shape.bits == 16;
    stored[c] = half ? static_cast<float>(number) : __uint_as_float(number);
  }
  const float4 value(stored[0], stored[1], stored[2], stored[3]);
  const int bytes = x * static_cast<int>(shape.components * shape.bits / 8);
  switch (shape.dimension) {
    case Dimension::k1D: surf1Dwrite(value, surface, bytes); break;
    case Dimension::k3D: surf3Dwrite(value, surface, bytes, y, z); break;
    default: surf2Dwrite(value, surface, bytes, y); break;
  }
}

extern "C" {

// What side threads launch: HIP 5.2.3 mixes the arguments of one kernel in a graph and beside it.
__global__ void fill_beside(uint32_t* d, uint32_t n, uint32_t a, uint32_t spin) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d[i] = fill_value(i, delay(a, spin));
}

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

__global__ void fetch(uint32_t* d, hipTextureObject_t texture, uint32_t n, uint32_t a, uint32_t spin, ImageShape shape) {
  INDEX;
  if (i < n) put_components(d, i, shape, read_texture(texture, shape, i, delay(a, spin)));
}

__global__ void fetch_table(uint32_t* d, const hipTextureObject_t* table, uint32_t n, uint32_t a, uint32_t spin,
                            ImageShape shape) {
  INDEX;
  if (i < n) put_components(d, i, shape, read_texture(*table, shape, i, delay(a, spin)));
}

__global__ void surface_read(uint32_t* d, hipSurfaceObject_t surface, uint32_t n, uint32_t a, uint32_t spin,
                             ImageShape shape) {
  INDEX;
  const uint32_t b = delay(a, spin);
  const int x = texel_at(i, b, 0, shape.size[0]), y = texel_at(i, b, 1, shape.size[1]), z = texel_at(i, b, 2, shape.size[2]);
  if (i < n) put_components(d, i, shape, read_surface(surface, shape, x, y, z));
}

__global__ void surface_write(hipSurfaceObject_t surface, uint32_t n, uint32_t a, uint32_t spin, ImageShape shape) {
  INDEX;
  if (i < n) store_texel(surface, shape, i, delay(a, spin), false);
}

__global__ void surface_update(hipSurfaceObject_t surface, uint32_t n, uint32_t a, uint32_t spin, ImageShape shape) {
  INDEX;
  if (i < n) store_texel(surface, shape, i, delay(a, spin), true);
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
void launch_fill_beside(uint32_t grid, uint32_t block, hipStream_t stream, uint32_t* d, uint32_t n,
                        uint32_t a, uint32_t spin) {
  fill_beside<<<dim3(grid), dim3(block), 0, stream>>>(d, n, a, spin);
}

}  // namespace random_programs
#endif

// Kernels that access images, faults and their right twins. `describe` writes the resource of an
// image of 16 columns of 32-bit integers, rows of 256 bytes.
#include <hip/hip_runtime.h>

#define KERNEL extern "C" __global__ __launch_bounds__(256) void
#define ITEM (static_cast<int>(threadIdx.x))
#define ROW (static_cast<int>(blockIdx.x))

KERNEL describe(unsigned* words, const void* texels, int rows) {
  if (ITEM != 0 || ROW != 0) return;
  const auto base = reinterpret_cast<unsigned long long>(texels);
  words[0] = static_cast<unsigned>(base >> 8);
  words[1] = static_cast<unsigned>(base >> 40) | 20u << 20 | (15u & 3) << 30;
  words[2] = 15u >> 2 | static_cast<unsigned>(rows - 1) << 14 | 1u << 31;
  words[3] = 4u | 1u << 9 | 9u << 28;
  words[4] = 63;
  words[5] = words[6] = words[7] = 0;
}

using Image = unsigned ADDRESS_SPACE_CONSTANT*;
__device__ int load(unsigned* words, int x, int y) {
  const int2 at(x, y);
  return __float_as_int(__ockl_image_load_2D((Image)(words), at.data).x);
}
__device__ void store(unsigned* words, int x, int y, int value) {
  const int2 at(x, y);
  const float4 texel(__int_as_float(value), 0, 0, 0);
  __ockl_image_store_2D((Image)(words), at.data, texel.data);
}

// The twins differ in who launches them.
#define PAIR(name, ...)                                        \
  KERNEL name(int* to, unsigned* words) { __VA_ARGS__ }        \
  KERNEL name##_safe(int* to, unsigned* words) { __VA_ARGS__ }

PAIR(load_rows, to[ROW * 16 + ITEM] = load(words, ITEM, ROW);)
PAIR(store_rows, store(words, ITEM, ROW, to[ITEM]);)
PAIR(texel_as_index, to[load(words, ITEM, ROW) & 31] = ITEM;)

KERNEL store_one_row(int* to, unsigned* words) { store(words, ITEM, 0, ROW + to[ITEM]); }
KERNEL store_one_row_safe(int* to, unsigned* words) { store(words, ITEM, ROW, ROW + to[ITEM]); }

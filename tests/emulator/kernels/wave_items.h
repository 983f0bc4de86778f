// What one work item computes, for kernels in both wave sizes and for the host as their oracle.
#pragma once

#include <stdint.h>

#ifdef __HIP_DEVICE_COMPILE__
#define ITEM __device__ static inline
#define ITEM_CALL __device__ __attribute__((noinline))
#else
#define ITEM static inline
#define ITEM_CALL static
#endif

// Nested divergence: loops of different lengths, branches on lane-dependent values.
ITEM uint32_t item_collatz(uint32_t id) {
  uint64_t n = id + 1;
  uint32_t steps = 0;
  while (n != 1) {
    if ((n & 1) != 0) {
      n = 3 * n + 1;
      if (steps > 40 && n % 5 == 0) break;
    } else {
      n >>= 1;
    }
    ++steps;
  }
  return steps * 1000 + static_cast<uint32_t>(n & 0xff);
}

// Carries, 64-bit multiplication and division, comparisons of all widths.
ITEM uint64_t item_wide(uint32_t id, const uint64_t* in) {
  uint64_t a = in[id % 64];
  const uint64_t b = in[(id * 7 + 3) % 64];
  a += b;
  a -= b >> 7;
  if (static_cast<int64_t>(a) < static_cast<int64_t>(b)) a ^= b * (2 * id + 1);
  const uint64_t d = (b >> (id % 48)) | 1;
  return a / d + 31 * (a % d) + (a > b ? a : b);
}

// Correctly rounded divisions and square roots of both widths: their carries through VCC.
ITEM double item_float(uint32_t id, const uint64_t* in) {
  const float x = static_cast<float>(in[id % 64] >> 33) + 0.5f;
  const float y = static_cast<float>(static_cast<int32_t>(in[(id + 9) % 64] >> 20)) * 0.37f + 1;
  const double z = static_cast<double>(in[(id + 5) % 64] >> 3) + 0.25;
  const double q = z / (1.0 + static_cast<double>(id));
  return q + static_cast<double>(x / y) * static_cast<double>(id % 3 == 0 ? -1.0f : 1.0f);
}

// A private array indexed at run time, and calls with their own frames.
ITEM_CALL uint32_t item_sum(const uint32_t* values, uint32_t count) {
  uint32_t sum = 0;
  for (uint32_t k = 0; k < count; ++k) sum = sum * 31 + values[k];
  return sum;
}
ITEM_CALL uint32_t item_recurse(uint32_t n) {
  return n < 2 ? n + 1 : item_recurse(n - 1) + 3 * item_recurse(n - 2);
}
ITEM uint32_t item_private(uint32_t id, const uint64_t* in) {
  uint32_t values[24];
  // More than a compiler keeps in registers (where LLVM 15 inserts bytes with too wide a mask).
  unsigned char bytes[40];
  for (uint32_t k = 0; k < 24; ++k) values[k] = static_cast<uint32_t>(in[(id + k) % 64] >> k);
  for (uint32_t k = 0; k < 40; ++k)
    bytes[(k + id) % 40] = static_cast<unsigned char>(values[k % 24] >> k % 9);
  for (uint32_t k = 0; k < 40; ++k) {
    const uint32_t at = (values[k % 24] + id) % 24;
    values[at] += bytes[values[(at + 1) % 24] % 40] + k;
  }
  return item_sum(values, 24) + bytes[id % 40] + item_recurse(id % 9);
}

ITEM uint32_t item_switch(uint32_t id, uint32_t x) {
  switch ((id * 5 + x) % 11) {
    case 0: return x + 1;
    case 1: return x * 3;
    case 2: return x ^ 0x55555555u;
    case 3: return x << (id % 31);
    case 4: return x >> (id % 31);
    case 5: return static_cast<uint32_t>(__builtin_popcount(x));
    case 6: return x == 0 ? 32 : static_cast<uint32_t>(__builtin_clz(x));
    case 7: return x % (id + 1);
    case 8: return x / (id + 3);
    case 9: return x - id;
    default: return ~x;
  }
}

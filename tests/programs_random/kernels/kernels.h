// What the kernels compute, for the device and for the host's model.
#pragma once

#include <cstdint>

#ifdef __HIPCC__
#define RANDOM_BOTH __host__ __device__
#else
#define RANDOM_BOTH
#endif

namespace random_programs {

enum class Kernel {
#define RANDOM_KERNEL(name) name,
#include "kernels.inc"
#undef RANDOM_KERNEL
  count
};

enum class Global {
#define RANDOM_GLOBAL(name, type, elements, initial) name,
#include "globals.inc"
#undef RANDOM_GLOBAL
  count
};

constexpr uint32_t kBlockWords = 64;  // of `reverse`
constexpr uint32_t kBins = 16;

struct Packed {
  uint32_t* d;
  uint32_t a;
  uint32_t n;
  const uint32_t* x;
};

struct Node {
  const Node* next;
  uint32_t value;
  uint32_t unused;
};

RANDOM_BOTH inline uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

// Takes its time: `spin` dependent steps.
RANDOM_BOTH inline uint32_t delay(uint32_t a, uint32_t spin) {
  for (uint32_t i = 0; i < spin; ++i) a = (a * 1664525u + 1013904223u) ^ (a >> 7);
  return a;
}

RANDOM_BOTH inline uint32_t fill_value(uint32_t i, uint32_t a) { return mix(a + i); }
RANDOM_BOTH inline uint32_t add_value(uint32_t i, uint32_t x, uint32_t a) { return x + mix(a ^ i); }
RANDOM_BOTH inline uint32_t combine_value(uint32_t i, uint32_t x, uint32_t y, uint32_t a) {
  return (a * x + y) ^ i;
}
RANDOM_BOTH inline uint32_t update_value(uint32_t i, uint32_t d, uint32_t a) {
  return mix(d + a + i);
}
RANDOM_BOTH inline uint8_t byte_value(uint32_t i, uint8_t x, uint32_t a) {
  return static_cast<uint8_t>(x * 3u + a + i);
}

}  // namespace random_programs

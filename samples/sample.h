// What every sample shares: error checks, deterministic input, buffers, and the PASS/FAIL line.
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define HIP_CHECK(call)                                                  \
  do {                                                                   \
    const hipError_t hip_check_error = (call);                           \
    if (hip_check_error != hipSuccess) {                                 \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   hipGetErrorString(hip_check_error));                  \
      std::exit(1);                                                      \
    }                                                                    \
  } while (false)

namespace sample {

// The same numbers on every machine (a 64-bit linear congruential generator, upper bits).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2862933555777941757u + 3037000493u) {}
  uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state_ >> 33);
  }
  // In [-1, 1), a multiple of 2^-16.
  float uniform() {
    return static_cast<float>(static_cast<int32_t>(next() & 0x1ffff) - 0x10000) / 0x10000;
  }

 private:
  uint64_t state_;
};

inline std::vector<float> random_floats(size_t count, uint64_t seed, float scale = 1.0f) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = random.uniform() * scale;
  return values;
}

template <typename T>
T* device_alloc(size_t count) {
  void* pointer = nullptr;
  HIP_CHECK(hipMalloc(&pointer, count * sizeof(T)));
  return static_cast<T*>(pointer);
}

template <typename T>
T* to_device(const std::vector<T>& host) {
  T* pointer = device_alloc<T>(host.size());
  HIP_CHECK(hipMemcpy(pointer, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
  return pointer;
}

template <typename T>
std::vector<T> to_host(const T* pointer, size_t count) {
  std::vector<T> host(count);
  HIP_CHECK(hipMemcpy(host.data(), pointer, count * sizeof(T), hipMemcpyDeviceToHost));
  return host;
}

inline unsigned blocks(size_t count, unsigned per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

// Bit-exact comparison; names the first difference.
template <typename T>
bool same(const char* what, const std::vector<T>& got, const std::vector<T>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&got[i], &expected[i], sizeof(T)) != 0) {
      std::fprintf(stderr, "%s[%zu]: got %.9g, expected %.9g\n", what, i,
                   static_cast<double>(got[i]), static_cast<double>(expected[i]));
      return false;
    }
  }
  return true;
}

// |got - expected| <= tolerance * max(1, |expected|).
inline bool close(const char* what, const std::vector<float>& got,
                  const std::vector<float>& expected, float tolerance) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const float bound = tolerance * std::fmax(1.0f, std::fabs(expected[i]));
    if (!(std::fabs(got[i] - expected[i]) <= bound)) {
      std::fprintf(stderr, "%s[%zu]: got %.9g, expected %.9g within %.3g\n", what, i,
                   static_cast<double>(got[i]), static_cast<double>(expected[i]),
                   static_cast<double>(bound));
      return false;
    }
  }
  return true;
}

// Whether `flag` is among the arguments.
inline bool has_flag(int argc, char** argv, const char* flag) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], flag) == 0) return true;
  }
  return false;
}

// The last line of every sample, and its exit code.
inline int finish(const char* name, bool passed) {
  std::printf("%s: %s\n", name, passed ? "PASS" : "FAIL");
  return passed ? 0 : 1;
}

}  // namespace sample

// What the programs here have in common: kernels whose order matters, memory with what the host
// computes, and modes by name. A mode runs bare and by gfxgraph accelerate.
#pragma once

#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

struct Pair {
  uint32_t multiply;
  uint32_t add;
};

// Order matters: multiply and add do not commute.
extern "C" __global__ void step(uint32_t* values, Pair pair, uint8_t shift, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) values[i] = (values[i] * pair.multiply + pair.add) ^ (values[i] >> shift);
}
extern "C" __global__ void add_from(uint32_t* to, const uint32_t* from, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = to[i] * 3 + from[i];
}
extern "C" __global__ void signal_host(volatile uint32_t* flag, uint32_t add) {
  *flag = *flag + add;
}

#ifndef CODE_OBJECT

constexpr int kCount = 96;
constexpr int kSteps = 24;

static const char* mode_name = "";
static const char* module_path = "";

static void check_at(hipError_t result, int line) {
  if (result == hipSuccess) return;
  std::printf("%s: line %d: error %d\n", mode_name, line, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check_at(call, __LINE__)
static void require_at(bool holds, int line, const char* what) {
  if (holds) return;
  std::printf("%s: line %d: not so: %s\n", mode_name, line, what);
  std::exit(1);
}
#define REQUIRE(condition) require_at(condition, __LINE__, #condition)

// Device memory and what it must hold.
class Values {
 public:
  explicit Values(uint32_t seed = 1) {
    CHECK(hipMalloc(reinterpret_cast<void**>(&device), sizeof(host)));
    for (int i = 0; i < kCount; ++i) host[i] = seed + static_cast<uint32_t>(i) * 7;
    CHECK(hipMemcpy(device, host, sizeof(host), hipMemcpyHostToDevice));
  }
  ~Values() { CHECK(hipFree(device)); }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  void expect_step(Pair pair, uint8_t shift) {
    for (uint32_t& v : host) v = (v * pair.multiply + pair.add) ^ (v >> shift);
  }
  void run(Pair pair, uint8_t shift, hipStream_t stream = nullptr) {
    step<<<2, 64, 0, stream>>>(device, pair, shift, kCount);
    CHECK(hipGetLastError());
    expect_step(pair, shift);
  }
  void add(const Values& from, hipStream_t stream = nullptr) {
    add_from<<<2, 64, 0, stream>>>(device, from.device, kCount);
    CHECK(hipGetLastError());
    for (int i = 0; i < kCount; ++i) host[i] = host[i] * 3 + from.host[i];
  }
  void compare_at(int line, hipStream_t stream = nullptr) {
    uint32_t now[kCount];
    CHECK(hipMemcpyAsync(now, device, sizeof(now), hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    require_at(std::memcmp(now, host, sizeof(now)) == 0, line, "values");
  }

  uint32_t* device = nullptr;
  uint32_t host[kCount];
};
#define COMPARE(values, ...) (values).compare_at(__LINE__ __VA_OPT__(, ) __VA_ARGS__)

static Pair pair_of(int i) {
  return {static_cast<uint32_t>(2 * i + 3), static_cast<uint32_t>(i * 5)};
}

static void steps(Values& values, int from, int to, hipStream_t stream = nullptr) {
  for (int i = from; i < to; ++i) values.run(pair_of(i), static_cast<uint8_t>(i % 30 + 1), stream);
}

static hipStream_t new_stream(unsigned flags = hipStreamDefault) {
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, flags));
  return stream;
}

constexpr int kRepeats = 30;

struct Mode {
  const char* name;
  void (*run)();
};

template <size_t kCount>
int run_mode(const Mode (&modes)[kCount], int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  if (argc > 2) module_path = argv[2];
  for (const Mode& mode : modes) {
    if (wanted != mode.name) continue;
    mode_name = mode.name;
    mode.run();
    std::printf("%s: PASS\n", mode.name);
    return 0;
  }
  for (const Mode& mode : modes) std::printf("%s\n", mode.name);
  return 2;
}

#endif

// rocRAND's generators on the device against the same generators on the host: the library's device
// functions are compiled for both, and each engine is started at many places of its sequence.
// Integers must be equal; what goes through floating-point functions may differ by their precision.
// Sobol sequences of the library's own kernels are compared too. scripts/experiments/check-rocrand builds it.
// MTGP32 is left out: its state is shared by a workgroup, and there is no host form of it.
#define FQUALIFIERS __forceinline__ __device__ __host__
#include <hip/hip_runtime.h>
#include <rocrand/rocrand.h>
#include <rocrand/rocrand_kernel.h>
#include <rocrand/rocrand_sobol32_precomputed.h>
#include <rocrand/rocrand_sobol64_precomputed.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr unsigned kItems = 1024;  // engines of each kind
constexpr unsigned kDraws = 8;     // of each distribution

void check(int error, const char* what) {
  if (error == 0) return;
  std::printf("%s: error %d\n", what, error);
  std::exit(1);
}

// ---- engines, started for a work item ----

struct Tables {
  const unsigned* vectors32;
  const unsigned long long* vectors64;
};
constexpr unsigned kDimensions = 16;

// Small and large seeds, subsequences and offsets.
__host__ __device__ unsigned long long seed_of(unsigned item) {
  return item % 3 == 0 ? item : 0x9e3779b97f4a7c15ull * (item + 1);
}
__host__ __device__ unsigned long long offset_of(unsigned item) {
  return item % 5 == 0 ? 0 : item * 2654435761ull % 1000003;
}

template <class State>
struct Start {  // engines with seed, subsequence and offset
  __host__ __device__ static void run(const Tables&, unsigned item, State* state) {
    rocrand_init(seed_of(item), item, offset_of(item), state);
  }
};
template <>
struct Start<rocrand_state_lfsr113> {
  __host__ __device__ static void run(const Tables&, unsigned item, rocrand_state_lfsr113* state) {
    const auto low = static_cast<unsigned>(seed_of(item));
    const auto high = static_cast<unsigned>(seed_of(item) >> 32);
    rocrand_init(uint4{low | 256, high | 256, low ^ 0x55555555u, high ^ 0x33333333u}, item, state);
  }
};
template <>
struct Start<rocrand_state_sobol32> {
  __host__ __device__ static void run(const Tables& t, unsigned item, rocrand_state_sobol32* state) {
    rocrand_init(t.vectors32 + item % kDimensions * 32, static_cast<unsigned>(offset_of(item)), state);
  }
};
template <>
struct Start<rocrand_state_sobol64> {
  __host__ __device__ static void run(const Tables& t, unsigned item, rocrand_state_sobol64* state) {
    rocrand_init(t.vectors64 + item % kDimensions * 64, static_cast<unsigned>(offset_of(item)), state);
  }
};
template <>
struct Start<rocrand_state_scrambled_sobol32> {
  __host__ __device__ static void run(const Tables& t, unsigned item,
                                      rocrand_state_scrambled_sobol32* state) {
    rocrand_init(t.vectors32 + item % kDimensions * 32, static_cast<unsigned>(seed_of(item)),
                 static_cast<unsigned>(offset_of(item)), state);
  }
};
template <>
struct Start<rocrand_state_scrambled_sobol64> {
  __host__ __device__ static void run(const Tables& t, unsigned item,
                                      rocrand_state_scrambled_sobol64* state) {
    rocrand_init(t.vectors64 + item % kDimensions * 64, seed_of(item),
                 static_cast<unsigned>(offset_of(item)), state);
  }
};

// ---- what each engine is asked for ----

struct Drawn {
  unsigned long long integer[kDraws];
  unsigned poisson[kDraws];
  float uniform[kDraws], normal[kDraws], log_normal[kDraws];
  double uniform_double[kDraws], normal_double[kDraws], log_normal_double[kDraws];
};

template <class State>
__host__ __device__ void draw(const Tables& tables, unsigned item, Drawn& out) {
  State state;
  Start<State>::run(tables, item, &state);
  for (unsigned n = 0; n < kDraws; ++n) out.integer[n] = rocrand(&state);
  for (unsigned n = 0; n < kDraws; ++n) out.uniform[n] = rocrand_uniform(&state);
  for (unsigned n = 0; n < kDraws; ++n) out.uniform_double[n] = rocrand_uniform_double(&state);
  for (unsigned n = 0; n < kDraws; ++n) out.normal[n] = rocrand_normal(&state);
  for (unsigned n = 0; n < kDraws; ++n) out.normal_double[n] = rocrand_normal_double(&state);
  for (unsigned n = 0; n < kDraws; ++n) out.log_normal[n] = rocrand_log_normal(&state, 0.5f, 0.25f);
  for (unsigned n = 0; n < kDraws; ++n)
    out.log_normal_double[n] = rocrand_log_normal_double(&state, 0.5, 0.25);
  // Last: the number of draws that it takes depends on their values.
  const double means[] = {0.5, 4.0, 60.0, 5000.0};
  for (unsigned n = 0; n < kDraws; ++n) {
    Start<State>::run(tables, item + n, &state);
    out.poisson[n] = rocrand_poisson(&state, means[n % 4]);
  }
}

template <class State>
__global__ void draw_all(Tables tables, Drawn* out) {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item < kItems) draw<State>(tables, item, out[item]);
}

// ---- comparison ----

struct Worst {
  double integer = 0, poisson = 0, uniform = 0, normal = 0, uniform_double = 0, normal_double = 0;
};

void widen(double& worst, double got, double expected) {
  if (std::isnan(got) || std::isnan(expected)) {
    if (std::isnan(got) != std::isnan(expected)) worst = INFINITY;
    return;
  }
  const double difference = std::abs(got - expected) / std::fmax(1.0, std::abs(expected));
  worst = std::fmax(worst, difference);
}

Worst compare(const Drawn& got, const Drawn& expected, Worst worst) {
  for (unsigned n = 0; n < kDraws; ++n) {
    worst.integer += got.integer[n] != expected.integer[n];
    worst.poisson += got.poisson[n] != expected.poisson[n];
    widen(worst.uniform, got.uniform[n], expected.uniform[n]);
    widen(worst.uniform_double, got.uniform_double[n], expected.uniform_double[n]);
    widen(worst.normal, got.normal[n], expected.normal[n]);
    widen(worst.normal, got.log_normal[n], expected.log_normal[n]);
    widen(worst.normal_double, got.normal_double[n], expected.normal_double[n]);
    widen(worst.normal_double, got.log_normal_double[n], expected.log_normal_double[n]);
  }
  return worst;
}

bool report(const char* name, const Worst& w) {
  // float: fast log, sin and cos on the device; double: a few units in the last place.
  const bool right = w.integer == 0 && w.poisson == 0 && w.uniform <= 1.2e-7 && w.normal <= 2e-5 &&
                     w.uniform_double <= 2.3e-16 && w.normal_double <= 1e-12;
  std::printf("%-18s %s  integers %g and poisson %g differ; at most %.1e uniform, %.1e normal, "
              "%.1e uniform double, %.1e normal double\n",
              name, right ? "same" : "DIFFERENT", w.integer, w.poisson, w.uniform, w.normal,
              w.uniform_double, w.normal_double);
  return right;
}

template <class State>
bool run(const char* name, const Tables& device, const Tables& host) {
  Drawn* out = nullptr;
  check(hipMalloc(&out, kItems * sizeof(Drawn)), "hipMalloc");
  draw_all<State><<<kItems / 128, 128>>>(device, out);
  std::vector<Drawn> got(kItems);
  check(hipMemcpy(got.data(), out, kItems * sizeof(Drawn), hipMemcpyDeviceToHost), "hipMemcpy");
  check(hipFree(out), "hipFree");
  Worst worst;
  for (unsigned item = 0; item < kItems; ++item) {
    Drawn expected;
    draw<State>(host, item, expected);
    worst = compare(got[item], expected, worst);
  }
  return report(name, worst);
}

// The library's own kernel: one dimension after the other.
template <class State, class Value, class Generate>
bool run_library(const char* name, rocrand_rng_type type, const Tables& host, Generate generate) {
  constexpr unsigned kDimension = 4, kLength = 3000;
  rocrand_generator generator;
  check(rocrand_create_generator(&generator, type), "rocrand_create_generator");
  check(rocrand_set_quasi_random_generator_dimensions(generator, kDimension), "dimensions");
  Value* out = nullptr;
  check(hipMalloc(&out, kDimension * kLength * sizeof(Value)), "hipMalloc");
  check(generate(generator, out, kDimension * kLength), "rocrand_generate");
  std::vector<Value> got(kDimension * kLength);
  check(hipMemcpy(got.data(), out, got.size() * sizeof(Value), hipMemcpyDeviceToHost), "hipMemcpy");
  unsigned different = 0;
  for (unsigned d = 0; d < kDimension; ++d) {
    State state;
    if constexpr (sizeof(Value) == 4)
      rocrand_init(host.vectors32 + d * 32, 0u, &state);
    else
      rocrand_init(host.vectors64 + d * 64, 0u, &state);
    for (unsigned n = 0; n < kLength; ++n) different += got[d * kLength + n] != rocrand(&state);
  }
  check(rocrand_destroy_generator(generator), "rocrand_destroy_generator");
  check(hipFree(out), "hipFree");
  std::printf("%-18s %s  %u of %zu values differ\n", name, different == 0 ? "same" : "DIFFERENT",
              different, got.size());
  return different == 0;
}

template <class Value>
const Value* copy_to_device(const Value* host, size_t count) {
  Value* device = nullptr;
  check(hipMalloc(&device, count * sizeof(Value)), "hipMalloc");
  check(hipMemcpy(device, host, count * sizeof(Value), hipMemcpyHostToDevice), "hipMemcpy");
  return device;
}

}  // namespace

int main() {
  const Tables host = {rocrand_h_sobol32_direction_vectors, rocrand_h_sobol64_direction_vectors};
  const Tables device = {copy_to_device(host.vectors32, kDimensions * 32),
                         copy_to_device(host.vectors64, kDimensions * 64)};
  bool right = true;
#define GFXGRAPH_ENGINE(name) right = run<rocrand_state_##name>(#name, device, host) && right
  GFXGRAPH_ENGINE(philox4x32_10);
  GFXGRAPH_ENGINE(xorwow);
  GFXGRAPH_ENGINE(mrg31k3p);
  GFXGRAPH_ENGINE(mrg32k3a);
  GFXGRAPH_ENGINE(lfsr113);
  GFXGRAPH_ENGINE(threefry2x32_20);
  GFXGRAPH_ENGINE(threefry2x64_20);
  GFXGRAPH_ENGINE(threefry4x32_20);
  GFXGRAPH_ENGINE(threefry4x64_20);
  GFXGRAPH_ENGINE(sobol32);
  GFXGRAPH_ENGINE(sobol64);
  GFXGRAPH_ENGINE(scrambled_sobol32);
  GFXGRAPH_ENGINE(scrambled_sobol64);
  right = run_library<rocrand_state_sobol32, unsigned>("library: sobol32", ROCRAND_RNG_QUASI_SOBOL32,
                                                       host, rocrand_generate) && right;
  right = run_library<rocrand_state_sobol64, unsigned long long>(
              "library: sobol64", ROCRAND_RNG_QUASI_SOBOL64, host, rocrand_generate_long_long) && right;
  std::printf("rocrand: %s\n", right ? "PASS" : "FAIL");
  return right ? 0 : 1;
}

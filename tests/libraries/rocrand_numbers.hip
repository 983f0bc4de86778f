// Uniform numbers of rocRAND's Philox generator on the device, against those of its host generator (not in HIP 5's).
#include <rocrand/rocrand.h>

#include "common.h"

int main() {
  constexpr size_t kCount = 4096;
  const Device<float> memory(kCount);
  rocrand_generator generator;
  check(rocrand_create_generator(&generator, ROCRAND_RNG_PSEUDO_PHILOX4_32_10), "rocrand_create_generator");
  check(rocrand_set_seed(generator, 77), "rocrand_set_seed");
  check(rocrand_generate_uniform(generator, memory.data, kCount), "rocrand_generate_uniform");
  const std::vector<float> got = memory.values();
  check(rocrand_destroy_generator(generator), "rocrand_destroy_generator");
  std::vector<float> host(kCount);
  check(rocrand_create_generator_host_blocking(&generator, ROCRAND_RNG_PSEUDO_PHILOX4_32_10), "rocrand_create_generator_host_blocking");
  check(rocrand_set_seed(generator, 77), "rocrand_set_seed");
  check(rocrand_generate_uniform(generator, host.data(), kCount), "rocrand_generate_uniform");
  check(rocrand_destroy_generator(generator), "rocrand_destroy_generator");
  return compared("rocRAND", got, {host.begin(), host.end()}, 0);
}

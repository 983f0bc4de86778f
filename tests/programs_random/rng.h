// Random numbers that depend on the seed and the place in the program only: an action that is left
// out changes none of the others.
#pragma once

#include <cstdint>

namespace random_programs {

inline uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

class Rng {
 public:
  Rng(uint64_t seed, uint64_t place, uint64_t part = 0)
      : state_(mix64(mix64(mix64(seed) ^ place) ^ (part << 32))) {}
  uint64_t next() { return state_ = mix64(state_); }
  uint32_t word() { return static_cast<uint32_t>(next() >> 32); }
  // 0 to n - 1; n > 0.
  uint32_t below(uint64_t n) { return static_cast<uint32_t>((next() >> 11) % n); }
  uint32_t between(uint32_t low, uint32_t high) { return low + below(high - low + 1); }
  bool chance(uint32_t percent) { return below(100) < percent; }

 private:
  uint64_t state_;
};

}  // namespace random_programs

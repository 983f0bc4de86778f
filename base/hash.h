// Hash of numbers that come from a file: std::hash of an integer is the integer, so a file could
// choose ids that all fall into one bucket and make a reader take hours. This hash depends on a
// secret of the process.
#pragma once

#include <sys/auxv.h>

#include <cstdint>
#include <cstring>

namespace gfxgraph {

// Random bytes that the kernel gives each process.
inline uint64_t process_secret() noexcept {
  static const uint64_t secret = [] {
    uint64_t value = 0x9e3779b97f4a7c15;
    const auto* const random = reinterpret_cast<const void*>(::getauxval(AT_RANDOM));
    if (random != nullptr) std::memcpy(&value, random, sizeof(value));
    return value;
  }();
  return secret;
}

// Steps of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
inline uint64_t mix(uint64_t value) noexcept {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

struct SeededHash {
  size_t operator()(uint64_t value) const noexcept { return mix(mix(value ^ process_secret())); }
};

}  // namespace gfxgraph

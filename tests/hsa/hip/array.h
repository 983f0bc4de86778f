// Device memory as a vector, numbers without pattern, and a digest of what a program computed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "check.h"

// Owns `count` elements of device memory; copies wait.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    HIP_OK(hipMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)));
    HIP_OK(hipMemset(data_, 0, count * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) {
    HIP_OK(hipMemcpy(data_, host.data(), count_ * sizeof(T), hipMemcpyHostToDevice));
  }
  ~DeviceArray() { HIP_OK(hipFree(data_)); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  size_t count() const { return count_; }
  std::vector<T> read() const {
    HIP_OK(hipGetLastError());  // of a launch before
    std::vector<T> host(count_);
    HIP_OK(hipMemcpy(host.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost));
    return host;
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

template <typename T>
std::vector<T> random_integers(size_t count, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::vector<T> result(count);
  for (T& x : result) x = static_cast<T>(generator());
  return result;
}

// FNV-1a over everything that was added; printed, so that runs can be compared.
class Digest {
 public:
  template <typename T>
  void add(const std::vector<T>& values) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (size_t i = 0; i < values.size() * sizeof(T); ++i)
      hash_ = (hash_ ^ bytes[i]) * 1099511628211u;
  }
  void print() const { std::printf("digest %016llx\n", static_cast<unsigned long long>(hash_)); }

 private:
  uint64_t hash_ = 14695981039346656037u;
};

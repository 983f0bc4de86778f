// Radix sort of keys with values, four bits at a time, stable: ranks in a wave by ballot, in a
// workgroup through LDS, over the grid by a scan of all counts.
#include <algorithm>
#include <numeric>

#include "../array.h"

constexpr unsigned kThreads = 256;
constexpr unsigned kWaves = kThreads / 32;
constexpr unsigned kDigits = 16;

__device__ unsigned digit_of(unsigned key, unsigned shift) { return key >> shift & (kDigits - 1); }

// counts[digit * tiles + tile]: the order in which they are scanned.
__global__ void count_digits(const unsigned* keys, unsigned n, unsigned shift, unsigned* counts) {
  __shared__ unsigned local[kDigits];
  if (threadIdx.x < kDigits) local[threadIdx.x] = 0;
  __syncthreads();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) atomicAdd(&local[digit_of(keys[i], shift)], 1u);
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

// Exclusive scan of any length by one workgroup.
__global__ void scan_counts(unsigned* counts, unsigned n) {
  __shared__ unsigned sums[kThreads];
  unsigned carry = 0;
  for (unsigned start = 0; start < n; start += kThreads) {
    const unsigned i = start + threadIdx.x;
    const unsigned mine = i < n ? counts[i] : 0;
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned step = 1; step < kThreads; step *= 2) {
      const unsigned add = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
      __syncthreads();
      sums[threadIdx.x] += add;
      __syncthreads();
    }
    if (i < n) counts[i] = carry + sums[threadIdx.x] - mine;
    carry += sums[kThreads - 1];
    __syncthreads();
  }
}

__global__ void scatter(const unsigned* keys, const unsigned* values, unsigned n, unsigned shift,
                        const unsigned* offsets, unsigned* keys_out, unsigned* values_out) {
  __shared__ unsigned of_wave[kWaves][kDigits];
  const unsigned wave = threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (lane < kDigits) of_wave[wave][lane] = 0;
  __syncthreads();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const bool valid = i < n;
  const unsigned key = valid ? keys[i] : 0;
  const unsigned digit = digit_of(key, shift);
  // The lanes that have the same digit.
  auto same = static_cast<unsigned>(__ballot(valid));
  for (unsigned bit = 0; bit < 4; ++bit) {
    const auto set = static_cast<unsigned>(__ballot(digit >> bit & 1));
    same &= digit >> bit & 1 ? set : ~set;
  }
  const unsigned before = __popc(same & ((1u << lane) - 1));
  if (valid && before == 0) of_wave[wave][digit] = __popc(same);
  __syncthreads();
  if (!valid) return;
  unsigned place = offsets[digit * gridDim.x + blockIdx.x] + before;
  for (unsigned w = 0; w < wave; ++w) place += of_wave[w][digit];
  keys_out[place] = key;
  values_out[place] = values[i];
}

int main() {
  Digest digest;
  for (const unsigned n : {1u, 2u, 33u, 255u, 256u, 257u, 5000u, 40009u}) {
    std::vector<unsigned> keys = random_integers<unsigned>(n, n);
    for (unsigned i = 0; i < n; i += 3) keys[i] &= 0xff00ff;  // many equal ones
    std::vector<unsigned> values(n);
    std::iota(values.begin(), values.end(), 0u);
    const unsigned tiles = (n + kThreads - 1) / kThreads;
    const DeviceArray<unsigned> a(keys), a_values(values), b(n), b_values(n);
    const DeviceArray<unsigned> counts(tiles * kDigits);
    for (unsigned shift = 0; shift < 32; shift += 4) {
      const bool there = shift / 4 % 2 == 0;
      const auto& from = there ? a : b;
      const auto& from_values = there ? a_values : b_values;
      const auto& to = there ? b : a;
      const auto& to_values = there ? b_values : a_values;
      count_digits<<<tiles, kThreads>>>(from.data(), n, shift, counts.data());
      scan_counts<<<1, kThreads>>>(counts.data(), tiles * kDigits);
      scatter<<<tiles, kThreads>>>(from.data(), from_values.data(), n, shift, counts.data(),
                                   to.data(), to_values.data());
    }
    std::stable_sort(values.begin(), values.end(),
                     [&](unsigned x, unsigned y) { return keys[x] < keys[y]; });
    std::sort(keys.begin(), keys.end());
    CHECK(a.read() == keys);
    CHECK(a_values.read() == values);
    digest.add(values);
  }
  digest.print();
  return done();
}

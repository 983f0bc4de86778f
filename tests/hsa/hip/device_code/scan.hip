// Scan in a single pass: a tile adds what the tiles before it publish while it runs ("look-back").
// That ends only if workgroups that wait let the others go on.
#include <numeric>

#include "../array.h"

constexpr unsigned kThreads = 128;
constexpr unsigned kItems = 4;
constexpr unsigned kTile = kThreads * kItems;

// A tile's word: what its value is, in the upper half, and the value.
constexpr unsigned long long kSum = 1ull << 32;     // of the tile alone
constexpr unsigned long long kPrefix = 2ull << 32;  // of all tiles up to this one

__device__ unsigned look_back(unsigned long long* words, unsigned tile, unsigned sum) {
  if (tile == 0) {
    atomicExch(&words[0], kPrefix | sum);
    return 0;
  }
  atomicExch(&words[tile], kSum | sum);
  unsigned before = 0;
  for (unsigned other = tile - 1;; --other) {
    unsigned long long word = 0;
    do word = atomicAdd(&words[other], 0ull);
    while (word >> 32 == 0);
    before += static_cast<unsigned>(word);
    if (word >> 32 == 2) break;
  }
  atomicExch(&words[tile], kPrefix | (before + sum));
  return before;
}

enum Order { kTickets, kForward, kBackward };

// Inclusive scan. Tiles are given out by a counter, by number, or the last one first: then every
// workgroup waits for those that start after it.
__global__ void scan(const unsigned* in, unsigned* out, unsigned count, unsigned long long* words,
                     unsigned* counter, int order) {
  __shared__ unsigned tile;
  __shared__ unsigned totals[kThreads];
  __shared__ unsigned before;
  if (threadIdx.x == 0) {
    if (order == kTickets) tile = atomicAdd(counter, 1u);
    if (order == kForward) tile = blockIdx.x;
    if (order == kBackward) tile = gridDim.x - 1 - blockIdx.x;
  }
  __syncthreads();
  const unsigned first = tile * kTile + threadIdx.x * kItems;
  unsigned items[kItems];
  unsigned sum = 0;
  for (unsigned k = 0; k < kItems; ++k) {
    sum += first + k < count ? in[first + k] : 0;
    items[k] = sum;
  }
  totals[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned step = 1; step < kThreads; step *= 2) {
    const unsigned add = threadIdx.x >= step ? totals[threadIdx.x - step] : 0;
    __syncthreads();
    totals[threadIdx.x] += add;
    __syncthreads();
  }
  if (threadIdx.x == 0) before = look_back(words, tile, totals[kThreads - 1]);
  __syncthreads();
  const unsigned base = before + totals[threadIdx.x] - sum;
  for (unsigned k = 0; k < kItems; ++k)
    if (first + k < count) out[first + k] = base + items[k];
}

int main() {
  Digest digest;
  for (const unsigned count : {1u, 31u, 511u, 512u, 513u, 4095u, 65537u, 100003u}) {
    const std::vector<unsigned> in = random_integers<unsigned>(count, count);
    std::vector<unsigned> expected(count);
    std::partial_sum(in.begin(), in.end(), expected.begin());
    const DeviceArray<unsigned> input(in);
    const unsigned tiles = (count + kTile - 1) / kTile;
    for (const Order order : {kTickets, kForward, kBackward}) {
      const DeviceArray<unsigned> output(count);
      const DeviceArray<unsigned long long> words(tiles);
      const DeviceArray<unsigned> counter(1);
      scan<<<tiles, kThreads>>>(input.data(), output.data(), count, words.data(), counter.data(),
                                order);
      CHECK(output.read() == expected);
      digest.add(expected);
    }
  }
  digest.print();
  return done();
}

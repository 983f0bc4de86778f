// Reductions: in a wave by shuffles, in a workgroup through LDS, over the grid by the workgroup
// that comes last. Sums of doubles are compared bit by bit: the order of additions is the host's.
#include <algorithm>

#include "../array.h"

constexpr unsigned kThreads = 192;  // six waves
constexpr unsigned kWaves = kThreads / 32;
constexpr unsigned kBlocks = 37;

__device__ double wave_sum(double x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_down(x, step, 32);
  return x;
}

__device__ double block_sum(double x, double* waves) {
  x = wave_sum(x);
  if (threadIdx.x % 32 == 0) waves[threadIdx.x / 32] = x;
  __syncthreads();
  double sum = 0;
  for (unsigned w = 0; w < kWaves; ++w) sum += waves[w];
  __syncthreads();
  return sum;
}

__global__ void sum(const double* in, unsigned n, double* parts, unsigned* arrived, double* out) {
  __shared__ double waves[kWaves];
  __shared__ bool last;
  double mine = 0;
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads)
    mine += in[i];
  const double total = block_sum(mine, waves);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = total;
    __threadfence();
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  const double part = threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0;
  const double all = block_sum(part, waves);
  if (threadIdx.x == 0) *out = all;
}

static double host_block(std::vector<double> lanes) {
  double total = 0;
  for (unsigned w = 0; w < kWaves; ++w) {
    // A shuffle past the end of the wave gives the lane's own value; lane 0 never uses one.
    for (unsigned step = 16; step > 0; step /= 2)
      for (unsigned l = 0; l < step; ++l) lanes[w * 32 + l] += lanes[w * 32 + l + step];
    total += lanes[w * 32];
  }
  return total;
}

static double host_sum(const std::vector<double>& in) {
  std::vector<double> parts(kThreads);
  for (unsigned block = 0; block < kBlocks; ++block) {
    std::vector<double> lanes(kThreads);
    for (unsigned t = 0; t < kThreads; ++t)
      for (size_t i = block * kThreads + t; i < in.size(); i += kBlocks * kThreads) lanes[t] += in[i];
    parts[block] = host_block(lanes);
  }
  return host_block(parts);
}

struct Found {
  unsigned long long total;
  int least, most;
  unsigned bits_or, bits_and, bits_xor;
};

// The same with atomics on memory: integers, so that the order does not matter.
__global__ void facts(const int* in, unsigned n, Found* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto bits = static_cast<unsigned>(in[i]);
  atomicAdd(&out->total, static_cast<unsigned long long>(bits));
  atomicMin(&out->least, in[i]);
  atomicMax(&out->most, in[i]);
  atomicOr(&out->bits_or, bits & 0x0ff00ff0);
  atomicAnd(&out->bits_and, bits | 0xf00f0000);
  atomicXor(&out->bits_xor, bits);
}

int main() {
  Digest digest;
  for (const unsigned n : {1u, 31u, 32u, 33u, 191u, 193u, 7103u, 7105u, 99991u}) {
    std::vector<double> in(n);
    const std::vector<int> integers = random_integers<int>(n, n);
    for (unsigned i = 0; i < n; ++i) in[i] = integers[i] * 0x1p-20 * (i % 7 + 0.1);
    const DeviceArray<double> input(in), parts(kBlocks), output(1);
    const DeviceArray<unsigned> arrived(1);
    sum<<<kBlocks, kThreads>>>(input.data(), n, parts.data(), arrived.data(), output.data());
    const std::vector<double> got = output.read();
    CHECK(got[0] == host_sum(in));
    digest.add(got);

    Found want{0, INT32_MAX, INT32_MIN, 0, ~0u, 0};
    const DeviceArray<int> values(integers);
    const DeviceArray<Found> found(std::vector<Found>{want});
    facts<<<(n + 99) / 100, 100>>>(values.data(), n, found.data());
    for (const int x : integers) {
      const auto bits = static_cast<unsigned>(x);
      want.total += bits;
      want.least = std::min(want.least, x);
      want.most = std::max(want.most, x);
      want.bits_or |= bits & 0x0ff00ff0;
      want.bits_and &= bits | 0xf00f0000;
      want.bits_xor ^= bits;
    }
    const Found have = found.read()[0];
    CHECK(have.total == want.total && have.least == want.least && have.most == want.most);
    CHECK(have.bits_or == want.bits_or && have.bits_and == want.bits_and);
    CHECK(have.bits_xor == want.bits_xor);
  }
  digest.print();
  return done();
}

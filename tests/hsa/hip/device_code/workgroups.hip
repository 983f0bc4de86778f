// What a workgroup is given: dynamic LDS up to all there is, 16 KB of scratch for each lane, and
// work items that are not there in the last workgroup of a row. argv[1]: this file as a code object.
#include <hip/hip_ext.h>

#include "../array.h"

// Every work item writes its share of the LDS and reads that of another one.
extern "C" __global__ void rotate_lds(unsigned* out, unsigned words) {
  extern __shared__ unsigned all[];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) all[i] = i * 7 + blockIdx.x;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x)
    out[blockIdx.x * words + i] = all[(i + words / 2 + 1) % words];
}

// Static and dynamic LDS together: one must not lie over the other.
extern "C" __global__ void two_kinds(unsigned* out) {
  __shared__ unsigned fixed[200];
  extern __shared__ unsigned all[];
  fixed[threadIdx.x] = threadIdx.x;
  all[threadIdx.x] = 1000 + threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = fixed[199 - threadIdx.x] * 10000 + all[199 - threadIdx.x];
}

// An insertion sort of 4000 numbers would be slow: a sieve walks over all 16 KB just the same.
extern "C" __global__ void sieve(unsigned* out, unsigned step) {
  unsigned next[4000];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned k = 0; k < 4000; ++k) next[k] = (k * step + i) % 4000;
  unsigned at = i % 4000;
  unsigned sum = 0;
  for (unsigned k = 0; k < 200; ++k) {
    at = next[at];
    next[at] += k;
    sum = sum * 31 + at;
    at %= 4000;
    next[at] %= 4000;
  }
  out[i] = sum;
}

struct Seen {
  unsigned short local[3];
  unsigned short size[3];
  unsigned active;  // lanes of the wave
};

// blockDim is what this workgroup has, so that its place comes from the full size.
extern "C" __global__ void look(Seen* out, unsigned width, unsigned height, dim3 full) {
  const unsigned x = blockIdx.x * full.x + threadIdx.x;
  const unsigned y = blockIdx.y * full.y + threadIdx.y;
  const unsigned z = blockIdx.z * full.z + threadIdx.z;
  Seen& seen = out[(z * height + y) * width + x];
  seen.local[0] = threadIdx.x;
  seen.local[1] = threadIdx.y;
  seen.local[2] = threadIdx.z;
  seen.size[0] = blockDim.x;
  seen.size[1] = blockDim.y;
  seen.size[2] = blockDim.z;
  seen.active += __popcll(__ballot(1));
}

// A barrier in a workgroup that is not full, and a tree over those who are there.
extern "C" __global__ void count_members(unsigned* out) {
  __shared__ unsigned members;
  if (threadIdx.x == 0 && threadIdx.y == 0) members = 0;
  __syncthreads();
  atomicAdd(&members, 1u);
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = members;
}

#if !defined(__HIP_DEVICE_COMPILE__) && !defined(CODE_OBJECT)
static Digest digest;

static void run_lds(unsigned bytes) {
  constexpr unsigned kBlocks = 3;
  const unsigned words = bytes / 4;
  const DeviceArray<unsigned> out(size_t{words} * kBlocks);
  rotate_lds<<<kBlocks, 250, bytes>>>(out.data(), words);
  const std::vector<unsigned> got = out.read();
  for (unsigned i = 0; i < got.size(); ++i)
    CHECK(got[i] == (i % words + words / 2 + 1) % words * 7 + i / words);
  digest.add(got);
}

static void run_sieve() {
  constexpr unsigned kCount = 130;
  const DeviceArray<unsigned> out(kCount);
  sieve<<<2, kCount / 2>>>(out.data(), 37);
  const std::vector<unsigned> got = out.read();
  for (unsigned i = 0; i < kCount; ++i) {
    std::vector<unsigned> next(4000);
    for (unsigned k = 0; k < 4000; ++k) next[k] = (k * 37 + i) % 4000;
    unsigned at = i % 4000;
    unsigned sum = 0;
    for (unsigned k = 0; k < 200; ++k) {
      at = next[at];
      next[at] += k;
      sum = sum * 31 + at;
      at %= 4000;
      next[at] %= 4000;
    }
    CHECK(got[i] == sum);
  }
  digest.add(got);
}

// Launches `items` work items in workgroups of `block`.
static void run_items(hipFunction_t function, dim3 items, dim3 block, void** arguments) {
  HIP_OK(hipExtModuleLaunchKernel(function, items.x, items.y, items.z, block.x, block.y, block.z, 0,
                                  nullptr, arguments, nullptr, nullptr, nullptr, 0));
}

static void run_partial(hipModule_t module, dim3 items, dim3 block) {
  hipFunction_t function = nullptr;
  HIP_OK(hipModuleGetFunction(&function, module, "look"));
  const DeviceArray<Seen> out(size_t{items.x} * items.y * items.z + 64);
  Seen* p = out.data();
  void* arguments[] = {&p, &items.x, &items.y, &block};
  run_items(function, items, block, arguments);
  const std::vector<Seen> got = out.read();
  const auto size = [](unsigned total, unsigned at, unsigned full) {
    const unsigned left = total - at / full * full;
    return left < full ? left : full;
  };
  size_t index = 0;
  for (unsigned z = 0; z < items.z; ++z)
    for (unsigned y = 0; y < items.y; ++y)
      for (unsigned x = 0; x < items.x; ++x, ++index) {
        const Seen& seen = got[index];
        const unsigned w = size(items.x, x, block.x);
        const unsigned h = size(items.y, y, block.y);
        const unsigned d = size(items.z, z, block.z);
        const unsigned linear = ((z % block.z) * h + y % block.y) * w + x % block.x;
        const unsigned left = w * h * d - linear / 32 * 32;
        CHECK(seen.local[0] == x % block.x && seen.local[1] == y % block.y);
        CHECK(seen.local[2] == z % block.z);
        CHECK(seen.size[0] == w && seen.size[1] == h && seen.size[2] == d);
        CHECK(seen.active == (left < 32 ? left : 32));
      }
  for (; index < got.size(); ++index) CHECK(got[index].active == 0);  // nobody past the end
  digest.add(got);
}

static void run_members(hipModule_t module) {
  hipFunction_t function = nullptr;
  HIP_OK(hipModuleGetFunction(&function, module, "count_members"));
  const DeviceArray<unsigned> out(4 * 3);
  unsigned* p = out.data();
  void* arguments[] = {&p};
  run_items(function, dim3(3 * 48 + 5, 2 * 5 + 2), dim3(48, 5), arguments);
  const std::vector<unsigned> got = out.read();
  for (unsigned y = 0; y < 3; ++y)
    for (unsigned x = 0; x < 4; ++x)
      CHECK(got[y * 4 + x] == (x < 3 ? 48u : 5u) * (y < 2 ? 5u : 2u));
}

int main(int, char** argv) {
  for (const unsigned bytes : {4u, 516u, 1000u, 16384u, 65532u, 65536u}) run_lds(bytes);
  // One more than there is: HIP or the agent says so, and nothing runs.
  const DeviceArray<unsigned> untouched(200);
  rotate_lds<<<1, 32, 65540>>>(untouched.data(), 1);
  CHECK(hipGetLastError() != hipSuccess);
  CHECK(untouched.read()[0] == 0);
  two_kinds<<<1, 200, 800>>>(untouched.data());
  const std::vector<unsigned> kinds = untouched.read();
  for (unsigned i = 0; i < 200; ++i) CHECK(kinds[i] == (199 - i) * 10000 + 1199 - i);
  run_sieve();
  hipModule_t module = nullptr;
  HIP_OK(hipModuleLoad(&module, argv[1]));
  run_partial(module, dim3(1000), dim3(256));
  run_partial(module, dim3(5), dim3(64));
  run_partial(module, dim3(37, 11), dim3(16, 4));
  run_partial(module, dim3(9, 10, 7), dim3(4, 3, 5));
  run_partial(module, dim3(33, 1, 3), dim3(32, 2, 2));
  run_members(module);
  digest.print();
  return done();
}
#endif

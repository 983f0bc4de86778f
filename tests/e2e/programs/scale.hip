// Much of one thing: launches, allocations, copies, threads with streams, memory, pools, pinned memory. Each way ends with
// a sum that the host knows, too. scale WAY COUNT [MORE]
#include <hip/hip_runtime.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "../../../include/gfxgraph/record.h"
#include "../../../samples/sample.h"

namespace {

__global__ void add(uint32_t* sum, uint32_t value) {
  if (threadIdx.x == 0) *sum += value;
}

bool same(uint64_t got, uint64_t expected) {
  if (got != expected) {
    std::printf("%llu instead of %llu\n", static_cast<unsigned long long>(got),
                static_cast<unsigned long long>(expected));
    return false;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(got));
  return true;
}

uint32_t* zeroed(size_t words) {
  uint32_t* made = nullptr;
  HIP_CHECK(hipMalloc(&made, words * sizeof(uint32_t)));
  HIP_CHECK(hipMemset(made, 0, words * sizeof(uint32_t)));
  return made;
}

uint64_t sum_of(const uint32_t* device, size_t words) {
  std::vector<uint32_t> host(words);
  HIP_CHECK(hipMemcpy(host.data(), device, words * sizeof(uint32_t), hipMemcpyDeviceToHost));
  uint64_t sum = 0;
  for (const uint32_t word : host) sum += word;
  return sum;
}

bool launches(uint64_t count) {
  constexpr size_t kWords = 64;
  uint32_t* sums = zeroed(kWords);
  for (uint64_t i = 0; i < count; ++i) {
    add<<<1, 32>>>(sums + i % kWords, 1);
    if (i % 10'000 == 0) HIP_CHECK(hipDeviceSynchronize());
  }
  return same(sum_of(sums, kWords), count);
}

bool allocations(uint64_t count) {
  uint32_t* sum = zeroed(1);
  uint64_t expected = 0;
  std::vector<void*> live;
  for (uint64_t i = 0; i < count; ++i) {
    void* made = nullptr;
    HIP_CHECK(hipMalloc(&made, 256 + i * 37 % 65536));
    live.push_back(made);
    if (i % 100 == 0) {
      add<<<1, 32>>>(sum, 3);
      expected += 3;
    }
    if (live.size() == 8) {
      for (void* one : live) HIP_CHECK(hipFree(one));
      live.clear();
    }
  }
  for (void* one : live) HIP_CHECK(hipFree(one));
  return same(sum_of(sum, 1), expected);
}

bool copies(uint64_t count) {
  constexpr size_t kWords = 1024;
  uint32_t* words = zeroed(kWords);
  std::vector<uint32_t> host(kWords);
  for (uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<uint32_t>(i % 7);
    host[i % kWords] = value;
    HIP_CHECK(hipMemcpyAsync(words + i % kWords, &value, sizeof(value), hipMemcpyHostToDevice));
    if (i % 10'000 == 0) add<<<1, 32>>>(words, 0);
  }
  uint64_t expected = 0;
  for (const uint32_t word : host) expected += word;
  return same(sum_of(words, kWords), expected);
}

// The launches of one stream are in order; each has a word of its own.
bool threads(uint64_t threads, uint64_t streams) {
  constexpr uint32_t kEach = 20;
  uint32_t* sums = zeroed(threads * streams);
  std::vector<std::thread> all;
  for (uint64_t t = 0; t < threads; ++t) {
    all.emplace_back([=] {
      for (uint64_t s = 0; s < streams; ++s) {
        hipStream_t stream = nullptr;
        HIP_CHECK(hipStreamCreate(&stream));
        for (uint32_t i = 0; i < kEach; ++i) {
          add<<<1, 32, 0, stream>>>(sums + t * streams + s, 1);
        }
        HIP_CHECK(hipStreamSynchronize(stream));
        HIP_CHECK(hipStreamDestroy(stream));
      }
    });
  }
  for (std::thread& one : all) one.join();
  return same(sum_of(sums, threads * streams), threads * streams * kEach);
}

// Memory that is there, and of which one range uses little.
// Pools of which the program uses little: device, pinned and managed memory.
bool pool(uint64_t megabytes) {
  const size_t bytes = megabytes << 20;
  uint32_t* pools[3] = {};
  HIP_CHECK(hipMalloc(&pools[0], bytes));
  HIP_CHECK(hipHostMalloc(reinterpret_cast<void**>(&pools[1]), bytes / 4, 0));
  HIP_CHECK(hipMallocManaged(reinterpret_cast<void**>(&pools[2]), bytes / 4));
  for (uint32_t* made : pools) {
    HIP_CHECK(hipMemset(made, 0, 4096));
    add<<<1, 32>>>(made, 5);
    HIP_CHECK(hipDeviceSynchronize());
  }
  uint32_t sum = 0;
  HIP_CHECK(hipMemcpy(&sum, pools[0], sizeof(sum), hipMemcpyDeviceToHost));
  std::printf("%u\n", sum);
  return true;
}

bool memory(uint64_t gigabytes) {
  std::vector<uint32_t*> all;
  for (uint64_t i = 0; i < gigabytes; ++i) {
    uint32_t* made = nullptr;
    HIP_CHECK(hipMalloc(&made, size_t{1} << 30));
    HIP_CHECK(hipMemset(made, 0, 4096));
    all.push_back(made);
  }
  uint32_t* sum = zeroed(1024);
  for (int step = 0; step < 4; ++step) {
    gfxgraph_range_begin("step");
    add<<<1, 32>>>(sum + step, 5);
    HIP_CHECK(hipDeviceSynchronize());
    gfxgraph_range_end("step");
  }
  return same(sum_of(sum, 1024), 20);
}

struct Pinned {
  uint32_t* words;
  size_t count;
  uint32_t factor;
};

void fill(const Pinned& pinned) {
  for (size_t i = 0; i < pinned.count; ++i) {
    pinned.words[i] = static_cast<uint32_t>(i) * pinned.factor | 1;
  }
}

void fill_later(hipStream_t, hipError_t, void* data) { fill(*static_cast<const Pinned*>(data)); }

// Pinned memory that kernels reach, that the program writes beside them, that a host function
// writes as a whole, and that copies read behind one.
bool pinned(uint64_t megabytes) {
  constexpr size_t kParts = 8;
  Pinned all{nullptr, (megabytes << 20) / sizeof(uint32_t), 3};
  HIP_CHECK(hipHostMalloc(reinterpret_cast<void**>(&all.words), all.count * sizeof(uint32_t), 0));
  fill(all);
  hipStream_t stream = nullptr;
  HIP_CHECK(hipStreamCreate(&stream));
  for (uint32_t i = 0; i < 3; ++i) {
    add<<<1, 32, 0, stream>>>(all.words + i, 1);
    all.words[all.count - 1 - i] = 7;
  }
  HIP_CHECK(hipStreamSynchronize(stream));
  Pinned later = all;
  later.factor = 5;
  HIP_CHECK(hipStreamAddCallback(stream, fill_later, &later, 0));
  add<<<1, 32, 0, stream>>>(all.words, 1);
  HIP_CHECK(hipStreamSynchronize(stream));

  const size_t part = all.count / kParts;
  Pinned source{nullptr, part * kParts, 9};
  HIP_CHECK(hipHostMalloc(reinterpret_cast<void**>(&source.words), source.count * sizeof(uint32_t), 0));
  fill(source);
  uint32_t* device = zeroed(part);
  source.factor = 11;
  HIP_CHECK(hipStreamAddCallback(stream, fill_later, &source, 0));
  for (size_t i = 0; i < kParts; ++i) {
    HIP_CHECK(hipMemcpyAsync(device, source.words + i * part, part * sizeof(uint32_t), hipMemcpyHostToDevice, stream));
  }
  HIP_CHECK(hipStreamSynchronize(stream));
  uint64_t expected = 0;
  uint64_t sum = all.words[0] + uint64_t{all.words[all.count - 1]};
  for (size_t i = 0; i < part; ++i) expected += source.words[(kParts - 1) * part + i];
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
  return same(sum_of(device, part), expected);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const uint64_t more = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  bool right = false;
  if (std::strcmp(argv[1], "launches") == 0) right = launches(count);
  if (std::strcmp(argv[1], "allocations") == 0) right = allocations(count);
  if (std::strcmp(argv[1], "copies") == 0) right = copies(count);
  if (std::strcmp(argv[1], "threads") == 0) right = threads(count, more);
  if (std::strcmp(argv[1], "memory") == 0) right = memory(count);
  if (std::strcmp(argv[1], "pool") == 0) right = pool(count);
  if (std::strcmp(argv[1], "pinned") == 0) right = pinned(count);
  return right ? 0 : 1;
}

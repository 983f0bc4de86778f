// For generated programs (generate.py): ways in which kernels hand on pointers and data, and memory
// whose content the program knows word by word.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <set>
#include <utility>
#include <vector>

#define CHECK(call)                                                      \
  do {                                                                   \
    const hipError_t error = (call);                                     \
    if (error != hipSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                                      \
    }                                                                    \
  } while (false)

// What kernels get besides their structures.
struct Context {
  uint64_t* cells;  // one of 8 bytes for each work item
  uint32_t one;     // 1, which the compiler does not know
};

// ---- device -------------------------------------------------------------------------------------

// The 64 bits of a pointer or number, on its way through ...
template <int kWay>
__device__ uint64_t hand_on(uint64_t bits, const Context& context) {
  const uint32_t thread = threadIdx.x;
  if constexpr (kWay == 1) {  // LDS
    __shared__ uint64_t shared[64];
    __syncthreads();
    shared[thread] = bits;
    __syncthreads();
    return shared[thread ^ context.one];
  } else if constexpr (kWay == 2) {  // scratch
    volatile uint64_t kept[8];
    kept[(thread * 3 + context.one) & 7] = bits;
    return kept[(thread * 3 + 1) & 7];
  } else if constexpr (kWay == 3) {  // other lanes
    return __shfl_xor(static_cast<unsigned long long>(bits), static_cast<int>(context.one));
  } else if constexpr (kWay == 4) {  // memory
    volatile uint64_t* const cell = context.cells + thread;
    *cell = bits;
    return *cell;
  } else if constexpr (kWay == 5) {  // a choice
    return context.one == 1 ? bits : context.cells[0];
  } else if constexpr (kWay == 6) {  // arithmetic
    return bits + 24 * context.one - 24;
  } else if constexpr (kWay == 7) {  // an atomic
    auto* const cell = reinterpret_cast<unsigned long long*>(context.cells + thread);
    atomicExch(cell, bits);
    return atomicExch(cell, 0);
  } else if constexpr (kWay == 8) {  // the first lane
    const uint32_t low = __builtin_amdgcn_readfirstlane(static_cast<int>(bits));
    const uint32_t high = __builtin_amdgcn_readfirstlane(static_cast<int>(bits >> 32));
    return uint64_t{high} << 32 | low;
  } else if constexpr (kWay == 9) {  // byte by byte
    volatile uint8_t* const cell = reinterpret_cast<uint8_t*>(context.cells + thread);
    for (int n = 0; n < 8; ++n) cell[n] = static_cast<uint8_t>(bits >> 8 * n);
    return context.cells[thread];
  } else if constexpr (kWay == 10) {  // a compare-and-swap
    auto* const cell = reinterpret_cast<unsigned long long*>(context.cells + thread);
    atomicExch(cell, 0);
    atomicCAS(cell, 0, bits);
    return atomicAdd(cell, 0);
  } else {
    return bits;
  }
}
template <int kWay, typename T>
__device__ T* hand_on(T* pointer, const Context& context) {
  return reinterpret_cast<T*>(hand_on<kWay>(reinterpret_cast<uint64_t>(pointer), context));
}

// Data that looks like an address, used as ...
template <int kUse>
__device__ uint64_t use(uint64_t number, const Context& context) {
  if constexpr (kUse == 0) return number;
  if constexpr (kUse == 1) return number * 0x9e3779b97f4a7c15ull >> 7;
  if constexpr (kUse == 2) return number > 5 ? 1 : 2;
  if constexpr (kUse == 3) return context.cells[64 + (number & 7)];  // a part of it is an index
  if constexpr (kUse == 4) return (number >> 32) ^ (number & 0xffff);
  if constexpr (kUse == 5) return static_cast<uint64_t>(static_cast<double>(number));
  return number + 3;
}

// ---- host ---------------------------------------------------------------------------------------

// Buffers of which the program knows each word. Places that only numbers name stand at their ends.
class Memory {
 public:
  explicit Memory(uint32_t seed) : random_(seed) {
    buffers_.resize(1 + random_() % 5);
    for (Buffer& buffer : buffers_) {
      buffer.bytes.resize(kBytes);
      CHECK(hipMalloc(&buffer.device, kBytes));
    }
  }
  uint32_t below(uint32_t limit) { return random_() % limit; }

  // A place on the device, and the bytes that will stand there.
  struct Place {
    uint64_t address;
    uint8_t* bytes;
  };
  Place take(size_t size) {
    for (;;) {
      Buffer& buffer = buffers_[random_() % buffers_.size()];
      const size_t at = buffer.used + 8 * (1 + random_() % 4);
      if (at + size > kBytes / 2) {
        if (++full_ > 1000) {
          std::fprintf(stderr, "too little memory\n");
          std::exit(1);
        }
        continue;
      }
      buffer.used = (at + size + 15) / 8 * 8;
      return {reinterpret_cast<uint64_t>(buffer.device) + at, buffer.bytes.data() + at};
    }
  }
  // A buffer of its own. Its end points behind it; where it is a multiple of a page, perhaps to the
  // next one.
  struct Range {
    uint64_t begin, end;
  };
  Range take_whole() {
    const size_t bytes = random_() % 2 == 0 ? 40 : 4096;
    void* buffer = nullptr;
    CHECK(hipMalloc(&buffer, bytes));
    CHECK(hipMemset(buffer, 0, bytes));
    const auto begin = reinterpret_cast<uint64_t>(buffer);
    starts_.insert(begin);
    return {begin, begin + bytes};
  }
  // At the end of the program it is known whether another buffer starts there.
  void note_end(char what, uint64_t value) { ends_.push_back({what, value}); }
  static void note_start(const void* buffer) { starts_.insert(reinterpret_cast<uint64_t>(buffer)); }
  static void note_ends() {
    for (const auto& [what, value] : ends_) note(starts_.count(value) != 0 ? 'E' : what, value);
  }
  // Never the address of anything.
  uint64_t decoy() {
    const Buffer& buffer = buffers_[random_() % buffers_.size()];
    const uint64_t value = reinterpret_cast<uint64_t>(buffer.device) + kBytes / 2 + 8 * decoys_++;
    note('D', value);
    return value;
  }
  static void note(char what, uint64_t value) {
    std::printf("%c %#llx\n", what, static_cast<unsigned long long>(value));
  }
  void upload() {
    for (const Buffer& buffer : buffers_) note_start(buffer.device);
    for (Buffer& buffer : buffers_)
      CHECK(hipMemcpy(buffer.device, buffer.bytes.data(), kBytes, hipMemcpyHostToDevice));
  }

 private:
  static constexpr size_t kBytes = 1 << 16;
  struct Buffer {
    void* device = nullptr;
    std::vector<uint8_t> bytes;
    size_t used = 0;
  };
  std::mt19937 random_;
  std::vector<Buffer> buffers_;
  // Of all cases of the process: no memory is freed.
  static inline std::set<uint64_t> starts_;
  static inline std::vector<std::pair<char, uint64_t>> ends_;
  uint32_t decoys_ = 0;
  int full_ = 0;
};

struct Node {
  Node* next;
  uint64_t id;  // a decoy
  int value;
};

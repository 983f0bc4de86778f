// Kernels that call the host, with and without $GFXGRAPH_HOST_CALLS=deny.
//   host_calls good      printf, assert, malloc and free go on in any case
//   host_calls function  a kernel makes HIP's listener call a function of the program, by its address
//   host_calls race      a kernel waits for the buffer of the next one, which HIP makes meanwhile
//   host_calls message N a kernel sends a message of printf that is not right: messages[N]
//   host_calls free      a kernel has the host free a buffer of the program
//   host_calls fill      HIP 5.2.3 takes a hipMemset of 1 byte at an odd address for one of nearly 2^64
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "check.h"

using TwoWords = long __attribute__((ext_vector_type(2)));
extern "C" __device__ TwoWords __ockl_call_host_function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                         uint64_t, uint64_t);

__global__ void call(uint64_t function, long* out) {
  out[threadIdx.x] = __ockl_call_host_function(function, threadIdx.x, 0, 0, 0, 0, 0, 0).x;
}
__global__ void talk(int** list, int n) {
  if (threadIdx.x == 0) printf("block %d of %s talks\n", static_cast<int>(blockIdx.x), "talk");
  assert(n == 64);
  int* const mine = static_cast<int*>(malloc(256));
  for (int i = 0; i < 64; ++i) mine[i] = static_cast<int>(threadIdx.x) + i;
  list[blockIdx.x * blockDim.x + threadIdx.x] = mine;
}
__global__ void sum(int** list, int* out) {
  int* const mine = list[blockIdx.x * blockDim.x + threadIdx.x];
  int total = 0;
  for (int i = 0; i < 64; ++i) total += mine[i];
  free(mine);
  atomicAdd(out, total);
}

// Where HIP puts the address of the buffer, in words from the first of two arguments.
constexpr int kHostCallWord = 5;
constexpr uint64_t kMark = 0x6d61726b6d61726b;
// Looks for the arguments of a kernel that is submitted behind this one.
__global__ void race(uint64_t function, uint64_t* out) {
  if (threadIdx.x != 0) return;
  const auto* const words = (const volatile uint64_t*)(uint64_t)__builtin_amdgcn_kernarg_segment_ptr();
  for (int turn = 0; turn < 200000; ++turn) {
    for (int i = 2; i < 256; ++i) {
      if (words[i] != kMark || words[i + kHostCallWord] == 0) continue;
      auto* const buffer = (volatile uint64_t*)words[i + kHostCallWord];
      out[0] = 1;
      auto* const headers = (volatile uint64_t*)buffer[0];
      auto* const payloads = (volatile uint64_t*)buffer[1];
      const uint64_t top = buffer[3];
      const uint64_t number = top & buffer[5];
      buffer[3] = headers[3 * number];
      payloads[512 * number] = function;
      headers[3 * number] = 0;
      headers[3 * number + 1] = 1;
      headers[3 * number + 2] = uint64_t{1} << 32 | 1;
      __threadfence_system();
      buffer[4] = top;
      __threadfence_system();
      atomicAdd((unsigned long long*)(buffer[2] + 8), 1ull);
      for (int rest = 0; rest < 2000 && (headers[3 * number + 2] >> 32 & 1) != 0; ++rest) __builtin_amdgcn_s_sleep(100);
      return;
    }
    __builtin_amdgcn_s_sleep(100);
  }
}
__global__ void behind(uint64_t mark, uint64_t* out) {
  if (mark != kMark) out[1] = static_cast<uint64_t>(printf("%d", 1));
  out[2] = mark;
}

extern "C" __device__ TwoWords __ockl_hostcall_preview(uint32_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                       uint64_t, uint64_t, uint64_t);
constexpr uint64_t kWhole = 1 | 2;  // begins and ends
constexpr uint64_t kAllWords = 7 << 5;
constexpr uint64_t word_of(const char* text) {
  uint64_t word = 0;
  for (int i = 0; i < 8 && text[i] != 0; ++i) word |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << 8 * i;
  return word;
}
struct Message {
  uint64_t words[8];
};
constexpr Message messages[] = {
    // No end of the format, and none of an argument.
    {{kWhole | kAllWords, 0, word_of("%x%x%x%x"), word_of("%x%x%x%x"), word_of("%x%x%x%x"), word_of("%x%x%x%x"),
      word_of("%x%x%x%x"), word_of("%x%x%x%x")}},
    {{kWhole | kAllWords, 0, word_of("%s\n"), word_of("abcdefgh"), word_of("abcdefgh"), word_of("abcdefgh"),
      word_of("abcdefgh"), word_of("abcdefgh")}},
    // A text of 400 MB, by the format and by an argument.
    {{kWhole | kAllWords, 0, word_of("%4000000"), word_of("00d\n"), 1, 2, 3, 4}},
    {{kWhole | kAllWords, 0, word_of("%*d\n"), 400000000, 1, 2, 3, 4}},
    // A number that no message has, and no words at all.
    {{2 | kAllWords | 77 << 8, 0, word_of("x\n"), 1, 2, 3, 4}},
    {{kWhole}},
};
__global__ void send(Message m, uint64_t* out) {
  const uint64_t* const w = m.words;
  out[0] = static_cast<uint64_t>(__ockl_hostcall_preview(2, w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]).x);
}
__global__ void free_of_host(uint64_t address) { __ockl_hostcall_preview(3, address, 0, 0, 0, 0, 0, 0, 0); }
__device__ char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static std::atomic<int> calls{0};
static void host_function(uint64_t* output, const uint64_t* input) {
  ++calls;
  output[0] = 1000 + input[0];
  output[1] = 0;
}

static int good() {
  constexpr int kBlocks = 6;
  int** list = nullptr;
  int* out = nullptr;
  HIP_OK(hipMalloc(&list, kBlocks * 64 * sizeof(int*)));
  HIP_OK(hipMalloc(&out, sizeof(int)));
  HIP_OK(hipMemset(out, 0, sizeof(int)));
  talk<<<kBlocks, 64>>>(list, 64);
  HIP_OK(hipDeviceSynchronize());
  sum<<<kBlocks, 64>>>(list, out);
  int total = 0;
  HIP_OK(hipMemcpy(&total, out, sizeof(total), hipMemcpyDeviceToHost));
  CHECK(total == kBlocks * (64 * 64 * 63 / 2) * 2);
  return done();
}

static int function() {
  long* out = nullptr;
  HIP_OK(hipMalloc(&out, 40 * sizeof(long)));
  call<<<1, 40>>>(reinterpret_cast<uint64_t>(host_function), out);
  long results[40] = {};
  const hipError_t error = hipMemcpy(results, out, sizeof(results), hipMemcpyDeviceToHost);
  std::printf("%s, %d calls, %ld\n", hipGetErrorName(error), calls.load(), results[39]);
  return 0;
}

static int own_packet(const char* mode, int number) {
  uint64_t* out = nullptr;
  uint64_t host[8] = {};
  HIP_OK(hipMalloc(&out, sizeof(host)));
  HIP_OK(hipMemset(out, 0, sizeof(host)));
  if (std::strcmp(mode, "race") == 0) {
    race<<<1, 32>>>(reinterpret_cast<uint64_t>(host_function), out);
    behind<<<1, 1>>>(kMark, out);
  } else if (std::strcmp(mode, "free") == 0) {
    free_of_host<<<1, 1>>>(reinterpret_cast<uint64_t>(out));
  } else {
    send<<<1, 1>>>(messages[number], out);
  }
  const hipError_t error = hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost);
  // The race was won: HIP's listener may still have to get its processor.
  for (int turn = 0; turn < 2000 && error == hipSuccess && host[0] == 1 && calls == 0; ++turn) usleep(10'000);
  std::printf("%s, %d calls\n", hipGetErrorName(error), calls.load());
  return 0;
}

static int fill() {
  char* first = nullptr;
  HIP_OK(hipGetSymbolAddress(reinterpret_cast<void**>(&first), HIP_SYMBOL(bytes)));
  std::printf("%s\n", hipGetErrorName(hipMemset(first + 1, 0, 1)));
  return done();
}

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (std::strcmp(argv[1], "good") == 0) return good();
  if (std::strcmp(argv[1], "fill") == 0) return fill();
  if (std::strcmp(argv[1], "function") == 0) return function();
  return own_packet(argv[1], argc > 2 ? std::atoi(argv[2]) : 0);
}

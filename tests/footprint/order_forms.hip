// Launches whose needed order the test knows (needed_order.py): one case for each marked range.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                             \
  do {                                                          \
    if (const hipError_t error = (call); error != hipSuccess) { \
      std::printf("%s: %s\n", #call, hipGetErrorString(error)); \
      std::exit(1);                                             \
    }                                                           \
  } while (0)

namespace {

constexpr int kItems = 64;

__global__ void fill(int* to, int value) { to[threadIdx.x] = value; }
__global__ void add(int* to, const int* from) { to[threadIdx.x] += from[threadIdx.x]; }
__global__ void odd(int* to) { to[2 * threadIdx.x + 1] = 1; }
__global__ void even(int* to) { to[2 * threadIdx.x] = 2; }
__global__ void follow(int** lists) { lists[0][threadIdx.x] = 3; }
__global__ void count(int* counter) { atomicAdd(counter, 1); }

int* memory(int items) {
  int* buffer = nullptr;
  CHECK(hipMalloc(&buffer, items * sizeof(int)));
  return buffer;
}

}  // namespace

int main() {
  hipStream_t stream, other;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  int* const a = memory(4 * kItems);
  int* const b = memory(4 * kItems);
  int* const c = memory(4 * kItems);
  int** const lists = reinterpret_cast<int**>(memory(4));
  CHECK(hipMemcpy(lists, &c, sizeof c, hipMemcpyHostToDevice));
  CHECK(hipDeviceSynchronize());
  // 0 and 1 do not touch each other; 2 needs both.
  fill<<<1, kItems, 0, stream>>>(a, 1);
  fill<<<1, kItems, 0, stream>>>(b, 2);
  add<<<1, kItems, 0, stream>>>(a, b);
  // 3 writes what 2 reads; 4 writes behind it; 5 begins one element before the end of 4.
  fill<<<1, kItems, 0, stream>>>(b, 3);
  fill<<<1, kItems, 0, stream>>>(b + kItems, 4);
  fill<<<1, kItems, 0, stream>>>(b + 2 * kItems - 1, 5);
  // 6 and 7 share a range and no element.
  odd<<<1, kItems, 0, stream>>>(c);
  even<<<1, kItems, 0, stream>>>(c);
  // 8 may write anything: after all, and before 9.
  follow<<<1, kItems, 0, stream>>>(lists);
  fill<<<1, kItems, 0, stream>>>(a, 9);
  // 10 and 11 add to the same number.
  count<<<1, kItems, 0, stream>>>(a + 2 * kItems);
  count<<<1, kItems, 0, stream>>>(a + 2 * kItems);
  CHECK(hipStreamSynchronize(stream));
  // 12 shares nothing with 11, but the program had waited for it. 13 is in no order with 12, and
  // writes the same.
  fill<<<1, kItems, 0, stream>>>(b, 12);
  fill<<<1, kItems, 0, other>>>(b, 12);
  CHECK(hipDeviceSynchronize());
  return 0;
}

// Addresses in memory that lead into no allocation: program_addresses heap|functions|neither. With
// KNOWN the code object has a variable, which tells where its functions are.
#include <cstring>
#include <new>

#include "program.h"

#ifdef KNOWN
__device__ int known = 7;
#else
__device__ constexpr int known = 7;
#endif

struct Shape {
  __device__ virtual int area() const = 0;
};
struct Square final : Shape {
  __device__ int area() const override { return known * 6; }
};
struct Line final : Shape {
  __device__ int area() const override { return 0; }
};
union Room {
  char square[sizeof(Square)];
  char line[sizeof(Line)];
  void* aligned;
};

__global__ void construct(Room* rooms) {
  const unsigned i = threadIdx.x;
  if (i % 2 == 0) {
    new (&rooms[i]) Square;
  } else {
    new (&rooms[i]) Line;
  }
}
__global__ void measure(const Room* rooms, int* areas) {
  areas[threadIdx.x] = reinterpret_cast<const Shape*>(&rooms[threadIdx.x])->area();
}

#ifndef KNOWN
__global__ void take(int** blocks) {
  blocks[threadIdx.x] = static_cast<int*>(malloc(sizeof(int)));
  *blocks[threadIdx.x] = 5;
}
#endif
__global__ void set(int* numbers) { numbers[threadIdx.x] = 42; }

constexpr unsigned kCount = 4;

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  int* numbers = nullptr;
  int** blocks = nullptr;
  Room* rooms = nullptr;
  int got[kCount] = {42};
  CHECK(hipMalloc(reinterpret_cast<void**>(&numbers), sizeof(got)));
  CHECK(hipMalloc(reinterpret_cast<void**>(&blocks), kCount * sizeof(int*)));
  CHECK(hipMalloc(reinterpret_cast<void**>(&rooms), kCount * sizeof(Room)));
  if (std::strcmp(mode, "neither") == 0) set<<<1, kCount>>>(numbers);
#ifndef KNOWN
  if (std::strcmp(mode, "heap") == 0) take<<<1, kCount>>>(blocks);
#endif
  if (std::strcmp(mode, "functions") == 0) {
    construct<<<1, kCount>>>(rooms);
    CHECK(hipDeviceSynchronize());
    // Back and forth: the host's copy holds the addresses of the vtables.
    Room copy[kCount];
    CHECK(hipMemcpy(copy, rooms, sizeof(copy), hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(rooms, copy, sizeof(copy), hipMemcpyHostToDevice));
    measure<<<1, kCount>>>(rooms, numbers);
  }
  CHECK(hipDeviceSynchronize());
  if (std::strcmp(mode, "heap") != 0)
    CHECK(hipMemcpy(got, numbers, sizeof(got), hipMemcpyDeviceToHost));
  std::puts(got[0] == 42 ? "ok" : "wrong");
  return got[0] == 42 ? 0 : 1;
}

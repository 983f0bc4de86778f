// Kernels that call the host or the heap of device code, and grid barriers, each with a right twin.
#include <hip/hip_runtime.h>

#include <hip/hip_cooperative_groups.h>

#include <cassert>
#include <cstdio>

#define LANE static_cast<int>(threadIdx.x)
#define KEEP(value) asm volatile("" ::"v"(value) : "memory")

extern "C" __global__ void prints(int* to, int number) {
  printf("lane %d of %s\n", LANE, number == 0 ? "none" : "some");
  to[LANE] = LANE + number;
}
extern "C" __global__ void prints_safe(int* to, int number) {
  if (number >= 0) to[LANE] = LANE + number;
}
// Line 22 has the assertion that fails.
extern "C" __global__ void asserts_text(int* to, int bad) {
  to[LANE] = bad;
  assert(LANE != bad && "not this lane");
}
extern "C" __global__ void asserts_text_safe(int* to, int bad) {
  assert(LANE >= 0 && "never");
  to[LANE] = bad;
}

// ---- one launch ----

extern "C" __global__ void past_block(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  for (int i = 0; i <= count; ++i) block[i] = i;
  KEEP(block);
  to[LANE] = block[count - 1];
  free(block);
}
extern "C" __global__ void past_block_safe(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  for (int i = 0; i < count; ++i) block[i] = i;
  KEEP(block);
  to[LANE] = block[count - 1];
  free(block);
}
extern "C" __global__ void before_block(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  KEEP(block);
  block[LANE % count - 1] = LANE;
  to[LANE] = count;
  free(block);
}
extern "C" __global__ void before_block_safe(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  KEEP(block);
  block[LANE % count] = LANE;
  to[LANE] = count;
  free(block);
}
extern "C" __global__ void after_free(int* to, int count) {
  volatile int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  block[0] = LANE;
  free(const_cast<int*>(block));
  to[LANE] = block[0];
}
extern "C" __global__ void after_free_safe(int* to, int count) {
  volatile int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  block[0] = LANE;
  to[LANE] = block[0];
  free(const_cast<int*>(block));
}
extern "C" __global__ void add_past(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  to[LANE] = atomicAdd(block + count, 1);
  free(block);
}
extern "C" __global__ void add_past_safe(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  to[LANE] = atomicAdd(block + count - 1, 1);
  free(block);
}
extern "C" __global__ void frees_twice(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  to[LANE] = count;
  free(block);
  KEEP(block);
  free(block);
}
extern "C" __global__ void frees_twice_safe(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  int* const other = static_cast<int*>(malloc(count * sizeof(int)));
  to[LANE] = count;
  free(block);
  KEEP(block);
  free(other);
  free(nullptr);
}
extern "C" __global__ void frees_middle(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  to[LANE] = count;
  free(block + 1);
}
extern "C" __global__ void frees_middle_safe(int* to, int count) {
  int* const block = static_cast<int*>(malloc(count * sizeof(int)));
  to[LANE] = count;
  free(block);
}
// malloc may fail.
extern "C" __global__ void unchecked_malloc(int* to, int) {
  auto* const block = static_cast<volatile int*>(malloc(size_t{1} << 48));
  block[LANE] = 1;
  to[LANE] = 1;
}
extern "C" __global__ void unchecked_malloc_safe(int* to, int) {
  auto* const block = static_cast<volatile int*>(malloc(size_t{1} << 48));
  if (block != nullptr) block[LANE] = 1;
  to[LANE] = 1;
}

// ---- blocks that outlive launches ----

extern "C" __global__ void makes(int** blocks, int count) {
  blocks[LANE] = static_cast<int*>(malloc(count * sizeof(int)));
  for (int i = 0; i < count; ++i) blocks[LANE][i] = LANE + i;
}
extern "C" __global__ void uses(int** blocks, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += blocks[63 - LANE][i];
  blocks[LANE][0] = sum;
}
extern "C" __global__ void releases(int** blocks, int) { free(blocks[LANE]); }

// ---- grid barriers ----

extern "C" __global__ void grid_meets(int* to, int number) {
  to[blockIdx.x * 64 + LANE] = number;
  cooperative_groups::this_grid().sync();
  to[blockIdx.x * 64 + LANE] += to[(blockIdx.x ^ 1) * 64 + LANE];
}
extern "C" __global__ void group_ends(int* to, int number) {
  if (blockIdx.x == 1 && number != 0) return;
  cooperative_groups::this_grid().sync();
  to[blockIdx.x * 64 + LANE] = number;
}
extern "C" __global__ void group_ends_safe(int* to, int number) {
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == 1 && number != 0) return;
  to[blockIdx.x * 64 + LANE] = number;
}
extern "C" __global__ void wave_ends(int* to, int number) {
  if (LANE >= 32 && number != 0) return;
  cooperative_groups::this_grid().sync();
  to[blockIdx.x * 64 + LANE] = number;
}
extern "C" __global__ void wave_ends_safe(int* to, int number) {
  cooperative_groups::this_grid().sync();
  if (LANE >= 32 && number != 0) return;
  to[blockIdx.x * 64 + LANE] = number;
}

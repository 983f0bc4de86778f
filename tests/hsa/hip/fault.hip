// Kernels that fault, one kind per run. HIP has no way to say so; the diagnosis and the process's exit
// status must.
#include "check.h"

#include <cstring>

__global__ void write_outside(int* x, long where) { x[where + threadIdx.x] = 1; }
__global__ void read_null(const int* x, int* out) { out[threadIdx.x] = x[threadIdx.x]; }
__global__ void trap() { __builtin_trap(); }
__global__ void illegal() { asm volatile(".long 0xd7fff000"); }
__global__ void misaligned(int* x) {
  asm volatile("global_atomic_add %0, %1, off" : : "v"(reinterpret_cast<char*>(x) + 2), "v"(1) : "memory");
}
__global__ void far_scratch(int* out, int where) {
  volatile int own[16];
  own[where] = 1;
  out[threadIdx.x] = own[where & 15];
}
__global__ void off_the_end() { asm volatile("s_code_end"); }
__global__ void jump_away() { asm volatile("s_mov_b64 s[0:1], 0x1000\n s_setpc_b64 s[0:1]" : : : "s0", "s1"); }

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const char* const kind = argv[1];
  const auto is = [&](const char* name) { return std::strcmp(kind, name) == 0; };
  int* x = nullptr;
  HIP_OK(hipMalloc(&x, 64));
  if (is("write")) write_outside<<<1, 32>>>(x, 1L << 28);
  if (is("read")) read_null<<<1, 32>>>(nullptr, x);
  if (is("trap")) trap<<<1, 32>>>();
  if (is("illegal")) illegal<<<1, 32>>>();
  if (is("misaligned")) misaligned<<<1, 32>>>(x);
  if (is("scratch")) far_scratch<<<1, 32>>>(x, 1 << 20);
  if (is("end")) off_the_end<<<1, 32>>>();
  if (is("jump")) jump_away<<<1, 32>>>();
  (void)hipDeviceSynchronize();
  int host[16];
  (void)hipMemcpy(host, x, 64, hipMemcpyDeviceToHost);
  void* more = nullptr;
  CHECK(hipMalloc(&more, 64) != hipSuccess);
  return done();
}

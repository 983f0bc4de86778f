// A program that is compiled for several GPUs: fat BUNDLE, where BUNDLE is this file as an offload bundle of code objects
// (-DMODULE; with -DDIFFERENT its kernel takes more on some of them). Kernels with variables, structs by value, LDS, hidden arguments and a graph, in the program's own code and in a module's.
// Recorded on a device that executes nothing, so it checks no result.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

struct Step {
  int by;
  double scale;
  int* to;
};

__device__ int fat_count[256];

#if defined(DIFFERENT) && !defined(__gfx1030__)
#define MORE , int
#else
#define MORE
#endif

extern "C" __global__ void fat_step(const int* from, Step step MORE) {
  __shared__ int tile[256];
  tile[threadIdx.x] = from[blockIdx.x * blockDim.x + threadIdx.x] + step.by;
  __syncthreads();
  const int other = tile[blockDim.x - 1 - threadIdx.x];
  fat_count[threadIdx.x] += other;
  step.to[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(other * step.scale) + static_cast<int>(gridDim.x);
}

#ifndef MODULE
#define CHECK(call)                                                    \
  do {                                                                 \
    const hipError_t check_result = (call);                            \
    if (check_result != hipSuccess) {                                  \
      std::printf("%s: %s\n", #call, hipGetErrorString(check_result)); \
      std::exit(1);                                                    \
    }                                                                  \
  } while (false)

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  constexpr int kCount = 1024;
  int *from = nullptr, *to = nullptr;
  CHECK(hipMalloc(&from, kCount * sizeof(int)));
  CHECK(hipMalloc(&to, kCount * sizeof(int)));
  CHECK(hipMemset(from, 3, kCount * sizeof(int)));
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  const Step step{2, 1.5, to};
  fat_step<<<4, 256, 0, stream>>>(from, step);
  CHECK(hipGetLastError());
  // Out of a module.
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  CHECK(hipModuleLoad(&module, argv[1]));
  CHECK(hipModuleGetFunction(&function, module, "fat_step"));
  Step back{1, 0.5, from};
  void* arguments[] = {&to, &back};
  CHECK(hipModuleLaunchKernel(function, 8, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr));
  // In a graph.
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  hipGraphNode_t node = nullptr;
  const int* source = from;
  Step last{7, 2.0, to};
  void* given[] = {&source, &last};
  hipKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(fat_step);
  params.gridDim = dim3(4);
  params.blockDim = dim3(256);
  params.kernelParams = given;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  std::puts("ok");
  return 0;
}
#endif

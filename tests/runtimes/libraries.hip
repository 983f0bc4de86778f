// Code loading of HIP 7: libraries MODE FILE, where FILE is this file as a code object; prints "ok".
//   kernels  libraries from memory and from a file; kernels by name and in a list, launched in every way
//   late     the runtime reads the code at the first call for a kernel, not when the library is loaded
//   module   hipModuleLoadFatBinary
#include "../recorder/programs/program.h"

extern "C" __global__ void library_add(int* data, int by) { data[threadIdx.x] += by; }
__global__ void library_multiply(int* data, int by) { data[threadIdx.x] *= by; }

#ifndef CODE_OBJECT
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

static std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static int* device_buffer(int value) {
  int* data = nullptr;
  CHECK(hipMalloc(&data, kBytes));
  CHECK(hipMemsetD32(reinterpret_cast<hipDeviceptr_t>(data), value, kCount));
  CHECK(hipDeviceSynchronize());
  return data;
}

static void expect_all(const int* device, int value, const char* what) {
  std::vector<int> values(kCount);
  CHECK(hipMemcpy(values.data(), device, kBytes, hipMemcpyDeviceToHost));
  if (values[0] != value) std::printf("%d, not %d: ", values[0], value);
  expect(values == std::vector<int>(kCount, value), what);
}

static hipLibrary_t from_memory(const void* image) {
  hipJitOption* const no_jit_options = nullptr;
  hipLibraryOption* const no_options = nullptr;
  hipLibrary_t library = nullptr;
  CHECK(hipLibraryLoadData(&library, image, no_jit_options, nullptr, 0, no_options, nullptr, 0));
  return library;
}

static hipLibrary_t from_file(const std::string& path) {
  hipJitOption* const no_jit_options = nullptr;
  hipLibraryOption* const no_options = nullptr;
  hipLibrary_t library = nullptr;
  CHECK(hipLibraryLoadFromFile(&library, path.c_str(), no_jit_options, nullptr, 0, no_options, nullptr, 0));
  return library;
}

static hipKernel_t kernel_of(hipLibrary_t library, const char* name) {
  hipKernel_t kernel = nullptr;
  CHECK(hipLibraryGetKernel(&kernel, library, name));
  return kernel;
}

static void launch(hipKernel_t kernel, int* data, int by, hipStream_t stream) {
  void* arguments[] = {&data, &by};
  CHECK(hipLaunchKernel(reinterpret_cast<void*>(kernel), dim3(1), dim3(kCount), arguments, 0, stream));
}

static void launch_as_function(hipKernel_t kernel, int* data, int by, hipStream_t stream) {
  void* arguments[] = {&data, &by};
  CHECK(hipModuleLaunchKernel(reinterpret_cast<hipFunction_t>(kernel), 1, 1, 1, kCount, 1, 1, 0, stream, arguments,
                              nullptr));
}

static void run(hipGraph_t graph, hipStream_t stream) {
  hipGraphExec_t executable;
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(graph));
}

static void kernels(const std::string& path) {
  const std::string image = contents(path);
  int* data = device_buffer(1);
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));

  hipLibrary_t const library = from_memory(image.data());
  hipKernel_t const add = kernel_of(library, "library_add");
  const char* name = nullptr;
  hipLibrary_t owner = nullptr;
  CHECK(hipKernelGetName(&name, add));
  CHECK(hipKernelGetLibrary(&owner, add));
  expect(std::strcmp(name, "library_add") == 0 && owner == library, "name and library of a kernel");
  hipKernel_t none = nullptr;
  expect(hipLibraryGetKernel(&none, library, "no_such_kernel") == hipErrorNotFound, "a kernel that is not there");
  (void)hipGetLastError();
  launch(add, data, 2, stream);
  launch_as_function(add, data, 3, stream);
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 6, "a kernel from memory");

  // All kernels of another one, with more room than there are.
  hipLibrary_t const listed = from_file(path);
  unsigned count = 0;
  CHECK(hipLibraryGetKernelCount(&count, listed));
  expect(count == 2, "the number of kernels");
  hipKernel_t list[4] = {};
  CHECK(hipLibraryEnumerateKernels(list, 4, listed));
  for (hipKernel_t const one : list) {
    if (one == nullptr) continue;
    CHECK(hipKernelGetName(&name, one));
    if (std::strstr(name, "multiply") != nullptr) launch(one, data, 4, stream);
  }
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, 24, "a kernel from a file, found in a list");

  // In graphs: as a node, and captured.
  int by = 5;
  void* arguments[] = {&data, &by};
  hipKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(add);
  params.gridDim = dim3(1);
  params.blockDim = dim3(kCount);
  params.kernelParams = arguments;
  hipGraph_t graph;
  hipGraphNode_t node;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  run(graph, stream);
  expect_all(data, 29, "a node");
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  launch(add, data, 6, stream);
  launch_as_function(add, data, 7, stream);
  CHECK(hipStreamEndCapture(stream, &graph));
  run(graph, stream);
  expect_all(data, 42, "captured launches");

  // A kernel's handle may come again, for another kernel.
  CHECK(hipLibraryUnload(library));
  CHECK(hipLibraryUnload(listed));
  hipLibrary_t const again = from_memory(image.data());
  CHECK(hipLibraryEnumerateKernels(list, 1, again));
  CHECK(hipKernelGetName(&name, list[0]));
  launch(list[0], data, 2, stream);
  CHECK(hipStreamSynchronize(stream));
  expect_all(data, std::strstr(name, "multiply") != nullptr ? 84 : 44, "a kernel of a library that was loaded again");
  CHECK(hipLibraryUnload(again));
}

// Memory and file get the real code between hipLibraryLoad... and hipLibraryGetKernel.
static void late(const std::string& path) {
  const std::string image = contents(path);
  std::string place = image;
  place.replace(place.find("library_add"), 11, "library_xxx");
  int* const data = device_buffer(3);
  hipLibrary_t const library = from_memory(place.data());
  std::memcpy(place.data(), image.data(), image.size());
  hipKernel_t const kernel = kernel_of(library, "library_add");
  std::memset(place.data(), 0, place.size());
  launch(kernel, data, 4, nullptr);
  CHECK(hipDeviceSynchronize());
  expect_all(data, 7, "code that was read late");
  launch(kernel_of(library, "_Z16library_multiplyPii"), data, 2, nullptr);
  CHECK(hipDeviceSynchronize());
  expect_all(data, 14, "another kernel of it");
  CHECK(hipLibraryUnload(library));

  const std::string file = path + ".late";
  std::ofstream(file, std::ios::binary) << contents(path).replace(image.find("library_add"), 11, "library_xxx");
  hipLibrary_t const from_path = from_file(file);
  std::ofstream(file, std::ios::binary) << image;
  hipKernel_t const found = kernel_of(from_path, "library_add");
  std::remove(file.c_str());
  launch(found, data, 5, nullptr);
  CHECK(hipDeviceSynchronize());
  expect_all(data, 19, "a file that was read late");
  CHECK(hipLibraryUnload(from_path));
}

static void module(const std::string& path) {
  const std::string image = contents(path);
  int* data = device_buffer(1);
  int by = 8;
  void* arguments[] = {&data, &by};
  hipModule_t loaded;
  hipFunction_t function;
  CHECK(hipModuleLoadFatBinary(&loaded, image.data()));
  CHECK(hipModuleGetFunction(&function, loaded, "library_add"));
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, kCount, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipDeviceSynchronize());
  expect_all(data, 9, "a function of a fat binary");
  // HIP 7 takes a function for a host function, too.
  CHECK(hipLaunchKernel(reinterpret_cast<void*>(function), dim3(1), dim3(kCount), arguments, 0, nullptr));
  CHECK(hipDeviceSynchronize());
  expect_all(data, 17, "a function launched as a host function");
  CHECK(hipModuleUnload(loaded));
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string mode = argv[1];
  if (mode == "kernels") kernels(argv[2]);
  else if (mode == "late") late(argv[2]);
  else if (mode == "module") module(argv[2]);
  else return 2;
  std::printf("ok\n");
}
#endif

// Module load from memory, launches by both argument forms, globals, hiprtc.
#include <hip/hiprtc.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "check.h"

static std::vector<char> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

static void launches(hipModule_t module) {
  hipFunction_t fill;
  HIP_OK(hipModuleGetFunction(&fill, module, "fill"));
  const unsigned n = 777;
  unsigned* out = nullptr;
  HIP_OK(hipMalloc(&out, 1000 * 4));
  HIP_OK(hipMemset(out, 0, 1000 * 4));
  unsigned value = 5, count = n;
  void* parameters[] = {&out, &value, &count};
  HIP_OK(hipModuleLaunchKernel(fill, 4, 1, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));
  std::vector<unsigned> host(1000);
  HIP_OK(hipMemcpy(host.data(), out, 4000, hipMemcpyDeviceToHost));
  for (unsigned i = 0; i < 1000; ++i) CHECK(host[i] == (i < n ? 5 + i : 0));
  struct {
    unsigned* out;
    unsigned value;
    unsigned count;
  } packed{out, 9, n};
  size_t size = sizeof(packed);
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  HIP_OK(hipModuleLaunchKernel(fill, 4, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  HIP_OK(hipMemcpy(host.data(), out, 4000, hipMemcpyDeviceToHost));
  CHECK(host[0] == 9 && host[n - 1] == 9 + n - 1 && host[n] == 0);
  HIP_OK(hipFree(out));
}

static void globals(hipModule_t module) {
  hipDeviceptr_t counter = nullptr;
  size_t bytes = 0;
  HIP_OK(hipModuleGetGlobal(&counter, &bytes, module, "counter"));
  CHECK(bytes == 4);
  int value = 0;
  HIP_OK(hipMemcpyDtoH(&value, counter, 4));
  CHECK(value == 41);
  value = 100;
  HIP_OK(hipMemcpyHtoD(counter, &value, 4));
  int* out = nullptr;
  HIP_OK(hipMalloc(&out, 12));
  hipFunction_t use;
  HIP_OK(hipModuleGetFunction(&use, module, "use_globals"));
  void* parameters[] = {&out};
  HIP_OK(hipModuleLaunchKernel(use, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  int host[3] = {};
  HIP_OK(hipMemcpy(host, out, 12, hipMemcpyDeviceToHost));
  CHECK(host[0] == 11 && host[1] == 13 && host[2] == 300);
  HIP_OK(hipMemcpyDtoH(&value, counter, 4));
  CHECK(value == 101);
  HIP_OK(hipFree(out));
}

static void runtime_compiler() {
  const char* source =
      "extern \"C\" __global__ void triple(int* x, int n) {"
      " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 3; }";
  hiprtcProgram program;
  CHECK(hiprtcCreateProgram(&program, source, "triple.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
  const char* options[] = {"--offload-arch=gfx1030"};
  if (hiprtcCompileProgram(program, 1, options) != HIPRTC_SUCCESS) {
    std::puts("no hiprtc here");
    return;
  }
  size_t bytes = 0;
  CHECK(hiprtcGetCodeSize(program, &bytes) == HIPRTC_SUCCESS);
  std::vector<char> code(bytes);
  CHECK(hiprtcGetCode(program, code.data()) == HIPRTC_SUCCESS);
  hipModule_t module;
  hipFunction_t triple;
  HIP_OK(hipModuleLoadData(&module, code.data()));
  HIP_OK(hipModuleGetFunction(&triple, module, "triple"));
  int *x = nullptr, n = 100;
  HIP_OK(hipMalloc(&x, n * 4));
  HIP_OK(hipMemsetD32(x, 7, static_cast<size_t>(n)));
  void* parameters[] = {&x, &n};
  HIP_OK(hipModuleLaunchKernel(triple, 2, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  std::vector<int> host(100);
  HIP_OK(hipMemcpy(host.data(), x, 400, hipMemcpyDeviceToHost));
  for (const int value : host) CHECK(value == 21);
  HIP_OK(hipFree(x));
  HIP_OK(hipModuleUnload(module));
}

int main(int, char** arguments) {
  const std::vector<char> code = read_file(arguments[1]);
  CHECK(!code.empty());
  hipModule_t module;
  HIP_OK(hipModuleLoadData(&module, code.data()));
  launches(module);
  globals(module);
  HIP_OK(hipModuleUnload(module));
  // Load and unload often: code memory and decode caches must come back.
  for (int i = 0; i < 50; ++i) {
    HIP_OK(hipModuleLoadData(&module, code.data()));
    launches(module);
    HIP_OK(hipModuleUnload(module));
  }
  std::vector<char> bad = code;
  for (size_t i = bad.size() / 2; i < bad.size() / 2 + 64; ++i) bad[i] = static_cast<char>(~bad[i]);
  bad.resize(bad.size() * 3 / 4);
  if (hipModuleLoadData(&module, bad.data()) == hipSuccess) HIP_OK(hipModuleUnload(module));
  runtime_compiler();
  return done();
}

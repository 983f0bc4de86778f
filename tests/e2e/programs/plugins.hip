// plugins FIRST SECOND: opens, uses and closes two plug-ins in turn, so that the variables of each
// come to the addresses of the other's. Prints "ok".
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

// Both count in a plug-in's variable.
__global__ void count(int* const* table, int* counter) {
  ++*table[1];
  ++*counter;
}

static void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

int main(int argc, char** argv) {
  expect(argc == 3, "arguments");
  int* data = nullptr;
  hipStream_t stream;
  int** table = nullptr;
  expect(hipMalloc(&data, 64 * sizeof(int)) == hipSuccess, "hipMalloc");
  expect(hipMalloc(&table, 2 * sizeof(int*)) == hipSuccess, "hipMalloc");
  expect(hipMemset(data, 0, 64 * sizeof(int)) == hipSuccess, "hipMemset");
  expect(hipStreamCreate(&stream) == hipSuccess, "hipStreamCreate");
  int want = 0;
  for (int round = 0; round < 4; ++round) {
    const int plug = 2 + round % 2;
    void* const library = dlopen(argv[1 + round % 2], RTLD_NOW | RTLD_LOCAL);
    expect(library != nullptr, "dlopen");
    const auto run = reinterpret_cast<int (*)(int*, hipStream_t)>(dlsym(library, "plugin_run"));
    const auto calls = reinterpret_cast<int (*)()>(dlsym(library, "plugin_calls"));
    for (int i = 0; i < 2; ++i) {
      expect(run(data, stream) == 0, "a launch");
      want = want * plug + plug;
    }
    expect(hipStreamSynchronize(stream) == hipSuccess, "hipStreamSynchronize");
    // Addresses of the plug-in's code, as an argument and in memory.
    const auto counter = reinterpret_cast<int* (*)()>(dlsym(library, "plugin_counter"));
    int* const words[2] = {counter() + 16, counter()};
    expect(hipMemcpy(table, words, sizeof(words), hipMemcpyHostToDevice) == hipSuccess, "a table");
    count<<<1, 1, 0, stream>>>(table, counter());
    expect(hipStreamSynchronize(stream) == hipSuccess, "hipStreamSynchronize");
    expect(calls() == 4, "the count of this time");
    dlclose(library);
  }
  int host[64];
  expect(hipMemcpy(host, data, sizeof(host), hipMemcpyDeviceToHost) == hipSuccess, "hipMemcpy");
  for (const int value : host) expect(value == want, "the data");
  std::printf("ok\n");
}

// A program that is not linked with HIP, under `gfxgraph run`.
//   late probe            HIP's functions do not exist for it, although the preloaded library
//   exports them late table PLUGIN     looks functions up in libamdhip64 itself, as Python's ctypes
//   does late plugin PLUGIN    opens a library that is linked with HIP, without global scope
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr const char* kRuntime = "libamdhip64.so.5";

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not true: %s\n", what);
  std::_Exit(3);
}
#define REQUIRE(condition) require(condition, #condition)

template <typename Function>
Function* look_up(void* handle, const char* name) {
  return reinterpret_cast<Function*>(dlsym(handle, name));
}

bool absent(void* handle, const char* name) {
  (void)dlerror();
  void* const found = dlsym(handle, name);
  return found == nullptr && dlerror() != nullptr;
}

void probe() {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  for (void* handle : {static_cast<void*>(RTLD_DEFAULT), program}) {
    REQUIRE(absent(handle, "hipMalloc"));
    REQUIRE(absent(handle, "hipLaunchKernelExC"));
    REQUIRE(absent(handle, "no_such_function"));
    REQUIRE(dlsym(handle, "getpid") != nullptr);
  }
  // A child that has nothing to do with HIP, with the preloaded library in it.
  REQUIRE(std::system("test -n \"$LD_PRELOAD\" && /bin/echo child") == 0);
}

int table(const char* plugin) {
  void* const hip = dlopen(kRuntime, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(hip != nullptr);
  REQUIRE(absent(hip, "hipLaunchKernelExC"));  // of later runtimes; a row of the table
  const auto synchronize = look_up<decltype(hipDeviceSynchronize)>(hip, "hipDeviceSynchronize");
  const auto last_error = look_up<decltype(hipGetLastError)>(hip, "hipGetLastError");
  const auto name = look_up<decltype(hipGetErrorName)>(hip, "hipGetErrorName");
  REQUIRE(synchronize != nullptr && last_error != nullptr && name != nullptr);
  // Found in the global scope as well, now that there is a runtime.
  REQUIRE(dlsym(RTLD_DEFAULT, "hipDeviceSynchronize") == reinterpret_cast<void*>(synchronize));
  REQUIRE(absent(RTLD_DEFAULT, "hipLaunchKernelExC"));
  REQUIRE(synchronize() == hipSuccess && last_error() == hipSuccess);
  void* const library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto launch_by = look_up<int(void*)>(library, "launch_by");
  REQUIRE(launch_by(dlsym(hip, "hipLaunchKernel")) == hipSuccess);
  const hipError_t error = synchronize();
  REQUIRE(std::strcmp(name(error), "hipErrorIllegalAddress") == 0);
  REQUIRE(last_error() == error && launch_by(dlsym(hip, "hipLaunchKernel")) == error);
  return 0;
}

int plugin(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  return look_up<int(int)>(library, "fault_in_plugin")(hipErrorIllegalAddress);
}

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc == 3);
  int result = 0;
  if (std::strcmp(argv[1], "probe") == 0) probe();
  if (std::strcmp(argv[1], "table") == 0) result = table(argv[2]);
  if (std::strcmp(argv[1], "plugin") == 0) result = plugin(argv[2]);
  std::fprintf(stderr, result == 0 ? "as it must\n" : "wrong: %d\n", result);
  return result;
}

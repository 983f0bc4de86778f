// What a program pays before its first result: hipInit, the first kernel, the first copy back, in
// milliseconds from the start of main.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>

__global__ void answer(int* out) { out[threadIdx.x] = 42 + static_cast<int>(threadIdx.x); }

namespace {

using Clock = std::chrono::steady_clock;
const Clock::time_point kStart = Clock::now();

void say(const char* what, hipError_t error) {
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - kStart).count();
  std::printf("%-28s %8.2f ms%s%s\n", what, ms, error == hipSuccess ? "" : "  failed: ",
              error == hipSuccess ? "" : hipGetErrorString(error));
}

}  // namespace

int main() {
  say("hipInit", hipInit(0));
  int* out = nullptr;
  say("hipMalloc", hipMalloc(&out, 32 * sizeof(int)));
  answer<<<1, 32>>>(out);
  say("first launch", hipGetLastError());
  say("first kernel done", hipDeviceSynchronize());
  int host[32] = {};
  say("first copy back", hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
  for (int n = 0; n < 32; ++n) {
    if (host[n] == 42 + n) continue;
    std::printf("wrong result\n");
    return 1;
  }
  return 0;
}

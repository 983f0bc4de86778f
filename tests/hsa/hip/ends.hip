// How a process ends: argv[1] says which way. All with work under way and nothing given back.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "check.h"

__global__ void work(int* x) {
  for (int i = 0; i < 1000; ++i) x[threadIdx.x] += i;
}

int main(int, char** arguments) {
  int* x = nullptr;
  hipStream_t stream;
  HIP_OK(hipMalloc(&x, 256 * 4));
  HIP_OK(hipStreamCreate(&stream));
  for (int i = 0; i < 20; ++i) work<<<1, 256, 0, stream>>>(x);
  const char* const way = arguments[1];
  if (std::strcmp(way, "return") == 0) return done();
  if (std::strcmp(way, "exit") == 0) {
    done();
    std::exit(0);
  }
  if (std::strcmp(way, "reset") == 0) {
    HIP_OK(hipDeviceSynchronize());
    HIP_OK(hipDeviceReset());
    return done();
  }
  if (std::strcmp(way, "fork") == 0) {
    HIP_OK(hipDeviceSynchronize());
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) std::exit(0);  // runs HIP's exit code without the agent's threads
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    // The parent goes on.
    work<<<1, 256, 0, stream>>>(x);
    HIP_OK(hipStreamSynchronize(stream));
    return done();
  }
  return 2;
}

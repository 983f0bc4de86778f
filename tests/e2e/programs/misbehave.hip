// A HIP program that behaves badly on request, after three good launches:
//   crash   a null write on the host      abort   abort()        fault  a kernel writes to nowhere
//   exit    exit(7) with work in flight   quick   _exit(9)       fork   a child that ends by
//   itself, exec    becomes another program       hang    launches for ever, until killed
//   crash_busy, kill_busy  dies between launches that nobody waited for
//   early   dies before its first use of HIP
#include <hip/hip_runtime.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define HIP_CHECK(call)                                       \
  do {                                                        \
    const hipError_t error = (call);                          \
    if (error != hipSuccess) {                                \
      std::fprintf(stderr, "%s\n", hipGetErrorString(error)); \
      std::exit(5);                                           \
    }                                                         \
  } while (false)

__global__ void count(unsigned* counter, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) counter[i] += i;
}

__global__ void write_to(unsigned* target) { *target = 1; }

int main(int argc, char** argv) {
  constexpr unsigned kCount = 1000;
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "early") raise(SIGKILL);
  unsigned* counter = nullptr;
  HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&counter), kCount * sizeof(unsigned)));
  HIP_CHECK(hipMemset(counter, 0, kCount * sizeof(unsigned)));
  const auto launch = [&] { count<<<4, 256>>>(counter, kCount); };
  for (int i = 0; i < 3; ++i) launch();
  if (how != "exit") HIP_CHECK(hipDeviceSynchronize());

  if (how == "crash") *static_cast<volatile int*>(nullptr) = 1;
  if (how == "abort") std::abort();
  for (int i = 1; how == "crash_busy" || how == "kill_busy"; ++i) {
    launch();
    if (i % 8 == 0) HIP_CHECK(hipDeviceSynchronize());
    if (i < 21) continue;
    if (how == "kill_busy") raise(SIGKILL);
    *static_cast<volatile int*>(nullptr) = 1;
  }
  if (how == "exit") return 7;
  if (how == "quick") _exit(9);
  if (how == "exec") {
    execl("/bin/echo", "echo", "another program", static_cast<char*>(nullptr));
    return 6;
  }
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) return 0;  // through the destructors, as a careless program does
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 6;
    launch();
    HIP_CHECK(hipDeviceSynchronize());
  }
  if (how == "fault") {
    write_to<<<1, 1>>>(reinterpret_cast<unsigned*>(0x123450000ull));
    HIP_CHECK(hipDeviceSynchronize());
  }
  for (uint32_t round = 0; how == "big" && round < 16; ++round) {
    std::vector<uint32_t> noise(1u << 20);
    uint32_t state = round + 1;
    for (uint32_t& word : noise) word = state = state * 747796405u + 2891336453u;
    unsigned* upload = nullptr;
    HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&upload), noise.size() * sizeof(uint32_t)));
    HIP_CHECK(
        hipMemcpy(upload, noise.data(), noise.size() * sizeof(uint32_t), hipMemcpyHostToDevice));
    HIP_CHECK(hipFree(upload));
  }
  if (how == "big") std::printf("big: done\n");
  for (int i = 0; how == "many" && i < 20000; ++i) count<<<1, 32>>>(counter, 32);
  if (how == "hang") {
    std::printf("%d\n", static_cast<int>(getpid()));
    std::fflush(stdout);
  }
  while (how == "hang") {
    launch();
    HIP_CHECK(hipDeviceSynchronize());
  }
  HIP_CHECK(hipFree(counter));
  return 0;
}

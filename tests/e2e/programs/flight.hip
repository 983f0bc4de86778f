// For flight recorders: a program that goes on as long as it is told to, one with threads, and one
// with a handler of its own for the signal that asks for what was recorded.
#include <hip/hip_runtime.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

#define CHECK(call)                                                          \
  do {                                                                       \
    const hipError_t check_result = (call);                                  \
    if (check_result != hipSuccess) {                                        \
      std::printf("%s: %s\n", #call, hipGetErrorString(check_result));       \
      std::exit(1);                                                          \
    }                                                                        \
  } while (false)

constexpr unsigned kSize = 1024;

__global__ void add(unsigned* values, unsigned by) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

unsigned* make_values() {
  unsigned* values = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&values), kSize * sizeof(unsigned)));
  CHECK(hipMemset(values, 0, kSize * sizeof(unsigned)));
  return values;
}

unsigned last_value(const unsigned* values) {
  unsigned value = 0;
  CHECK(hipMemcpy(&value, values + kSize - 1, sizeof(value), hipMemcpyDeviceToHost));
  return value;
}

// "go 10" on stdin: ten launches, and their sum on stdout.
int go_on() {
  unsigned* const values = make_values();
  std::printf("pid %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  unsigned count = 0;
  while (std::scanf(" go %u", &count) == 1) {
    for (unsigned i = 0; i < count; ++i) add<<<kSize / 64, 64>>>(values, 1);
    std::printf("sum %u\n", last_value(values));
    std::fflush(stdout);
  }
  return 0;
}

int threads() {
  constexpr int kThreads = 8;
  constexpr unsigned kLaunches = 200;
  std::vector<std::thread> all;
  std::vector<unsigned> sums(kThreads);
  for (int number = 0; number < kThreads; ++number) {
    all.emplace_back([&sums, number] {
      unsigned* const values = make_values();
      hipStream_t stream = nullptr;
      CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
      CHECK(hipDeviceSynchronize());
      for (unsigned i = 0; i < kLaunches; ++i) {
        add<<<kSize / 64, 64, 0, stream>>>(values, 1);
        if (i % 10 == 9) CHECK(hipStreamSynchronize(stream));
      }
      CHECK(hipStreamSynchronize(stream));
      sums[static_cast<size_t>(number)] = last_value(values);
    });
  }
  for (std::thread& one : all) one.join();
  for (const unsigned sum : sums) {
    if (sum != kLaunches) return 1;
  }
  std::printf("ok\n");
  return 0;
}

volatile sig_atomic_t seen = 0;

int own_handler(bool before) {
  const auto install = [] {
    const auto old = signal(SIGUSR2, [](int) { seen = seen + 1; });
    if (old != SIG_DFL) std::exit(2);
  };
  if (before) install();
  unsigned* const values = make_values();
  if (!before) install();
  for (int i = 0; i < 5; ++i) {
    add<<<kSize / 64, 64>>>(values, 1);
    raise(SIGUSR2);
  }
  if (last_value(values) != 5) return 1;
  std::printf("seen %d\n", static_cast<int>(seen));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  if (std::strcmp(mode, "go_on") == 0) return go_on();
  if (std::strcmp(mode, "threads") == 0) return threads();
  if (std::strcmp(mode, "handler_before") == 0) return own_handler(true);
  if (std::strcmp(mode, "handler_after") == 0) return own_handler(false);
  return 2;
}

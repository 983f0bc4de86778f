// How fast the recorder takes in contents: a buffer's first bytes, which the program copies to the
// device, and its last state, which is read back when it is freed. Beside them memcpy and write(2)
// of as many bytes, and the most memory that the process had. Run it bare and recorded:
//   gfxgraph-record --device emulated --compress 0 -o /tmp/bench.gfxg -- bench/record_contents
//   [MiB]
// Bytes are noise, and no chunk of them is there twice. When a call returns, up to 32 MiB may still
// be on their way into the file.
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(result));
  std::exit(1);
}

template <typename Body>
static void measure(const char* name, size_t bytes, Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::printf("%-42s %6.2f GB/s\n", name, static_cast<double>(bytes) / 1e9 / spent.count());
}

static void print_peak() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  if (status == nullptr) return;
  char line[256];
  while (std::fgets(line, sizeof(line), status) != nullptr) {
    if (std::strncmp(line, "VmHWM:", 6) == 0) std::printf("%s", line);
  }
  std::fclose(status);
}

int main(int argc, char** argv) {
  const size_t size = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 512) << 20;
  std::vector<uint64_t> data(size / sizeof(uint64_t));
  uint64_t state = 88172645463325252u;
  for (uint64_t& word : data) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    word = state;
  }
  char* first = nullptr;
  char* second = nullptr;
  check(hipMalloc(&first, size));
  check(hipMalloc(&second, size));
  check(hipMemset(second, 0, size));
  check(hipDeviceSynchronize());
  {
    std::vector<uint64_t> copy(data.size(), 1);
    measure("memcpy", size, [&] { std::memcpy(copy.data(), data.data(), size); });
    if (copy.back() != data.back()) return 1;
  }
  char name[] = "/tmp/record_contents.XXXXXX";
  const int file = ::mkstemp(name);
  measure("write(2), 1 MiB at a time", size, [&] {
    const char* bytes = reinterpret_cast<const char*>(data.data());
    for (size_t at = 0; at < size;) {
      const ssize_t written = ::write(file, bytes + at, std::min<size_t>(1 << 20, size - at));
      if (written <= 0) std::exit(1);
      at += static_cast<size_t>(written);
    }
  });
  ::close(file);
  ::unlink(name);
  measure("hipMemcpy to the device (host to file)", size,
          [&] { check(hipMemcpy(first, data.data(), size, hipMemcpyHostToDevice)); });
  // By another offset: other chunks.
  check(hipMemcpy(second + 64, first, size - 64, hipMemcpyDeviceToDevice));
  check(hipDeviceSynchronize());
  // By yet another one.
  measure("hipMemcpy to the host, 1 MiB at a time", size, [&] {
    for (size_t at = 0; at < size; at += 1 << 20) {
      const size_t part = std::min<size_t>(1 << 20, size - at - 128);
      check(hipMemcpy(data.data(), first + 128 + at, part, hipMemcpyDeviceToHost));
    }
  });
  measure("hipFree (device to file)", size, [&] { check(hipFree(second)); });
  check(hipFree(first));
  print_peak();
  return 0;
}

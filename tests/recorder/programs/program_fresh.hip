// Legal programs with memory that nobody has written: program_fresh MODE; prints "ok".
#include <cstring>
#include <string>
#include <vector>

#include "program.h"

constexpr int kCount = 1024;
constexpr int kWritten = 256;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void set(int* data, int value, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = value + i;
}
__global__ void twice(const int* data, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 2 * data[i] + 1;
}

static int* get(hipStream_t stream) {
  int* data = nullptr;
  if (stream == nullptr) {
    CHECK(hipMalloc(&data, kBytes));
  } else {
    CHECK(hipMallocAsync(reinterpret_cast<void**>(&data), kBytes, stream));
  }
  return data;
}

static void give_back(int* data, hipStream_t stream) {
  if (stream == nullptr) {
    CHECK(hipFree(data));
  } else {
    CHECK(hipFreeAsync(data, stream));
  }
}

// Where the runtime gives the same memory out again, it is not zero.
static int* used_before(hipStream_t stream) {
  int* data = get(stream);
  CHECK(hipMemsetAsync(data, 0x5a, kBytes, stream));
  give_back(data, stream);
  return get(stream);
}

// Writes a part, and copies all of it back.
static void stale(hipStream_t stream) {
  int* data = used_before(stream);
  int* copied = used_before(stream);
  set<<<1, kWritten, 0, stream>>>(data, 7, kWritten);
  CHECK(hipMemsetAsync(copied, 1, kBytes / 2, stream));
  std::vector<int> values(kCount);
  CHECK(hipMemcpyAsync(values.data(), data, kBytes, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  for (int i = 0; i < kWritten; ++i) expect(values[i] == 7 + i, "what was written");
  std::printf("%sbyte %#x behind it\n", stream == nullptr ? "" : "stream-ordered: ",
              static_cast<unsigned>(values[kCount - 1]) & 0xff);
  give_back(data, stream);
  give_back(copied, stream);
}

// Results of memory that nobody wrote.
static void read(hipStream_t stream) {
  int* data = used_before(stream);
  int* out = get(stream);
  set<<<1, kWritten, 0, stream>>>(data, 7, kWritten);
  twice<<<kCount / 256, 256, 0, stream>>>(data, out);
  std::vector<int> values(kCount);
  CHECK(hipMemcpyAsync(values.data(), out, kBytes, hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  for (int i = 0; i < kWritten; ++i) expect(values[i] == 2 * (7 + i) + 1, "what was written");
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  if (mode == "stale") {
    stale(nullptr);
    stale(stream);
  } else if (mode == "read") {
    read(stream);
  } else {
    std::printf("unknown mode\n");
    return 2;
  }
  std::printf("ok\n");
  return 0;
}

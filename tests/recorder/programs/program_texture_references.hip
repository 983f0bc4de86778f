// Texture references, which HIP has deprecated: program_texture_references bound | memory.
// Prints "ok".
#include <cstring>
#include <vector>

#include "program.h"

constexpr int kWidth = 8;
constexpr int kHeight = 4;
constexpr size_t kRow = kWidth * sizeof(float);

texture<float, 2, hipReadModeElementType> rows;
texture<float, 1, hipReadModeElementType> line;

__global__ void fetch_rows(float* out) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  out[y * kWidth + x] = tex2D(rows, x + 0.5f, y + 0.5f);
}
__global__ void fetch_line(float* out) {
  out[threadIdx.x] = tex1Dfetch(line, static_cast<int>(threadIdx.x));
}

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  std::vector<float> values(kWidth * kHeight);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  float* out = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&out), kRow * kHeight));
  if (std::strcmp(mode, "bound") == 0) {
    const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
    hipArray_t array = nullptr;
    CHECK(hipMallocArray(&array, &format, kWidth, kHeight, 0));
    CHECK(hipMemcpy2DToArray(array, 0, 0, values.data(), kRow, kRow, kHeight,
                             hipMemcpyHostToDevice));
    CHECK(hipBindTextureToArray(rows, array, format));
    fetch_rows<<<kHeight, kWidth>>>(out);
  } else if (std::strcmp(mode, "memory") == 0) {
    float* memory = nullptr;
    CHECK(hipMalloc(reinterpret_cast<void**>(&memory), kRow * kHeight));
    CHECK(hipMemcpy(memory, values.data(), kRow * kHeight, hipMemcpyHostToDevice));
    size_t offset = 0;
    CHECK(hipBindTexture(&offset, line, memory, kRow * kHeight));
    fetch_line<<<1, kWidth * kHeight>>>(out);
  } else {
    return 2;
  }
  std::vector<float> got(values.size());
  CHECK(hipMemcpy(got.data(), out, kRow * kHeight, hipMemcpyDeviceToHost));
  expect(got == values, "what a texture reference fetched");
  std::puts("ok");
  return 0;
}

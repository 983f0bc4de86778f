// Arrays, textures and surfaces of two devices: program_device_arrays copies | textures; prints "ok".
// Each checks its own results. Asks the software agent for the devices, unless the environment
// already does.
#include <cstdlib>
#include <string>
#include <vector>

#include "../program.h"

namespace {

constexpr int kDevices = 2;
constexpr int kWidth = 11;
constexpr int kHeight = 5;
constexpr int kTexels = kWidth * kHeight;
constexpr size_t kRow = kWidth * sizeof(float);
constexpr size_t kBytes = kRow * kHeight;

__global__ void fetch(hipTextureObject_t texture, float* out) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  out[y * kWidth + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}
__global__ void double_surface(hipSurfaceObject_t surface) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  float value = 0;
  surf2Dread(&value, surface, x * static_cast<int>(sizeof(float)), y);
  surf2Dwrite(2 * value, surface, x * static_cast<int>(sizeof(float)), y);
}

std::vector<float> numbers(float first) {
  std::vector<float> result(kTexels);
  for (size_t i = 0; i < result.size(); ++i) result[i] = first + static_cast<float>(i);
  return result;
}

hipArray_t new_array() {
  const hipChannelFormatDesc desc = hipCreateChannelDesc<float>();
  hipArray_t array = nullptr;
  CHECK(hipMallocArray(&array, &desc, kWidth, kHeight, hipArrayDefault));
  return array;
}

struct OfDevice {
  hipArray_t array = nullptr;
  hipStream_t stream = nullptr;
  float* memory = nullptr;
};

OfDevice on(int device) {
  CHECK(hipSetDevice(device));
  OfDevice made;
  made.array = new_array();
  CHECK(hipStreamCreate(&made.stream));
  CHECK(hipMalloc(&made.memory, kBytes));
  return made;
}

// Through the array of each device, in streams of theirs, and back; the arrays end in the other
// order, the first of them while the other device is current.
void copies() {
  OfDevice of[kDevices];
  std::vector<float> values[kDevices];
  for (int device = 0; device < kDevices; ++device) {
    of[device] = on(device);
    values[device] = numbers(100.0f * static_cast<float>(device + 1));
    CHECK(hipMemcpy2DToArray(of[device].array, 0, 0, values[device].data(), kRow, kRow, kHeight,
                             hipMemcpyHostToDevice));
    CHECK(hipMemcpy2DFromArrayAsync(of[device].memory, kRow, of[device].array, 0, 0, kRow, kHeight,
                                    hipMemcpyDeviceToDevice, of[device].stream));
  }
  // What the second device has, into the first one's array.
  CHECK(hipStreamSynchronize(of[1].stream));
  CHECK(hipSetDevice(0));
  CHECK(hipStreamSynchronize(of[0].stream));
  float* between = nullptr;
  CHECK(hipMalloc(&between, kBytes));
  CHECK(hipMemcpyPeer(between, 0, of[1].memory, 1, kBytes));
  CHECK(hipMemcpy2DToArray(of[0].array, 0, 0, between, kRow, kRow, kHeight,
                           hipMemcpyDeviceToDevice));
  std::vector<float> got(kTexels);
  CHECK(hipMemcpy2DFromArray(got.data(), kRow, of[0].array, 0, 0, kRow, kHeight,
                             hipMemcpyDeviceToHost));
  expect(got == values[1], "the first array has what the second one had");
  CHECK(hipMemcpy(got.data(), of[0].memory, kBytes, hipMemcpyDeviceToHost));
  expect(got == values[0], "memory has what the first array had");
  CHECK(hipFreeArray(of[1].array));
  CHECK(hipSetDevice(1));
  CHECK(hipFreeArray(of[0].array));
  CHECK(hipFree(of[1].memory));
}

// A texture and a surface of each device's array, used by its own kernels.
void textures() {
  for (int device = 0; device < kDevices; ++device) {
    const OfDevice of = on(device);
    const std::vector<float> values = numbers(7.0f + static_cast<float>(device));
    CHECK(hipMemcpy2DToArray(of.array, 0, 0, values.data(), kRow, kRow, kHeight,
                             hipMemcpyHostToDevice));
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = of.array;
    hipTextureDesc texture_desc{};
    texture_desc.filterMode = hipFilterModePoint;
    texture_desc.readMode = hipReadModeElementType;
    hipTextureObject_t texture = nullptr;
    CHECK(hipCreateTextureObject(&texture, &resource, &texture_desc, nullptr));
    hipSurfaceObject_t surface = nullptr;
    CHECK(hipCreateSurfaceObject(&surface, &resource));
    double_surface<<<kHeight, kWidth, 0, of.stream>>>(surface);
    fetch<<<kHeight, kWidth, 0, of.stream>>>(texture, of.memory);
    CHECK(hipStreamSynchronize(of.stream));
    std::vector<float> got(kTexels);
    CHECK(hipMemcpy(got.data(), of.memory, kBytes, hipMemcpyDeviceToHost));
    for (int i = 0; i < kTexels; ++i)
      expect(got[static_cast<size_t>(i)] == 2 * values[static_cast<size_t>(i)], "doubled texels");
    CHECK(hipDestroySurfaceObject(surface));
    CHECK(hipDestroyTextureObject(texture));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  setenv("GFXGRAPH_DEVICES", "2", 0);  // before HIP's first call
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  expect(count >= kDevices, "two devices");
  if (mode == "copies") {
    copies();
  } else if (mode == "textures") {
    textures();
  } else {
    return 2;
  }
  std::puts("ok");
  return 0;
}

// Arrays, textures and surfaces: program_images arrays | textures | objects | modes | surfaces | graph |
// ranges. Each checks its own results.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../../../include/gfxgraph/record.h"
#include "program.h"

namespace {

constexpr int kWidth = 13;
constexpr int kHeight = 6;
constexpr int kTexels = kWidth * kHeight;
constexpr size_t kRow = kWidth * sizeof(float);

struct Part {
  int scale;
  hipTextureObject_t texture;
  float* out;
};

__global__ void fetch_2d(hipTextureObject_t texture, float* out) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  out[y * kWidth + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}
__global__ void fetch_1d(hipTextureObject_t texture, int* out) {
  out[threadIdx.x] = tex1Dfetch<int>(texture, static_cast<int>(threadIdx.x));
}
// 0 to 1, and as they are: together i / 255 + i.
__global__ void fetch_parts(hipTextureObject_t parts, hipTextureObject_t whole, float* out) {
  const int x = static_cast<int>(threadIdx.x);
  out[x] = tex1Dfetch<float>(parts, x) + static_cast<float>(tex1Dfetch<unsigned char>(whole, x));
}
__global__ void fetch_part(Part part) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  part.out[y * kWidth + x] =
      static_cast<float>(part.scale) * tex2D<float>(part.texture, x + 0.5f, y + 0.5f);
}
__global__ void fetch_by_table(const hipTextureObject_t* table, int count, float* out) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += tex2D<float>(table[i], x + 0.5f, y + 0.5f);
  out[y * kWidth + x] = sum;
}
__global__ void double_surface(hipSurfaceObject_t surface) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  float value = 0;
  surf2Dread(&value, surface, x * static_cast<int>(sizeof(float)), y);
  surf2Dwrite(2 * value, surface, x * static_cast<int>(sizeof(float)), y);
}
__global__ void scale(float* values, float by) { values[blockIdx.x * blockDim.x + threadIdx.x] *= by; }

std::vector<float> numbers(float first, int count = kTexels) {
  std::vector<float> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) result[i] = first + static_cast<float>(i);
  return result;
}

hipArray_t new_array(int width = kWidth, int height = kHeight) {
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray_t array = nullptr;
  CHECK(hipMallocArray(&array, &format, width, height, 0));
  return array;
}

float* new_buffer(const std::vector<float>& values) {
  float* buffer = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&buffer), values.size() * sizeof(float)));
  CHECK(hipMemcpy(buffer, values.data(), values.size() * sizeof(float), hipMemcpyHostToDevice));
  return buffer;
}

std::vector<float> held(hipArray_t array) {
  std::vector<float> values(kTexels);
  CHECK(hipMemcpy2DFromArray(values.data(), kRow, array, 0, 0, kRow, kHeight,
                             hipMemcpyDeviceToHost));
  return values;
}
std::vector<float> held(const float* buffer, size_t count = kTexels) {
  std::vector<float> values(count);
  CHECK(hipMemcpy(values.data(), buffer, count * sizeof(float), hipMemcpyDeviceToHost));
  return values;
}

hipTextureObject_t texture_of(hipArray_t array) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc desc = {};
  desc.readMode = hipReadModeElementType;
  desc.filterMode = hipFilterModePoint;
  desc.addressMode[0] = desc.addressMode[1] = hipAddressModeClamp;
  hipTextureObject_t texture = nullptr;
  CHECK(hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  return texture;
}

void arrays() {
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  hipArray_t one = new_array();
  const std::vector<float> first = numbers(1);
  CHECK(hipMemcpyToArray(one, 0, 0, first.data(), kTexels * sizeof(float), hipMemcpyHostToDevice));
  expect(held(one) == first, "a whole array");

  // A part of it, from pinned memory; another one from a buffer that a kernel has made.
  float* pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), 6 * sizeof(float), 0));
  for (int i = 0; i < 6; ++i) pinned[i] = 100.0f + static_cast<float>(i);
  CHECK(hipMemcpy2DToArrayAsync(one, 2 * sizeof(float), 1, pinned, 3 * sizeof(float),
                                3 * sizeof(float), 2, hipMemcpyHostToDevice, stream));
  float* buffer = new_buffer(numbers(0));
  scale<<<kHeight, kWidth, 0, stream>>>(buffer, 3);
  CHECK(hipMemcpy2DToArrayAsync(one, 0, 4, buffer, kRow, kRow, 2, hipMemcpyDeviceToDevice, stream));
  CHECK(hipStreamSynchronize(stream));
  std::vector<float> expected = first;
  for (int i = 0; i < 6; ++i)
    expected[static_cast<size_t>((1 + i / 3) * kWidth + 2 + i % 3)] = 100.0f + static_cast<float>(i);
  for (int i = 0; i < 2 * kWidth; ++i)
    expected[static_cast<size_t>(4 * kWidth + i)] = 3 * static_cast<float>(i);
  expect(held(one) == expected, "parts of an array");

  // To registered memory, of which HIP 5 gives no address range, and from plain rows that are apart.
  void* const registered = std::aligned_alloc(4096, 4096);
  std::memset(registered, 0, 4096);  // without pointers that the runtime left there
  CHECK(hipHostRegister(registered, kRow * kHeight, hipHostRegisterDefault));
  CHECK(hipMemcpy2DFromArray(registered, kRow, one, 0, 0, kRow, kHeight, hipMemcpyDeviceToHost));
  expect(std::memcmp(registered, expected.data(), kRow * kHeight) == 0, "registered memory");
  CHECK(hipHostUnregister(registered));
  std::free(registered);
  const std::vector<float> apart = numbers(500, 20 * kHeight);
  CHECK(hipMemcpy2DToArray(one, 0, 0, apart.data(), 20 * sizeof(float), kRow, kHeight,
                           hipMemcpyHostToDevice));
  for (int i = 0; i < kTexels; ++i)
    expected[static_cast<size_t>(i)] = apart[static_cast<size_t>(i / kWidth * 20 + i % kWidth)];
  expect(held(one) == expected, "rows that are apart");

  // To another array, and from there to a buffer.
  hipArray_t two = new_array();
  hipMemcpy3DParms copy = {};
  copy.srcArray = one;
  copy.dstArray = two;
  copy.extent = make_hipExtent(kWidth, kHeight, 1);
  copy.kind = hipMemcpyDeviceToDevice;
  CHECK(hipMemcpy3DAsync(&copy, stream));
  CHECK(hipMemcpy2DFromArrayAsync(buffer, kRow, two, 0, 0, kRow, kHeight, hipMemcpyDeviceToDevice,
                                  stream));
  CHECK(hipStreamSynchronize(stream));
  expect(held(buffer) == expected, "an array, another one, a buffer");
#if HIP_VERSION >= 60400000
  CHECK(hipMemcpy2DArrayToArray(two, 2 * sizeof(float), 3, one, sizeof(float), 1,
                                4 * sizeof(float), 2, hipMemcpyDeviceToDevice));
  for (size_t i = 0; i < 8; ++i) {
    const size_t place = i / 4 * kWidth + i % 4;
    expected[3 * kWidth + 2 + place] = expected[kWidth + 1 + place];
  }
  expect(held(two) == expected, "a part of an array in another one");
#endif
  CHECK(hipFreeArray(one));

  // The driver's calls.
  HIP_ARRAY_DESCRIPTOR desc = {};
  desc.Width = kWidth;
  desc.Height = kHeight;
  desc.Format = HIP_AD_FORMAT_FLOAT;
  desc.NumChannels = 1;
  CHECK(hipArrayCreate(&one, &desc));
  hip_Memcpy2D plain = {};
  plain.srcMemoryType = hipMemoryTypeHost;
  plain.srcHost = first.data();
  plain.srcPitch = kRow;
  plain.dstMemoryType = hipMemoryTypeArray;
  plain.dstArray = one;
  plain.WidthInBytes = kRow;
  plain.Height = kHeight;
  CHECK(hipMemcpyParam2D(&plain));
  const float some[3] = {-1, -2, -3};
  CHECK(hipMemcpyHtoA(one, 4 * sizeof(float), some, sizeof(some)));
  float back[5] = {};
  CHECK(hipMemcpyAtoH(back, one, 3 * sizeof(float), sizeof(back)));
  expect(back[0] == 4 && back[1] == -1 && back[3] == -3 && back[4] == 8, "bytes of a row");

  // Three dimensions, four components of 16 bits; it lives until the end.
  HIP_ARRAY3D_DESCRIPTOR box = {};
  box.Width = 5;
  box.Height = 4;
  box.Depth = 3;
  box.Format = HIP_AD_FORMAT_UNSIGNED_INT16;
  box.NumChannels = 4;
  hipArray_t deep = nullptr;
  CHECK(hipArray3DCreate(&deep, &box));
  std::vector<ushort4> voxels(5 * 4 * 3);
  for (size_t i = 0; i < voxels.size(); ++i)
    voxels[i] = make_ushort4(static_cast<unsigned short>(i), 7, 8, 9);
  copy = {};
  copy.srcPtr = make_hipPitchedPtr(voxels.data(), 5 * sizeof(ushort4), 5, 4);
  copy.dstArray = deep;
  copy.extent = make_hipExtent(5, 4, 3);
  copy.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&copy));
  std::vector<ushort4> some_voxels(2 * 2 * 2);
  copy = {};
  copy.srcArray = deep;
  copy.srcPos = make_hipPos(1, 2, 1);
  copy.dstPtr = make_hipPitchedPtr(some_voxels.data(), 2 * sizeof(ushort4), 2, 2);
  copy.extent = make_hipExtent(2, 2, 2);
  copy.kind = hipMemcpyDeviceToHost;
  CHECK(hipMemcpy3D(&copy));
  for (size_t i = 0; i < some_voxels.size(); ++i) {
    const size_t at = (1 + i / 4) * 20 + (2 + i / 2 % 2) * 5 + 1 + i % 2;
    expect(some_voxels[i].x == at && some_voxels[i].w == 9, "a part of a box");
  }
  CHECK(hipArrayDestroy(one));
  CHECK(hipHostFree(pinned));
  CHECK(hipStreamDestroy(stream));
}

void textures() {
  const std::vector<float> first = numbers(1), second = numbers(1000);
  hipArray_t one = new_array();
  hipArray_t two = new_array();
  CHECK(hipMemcpy2DToArray(one, 0, 0, first.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2DToArray(two, 0, 0, second.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  float* out = new_buffer(numbers(0));
  hipTextureObject_t textures[2] = {texture_of(one), texture_of(two)};
  fetch_2d<<<kHeight, kWidth>>>(textures[0], out);
  expect(held(out) == first, "a texture of an array");
  fetch_part<<<kHeight, kWidth>>>(Part{2, textures[1], out});
  std::vector<float> expected = second;
  for (float& value : expected) value *= 2;
  expect(held(out) == expected, "a texture in a structure");
  hipTextureObject_t* table = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&table), sizeof(textures)));
  CHECK(hipMemcpy(table, textures, sizeof(textures), hipMemcpyHostToDevice));
  fetch_by_table<<<kHeight, kWidth>>>(table, 2, out);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = first[i] + second[i];
  expect(held(out) == expected, "textures in a table");

  // Linear memory from the middle of a buffer, which a kernel changes; pitched memory.
  int* linear = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&linear), 1024 * sizeof(int)));
  std::vector<int> integers(1024);
  for (size_t i = 0; i < integers.size(); ++i) integers[i] = static_cast<int>(i * i);
  CHECK(hipMemcpy(linear, integers.data(), 1024 * sizeof(int), hipMemcpyHostToDevice));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = linear + 256;
  resource.res.linear.desc = hipCreateChannelDesc<int>();
  resource.res.linear.sizeInBytes = 64 * sizeof(int);
  hipTextureDesc desc = {};
  desc.readMode = hipReadModeElementType;
  hipTextureObject_t texture = nullptr;
  CHECK(hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  fetch_1d<<<1, 64>>>(texture, linear);
  std::vector<int> fetched(64);
  CHECK(hipMemcpy(fetched.data(), linear, 64 * sizeof(int), hipMemcpyDeviceToHost));
  for (size_t i = 0; i < 64; ++i) expect(fetched[i] == integers[256 + i], "a texture of memory");
  CHECK(hipDestroyTextureObject(texture));

  float* pitched = nullptr;
  size_t pitch = 0;
  CHECK(hipMallocPitch(reinterpret_cast<void**>(&pitched), &pitch, kRow, kHeight));
  CHECK(hipMemcpy2D(pitched, pitch, second.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  resource = {};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = pitched;
  resource.res.pitch2D.desc = hipCreateChannelDesc<float>();
  resource.res.pitch2D.width = kWidth;
  resource.res.pitch2D.height = kHeight;
  resource.res.pitch2D.pitchInBytes = pitch;
  CHECK(hipCreateTextureObject(&texture, &resource, &desc, nullptr));
  fetch_2d<<<kHeight, kWidth>>>(texture, out);
  expect(held(out) == second, "a texture of rows");
  CHECK(hipDestroyTextureObject(textures[0]));
  CHECK(hipFreeArray(one));
}

// Textures of the driver's interface: of an array of floats, of pitched memory, and of bytes that
// are read as numbers from 0 to 1 and as they are.
void objects() {
  const std::vector<float> first = numbers(1), second = numbers(1000);
  hipArray_t array = new_array();
  CHECK(hipMemcpy2DToArray(array, 0, 0, first.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  float* out = new_buffer(numbers(0));
  HIP_RESOURCE_DESC resource = {};
  resource.resType = HIP_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  HIP_TEXTURE_DESC desc = {};
  desc.addressMode[0] = desc.addressMode[1] = HIP_TR_ADDRESS_MODE_CLAMP;
  desc.filterMode = HIP_TR_FILTER_MODE_POINT;
  hipTextureObject_t texture = nullptr;
  CHECK(hipTexObjectCreate(&texture, &resource, &desc, nullptr));
  HIP_RESOURCE_DESC said = {};
  CHECK(hipTexObjectGetResourceDesc(&said, texture));
  expect(said.resType == HIP_RESOURCE_TYPE_ARRAY, "what a texture was made of");
  fetch_2d<<<kHeight, kWidth>>>(texture, out);
  expect(held(out) == first, "a driver's texture of an array");
  CHECK(hipTexObjectDestroy(texture));

  float* pitched = nullptr;
  size_t pitch = 0;
  CHECK(hipMallocPitch(reinterpret_cast<void**>(&pitched), &pitch, kRow, kHeight));
  CHECK(hipMemcpy2D(pitched, pitch, second.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  resource = {};
  resource.resType = HIP_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D.devPtr = reinterpret_cast<hipDeviceptr_t>(pitched);
  resource.res.pitch2D.format = HIP_AD_FORMAT_FLOAT;
  resource.res.pitch2D.numChannels = 1;
  resource.res.pitch2D.width = kWidth;
  resource.res.pitch2D.height = kHeight;
  resource.res.pitch2D.pitchInBytes = pitch;
  CHECK(hipTexObjectCreate(&texture, &resource, &desc, nullptr));
  fetch_2d<<<kHeight, kWidth>>>(texture, out);
  expect(held(out) == second, "a driver's texture of rows");

  std::vector<unsigned char> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
  unsigned char* linear = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&linear), bytes.size()));
  CHECK(hipMemcpy(linear, bytes.data(), bytes.size(), hipMemcpyHostToDevice));
  resource = {};
  resource.resType = HIP_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = reinterpret_cast<hipDeviceptr_t>(linear);
  resource.res.linear.format = HIP_AD_FORMAT_UNSIGNED_INT8;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = bytes.size();
  desc = {};
  hipTextureObject_t parts = nullptr, whole = nullptr;
  CHECK(hipTexObjectCreate(&parts, &resource, &desc, nullptr));
  desc.flags = HIP_TRSF_READ_AS_INTEGER;
  CHECK(hipTexObjectCreate(&whole, &resource, &desc, nullptr));
  fetch_parts<<<1, 64>>>(parts, whole, out);
  const std::vector<float> got = held(out, 64);
  for (size_t i = 0; i < 64; ++i)
    expect(got[i] > static_cast<float>(i) * 1.003f - 0.01f && got[i] < static_cast<float>(i) * 1.005f + 0.01f,
           "bytes as numbers");
  CHECK(hipTexObjectDestroy(whole));
}

// A texel behind the edges of an axis; -1: the border.
int folded(int at, int size, hipTextureAddressMode mode, bool normalized) {
  if (!normalized && mode != hipAddressModeBorder) mode = hipAddressModeClamp;
  const int within = (at % (2 * size) + 2 * size) % (2 * size);
  switch (mode) {
    case hipAddressModeWrap: return within % size;
    case hipAddressModeMirror: return within < size ? within : 2 * size - 1 - within;
    case hipAddressModeBorder: return at < 0 || at >= size ? -1 : at;
    default: return at < 0 ? 0 : at >= size ? size - 1 : at;
  }
}

constexpr int kAround = 40;  // texels in each direction, from -kFirst on
constexpr int kFirst = 15;
__global__ void fetch_around(hipTextureObject_t texture, float width, float height, float* out) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  out[y * kAround + x] =
      tex2D<float>(texture, (x - kFirst + 0.5f) / width, (y - kFirst + 0.5f) / height);
}

// Each pair of address modes. HIP 5 and 6 use that of the first axis for both.
void modes() {
  const std::vector<float> texels = numbers(1);
  hipArray_t array = new_array();
  CHECK(hipMemcpy2DToArray(array, 0, 0, texels.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  for (int pair = 0; pair < 32; ++pair) {
    const bool normalized = pair >= 16;
    hipResourceDesc resource = {};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array;
    hipTextureDesc desc = {};
    desc.readMode = hipReadModeElementType;
    desc.normalizedCoords = normalized;
    desc.addressMode[0] = static_cast<hipTextureAddressMode>(pair & 3);
    desc.addressMode[1] = static_cast<hipTextureAddressMode>(pair >> 2 & 3);
    hipTextureObject_t texture = nullptr;
    CHECK(hipCreateTextureObject(&texture, &resource, &desc, nullptr));
    float* out = new_buffer(numbers(0, kAround * kAround));  // one for each, to be compared
    fetch_around<<<kAround, kAround>>>(texture, normalized ? kWidth : 1, normalized ? kHeight : 1,
                                       out);
    std::vector<float> expected[2];
    for (int y = -kFirst; y < kAround - kFirst; ++y) {
      for (int x = -kFirst; x < kAround - kFirst; ++x) {
        const int column = folded(x, kWidth, desc.addressMode[0], normalized);
        for (int axis = 0; axis < 2; ++axis) {
          const int row = folded(y, kHeight, desc.addressMode[axis], normalized);
          const bool border = column < 0 || row < 0;
          expected[axis].push_back(border ? 0 : texels[static_cast<size_t>(row * kWidth + column)]);
        }
      }
    }
    const std::vector<float> got = held(out, kAround * kAround);
    expect(got == expected[0] || got == expected[1], "address modes");
  }
}

void surfaces() {
  hipArray_t array = new_array();
  const std::vector<float> first = numbers(1);
  CHECK(hipMemcpy2DToArray(array, 0, 0, first.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipSurfaceObject_t surface = nullptr;
  CHECK(hipCreateSurfaceObject(&surface, &resource));
  for (int i = 0; i < 3; ++i) double_surface<<<kHeight, kWidth>>>(surface);
  std::vector<float> expected = first;
  for (float& value : expected) value *= 8;
  expect(held(array) == expected, "what a surface wrote");
  // Read by a texture, and written once more: its last contents are compared.
  hipTextureObject_t texture = texture_of(array);
  float* out = new_buffer(numbers(0));
  fetch_2d<<<kHeight, kWidth>>>(texture, out);
  expect(held(out) == expected, "what a texture reads of it");
  double_surface<<<kHeight, kWidth>>>(surface);
  CHECK(hipDeviceSynchronize());
  CHECK(hipDestroyTextureObject(texture));
  CHECK(hipDestroySurfaceObject(surface));
}

void graph() {
  hipArray_t array = new_array();
  const std::vector<float> first = numbers(5);
  float* in = new_buffer(first);
  float* out = new_buffer(numbers(0));
  hipTextureObject_t texture = texture_of(array);
  hipGraph_t made = nullptr;
  CHECK(hipGraphCreate(&made, 0));
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(in, kRow, kWidth, kHeight);
  copy.dstArray = array;
  copy.extent = make_hipExtent(kWidth, kHeight, 1);
  copy.kind = hipMemcpyDeviceToDevice;
  hipGraphNode_t copied = nullptr, fetched = nullptr, scaled = nullptr;
  CHECK(hipGraphAddMemcpyNode(&copied, made, nullptr, 0, &copy));
  void* arguments[] = {&texture, &out};
  hipKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(fetch_2d);
  kernel.gridDim = dim3(kHeight);
  kernel.blockDim = dim3(kWidth);
  kernel.kernelParams = arguments;
  CHECK(hipGraphAddKernelNode(&fetched, made, &copied, 1, &kernel));
  float by = 2;
  void* scale_arguments[] = {&in, &by};
  kernel.func = reinterpret_cast<void*>(scale);
  kernel.kernelParams = scale_arguments;
  CHECK(hipGraphAddKernelNode(&scaled, made, &fetched, 1, &kernel));
  hipGraphExec_t executable = nullptr;
  CHECK(hipGraphInstantiate(&executable, made, nullptr, nullptr, 0));
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  for (int i = 0; i < 3; ++i) CHECK(hipGraphLaunch(executable, stream));
  CHECK(hipStreamSynchronize(stream));
  std::vector<float> expected = first;
  for (float& value : expected) value *= 4;
  expect(held(out) == expected, "a graph with an array");
  CHECK(hipGraphExecDestroy(executable));
  CHECK(hipGraphDestroy(made));
  CHECK(hipStreamDestroy(stream));
}

// What a range needs was made before it.
void ranges() {
  hipArray_t array = new_array();
  const std::vector<float> first = numbers(1);
  CHECK(hipMemcpy2DToArray(array, 0, 0, first.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  hipTextureObject_t texture = texture_of(array);
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipSurfaceObject_t surface = nullptr;
  CHECK(hipCreateSurfaceObject(&surface, &resource));
  float* out = new_buffer(numbers(0));
  std::vector<float> expected = first;
  for (int i = 0; i < 3; ++i) {
    gfxgraph_range_begin("step");
    double_surface<<<kHeight, kWidth>>>(surface);
    fetch_2d<<<kHeight, kWidth>>>(texture, out);
    CHECK(hipDeviceSynchronize());
    gfxgraph_range_end("step");
    for (float& value : expected) value *= 2;
    expect(held(out) == expected, "a step");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  if (std::strcmp(mode, "arrays") == 0) arrays();
  else if (std::strcmp(mode, "textures") == 0) textures();
  else if (std::strcmp(mode, "objects") == 0) objects();
  else if (std::strcmp(mode, "modes") == 0) modes();
  else if (std::strcmp(mode, "surfaces") == 0) surfaces();
  else if (std::strcmp(mode, "graph") == 0) graph();
  else if (std::strcmp(mode, "ranges") == 0) ranges();
  else return 2;
  std::puts("ok");
  return 0;
}

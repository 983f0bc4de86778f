// Textures and surfaces against a plain implementation of the rules of texture fetching: linear
// memory, pitched memory and arrays of one to three dimensions; every format, filter, address mode
// and coordinate mode that HIP offers for them.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "check.h"

namespace {

// ---- the rules ----

int fold(long index, int size, hipTextureAddressMode mode) {  // -1: the border
  switch (mode) {
    case hipAddressModeWrap: return static_cast<int>(((index % size) + size) % size);
    case hipAddressModeMirror: {
      const long twice = ((index % (2 * size)) + 2 * size) % (2 * size);
      return static_cast<int>(twice < size ? twice : 2 * size - 1 - twice);
    }
    case hipAddressModeBorder: return index < 0 || index >= size ? -1 : static_cast<int>(index);
    default: return static_cast<int>(index < 0 ? 0 : index >= size ? size - 1 : index);
  }
}

struct Rules {
  hipTextureAddressMode mode = hipAddressModeClamp;
  bool linear = false;
  bool normalized = false;
};

// Texels and weights along one axis. A fraction has 8 bits.
struct Axis {
  int texel[2] = {0, 0};
  double weight[2] = {1, 0};
};
Axis axis_of(double coordinate, int size, const Rules& rules) {
  const double at = rules.normalized ? coordinate * size : coordinate;
  const bool repeats = rules.mode == hipAddressModeWrap || rules.mode == hipAddressModeMirror;
  const hipTextureAddressMode mode =
      repeats && !rules.normalized ? hipAddressModeClamp : rules.mode;
  Axis axis;
  if (!rules.linear) {
    axis.texel[0] = axis.texel[1] = fold(std::lround(std::floor(at)), size, mode);
    return axis;
  }
  const double fixed = std::floor((at - 0.5) * 256 + 0.5) / 256;
  const long first = std::lround(std::floor(fixed));
  axis.texel[0] = fold(first, size, mode);
  axis.texel[1] = fold(first + 1, size, mode);
  axis.weight[1] = fixed - std::floor(fixed);
  axis.weight[0] = 1 - axis.weight[1];
  return axis;
}

// A host image of `C` components of type T.
template <typename T, int C>
struct HostImage {
  int width = 1, height = 1, depth = 1;
  std::vector<T> texels;
  HostImage(int w, int h, int d) : width(w), height(h), depth(d) {
    texels.resize(static_cast<size_t>(w) * h * d * C);
    uint32_t state = 12345;
    for (T& t : texels) {
      state = state * 1664525u + 1013904223u;
      if constexpr (std::is_floating_point_v<T>)
        t = static_cast<T>(static_cast<int>(state >> 16) - 32768) / 64;
      else
        t = static_cast<T>(state >> 8);
    }
  }
  double read(int x, int y, int z, int c, bool fraction) const {
    if (x < 0 || y < 0 || z < 0) return 0;
    const double raw =
        texels[((static_cast<size_t>(z) * height + y) * width + x) * C + c];
    if (!fraction) return raw;
    const double most = static_cast<double>(std::numeric_limits<T>::max());
    return std::max(raw / most, -1.0);
  }
};

template <typename T, int C>
double expected(const HostImage<T, C>& image, const Rules& rules, const float (&at)[3],
                int component, bool fraction) {
  const Axis x = axis_of(at[0], image.width, rules);
  const Axis y = image.height > 1 ? axis_of(at[1], image.height, rules) : Axis();
  const Axis z = image.depth > 1 ? axis_of(at[2], image.depth, rules) : Axis();
  double sum = 0;
  for (int k = 0; k < 8; ++k) {
    const int i = k & 1, j = k >> 1 & 1, l = k >> 2;
    const double weight = x.weight[i] * y.weight[j] * z.weight[l];
    if (weight != 0)
      sum += weight * image.read(x.texel[i], y.texel[j], z.texel[l], component, fraction);
  }
  return sum;
}

// ---- kernels ----

struct Point {
  float at[3];
};

template <typename V>
__global__ void fetch_1d(hipTextureObject_t texture, const Point* points, V* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = tex1D<V>(texture, points[i].at[0]);
}
template <typename V>
__global__ void fetch_2d(hipTextureObject_t texture, const Point* points, V* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = tex2D<V>(texture, points[i].at[0], points[i].at[1]);
}
template <typename V>
__global__ void fetch_3d(hipTextureObject_t texture, const Point* points, V* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = tex3D<V>(texture, points[i].at[0], points[i].at[1], points[i].at[2]);
}
template <typename V>
__global__ void fetch_linear(hipTextureObject_t texture, V* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = tex1Dfetch<V>(texture, i);
}

// Adds 1 to what a surface holds; coordinates behind its end are ignored, and read as 0.
template <typename T>
__global__ void surface_1d(hipSurfaceObject_t surface, T* seen, int width) {
  const int x = static_cast<int>(threadIdx.x);
  T value;
  surf1Dread(&value, surface, x * static_cast<int>(sizeof(T)));
  seen[x] = value;
  value += 1;
  surf1Dwrite(value, surface, x * static_cast<int>(sizeof(T)));
}
template <typename T>
__global__ void surface_2d(hipSurfaceObject_t surface, T* seen) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  T value;
  surf2Dread(&value, surface, x * static_cast<int>(sizeof(T)), y);
  seen[y * blockDim.x + x] = value;
  value += 1;
  surf2Dwrite(value, surface, x * static_cast<int>(sizeof(T)), y);
}
template <typename T>
__global__ void surface_3d(hipSurfaceObject_t surface, T* seen) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x),
            z = static_cast<int>(blockIdx.y);
  T value;
  surf3Dread(&value, surface, x * static_cast<int>(sizeof(T)), y, z);
  seen[(z * gridDim.x + y) * blockDim.x + x] = value;
  value += 1;
  surf3Dwrite(value, surface, x * static_cast<int>(sizeof(T)), y, z);
}

__global__ void fetch_layer(hipTextureObject_t texture, float* out, int layer) {
  out[threadIdx.x] = tex2DLayered<float>(texture, static_cast<float>(threadIdx.x), 1, layer);
}
// Derivatives and a level of detail choose nothing where there are no mip levels.
__global__ void fetch_levels(hipTextureObject_t texture, float* out) {
  const auto x = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = tex2DGrad<float>(texture, x, 1, float2(1, 0), float2(0, 1));
  out[blockDim.x + threadIdx.x] = tex2DLod<float>(texture, x, 1, 2.0f);
}
// HIP counts components from 1.
__global__ void fetch_four(hipTextureObject_t texture, float4* out) {
  out[threadIdx.x] = tex2Dgather<float4>(texture, static_cast<float>(threadIdx.x) + 1, 2, 1);
}

// ---- types ----

template <typename T>
struct Kind {
  static constexpr hipChannelFormatKind kKind = std::is_floating_point_v<T> ? hipChannelFormatKindFloat
                                                : std::is_signed_v<T> ? hipChannelFormatKindSigned
                                                                      : hipChannelFormatKindUnsigned;
};
template <typename T, int C>
hipChannelFormatDesc format_of() {
  constexpr int bits = 8 * sizeof(T);
  return hipCreateChannelDesc(bits, C >= 2 ? bits : 0, C == 4 ? bits : 0, C == 4 ? bits : 0,
                              Kind<T>::kKind);
}
template <typename T, int C>
using Vector = HIP_vector_type<T, C>;

// From before the image to behind it. A filter keeps 8 bits of a fraction: its points lie on such
// steps, those of a point read between them, so that the rounding of a normalized coordinate
// changes nothing.
std::vector<Point> points_for(int width, int height, int depth, const Rules& rules) {
  std::vector<Point> points;
  uint32_t state = 99;
  const auto next = [&](int size) {
    state = state * 1664525u + 1013904223u;
    const int span = 3 * size * 256;
    const float step = static_cast<float>(static_cast<int>((state >> 4) % span) - size * 256);
    const float at = (rules.linear ? step : step + 0.5f) / 256;
    return rules.normalized ? at / static_cast<float>(size) : at;
  };
  for (int n = 0; n < 333; ++n)
    points.push_back({{next(width), next(height), next(depth)}});
  return points;
}

template <typename T>
T* on_device(const std::vector<T>& host) {
  T* device = nullptr;
  HIP_OK(hipMalloc(reinterpret_cast<void**>(&device), host.size() * sizeof(T)));
  HIP_OK(hipMemcpy(device, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
  return device;
}

int cases = 0;

template <typename T, int C>
void launch(int dimensions, bool fraction, hipTextureObject_t texture, const Point* points,
            void* out, int n) {
  const dim3 grid((n + 63) / 64), block(64);
  using F = Vector<float, C>;
  using V = Vector<T, C>;
  const auto go = [&](auto* result) {
    if (dimensions == 1) fetch_1d<<<grid, block>>>(texture, points, result, n);
    if (dimensions == 2) fetch_2d<<<grid, block>>>(texture, points, result, n);
    if (dimensions == 3) fetch_3d<<<grid, block>>>(texture, points, result, n);
  };
  fraction ? go(static_cast<F*>(out)) : go(static_cast<V*>(out));
}

template <typename T, int C>
void compare(const HostImage<T, C>& image, int dimensions, const hipResourceDesc& resource,
             const Rules& rules, bool fraction) {
  hipTextureDesc how = {};
  for (auto& mode : how.addressMode) mode = rules.mode;
  how.filterMode = rules.linear ? hipFilterModeLinear : hipFilterModePoint;
  how.readMode = fraction ? hipReadModeNormalizedFloat : hipReadModeElementType;
  how.normalizedCoords = rules.normalized;
  hipTextureObject_t texture = nullptr;
  HIP_OK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  const auto points = points_for(image.width, image.height, image.depth, rules);
  Point* const at = on_device(points);
  const size_t bytes = points.size() * C * 4;
  void* out = nullptr;
  HIP_OK(hipMalloc(&out, bytes));
  launch<T, C>(dimensions, fraction, texture, at, out, static_cast<int>(points.size()));
  HIP_OK(hipGetLastError());
  std::vector<unsigned char> got(bytes);
  HIP_OK(hipMemcpy(got.data(), out, bytes, hipMemcpyDeviceToHost));
  int wrong = 0;
  for (size_t n = 0; n < points.size(); ++n) {
    for (int c = 0; c < C; ++c) {
      double value = 0;
      const size_t place = n * C + c;
      if (fraction || std::is_floating_point_v<T>)
        value = static_cast<double>(reinterpret_cast<const float*>(got.data())[place]);
      else
        value = static_cast<double>(reinterpret_cast<const T*>(got.data())[place]);
      const double want = expected(image, rules, points[n].at, c, fraction);
      // A point read is exact but for the rounding of a fraction to a float; so is a filter's sum,
      // whose texels are below 512 or fractions.
      const double slack = fraction ? 1e-7 : rules.linear ? 1e-4 : 0;
      if (std::fabs(value - want) > slack && wrong++ < 3)
        std::printf("%dD %zu bytes x%d mode %d linear %d normalized %d fraction %d: (%g,%g,%g)[%d] is %g, not %g\n",
                    dimensions, sizeof(T), C, rules.mode, rules.linear, rules.normalized, fraction,
                    points[n].at[0], points[n].at[1], points[n].at[2], c, value, want);
    }
  }
  CHECK(wrong == 0);
  ++cases;
  // HIP 5.2.3 frees an array of integers with the first texture that reads them as integers.
  const bool frees_array = resource.resType == hipResourceTypeArray && !fraction &&
                           !std::is_floating_point_v<T>;
  if (!frees_array) HIP_OK(hipDestroyTextureObject(texture));
  HIP_OK(hipFree(at));
  HIP_OK(hipFree(out));
}

// Every way to read one image.
template <typename T, int C>
void all_ways(const HostImage<T, C>& image, int dimensions, const hipResourceDesc& resource) {
  constexpr bool real = std::is_floating_point_v<T>;
  for (const bool fraction : {false, true}) {
    if (fraction && (real || sizeof(T) == 4)) continue;
    for (const bool linear : {false, true}) {
      if (linear && !real && !fraction) continue;
      for (const bool normalized : {false, true}) {
        for (const auto mode : {hipAddressModeWrap, hipAddressModeClamp, hipAddressModeMirror,
                                hipAddressModeBorder})
          compare(image, dimensions, resource, Rules{mode, linear, normalized}, fraction);
      }
    }
  }
}

template <typename T, int C>
void arrays() {
  const hipChannelFormatDesc format = format_of<T, C>();
  const HostImage<T, C> line(37, 1, 1);
  const HostImage<T, C> plane(19, 11, 1);
  const HostImage<T, C> block(9, 7, 5);
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  hipArray_t array = nullptr;
  // 1D
  HIP_OK(hipMallocArray(&array, &format, line.width, 0, 0));
  HIP_OK(hipMemcpy2DToArray(array, 0, 0, line.texels.data(), line.width * C * sizeof(T),
                            line.width * C * sizeof(T), 1, hipMemcpyHostToDevice));
  resource.res.array.array = array;
  all_ways(line, 1, resource);
  HIP_OK(hipFreeArray(array));
  // 2D
  const size_t row = plane.width * C * sizeof(T);
  HIP_OK(hipMallocArray(&array, &format, plane.width, plane.height, 0));
  HIP_OK(hipMemcpy2DToArray(array, 0, 0, plane.texels.data(), row, row, plane.height,
                            hipMemcpyHostToDevice));
  std::vector<T> back(plane.texels.size());
  HIP_OK(hipMemcpy2DFromArray(back.data(), row, array, 0, 0, row, plane.height,
                              hipMemcpyDeviceToHost));
  CHECK(back == plane.texels);
  resource.res.array.array = array;
  all_ways(plane, 2, resource);
  HIP_OK(hipFreeArray(array));
  // 3D
  HIP_OK(hipMalloc3DArray(&array, &format, make_hipExtent(block.width, block.height, block.depth),
                          0));
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(const_cast<T*>(block.texels.data()),
                                   block.width * C * sizeof(T), block.width, block.height);
  copy.dstArray = array;
  copy.extent = make_hipExtent(block.width, block.height, block.depth);
  copy.kind = hipMemcpyHostToDevice;
  HIP_OK(hipMemcpy3D(&copy));
  resource.res.array.array = array;
  all_ways(block, 3, resource);
  HIP_OK(hipFreeArray(array));
}

template <typename T, int C>
void linear_memory() {
  const HostImage<T, C> line(1000, 1, 1);
  T* const memory = on_device(line.texels);
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = format_of<T, C>();
  resource.res.linear.sizeInBytes = line.texels.size() * sizeof(T);
  hipTextureDesc how = {};
  hipTextureObject_t texture = nullptr;
  HIP_OK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  Vector<T, C>* out = nullptr;
  const int n = line.width + 24;  // those behind the end are 0
  HIP_OK(hipMalloc(reinterpret_cast<void**>(&out), n * sizeof(*out)));
  fetch_linear<<<dim3((n + 63) / 64), dim3(64)>>>(texture, out, n);
  std::vector<T> got(n * C);
  HIP_OK(hipMemcpy(got.data(), out, got.size() * sizeof(T), hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int k = 0; k < n * C; ++k) wrong += got[k] != (k < line.width * C ? line.texels[k] : T(0));
  CHECK(wrong == 0);
  ++cases;
  HIP_OK(hipDestroyTextureObject(texture));
  HIP_OK(hipFree(memory));
  HIP_OK(hipFree(out));
}

template <typename T, int C>
void pitched_memory() {
  const HostImage<T, C> plane(19, 11, 1);
  void* memory = nullptr;
  size_t pitch = 0;
  const size_t row = plane.width * C * sizeof(T);
  HIP_OK(hipMallocPitch(&memory, &pitch, row, plane.height));
  HIP_OK(hipMemcpy2D(memory, pitch, plane.texels.data(), row, row, plane.height,
                     hipMemcpyHostToDevice));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = format_of<T, C>();
  resource.res.pitch2D.width = plane.width;
  resource.res.pitch2D.height = plane.height;
  resource.res.pitch2D.pitchInBytes = pitch;
  all_ways(plane, 2, resource);
  HIP_OK(hipFree(memory));
}

// Each surface is one wider and higher than its array.
template <typename T>
void surfaces(int width, int height, int depth) {
  const hipChannelFormatDesc format = format_of<T, 1>();
  HostImage<T, 1> image(width, height, depth);
  for (T& t : image.texels) t = static_cast<T>(static_cast<int>(t) % 100);
  hipArray_t array = nullptr;
  // HIP 5.2.3 rejects hipArraySurfaceLoadStore, and makes surfaces of any array.
  if (depth > 1)
    HIP_OK(hipMalloc3DArray(&array, &format, make_hipExtent(width, height, depth), 0));
  else
    HIP_OK(hipMallocArray(&array, &format, width, height > 1 ? height : 0, 0));
  hipMemcpy3DParms copy = {};
  copy.srcPtr = make_hipPitchedPtr(image.texels.data(), width * sizeof(T), width, height);
  copy.dstArray = array;
  copy.extent = make_hipExtent(width, height, depth);
  copy.kind = hipMemcpyHostToDevice;
  HIP_OK(hipMemcpy3D(&copy));
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipSurfaceObject_t surface = nullptr;
  HIP_OK(hipCreateSurfaceObject(&surface, &resource));
  const int columns = width + 1, rows = height > 1 ? height + 1 : 1;
  T* seen = nullptr;
  const size_t count = static_cast<size_t>(columns) * rows * depth;
  HIP_OK(hipMalloc(reinterpret_cast<void**>(&seen), count * sizeof(T)));
  if (depth > 1)
    surface_3d<<<dim3(rows, depth), dim3(columns)>>>(surface, seen);
  else if (height > 1)
    surface_2d<<<dim3(rows), dim3(columns)>>>(surface, seen);
  else
    surface_1d<<<dim3(1), dim3(columns)>>>(surface, seen, width);
  HIP_OK(hipGetLastError());
  std::vector<T> read(count);
  HIP_OK(hipMemcpy(read.data(), seen, count * sizeof(T), hipMemcpyDeviceToHost));
  std::vector<T> written(image.texels.size());
  copy = {};
  copy.srcArray = array;
  copy.dstPtr = make_hipPitchedPtr(written.data(), width * sizeof(T), width, height);
  copy.extent = make_hipExtent(width, height, depth);
  copy.kind = hipMemcpyDeviceToHost;
  HIP_OK(hipMemcpy3D(&copy));
  int wrong = 0;
  for (int z = 0; z < depth; ++z) {
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < columns; ++x) {
        const bool inside = x < width && y < height;
        const size_t at = (static_cast<size_t>(z) * height + y) * width + x;
        const T got = read[(static_cast<size_t>(z) * rows + y) * columns + x];
        wrong += got != (inside ? image.texels[at] : T(0));
        if (inside) wrong += written[at] != static_cast<T>(image.texels[at] + 1);
      }
    }
  }
  if (wrong != 0)
    std::printf("surface %dx%dx%d of %zu bytes: %d wrong\n", width, height, depth, sizeof(T), wrong);
  CHECK(wrong == 0);
  ++cases;
  HIP_OK(hipDestroySurfaceObject(surface));
  HIP_OK(hipFreeArray(array));
  HIP_OK(hipFree(seen));
}

// From one array to another, and a part of it back to memory.
void copies_between_arrays() {
  const hipChannelFormatDesc format = hipCreateChannelDesc<int>();
  const HostImage<int, 1> image(13, 6, 1);
  const size_t row = image.width * sizeof(int);
  hipArray_t from = nullptr;
  hipArray_t to = nullptr;
  HIP_OK(hipMallocArray(&from, &format, image.width, image.height, 0));
  HIP_OK(hipMallocArray(&to, &format, image.width, image.height, 0));
  HIP_OK(hipMemcpy2DToArray(from, 0, 0, image.texels.data(), row, row, image.height,
                            hipMemcpyHostToDevice));
  hipMemcpy3DParms copy = {};
  copy.srcArray = from;
  copy.dstArray = to;
  copy.extent = make_hipExtent(image.width, image.height, 1);
  copy.kind = hipMemcpyDeviceToDevice;
  HIP_OK(hipMemcpy3D(&copy));
  std::vector<int> part(4 * 3);
  HIP_OK(hipMemcpy2DFromArray(part.data(), 4 * sizeof(int), to, 2 * sizeof(int), 1, 4 * sizeof(int),
                              3, hipMemcpyDeviceToHost));
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 4; ++x)
      CHECK(part[y * 4 + x] == image.texels[(y + 1) * image.width + x + 2]);
  HIP_OK(hipFreeArray(from));
  HIP_OK(hipFreeArray(to));
}

// Layers, derivatives, levels and gathers of an array of 8 x 4 texels.
void other_reads() {
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  std::vector<float> texels(8 * 4 * 3);
  for (size_t n = 0; n < texels.size(); ++n) texels[n] = static_cast<float>(n);
  float* out = nullptr;
  HIP_OK(hipMalloc(reinterpret_cast<void**>(&out), 64 * sizeof(float)));
  std::vector<float> got(64);
  const auto look = [&] {
    HIP_OK(hipGetLastError());
    HIP_OK(hipMemcpy(got.data(), out, 64 * sizeof(float), hipMemcpyDeviceToHost));
  };
  for (const unsigned layers : {3u, 0u}) {
    hipArray_t array = nullptr;
    HIP_OK(hipMalloc3DArray(&array, &format, make_hipExtent(8, 4, layers),
                            layers != 0 ? hipArrayLayered : hipArrayDefault));
    hipMemcpy3DParms copy = {};
    copy.srcPtr = make_hipPitchedPtr(texels.data(), 8 * sizeof(float), 8, 4);
    copy.dstArray = array;
    copy.extent = make_hipExtent(8, 4, layers != 0 ? layers : 1);
    copy.kind = hipMemcpyHostToDevice;
    HIP_OK(hipMemcpy3D(&copy));
    hipResourceDesc resource = {};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array;
    hipTextureDesc how = {};
    for (auto& mode : how.addressMode) mode = hipAddressModeClamp;
    hipTextureObject_t texture = nullptr;
    HIP_OK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
    if (layers != 0) {
      fetch_layer<<<1, 8>>>(texture, out, 2);
      look();
      for (int x = 0; x < 8; ++x) CHECK(got[x] == static_cast<float>(2 * 32 + 8 + x));
    } else {
      fetch_levels<<<1, 8>>>(texture, out);
      look();
      for (int x = 0; x < 8; ++x) CHECK(got[x] == texels[8 + x] && got[8 + x] == texels[8 + x]);
      fetch_four<<<1, 4>>>(texture, reinterpret_cast<float4*>(out));
      look();
      for (int x = 0; x < 4; ++x) {
        const float* const four = &got[4 * x];
        CHECK(four[0] == texels[16 + x] && four[1] == texels[17 + x]);
        CHECK(four[2] == texels[9 + x] && four[3] == texels[8 + x]);
      }
    }
    HIP_OK(hipDestroyTextureObject(texture));
    HIP_OK(hipFreeArray(array));
  }
  HIP_OK(hipFree(out));
}

template <typename T>
void all_surfaces() {
  surfaces<T>(21, 1, 1);
  surfaces<T>(21, 6, 1);
  surfaces<T>(10, 6, 4);
}

template <typename T>
void type() {
  linear_memory<T, 1>();
  linear_memory<T, 2>();
  linear_memory<T, 4>();
  pitched_memory<T, 1>();
  pitched_memory<T, 4>();
  arrays<T, 1>();
  arrays<T, 2>();
  arrays<T, 4>();
}

}  // namespace

int main() {
  int images = 0;
  HIP_OK(hipDeviceGetAttribute(&images, hipDeviceAttributeImageSupport, 0));
  CHECK(images == 1);
  type<float>();
  type<unsigned char>();
  type<char>();
  type<unsigned short>();
  type<short>();
  type<unsigned int>();
  type<int>();
  // Those of HIP 5.2.3 convert integers to floats, whatever the array holds.
  all_surfaces<float>();
  copies_between_arrays();
  other_reads();
  std::printf("%d textures and surfaces\n", cases);
  return done();
}

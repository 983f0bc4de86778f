// What HIP's calls of arrays, textures and surfaces wait for, and which of them return, as the
// table of calls says (recorder/hooks/calls/hip_calls.inc): asked of the runtime itself. Prints "ok".
#include <vector>

#include "measured_waits.h"

static char pageable[4096];

static hipArray_t array;

static Call to_array(const char* name, const void* from, hipMemcpyKind kind, hipStream_t stream) {
  return later<hipArray*, size_t, size_t, const void*, size_t, size_t, size_t, hipMemcpyKind,
               hipStream_t>(name, array, 0, 0, from, 64, 64, 4, kind, stream);
}
static Call from_array(const char* name, void* to, hipMemcpyKind kind, hipStream_t stream) {
  return later<void*, size_t, const hipArray*, size_t, size_t, size_t, size_t, hipMemcpyKind,
               hipStream_t>(name, to, 64, array, 0, 0, 64, 4, kind, stream);
}

// On the null stream.
static std::vector<Call> copies_of_arrays(Word* to, bool later_ones) {
  std::vector<Call> calls = {
      CALL(hipMemcpy2DToArray, array, 0, 0, pageable, 64, 64, 4, hipMemcpyHostToDevice),
      CALL(hipMemcpy2DToArray, array, 0, 0, to, 64, 64, 4, hipMemcpyDeviceToDevice),
      CALL(hipMemcpy2DFromArray, pageable, 64, array, 0, 0, 64, 4, hipMemcpyDeviceToHost),
      CALL(hipMemcpy2DFromArray, to, 64, array, 0, 0, 64, 4, hipMemcpyDeviceToDevice),
      CALL(hipMemcpyToArray, array, 0, 0, pageable, 256, hipMemcpyHostToDevice),
      CALL(hipMemcpyFromArray, pageable, array, 0, 0, 256, hipMemcpyDeviceToHost),
      CALL(hipMemcpyAtoH, pageable, array, 0, 64),
      CALL(hipMemcpyHtoA, array, 0, pageable, 64),
  };
  if (!later_ones) return calls;
  static hipArray_t second = [] {
    const hipChannelFormatDesc texels = hipCreateChannelDesc<float>();
    hipArray_t made;
    CHECK(hipMallocArray(&made, &texels, 16, 4, 0));
    return made;
  }();
  calls.push_back(later<void*, hipArray*, size_t, size_t>("hipMemcpyAtoD", to, array, 0, 64));
  calls.push_back(later<hipArray*, size_t, void*, size_t>("hipMemcpyDtoA", array, 0, to, 64));
  calls.push_back(later<hipArray*, size_t, hipArray*, size_t, size_t>("hipMemcpyAtoA", second, 0,
                                                                      array, 0, 64));
  calls.push_back(later<hipArray*, size_t, size_t, const hipArray*, size_t, size_t, size_t, size_t,
                        hipMemcpyKind>("hipMemcpy2DArrayToArray", second, 0, 0, array, 0, 0, 64, 4,
                                       hipMemcpyDeviceToDevice));
  return calls;
}

static void ends_of_images(Word* to, hipStream_t stream, bool free_waits) {
  const hipChannelFormatDesc texels = hipCreateChannelDesc<float>();
  const auto end_of_array = stream != other || free_waits ? blocks : returns;
  hipArray_t own;
  CHECK(hipMallocArray(&own, &texels, 16, 4, 0));
  end_of_array("hipFreeArray", stream, [&] { CHECK(hipFreeArray(own)); });
  CHECK(hipMallocArray(&own, &texels, 16, 4, 0));
  end_of_array("hipArrayDestroy", stream, [&] { CHECK(hipArrayDestroy(own)); });
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = to;
  resource.res.linear.desc = texels;
  resource.res.linear.sizeInBytes = 4096;
  hipTextureDesc plain{};
  hipTextureObject_t texture;
  CHECK(hipCreateTextureObject(&texture, &resource, &plain, nullptr));
  blocks("hipDestroyTextureObject", stream, [&] { CHECK(hipDestroyTextureObject(texture)); });
  CHECK(hipCreateTextureObject(&texture, &resource, &plain, nullptr));
  blocks("hipTexObjectDestroy", stream, [&] { CHECK(hipTexObjectDestroy(texture)); });
  resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipSurfaceObject_t surface;
  CHECK(hipCreateSurfaceObject(&surface, &resource));
  blocks(HIP_VERSION < 60000000 ? "_Z23hipDestroySurfaceObjectP13__hip_surface"
                                : "hipDestroySurfaceObject",
         stream, [&] { CHECK(hipDestroySurfaceObject(surface)); });
}

static void all_calls_of_arrays(Word* to, int version) {
  const bool always = version < 50300000;   // kArrayCopiesAlwaysWait
  const bool staged = version >= 70000000;  // kRowsStagedFrom
  const bool later_ones = version >= 60000000;
  const hipChannelFormatDesc texels = hipCreateChannelDesc<float>();
  CHECK(hipMallocArray(&array, &texels, 16, 4, 0));
  for (hipStream_t stream : {hipStream_t{nullptr}, blocking, other}) {
    ends_of_images(to, stream, version >= 50700000);  // kUnregisterWaitsForDevice
    std::vector<Call> waiting = {
        from_array("hipMemcpy2DFromArrayAsync", pageable, hipMemcpyDeviceToHost, stream)};
    std::vector<Call> returning;
    (staged ? returning : waiting)
        .push_back(to_array("hipMemcpy2DToArrayAsync", pageable, hipMemcpyHostToDevice, stream));
    (always ? waiting : returning)
        .push_back(to_array("hipMemcpy2DToArrayAsync", to, hipMemcpyDeviceToDevice, stream));
    if (later_ones) {
      waiting.push_back(later<void*, hipArray*, size_t, size_t, hipStream_t>(
          "hipMemcpyAtoHAsync", pageable, array, 0, 64, stream));
      (staged ? returning : waiting)
          .push_back(later<hipArray*, size_t, const void*, size_t, hipStream_t>(
              "hipMemcpyHtoAAsync", array, 0, pageable, 64, stream));
    }
    all_block(waiting, stream);
    all_return(returning, stream);
    const auto null_stream = copies_of_arrays(to, later_ones);
    (stream == other ? all_return : all_block)(null_stream, stream);
  }
  if (version < 50700000) return;  // it has none of these
  const hipStream_t null = nullptr;
  std::vector<Call> of_thread = {
      from_array("hipMemcpy2DFromArrayAsync_spt", pageable, hipMemcpyDeviceToHost, null),
      later<hipArray*, size_t, size_t, const void*, size_t, size_t, size_t, hipMemcpyKind>(
          "hipMemcpy2DToArray_spt", array, 0, 0, pageable, 64, 64, 4, hipMemcpyHostToDevice),
      later<void*, size_t, const hipArray*, size_t, size_t, size_t, size_t, hipMemcpyKind>(
          "hipMemcpy2DFromArray_spt", pageable, 64, array, 0, 0, 64, 4, hipMemcpyDeviceToHost),
      later<void*, const hipArray*, size_t, size_t, size_t, hipMemcpyKind>(
          "hipMemcpyFromArray_spt", pageable, array, 0, 0, 256, hipMemcpyDeviceToHost)};
  all_block(of_thread, hipStreamPerThread);
  (staged ? all_return : all_block)(
      {to_array("hipMemcpy2DToArrayAsync_spt", pageable, hipMemcpyHostToDevice, null)},
      hipStreamPerThread);
}

int main() {
  int version = 0;
  CHECK(hipRuntimeGetVersion(&version));
  make_streams();
  all_calls_of_arrays(words, version);  // HIP copies from the beginning of buffers alone
  CHECK(hipDeviceSynchronize());
  std::printf("ok\n");
}

// What HIP's calls wait for, as the table of calls says (recorder/hooks/calls/hip_calls.inc): asked of
// the runtime itself. Prints "ok". Modes:
//   waits         what must be done when a call has returned is done
//   returns       calls return while a kernel runs that the host holds
//   beside        whether calls about a stream wait for the null stream, too
//   calls MODULE  every call of the table that waits does so until the host lets the kernel end
//   graphs        hipGraphExecDestroy returns
//   reset         hipDeviceReset waits
// program_array_waits.hip has the calls of arrays, textures and surfaces. Streams that share a
// hardware queue wait for each other when one is destroyed: under the recorder, which has a stream,
// too, more queues are needed (GPU_MAX_HW_QUEUES). tests/recorder/calls_test.cpp fails for a call
// that waits by the table and is called by neither program.
#include <dlfcn.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "measured_waits.h"

__device__ Word variable[64];
static char pageable[4096], elsewhere[4096];

static hip_Memcpy2D driver_plane(Word* to, const char* from) {
  hip_Memcpy2D plane{};
  plane.dstMemoryType = hipMemoryTypeDevice;
  plane.dstDevice = to;
  plane.srcMemoryType = hipMemoryTypeHost;
  plane.srcHost = from;
  plane.srcPitch = plane.dstPitch = 64;
  plane.WidthInBytes = 32;
  plane.Height = 4;
  return plane;
}

static HIP_MEMCPY3D driver_box(Word* to, const char* from) {
  HIP_MEMCPY3D box{};
  box.dstMemoryType = hipMemoryTypeDevice;
  box.dstDevice = to;
  box.srcMemoryType = hipMemoryTypeHost;
  box.srcHost = from;
  box.srcPitch = box.dstPitch = 64;
  box.srcHeight = box.dstHeight = 4;
  box.WidthInBytes = 32;
  box.Height = 4;
  box.Depth = 2;
  return box;
}

static hipMemcpy3DParms copied_box(void* to, void* from, hipMemcpyKind kind, size_t depth) {
  hipMemcpy3DParms box{};
  box.srcPtr = make_hipPitchedPtr(from, 64, 64, 4);
  box.dstPtr = make_hipPitchedPtr(to, 64, 64, 4);
  box.extent = make_hipExtent(32, 4, depth);
  box.kind = kind;
  return box;
}

// On the null stream: they wait for it and for all that blocks it.
static std::vector<Call> calls_of_null_stream(Word* to) {
  const void* const symbol = HIP_SYMBOL(variable);
  static hipMemcpy3DParms box = copied_box(to, pageable, hipMemcpyHostToDevice, 2);
  static hip_Memcpy2D plane = driver_plane(to, pageable);
  static HIP_MEMCPY3D driver = driver_box(to, pageable);
  const hipPitchedPtr pitched = make_hipPitchedPtr(to, 64, 64, 4);
  const hipExtent extent = make_hipExtent(32, 4, 2);
  return {
      CALL(hipMemset, to, 0, 64),
      CALL(hipMemsetD8, to, 0, 64),
      CALL(hipMemsetD16, to, 0, 32),
      CALL(hipMemsetD32, to, 0, 16),
      CALL(hipMemset2D, to, 64, 0, 32, 4),
      CALL(hipMemset3D, pitched, 0, extent),
      CALL(hipMemcpy, pageable, to, 64, hipMemcpyDeviceToHost),
      CALL(hipMemcpy, to, pageable, 64, hipMemcpyHostToDevice),
      CALL(hipMemcpy, pageable, elsewhere, 64, hipMemcpyHostToHost),
      CALL(hipMemcpyHtoD, to, pageable, 64),
      CALL(hipMemcpyDtoH, pageable, to, 64),
      CALL(hipMemcpy2D, to, 64, pageable, 64, 32, 4, hipMemcpyHostToDevice),
      CALL(hipMemcpy3D, &box),
      CALL(hipMemcpyParam2D, &plane),
      CALL(hipDrvMemcpy2DUnaligned, &plane),
      CALL(hipDrvMemcpy3D, &driver),
      CALL(hipMemcpyToSymbol, symbol, pageable, 64, 0, hipMemcpyHostToDevice),
      CALL(hipMemcpyFromSymbol, pageable, symbol, 64, 0, hipMemcpyDeviceToHost),
  };
}

// Of HIP 7, on the null stream.
static std::vector<Call> later_calls(Word* to) {
  return {
      later<void*, size_t, unsigned char, size_t, size_t>("hipMemsetD2D8", to, 64, 0, 32, 4),
      later<void*, size_t, unsigned short, size_t, size_t>("hipMemsetD2D16", to, 64, 0, 16, 4),
      later<void*, size_t, unsigned int, size_t, size_t>("hipMemsetD2D32", to, 64, 0, 8, 4),
  };
}

// As the compiler names them with a null stream for each thread.
static std::vector<Call> calls_of_thread(Word* to) {
  const void* const symbol = HIP_SYMBOL(variable);
  const hipStream_t null = nullptr;
  static hipMemcpy3DParms box = copied_box(to, pageable, hipMemcpyHostToDevice, 2);
  static hipMemcpy3DParms received = copied_box(pageable, to, hipMemcpyDeviceToHost, 2);
  const hipPitchedPtr pitched = make_hipPitchedPtr(to, 64, 64, 4);
  const hipExtent extent = make_hipExtent(32, 4, 2);
  return {
      later<void*, int, size_t>("hipMemset_spt", to, 0, 64),
      later<void*, size_t, int, size_t, size_t>("hipMemset2D_spt", to, 64, 0, 32, 4),
      later<hipPitchedPtr, int, hipExtent>("hipMemset3D_spt", pitched, 0, extent),
      later<void*, const void*, size_t, hipMemcpyKind>("hipMemcpy_spt", to, pageable, 64,
                                                       hipMemcpyHostToDevice),
      later<void*, size_t, const void*, size_t, size_t, size_t, hipMemcpyKind>(
          "hipMemcpy2D_spt", to, 64, pageable, 64, 32, 4, hipMemcpyHostToDevice),
      later<const hipMemcpy3DParms*>("hipMemcpy3D_spt", &box),
      later<const void*, const void*, size_t, size_t, hipMemcpyKind>(
          "hipMemcpyToSymbol_spt", symbol, pageable, 64, 0, hipMemcpyHostToDevice),
      later<void*, const void*, size_t, size_t, hipMemcpyKind>(
          "hipMemcpyFromSymbol_spt", pageable, symbol, 64, 0, hipMemcpyDeviceToHost),
      later<hipStream_t>("hipStreamSynchronize_spt", null),
      // Asynchronous, with an end in plain memory.
      later<void*, const void*, size_t, hipMemcpyKind, hipStream_t>(
          "hipMemcpyAsync_spt", pageable, to, 64, hipMemcpyDeviceToHost, null),
      later<void*, size_t, const void*, size_t, size_t, size_t, hipMemcpyKind, hipStream_t>(
          "hipMemcpy2DAsync_spt", pageable, 64, to, 64, 32, 4, hipMemcpyDeviceToHost, null),
      later<void*, const void*, size_t, size_t, hipMemcpyKind, hipStream_t>(
          "hipMemcpyFromSymbolAsync_spt", pageable, symbol, 64, 0, hipMemcpyDeviceToHost, null),
      later<const hipMemcpy3DParms*, hipStream_t>("hipMemcpy3DAsync_spt", &received, null),
  };
}

// One copy by HIP 7's call for lists of copies.
static Call list_of_one(void* to, void* from, hipStream_t stream) {
  static void* ends[8][2];
  static size_t bytes = 64, failed = 0, used = 0;
  void** const end = ends[used++ % 8];
  end[0] = to;
  end[1] = from;
  return later<void**, void**, size_t*, size_t, void*, size_t*, size_t, size_t*, hipStream_t>(
      "hipMemcpyBatchAsync", end, end + 1, &bytes, 1, nullptr, nullptr, 0, &failed, stream);
}

// On a stream that they name.
static std::vector<Call> calls_of_stream(Word* to, hipStream_t stream, bool staged,
                                         bool rows_staged) {
  const void* const symbol = HIP_SYMBOL(variable);
  static hipMemcpy3DParms box = copied_box(pageable, to, hipMemcpyDeviceToHost, 2);
  static hip_Memcpy2D plane = driver_plane(to, pageable);
  static HIP_MEMCPY3D driver = driver_box(to, pageable);
  std::vector<Call> calls = {
      CALL(hipStreamSynchronize, stream),
      CALL(hipEventSynchronize, end_of_held),
      CALL(hipMemcpyWithStream, pageable, to, 64, hipMemcpyDeviceToHost, stream),
      CALL(hipMemcpyAsync, pageable, to, 64, hipMemcpyDeviceToHost, stream),
      CALL(hipMemcpyAsync, pageable, elsewhere, 64, hipMemcpyHostToHost, stream),
      CALL(hipMemcpyDtoHAsync, pageable, to, 64, stream),
      CALL(hipMemcpyFromSymbolAsync, pageable, symbol, 64, 0, hipMemcpyDeviceToHost, stream),
      CALL(hipMemcpy2DAsync, pageable, 64, to, 64, 32, 4, hipMemcpyDeviceToHost, stream),
      CALL(hipMemcpy3DAsync, &box, stream),
      list_of_one(pageable, to, stream),
      list_of_one(pageable, elsewhere, stream),
  };
  if (!rows_staged) {
    calls.push_back(
        CALL(hipMemcpy2DAsync, to, 64, pageable, 64, 32, 4, hipMemcpyHostToDevice, stream));
    calls.push_back(CALL(hipMemcpyParam2DAsync, &plane, stream));
    calls.push_back(CALL(hipDrvMemcpy3DAsync, &driver, stream));
  }
  if (staged) return calls;
  calls.push_back(CALL(hipMemcpyAsync, to, pageable, 64, hipMemcpyHostToDevice, stream));
  calls.push_back(CALL(hipMemcpyHtoDAsync, to, pageable, 64, stream));
  calls.push_back(
      CALL(hipMemcpyToSymbolAsync, symbol, pageable, 64, 0, hipMemcpyHostToDevice, stream));
  return calls;
}

// Between device memory on the null stream.
static std::vector<Call> calls_on_device(Word* to) {
  const void* const symbol = HIP_SYMBOL(variable);
  static hipMemcpy3DParms box = copied_box(to, to + 1024, hipMemcpyDeviceToDevice, 2);
  return {
      CALL(hipMemcpy, to, to + 1024, 64, hipMemcpyDeviceToDevice),
      CALL(hipMemcpyDtoD, to, to + 1024, 64),
      CALL(hipMemcpyPeer, to, 0, to + 1024, 0, 64),
      CALL(hipMemcpy2D, to, 64, to + 1024, 64, 32, 4, hipMemcpyDeviceToDevice),
      CALL(hipMemcpy3D, &box),
      CALL(hipMemcpyToSymbol, symbol, to, 64, 0, hipMemcpyDeviceToDevice),
  };
}

#if HIP_VERSION >= 70200000
static std::vector<Call> asynchronous_calls_of_7(Word* to, hipStream_t stream) {
  static hipMemcpy3DPeerParms box{};
  box.srcPtr = make_hipPitchedPtr(to + 1024, 64, 64, 4);
  box.dstPtr = make_hipPitchedPtr(to, 64, 64, 4);
  box.extent = make_hipExtent(32, 4, 2);
  return {
      CALL(hipMemcpy3DPeer, &box),
      CALL(hipMemcpy3DPeerAsync, &box, stream),
      list_of_one(to, to + 1024, stream),
      list_of_one(to, pageable, stream),
  };
}
#endif

static std::vector<Call> asynchronous_calls(Word* to, hipStream_t stream) {
  return {
      CALL(hipMemcpyDtoDAsync, to, to + 1024, 64, stream),
      CALL(hipMemcpyPeerAsync, to, 0, to + 1024, 0, 64, stream),
      CALL(hipMemcpyAsync, to, to + 1024, 64, hipMemcpyDeviceToDevice, stream),
      CALL(hipMemsetAsync, to, 0, 64, stream),
  };
}

// They have nothing to do.
static std::vector<Call> idle_calls(Word* to, hipStream_t stream) {
  const void* const symbol = HIP_SYMBOL(variable);
  static hipMemcpy3DParms box = copied_box(to, pageable, hipMemcpyHostToDevice, 0);
  const hipPitchedPtr pitched = make_hipPitchedPtr(to, 64, 64, 4);
  hipMemPool_t pool;
  CHECK(hipDeviceGetDefaultMemPool(&pool, 0));
  return {
      CALL(hipFree, nullptr),
      CALL(hipHostFree, nullptr),
      CALL(hipFreeHost, nullptr),
      CALL(hipMemset, to, 0, 0),
      CALL(hipMemsetD32, to, 0, 0),
      CALL(hipMemset2D, to, 64, 0, 32, 0),
      CALL(hipMemset2D, to, 64, 0, 0, 4),
      CALL(hipMemset3D, pitched, 0, make_hipExtent(32, 4, 0)),
      CALL(hipMemcpy, pageable, to, 0, hipMemcpyDeviceToHost),
      CALL(hipMemcpy, to, pageable, 0, hipMemcpyHostToDevice),
      CALL(hipMemcpy, elsewhere, pageable, 0, hipMemcpyHostToHost),
      CALL(hipMemcpy2D, pageable, 64, to, 64, 32, 0, hipMemcpyDeviceToHost),
      CALL(hipMemcpy2D, pageable, 64, to, 64, 0, 4, hipMemcpyDeviceToHost),
      CALL(hipMemcpy3D, &box),
      CALL(hipMemcpyToSymbol, symbol, pageable, 0, 0, hipMemcpyHostToDevice),
      CALL(hipMemcpyAsync, pageable, to, 0, hipMemcpyDeviceToHost, stream),
      CALL(hipMemcpyWithStream, pageable, to, 0, hipMemcpyDeviceToHost, stream),
      CALL(hipMemPoolTrimTo, pool, 0),
  };
}

// Calls that take away what no work in flight uses.
static void ends_return(hipStream_t stream, const std::string& image) {
  hipModule_t module;
  CHECK(hipModuleLoadData(&module, image.data()));
  returns("hipModuleUnload", stream, [&] { CHECK(hipModuleUnload(module)); });
  const hipStream_t idle = new_stream(hipStreamNonBlocking);
  returns("hipStreamDestroy", stream, [&] { CHECK(hipStreamDestroy(idle)); });
#if HIP_VERSION >= 70200000
  hipLibrary_t library;
  unsigned kernels = 0;
  hipJitOption* const no_jit_options = nullptr;
  hipLibraryOption* const no_options = nullptr;
  CHECK(hipLibraryLoadData(&library, image.data(), no_jit_options, nullptr, 0, no_options, nullptr,
                           0));
  returns("hipLibraryGetKernelCount", stream,
          [&] { CHECK(hipLibraryGetKernelCount(&kernels, library)); });
  returns("hipLibraryUnload", stream, [&] { CHECK(hipLibraryUnload(library)); });
#endif
}

// What the null stream was given since: the end of a blocking stream does not wait for it, and for
// a blocking stream alone only some runtimes do.
static void null_stream_beside(bool waited_for) {
  const hipStream_t idle = new_stream(hipStreamDefault);
  returns("hipStreamDestroy beside the null stream", nullptr,
          [&] { CHECK(hipStreamDestroy(idle)); });
  const auto ask = waited_for ? blocks : returns;
  ask("hipStreamSynchronize beside the null stream", nullptr,
      [] { CHECK(hipStreamSynchronize(blocking)); });
  ask("hipStreamQuery beside the null stream", nullptr,
      [] { until_done([] { return hipStreamQuery(blocking); }); });
}

static void destroyed_graph_returns(hipStream_t stream) {
  hipGraph_t graph;
  hipGraphExec_t executable;
  hipGraphNode_t node;
  CHECK(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddEmptyNode(&node, graph, nullptr, 0));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  returns("hipGraphExecDestroy", stream, [&] { CHECK(hipGraphExecDestroy(executable)); });
  CHECK(hipGraphDestroy(graph));
}

static void all_calls(Word* to, bool copies_wait, bool staged, bool rows_staged,
                      bool unregister_waits) {
  void* memory = nullptr;
  alignas(4096) static char registered[4096];
  for (hipStream_t stream : {hipStream_t{nullptr}, blocking, other}) {
    CHECK(hipMalloc(&memory, 4096));
    blocks("hipFree", stream, [&] { CHECK(hipFree(memory)); });
    CHECK(hipHostMalloc(&memory, 4096, 0));
    blocks("hipHostFree", stream, [&] { CHECK(hipHostFree(memory)); });
    CHECK(hipHostMalloc(&memory, 4096, 0));
    blocks("hipFreeHost", stream, [&] { CHECK(hipFreeHost(memory)); });
    blocks("hipDeviceSynchronize", stream, [&] { CHECK(hipDeviceSynchronize()); });
    blocks("hipCtxSynchronize", stream, [&] {  // not every runtime supports it
      if (hipCtxSynchronize() != hipSuccess) CHECK(hipDeviceSynchronize());
    });
    blocks("hipStreamQuery", stream, [&] { until_done([&] { return hipStreamQuery(stream); }); });
    CHECK(hipHostRegister(registered, sizeof(registered), 0));
    const auto unregister = [&] { CHECK(hipHostUnregister(registered)); };
    if (stream != other || unregister_waits) {
      blocks("hipHostUnregister", stream, unregister);
    } else {
      returns("hipHostUnregister", stream, unregister);
    }
    all_block(calls_of_stream(to, stream, staged, rows_staged), stream);
    if (stream == other) {
      all_return(calls_of_null_stream(to), stream);
      continue;
    }
    all_block(calls_of_null_stream(to), stream);
    all_block(later_calls(to), stream);
    if (copies_wait) all_block(calls_on_device(to), stream);
  }
  all_block(calls_of_thread(to), hipStreamPerThread);
  if (!staged) {
    all_block({later<const void*, const void*, size_t, size_t, hipMemcpyKind, hipStream_t>(
                  "hipMemcpyToSymbolAsync_spt", HIP_SYMBOL(variable), pageable, 64, 0,
                  hipMemcpyHostToDevice, nullptr)},
              hipStreamPerThread);
  }
  blocks("hipStreamQuery_spt", hipStreamPerThread, [] {
    const auto query =
        reinterpret_cast<hipError_t (*)(hipStream_t)>(dlsym(RTLD_DEFAULT, "hipStreamQuery_spt"));
    until_done([&] { return query(nullptr); });
  });
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "waits";
  std::string image;
  if (argc > 2) {
    std::ifstream file(argv[2], std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(file), {});
  }
  int version = 0;
  CHECK(hipRuntimeGetVersion(&version));
  const bool copies_wait = version < 50700000;        // kDeviceCopyReturnsAtOnce
  const bool rows_wait = version >= 50700000;         // kPlainRowsWaitForNothing
  const bool unregister_waits = version >= 50700000;  // kUnregisterWaitsForDevice
  const bool staged = version >= 60000000;            // kPlainSourceIsStaged
  const bool rows_staged = version >= 70000000;       // kRowsStagedFrom
  make_streams();
  alignas(4096) static char registered[4096];
  void* memory = nullptr;
  Word* const to = words + 64;
  const auto unregister = [&] { CHECK(hipHostUnregister(registered)); };
  const auto set = [&] { CHECK(hipMemset(to, 0, 64)); };
  const auto copy = [&] { CHECK(hipMemcpy(to, words + 128, 64, hipMemcpyDeviceToDevice)); };
  const auto from_host = [&] { CHECK(hipMemcpy(to, pageable, 64, hipMemcpyHostToDevice)); };
  if (mode == "waits") {
    for (hipStream_t stream : {hipStream_t{nullptr}, blocking, other}) {
      CHECK(hipMalloc(&memory, 4096));
      waits("hipFree", stream, [&] { CHECK(hipFree(memory)); });
      CHECK(hipHostMalloc(&memory, 4096, 0));
      waits("hipHostFree", stream, [&] { CHECK(hipHostFree(memory)); });
      if (!staged) {
        waits("hipMemcpyAsync from pageable memory", stream,
              [&] { CHECK(hipMemcpyAsync(to, pageable, 64, hipMemcpyHostToDevice, stream)); });
      }
      if (stream == other) continue;
      waits("hipMemcpy from pageable memory", stream, from_host);
      CHECK(hipHostRegister(registered, sizeof(registered), 0));
      waits("hipHostUnregister", stream, unregister);
      waits("hipMemset", stream, set);
      if (copies_wait) waits("hipMemcpy", stream, copy);
    }
    for (const unsigned flags : {hipStreamDefault, hipStreamNonBlocking}) {
      const hipStream_t own = new_stream(flags);
      waits("hipStreamDestroy", own, [&] { CHECK(hipStreamDestroy(own)); });
    }
  } else if (mode == "beside") {
    null_stream_beside(version < 60000000);  // kStreamWaitsForNullStream
  } else if (mode == "returns") {
    for (hipStream_t stream : {hipStream_t{nullptr}, blocking, other}) {
      ends_return(stream, image);
      all_return(idle_calls(to, stream), stream);
      all_return(asynchronous_calls(to, stream), stream);
#if HIP_VERSION >= 70200000
      all_return(asynchronous_calls_of_7(to, stream), stream);
#endif
      if (stream == other || !copies_wait) all_return(calls_on_device(to), stream);
      if (!rows_wait) {
        static hipMemcpy3DParms box = copied_box(elsewhere, pageable, hipMemcpyHostToHost, 2);
        all_return({CALL(hipMemcpy2D, elsewhere, 64, pageable, 64, 32, 4, hipMemcpyHostToHost),
                    CALL(hipMemcpy3D, &box), CALL(hipMemcpy3DAsync, &box, stream)},
                   stream);
      }
      if (stream != other) continue;
      returns("hipMemset", stream, set);
      returns("hipMemcpy from pageable memory", stream, from_host);
    }
  } else if (mode == "graphs") {
    for (hipStream_t stream : {hipStream_t{nullptr}, blocking, other})
      destroyed_graph_returns(stream);
  } else if (mode == "calls") {
    all_calls(to, copies_wait, staged, rows_staged, unregister_waits);
  } else {
    blocks("hipDeviceReset", other, [] { CHECK(hipDeviceReset()); });
    std::printf("ok\n");
    return 0;
  }
  CHECK(hipDeviceSynchronize());
  std::printf("ok\n");
}

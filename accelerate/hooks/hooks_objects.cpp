// Code, devices and captures of streams.
#include "accelerate/hooks/hooks_internal.h"

using namespace gfxgraph::accelerate;

namespace {

// Nothing is thrown into a program: what memory is lacking for is not known, and not held.
template <typename Call>
void learn(Call&& call) noexcept {
  try {
    call(code());
  } catch (const std::bad_alloc&) {
  }
}

void flush(const void* caller) noexcept {
  if (Holder* const all = told(caller); all != nullptr) all->before();
}

}  // namespace

// ---- registration: before main(), when nothing may be called, and inside of dlopen() ------------

GFXGRAPH_ACCELERATE_HOOK void** __hipRegisterFatBinary(const void* wrapper) {
  auto* const function =
      reinterpret_cast<void** (*)(const void*)>(real_function(kCall___hipRegisterFatBinary));
  void** const handle = function != nullptr ? function(wrapper) : nullptr;
  if (handle != nullptr) learn([&](Code& all) { all.fat_binary(handle, wrapper); });
  return handle;
}
GFXGRAPH_ACCELERATE_HOOK void __hipRegisterFunction(void** modules, const void* stub,
                                                    char* device_stub, const char* name,
                                                    unsigned int thread_limit, void* thread,
                                                    void* block, void* block_dim, void* grid_dim,
                                                    int* wave_size) {
  using Function = void (*)(void**, const void*, char*, const char*, unsigned int, void*, void*,
                            void*, void*, int*);
  if (auto* const function = reinterpret_cast<Function>(real_function(kCall___hipRegisterFunction)))
    function(modules, stub, device_stub, name, thread_limit, thread, block, block_dim, grid_dim,
             wave_size);
  learn([&](Code& all) { all.host_function(modules, stub, name); });
}
GFXGRAPH_ACCELERATE_HOOK void __hipUnregisterFatBinary(void** modules) {
  if (Holder* const all = told(__builtin_return_address(0)); all != nullptr)
    all->forget("__hipUnregisterFatBinary");
  learn([&](Code& all) { all.remove_fat_binary(modules); });
  if (auto* const function =
          reinterpret_cast<void (*)(void**)>(real_function(kCall___hipUnregisterFatBinary)))
    function(modules);
}

// ---- modules ------------------------------------------------------------------------------------

GFXGRAPH_ACCELERATE_HOOK hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  flush(__builtin_return_address(0));
  const hipError_t result = real(kCall_hipModuleLoad, module, path);
  if (result == hipSuccess && wanted()) learn([&](Code& all) { all.module_file(*module, path); });
  return result;
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  flush(__builtin_return_address(0));
  const hipError_t result = real(kCall_hipModuleLoadData, module, image);
  if (result == hipSuccess && wanted()) learn([&](Code& all) { all.module(*module, image); });
  return result;
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image,
                                                        unsigned int count, hipJitOption* options,
                                                        void** values) {
  flush(__builtin_return_address(0));
  const hipError_t result = real(kCall_hipModuleLoadDataEx, module, image, count, options, values);
  if (result == hipSuccess && wanted()) learn([&](Code& all) { all.module(*module, image); });
  return result;
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipModuleGetFunction(hipFunction_t* function,
                                                         hipModule_t module, const char* name) {
  flush(__builtin_return_address(0));
  const hipError_t result = real(kCall_hipModuleGetFunction, function, module, name);
  if (result == hipSuccess && wanted())
    learn([&](Code& all) { all.function(*function, module, name); });
  return result;
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipModuleUnload(hipModule_t module) {
  if (Holder* const all = told(__builtin_return_address(0)); all != nullptr)
    all->forget("hipModuleUnload");
  learn([&](Code& all) { all.remove_module(module); });
  return real(kCall_hipModuleUnload, module);
}

// ---- devices ------------------------------------------------------------------------------------

GFXGRAPH_ACCELERATE_HOOK hipError_t hipSetDevice(int device) {
  // While anything is held, the first device is chosen. Frameworks choose it again before each
  // launch; that orders nothing, so that what is held stays so.
  if (device != 0) {
    if (is_of_program(__builtin_return_address(0)))
      stop_process("hipSetDevice", "another device than the first was chosen");
    flush(__builtin_return_address(0));
  }
  return real(kCall_hipSetDevice, device);
}

// ---- captures of streams: meanwhile all calls are the program's ---------------------------------

namespace {

template <typename... Args>
hipError_t begin_capture(const void* caller, int index, Args... args) {
  Holder* const all = told_always(caller);
  if (all != nullptr) all->capturing(true);
  const hipError_t result = real(index, args...);
  if (all != nullptr && result != hipSuccess) all->capturing(false);
  return result;
}

template <typename... Args>
hipError_t end_capture(const void* caller, int index, Args... args) {
  Holder* const all = told(caller);
  const hipError_t result = real(index, args...);
  // With other errors the capture goes on.
  if (all != nullptr && (result == hipSuccess || result == hipErrorStreamCaptureInvalidated ||
                         result == hipErrorStreamCaptureUnjoined))
    all->capturing(false);
  return result;
}

}  // namespace

GFXGRAPH_ACCELERATE_HOOK hipError_t hipStreamBeginCapture(hipStream_t stream,
                                                          hipStreamCaptureMode mode) {
  return begin_capture(__builtin_return_address(0), kCall_hipStreamBeginCapture, stream, mode);
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipStreamBeginCapture_spt(hipStream_t stream,
                                                              hipStreamCaptureMode mode) {
  return begin_capture(__builtin_return_address(0), kCall_hipStreamBeginCapture_spt, stream, mode);
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipStreamBeginCaptureToGraph(hipStream_t stream,
                                                                 hipGraph_t graph,
                                                                 const hipGraphNode_t* dependencies,
                                                                 const void* data, size_t count,
                                                                 hipStreamCaptureMode mode) {
  return begin_capture(__builtin_return_address(0), kCall_hipStreamBeginCaptureToGraph, stream,
                       graph, dependencies, data, count, mode);
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return end_capture(__builtin_return_address(0), kCall_hipStreamEndCapture, stream, graph);
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t* graph) {
  return end_capture(__builtin_return_address(0), kCall_hipStreamEndCapture_spt, stream, graph);
}

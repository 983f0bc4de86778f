// A fake of what HIP 7.2 to 10.2 add to the runtime that is installed: its exports with the
// documented behaviour, in front of the real libamdhip64, which does the work. A program that is
// linked to it is as one of such a runtime. No such runtime was at hand.
//
// With FAKE_NEWER_HIP_VERSION it also says that it is that version, and
// hipStreamWriteValue32 and hipStreamWaitValue32 on a capturing stream make nodes (ROCm 10.0).
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "tests/recorder/programs/newer/newer_calls.h"

#define FAKE extern "C" __attribute__((visibility("default")))

struct FakeLibrary {
  const void* image = nullptr;
  hipModule_t module = nullptr;  // loaded at the first call that needs it, as the runtime does
};

struct FakeContext {
  int device = 0;
  unsigned long long id = 0;
  bool primary = false;
  std::vector<hipStream_t> streams;
  hipStream_t join = nullptr;
  std::vector<hipEvent_t> events;
};

namespace {

// The runtime's own.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#define NEXT(name, ...)                                          \
  (next<decltype(name)>(#name) == nullptr ? hipErrorNotSupported \
                                          : next<decltype(name)>(#name)(__VA_ARGS__))

std::mutex mutex;
std::vector<FakeContext*> contexts;

int fake_version() {
  const char* const version = std::getenv("FAKE_NEWER_HIP_VERSION");
  return version == nullptr ? 0 : std::atoi(version);
}

hipError_t load(NewerLibrary library) {
  if (library == nullptr) return hipErrorInvalidValue;
  if (library->module != nullptr) return hipSuccess;
  return NEXT(hipModuleLoadData, &library->module, library->image);
}

hipError_t variable(void** address, size_t* bytes, NewerLibrary library, const char* name) {
  if ((address == nullptr && bytes == nullptr) || name == nullptr) return hipErrorInvalidValue;
  if (const hipError_t loaded = load(library); loaded != hipSuccess) return loaded;
  hipDeviceptr_t found = nullptr;
  size_t size = 0;
  if (NEXT(hipModuleGetGlobal, &found, &size, library->module, name) != hipSuccess)
    return hipErrorNotFound;
  if (address != nullptr) *address = found;
  if (bytes != nullptr) *bytes = size;
  return hipSuccess;
}

std::vector<hipStream_t> streams_of(NewerContext context) {
  const std::lock_guard lock(mutex);
  return context->streams;
}

FakeContext* make_context(int device, bool primary) {
  const std::lock_guard lock(mutex);
  auto* const made = new FakeContext;
  made->device = device;
  made->primary = primary;
  made->id = contexts.size() + 1;
  contexts.push_back(made);
  return made;
}

hipError_t join_stream(NewerContext context) {
  if (context->join != nullptr) return hipSuccess;
  return NEXT(hipStreamCreateWithFlags, &context->join, hipStreamNonBlocking);
}

bool captures(hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  return NEXT(hipStreamIsCapturing, stream, &status) == hipSuccess &&
         status == hipStreamCaptureStatusActive;
}

// A node behind the stream's last ones, which the stream's next one follows.
template <typename Add>
hipError_t add_captured(hipStream_t stream, Add&& add) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  unsigned long long id = 0;
  hipGraph_t graph = nullptr;
  const hipGraphNode_t* before = nullptr;
  size_t count = 0;
  hipError_t result =
      NEXT(hipStreamGetCaptureInfo_v2, stream, &status, &id, &graph, &before, &count);
  if (result != hipSuccess) return result;
  hipGraphNode_t node = nullptr;
  result = add(&node, graph, before, count);
  if (result != hipSuccess) return result;
  return NEXT(hipStreamUpdateCaptureDependencies, stream, &node, 1,
              hipStreamSetCaptureDependencies);
}

}  // namespace

// ---- version, values ----------------------------------------------------------------------------

FAKE hipError_t hipRuntimeGetVersion(int* version) {
  const hipError_t result = NEXT(hipRuntimeGetVersion, version);
  if (result == hipSuccess && fake_version() != 0) *version = fake_version();
  return result;
}
FAKE hipError_t hipStreamWriteValue32(hipStream_t stream, void* address, uint32_t value,
                                      unsigned flags) {
  if (fake_version() == 0 || !captures(stream))
    return NEXT(hipStreamWriteValue32, stream, address, value, flags);
  hipMemsetParams set{};
  set.dst = address;
  set.elementSize = 4;
  set.width = 1;
  set.height = 1;
  set.value = value;
  return add_captured(stream, [&](hipGraphNode_t* node, hipGraph_t graph,
                                  const hipGraphNode_t* before, size_t count) {
    return NEXT(hipGraphAddMemsetNode, node, graph, before, count, &set);
  });
}
// The order that it makes in the graph: the fake's programs wait for values that are there.
FAKE hipError_t hipStreamWaitValue32(hipStream_t stream, void* address, uint32_t value,
                                     unsigned flags, uint32_t mask) {
  if (fake_version() == 0 || !captures(stream))
    return NEXT(hipStreamWaitValue32, stream, address, value, flags, mask);
  return add_captured(
      stream, [&](hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before,
                  size_t count) { return NEXT(hipGraphAddEmptyNode, node, graph, before, count); });
}

// ---- libraries ----------------------------------------------------------------------------------

hipError_t newer_library_load(NewerLibrary* library, const void* image, void*, void**, unsigned,
                              void*, void**, unsigned) {
  if (library == nullptr || image == nullptr) return hipErrorInvalidValue;
  *library = new FakeLibrary{image};
  return hipSuccess;
}
hipError_t newer_library_unload(NewerLibrary library) {
  if (library == nullptr) return hipErrorInvalidValue;
  const hipError_t result =
      library->module == nullptr ? hipSuccess : NEXT(hipModuleUnload, library->module);
  delete library;
  return result;
}
hipError_t newer_library_kernel(NewerKernel* kernel, NewerLibrary library, const char* name) {
  if (kernel == nullptr || name == nullptr) return hipErrorInvalidValue;
  if (const hipError_t loaded = load(library); loaded != hipSuccess) return loaded;
  return NEXT(hipModuleGetFunction, kernel, library->module, name);
}
hipError_t newer_library_global(void** address, size_t* bytes, NewerLibrary library,
                                const char* name) {
  return variable(address, bytes, library, name);
}
hipError_t newer_library_managed(void** address, size_t* bytes, NewerLibrary library,
                                 const char* name) {
  return variable(address, bytes, library, name);
}
// The runtime returns the kernel's own handle, too.
hipError_t newer_kernel_function(hipFunction_t* function, NewerKernel kernel) {
  if (function == nullptr || kernel == nullptr) return hipErrorInvalidValue;
  *function = kernel;
  return hipSuccess;
}
hipError_t newer_kernel_parameter(NewerKernel kernel, size_t index, size_t* offset, size_t* bytes) {
  if (kernel == nullptr || offset == nullptr || index > 0) return hipErrorInvalidValue;
  *offset = 0;
  if (bytes != nullptr) *bytes = 8;
  return hipSuccess;
}
hipError_t newer_kernel_attribute(int* value, int, NewerKernel kernel, int) {
  if (value == nullptr || kernel == nullptr) return hipErrorInvalidValue;
  *value = 0;
  return hipSuccess;
}
hipError_t newer_set_kernel_attribute(int, int, NewerKernel kernel, int) {
  return kernel == nullptr ? hipErrorInvalidValue : hipSuccess;
}

// ---- execution contexts -------------------------------------------------------------------------

FAKE hipError_t hipDeviceGetDevResource(int device, NewerResource* resource, int type) {
  if (resource == nullptr || type != 1) return hipErrorInvalidValue;
  *resource = {type, {}};
  std::memcpy(resource->bytes, &device, sizeof(device));
  return hipSuccess;
}
FAKE hipError_t hipDevSmResourceSplitByCount(NewerResource* result, unsigned* groups,
                                             const NewerResource* input, NewerResource* rest,
                                             unsigned, unsigned) {
  if (groups == nullptr || input == nullptr) return hipErrorInvalidValue;
  for (unsigned i = 0; result != nullptr && i < *groups; ++i) result[i] = *input;
  if (rest != nullptr) *rest = *input;
  return hipSuccess;
}
FAKE hipError_t hipDevSmResourceSplit(NewerResource* result, unsigned groups,
                                      const NewerResource* input, NewerResource* rest,
                                      unsigned flags, void*) {
  return hipDevSmResourceSplitByCount(result, &groups, input, rest, flags, 0);
}
FAKE hipError_t hipDevResourceGenerateDesc(void** description, NewerResource* resources,
                                           unsigned count) {
  if (description == nullptr || resources == nullptr || count == 0) return hipErrorInvalidValue;
  *description = new NewerResource(*resources);
  return hipSuccess;
}
FAKE hipError_t hipGreenCtxCreate(NewerContext* context, void* description, int device,
                                  unsigned flags) {
  if (context == nullptr || description == nullptr || flags != 0) return hipErrorInvalidValue;
  delete static_cast<NewerResource*>(description);
  *context = make_context(device, false);
  return hipSuccess;
}
FAKE hipError_t hipDeviceGetExecutionCtx(NewerContext* context, int device) {
  if (context == nullptr) return hipErrorInvalidValue;
  static FakeContext* const primary = make_context(device, true);
  *context = primary;
  return hipSuccess;
}
FAKE hipError_t hipExecutionCtxDestroy(NewerContext context) {
  if (context == nullptr || context->primary) return hipErrorInvalidValue;
  {
    const std::lock_guard lock(mutex);
    std::erase(contexts, context);
  }
  for (hipEvent_t const event : context->events) (void)NEXT(hipEventDestroy, event);
  if (context->join != nullptr) (void)NEXT(hipStreamDestroy, context->join);
  delete context;
  return hipSuccess;
}
FAKE hipError_t hipExecutionCtxStreamCreate(hipStream_t* stream, NewerContext context, unsigned,
                                            int priority) {
  if (stream == nullptr || context == nullptr) return hipErrorInvalidValue;
  const hipError_t result =
      NEXT(hipStreamCreateWithPriority, stream, hipStreamNonBlocking, priority);
  const std::lock_guard lock(mutex);
  if (result == hipSuccess) context->streams.push_back(*stream);
  return result;
}
FAKE hipError_t hipStreamDestroy(hipStream_t stream) {
  {
    const std::lock_guard lock(mutex);
    for (FakeContext* const context : contexts) std::erase(context->streams, stream);
  }
  return NEXT(hipStreamDestroy, stream);
}
FAKE hipError_t hipExecutionCtxGetDevResource(NewerContext context, NewerResource* resource,
                                              int type) {
  return context == nullptr ? hipErrorInvalidValue
                            : hipDeviceGetDevResource(context->device, resource, type);
}
FAKE hipError_t hipExecutionCtxGetDevice(int* device, NewerContext context) {
  if (device == nullptr || context == nullptr) return hipErrorInvalidValue;
  *device = context->device;
  return hipSuccess;
}
FAKE hipError_t hipExecutionCtxGetId(NewerContext context, unsigned long long* id) {
  if (id == nullptr || context == nullptr) return hipErrorInvalidValue;
  *id = context->id;
  return hipSuccess;
}
FAKE hipError_t hipExecutionCtxRecordEvent(NewerContext context, hipEvent_t event) {
  if (context == nullptr) return hipErrorInvalidValue;
  const std::vector<hipStream_t> streams = streams_of(context);
  if (streams.empty()) return hipSuccess;
  if (streams.size() == 1) return NEXT(hipEventRecord, event, streams.front());
  hipError_t result = join_stream(context);
  for (size_t i = 0; result == hipSuccess && i < streams.size(); ++i) {
    hipEvent_t each = nullptr;
    result = NEXT(hipEventCreateWithFlags, &each, hipEventDisableTiming);
    if (result == hipSuccess) result = NEXT(hipEventRecord, each, streams[i]);
    if (result == hipSuccess) result = NEXT(hipStreamWaitEvent, context->join, each, 0);
    context->events.push_back(each);
  }
  return result == hipSuccess ? NEXT(hipEventRecord, event, context->join) : result;
}
FAKE hipError_t hipExecutionCtxWaitEvent(NewerContext context, hipEvent_t event) {
  if (context == nullptr) return hipErrorInvalidValue;
  hipError_t result = hipSuccess;
  for (hipStream_t const stream : streams_of(context)) {
    const hipError_t one = NEXT(hipStreamWaitEvent, stream, event, 0);
    if (one != hipSuccess) result = one;
  }
  return result;
}
FAKE hipError_t hipExecutionCtxSynchronize(NewerContext context) {
  if (context == nullptr) return hipErrorInvalidValue;
  hipError_t result = hipSuccess;
  for (hipStream_t const stream : streams_of(context)) {
    const hipError_t one = NEXT(hipStreamSynchronize, stream);
    if (one != hipSuccess) result = one;
  }
  return result;
}
FAKE hipError_t hipStreamGetDevResource(hipStream_t, NewerResource* resource, int type) {
  return hipDeviceGetDevResource(0, resource, type);
}

// ---- memory -------------------------------------------------------------------------------------

hipError_t newer_set_pool(NewerLocation* location, int, hipMemPool_t pool) {
  if (location == nullptr || location->type != 1) return hipErrorInvalidValue;
  return NEXT(hipDeviceSetMemPool, location->id, pool);
}
hipError_t newer_get_pool(hipMemPool_t* pool, NewerLocation* location, int) {
  if (location == nullptr || location->type != 1) return hipErrorInvalidValue;
  return NEXT(hipDeviceGetMemPool, pool, location->id);
}
hipError_t newer_default_pool(hipMemPool_t* pool, NewerLocation* location, int) {
  if (location == nullptr || location->type != 1) return hipErrorInvalidValue;
  return NEXT(hipDeviceGetDefaultMemPool, pool, location->id);
}
hipError_t newer_prefetch(void** addresses, size_t* sizes, size_t count, NewerLocation* locations,
                          size_t* indices, size_t location_count, unsigned long long flags,
                          hipStream_t) {
  const bool good = addresses != nullptr && sizes != nullptr && count != 0 &&
                    locations != nullptr && indices != nullptr && location_count != 0 && flags == 0;
  return good ? hipSuccess : hipErrorInvalidValue;
}
// What the memory holds then is not defined.
hipError_t newer_discard(void** addresses, size_t* sizes, size_t count, unsigned long long flags,
                         hipStream_t stream) {
  if (addresses == nullptr || sizes == nullptr || count == 0 || flags != 0)
    return hipErrorInvalidValue;
  hipError_t result = hipSuccess;
  for (size_t i = 0; result == hipSuccess && i < count; ++i)
    result = NEXT(hipMemsetAsync, addresses[i], 0xdd, sizes[i], stream);
  return result;
}
hipError_t newer_driver_discard(void** addresses, size_t* sizes, size_t count,
                                unsigned long long flags, hipStream_t stream) {
  return newer_discard(addresses, sizes, count, flags, stream);
}
hipError_t newer_discard_and_prefetch(void** addresses, size_t* sizes, size_t count, NewerLocation*,
                                      size_t*, size_t, unsigned long long flags,
                                      hipStream_t stream) {
  return newer_discard(addresses, sizes, count, flags, stream);
}
hipError_t newer_driver_discard_and_prefetch(void** addresses, size_t* sizes, size_t count,
                                             NewerLocation*, size_t*, size_t,
                                             unsigned long long flags, hipStream_t stream) {
  return newer_discard(addresses, sizes, count, flags, stream);
}
hipError_t newer_extended_copies(void** to, void** from, size_t* sizes, size_t*, void**, void**,
                                 size_t*, size_t count, void*, size_t*, size_t,
                                 hipStream_t stream) {
  if (to == nullptr || from == nullptr || sizes == nullptr || count == 0)
    return hipErrorInvalidValue;
  hipError_t result = hipSuccess;
  for (size_t i = 0; result == hipSuccess && i < count; ++i)
    result = NEXT(hipMemcpyAsync, to[i], from[i], sizes[i], hipMemcpyDefault, stream);
  return result;
}
hipError_t newer_array_requirements(void*, void*, int) { return hipErrorNotSupported; }

// ---- conditional nodes --------------------------------------------------------------------------

hipError_t newer_make_condition(NewerCondition* condition, hipGraph_t graph, unsigned initial,
                                unsigned flags) {
  if (condition == nullptr || graph == nullptr || flags != 0) return hipErrorInvalidValue;
  void* cell = nullptr;
  // The header overloads it.
  auto* const allocate = next<hipError_t(void**, size_t)>("hipMalloc");
  const hipError_t result = allocate == nullptr ? hipErrorNotSupported : allocate(&cell, 64);
  if (result == hipSuccess) *condition = {reinterpret_cast<uint64_t>(cell), initial, 7};
  return result;
}
// The body once, if the condition is set at first: enough for a graph that is not replayed.
hipError_t newer_add_conditional(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* dependencies, size_t count,
                                 NewerCondition condition, int, unsigned size, hipGraph_t* bodies,
                                 unsigned flags) {
  const bool good = condition.signal == 7 && size == 1 && bodies != nullptr && flags == 0;
  if (!good) return hipErrorInvalidValue;
  if (condition.initial == 0) return NEXT(hipGraphAddEmptyNode, node, graph, dependencies, count);
  return NEXT(hipGraphAddChildGraphNode, node, graph, dependencies, count, bodies[0]);
}

// ---- the rest -----------------------------------------------------------------------------------

hipError_t newer_proc_address_spt(const char* name, void** function, int, uint64_t, void*) {
  if (name == nullptr || function == nullptr) return hipErrorInvalidValue;
  *function = dlsym(RTLD_NEXT, (std::string(name) + "_spt").c_str());
  if (*function == nullptr) *function = dlsym(RTLD_NEXT, name);
  return *function == nullptr ? hipErrorNotFound : hipSuccess;
}
FAKE hipError_t hipExtEnableLogging() { return hipSuccess; }
FAKE hipError_t hipExtDisableLogging() { return hipSuccess; }
FAKE hipError_t hipExtSetLoggingParams(size_t, size_t, size_t) { return hipSuccess; }
FAKE hipError_t hipInitDevice(int, unsigned, unsigned) { return hipSuccess; }
FAKE hipError_t hipDeviceGetLuid(char* luid, unsigned* mask, int) {
  if (luid == nullptr || mask == nullptr) return hipErrorInvalidValue;
  std::memset(luid, 0, 8);
  *mask = 1;
  return hipSuccess;
}
hipError_t newer_clusters(int*, const void*, const void*) { return hipErrorNotSupported; }
hipError_t newer_cluster_size(int*, const void*, const void*) { return hipErrorNotSupported; }
FAKE void __hipOnError(void*) {}

// Functions that HIP 7.2 to 10.2 add, as their published headers declare them; for programs and for
// fake_newer_hip. Structures that neither looks into are plain bytes of their size.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

// ---- libraries
using NewerLibrary = struct FakeLibrary*;
using NewerKernel = hipFunction_t;
hipError_t newer_library_load(NewerLibrary* library, const void* image, void* jit_options,
                              void** jit_values, unsigned jit_count, void* options, void** values,
                              unsigned count) __asm__("hipLibraryLoadData");
hipError_t newer_library_unload(NewerLibrary library) __asm__("hipLibraryUnload");
hipError_t newer_library_kernel(NewerKernel* kernel, NewerLibrary library,
                                const char* name) __asm__("hipLibraryGetKernel");
hipError_t newer_library_global(void** address, size_t* bytes, NewerLibrary library,
                                const char* name) __asm__("hipLibraryGetGlobal");
hipError_t newer_library_managed(void** address, size_t* bytes, NewerLibrary library,
                                 const char* name) __asm__("hipLibraryGetManaged");
hipError_t newer_kernel_function(hipFunction_t* function,
                                 NewerKernel kernel) __asm__("hipKernelGetFunction");
hipError_t newer_kernel_parameter(NewerKernel kernel, size_t index, size_t* offset,
                                  size_t* bytes) __asm__("hipKernelGetParamInfo");
hipError_t newer_kernel_attribute(int* value, int attribute, NewerKernel kernel,
                                  int device) __asm__("hipKernelGetAttribute");
hipError_t newer_set_kernel_attribute(int attribute, int value, NewerKernel kernel,
                                      int device) __asm__("hipKernelSetAttribute");

// ---- execution contexts
using NewerContext = struct FakeContext*;
struct NewerResource {
  int32_t type;  // 1: compute units
  char bytes[188];
};
hipError_t hipDeviceGetDevResource(int device, NewerResource* resource, int type);
hipError_t hipDevSmResourceSplitByCount(NewerResource* result, unsigned* groups,
                                        const NewerResource* input, NewerResource* rest,
                                        unsigned flags, unsigned least);
hipError_t hipDevSmResourceSplit(NewerResource* result, unsigned groups, const NewerResource* input,
                                 NewerResource* rest, unsigned flags, void* wanted);
hipError_t hipDevResourceGenerateDesc(void** description, NewerResource* resources, unsigned count);
hipError_t hipGreenCtxCreate(NewerContext* context, void* description, int device, unsigned flags);
hipError_t hipDeviceGetExecutionCtx(NewerContext* context, int device);
hipError_t hipExecutionCtxDestroy(NewerContext context);
hipError_t hipExecutionCtxStreamCreate(hipStream_t* stream, NewerContext context, unsigned flags,
                                       int priority);
hipError_t hipExecutionCtxGetDevResource(NewerContext context, NewerResource* resource, int type);
hipError_t hipExecutionCtxGetDevice(int* device, NewerContext context);
hipError_t hipExecutionCtxGetId(NewerContext context, unsigned long long* id);
hipError_t hipExecutionCtxRecordEvent(NewerContext context, hipEvent_t event);
hipError_t hipExecutionCtxWaitEvent(NewerContext context, hipEvent_t event);
hipError_t hipExecutionCtxSynchronize(NewerContext context);
hipError_t hipStreamGetDevResource(hipStream_t stream, NewerResource* resource, int type);

// ---- memory
struct NewerLocation {
  int32_t type;  // 1: a device
  int32_t id;
};
hipError_t newer_set_pool(NewerLocation* location, int type,
                          hipMemPool_t pool) __asm__("hipMemSetMemPool");
hipError_t newer_get_pool(hipMemPool_t* pool, NewerLocation* location,
                          int type) __asm__("hipMemGetMemPool");
hipError_t newer_default_pool(hipMemPool_t* pool, NewerLocation* location,
                              int type) __asm__("hipMemGetDefaultMemPool");
hipError_t newer_prefetch(void** addresses, size_t* sizes, size_t count, NewerLocation* locations,
                          size_t* indices, size_t location_count, unsigned long long flags,
                          hipStream_t stream) __asm__("hipMemPrefetchBatchAsync");
hipError_t newer_discard(void** addresses, size_t* sizes, size_t count, unsigned long long flags,
                         hipStream_t stream) __asm__("hipMemDiscardBatchAsync");
hipError_t newer_driver_discard(void** addresses, size_t* sizes, size_t count,
                                unsigned long long flags,
                                hipStream_t stream) __asm__("hipDrvMemDiscardBatchAsync");
hipError_t newer_discard_and_prefetch(
    void** addresses, size_t* sizes, size_t count, NewerLocation* locations, size_t* indices,
    size_t location_count, unsigned long long flags,
    hipStream_t stream) __asm__("hipMemDiscardAndPrefetchBatchAsync");
hipError_t newer_driver_discard_and_prefetch(
    void** addresses, size_t* sizes, size_t count, NewerLocation* locations, size_t* indices,
    size_t location_count, unsigned long long flags,
    hipStream_t stream) __asm__("hipDrvMemDiscardAndPrefetchBatchAsync");
hipError_t newer_extended_copies(void** to, void** from, size_t* sizes, size_t* other_sizes,
                                 void** to2, void** from2, size_t* sizes2, size_t count,
                                 void* attributes, size_t* indices, size_t attribute_count,
                                 hipStream_t stream) __asm__("hipExtMemcpyBatchAsync");
hipError_t newer_array_requirements(void* requirements, void* array,
                                    int device) __asm__("hipMipmappedArrayGetMemoryRequirements");

// ---- conditional nodes
struct NewerCondition {
  uint64_t address;  // of the value that kernels write
  uint64_t initial;
  uint64_t signal;
};
hipError_t newer_make_condition(NewerCondition* condition, hipGraph_t graph, unsigned initial,
                                unsigned flags) __asm__("hipGraphConditionalHandleCreate");
hipError_t newer_add_conditional(hipGraphNode_t* node, hipGraph_t graph,
                                 const hipGraphNode_t* dependencies, size_t count,
                                 NewerCondition condition, int type, unsigned size,
                                 hipGraph_t* bodies,
                                 unsigned flags) __asm__("hipGraphAddConditionalNode");

// ---- the rest
hipError_t newer_proc_address_spt(const char* name, void** function, int version, uint64_t flags,
                                  void* status) __asm__("hipGetProcAddress_spt");
hipError_t hipExtEnableLogging();
hipError_t hipExtDisableLogging();
hipError_t hipExtSetLoggingParams(size_t level, size_t bytes, size_t mask);
hipError_t hipInitDevice(int device, unsigned flags, unsigned more);
hipError_t hipDeviceGetLuid(char* luid, unsigned* mask, int device);
hipError_t newer_clusters(int* count, const void* kernel,
                          const void* configuration) __asm__("hipOccupancyMaxActiveClusters");
hipError_t newer_cluster_size(int* size, const void* kernel, const void* configuration) __asm__(
    "hipOccupancyMaxPotentialClusterSize");
void __hipOnError(void* error);

}  // extern "C"
#pragma GCC visibility pop

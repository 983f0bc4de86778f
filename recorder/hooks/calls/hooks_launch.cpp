// Hooks of registration, modules and kernel launches.
#include <cstring>

#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/calls/newer_hip.h"
#include "recorder/launch/arguments.h"
#include "recorder/program_memory.h"
#include "recorder/recorded_launch.h"

using namespace gfxgraph::recorder;

namespace gfxgraph::recorder {
namespace {

// Inside hipLaunchByPtr and its C++ twin: the stub whose kernel the nested hipModuleLaunchKernel
// runs.
thread_local const void* launching_stub = nullptr;

LaunchCall function_call(hipFunction_t function, Handle stream, bool never_captured,
                         bool cooperative) {
  LaunchCall call{.function = function,
                  .stream = stream,
                  .never_captured = never_captured,
                  .cooperative = cooperative};
  if (launching_stub != nullptr) {
    call.function = launching_stub;
    call.host_function = true;
  }
  return call;
}

LaunchShape shape_of(const dim3& grid, const dim3& block, size_t shared_bytes, bool cooperative) {
  LaunchShape shape;
  shape.grid = {grid.x, grid.y, grid.z};
  shape.block = {block.x, block.y, block.z};
  shape.dynamic_lds_bytes = static_cast<uint32_t>(shared_bytes);
  shape.cooperative = cooperative;
  return shape;
}

// The "Ext" forms count work items: workgroups of `block`, possibly with a partial last one per
// row.
LaunchShape shape_of_items(const std::array<uint32_t, 3>& items,
                           const std::array<uint32_t, 3>& block, size_t shared_bytes) {
  LaunchShape shape;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t size = block[axis] == 0 ? 1 : block[axis];
    shape.grid[axis] = items[axis] / size + (items[axis] % size != 0 ? 1 : 0);
    shape.grid_remainder[axis] = items[axis] % size;
  }
  shape.block = block;
  shape.dynamic_lds_bytes = static_cast<uint32_t>(shared_bytes);
  return shape;
}

template <typename Call>
hipError_t launch_stub(int index, const void* stub, const dim3& grid, const dim3& block,
                       void** params, size_t shared_bytes, Handle stream, bool cooperative,
                       Call&& call, hipEvent_t start = nullptr, hipEvent_t stop = nullptr) {
  // HIP 5.2 executes a cooperative launch immediately, even during capture.
  const LaunchRequest request{.call = {.function = stub,
                                       .host_function = true,
                                       .stream = stream,
                                       .never_captured = cooperative,
                                       .cooperative = cooperative},
                              .shape = shape_of(grid, block, shared_bytes, cooperative),
                              .params = params,
                              .name = display_name(index).data(),
                              .start = start,
                              .stop = stop};
  return recorded_launch(recorder(), request, std::forward<Call>(call));
}

// hipModuleLaunchKernel and its cooperative variant.
template <typename Call>
hipError_t launch_function(int index, hipFunction_t function, const LaunchShape& shape,
                           void** params, void** extra, Handle stream, bool never_captured,
                           Call&& call) {
  const LaunchRequest request{
      .call = function_call(function, stream, never_captured, shape.cooperative),
      .shape = shape,
      .params = params,
      .extra = extra,
      .name = display_name(index).data()};
  return recorded_launch(recorder(), request, std::forward<Call>(call));
}

// A launch with work-item counts and events around it.
template <typename Call>
hipError_t launch_items(int index, hipFunction_t function, const std::array<uint32_t, 3>& items,
                        const std::array<uint32_t, 3>& block, size_t shared_bytes,
                        hipStream_t stream, void** params, void** extra, hipEvent_t start,
                        hipEvent_t stop, Call&& call,
                        const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kMayJoin, site);
  if (!scope.record) return call();
  const LaunchRequest request{.call = function_call(function, stream_key(stream), true, false),
                              .shape = shape_of_items(items, block, shared_bytes),
                              .params = params,
                              .extra = extra,
                              .name = display_name(index).data(),
                              .start = start,
                              .stop = stop};
  return recorded_launch(recorder(), request, std::forward<Call>(call));
}

}  // namespace
}  // namespace gfxgraph::recorder

// ---- registration (clang's host stubs; before main) ---------------------------------------------

GFXGRAPH_HOOK void** __hipRegisterFatBinary(const void* data) {
  using Function = void** (*)(const void*);
  const auto function = reinterpret_cast<Function>(real_function(kCall___hipRegisterFatBinary));
  if (function == nullptr) return nullptr;
  const Scope scope(CallKind::kRegistration);
  void** handle = function(data);
  if (scope.record && handle != nullptr) recorder().code().fat_binary(handle, data);
  return handle;
}

GFXGRAPH_HOOK void __hipRegisterFunction(void** modules, const void* host_function,
                                         char* device_function, const char* device_name,
                                         unsigned int thread_limit, void* tid, void* bid,
                                         void* block, void* grid, int* warp_size) {
  using Function = void (*)(void**, const void*, char*, const char*, unsigned int, void*, void*,
                            void*, void*, int*);
  const auto function = reinterpret_cast<Function>(real_function(kCall___hipRegisterFunction));
  if (function == nullptr) return;
  const Scope scope(CallKind::kRegistration);
  function(modules, host_function, device_function, device_name, thread_limit, tid, bid, block,
           grid, warp_size);
  if (scope.record) recorder().code().function(modules, host_function, device_name);
}

GFXGRAPH_HOOK void __hipRegisterVar(void** modules, void* symbol, char* host_name,
                                    char* device_name, int external, size_t size, int constant,
                                    int global) {
  using Function = void (*)(void**, void*, char*, char*, int, size_t, int, int);
  const auto function = reinterpret_cast<Function>(real_function(kCall___hipRegisterVar));
  if (function == nullptr) return;
  const Scope scope(CallKind::kRegistration);
  function(modules, symbol, host_name, device_name, external, size, constant, global);
  if (scope.record) recorder().code().variable(modules, symbol, device_name);
}

GFXGRAPH_HOOK void __hipRegisterManagedVar(void* modules, void** pointer, void* initial,
                                           const char* name, size_t size, unsigned int align) {
  using Function = void (*)(void*, void**, void*, const char*, size_t, unsigned int);
  const auto function = reinterpret_cast<Function>(real_function(kCall___hipRegisterManagedVar));
  if (function == nullptr) return;
  const Scope scope(CallKind::kRegistration);
  function(modules, pointer, initial, name, size, align);
  if (scope.record) recorder().code().managed_variable(modules, pointer, name, size);
}

GFXGRAPH_HOOK void __hipUnregisterFatBinary(void** modules) {
  using Function = void (*)(void**);
  const auto function = reinterpret_cast<Function>(real_function(kCall___hipUnregisterFatBinary));
  const Scope scope(CallKind::kRegistration);
  if (scope.record) recorder().code().fat_binary_unloading(modules);
  if (function != nullptr) function(modules);
}

// ---- modules ------------------------------------------------------------------------------------

GFXGRAPH_HOOK hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  GFXGRAPH_CALL_THEN(hipModuleLoad, recorder().code().module_file_loaded(*module, path), module,
                     path);
}

GFXGRAPH_HOOK hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  GFXGRAPH_CALL_THEN(hipModuleLoadData, recorder().code().module_loaded(*module, image), module,
                     image);
}

GFXGRAPH_HOOK hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image,
                                             unsigned int count, hipJitOption* options,
                                             void** values) {
  GFXGRAPH_CALL_THEN(hipModuleLoadDataEx, recorder().code().module_loaded(*module, image), module,
                     image, count, options, values);
}

GFXGRAPH_HOOK hipError_t hipModuleUnload(hipModule_t module) {
  const Scope scope;
  if (scope.record) recorder().code().module_unloading(module);
  return real(kCall_hipModuleUnload, module);
}

GFXGRAPH_HOOK hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module,
                                              const char* name) {
  GFXGRAPH_CALL_THEN(hipModuleGetFunction,
                     recorder().code().function_found(*function, module, name), function, module,
                     name);
}

GFXGRAPH_HOOK hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* symbol) {
  GFXGRAPH_CALL_THEN(hipGetFuncBySymbol, recorder().code().function_of_symbol(*function, symbol),
                     function, symbol);
}

GFXGRAPH_HOOK hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* bytes,
                                            hipModule_t module, const char* name) {
  const Scope scope;
  const hipError_t result = real(kCall_hipModuleGetGlobal, address, bytes, module, name);
  if (scope.record && result == hipSuccess && address != nullptr && bytes != nullptr) {
    recorder().code().global_found(module, name, address_of(*address), *bytes);
  }
  return result;
}

GFXGRAPH_HOOK hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  GFXGRAPH_CALL_THEN(hipGetSymbolAddress, (void)recorder().code().symbol_address(symbol), address,
                     symbol);
}

// ---- launches by host stub ----------------------------------------------------------------------

GFXGRAPH_HOOK __attribute__((hot)) hipError_t hipLaunchKernel(const void* stub, dim3 grid,
                                                              dim3 block, void** args,
                                                              size_t shared_bytes,
                                                              hipStream_t stream) {
  const auto call = [&] {
    return real(kCall_hipLaunchKernel, stub, grid, block, args, shared_bytes, stream);
  };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  return launch_stub(kCall_hipLaunchKernel, stub, grid, block, args, shared_bytes,
                     stream_key(stream), false, call);
}

GFXGRAPH_HOOK hipError_t hipLaunchKernel_spt(const void* stub, dim3 grid, dim3 block, void** args,
                                             size_t shared_bytes, hipStream_t stream) {
  const auto call = [&] {
    return real(kCall_hipLaunchKernel_spt, stub, grid, block, args, shared_bytes, stream);
  };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  return launch_stub(kCall_hipLaunchKernel_spt, stub, grid, block, args, shared_bytes,
                     per_thread_key(stream), false, call);
}

GFXGRAPH_HOOK hipError_t hipExtLaunchKernel(const void* stub, dim3 grid, dim3 block, void** args,
                                            size_t shared_bytes, hipStream_t stream,
                                            hipEvent_t start, hipEvent_t stop, int flags) {
  const auto call = [&] {
    return real(kCall_hipExtLaunchKernel, stub, grid, block, args, shared_bytes, stream, start,
                stop, flags);
  };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  return launch_stub(kCall_hipExtLaunchKernel, stub, grid, block, args, shared_bytes,
                     stream_key(stream), false, call, start, stop);
}

GFXGRAPH_HOOK hipError_t hipLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block,
                                                    void** args, unsigned int shared_bytes,
                                                    hipStream_t stream) {
  const auto call = [&] {
    return real(kCall_hipLaunchCooperativeKernel, stub, grid, block, args, shared_bytes, stream);
  };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  return launch_stub(kCall_hipLaunchCooperativeKernel, stub, grid, block, args, shared_bytes,
                     stream_key(stream), true, call);
}

GFXGRAPH_HOOK hipError_t hipLaunchCooperativeKernel_spt(const void* stub, dim3 grid, dim3 block,
                                                        void** args, uint32_t shared_bytes,
                                                        hipStream_t stream) {
  const auto call = [&] {
    return real(kCall_hipLaunchCooperativeKernel_spt, stub, grid, block, args, shared_bytes,
                stream);
  };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  return launch_stub(kCall_hipLaunchCooperativeKernel_spt, stub, grid, block, args, shared_bytes,
                     per_thread_key(stream), true, call);
}

// hipSetupArgument collected the arguments; the runtime passes them to its own
// hipModuleLaunchKernel, whose hook sees them.
GFXGRAPH_HOOK hipError_t hipLaunchByPtr(const void* stub) {
  launching_stub = stub;
  if (hook_depth == 0) program_call = __builtin_return_address(0);
  const hipError_t result = real(kCall_hipLaunchByPtr, stub);
  if (hook_depth == 0) program_call = nullptr;
  launching_stub = nullptr;
  return result;
}

__attribute__((visibility("default"))) void gfxgraph_launch_ggl(
    uintptr_t stub, const dim3& grid, const dim3& block, uint32_t shared_bytes, hipStream_t stream,
    void** kernarg) __asm__("_ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv");
void gfxgraph_launch_ggl(uintptr_t stub, const dim3& grid, const dim3& block, uint32_t shared_bytes,
                         hipStream_t stream, void** kernarg) {
  using Function = void (*)(uintptr_t, const dim3&, const dim3&, uint32_t, hipStream_t, void**);
  const auto function = reinterpret_cast<Function>(
      real_function(kCall__ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv));
  launching_stub = reinterpret_cast<const void*>(stub);
  if (hook_depth == 0) program_call = __builtin_return_address(0);
  if (function != nullptr) function(stub, grid, block, shared_bytes, stream, kernarg);
  if (hook_depth == 0) program_call = nullptr;
  launching_stub = nullptr;
}

// ---- launches by module function ----------------------------------------------------------------

GFXGRAPH_HOOK __attribute__((hot)) hipError_t hipModuleLaunchKernel(
    hipFunction_t function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
    unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
    hipStream_t stream, void** params, void** extra) {
  const auto call = [&] {
    return real(kCall_hipModuleLaunchKernel, function, grid_x, grid_y, grid_z, block_x, block_y,
                block_z, shared_bytes, stream, params, extra);
  };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  const LaunchShape shape =
      shape_of({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, false);
  return launch_function(kCall_hipModuleLaunchKernel, function, shape, params, extra,
                         stream_key(stream), true, call);
}

GFXGRAPH_HOOK hipError_t hipModuleLaunchCooperativeKernel(
    hipFunction_t function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
    unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
    hipStream_t stream, void** params) {
  const auto call = [&] {
    return real(kCall_hipModuleLaunchCooperativeKernel, function, grid_x, grid_y, grid_z, block_x,
                block_y, block_z, shared_bytes, stream, params);
  };
  const Scope scope(CallKind::kMayJoin);
  if (!scope.record) return call();
  const LaunchShape shape =
      shape_of({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, true);
  return launch_function(kCall_hipModuleLaunchCooperativeKernel, function, shape, params, nullptr,
                         stream_key(stream), false, call);
}

#define GFXGRAPH_ITEMS_PARAMETERS                                                  \
  hipFunction_t function, uint32_t global_x, uint32_t global_y, uint32_t global_z, \
      uint32_t local_x, uint32_t local_y, uint32_t local_z, size_t shared_bytes,   \
      hipStream_t stream, void **params, void **extra, hipEvent_t start, hipEvent_t stop
#define GFXGRAPH_ITEMS_ARGUMENTS                                                                   \
  function, global_x, global_y, global_z, local_x, local_y, local_z, shared_bytes, stream, params, \
      extra, start, stop
#define GFXGRAPH_ITEMS_CALL(index, ...)                                                      \
  launch_items(index, function, {global_x, global_y, global_z}, {local_x, local_y, local_z}, \
               shared_bytes, stream, params, extra, start, stop,                             \
               [&] { return real(index, GFXGRAPH_ITEMS_ARGUMENTS __VA_OPT__(, ) __VA_ARGS__); })

__attribute__((visibility("default"))) hipError_t
gfxgraph_ext_launch(GFXGRAPH_ITEMS_PARAMETERS, uint32_t flags) __asm__(
    "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_"
    "j");
hipError_t gfxgraph_ext_launch(GFXGRAPH_ITEMS_PARAMETERS, uint32_t flags) {
  return GFXGRAPH_ITEMS_CALL(
      kCall__Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j,
      flags);
}

__attribute__((visibility("default"))) hipError_t
    gfxgraph_hcc_launch(GFXGRAPH_ITEMS_PARAMETERS) __asm__(
        "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_"
        "tS6_");
hipError_t gfxgraph_hcc_launch(GFXGRAPH_ITEMS_PARAMETERS) {
  return GFXGRAPH_ITEMS_CALL(
      kCall__Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_);
}

GFXGRAPH_HOOK hipError_t hipExtModuleLaunchKernel(GFXGRAPH_ITEMS_PARAMETERS, uint32_t flags) {
  return GFXGRAPH_ITEMS_CALL(kCall_hipExtModuleLaunchKernel, flags);
}
GFXGRAPH_HOOK hipError_t hipHccModuleLaunchKernel(GFXGRAPH_ITEMS_PARAMETERS) {
  return GFXGRAPH_ITEMS_CALL(kCall_hipHccModuleLaunchKernel);
}

// ---- HIP 7 --------------------------------------------------------------------------------------

// fat binaries and code objects alike, as hipModuleLoadData
GFXGRAPH_HOOK hipError_t hipModuleLoadFatBinary(hipModule_t* module, const void* image) {
  GFXGRAPH_CALL_THEN(hipModuleLoadFatBinary, recorder().code().module_loaded(*module, image),
                     module, image);
}

GFXGRAPH_HOOK hipError_t hipLaunchKernelExC(const StubLaunchConfig* config, const void* stub,
                                            void** args) {
  const auto call = [&] { return real(kCall_hipLaunchKernelExC, config, stub, args); };
  const Scope scope(CallKind::kMayJoin);
  const auto given = scope.record ? read_given(config) : std::nullopt;
  if (!given) return call();
  return launch_stub(kCall_hipLaunchKernelExC, stub, given->grid, given->block, args,
                     given->shared_bytes, stream_key(given->stream),
                     is_cooperative(given->attributes, given->attribute_count), call);
}

GFXGRAPH_HOOK hipError_t hipDrvLaunchKernelEx(const FunctionLaunchConfig* config,
                                              hipFunction_t function, void** params, void** extra) {
  const auto call = [&] {
    return real(kCall_hipDrvLaunchKernelEx, config, function, params, extra);
  };
  const Scope scope(CallKind::kMayJoin);
  const auto given = scope.record ? read_given(config) : std::nullopt;
  if (!given) return call();
  const bool cooperative = is_cooperative(given->attributes, given->attribute_count);
  const LaunchShape shape = shape_of(given->grid, given->block, given->shared_bytes, cooperative);
  return launch_function(kCall_hipDrvLaunchKernelEx, function, shape, params, extra,
                         stream_key(given->stream), !cooperative, call);
}

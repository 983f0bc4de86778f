// Launches of kernels.
#include "capture/hooks_internal.h"
#include "capture/newer_hip.h"
#include "capture/runtime.h"

using namespace gfxgraph::capture;

namespace gfxgraph::capture {
namespace {

hipError_t record_event(Builder& builder, hipEvent_t event) {
  if (event == nullptr) return hipSuccess;
  const hipError_t result =
      builder.add([&](auto... to) { return runtime::add_event_record(to..., event); });
  builder.chain();
  return result;
}

struct Launch {
  void* function = nullptr;
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  void** params = nullptr;
  void** extra = nullptr;
  bool cooperative = false;
  hipEvent_t start = nullptr;
  hipEvent_t stop = nullptr;
};

// HIP 5's graphs start a cooperative kernel as any other, which then waits for workgroups that are
// not there.
constexpr int kFirstCooperativeNode = 60000000;

hipError_t build_launch(Builder& builder, const Launch& launch) {
  if (launch.cooperative && runtime_version() < kFirstCooperativeNode)
    return builder.refuse("this runtime's graphs have no cooperative kernels");
  if (launch.shared_bytes > UINT32_MAX) return hipErrorInvalidValue;
  hipError_t result = record_event(builder, launch.start);
  if (result != hipSuccess) return result;
  result = builder.kernel(launch.function, launch.grid, launch.block,
                          static_cast<unsigned>(launch.shared_bytes), launch.params, launch.extra);
  if (result != hipSuccess) return result;
  if (launch.cooperative) {
    NodeAttribute value{.cooperative = 1};
    result = runtime::set_attribute(static_cast<hipGraphNode_t>(builder.made().front()),
                                    NodeAttribute::kCooperative, &value);
    if (result != hipSuccess)
      return builder.refuse("this runtime's graphs have no cooperative kernels");
  }
  if (launch.stop == nullptr) return result;
  builder.chain();
  return record_event(builder, launch.stop);
}

template <typename Pass>
hipError_t launch_kernel(int index, Stream stream, const Launch& launch, Pass&& pass) {
  return work(
      index, stream, [&](Builder& builder) { return build_launch(builder, launch); },
      std::forward<Pass>(pass));
}

// Forms that count work items instead of workgroups.
template <typename Pass>
hipError_t launch_items(int index, hipFunction_t function, const uint32_t (&items)[3],
                        const uint32_t (&block)[3], size_t shared_bytes, hipStream_t stream,
                        void** params, void** extra, hipEvent_t start, hipEvent_t stop,
                        Pass&& pass) {
  return work(
      index, key_of(stream),
      [&](Builder& builder) {
        uint32_t groups[3];
        for (int axis = 0; axis < 3; ++axis) {
          if (block[axis] == 0) return hipErrorInvalidConfiguration;
          if (items[axis] % block[axis] != 0)
            return builder.refuse(
                "its last workgroup is partial, which no node of a graph expresses");
          groups[axis] = items[axis] / block[axis];
        }
        return build_launch(builder, {.function = function,
                                      .grid = dim3(groups[0], groups[1], groups[2]),
                                      .block = dim3(block[0], block[1], block[2]),
                                      .shared_bytes = shared_bytes,
                                      .params = params,
                                      .extra = extra,
                                      .start = start,
                                      .stop = stop});
      },
      std::forward<Pass>(pass));
}

}  // namespace
}  // namespace gfxgraph::capture

GFXGRAPH_CAPTURE_HOOK __attribute__((hot)) hipError_t hipLaunchKernel(const void* stub, dim3 grid,
                                                                      dim3 block, void** args,
                                                                      size_t shared_bytes,
                                                                      hipStream_t stream) {
  if (!capturing()) [[likely]]
    return real(kCall_hipLaunchKernel, stub, grid, block, args, shared_bytes, stream);
  return launch_kernel(
      kCall_hipLaunchKernel, key_of(stream),
      {.function = const_cast<void*>(stub),
       .grid = grid,
       .block = block,
       .shared_bytes = shared_bytes,
       .params = args},
      [&] { return real(kCall_hipLaunchKernel, stub, grid, block, args, shared_bytes, stream); });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipLaunchKernel_spt(const void* stub, dim3 grid, dim3 block,
                                                     void** args, size_t shared_bytes,
                                                     hipStream_t stream) {
  return launch_kernel(kCall_hipLaunchKernel_spt, per_thread_key_of(stream),
                       {.function = const_cast<void*>(stub),
                        .grid = grid,
                        .block = block,
                        .shared_bytes = shared_bytes,
                        .params = args},
                       [&] {
                         return real(kCall_hipLaunchKernel_spt, stub, grid, block, args,
                                     shared_bytes, stream);
                       });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipExtLaunchKernel(const void* stub, dim3 grid, dim3 block,
                                                    void** args, size_t shared_bytes,
                                                    hipStream_t stream, hipEvent_t start,
                                                    hipEvent_t stop, int flags) {
  return launch_kernel(kCall_hipExtLaunchKernel, key_of(stream),
                       {.function = const_cast<void*>(stub),
                        .grid = grid,
                        .block = block,
                        .shared_bytes = shared_bytes,
                        .params = args,
                        .start = start,
                        .stop = stop},
                       [&] {
                         return real(kCall_hipExtLaunchKernel, stub, grid, block, args,
                                     shared_bytes, stream, start, stop, flags);
                       });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block,
                                                            void** args, unsigned int shared_bytes,
                                                            hipStream_t stream) {
  return launch_kernel(kCall_hipLaunchCooperativeKernel, key_of(stream),
                       {.function = const_cast<void*>(stub),
                        .grid = grid,
                        .block = block,
                        .shared_bytes = shared_bytes,
                        .params = args,
                        .cooperative = true},
                       [&] {
                         return real(kCall_hipLaunchCooperativeKernel, stub, grid, block, args,
                                     shared_bytes, stream);
                       });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipLaunchCooperativeKernel_spt(const void* stub, dim3 grid,
                                                                dim3 block, void** args,
                                                                uint32_t shared_bytes,
                                                                hipStream_t stream) {
  return launch_kernel(kCall_hipLaunchCooperativeKernel_spt, per_thread_key_of(stream),
                       {.function = const_cast<void*>(stub),
                        .grid = grid,
                        .block = block,
                        .shared_bytes = shared_bytes,
                        .params = args,
                        .cooperative = true},
                       [&] {
                         return real(kCall_hipLaunchCooperativeKernel_spt, stub, grid, block, args,
                                     shared_bytes, stream);
                       });
}

GFXGRAPH_CAPTURE_HOOK hipError_t hipModuleLaunchKernel(
    hipFunction_t function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
    unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
    hipStream_t stream, void** params, void** extra) {
  return launch_kernel(kCall_hipModuleLaunchKernel, key_of(stream),
                       {.function = function,
                        .grid = dim3(grid_x, grid_y, grid_z),
                        .block = dim3(block_x, block_y, block_z),
                        .shared_bytes = shared_bytes,
                        .params = params,
                        .extra = extra},
                       [&] {
                         return real(kCall_hipModuleLaunchKernel, function, grid_x, grid_y, grid_z,
                                     block_x, block_y, block_z, shared_bytes, stream, params,
                                     extra);
                       });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipModuleLaunchCooperativeKernel(
    hipFunction_t function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
    unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
    hipStream_t stream, void** params) {
  return launch_kernel(kCall_hipModuleLaunchCooperativeKernel, key_of(stream),
                       {.function = function,
                        .grid = dim3(grid_x, grid_y, grid_z),
                        .block = dim3(block_x, block_y, block_z),
                        .shared_bytes = shared_bytes,
                        .params = params,
                        .cooperative = true},
                       [&] {
                         return real(kCall_hipModuleLaunchCooperativeKernel, function, grid_x,
                                     grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                                     stream, params);
                       });
}

// Both spellings: HIP 5 exports the C++ names only.
#define GFXGRAPH_LAUNCH_OF_ITEMS(symbol, own_name, flags_parameter, flags_argument)              \
  GFXGRAPH_CAPTURE_HOOK hipError_t own_name(                                                     \
      hipFunction_t function, uint32_t items_x, uint32_t items_y, uint32_t items_z,              \
      uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared_bytes,                 \
      hipStream_t stream, void** params, void** extra, hipEvent_t start,                         \
      hipEvent_t stop flags_parameter) __asm__(#symbol);                                         \
  hipError_t own_name(hipFunction_t function, uint32_t items_x, uint32_t items_y,                \
                      uint32_t items_z, uint32_t block_x, uint32_t block_y, uint32_t block_z,    \
                      size_t shared_bytes, hipStream_t stream, void** params, void** extra,      \
                      hipEvent_t start, hipEvent_t stop flags_parameter) {                       \
    return launch_items(                                                                         \
        kCall_##symbol, function, {items_x, items_y, items_z}, {block_x, block_y, block_z},      \
        shared_bytes, stream, params, extra, start, stop, [&] {                                  \
          return real(kCall_##symbol, function, items_x, items_y, items_z, block_x, block_y,     \
                      block_z, shared_bytes, stream, params, extra, start, stop flags_argument); \
        });                                                                                      \
  }
#define GFXGRAPH_COMMA ,
GFXGRAPH_LAUNCH_OF_ITEMS(hipExtModuleLaunchKernel, ext_launch, GFXGRAPH_COMMA uint32_t flags,
                         GFXGRAPH_COMMA flags)
GFXGRAPH_LAUNCH_OF_ITEMS(
    _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j,
    ext_launch_cpp, GFXGRAPH_COMMA uint32_t flags, GFXGRAPH_COMMA flags)
GFXGRAPH_LAUNCH_OF_ITEMS(hipHccModuleLaunchKernel, hcc_launch, , )
GFXGRAPH_LAUNCH_OF_ITEMS(
    _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_,
    hcc_launch_cpp, , )

// ---- HIP 6.5 and later: launches with attributes ------------------------------------------------

GFXGRAPH_NEWER_CAPTURE_HOOK(hipLaunchKernelExC, const LaunchConfig* config, const void* stub,
                            void** args) {
  const auto pass = [&] { return real(kCall_hipLaunchKernelExC, config, stub, args); };
  if (!capturing() || config == nullptr) return pass();
  return launch_kernel(kCall_hipLaunchKernelExC, key_of(config->stream),
                       {.function = const_cast<void*>(stub),
                        .grid = config->grid,
                        .block = config->block,
                        .shared_bytes = config->shared_bytes,
                        .params = args,
                        .cooperative = is_cooperative(config->attributes, config->attribute_count)},
                       pass);
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipDrvLaunchKernelEx, const FunctionConfig* config,
                            hipFunction_t function, void** params, void** extra) {
  const auto pass = [&] {
    return real(kCall_hipDrvLaunchKernelEx, config, function, params, extra);
  };
  if (!capturing() || config == nullptr) return pass();
  return launch_kernel(kCall_hipDrvLaunchKernelEx, key_of(config->stream),
                       {.function = function,
                        .grid = config->grid,
                        .block = config->block,
                        .shared_bytes = config->shared_bytes,
                        .params = params,
                        .extra = extra,
                        .cooperative = is_cooperative(config->attributes, config->attribute_count)},
                       pass);
}

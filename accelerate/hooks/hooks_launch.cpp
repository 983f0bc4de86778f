// Launches that can be held.
#include <cstdint>
#include <cstring>

#include "accelerate/hooks/hooks_internal.h"

using namespace gfxgraph::accelerate;

namespace {

// The buffer of `extra`; false: it is something else.
bool packed_arguments(void* const* extra, std::span<const std::byte>& packed) noexcept {
  if (extra == nullptr || extra[0] != HIP_LAUNCH_PARAM_BUFFER_POINTER ||
      extra[2] != HIP_LAUNCH_PARAM_BUFFER_SIZE || extra[4] != HIP_LAUNCH_PARAM_END ||
      extra[3] == nullptr)
    return false;
  size_t size = 0;
  std::memcpy(&size, extra[3], sizeof(size));
  constexpr size_t kMost = 64 * 1024;
  if (size > kMost || (extra[1] == nullptr && size != 0)) return false;
  packed = {static_cast<const std::byte*>(extra[1]), size};
  return true;
}

struct Sizes {
  uint32_t x, y, z;
};

template <typename Pass>
hipError_t launch_function(const void* caller, bool items, hipFunction_t function, Sizes grid,
                           Sizes block, size_t shared_bytes, hipStream_t stream, void** params,
                           void** extra, bool plain, Pass&& pass) {
  Holder* const all = told_always(caller);
  if (all == nullptr) return pass();
  Launch one{.form = items ? Form::kItems : Form::kFunction,
             .function = function,
             .shape = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes},
             .stream = stream,
             .params = params,
             .packed = {}};
  if (params == nullptr && extra != nullptr) {
    one.form = items ? Form::kItemsPacked : Form::kFunctionPacked;
    plain = plain && packed_arguments(extra, one.packed);
  } else {
    plain = plain && extra == nullptr;
  }
  if (!plain || is_special(stream)) {
    all->unheld(is_special(stream) ? "a stream of the thread's own" : "events, flags or extras",
                this_thread());
    return pass();
  }
  return offer(*all, one, pass);
}

}  // namespace

// Behind the hooks of trampolines.S, which count in it the launches that were not looked at.
extern "C" {
__attribute__((visibility("hidden"))) constinit thread_local uint16_t gfxgraph_accelerate_unseen =
    0;
}

extern "C" __attribute__((visibility("hidden"))) hipError_t gfxgraph_accelerate_launch_kernel(
    const void* stub, dim3 grid, dim3 block, void** args, size_t shared_bytes, hipStream_t stream) {
  const auto pass = [&] {
    return real(kCall_hipLaunchKernel, stub, grid, block, args, shared_bytes, stream);
  };
  Holder* const all = told_always(__builtin_return_address(0));
  if (all == nullptr) return pass();
  if (is_special(stream)) {
    all->unheld("a stream of the thread's own", this_thread());
    return pass();
  }
  return offer(*all,
               {.form = Form::kStub,
                .function = stub,
                .shape = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes},
                .stream = stream,
                .params = args,
                .packed = {}},
               pass);
}

extern "C" __attribute__((visibility("hidden"))) hipError_t gfxgraph_accelerate_launch_function(
    hipFunction_t function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
    unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
    hipStream_t stream, void** params, void** extra) {
  return launch_function(
      __builtin_return_address(0), false, function, {grid_x, grid_y, grid_z},
      {block_x, block_y, block_z}, shared_bytes, stream, params, extra, true, [&] {
        return real(kCall_hipModuleLaunchKernel, function, grid_x, grid_y, grid_z, block_x, block_y,
                    block_z, shared_bytes, stream, params, extra);
      });
}

// Both spellings: HIP 5 exports the C++ name only.
#define GFXGRAPH_LAUNCH_OF_ITEMS(symbol, own_name)                                               \
  GFXGRAPH_ACCELERATE_HOOK hipError_t own_name(                                                  \
      hipFunction_t function, uint32_t items_x, uint32_t items_y, uint32_t items_z,              \
      uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared_bytes,                 \
      hipStream_t stream, void** params, void** extra, hipEvent_t start, hipEvent_t stop,        \
      uint32_t flags) __asm__(#symbol);                                                          \
  hipError_t own_name(hipFunction_t function, uint32_t items_x, uint32_t items_y,                \
                      uint32_t items_z, uint32_t block_x, uint32_t block_y, uint32_t block_z,    \
                      size_t shared_bytes, hipStream_t stream, void** params, void** extra,      \
                      hipEvent_t start, hipEvent_t stop, uint32_t flags) {                       \
    /* A partial last workgroup, which no node of a graph expresses. */                          \
    const bool whole = block_x != 0 && block_y != 0 && block_z != 0 && items_x % block_x == 0 && \
                       items_y % block_y == 0 && items_z % block_z == 0;                         \
    return launch_function(                                                                      \
        __builtin_return_address(0), true, function, {items_x, items_y, items_z},                \
        {block_x, block_y, block_z}, shared_bytes, stream, params, extra,                        \
        whole && start == nullptr && stop == nullptr && flags == 0, [&] {                        \
          return real(kCall_##symbol, function, items_x, items_y, items_z, block_x, block_y,     \
                      block_z, shared_bytes, stream, params, extra, start, stop, flags);         \
        });                                                                                      \
  }
GFXGRAPH_LAUNCH_OF_ITEMS(hipExtModuleLaunchKernel, ext_launch)
GFXGRAPH_LAUNCH_OF_ITEMS(
    _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j,
    ext_launch_cpp)

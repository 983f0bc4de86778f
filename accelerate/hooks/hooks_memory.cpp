// Copies within device memory and fills of it: held as launches are. All others are submitted, and
// what is held before them.
#include "accelerate/hooks/hooks_internal.h"

using namespace gfxgraph::accelerate;

namespace {

template <typename Kind, typename Pass>
hipError_t memory_work(const void* caller, Form form, int index, const Kind& kind, bool may_be_held,
                       hipStream_t stream, Pass&& pass) {
  Holder* const all = told(caller);
  if (all == nullptr) return pass();
  if (!may_be_held || is_special(stream)) {
    all->before();
    return pass();
  }
  return offer(*all,
               {.form = form,
                .function = &kCallRows[index],
                .shape = {},
                .stream = stream,
                .params = nullptr,
                .packed = std::as_bytes(std::span(&kind, 1))},
               pass);
}

template <typename Pass>
hipError_t fill(const void* caller, int index, void* to, uint32_t value, size_t count,
                uint32_t element_bytes, hipStream_t stream, Pass&& pass) {
  const uint32_t mask = element_bytes == 4 ? ~0u : (1u << 8 * element_bytes) - 1;
  return memory_work(
      caller, Form::kFill, index,
      Fill{.to = to, .count = count, .value = value & mask, .element_bytes = element_bytes},
      count != 0, stream, pass);
}

}  // namespace

GFXGRAPH_ACCELERATE_HOOK hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes,
                                                   hipMemcpyKind kind, hipStream_t stream) {
  return memory_work(
      __builtin_return_address(0), Form::kCopy, kCall_hipMemcpyAsync,
      Copy{.to = to, .from = from, .size_bytes = bytes, .kind = static_cast<uint64_t>(kind)},
      kind == hipMemcpyDeviceToDevice && bytes != 0, stream,
      [&] { return real(kCall_hipMemcpyAsync, to, from, bytes, kind, stream); });
}
GFXGRAPH_ACCELERATE_HOOK hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from,
                                                       size_t bytes, hipStream_t stream) {
  return memory_work(
      __builtin_return_address(0), Form::kCopy, kCall_hipMemcpyDtoDAsync,
      Copy{.to = to, .from = from, .size_bytes = bytes, .kind = hipMemcpyDeviceToDevice},
      bytes != 0, stream, [&] { return real(kCall_hipMemcpyDtoDAsync, to, from, bytes, stream); });
}

#define GFXGRAPH_FILL(name, pointer, number, element_bytes)                                  \
  GFXGRAPH_ACCELERATE_HOOK hipError_t name(pointer to, number value, size_t count,           \
                                           hipStream_t stream) {                             \
    return fill(__builtin_return_address(0), kCall_##name, to, static_cast<uint32_t>(value), \
                count, element_bytes, stream,                                                \
                [&] { return real(kCall_##name, to, value, count, stream); });               \
  }
GFXGRAPH_FILL(hipMemsetAsync, void*, int, 1)
GFXGRAPH_FILL(hipMemsetD8Async, hipDeviceptr_t, unsigned char, 1)
GFXGRAPH_FILL(hipMemsetD16Async, hipDeviceptr_t, unsigned short, 2)
GFXGRAPH_FILL(hipMemsetD32Async, hipDeviceptr_t, int, 4)

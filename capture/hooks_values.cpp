// Writes and waits of streams for values in memory: nodes from HIP 6.4 on.
#include <span>
#include <vector>

#include "capture/hooks_internal.h"
#include "capture/newer_hip.h"
#include "capture/runtime.h"

using namespace gfxgraph::capture;

namespace gfxgraph::capture {
namespace {

template <typename Pass>
hipError_t operations(int index, hipStream_t stream, std::span<const BatchMemOp> list,
                      Pass&& pass) {
  return work(
      index, key_of(stream),
      [&](Builder& builder) {
        if (list.empty()) return hipErrorInvalidValue;
        if (!runtime::add_memory_operations.exists())
          return builder.refuse("this runtime's graphs do not write or wait for values");
        // HIP reads it at each launch, as long as a graph with the node may run: nobody tells when
        // the last one is gone.
        const auto* const kept = new std::vector<BatchMemOp>(list.begin(), list.end());
        BatchNodeParams params = {};
        (void)runtime::current_context(reinterpret_cast<hipCtx_t*>(&params.context));
        params.count = static_cast<uint32_t>(kept->size());
        params.operations = kept->data();
        return builder.add(
            [&](auto... to) { return runtime::add_memory_operations(to..., &params); });
      },
      std::forward<Pass>(pass));
}

BatchMemOp operation(uint32_t kind, void* address, uint64_t value, uint32_t flags) {
  BatchMemOp one = {};
  one.operation = kind;
  one.address = address;
  one.value = value;
  one.flags = flags;
  return one;
}

template <typename Pass>
hipError_t wait(int index, hipStream_t stream, const BatchMemOp& one, bool masked, Pass&& pass) {
  if (!masked) return operations(index, stream, {&one, 1}, std::forward<Pass>(pass));
  return work(
      index, key_of(stream),
      [](Builder& builder) { return builder.refuse("a wait of a graph has no mask"); },
      std::forward<Pass>(pass));
}

}  // namespace
}  // namespace gfxgraph::capture

GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamWriteValue32(hipStream_t stream, void* address,
                                                       uint32_t value, unsigned int flags) {
  const BatchMemOp one = operation(BatchMemOp::kWrite32, address, value, flags);
  return operations(kCall_hipStreamWriteValue32, stream, {&one, 1}, [&] {
    return real(kCall_hipStreamWriteValue32, stream, address, value, flags);
  });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamWriteValue64(hipStream_t stream, void* address,
                                                       uint64_t value, unsigned int flags) {
  const BatchMemOp one = operation(BatchMemOp::kWrite64, address, value, flags);
  return operations(kCall_hipStreamWriteValue64, stream, {&one, 1}, [&] {
    return real(kCall_hipStreamWriteValue64, stream, address, value, flags);
  });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamWaitValue32(hipStream_t stream, void* address,
                                                      uint32_t value, unsigned int flags,
                                                      uint32_t mask) {
  return wait(kCall_hipStreamWaitValue32, stream,
              operation(BatchMemOp::kWait32, address, value, flags), mask != UINT32_MAX, [&] {
                return real(kCall_hipStreamWaitValue32, stream, address, value, flags, mask);
              });
}
GFXGRAPH_CAPTURE_HOOK hipError_t hipStreamWaitValue64(hipStream_t stream, void* address,
                                                      uint64_t value, unsigned int flags,
                                                      uint64_t mask) {
  return wait(kCall_hipStreamWaitValue64, stream,
              operation(BatchMemOp::kWait64, address, value, flags), mask != UINT64_MAX, [&] {
                return real(kCall_hipStreamWaitValue64, stream, address, value, flags, mask);
              });
}
GFXGRAPH_NEWER_CAPTURE_HOOK(hipStreamBatchMemOp, hipStream_t stream, unsigned int count,
                            BatchMemOp* list, unsigned int flags) {
  return operations(kCall_hipStreamBatchMemOp, stream, {list, list == nullptr ? 0 : count},
                    [&] { return real(kCall_hipStreamBatchMemOp, stream, count, list, flags); });
}

// Hooks of stream memory operations.
#include <deque>
#include <vector>

#include "recorder/hooks/calls/hooks_graph.h"
#include "recorder/hooks/calls/hooks_internal.h"
#include "recorder/hooks/calls/newer_hip.h"
#include "recorder/program_memory.h"

using namespace gfxgraph::recorder;

namespace {

template <typename Call>
hipError_t write_value(int index, hipStream_t stream, const RawWrite& raw, Call&& call,
                       const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  if (!scope.record) return call();
  return device_work(index, raw, stream_key(stream), std::forward<Call>(call), true);
}

template <typename Call>
hipError_t wait_value(int index, hipStream_t stream, const RawValueWait& wait, Call&& call,
                      const void* site = __builtin_return_address(0)) {
  const Scope scope(CallKind::kOther, site);
  const hipError_t result = call();
  if (scope.record && result == hipSuccess) {
    recorder().streams().stream_waits(stream_key(stream), wait, display_name(index).data());
  }
  return result;
}

}  // namespace

GFXGRAPH_HOOK hipError_t hipStreamWriteValue32(hipStream_t stream, void* address, uint32_t value,
                                               unsigned int flags) {
  return write_value(kCall_hipStreamWriteValue32, stream, {address_of(address), 4, value}, [&] {
    return real(kCall_hipStreamWriteValue32, stream, address, value, flags);
  });
}
GFXGRAPH_HOOK hipError_t hipStreamWriteValue64(hipStream_t stream, void* address, uint64_t value,
                                               unsigned int flags) {
  return write_value(kCall_hipStreamWriteValue64, stream, {address_of(address), 8, value}, [&] {
    return real(kCall_hipStreamWriteValue64, stream, address, value, flags);
  });
}
GFXGRAPH_HOOK hipError_t hipStreamWaitValue32(hipStream_t stream, void* address, uint32_t value,
                                              unsigned int flags, uint32_t mask) {
  return wait_value(
      kCall_hipStreamWaitValue32, stream, {address_of(address), 4, value, mask, flags},
      [&] { return real(kCall_hipStreamWaitValue32, stream, address, value, flags, mask); });
}
GFXGRAPH_HOOK hipError_t hipStreamWaitValue64(hipStream_t stream, void* address, uint64_t value,
                                              unsigned int flags, uint64_t mask) {
  return wait_value(
      kCall_hipStreamWaitValue64, stream, {address_of(address), 8, value, mask, flags},
      [&] { return real(kCall_hipStreamWaitValue64, stream, address, value, flags, mask); });
}

// A list of writes and waits, executed in order, without masks.
GFXGRAPH_NEWER_HOOK(hipStreamBatchMemOp, hipStream_t stream, unsigned int count,
                    BatchMemOp* operations, unsigned int flags) {
  constexpr int kIndex = kCall_hipStreamBatchMemOp;
  const Scope scope;
  const auto call = [&] { return real(kIndex, stream, count, operations, flags); };
  if (!scope.record || operations == nullptr) return call();
  const char* const name = display_name(kIndex).data();
  const Handle key = stream_key(stream);
  const auto read = read_list(operations, count);
  if (!read) return call();
  const std::vector<BatchMemOp>& list = *read;
  if (recorder().work().captures_values(key)) {
    const hipError_t result = call();
    if (result == hipSuccess)
      recorder().graphs().captured(key, value_list_action({nullptr, count, list.data(), flags}));
    return result;
  }
  const auto low = [](const BatchMemOp& one) { return static_cast<uint32_t>(one.value); };
  std::deque<Work> writes;
  for (const BatchMemOp& one : list) {
    const bool wide = one.operation == BatchMemOp::kWrite64;
    if (!wide && one.operation != BatchMemOp::kWrite32) continue;
    Work& work = writes.emplace_back();
    work.raw = RawWrite{address_of(one.address), wide ? 8u : 4u, wide ? one.value : low(one)};
    work.stream = key;
    work.call = name;
    work.never_captured = true;
    recorder().work().prepare(work);
  }
  const hipError_t result = call();
  if (result != hipSuccess) {
    if (count != 0) recorder().note_incomplete(name, "failed, and may be done in part");
    return result;
  }
  for (const BatchMemOp& one : list) {
    switch (one.operation) {
      case BatchMemOp::kWrite32:
      case BatchMemOp::kWrite64:
        recorder().commit(writes.front());
        writes.pop_front();
        break;
      case BatchMemOp::kWait32:
        recorder().streams().stream_waits(
            key, {address_of(one.address), 4, low(one), 0xffffffffu, one.flags}, name);
        break;
      case BatchMemOp::kWait64:
        recorder().streams().stream_waits(
            key, {address_of(one.address), 8, one.value, ~uint64_t{0}, one.flags}, name);
        break;
      default: recorder().note_incomplete(name, "an operation that is neither a write nor a wait");
    }
  }
  return result;
}

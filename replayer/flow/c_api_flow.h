// What the C ABI files of gfxgraph/flow.h share: handles, and the guard around their functions.
#pragma once

#include "gfxgraph/flow.h"
#include "replayer/capi/c_api_internal.h"
#include "replayer/flow/branches.h"
#include "replayer/flow/composition.h"
#include "replayer/flow/latency.h"
#include "replayer/flow/loop.h"
#include "replayer/flow/pipeline.h"
#include "replayer/production/c_api_pool_internal.h"

namespace gfxgraph::replayer {

struct FlowHandle {
  std::shared_ptr<const FlowDevice> device;
  uint32_t made_in = process_number();
  explicit FlowHandle(std::shared_ptr<const FlowDevice> of) : device(std::move(of)) {}
};

// A callable that lives as long as the call: one guard is compiled for all.
class FlowBody {
 public:
  template <typename Callable>
  FlowBody(const Callable& callable)  // NOLINT: the callers' lambdas become it
      : callable_(&callable), call_([](const void* one) {
          return Result<void>((*static_cast<const Callable*>(one))());
        }) {}
  Result<void> operator()() const { return call_(callable_); }

 private:
  const void* callable_;
  Result<void> (*call_)(const void*);
};

gfxgraph_status_t on_host(const FlowHandle* handle, const FlowBody& body) noexcept;
gfxgraph_status_t on_device(const FlowHandle* handle, const FlowBody& body) noexcept;
// The same, of a run on a stream.
gfxgraph_status_t on_stream(const FlowHandle* handle, void* stream, const FlowBody& body) noexcept;

// `make` makes it on the calling thread's current device.
template <typename Handle, typename Options, typename Make>
gfxgraph_status_t create_flow(const Options* options, Options defaults, const char* name,
                              Handle** handle, const Make& make) noexcept {
  return guarded([&]() -> Result<void> {
    GFXGRAPH_TRY(require(options != nullptr && handle != nullptr, "options or handle is null"));
    GFXGRAPH_ASSIGN_OR_RETURN(const Options chosen, read_in(options, defaults, name));
    GFXGRAPH_ASSIGN_OR_RETURN(const std::shared_ptr<const FlowDevice> device,
                              FlowDevice::current());
    auto made = std::make_unique<Handle>(device);
    GFXGRAPH_TRY(make(*made, chosen));
    *handle = made.release();
    return {};
  });
}

template <typename Handle>
void destroy_flow(Handle* handle) noexcept {
  if (handle == nullptr || is_inherited(handle->made_in)) return;
  const std::shared_ptr<const FlowDevice> device = handle->device;
  OnDevice scope(device->library(), device->ordinal());
  try {
    (void)scope.enter();
  } catch (...) {  // no memory for an error's text
  }
  delete handle;
}

// A result that the caller may not want, also of a run that failed, whose status is worth more than
// a wrong structure.
template <typename Structure>
Result<void> give_result(Result<void> ran, const Structure& ours, Structure* theirs) {
  if (theirs == nullptr) return ran;
  Result<void> written = write_out(ours, theirs);
  return ran && !written ? written : ran;
}

}  // namespace gfxgraph::replayer

#define GFXGRAPH_FLOW_HANDLE(name, Type)                                                          \
  struct gfxgraph_##name##_s : gfxgraph::replayer::FlowHandle {                                   \
    gfxgraph::replayer::Type thing;                                                               \
    explicit gfxgraph_##name##_s(const std::shared_ptr<const gfxgraph::replayer::FlowDevice>& of) \
        : FlowHandle(of), thing(of) {}                                                            \
  };
GFXGRAPH_FLOW_HANDLE(branches, Branches)
GFXGRAPH_FLOW_HANDLE(loop, Loop)
GFXGRAPH_FLOW_HANDLE(composition, Composition)
GFXGRAPH_FLOW_HANDLE(pipeline, Pipeline)
#undef GFXGRAPH_FLOW_HANDLE

#include "replayer/flow/flow_device.h"

#include <dlfcn.h>

#include "replayer/capi/c_api_internal.h"

namespace gfxgraph::replayer {
namespace {

// The process's own function, where a recorder puts its hooks.
template <typename Function>
Function* stream_hook(const char* name, Function* otherwise) {
  void* const found = ::dlsym(RTLD_DEFAULT, name);
  return found == nullptr ? otherwise : reinterpret_cast<Function*>(found);
}

}  // namespace

Result<std::shared_ptr<const FlowDevice>> FlowDevice::current() {
  GFXGRAPH_TRY(begin_use_of_hip());
  auto made = std::make_shared<FlowDevice>();
  GFXGRAPH_ASSIGN_OR_RETURN(made->library_, hip_library_in_use(0));
  GFXGRAPH_ASSIGN_OR_RETURN(const HipDevice device, made->library_->select_device(-1));
  made->ordinal_ = device.ordinal;
  if (made->library_->avoids(HipQuirk::kGraphKernelsMix)) made->lock_ = LaunchLock::of_process();
  return std::shared_ptr<const FlowDevice>(std::move(made));
}

Result<hip::Stream> FlowDevice::make_stream() const {
  hip::Stream stream = nullptr;
  auto* const create =
      stream_hook("hipStreamCreateWithFlags", library_->table().hipStreamCreateWithFlags);
  GFXGRAPH_TRY(library_->check(create(&stream, hip::kStreamNonBlocking), "a stream"));
  return stream;
}

void FlowDevice::destroy_stream(hip::Stream stream) const noexcept {
  if (stream != nullptr)
    (void)stream_hook("hipStreamDestroy", library_->table().hipStreamDestroy)(stream);
}

}  // namespace gfxgraph::replayer

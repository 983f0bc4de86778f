// Lets this thread allocate and free beside another thread's stream capture in global mode: HIP
// refuses such calls otherwise, and ends that capture.
#pragma once

#include "replayer/abi/hip_abi.h"

namespace gfxgraph::replayer {

class RelaxedCapture {
 public:
  using Exchange = int (*)(int* mode);  // hipThreadExchangeStreamCaptureMode
  // Null: a runtime without it.
  explicit RelaxedCapture(Exchange exchange) noexcept : exchange_(exchange) {
    if (exchange_ != nullptr && exchange_(&mode_) != hip::kSuccess) exchange_ = nullptr;
  }
  ~RelaxedCapture() {
    if (exchange_ != nullptr) (void)exchange_(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  Exchange exchange_;
  int mode_ = hip::kCaptureRelaxed;  // then the thread's own
};

}  // namespace gfxgraph::replayer

// One piece of work again and again (gfxgraph_loop_t).
#pragma once

#include <array>
#include <mutex>
#include <string>

#include "replayer/flow/captured_work.h"
#include "replayer/flow/device_flag.h"

namespace gfxgraph::replayer {

// Thread-safe but for create(). A run holds the lock to its end: the flag is one.
class Loop {
 public:
  explicit Loop(std::shared_ptr<const FlowDevice> device)
      : device_(std::move(device)), flag_(device_->library()) {}
  Result<void> create(const gfxgraph_loop_options_t& options);

  // On the device, as all that calls HIP.
  Result<void> run(uint64_t count, hip::Stream stream, gfxgraph_loop_result_t& result);
  CapturedWork& body() { return *body_; }

  const FlowDevice& device() const { return *device_; }
  const std::string& name() const { return name_; }
  // Without latencies.
  void add_up(gfxgraph_loop_info_t& info, WorkSums& sums);

 private:
  Result<void> repeat(uint64_t count, hip::Stream stream, gfxgraph_loop_result_t& result);
  Result<bool> goes_on(uint64_t count, hip::Stream stream, gfxgraph_loop_result_t& result);

  std::shared_ptr<const FlowDevice> device_;
  std::string name_;
  std::unique_ptr<CapturedWork> body_;
  DeviceFlag flag_;
  uint32_t read_every_ = 1;
  uint64_t max_iterations_ = 0;
  std::mutex mutex_;
  std::array<Count, GFXGRAPH_LOOP_ENDS> runs_{};
};

const char* loop_end_name(uint32_t end) noexcept;

}  // namespace gfxgraph::replayer

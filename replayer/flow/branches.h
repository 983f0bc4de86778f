// One of several pieces of work per run (gfxgraph_branches_t).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "replayer/flow/captured_work.h"
#include "replayer/flow/device_flag.h"

namespace gfxgraph::replayer {

// Thread-safe but for create().
class Branches {
 public:
  explicit Branches(std::shared_ptr<const FlowDevice> device);
  Result<void> create(const gfxgraph_branches_options_t& options);

  // On the device, as all that calls HIP.
  Result<void> run(int64_t value, hip::Stream stream, gfxgraph_branches_result_t& result);
  Result<void> warm(hip::Stream stream);
  Result<CapturedWork*> branch(uint32_t number);

  const FlowDevice& device() const { return *device_; }
  const std::string& name() const { return name_; }
  uint32_t count() const { return static_cast<uint32_t>(values_.size()); }
  const std::string& branch_name(uint32_t number) const { return names_[number]; }
  // Of a branch that exists, without latencies.
  void add_up(uint32_t number, gfxgraph_branches_info_t& info, WorkSums& sums);

 private:
  Result<uint32_t> choose(int64_t value);
  tl::unexpected<Error> unknown(int64_t value) const;

  std::shared_ptr<const FlowDevice> device_;
  std::string name_;
  std::vector<int64_t> values_;
  std::vector<std::string> names_;
  std::deque<CapturedWork> works_;
  uint32_t default_branch_ = GFXGRAPH_BRANCH_NONE;
  DeviceFlag flag_;
  Count unknown_{0};
  Count by_default_{0};
};

}  // namespace gfxgraph::replayer

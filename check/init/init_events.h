// Tells initcheck of the events of a trace: which bytes were written, and which the host reads.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "check/init/init_check.h"
#include "check/listener.h"
#include "format/trace.h"

namespace gfxgraph::check {

class InitEvents final : public Listener {
 public:
  // `found`: called when a copy to the host was found to read unwritten bytes. `check` must outlive
  // this.
  InitEvents(InitCheck& check, std::function<void()> found)
      : check_(check), found_(std::move(found)) {}

  void next_event(uint64_t sequence) override { event_ = sequence; }
  Result<void> allocated(const format::AllocationBegin& begin) override;
  Result<void> freed(const format::AllocationEnd& end) override;
  Result<void> written(const format::HostWrite& write) override;
  // Copies and memsets must be within their buffers.
  Result<void> copied(const format::Copy& copy) override;
  Result<void> filled(const format::Memset& memset) override;
  void next_launch(uint64_t index, const format::Launch&) override { launch_ = index; }
  void before_run(const LaunchRun& run) override { check_.next_launch(run.launch.kernel, event_); }

 private:
  uint64_t address_of(format::AllocationId id) const {
    const auto found = addresses_.find(id);
    return found == addresses_.end() ? 0 : found->second;
  }

  InitCheck& check_;
  const std::function<void()> found_;
  uint64_t event_ = 0, launch_ = 0;  // the last ones
  // Addresses of device memory; 0 for memory that the host may write at any time.
  std::unordered_map<format::AllocationId, uint64_t> addresses_;
};

}  // namespace gfxgraph::check

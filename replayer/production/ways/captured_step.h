// Captured work, and the steps that run it. Over the C ABI of captures, sessions and steps, whose
// rules it keeps.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "gfxgraph/gfxgraph.h"
#include "gfxgraph/production.h"
#include "replayer/abi/hip_abi.h"
#include "replayer/production/safety/identity.h"
#include "replayer/production/ways/way_settings.h"

namespace gfxgraph::replayer {

// The error of a call of the C ABI.
Result<void> called(gfxgraph_status_t status);

template <typename Handle, void (*Destroy)(Handle*) noexcept>
struct DestroyHandle {
  void operator()(Handle* handle) const noexcept { Destroy(handle); }
};
template <typename Handle, void (*Destroy)(Handle*) noexcept>
using Owned = std::unique_ptr<Handle, DestroyHandle<Handle, Destroy>>;
using OwnedCapture = Owned<gfxgraph_capture_s, gfxgraph_capture_abandon>;
using OwnedTrace = Owned<gfxgraph_trace_s, gfxgraph_trace_destroy>;

class CapturedStep {
 public:
  static Result<OwnedCapture> begin(hip::Stream stream, uint32_t wait_ms);
  // Ends the capture; its session, in place.
  Result<void> take(OwnedCapture capture);
  // The caller's step in place of a capture, in the way of its mode, which it returns.
  // kUnsupported: it has none. `advances`: each run gives it the parameters of the next iteration.
  Result<uint32_t> borrow(gfxgraph_step_t step, bool advances);
  // What was captured.
  Result<Identity> identity() const { return identity_of(trace_.get(), range_); }
  // What its steps allocate beside the program's memory.
  Result<uint64_t> device_bytes() const;
  // Makes the step of a GFXGRAPH_WAY_..., in place of an earlier one.
  Result<void> prepare(uint32_t way, const BorderFunction& border);
  bool is_ready(uint32_t way) const { return prepared_[way].step != nullptr; }
  Result<void> run(uint32_t way, hip::Stream stream);
  // Whether a run that failed so has certainly submitted nothing.
  bool submitted_nothing(uint32_t way, const Error& error) const;
  // The step of a way alone, or all that was captured. They wait for the step.
  void drop(uint32_t way) noexcept { prepared_[way] = {}; }
  void clear() noexcept;
  // Drops the steps but `way`'s whose work has ended; false: there are others.
  bool drop_idle_but(uint32_t way) noexcept;

 private:
  Result<void> describe(uint32_t way, gfxgraph_step_t step);

  gfxgraph_range_t range_ = 0;
  OwnedTrace trace_;
  Owned<gfxgraph_session_s, gfxgraph_session_destroy> session_;
  struct Prepared {
    gfxgraph_step_t step = nullptr;
    Owned<gfxgraph_step_s, gfxgraph_step_destroy> own;  // empty: it is the caller's
    bool is_one_graph = false;
    bool waits = false;  // what comes later on the stream does not follow it by itself
  };
  std::array<Prepared, GFXGRAPH_WAYS> prepared_;
  bool advances_ = false;
  uint64_t advanced_ = 0;
};

}  // namespace gfxgraph::replayer

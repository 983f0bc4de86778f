// Kernel launches: what their words lead to, and the ways in which they get into the trace. The
// device does not care what a launch means to that: as much as possible is found out when the call
// is over, without a lock that another thread's launches take.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/events/flights.h"
#include "recorder/events/work.h"
#include "recorder/launch/arguments.h"
#include "recorder/memory/code.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/graph_model.h"
#include "recorder/queue/launch_lane.h"
#include "recorder/selection/stretch.h"

namespace gfxgraph::recorder {

class Launches : private Part {
 public:
  Launches(const Core& core, const Allocations& allocations, Stretch& stretch, Flights& flights,
           const HostRuns& runs, Events& events, TracedMemory& traced, Code& code,
           const Captures& captures) noexcept
      : Part(core),
        allocations_(allocations),
        stretch_(stretch),
        flights_(flights),
        runs_(runs),
        events_(events),
        traced_(traced),
        code_(code),
        captures_(captures) {}

  // ---- for hooks --------------------------------------------------------------------------------
  // Whether launches need not be looked at: no range that is recorded is open, and nothing is
  // captured. Takes no lock.
  bool idle() const noexcept { return idle_.load(std::memory_order_acquire); }
  // Before the call. nullptr: the work must be skipped. The kernel cannot be described, `held` says
  // why; or launches are idle.
  KernelEntry* find_kernel(Handle function, bool host_function, const char* call,
                           HeldFindings& held, format::DeviceNumber device = 0) noexcept;
  // A graph node's function: a host stub, else a hipFunction_t. Also where launches are idle.
  // It is of the thread's current device.
  KernelEntry* find_any_kernel(Handle function, const char* call, HeldFindings& held) noexcept;
  // Before the call. Takes no lock that another thread's launches take, and once buffers have grown
  // allocates nothing.
  LaunchWay launch_way(KernelEntry& kernel, void* const* params, void* const* extra,
                       ArgumentsAre are = ArgumentsAre::kUnknown) noexcept;
  // A launch whose way is not kWhole has succeeded. True: so many wait to be written that its
  // thread is to do that.
  bool launched(LaunchWay way, KernelEntry& kernel, const LaunchShape& shape, void* const* params,
                void* const* extra, Handle stream, const char* call) noexcept;

  // What a call gives its kernel, before that; without a kernel `held` says why there is none.
  RawLaunch raw_launch(KernelEntry* kernel, const LaunchShape& shape, void* const* params,
                       void* const* extra, const char* call, HeldFindings& held,
                       ArgumentsAre are = ArgumentsAre::kUnknown) noexcept;

  // Whether the kernel may wait for grids of other devices: HIP gives it an argument for that, in
  // launches on several devices alone.
  static bool may_wait_for_grids(const KernelEntry& kernel) noexcept;

  // ---- any thread, no lock ----------------------------------------------------------------------
  // Whether kernels are in flight that may write memory of the host.
  bool kernels_fly() const noexcept { return kernels_fly_.load(std::memory_order_acquire); }
  bool light() const noexcept { return light_.load(std::memory_order_relaxed); }

  // ---- with the recorder's lock -----------------------------------------------------------------
  // The kernel that the runtime runs for a graph node that was made with `node`; nullptr: unknown,
  // and a finding says so. `graph`: the device that was current when the graph was instantiated.
  KernelEntry* kernel_of_node(KernelEntry& node, format::DeviceNumber graph,
                              format::DeviceNumber stream, const char* call);
  // Call when a launch is captured while another device than the stream's is current.
  void captured_elsewhere(const KernelEntry& kernel, const char* call);
  format::Launch make_launch(RawLaunch raw, format::StreamId stream);
  // Data that launches read may have changed.
  void update_ways() noexcept;
  // Until update_ways(), launches take the path of all other work.
  void hold() noexcept;

 private:
  KernelEntry* look_up_kernel(Handle function, bool host_function, const char* call,
                              HeldFindings& held, format::DeviceNumber device = 0) noexcept;
  void name_addresses(KernelEntry& entry);
  // Of a kernel that the trace has.
  void describe_found(KernelEntry& kernel, const char* call);
  // The pointers in a launch's arguments; problems become findings.
  void resolve_arguments(KernelEntry& kernel, std::span<const uint8_t> kernarg,
                         std::vector<format::Relocation>& relocations,
                         std::span<const format::Relocation> given = {});
  bool words_are_enough(const KernelEntry& kernel, LaunchLane& lane) const;
  bool add_launch(LaunchLane& lane, const KernelEntry& kernel, format::StreamId stream,
                  const LaunchShape& shape);

  // The data that each launch reads, adjacent in few cache lines. The first three tell how much
  // more it has to check, and change with LaunchLanes::Alone.
  alignas(64) std::atomic<bool> plain_{false};
  std::atomic<bool> light_{false};
  std::atomic<bool> idle_{false};
  std::atomic<bool> in_flight_{false};  // whether flights_ follows anything
  std::atomic<bool> kernels_fly_{false};

  const Allocations& allocations_;
  Stretch& stretch_;
  Flights& flights_;
  const HostRuns& runs_;
  Events& events_;
  TracedMemory& traced_;
  Code& code_;
  const Captures& captures_;
};

}  // namespace gfxgraph::recorder

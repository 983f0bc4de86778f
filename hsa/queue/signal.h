// HSA signals. The handle points to an amd_signal_t, because HIP reads its timestamps and device
// code writes its value directly.
//
// Kernels may write that memory, so the agent trusts only the value and the times in it. All
// signals are in one table: an address outside of it is no signal, and what else the agent must
// know is in a record that the device cannot see. With GFXGRAPH_HOST_CALLS=deny the device cannot
// write signals.
//
// The memory of a signal is never unmapped, because HIP destroys signals in static destructors. Use
// of a destroyed handle may affect another signal, but never crashes.
#pragma once

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "hsa/queue/wait.h"

namespace gfxgraph::hsa {

class Queue;

// The agent's own state of a signal. All zero: no signal.
struct SignalRecord {
  std::atomic<int64_t> kind;  // amd_signal_kind_t
  std::atomic<Queue*> queue;  // of a doorbell
  std::atomic<uint32_t> watchers;
  uint32_t next_free;  // number of the next free signal, plus 1
};

// A view of an amd_signal_t: `this` is the address in the handle.
class Signal {
 public:
  // Null if the handle is not a live signal.
  static Signal* from(hsa_signal_t handle) noexcept;
  static Signal* from(uint64_t handle) noexcept { return from(hsa_signal_t{handle}); }
  hsa_signal_t handle() const noexcept { return {reinterpret_cast<uint64_t>(this)}; }

  std::atomic<int64_t>& value() noexcept {
    return *reinterpret_cast<std::atomic<int64_t>*>(const_cast<int64_t*>(&raw_.value));
  }
  SignalRecord& record() noexcept;
  bool is_doorbell() noexcept {
    return record().kind.load(std::memory_order_relaxed) == AMD_SIGNAL_KIND_DOORBELL;
  }
  std::atomic<uint32_t>& watchers() noexcept { return record().watchers; }
  amd_signal_t& raw() noexcept { return raw_; }

  // Call after every change of the value except a silent one.
  void notify() noexcept {
    if (is_doorbell()) return ring();
    if (watchers().load(std::memory_order_seq_cst) != 0) notify_watchers(*this);
  }
  // Completes a packet or copy: stores its timestamps (ns) and decrements the value.
  void complete(uint64_t start_ns, uint64_t end_ns) noexcept;

 private:
  void ring() noexcept;
  amd_signal_t raw_;
};

// kOutOfMemory if there is no memory for the signal.
Result<Signal*> create_signal(int64_t initial_value);
// The doorbell of a queue; storing to it wakes the queue's thread.
Result<Signal*> create_doorbell(Queue& queue);
// `signal` may be null.
void destroy_signal(Signal* signal) noexcept;

// Memory in the form of a signal that no host thread knows: device code may ring it, and then sends
// its message. Its device address; 0 before the first signal.
uint64_t stand_in_signal() noexcept;

bool condition_holds(hsa_signal_condition_t condition, int64_t value, int64_t compare) noexcept;

struct SignalCondition {
  Signal* signal;
  hsa_signal_condition_t condition;
  int64_t compare;
};

constexpr uint64_t kForever = UINT64_MAX;

// Waits until any condition holds; returns its index and the observed value, or index -1 after
// `timeout_ns`. Spins briefly first, longer if `active`. In a forked child, which has no device,
// sets the first signal so that its condition holds, and returns that.
struct WaitResult {
  int64_t index;
  int64_t value;
};
WaitResult wait_any(std::span<const SignalCondition> conditions, uint64_t timeout_ns,
                    bool active) noexcept;

}  // namespace gfxgraph::hsa

// Whether a proof of order (order/needed_edges.h) holds for what a program works with now. It was
// made for the recorded arguments and memory, so it holds for these at the addresses of the replay,
// and for less of them: other arguments or sizes, or buffers that share bytes, need the recorded
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "order/needed_edges.h"
#include "replayer/program/dag.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {

// Allocates nothing after it was made. Not thread-safe. Both outlive it.
class OrderProof {
 public:
  OrderProof(const Instance& instance, const order::NeededEdges& edges);

  // Null: it holds for all operations. Else why it does not: a text that lives forever.
  const char* holds() const noexcept;
  // The same where only this operation has changed since, and where buffers may have moved.
  const char* holds_for(uint32_t operation) noexcept;

 private:
  // `work`: its number in the whole trace.
  const char* launch_holds(uint32_t work, const Operation& recorded,
                           const PreparedLaunch& launch) const noexcept;
  const char* copy_holds(const format::Copy& recorded, const PreparedCopy& copy) const noexcept;
  const char* memset_holds(const format::Memset& recorded,
                           const PreparedMemset& memset) const noexcept;
  const char* operation_holds(uint32_t operation) const noexcept;
  const char* memory_holds() const noexcept;

  const Instance& instance_;
  const order::NeededEdges& edges_;
  size_t moves_ = 0;  // of the session, at which memory was looked at
};

// Which order the runs of a step keep.
struct OrderUse {
  bool proven = false;
  const char* reason = nullptr;  // why not; lives forever. Null: no other was asked for
  uint64_t edges_recorded = 0;   // of the program, reduced
  uint64_t edges_needed = 0;     // of those that are kept now
  uint64_t packets = 0;          // mode packets: of a run, without its fences
  uint64_t barriers = 0;         // of them with the barrier bit
};

// The order of a program's work: the session's proven one, as long as its proof holds for what the
// instance works with, else the recorded one. Not thread-safe. The instance outlives it.
class OrderInUse {
 public:
  // `refused`: why the proven order cannot be used; a text that lives forever. Null: it can.
  explicit OrderInUse(const Instance& instance, const char* refused = nullptr);

  const Dag& recorded() const { return recorded_; }
  const Dag& dag() const { return proven_ ? *proven_ : recorded_; }
  bool proven() const { return proven_.has_value(); }
  // The operation has changed. False: the proof is lost by it, and dag() is recorded() from now on,
  // which the session's log says. Otherwise allocates nothing.
  bool keeps(uint32_t operation) noexcept;
  OrderUse use() const;

 private:
  void lose(const char* reason) noexcept;

  const Instance& instance_;
  Dag recorded_;
  std::shared_ptr<const order::NeededEdges> edges_;  // which may be the session's no more
  std::optional<OrderProof> proof_;
  std::optional<Dag> proven_;
  const char* reason_ = nullptr;
};

}  // namespace gfxgraph::replayer

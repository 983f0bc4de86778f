// Device work that reads or writes memory visible to the program: prepare() handles it before the
// real call, commit() appends it after the call. Launches that involve no such memory take the
// faster paths of launches.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_runs.h"
#include "recorder/events/work.h"
#include "recorder/launch/launches.h"
#include "recorder/memory/contents.h"
#include "recorder/memory/host_writes.h"
#include "recorder/memory/traced_memory.h"
#include "recorder/objects/allocations.h"
#include "recorder/objects/executable_graphs.h"
#include "recorder/objects/graphs.h"
#include "recorder/selection/stretch.h"
#include "recorder/work/deferrals.h"
#include "recorder/work/stream_values.h"

namespace gfxgraph::recorder {

class DeviceWork : private Part {
 public:
  DeviceWork(const Core& core, Allocations& allocations, Stretch& stretch, Flights& flights,
             HostRuns& runs, Events& events, Contents& contents, TracedMemory& traced,
             HostWrites& host_writes, Deferrals& deferrals, Graphs& graphs,
             ExecutableGraphs& executables, Launches& launches) noexcept
      : Part(core),
        allocations_(allocations),
        stretch_(stretch),
        flights_(flights),
        runs_(runs),
        events_(events),
        contents_(contents),
        traced_(traced),
        host_writes_(host_writes),
        deferrals_(deferrals),
        graphs_(graphs),
        executables_(executables),
        launches_(launches) {}

  // ---- for hooks: they take the lock ------------------------------------------------------------
  void prepare(Work& work) noexcept;
  void prepare_graph_launch(Handle executable, Handle stream, Work& work) noexcept;
  void commit(Work& work) noexcept;
  // For a value in memory.
  void stream_waits(Handle stream, const RawValueWait& wait, const char* call) noexcept;
  // Whether values that the stream writes and waits for become nodes of the graph it captures.
  bool captures_values(Handle stream) noexcept;

  // ---- with the lock ----------------------------------------------------------------------------
  StreamValues& values() noexcept { return values_; }
  uint32_t graph_launches() const noexcept { return graph_launches_; }
  // For the next trace.
  void number_anew();

 private:
  // device_work.cpp
  bool done_at_once(const Work& work) const;
  void writes_outside(const RawAction& raw);
  std::optional<format::Memset> make_memset(const RawMemset& raw, format::StreamId stream,
                                            Work& work);
  RawMemset as_node(const RawMemset& raw);
  void writes(Work& work, Allocation& allocation, const Flight& flight);
  void gives(const format::Launch& launch, Work& work);
  void reachable_may_be_written(Work& work, format::StreamId stream);
  void checkpoint();

  // device_work_copies.cpp
  bool host_waits(const Work& work, const format::Copy& copy);
  std::optional<format::Copy> make_copy(const RawCopy& raw, format::StreamId stream, Work& work);
  // A copy between an array and memory, of which the runtime takes another part.
  bool takes_other_bytes(const RawCopy& raw, const RawCopyEnd& memory, const char* call);
  bool carries_bytes(const Allocation& source, uint64_t offset, uint64_t size_bytes,
                     const format::CopyEnd& destination, const Work& work);
  bool resolve_copy_end(const RawCopyEnd& raw, MemorySide side, uint64_t size_bytes, Work& work,
                        format::CopyEnd& end);
  // Whether some in flight were given what a copy reads.
  bool kernels_may_write(const format::CopyEnd& source, uint64_t size_bytes) const;
  void take_in_source(const RawCopy& raw, const format::Copy& copy);
  std::optional<format::Content> take_rows(const RawCopy& raw, const RawCopyEnd& end, bool store);
  // Fills host_source of a copy from plain host memory. False: the memory cannot be read.
  // `work`: not of a graph's node.
  bool read_copy_source(const RawCopy& raw, format::Copy& copy, Work* work = nullptr);
  // When the runtime reads plain memory that is copied to the device, if it does not wait for the
  // copy.
  enum class ReadsSource : uint8_t { kBeforeReturn, kAtOnce, kWhenItRuns };
  ReadsSource reads_source(const format::Copy& copy) const;
  // Keeps the bytes of a source that the runtime reads at once, if work under way may write it.
  bool take_source_at_once(const RawCopy& raw, format::Copy& copy, Work& work);
  void receive_copy_result(const Work& work, format::Copy& copy);

  // device_work_graphs.cpp
  std::optional<std::vector<format::GraphNode>> materialise(std::span<const FlatNode> flat_nodes,
                                                            format::DeviceNumber graph_device,
                                                            Work& work);
  void note_other_variables(std::span<const FlatNode> nodes, const char* call);
  // A graph that was launched allocates or frees memory.
  void comes_or_goes(const RawGraphMemory& memory);
  void note_lost_edges(const std::vector<format::GraphNode>& nodes);
  void tell_by_functions(const std::vector<format::GraphNode>& nodes, Work& work);
  void defer_graph_sources(std::span<const FlatNode> flat, std::vector<format::GraphNode>& nodes,
                           Work& work, std::span<const uint64_t> earlier,
                           std::vector<std::pair<size_t, DeferredSource>>& found);

  // device_work_values.cpp
  std::optional<format::Action> make_write(const RawWrite& raw, format::StreamId stream,
                                           Work& work);
  bool captures_values_now(Handle stream) const;
  void follow_values(const Work& work);
  void follow_value(const RawValueWait& wait, format::StreamId stream, const char* call);
  // A wait in a node's list that no earlier value of the list ends.
  struct NodeWait {
    RawValueWait wait;
    size_t written_later = 0;  // values of the list that are written over it afterwards
  };
  // The nodes with one for each value that a list writes, behind one another.
  std::vector<FlatNode> with_single_values(std::span<const FlatNode> nodes, const char* call,
                                           std::vector<NodeWait>& waits);
  std::vector<RawListedValue> listed_now(const RawValueList& list, const char* call);
  void wait_in_list(std::span<const RawListedValue> list, size_t at, const char* call,
                    std::vector<NodeWait>& waits);
  // `work`: the graph's launch, whose nodes are materialised.
  void follow_node_values(std::span<const NodeWait> waits, const Work& work);
  void note_unknown_wait(const char* call, const char* why);

  Allocations& allocations_;
  Stretch& stretch_;
  Flights& flights_;
  HostRuns& runs_;
  Events& events_;
  Contents& contents_;
  TracedMemory& traced_;
  HostWrites& host_writes_;
  Deferrals& deferrals_;
  Graphs& graphs_;
  ExecutableGraphs& executables_;
  Launches& launches_;

  StreamValues values_;
  format::GraphId next_graph_ = 1;
  uint32_t graph_launches_ = 0;
};

}  // namespace gfxgraph::recorder

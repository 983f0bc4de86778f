// A trace's event stream, or a stretch of it, lowered to what replay executes: device operations
// (launches, copies, memsets) in order, with the stream and host actions around them. Needs no
// device and no HIP.
//
// Allocation and free events do nothing at run time: every recorded allocation gets memory of its
// own, or a part of an arena (packing.h), so that two at one recycled address never mix.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "format/read/reader.h"
#include "format/trace.h"
#include "replayer/program/options.h"
#include "replayer/program/program_store.h"

namespace gfxgraph::replayer {

enum class OperationKind : uint8_t { kLaunch, kCopy, kMemset };

// One device operation. Its pointers live as long as the program.
struct Operation {
  OperationKind kind = OperationKind::kLaunch;
  // The host knew it done when its call returned: a copy or memset that blocks.
  bool blocking = false;
  // It may write memory which the host can poll, so that what was issued later may have been issued
  // because of it: a launch, or what stores a single value there.
  bool reaches_host = false;
  int32_t graph_node = -1;  // in the graph that the event launched
  uint64_t sequence = 0;    // of its event
  format::StreamId stream = 0;
  uint32_t launch_index = 0;  // kLaunch: its number among all launches, from 0
  union {                     // that of its kind
    const LaunchShape* launch = nullptr;
    const format::Copy* copy;
    const format::Memset* memset;
  };
  const uint8_t* arguments = nullptr;  // kLaunch: its bytes

  // kLaunch: the explicit arguments, as recorded.
  std::span<const uint8_t> kernarg() const { return {arguments, launch->kernarg_bytes}; }
};
// A program may have millions.
static_assert(sizeof(Operation) == 40);

enum class CallKind : uint8_t {
  kOperation,
  kGraphLaunch,
  kEventRecord,
  kStreamWait,
  kSynchronize,
  kHostFunction,
  kHostWrite
};

// What happens in recorded order.
struct Call {
  CallKind kind = CallKind::kOperation;
  format::SynchronizeKind synchronize = format::SynchronizeKind::kDevice;
  format::StreamId stream = 0;
  uint64_t sequence = 0;
  uint32_t first_operation = 0;  // kOperation, kGraphLaunch: the index; else: operations before it
  uint32_t operation_count = 0;  // kOperation: 1; kGraphLaunch: one per node with an action
  // kHostFunction, kGraphLaunch: the id of the first host function that the host was seen to know
  // of (Program::host_functions_of); 0: none.
  uint32_t first_host_function = 0;
  union {                 // that of its kind
    uint32_t graph = 0;   // kGraphLaunch: Program::graph_of
    uint32_t event;       // kEventRecord, kStreamWait
    uint32_t object;      // kSynchronize
    uint32_t host_write;  // kHostWrite: index into host_writes()
  };

  // Whether it may change memory.
  bool acts() const {
    return kind == CallKind::kOperation || kind == CallKind::kGraphLaunch ||
           kind == CallKind::kHostWrite;
  }
};
static_assert(sizeof(Call) == 32);

// Where the host of the captured program may have acted between operations. As GFXGRAPH_BORDER_...
enum class BorderKind : uint32_t {
  kWait = 1,      // it waited for work
  kResult = 2,    // it got bytes of the device in its own memory
  kFunction = 3,  // a function of the program ran
  kBreak = 4,     // it said so
};
struct Border {
  uint64_t sequence = 0;  // of its event: what comes before, the event's own work included, is done
  uint32_t operations_before = 0;
  BorderKind kind = BorderKind::kWait;
  bool in_graph = false;  // kFunction: of a node, so that no run can stop there
  std::string name;       // the HIP call, or the program's text
};

// What the host does between operations, when all before are complete: borders, and then writes.
struct HostPart {
  uint32_t first_border = 0, borders = 0;
  uint32_t first_write = 0, writes = 0;
  bool any() const { return borders != 0 || writes != 0; }
};

// Operations between two places where the host must act.
struct Segment {
  HostPart host;  // before the first of them
  uint32_t first_operation = 0;
  uint32_t operation_count = 0;
};

// As GFXGRAPH_NAME_...
enum class NameSource : uint32_t { kUnnamed = 0, kGiven = 1, kSymbol = 2, kCallSite = 3 };

struct AllocationInfo {
  const format::AllocationBegin* begin = nullptr;  // null: the id is not used
  const format::AllocationEnd* end = nullptr;      // null: a torn trace
  uint64_t begin_sequence = 0;
  uint64_t end_sequence = 0;
  // As the program named it, else the symbol of a variable, else format::made_name(); may be empty.
  std::string name;
  NameSource name_source = NameSource::kUnnamed;
  // As requested, or more where the program used what the mapping gave it beyond that.
  uint64_t extent_bytes = 0;
};

// For messages: "allocation 3 (kv cache)", without a name "allocation 3".
std::string text_of(const AllocationInfo& allocation);

struct StreamInfo {
  bool created = false;
  uint32_t flags = 0;
  int32_t priority = 0;
  format::DeviceNumber device = 0;
  format::StreamId null_stream = 0;  // of its device
};

struct CheckpointInfo {
  uint64_t sequence = 0;
  uint32_t operations_before = 0;
  const format::Checkpoint* checkpoint = nullptr;
};

// A place whose words are relocated although nothing but their values marks them as pointers: an
// argument of a kernel, over all launches, or what the host gave to a buffer.
struct AmbiguousWord {
  std::string kernel;               // of an argument, else empty
  std::string argument;             // its name, or "#2"
  std::string content;              // of memory: "copy to", "host write to", "initial content of"
  format::AllocationId buffer = 0;  // of memory: the buffer that holds the words
  uint64_t offset_bytes = 0;  // in the kernarg segment; of memory: of the first word in its bytes
  format::AllocationId allocation = 0;  // what the first word points into
  uint64_t targets = 0;                 // how many allocations they all point into
  uint64_t words = 0;
  uint64_t first_launch = 0;  // of an argument
  uint64_t first_event = 0;
};

class Program {
 public:
  // Checks every id and range that the trace uses. The program keeps the trace alive, but of its
  // events a copy: it may have been opened lazily. kUnsupported, before anything is expanded, when
  // there are more than `max_operations`.
  // `borders`: runs take the place of the program's own calls, so the host's part counts.
  static Result<std::shared_ptr<const Program>> build(
      std::shared_ptr<const format::Trace> trace, uint64_t max_operations = kDefaultMaxOperations,
      bool borders = false);
  // What of this program stands in the events [first_event, end_event), with all of its
  // allocations, streams and events. Launches keep their numbers.
  std::shared_ptr<const Program> cut(uint64_t first_event, uint64_t end_event) const;

  const format::Trace& trace() const { return *trace_; }
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<Call>& calls() const { return calls_; }
  // Of a graph launch.
  const format::Graph& graph_of(const Call& call) const { return trace_->graphs()[call.graph]; }
  // How many, from Call::first_host_function on.
  uint32_t host_functions_of(const Call& call) const;
  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<const format::HostWrite*>& host_writes() const { return host_writes_; }
  // Between the first and the last operation, in order.
  const std::vector<Border>& borders() const { return borders_; }
  const std::vector<CheckpointInfo>& checkpoints() const { return checkpoints_; }
  // Index = id - 1.
  const std::vector<AllocationInfo>& allocations() const { return allocations_; }
  // Index = id; [0] is the null stream.
  const std::vector<StreamInfo>& streams() const { return streams_; }
  bool is_null_stream(format::StreamId id) const { return streams_[id].null_stream == id; }
  // Index = id; flags of each event, [0] unused.
  const std::vector<uint32_t>& events() const { return events_; }
  // Whether a later call waits for this host function. Rising ids.
  bool awaited(format::HostFunctionId id) const;
  uint64_t first_event() const { return first_event_; }
  uint64_t end_event() const { return end_event_; }
  // The number of its first operation among those of the whole trace.
  uint32_t first_operation() const { return first_.operation; }
  // Launches have the numbers [first_launch(), first_launch() + launch_count()).
  uint32_t first_launch() const { return first_.launch; }
  // How many launches differ in more than their argument bytes; of all that it was cut from.
  size_t launch_shapes() const { return store_->shapes(); }
  uint32_t launch_count() const { return static_cast<uint32_t>(launch_operations_.size()); }
  // The operation of a launch.
  uint32_t launch_operation(uint32_t launch_index) const {
    return launch_operations_[launch_index - first_.launch];
  }
  // Whether the trace holds the allocation at some time between the first and the last event.
  bool holds(const AllocationInfo& allocation) const {
    return allocation.begin != nullptr && allocation.begin_sequence < end_event_ &&
           (allocation.end == nullptr || allocation.end_sequence >= first_event_);
  }
  // Whether memory stands at the end of this program as it did when the allocation ended: nothing
  // between the two may have written it.
  bool ends_with(const AllocationInfo& allocation) const {
    if (allocation.end == nullptr || allocation.end_sequence > next_launch_) return false;
    return next_writes_.empty() ||
           allocation.end_sequence <= next_writes_[allocation.begin->id - 1];
  }
  const format::Kernel& kernel(const LaunchShape& launch) const {
    return trace_->kernels()[launch.kernel - 1];
  }
  std::vector<AmbiguousWord> ambiguous_words() const;
  // kIncomplete, naming the first calls, unless the recording was sealed (or `allow_torn`) and
  // missed nothing.
  Result<void> check_complete(bool allow_torn = false) const;
  // "launch 12 kernel saxpy (event 40)", "copy (event 7)".
  std::string describe(uint32_t operation) const;

 private:
  friend class ProgramBuilder;
  void divide();  // fills segments_
  void look_behind(const Program& whole, size_t end_call, size_t end_operation);

  std::shared_ptr<const format::Trace> trace_;
  std::shared_ptr<ProgramStore> store_;
  std::vector<Operation> operations_;
  std::vector<Call> calls_;
  std::vector<Segment> segments_;
  std::vector<const format::HostWrite*> host_writes_;
  std::vector<Border> borders_;
  std::vector<CheckpointInfo> checkpoints_;
  std::vector<AllocationInfo> allocations_;
  std::vector<StreamInfo> streams_ = {StreamInfo{.created = true}};
  std::vector<uint32_t> events_ = {0};
  std::vector<uint32_t> launch_operations_;
  std::vector<format::HostFunctionId> awaited_;  // sorted
  uint64_t first_event_ = 0;
  uint64_t end_event_ = UINT64_MAX;
  struct {
    uint32_t operation = 0, launch = 0;
  } first_;  // their numbers in the whole trace
  // The next event behind this program with a kernel, which may write anything.
  uint64_t next_launch_ = UINT64_MAX;
  // Of each allocation, index = id - 1, the next event with another write. Empty: none.
  std::vector<uint64_t> next_writes_;
};

}  // namespace gfxgraph::replayer

#include "replayer/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "format/box.h"
#include "format/read/recover.h"
#include "format/site_name.h"
#include "format/stream_devices.h"
#include "order/host_reach.h"

namespace gfxgraph::replayer {
std::string text_of(const AllocationInfo& allocation) {
  return allocation.name.empty()
             ? fmt::format("allocation {}", allocation.begin->id)
             : fmt::format("allocation {} ({})", allocation.begin->id, allocation.name);
}

// Builds from a trace whose events the loader has checked (format/check/check.h): it rejects what
// the format allows but no replay supports.
class ProgramBuilder {
 public:
  ProgramBuilder(std::shared_ptr<const format::Trace> trace, bool borders)
      : program_(std::make_shared<Program>()), borders_(borders) {
    program_->trace_ = std::move(trace);
    program_->store_ = std::make_shared<ProgramStore>();
  }

  Result<std::shared_ptr<const Program>> build(uint64_t max_operations) {
    GFXGRAPH_TRY(check_operations(max_operations));
    const format::Trace& trace = *program_->trace_;
    for (const format::Device& device : trace.devices()) {
      use_stream(device.null_stream);
      program_->streams_[device.null_stream] = {true, 0, 0, device.number, device.null_stream};
      devices_.add(device);
    }
    // Allocations first: a pointer may lead to one that begins later in the stream.
    const auto begin_one = [&](const format::Event& event) -> Result<void> {
      if (const auto* const begin = std::get_if<format::AllocationBegin>(&event.action))
        add_allocation(event.sequence, *begin);
      return {};
    };
    GFXGRAPH_TRY(trace.visit_events(format::kinds_of<format::AllocationBegin>(), begin_one));
    GFXGRAPH_TRY(
        trace.visit_events(format::kEveryAction, [&](const format::Event& event) -> Result<void> {
          sequence_ = event.sequence;
          return std::visit([this](const auto& action) { return add(action); }, event.action);
        }));
    program_->store_->finish();
    program_->divide();
    std::sort(program_->awaited_.begin(), program_->awaited_.end());
    mark_host_reaching();
    return std::shared_ptr<const Program>(std::move(program_));
  }

 private:
  // Graph launches expand to their nodes; the count cannot overflow, it stops at the limit.
  Result<void> check_operations(uint64_t limit) {
    const format::Trace& trace = *program_->trace_;
    const std::vector<format::Graph>& graphs = trace.graphs();
    uint64_t count = 0;
    const auto count_one = [&](const format::Event& event) -> Result<void> {
      if (const auto* launch = std::get_if<format::GraphLaunch>(&event.action)) {
        if (launch->graph != 0 && launch->graph <= graphs.size())
          count += graphs[launch->graph - 1].nodes.size();
      } else if (std::holds_alternative<format::Launch>(event.action) ||
                 std::holds_alternative<format::Copy>(event.action) ||
                 std::holds_alternative<format::Memset>(event.action)) {
        ++count;
      }
      if (count <= limit) return {};
      return fail(Status::kUnsupported,
                  fmt::format("event {}: the trace has more than {} operations, the nodes of "
                              "launched graphs counted at each launch; nothing was run; raise the "
                              "limit (--max-operations) if you trust the trace",
                              event.sequence, limit));
    };
    using format::Copy, format::GraphLaunch, format::Launch, format::Memset;
    const uint64_t events = trace.statistics().events;
    if (!graphs.empty() || events > limit) {
      const auto kinds = format::kinds_of<Launch, Copy, Memset, GraphLaunch>();
      GFXGRAPH_TRY(trace.visit_events(kinds, count_one));
    }
    program_->operations_.reserve(std::max(count, std::min(events, limit)));
    program_->calls_.reserve(events);
    program_->launch_operations_.reserve(trace.statistics().launches);
    return {};
  }

  void mark_host_reaching() {
    order::HostReach reach;
    for (const AllocationInfo& info : program_->allocations_)
      if (info.begin != nullptr) reach.add(*info.begin);
    for (const format::HostWrite* write : program_->host_writes_) reach.add(*write);
    for (const Operation& operation : program_->operations_)
      if (operation.kind == OperationKind::kCopy) reach.add(*operation.copy);
    const bool by_memory = reach.by_memory();
    for (Operation& operation : program_->operations_) {
      switch (operation.kind) {
        case OperationKind::kLaunch:
          operation.reaches_host = by_memory || reach.leads_to_host(operation.launch->relocations);
          break;
        case OperationKind::kCopy:
          operation.reaches_host = !operation.blocking && reach.raises_flag(*operation.copy);
          break;
        case OperationKind::kMemset:
          operation.reaches_host = !operation.blocking && reach.raises_flag(*operation.memset);
          break;
      }
    }
  }

  void add_allocation(uint64_t sequence, const format::AllocationBegin& begin) {
    if (program_->allocations_.size() < begin.id) program_->allocations_.resize(begin.id);
    AllocationInfo& info = program_->allocations_[begin.id - 1];
    info.begin = program_->store_->keep(begin);
    info.begin_sequence = sequence;
    if (!begin.name.empty()) {
      info.name = begin.name;
      info.name_source = NameSource::kGiven;
    } else if (!begin.symbol.empty()) {
      info.name = begin.symbol;
      info.name_source = NameSource::kSymbol;
    } else if (info.name = format::made_name(program_->trace_->sites(), begin);
               !info.name.empty()) {
      info.name_source = NameSource::kCallSite;
    }
    info.extent_bytes = std::max(begin.size_bytes, begin.initial.size_bytes);
  }

  AllocationInfo& allocation(format::AllocationId id) { return program_->allocations_[id - 1]; }

  static uint64_t limit(const format::AllocationBegin& begin) {
    return std::max(begin.size_bytes, begin.mapped_bytes);
  }

  // Bytes behind the size that the program asked for, but in what the runtime gave it.
  void uses(format::AllocationId id, uint64_t offset, uint64_t size) {
    AllocationInfo& info = allocation(id);
    info.extent_bytes = std::max(info.extent_bytes, offset + size);
  }

  // The targets of pointers count as used.
  void leads(const std::vector<format::Relocation>& relocations) {
    for (const format::Relocation& relocation : relocations) {
      if (!relocation.outside)
        uses(relocation.allocation, static_cast<uint64_t>(relocation.addend), 0);
    }
  }

  Result<void> add(const format::AllocationBegin& begin) {
    leads(begin.initial.relocations);
    return {};
  }

  Result<void> add(const format::AllocationEnd& end) {
    AllocationInfo& info = allocation(end.id);
    info.end = program_->store_->keep(end);
    info.end_sequence = sequence_;
    uses(end.id, 0, end.post.size_bytes);
    leads(end.post.relocations);
    return {};
  }

  Result<void> add(const format::HostWrite& write) {
    if (!format::host_visible(*allocation(write.allocation).begin)) {
      return fail(Status::kCorrupt,
                  fmt::format("event {}: host write to allocation {}, which the host cannot see",
                              sequence_, write.allocation));
    }
    uses(write.allocation, write.offset_bytes, write.content.size_bytes);
    leads(write.content.relocations);
    Call call = new_call(CallKind::kHostWrite);
    call.host_write = static_cast<uint32_t>(program_->host_writes_.size());
    program_->host_writes_.push_back(program_->store_->keep(write));
    program_->calls_.push_back(call);
    return {};
  }

  Result<void> add(const format::StreamCreate& stream) {
    use_stream(stream.id);
    devices_.add(stream);
    program_->streams_[stream.id] = {true, stream.flags, stream.priority, stream.device,
                                     devices_.null_stream(stream.id)};
    return {};
  }

  Result<void> add(const format::EventCreate& event) {
    use_event(event.id);
    program_->events_[event.id] = event.flags;
    return {};
  }

  Result<void> add(const format::StreamDestroy&) { return {}; }
  Result<void> add(const format::EventDestroy&) { return {}; }
  Result<void> add(const format::Marker& marker) {
    if (marker.kind == format::MarkerKind::kMark) add_border(BorderKind::kBreak, marker.text);
    if (marker.kind != format::MarkerKind::kName) return {};
    AllocationInfo& info = allocation(marker.allocation);
    info.name = marker.text;
    info.name_source = NameSource::kGiven;
    return {};
  }
  // Its effects are HostWrites. Where the host was seen to know that it ran, it is a call.
  Result<void> add(const format::HostFunction& function) {
    use_stream(function.stream);
    add_border(BorderKind::kFunction, function.call);
    if (function.id == 0) return {};
    Call call = new_call(CallKind::kHostFunction);
    call.stream = function.stream;
    call.first_host_function = function.id;
    program_->calls_.push_back(call);
    return {};
  }

  Result<void> add(const format::EventRecord& record) {
    use_event(record.event);
    use_stream(record.stream);
    Call call = new_call(CallKind::kEventRecord);
    call.event = record.event;
    call.stream = record.stream;
    program_->calls_.push_back(call);
    return {};
  }

  Result<void> add(const format::StreamWait& wait) {
    use_event(wait.event);
    use_stream(wait.stream);
    Call call = new_call(CallKind::kStreamWait);
    call.event = wait.event;
    call.stream = wait.stream;
    program_->calls_.push_back(call);
    return {};
  }

  Result<void> add(const format::Synchronize& synchronize) {
    if (synchronize.kind == format::SynchronizeKind::kStream ||
        synchronize.kind == format::SynchronizeKind::kStreamItself) {
      use_stream(synchronize.object);
    }
    if (synchronize.kind == format::SynchronizeKind::kEvent) {
      use_event(synchronize.object);
    }
    if (synchronize.kind == format::SynchronizeKind::kHostFunction) {
      program_->awaited_.push_back(synchronize.object);
    } else {
      add_border(BorderKind::kWait, synchronize.call);
    }
    Call call = new_call(CallKind::kSynchronize);
    call.synchronize = synchronize.kind;
    call.object = synchronize.object;
    program_->calls_.push_back(call);
    return {};
  }

  Result<void> add(const format::Launch& launch) { return add_single(launch, launch.stream); }
  Result<void> add(const format::Copy& copy) {
    GFXGRAPH_TRY(add_single(copy, copy.stream));
    if (!copy.asynchronous && copy.destination.allocation == 0)
      add_border(BorderKind::kResult, "a copy to the host");
    return {};
  }
  Result<void> add(const format::Memset& memset) { return add_single(memset, memset.stream); }

  Result<void> add(const format::GraphLaunch& launch) {
    use_stream(launch.stream);
    const format::Graph& graph = program_->trace_->graphs()[launch.graph - 1];
    Call call = new_call(CallKind::kGraphLaunch);
    call.stream = launch.stream;
    call.graph = launch.graph - 1;
    call.first_host_function = launch.first_host_function;
    for (size_t node = 0; node < graph.nodes.size(); ++node) {
      const size_t before = program_->operations_.size();
      const auto add = [&](const auto& action) -> Result<void> {
        return add_node(action, launch.stream, static_cast<int32_t>(node));
      };
      if (std::holds_alternative<format::HostFunction>(graph.nodes[node].action))
        add_border(BorderKind::kFunction, "a host function node", true);
      GFXGRAPH_TRY(std::visit(add, graph.nodes[node].action));
      call.operation_count += static_cast<uint32_t>(program_->operations_.size() - before);
    }
    program_->calls_.push_back(call);
    return {};
  }

  Result<void> add(const format::Checkpoint& checkpoint) {
    for (const format::Checkpoint::State& state : checkpoint.states) leads(state.relocations);
    program_->checkpoints_.push_back(
        CheckpointInfo{sequence_, static_cast<uint32_t>(program_->operations_.size()),
                       program_->store_->keep(checkpoint)});
    return {};
  }

  Result<void> add(const format::CallFault&) { return {}; }

  void add_border(BorderKind kind, std::string_view name, bool in_graph = false) {
    if (!borders_) return;
    program_->borders_.push_back({sequence_, static_cast<uint32_t>(program_->operations_.size()),
                                  kind, in_graph, std::string(name)});
  }

  Call new_call(CallKind kind) const {
    Call call;
    call.kind = kind;
    call.sequence = sequence_;
    call.first_operation = static_cast<uint32_t>(program_->operations_.size());
    return call;
  }

  template <typename Action>
  Result<void> add_single(const Action& action, format::StreamId stream) {
    Call call = new_call(CallKind::kOperation);
    call.stream = stream;
    call.operation_count = 1;
    GFXGRAPH_TRY(add_operation(action, stream, -1));
    program_->calls_.push_back(call);
    return {};
  }

  // Nodes without work on the device.
  static Result<void> add_node(std::monostate, format::StreamId, int32_t) { return {}; }
  static Result<void> add_node(const format::HostFunction&, format::StreamId, int32_t) {
    return {};
  }
  Result<void> add_node(const format::Launch& launch, format::StreamId stream, int32_t node) {
    return add_operation(launch, stream, node);
  }
  Result<void> add_node(const format::Copy& copy, format::StreamId stream, int32_t node) {
    return add_operation(copy, stream, node);
  }
  Result<void> add_node(const format::Memset& memset, format::StreamId stream, int32_t node) {
    return add_operation(memset, stream, node);
  }

  template <typename Action>
  Result<void> add_operation(const Action& action, format::StreamId stream, int32_t node) {
    use_stream(stream);
    if (program_->operations_.size() >= UINT32_MAX / 2) {
      return fail(Status::kUnsupported, fmt::format("event {}: more operations than a replay can "
                                                    "count",
                                                    sequence_));
    }
    Operation operation;
    operation.sequence = sequence_;
    operation.graph_node = node;
    operation.stream = stream;
    fill(operation, action);
    program_->operations_.push_back(operation);
    return {};
  }

  void fill(Operation& operation, const format::Launch& launch) {
    leads(launch.relocations);
    operation.kind = OperationKind::kLaunch;
    operation.launch = program_->store_->shape(launch);
    // The trace keeps a graph's nodes.
    operation.arguments = operation.graph_node >= 0 ? launch.kernarg.data()
                                                    : program_->store_->arguments(launch.kernarg);
    operation.launch_index = program_->launch_count();
    program_->launch_operations_.push_back(static_cast<uint32_t>(program_->operations_.size()));
  }

  void uses(format::AllocationId id, uint64_t offset, const format::Box& box) {
    uses(id, offset, box.extent().value_or(UINT64_MAX));
  }

  void uses(const format::CopyEnd& end, const format::Copy& copy) {
    if (end.allocation == 0) return;
    uses(end.allocation, end.offset_bytes, format::box_of(copy, end));
  }

  void fill(Operation& operation, const format::Copy& copy) {
    uses(copy.destination, copy);
    uses(copy.source, copy);
    leads(copy.host_source.relocations);
    leads(copy.host_result.relocations);
    operation.kind = OperationKind::kCopy;
    operation.copy = operation.graph_node >= 0 ? &copy : program_->store_->keep(copy);
    operation.blocking = !copy.asynchronous && operation.graph_node < 0;
  }

  void fill(Operation& operation, const format::Memset& memset) {
    if (const std::optional<format::Box> box = format::box_of(memset))
      uses(memset.allocation, memset.offset_bytes, *box);
    operation.kind = OperationKind::kMemset;
    operation.memset = operation.graph_node >= 0 ? &memset : program_->store_->keep(memset);
    operation.blocking = !memset.asynchronous && operation.graph_node < 0;
  }

  void use_stream(format::StreamId id) {
    if (program_->streams_.size() <= id) program_->streams_.resize(id + 1);
  }

  void use_event(uint32_t id) {
    if (program_->events_.size() <= id) program_->events_.resize(id + 1);
  }

  std::shared_ptr<Program> program_;
  const bool borders_;
  uint64_t sequence_ = 0;
  format::StreamDevices devices_;
};

Result<std::shared_ptr<const Program>> Program::build(std::shared_ptr<const format::Trace> trace,
                                                      uint64_t max_operations, bool borders) {
  return ProgramBuilder(std::move(trace), borders).build(max_operations);
}

uint32_t Program::host_functions_of(const Call& call) const {
  if (call.first_host_function == 0) return 0;
  if (call.kind != CallKind::kGraphLaunch) return 1;
  const auto functions =
      std::ranges::count_if(graph_of(call).nodes, [](const format::GraphNode& node) {
        return std::holds_alternative<format::HostFunction>(node.action);
      });
  return static_cast<uint32_t>(functions);
}

bool Program::awaited(format::HostFunctionId id) const {
  return std::binary_search(awaited_.begin(), awaited_.end(), id);
}

Result<void> Program::check_complete(bool allow_torn) const {
  constexpr size_t kNamed = 5;
  if (!trace_->sealed() && !allow_torn) {
    return fail(Status::kIncomplete,
                fmt::format("the recording did not finish ({}): gfxgraph recover copies its intact "
                            "part, and --allow-incomplete replays it",
                            trace_->torn_reason()));
  }
  if (trace_->complete()) return {};
  std::string cut;  // why the recording ends early, which is no call of the program
  std::string calls;
  std::string kernels;               // what they were given and the trace does not describe
  size_t count = 0, selections = 0;  // selections: options that nothing matched
  const auto is_kernel = [&](const std::string& name) {
    return std::ranges::any_of(trace_->kernels(),
                               [&](const format::Kernel& kernel) { return kernel.name == name; });
  };
  for (const format::Finding& finding : trace_->findings()) {
    if (finding.kind != format::FindingKind::kIncomplete) continue;
    selections += finding.call.starts_with("--") ? 1 : 0;
    if (format::is_cut(finding)) {
      cut += (cut.empty() ? "" : "; ") + finding.detail;
      continue;
    }
    if (++count > kNamed) continue;
    std::string& list = is_kernel(finding.call) ? kernels : calls;
    list += fmt::format("{}{} x{}{}", list.empty() ? "" : ", ", finding.call, finding.count,
                        finding.detail.empty() ? "" : " (" + finding.detail + ")");
  }
  if (count > kNamed)
    (calls.empty() ? kernels : calls) += fmt::format(" and {} more", count - kNamed);
  if (cut.empty() && selections == count && operations_.empty()) {
    return fail(Status::kIncomplete,
                fmt::format("nothing was recorded: {}; record all of it, and list what can be "
                            "selected: gfxgraph info TRACE --ranges --kernels",
                            calls));
  }
  if (!kernels.empty())
    kernels = "kernels were passed what the trace does not describe: " + kernels + "; ";
  if (!calls.empty()) {
    calls = fmt::format(
        "the recording missed calls that may have changed device state: {}; {}"
        "--allow-incomplete replays it without them",
        calls, kernels);
  } else if (!kernels.empty()) {
    calls = kernels + "--allow-incomplete replays it with the recorded values";
  }
  if (cut.empty()) return fail(Status::kIncomplete, calls);
  return fail(Status::kIncomplete,
              fmt::format("the recording was cut off: {}; {}", cut,
                          calls.empty() ? "--allow-incomplete replays what it holds" : calls));
}

std::string Program::describe(uint32_t index) const {
  const Operation& operation = operations_[index];
  const std::string node =
      operation.graph_node < 0 ? "" : fmt::format(" graph node {}", operation.graph_node);
  switch (operation.kind) {
    case OperationKind::kLaunch:
      return fmt::format("launch {} kernel {} (event {}{})", operation.launch_index,
                         kernel(*operation.launch).name, operation.sequence, node);
    case OperationKind::kCopy: return fmt::format("copy (event {}{})", operation.sequence, node);
    case OperationKind::kMemset:
      return fmt::format("memset (event {}{})", operation.sequence, node);
  }
  return {};
}

}  // namespace gfxgraph::replayer

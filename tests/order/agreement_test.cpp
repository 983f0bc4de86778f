// Replay (program/dag.h) and check (order/event_order.h) use one law of order, each with its own
// way through a trace: random traces, in which both must say the same of each pair of operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/reachability.h"
#include "check/order/event_order.h"
#include "replayer/program/dag.h"
#include "trace_builder.h"

namespace gfxgraph {
namespace {

using format::AllocationId;
using format::Graph;
using format::StreamId;

class RandomTrace {
 public:
  explicit RandomTrace(uint64_t seed) : random_(seed) {}

  std::vector<std::byte> write() {
    return format::trace_bytes([this](format::Writer& writer) {
      writer_ = &writer;
      ASSERT_TRUE(format::add_preamble(writer));
      begin();
      const unsigned graphs = up_to(3);
      for (unsigned i = 0; i < graphs; ++i) add_graph(i + 1);
      const unsigned count = 10 + up_to(40);
      for (unsigned i = 0; i < count; ++i) step(graphs);
    });
  }

 private:
  unsigned up_to(unsigned most) {
    return std::uniform_int_distribution<unsigned>(0, most)(random_);
  }
  bool one_in(unsigned n) { return up_to(n - 1) == 0; }
  template <typename Action>
  void add(Action action) {
    format::Event event;
    event.action = std::move(action);
    const Result<uint64_t> added = writer_->add(std::move(event));
    ASSERT_TRUE(added) << added.error().message;
  }

  void begin() {
    const bool memory_leads = one_in(4);
    for (AllocationId id = 1; id <= kAllocations; ++id) {
      format::AllocationBegin begin = format::sample_allocation(id);
      if (is_host(id)) {
        begin.kind = format::AllocationKind::kHostPinned;
        begin.host_address = begin.recorded_address;
      }
      begin.initial.size_bytes = 4096;
      if (memory_leads && id > 1 && one_in(3))
        begin.initial.relocations = {
            {8, 1 + up_to(id - 2), 0, format::RelocationSource::kMatched, false}};
      add(begin);
    }
    for (StreamId id = 1; id <= kStreams; ++id) add(format::StreamCreate{id, up_to(1), 0});
    for (format::EventId id = 1; id <= kEvents; ++id) add(format::EventCreate{id, 2});
  }
  // The first two are pinned. Few launches have their address: nearly all would be ordered else.
  static bool is_host(AllocationId id) { return id <= 2; }
  AllocationId some_memory() {
    return one_in(8) ? 1 + up_to(kAllocations - 1) : 3 + up_to(kAllocations - 3);
  }
  format::Launch some_launch(StreamId stream) {
    return format::sample_launch(some_memory(), some_memory(), stream);
  }
  format::Copy some_copy(StreamId stream) {
    format::Copy copy;
    copy.stream = stream;
    copy.asynchronous = !one_in(8);
    copy.width_bytes = one_in(2) ? 8 : 64;
    copy.destination.allocation = some_memory();
    if (one_in(2)) {
      copy.source.allocation = some_memory();
    } else {
      copy.host_source.size_bytes = copy.width_bytes;
      if (one_in(12))
        copy.host_source.relocations = {
            {0, 1 + up_to(kAllocations - 1), 0, format::RelocationSource::kMatched, false}};
    }
    return copy;
  }
  format::Memset some_memset(StreamId stream) {
    format::Memset memset;
    memset.stream = stream;
    memset.allocation = some_memory();
    memset.width_elements = 4;
    memset.asynchronous = !one_in(8);
    return memset;
  }
  void add_graph(format::GraphId id) {
    Graph graph;
    graph.id = id;
    const unsigned nodes = 1 + up_to(5);
    for (uint32_t n = 0; n < nodes; ++n) {
      format::GraphNode node;
      switch (up_to(5)) {
        case 0: break;
        case 1: node.action = some_copy(0); break;
        case 2: node.action = some_memset(0); break;
        case 3: node.action = format::HostFunction{0, "hipGraphAddHostNode", 0}; break;
        default: node.action = some_launch(0); break;
      }
      for (uint32_t earlier = 0; earlier < n; ++earlier)
        if (one_in(2)) node.dependencies.push_back(earlier);
      graph.nodes.push_back(std::move(node));
    }
    hosts_.push_back(
        static_cast<unsigned>(std::ranges::count_if(graph.nodes, [](const format::GraphNode& node) {
          return std::holds_alternative<format::HostFunction>(node.action);
        })));
    const Result<void> added = writer_->add(graph);
    ASSERT_TRUE(added) << added.error().message;
  }

  void step(unsigned graphs) {
    const StreamId stream = up_to(kStreams);
    switch (up_to(13)) {
      case 0: return add(some_copy(stream));
      case 1: return add(some_memset(stream));
      case 2: return add(format::EventRecord{1 + up_to(kEvents - 1), stream});
      case 3: return add(format::StreamWait{stream, 1 + up_to(kEvents - 1), 0});
      case 4: return wait();
      case 5: return add(format::HostFunction{stream, "hipLaunchHostFunc", ++functions_});
      case 6:
      case 7:
        if (graphs != 0) {
          format::GraphLaunch launch;
          launch.graph = 1 + up_to(graphs - 1);
          launch.stream = stream;
          const unsigned hosts = hosts_[launch.graph - 1];
          if (hosts != 0) launch.first_host_function = functions_ + 1;
          functions_ += hosts;
          return add(launch);
        }
        [[fallthrough]];
      default: return add(some_launch(stream));
    }
  }
  void wait() {
    using Kind = format::SynchronizeKind;
    switch (up_to(5)) {
      case 0: return add(format::Synchronize{});
      case 1: return add(format::Synchronize{Kind::kStream, up_to(kStreams)});
      case 2: return add(format::Synchronize{Kind::kStreamItself, 1 + up_to(kStreams - 1)});
      case 3:
        if (functions_ != 0)
          return add(format::Synchronize{Kind::kHostFunction, 1 + up_to(functions_ - 1)});
        [[fallthrough]];
      default: return add(format::Synchronize{Kind::kEvent, 1 + up_to(kEvents - 1)});
    }
  }

  static constexpr AllocationId kAllocations = 6;
  static constexpr StreamId kStreams = 4;
  static constexpr format::EventId kEvents = 3;

  std::mt19937_64 random_;
  format::Writer* writer_ = nullptr;
  std::vector<unsigned> hosts_;  // host functions of each graph
  uint32_t functions_ = 0;
};

TEST(Order, ReplayAndCheckAgree) {
  unsigned apart = 0, pairs = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Result<std::shared_ptr<const format::Trace>> trace =
        format::Trace::from_bytes(RandomTrace(seed).write());
    ASSERT_TRUE(trace) << trace.error().message;
    const auto program = replayer::Program::build(*trace, 1u << 20);
    ASSERT_TRUE(program) << program.error().message;
    replayer::Dag dag = replayer::build_dag(**program);
    Reachability reach;
    for (std::vector<uint32_t>& dependencies : dag.dependencies) reach.add(dependencies);
    const check::WorkOrder order = check::order_work(**trace);
    ASSERT_EQ(order.unordered.size(), dag.dependencies.size());
    ASSERT_FALSE(order.limited);
    for (uint32_t later = 0; later < dag.dependencies.size(); ++later) {
      for (uint32_t earlier = 0; earlier < later; ++earlier) {
        const bool unordered = std::ranges::count(order.unordered[later], earlier) != 0;
        ASSERT_EQ(unordered, !reach.reaches(earlier, later)) << earlier << " and " << later;
        apart += unordered;
        ++pairs;
      }
    }
  }
  // Traces in which all is ordered would prove nothing.
  EXPECT_GT(apart, pairs / 10);
  EXPECT_LT(apart, pairs - pairs / 10);
}

}  // namespace
}  // namespace gfxgraph

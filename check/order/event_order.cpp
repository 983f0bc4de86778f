#include "check/order/event_order.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <variant>

#include "format/stream_devices.h"
#include "format/walk.h"
#include "order/host_reach.h"
#include "order/stream_order.h"

namespace gfxgraph::check {
namespace {

enum class Pass : uint8_t {
  kLaunches,
  kWork,
  // What calls told the program, without what it may have read from memory that kernels write: only
  // for WorkOrder::host_writes.
  kHostWrites,
};

class Orderer {
 public:
  Orderer(const format::Trace& trace, Pass pass)
      : trace_(trace),
        pass_(pass),
        devices_(trace.devices()),
        reach_(order::host_reach_of(trace)),
        by_memory_(reach_.by_memory()) {
    for (const format::Device& device : trace.devices())
      order_.add(device.null_stream, {device.number, device.null_stream});
    for (const format::Event& event : trace.events()) {
      has_host_functions_ = has_host_functions_ ||
                            std::holds_alternative<format::HostFunction>(event.action) ||
                            std::holds_alternative<format::GraphLaunch>(event.action);
    }
  }

  WorkOrder run() {
    for (at_ = 0; at_ < trace_.events().size(); ++at_)
      std::visit([this](const auto& action) { apply(action); }, trace_.events()[at_].action);
    // Work is after all earlier work if neither it nor later work is unordered with any of that.
    result_.after_all.resize(result_.unordered.size());
    result_.apart.resize(result_.unordered.size());
    uint64_t oldest = UINT64_MAX;
    for (size_t n = result_.unordered.size(); n-- > 0;) {
      for (const uint64_t other : result_.unordered[n]) {
        oldest = std::min(oldest, other);
        result_.apart[n] = result_.apart[other] = true;
      }
      result_.after_all[n] = oldest >= n;
    }
    // Work that is still to be compared with host writes is kept until then.
    for (size_t n = 0; n < result_.host_writes.size(); ++n)
      for (const uint64_t launch : result_.host_writes[n])
        std::fill(result_.after_all.begin() + static_cast<ptrdiff_t>(launch) + 1,
                  result_.after_all.begin() + static_cast<ptrdiff_t>(work_before_write_[n]), false);
    return std::move(result_);
  }

 private:
  void add_work(uint32_t operation, bool reaches_host) {
    const uint64_t work = result_.unordered.size();
    result_.reaches_host.push_back(reaches_host);
    std::vector<uint64_t> unordered;
    if (order_.lanes() > 1 && pass_ != Pass::kHostWrites) {
      for (auto at = open_.rbegin(); at != open_.rend(); ++at) {
        if (order_.follows(operation, at->second)) continue;
        if (unordered.size() == WorkOrder::kMostUnordered) {
          result_.limited = true;
          break;
        }
        unordered.push_back(at->first);
      }
    }
    result_.unordered.push_back(std::move(unordered));
    open_.push_back({work, operation});
    // Too many to walk through each time.
    if (open_.size() > 2 * kMostOpen)
      open_.erase(open_.begin(), open_.end() - static_cast<ptrdiff_t>(kMostOpen));
    if (pass_ != Pass::kHostWrites) return;
    learned_.clear();
    for (DoubtedWrite& write : doubted_)
      if (!write.has_reader) write.reader = operation, write.has_reader = true;
  }
  void add_launch(uint32_t operation, const format::Launch& launch) {
    if (pass_ == Pass::kHostWrites && reach_.leads_to_host(launch.relocations) &&
        given_.size() < kMostOpen)
      given_.push_back({result_.unordered.size(), operation, &launch});
    add_work(operation, reaches_host(launch));
  }
  void add_transfer(uint32_t operation) {
    if (pass_ != Pass::kLaunches) add_work(operation, false);
  }

  bool known(uint32_t operation) const { return order_.host_knows(operation); }
  // Work that the host knows to have ended comes before all that follows.
  void learn() {
    std::erase_if(open_, [this](const auto& one) { return known(one.second); });
    if (pass_ != Pass::kHostWrites) return;
    // The write is known to come before this only if the program also learns that the reader has
    // ended.
    std::erase_if(doubted_, [this](const DoubtedWrite& write) {
      if (!write.has_reader || known(write.reader)) return true;
      std::erase_if(result_.host_writes[write.number], [&](uint64_t work) {
        return std::ranges::any_of(
            given_, [&](const Given& one) { return one.work == work && known(one.operation); });
      });
      return false;
    });
    learned_.clear();
    std::erase_if(given_, [this](const Given& one) {
      if (!known(one.operation)) return false;
      learned_.push_back(one);
      return true;
    });
  }

  // Launches that were given the memory.
  struct Given {
    uint64_t work;
    uint32_t operation;
    const format::Launch* launch;
  };
  static std::vector<uint64_t> given_this(const std::vector<Given>& launches,
                                          format::AllocationId id) {
    std::vector<uint64_t> result;
    for (const Given& one : launches)
      if (std::ranges::any_of(one.launch->relocations, [id](const format::Relocation& word) {
            return word.allocation == id;
          }))
        result.push_back(one.work);
    return result;
  }

  bool reaches_host(const format::Launch& launch) const {
    return by_memory_ || reach_.leads_to_host(launch.relocations);
  }
  // It may have told the host anything.
  bool tells_host(const format::Launch& launch) const {
    return pass_ != Pass::kHostWrites && reaches_host(launch);
  }

  template <typename Action>
  void apply(const Action&) {}
  void apply(const format::StreamCreate& create) {
    devices_.add(create);
    order_.add(create.id, {devices_.device(create.id), devices_.null_stream(create.id),
                           (create.flags & order::kStreamNonBlocking) == 0});
  }
  void apply(const format::Launch& launch) {
    const uint32_t operation = order_.issue(launch.stream).number;
    add_launch(operation, launch);
    if (!tells_host(launch)) return;
    order_.tell_host(operation);
    learn();
  }
  template <typename Transfer>
  void transfer(const Transfer& action) {
    const uint32_t operation = order_.issue(action.stream).number;
    add_transfer(operation);
    if (action.asynchronous && !reach_.raises_flag(action)) return;
    order_.tell_host(operation);
    learn();
  }
  void apply(const format::AllocationBegin& begin) {
    if (pass_ == Pass::kLaunches || begin.kind != format::AllocationKind::kStreamOrdered) return;
    add_lifetime(result_.allocated, begin.id, begin.stream);
  }
  void apply(const format::AllocationEnd& end) {
    if (!end.freed || !result_.allocated.contains(end.id) || host_waits_for_free()) return;
    add_lifetime(result_.freed, end.id, end.stream);
  }
  void add_lifetime(std::unordered_map<format::AllocationId, uint64_t>& of, format::AllocationId id,
                    format::StreamId stream) {
    const uint64_t number = result_.unordered.size();
    of.emplace(id, number);
    result_.lifetimes.insert(number);
    if (pass_ == Pass::kWork) return add_work(order_.issue(stream).number, false);
    // Counted, but it tells nothing of when the host wrote.
    result_.unordered.emplace_back();
    result_.reaches_host.push_back(false);
  }
  // hipFree() returns only when the device is done, and the trace says so behind the end.
  bool host_waits_for_free() const {
    const std::vector<format::Event>& events = trace_.events();
    for (size_t n = at_ + 1; n < events.size(); ++n) {
      if (events[n].thread != events[at_].thread) continue;
      const auto* const wait = std::get_if<format::Synchronize>(&events[n].action);
      return wait != nullptr && wait->call.find("Free") != wait->call.npos;
    }
    return false;
  }
  void apply(const format::Copy& copy) { transfer(copy); }
  void apply(const format::Memset& memset) { transfer(memset); }
  void apply(const format::EventRecord& record) { order_.record(record.event, record.stream); }
  void apply(const format::StreamWait& wait) { order_.wait(wait.stream, wait.event); }
  void apply(const format::HostFunction& function) {
    order_.host_function(function.stream, function.id);
  }
  // When did the program write? The recorder reads the memory before each launch that has its
  // address, so the write came after the earlier launches. A write in doubt came before a call that
  // waited for a kernel with the address or, if another launch is about to get the address, before
  // the stream reaches that launch.
  void apply(const format::HostWrite& write) {
    if (pass_ != Pass::kHostWrites) return;
    work_before_write_.push_back(result_.unordered.size());
    std::vector<uint64_t>& launches = result_.host_writes.emplace_back();
    // A host function may have written; the program knew that.
    if (!write.content.stored || (has_host_functions_ && !write.in_doubt)) return;
    launches = given_this(given_, write.allocation);
    if (!write.in_doubt) return;
    if (launches.empty()) {
      launches = given_this(learned_, write.allocation);
    } else {
      doubted_.push_back({result_.host_writes.size() - 1, 0, false});
    }
  }
  void apply(const format::Synchronize& synchronize) {
    order_.synchronize(synchronize.kind, synchronize.object);
    learn();
  }
  void apply(const format::GraphLaunch& launch) {
    const format::Graph* const graph = format::graph_of(trace_, launch);
    if (graph == nullptr) return;
    const std::vector<format::GraphNode>& nodes = graph->nodes;
    order_.begin_graph(launch.stream, nodes.size());
    format::HostFunctionId function = launch.first_host_function;
    std::vector<uint32_t> telling;
    for (const format::GraphNode& node : nodes) {
      if (const auto* const kernel = std::get_if<format::Launch>(&node.action)) {
        const uint32_t operation = order_.issue_node(node.dependencies).number;
        add_launch(operation, *kernel);
        if (tells_host(*kernel)) telling.push_back(operation);
      } else if (const auto* const copy = std::get_if<format::Copy>(&node.action)) {
        add_node(*copy, node.dependencies, telling);
      } else if (const auto* const memset = std::get_if<format::Memset>(&node.action)) {
        add_node(*memset, node.dependencies, telling);
      } else {
        const order::Set& done = order_.pass_node(node.dependencies);
        if (std::holds_alternative<format::HostFunction>(node.action) && function != 0)
          order_.ran(function++, done);
      }
    }
    order_.end_graph();
    for (const uint32_t operation : telling) order_.tell_host(operation);
    if (!telling.empty()) learn();
  }

  template <typename Transfer>
  void add_node(const Transfer& transfer, std::span<const uint32_t> dependencies,
                std::vector<uint32_t>& telling) {
    const uint32_t operation = order_.issue_node(dependencies).number;
    add_transfer(operation);
    if (reach_.raises_flag(transfer)) telling.push_back(operation);
  }

  static constexpr size_t kMostOpen = 4096;

  const format::Trace& trace_;
  const Pass pass_;
  format::StreamDevices devices_;
  const order::HostReach reach_;
  const bool by_memory_;
  bool has_host_functions_ = false;
  WorkOrder result_;
  size_t at_ = 0;  // the event
  order::StreamOrder order_;
  // Work that later work may not follow: its numbers and operations.
  std::vector<std::pair<uint64_t, uint32_t>> open_;

  // kHostWrites:
  std::vector<Given> given_;    // that the program does not know to have ended
  std::vector<Given> learned_;  // that the last call told it about, with no work since then
  struct DoubtedWrite {
    size_t number;
    uint32_t reader;  // the work issued next
    bool has_reader;
  };
  std::vector<DoubtedWrite> doubted_;
  std::vector<uint64_t> work_before_write_;
};

}  // namespace

WorkOrder order_launches(const format::Trace& trace) {
  return Orderer(trace, Pass::kLaunches).run();
}

WorkOrder order_work(const format::Trace& trace) {
  WorkOrder order = Orderer(trace, Pass::kWork).run();
  if (std::ranges::none_of(trace.events(), [](const format::Event& event) {
        return std::holds_alternative<format::HostWrite>(event.action);
      }))
    return order;
  WorkOrder known = Orderer(trace, Pass::kHostWrites).run();
  for (size_t n = 0; n < order.after_all.size(); ++n)
    order.after_all[n] = order.after_all[n] && known.after_all[n];
  order.host_writes = std::move(known.host_writes);
  return order;
}

}  // namespace gfxgraph::check

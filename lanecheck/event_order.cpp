#include "lanecheck/event_order.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "base/reachability.h"
#include "format/stream_devices.h"

namespace gfxgraph::lanecheck {
namespace {

using Operations = std::vector<uint32_t>;

constexpr uint32_t kNonBlocking = 1;  // hipStreamNonBlocking

bool host_visible(const format::AllocationBegin& allocation) {
  switch (allocation.kind) {
    case format::AllocationKind::kManaged:
    case format::AllocationKind::kHostPinned:
    case format::AllocationKind::kHostRegistered: return true;
    default: return allocation.host_address != 0;
  }
}

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
      : trace_(trace), pass_(pass), devices_(trace.devices()) {
    for (const format::Event& event : trace.events()) {
      if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action))
        if (host_visible(*begin)) host_memory_.insert(begin->id);
      has_host_functions_ = has_host_functions_ ||
                            std::holds_alternative<format::HostFunction>(event.action) ||
                            std::holds_alternative<format::GraphLaunch>(event.action);
    }
    if (!host_memory_.empty()) by_memory_ = memory_leads_to_host();
  }

  WorkOrder run() {
    for (const format::Event& event : trace_.events())
      std::visit([this](const auto& action) { apply(action); }, event.action);
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
  bool blocking(format::StreamId stream) const {
    return !devices_.is_null(stream) && !non_blocking_.contains(stream);
  }

  void unite(Operations& set, const Operations& other) const {
    set.insert(set.end(), other.begin(), other.end());
    reach_.minimise(set);
  }

  // What work that is issued to the stream now is ordered after.
  Operations front(format::StreamId stream) const {
    Operations set = host_;
    const auto add = [&](format::StreamId one) {
      if (const auto found = tails_.find(one); found != tails_.end())
        set.insert(set.end(), found->second.begin(), found->second.end());
    };
    add(stream);
    const format::StreamId null_stream = devices_.null_stream(stream);
    if (stream == null_stream) {
      for (const auto& [other, tail] : tails_)
        if (blocking(other) && devices_.null_stream(other) == null_stream)
          set.insert(set.end(), tail.begin(), tail.end());
    } else if (blocking(stream)) {
      add(null_stream);
    }
    reach_.minimise(set);
    return set;
  }

  uint32_t issue(Operations dependencies) {
    reach_.add(dependencies);
    return operations_++;
  }

  void add_work(uint32_t operation, bool reaches_host) {
    const uint64_t work = result_.unordered.size();
    result_.reaches_host.push_back(reaches_host);
    std::vector<uint64_t> unordered;
    if (reach_.lanes() > 1 && pass_ != Pass::kHostWrites) {
      for (auto at = open_.rbegin(); at != open_.rend(); ++at) {
        if (reach_.reaches(at->second, operation)) continue;
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
    if (pass_ == Pass::kHostWrites && lead_to_host(launch.relocations) && given_.size() < kMostOpen)
      given_.push_back({result_.unordered.size(), operation, &launch});
    add_work(operation, reaches_host(launch));
  }
  void add_transfer(uint32_t operation) {
    if (pass_ != Pass::kLaunches) add_work(operation, false);
  }

  bool known(uint32_t operation) const {
    return std::ranges::any_of(host_,
                               [&](uint32_t last) { return reach_.reaches(operation, last); });
  }
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

  bool lead_to_host(const std::vector<format::Relocation>& relocations) const {
    return std::ranges::any_of(relocations, [this](const format::Relocation& relocation) {
      return host_memory_.contains(relocation.allocation);
    });
  }
  // Pointers in memory, that any kernel may follow.
  bool memory_leads_to_host() const {
    return std::ranges::any_of(trace_.events(), [this](const format::Event& event) {
      if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action))
        return lead_to_host(begin->initial.relocations);
      if (const auto* write = std::get_if<format::HostWrite>(&event.action))
        return lead_to_host(write->content.relocations);
      const auto* copy = std::get_if<format::Copy>(&event.action);
      return copy != nullptr && lead_to_host(copy->host_source.relocations);
    });
  }
  // It may have told the host anything.
  bool reaches_host(const format::Launch& launch) const {
    return by_memory_ || lead_to_host(launch.relocations);
  }
  bool tells_host(const format::Launch& launch) const {
    return pass_ != Pass::kHostWrites && reaches_host(launch);
  }
  // A value that the host may poll for: hipStreamWriteValue32 and 64 are such a memset and copy.
  bool raises_flag(const format::Memset& memset) const {
    return host_memory_.contains(memset.allocation);
  }
  bool raises_flag(const format::Copy& copy) const {
    return copy.source.allocation == 0 && copy.height == 1 && copy.depth == 1 &&
           copy.width_bytes <= sizeof(uint64_t) &&
           host_memory_.contains(copy.destination.allocation);
  }

  template <typename Action>
  void apply(const Action&) {}
  void apply(const format::StreamCreate& create) {
    devices_.add(create);
    non_blocking_.erase(create.id);
    if ((create.flags & kNonBlocking) != 0) non_blocking_.insert(create.id);
  }
  void apply(const format::Launch& launch) {
    const uint32_t operation = issue(front(launch.stream));
    add_launch(operation, launch);
    tails_[launch.stream] = {operation};
    if (!tells_host(launch)) return;
    unite(host_, {operation});
    learn();
  }
  template <typename Transfer>
  void transfer(const Transfer& action) {
    const uint32_t operation = issue(front(action.stream));
    add_transfer(operation);
    tails_[action.stream] = {operation};
    if (action.asynchronous && !raises_flag(action)) return;
    unite(host_, {operation});
    learn();
  }
  void apply(const format::Copy& copy) { transfer(copy); }
  void apply(const format::Memset& memset) { transfer(memset); }
  void apply(const format::EventRecord& record) {
    events_[record.event] = front(record.stream);
    if (devices_.is_null(record.stream)) tails_[record.stream] = events_[record.event];
  }
  void apply(const format::StreamWait& wait) {
    if (devices_.is_null(wait.stream)) tails_[wait.stream] = front(wait.stream);
    if (const auto found = events_.find(wait.event); found != events_.end())
      unite(tails_[wait.stream], found->second);
  }
  void apply(const format::HostFunction& function) {
    if (function.id != 0) ran_[function.id] = front(function.stream);
    if (devices_.is_null(function.stream)) tails_[function.stream] = front(function.stream);
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
    const auto unite_with = [this](const auto& map, uint32_t key) {
      if (const auto found = map.find(key); found != map.end()) unite(host_, found->second);
    };
    switch (synchronize.kind) {
      case format::SynchronizeKind::kDevice: wait_device(synchronize.object); break;
      case format::SynchronizeKind::kStream: host_ = front(synchronize.object); break;
      case format::SynchronizeKind::kStreamItself: unite_with(tails_, synchronize.object); break;
      case format::SynchronizeKind::kEvent: unite_with(events_, synchronize.object); break;
      case format::SynchronizeKind::kHostFunction: unite_with(ran_, synchronize.object); break;
    }
    learn();
  }
  void apply(const format::GraphLaunch& launch) {
    if (launch.graph == 0 || launch.graph > trace_.graphs().size()) return;
    const std::vector<format::GraphNode>& nodes = trace_.graphs()[launch.graph - 1].nodes;
    const Operations before = front(launch.stream);
    std::vector<Operations> after(nodes.size());  // what a node's followers wait for
    std::vector<bool> has_follower(nodes.size(), false);
    format::HostFunctionId function = launch.first_host_function;
    bool to_host = false;
    for (size_t n = 0; n < nodes.size(); ++n) {
      Operations dependencies = nodes[n].dependencies.empty() ? before : Operations{};
      for (const uint32_t dependency : nodes[n].dependencies) {
        if (dependency >= n) continue;  // the reader refuses such a graph
        unite(dependencies, after[dependency]);
        has_follower[dependency] = true;
      }
      const auto* const kernel = std::get_if<format::Launch>(&nodes[n].action);
      const bool acts = kernel != nullptr ||
                        std::holds_alternative<format::Copy>(nodes[n].action) ||
                        std::holds_alternative<format::Memset>(nodes[n].action);
      if (!acts) {
        if (std::holds_alternative<format::HostFunction>(nodes[n].action) && function != 0)
          ran_[function++] = dependencies;
        after[n] = std::move(dependencies);
        continue;
      }
      const uint32_t operation = issue(std::move(dependencies));
      if (kernel != nullptr) {
        add_launch(operation, *kernel);
        to_host = to_host || tells_host(*kernel);
      } else {
        add_transfer(operation);
      }
      after[n] = {operation};
    }
    Operations leaves = nodes.empty() ? before : Operations{};
    for (size_t n = 0; n < nodes.size(); ++n)
      if (!has_follower[n]) leaves.insert(leaves.end(), after[n].begin(), after[n].end());
    reach_.minimise(leaves);
    if (to_host) {
      unite(host_, leaves);
      learn();
    }
    tails_[launch.stream] = std::move(leaves);
  }

  void wait_device(format::DeviceNumber device) {
    for (auto& [stream, tail] : tails_) {
      if (devices_.device(stream) != device) continue;
      host_.insert(host_.end(), tail.begin(), tail.end());
      tail.clear();
    }
    reach_.minimise(host_);
    learn();
  }

  static constexpr size_t kMostOpen = 4096;

  const format::Trace& trace_;
  const Pass pass_;
  format::StreamDevices devices_;
  std::unordered_set<format::AllocationId> host_memory_;
  bool by_memory_ = false;
  bool has_host_functions_ = false;
  std::unordered_set<format::StreamId> non_blocking_;
  WorkOrder result_;
  Reachability reach_;
  uint32_t operations_ = 0;
  Operations host_;
  std::unordered_map<format::StreamId, Operations> tails_;
  std::unordered_map<format::EventId, Operations> events_;
  std::unordered_map<format::HostFunctionId, Operations> ran_;
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

}  // namespace gfxgraph::lanecheck

#include "footprint/needed_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/reachability.h"
#include "format/box.h"
#include "format/stream_devices.h"
#include "format/walk.h"
#include "order/host_reach.h"
#include "order/stream_order.h"

namespace gfxgraph::footprint {
namespace {

// Memory by recorded addresses: what allocations that overlap, at any time, have together.
class Places {
 public:
  explicit Places(const format::Trace& trace) {
    std::vector<Place> places;
    for (const format::Event& event : trace.events()) {
      const auto* const begin = std::get_if<format::AllocationBegin>(&event.action);
      if (begin == nullptr) continue;
      const uint64_t bytes = std::max<uint64_t>({begin->size_bytes, begin->mapped_bytes, 1});
      // An array has no address that others could have, too.
      const bool apart = begin->recorded_address == 0 ||
                         begin->kind == format::AllocationKind::kArray ||
                         begin->recorded_address + bytes < begin->recorded_address;
      if (apart)
        of_[begin->id] = {next_++, 0};
      else
        places.push_back({begin->recorded_address, bytes, begin->id});
    }
    std::ranges::sort(places, {}, &Place::address);
    uint64_t base = 0, end = 0;
    for (const Place& place : places) {
      if (place.address >= end) {
        base = place.address;
        ++next_;
      }
      end = std::max(end, place.address + place.bytes);
      of_[place.id] = {next_ - 1, place.address - base};
    }
  }
  struct Where {
    uint32_t block = 0;
    uint64_t offset = 0;
  };
  // Block 0: memory of the program itself, outside of all allocations.
  Where of(format::AllocationId id) const {
    const auto found = of_.find(id);
    return found == of_.end() ? Where{} : found->second;
  }

 private:
  struct Place {
    uint64_t address, bytes;
    format::AllocationId id;
  };
  std::unordered_map<format::AllocationId, Where> of_;
  uint32_t next_ = 1;
};

class Orderer {
 public:
  // `launches` null: only to see in how many chains the recorded order has the work.
  Orderer(const format::Trace& trace, Launches* launches, bool one_chain,
          const PlantFault& fault = {}, std::span<const OpenArgument> open = {})
      : trace_(trace),
        launches_(launches),
        fault_(fault),
        open_(open),
        one_chain_(one_chain),
        places_(trace),
        devices_(trace.devices()),
        reach_(order::host_reach_of(trace)),
        by_memory_(reach_.by_memory()) {
    for (const format::Device& device : trace.devices())
      order_.add(device.null_stream, {device.number, device.null_stream});
  }

  Result<size_t> chains() {
    GFXGRAPH_TRY(apply_all());
    return order_.lanes();
  }
  Result<NeededOrder> run() {
    GFXGRAPH_TRY(apply_all());
    summarise();
    result_.analysed = launches_->analysed();
    return std::move(result_);
  }

 private:
  static constexpr uint32_t kNothing = UINT32_MAX;
  struct Entry {
    uint32_t work = 0;
    Bytes bytes;                  // offsets in the block
    uint32_t covered = kNothing;  // later work that conflicts with all that this conflicts with
  };
  struct Unknown {
    uint32_t work = 0;
    uint32_t covered = kNothing;  // later work like it, which follows it
  };
  // What work behind it must follow.
  struct Fence {
    order::Set after;              // if it follows these
    std::vector<uint32_t> covers;  // work that leads to all that the fence waits for
  };

  Result<void> apply_all() {
    for (const format::Event& event : trace_.events()) {
      event_ = event.sequence;
      GFXGRAPH_TRY(std::visit([this](const auto& action) { return apply(action); }, event.action));
    }
    return {};
  }

  uint32_t number() const { return number_; }

  // Earlier work from which the needed order leads to all earlier work that `wanted` accepts.
  template <typename Wanted>
  std::vector<uint32_t> cover(uint32_t before, const Wanted& wanted) {
    std::vector<uint32_t> found, open;
    ++stamp_;
    seen_.resize(before);
    for (uint32_t n = 0; n < before; ++n)
      if (is_leaf_[n]) open.push_back(n);
    while (!open.empty()) {
      const uint32_t work = open.back();
      open.pop_back();
      if (std::exchange(seen_[work], stamp_) == stamp_) continue;
      if (wanted(work))
        found.push_back(work);
      else
        open.insert(open.end(), result_.work[work].needed.begin(), result_.work[work].needed.end());
    }
    return found;
  }

  void add_work(Work work, order::StreamOrder::Issued issued, const std::vector<Bytes>& bytes) {
    const uint32_t n = number_++;
    if (launches_ == nullptr) return;
    const auto follows = [&](uint32_t earlier) { return order_.follows(n, earlier); };
    work.event = event_;
    work.recorded = std::move(issued.follows);
    std::vector<uint32_t>& needs = work.needed;
    if (work.unknown != 0) {
      needs = cover(n, follows);
    } else {
      for (const Unknown& one : unknown_)
        if (!(one.covered != kNothing && follows(one.covered)) && follows(one.work))
          needs.push_back(one.work);
      for (const Bytes& one : bytes) {
        const auto block = entries_.find(one.allocation);
        if (block == entries_.end()) continue;
        for (const Entry& entry : block->second)
          if (!(entry.covered != kNothing && follows(entry.covered)) &&
              conflict(entry.bytes, one) && follows(entry.work))
            needs.push_back(entry.work);
      }
    }
    for (const Fence& fence : fences_)
      if (std::ranges::all_of(fence.after, follows))
        needs.insert(needs.end(), fence.covers.begin(), fence.covers.end());
    // In its order of addition, a set of all work has the numbers of work.
    std::ranges::sort(needs);
    needs.erase(std::ranges::unique(needs).begin(), needs.end());
    reach_needed_.add(needs);
    for (const uint32_t earlier : needs) is_leaf_[earlier] = false;
    is_leaf_.push_back(true);
    if (work.unknown != 0) {
      if (one_chain_) {
        entries_.clear();
        unknown_.clear();
      }
      for (Unknown& one : unknown_)
        if (one.covered == kNothing && follows(one.work)) one.covered = n;
      unknown_.push_back({n});
    }
    for (const Bytes& one : bytes) {
      std::vector<Entry>& block = entries_[one.allocation];
      const bool covers = one.kind != AccessKind::kRead && one.step == 0;
      if (covers && one_chain_)  // what comes later follows this
        std::erase_if(block, [&](const Entry& entry) {
          return entry.work != n && entry.bytes.begin >= one.begin && entry.bytes.end <= one.end;
        });
      else if (covers)
        for (Entry& entry : block)
          if (entry.covered == kNothing && entry.work != n && entry.bytes.begin >= one.begin &&
              entry.bytes.end <= one.end && follows(entry.work))
            entry.covered = n;
      block.push_back({n, one});
    }
    result_.edges_recorded += work.recorded.size();
    result_.edges_needed += needs.size();
    result_.work.push_back(std::move(work));
  }

  std::vector<Bytes> placed(std::vector<Bytes> bytes) const {
    for (Bytes& one : bytes) {
      const Places::Where where = places_.of(one.allocation);
      one.allocation = where.block;
      one.begin += where.offset;
      one.end += where.offset;
    }
    return bytes;
  }

  std::vector<OpenArgument> open_of(const format::Launch& launch, uint64_t number) const {
    std::vector<OpenArgument> result;
    for (const OpenArgument& one :
         std::ranges::equal_range(open_, number, {}, &OpenArgument::launch)) {
      const uint64_t end = uint64_t{one.offset_bytes} + one.size_bytes;
      const bool pointer =
          std::ranges::any_of(launch.relocations, [&](const format::Relocation& word) {
            return word.offset_bytes < end && word.offset_bytes + 8 > one.offset_bytes;
          });
      if (!pointer && end <= launch.kernarg.size()) result.push_back(one);
    }
    return result;
  }

  void add_launch(const format::Launch& launch, order::StreamOrder::Issued issued) {
    Work work{.kind = Work::Kind::kLaunch, .launch = result_.launches++, .kernel = launch.kernel};
    if (launches_ == nullptr) return add_work(std::move(work), std::move(issued), {});
    const std::vector<OpenArgument> open = open_of(launch, work.launch);
    for (const OpenArgument& one : open)
      result_.open.push_back({number(), one.offset_bytes, one.size_bytes});
    LaunchFootprint footprint = launches_->of(launch, open);
    if (fault_) fault_(launch, footprint);
    if (!footprint.unknown.empty()) {
      const auto [reason, added] = reasons_.try_emplace(footprint.unknown, reasons_.size() + 1);
      if (added) result_.reasons.push_back(footprint.unknown);
      work.unknown = static_cast<uint32_t>(reason->second);
    }
    add_work(std::move(work), std::move(issued), placed(std::move(footprint.bytes)));
  }

  static std::optional<Bytes> bytes_of(const format::Box& box, format::AllocationId allocation,
                                       uint64_t offset, AccessKind kind) {
    const std::optional<uint64_t> extent = box.extent();
    if (!extent || offset + *extent < offset) return std::nullopt;
    Bytes bytes{.allocation = allocation, .kind = kind, .begin = offset};
    bytes.end = offset + *extent;
    return bytes;
  }
  tl::unexpected<Error> bad_range() const {
    return fail(Status::kCorrupt,
                fmt::format("event {}: a copy or memset of more bytes than memory has", event_));
  }
  Result<void> add_transfer(const format::Copy& copy, order::StreamOrder::Issued issued) {
    std::vector<Bytes> bytes;
    const auto add = [&](const format::CopyEnd& end, AccessKind kind) {
      if (end.allocation == 0) {
        // The program's own memory: all of it is one place.
        bytes.push_back(Bytes{.allocation = 0, .kind = kind, .begin = 0, .end = 1});
        return true;
      }
      const auto one = bytes_of(format::box_of(copy, end), end.allocation, end.offset_bytes, kind);
      if (one) bytes.push_back(*one);
      return one.has_value();
    };
    if (!add(copy.source, AccessKind::kRead) || !add(copy.destination, AccessKind::kWrite))
      return bad_range();
    add_work({.kind = Work::Kind::kCopy}, std::move(issued), placed(std::move(bytes)));
    return {};
  }
  Result<void> add_transfer(const format::Memset& memset, order::StreamOrder::Issued issued) {
    const std::optional<format::Box> box = format::box_of(memset);
    const std::optional<Bytes> one =
        box ? bytes_of(*box, memset.allocation, memset.offset_bytes, AccessKind::kWrite)
            : std::nullopt;
    if (!one) return bad_range();
    add_work({.kind = Work::Kind::kMemset}, std::move(issued), placed({*one}));
    return {};
  }

  // The host knows more than before: what comes now follows that.
  void host_learned() {
    if (launches_ == nullptr) return;
    const auto known = [this](const auto& one) { return order_.host_knows(one.work); };
    for (auto& [block, entries] : entries_) std::erase_if(entries, known);
    std::erase_if(unknown_, known);
    Fence fence;
    fence.covers = cover(number(), [this](uint32_t work) { return order_.host_knows(work); });
    if (fence.covers.empty()) return;
    std::erase_if(fences_, [](const Fence& one) { return one.after.empty(); });
    fences_.push_back(std::move(fence));
  }
  // A host function that runs after this work.
  void host_function_after(const order::Set& done) {
    if (done.empty() || launches_ == nullptr) return;
    Fence fence{done, {}};
    fence.covers = cover(number(), [&](uint32_t work) {
      return std::ranges::any_of(done, [&](uint32_t last) { return order_.follows(last, work); });
    });
    fences_.push_back(std::move(fence));
  }

  bool tells_host(const format::Launch& launch) const {
    return by_memory_ || reach_.leads_to_host(launch.relocations);
  }

  template <typename Action>
  Result<void> apply(const Action&) {
    return {};
  }
  Result<void> apply(const format::StreamCreate& create) {
    devices_.add(create);
    order_.add(create.id, {devices_.device(create.id), devices_.null_stream(create.id),
                           (create.flags & order::kStreamNonBlocking) == 0});
    return {};
  }
  Result<void> apply(const format::Launch& launch) {
    const uint32_t n = number();
    add_launch(launch, order_.issue(launch.stream));
    if (!tells_host(launch)) return {};
    order_.tell_host(n);
    host_learned();
    return {};
  }
  template <typename Transfer>
  Result<void> transfer(const Transfer& action) {
    const uint32_t n = number();
    GFXGRAPH_TRY(add_transfer(action, order_.issue(action.stream)));
    if (action.asynchronous && !reach_.raises_flag(action)) return {};
    order_.tell_host(n);
    host_learned();
    return {};
  }
  Result<void> apply(const format::Copy& copy) { return transfer(copy); }
  Result<void> apply(const format::Memset& memset) { return transfer(memset); }
  Result<void> apply(const format::EventRecord& record) {
    order_.record(record.event, record.stream);
    return {};
  }
  Result<void> apply(const format::StreamWait& wait) {
    order_.wait(wait.stream, wait.event);
    return {};
  }
  Result<void> apply(const format::HostFunction& function) {
    host_function_after(order_.front(function.stream));
    order_.host_function(function.stream, function.id);
    return {};
  }
  Result<void> apply(const format::HostWrite&) {
    // A replay waits for all devices before it writes.
    order_.wait_devices();
    host_learned();
    return {};
  }
  Result<void> apply(const format::Synchronize& synchronize) {
    order_.synchronize(synchronize.kind, synchronize.object);
    host_learned();
    return {};
  }
  Result<void> apply(const format::GraphLaunch& launch) {
    const format::Graph* const graph = format::graph_of(trace_, launch);
    if (graph == nullptr)
      return fail(Status::kCorrupt, fmt::format("event {}: the trace lacks its graph", event_));
    order_.begin_graph(launch.stream, graph->nodes.size());
    format::HostFunctionId function = launch.first_host_function;
    std::vector<uint32_t> telling;
    for (const format::GraphNode& node : graph->nodes) {
      const uint32_t n = number();
      if (const auto* const kernel = std::get_if<format::Launch>(&node.action)) {
        add_launch(*kernel, order_.issue_node(node.dependencies));
        if (tells_host(*kernel)) telling.push_back(n);
      } else if (const auto* const copy = std::get_if<format::Copy>(&node.action)) {
        GFXGRAPH_TRY(add_transfer(*copy, order_.issue_node(node.dependencies)));
        if (reach_.raises_flag(*copy)) telling.push_back(n);
      } else if (const auto* const memset = std::get_if<format::Memset>(&node.action)) {
        GFXGRAPH_TRY(add_transfer(*memset, order_.issue_node(node.dependencies)));
        if (reach_.raises_flag(*memset)) telling.push_back(n);
      } else {
        const order::Set done = order_.pass_node(node.dependencies);
        if (!std::holds_alternative<format::HostFunction>(node.action)) continue;
        host_function_after(done);
        if (function != 0) order_.ran(function++, done);
      }
    }
    order_.end_graph();
    for (const uint32_t work : telling) order_.tell_host(work);
    if (!telling.empty()) host_learned();
    return {};
  }

  void summarise() {
    std::vector<uint64_t> recorded(number()), needed(number());
    std::vector<uint32_t> before(number(), UINT32_MAX);
    uint32_t last = UINT32_MAX;
    for (uint32_t n = 0; n < number(); ++n) {
      const Work& work = result_.work[n];
      for (const uint32_t earlier : work.recorded)
        recorded[n] = std::max(recorded[n], recorded[earlier]);
      for (const uint32_t earlier : work.needed)
        if (before[n] == UINT32_MAX || needed[earlier] > needed[n]) {
          needed[n] = std::max(needed[n], needed[earlier]);
          before[n] = earlier;
        }
      if (work.kind == Work::Kind::kLaunch) {
        if (result_.width.size() <= needed[n]) result_.width.resize(needed[n] + 1);
        ++result_.width[needed[n]];
        ++recorded[n];
        ++needed[n];
      }
      result_.longest_recorded = std::max(result_.longest_recorded, recorded[n]);
      if (needed[n] > result_.longest_needed) {
        result_.longest_needed = needed[n];
        last = n;
      }
    }
    for (; last != UINT32_MAX; last = before[last]) result_.longest.push_back(last);
    std::ranges::reverse(result_.longest);
  }

  const format::Trace& trace_;
  Launches* launches_;
  const PlantFault fault_;
  const std::span<const OpenArgument> open_;
  const bool one_chain_;
  uint32_t number_ = 0;
  Places places_;
  format::StreamDevices devices_;
  const order::HostReach reach_;
  const bool by_memory_;
  order::StreamOrder order_;
  Reachability reach_needed_;
  NeededOrder result_;
  std::unordered_map<std::string, size_t> reasons_;
  uint64_t event_ = 0;
  std::unordered_map<uint32_t, std::vector<Entry>> entries_;  // by block
  std::vector<Unknown> unknown_;
  std::vector<Fence> fences_;
  std::vector<bool> is_leaf_;
  std::vector<uint32_t> seen_;
  uint32_t stamp_ = 0;
};

}  // namespace

Result<NeededOrder> needed_order(const format::Trace& trace, const PlantFault& fault,
                                 std::span<const OpenArgument> open) {
  GFXGRAPH_ASSIGN_OR_RETURN(const std::unique_ptr<Launches> launches, Launches::create(trace));
  GFXGRAPH_ASSIGN_OR_RETURN(const size_t chains, Orderer(trace, nullptr, false).chains());
  return Orderer(trace, launches.get(), chains <= 1, fault, open).run();
}

order::NeededEdges needed_edges(const NeededOrder& order) {
  order::NeededEdges edges;
  for (const Work& work : order.work) edges.add(work.needed, work.unknown != 0);
  edges.open = order.open;
  return edges;
}

}  // namespace gfxgraph::footprint

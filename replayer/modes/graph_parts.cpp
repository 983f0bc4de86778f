#include "replayer/modes/graph_parts.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <type_traits>

#include "format/ranges/repeats.h"
#include "format/write/writer.h"

namespace gfxgraph::replayer {
namespace {

// An operation's effect as bytes: equal bytes mean equal effects.
class Words {
 public:
  void add_operation(const Instance& instance, uint32_t index) {
    const PreparedOperation& operation = instance.operation(index);
    for (const Turnover& turnover : instance.turnovers(index)) add_turnover(instance, turnover);
    add(operation.kind);
    add(operation.empty);
    if (operation.empty) return;
    switch (operation.kind) {
      case OperationKind::kLaunch: add_launch(instance, instance.launch(operation.index)); break;
      case OperationKind::kCopy: add_copy(instance.copy(operation.index)); break;
      case OperationKind::kMemset: add_memset(instance.memset(operation.index)); break;
    }
  }
  template <typename Value>
  void add(const Value& value) {
    static_assert(std::is_scalar_v<Value>);
    add_bytes(&value, sizeof(value));
  }
  void clear() { bytes_.clear(); }
  format::BlobId hash() const { return format::hash_bytes(bytes_); }

 private:
  void add_bytes(const void* bytes, size_t size) {
    const auto* const from = static_cast<const std::byte*>(bytes);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  // The nodes of the turnover precede those of the operation.
  void add_turnover(const Instance& instance, const Turnover& turnover) {
    add(turnover.arena_offset);
    add(turnover.size_bytes);
    add(instance.memory().fresh_byte_now(turnover.begins));
    if (instance.memory().kept() == nullptr) return;
    for (const EndedBytes& ended : turnover.ended) {
      add(ended.arena_offset);
      add(ended.size_bytes);
      add(ended.kept_offset);
    }
  }
  void add_launch(const Instance& instance, const PreparedLaunch& launch) {
    add(launch.kernel);
    const SpecialLaunch* const special = instance.special(launch);
    const bool plain = special == nullptr || special->in_graph();
    add(plain ? 0 : launch.special);  // each one is unique
    for (const hip::Dim3& size : {launch.grid, launch.block}) {
      add(size.x);
      add(size.y);
      add(size.z);
    }
    add(launch.lds_bytes);
    add(launch.kernarg_bytes);
    add_bytes(launch.kernarg, launch.kernarg_bytes);
  }
  void add_copy(const PreparedCopy& copy) {
    add(copy.destination);
    add(copy.source);
    for (const uint64_t size : {copy.width, copy.height, copy.depth, copy.destination_pitch,
                                copy.source_pitch, copy.destination_slice, copy.source_slice}) {
      add(size);
    }
    add(copy.destination_array);
    add(copy.source_array);
    add(copy.kind);
    add(copy.streamed);  // each one is unique
  }
  void add_memset(const PreparedMemset& memset) {
    add(memset.destination);
    add(memset.element_bytes);
    add(memset.value);
    for (const uint64_t size :
         {memset.width, memset.height, memset.depth, memset.pitch, memset.slice}) {
      add(size);
    }
    add(memset.small_row);
  }

  std::vector<std::byte> bytes_;
};

using Key = std::pair<uint64_t, uint64_t>;
Key key_of(const Words& words) {
  const format::BlobId hash = words.hash();
  return {hash.low, hash.high};
}

// Limit for the search for repetitions.
constexpr uint32_t kMostLooked = 1'000'000;

// Divides operations that are too many for one graph. The longest repeated stretch is divided into
// equal parts of whole repetitions.
void divide_large(const Instance& instance, uint32_t first, uint32_t end, uint32_t most,
                  std::vector<Stretch>& stretches) {
  const auto plain = [&](uint32_t from, uint32_t to) {
    for (; from < to; from += std::min(most, to - from))
      stretches.push_back({from, std::min(most, to - from), false});
  };
  if (end - first <= most || end - first > kMostLooked) return plain(first, end);
  std::map<Key, uint32_t> numbers;
  std::vector<uint32_t> tokens;
  Words words;
  for (uint32_t i = first; i < end; ++i) {
    words.clear();
    words.add_operation(instance, i);
    tokens.push_back(
        numbers.try_emplace(key_of(words), static_cast<uint32_t>(numbers.size())).first->second);
  }
  uint32_t begin = end, unit = 0, count = 0;
  for (const ranges::Repeat& repeat : ranges::find_repeats(tokens, 2)) {
    if (repeat.period > most) continue;
    const auto size = static_cast<uint32_t>(most / repeat.period * repeat.period);
    const auto fits = static_cast<uint32_t>((repeat.end - repeat.begin) / size);
    if (fits < 2 || fits * size <= count * unit) continue;
    begin = first + static_cast<uint32_t>(repeat.begin);
    unit = size;
    count = fits;
  }
  plain(first, begin);
  for (uint32_t i = 0; i < count; ++i) stretches.push_back({begin + i * unit, unit, false});
  plain(begin + count * unit, end);
}

}  // namespace

std::vector<Stretch> find_launched_again(const Instance& instance, const Dag& dag) {
  std::map<const format::Graph*, std::vector<Stretch>> launches;
  for (const Call& call : instance.program().calls()) {
    if (call.kind == CallKind::kGraphLaunch && call.operation_count > 1)
      launches[&instance.program().graph_of(call)].push_back(
          {call.first_operation, call.operation_count, false});
  }
  std::vector<Stretch> again;
  for (const auto& [graph, all] : launches) {
    const std::vector<uint32_t> same = find_equal(instance, dag, all);
    std::vector<uint32_t> count(all.size());
    for (const uint32_t first : same) ++count[first];
    for (size_t i = 0; i < all.size(); ++i) {
      if (count[same[i]] > 1) again.push_back(all[i]);
    }
  }
  std::ranges::sort(again, {}, &Stretch::first);
  return again;
}

std::vector<Stretch> divide(const Instance& instance, const Dag& dag,
                            std::span<const Stretch> again, uint32_t first, uint32_t end,
                            uint32_t most) {
  std::vector<Stretch> stretches;
  uint32_t next = first;
  const auto divide_rest = [&](uint32_t to) {
    const bool single = to - next == 1 && end - first > 1;
    divide_large(instance, next, to, most, stretches);
    if (single) stretches.back().between = true;
  };
  auto graph = std::ranges::lower_bound(again, first, {}, &Stretch::first);
  const bool any = graph != again.end() && graph->first < end;
  const std::vector<bool> joints = any ? find_joints(dag, first, end) : std::vector<bool>();
  for (; graph != again.end() && graph->first + graph->count <= end; ++graph) {
    const uint32_t begin = graph->first - first;
    if (graph->count > most || !joints[begin] || !joints[begin + graph->count]) continue;
    divide_rest(graph->first);
    stretches.push_back(*graph);
    next = graph->first + graph->count;
  }
  divide_rest(end);
  return stretches;
}

std::vector<uint32_t> find_equal(const Instance& instance, const Dag& dag,
                                 std::span<const Stretch> stretches) {
  if (stretches.size() < 2) return std::vector<uint32_t>(stretches.size());
  std::map<Key, uint32_t> known;
  std::vector<uint32_t> result;
  Words words;
  for (const Stretch& stretch : stretches) {
    words.clear();
    for (uint32_t i = stretch.first; i < stretch.first + stretch.count; ++i) {
      words.add_operation(instance, i);
      for (const uint32_t dependency : dag.dependencies[i]) {
        if (dependency >= stretch.first) words.add(i - dependency);
      }
      words.add(uint32_t{0});  // no operation waits for itself
    }
    // A hash of 128 bits: no two others are equal.
    result.push_back(
        known.try_emplace(key_of(words), static_cast<uint32_t>(result.size())).first->second);
  }
  return result;
}

// A place between operations is a joint if every operation after it without a dependency after it
// depends on every operation before it without a successor before it, and no other edge crosses.
std::vector<bool> find_joints(const Dag& dag, uint32_t first, uint32_t end) {
  const size_t places = end - first + 1;
  // Counts as differences between adjacent places; the prefix sums follow below.
  std::vector<int64_t> ending(places + 1), beginning(places + 1), crossing(places + 1),
      other(places + 1);
  const auto between = [](std::vector<int64_t>& sums, uint32_t from, uint32_t to) {
    if (from >= to) return;  // at the places (from, to]
    ++sums[from + 1];
    --sums[to + 1];
  };
  std::vector<uint32_t> first_follower(places, static_cast<uint32_t>(places - 1));
  const auto inside = [&](uint32_t dependency) { return dependency >= first; };
  for (uint32_t i = end; i-- > first;) {
    for (const uint32_t before : dag.dependencies[i]) {
      if (inside(before)) first_follower[before - first] = i - first;
    }
  }
  for (uint32_t i = 0; i + first < end; ++i) {
    between(ending, i, first_follower[i]);
    uint32_t last = 0;
    bool waits = false;
    for (const uint32_t before : dag.dependencies[i + first]) {
      if (!inside(before)) continue;
      last = std::max(last, before - first);
      waits = true;
    }
    // Nothing precedes place 0.
    if (waits) {
      between(beginning, last, i);
    } else {
      between(beginning, 0, i);
    }
    for (const uint32_t before : dag.dependencies[i + first]) {
      if (!inside(before)) continue;
      between(crossing, before - first, i);
      between(other, before - first, last);
      between(other, first_follower[before - first], i);
    }
  }
  std::vector<bool> joints(places, true);
  int64_t ends = 0, begins = 0, crosses = 0, others = 0;
  for (size_t place = 1; place + 1 < places; ++place) {
    ends += ending[place];
    begins += beginning[place];
    crosses += crossing[place];
    others += other[place];
    joints[place] = others == 0 && crosses == ends * begins;
  }
  return joints;
}

}  // namespace gfxgraph::replayer

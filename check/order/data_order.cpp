#include "check/order/data_order.h"

#include <algorithm>
#include <bit>

#include "check/lanes/lane_observer.h"
#include "check/order/event_order.h"

namespace gfxgraph::check {
namespace {

void set_bits(std::array<uint64_t, 16>& bits, unsigned from, unsigned to) {
  for (unsigned word = from / 64; word <= (to - 1) / 64; ++word) {
    const unsigned low = word == from / 64 ? from % 64 : 0;
    const unsigned high = word == (to - 1) / 64 ? (to - 1) % 64 : 63;
    bits[word] |= (~UINT64_C(0) << low) & (~UINT64_C(0) >> (63 - high));
  }
}

uint64_t count(const std::array<uint64_t, 16>& bits) {
  uint64_t all = 0;
  for (const uint64_t word : bits) all += static_cast<uint64_t>(std::popcount(word));
  return all;
}

bool bit(const std::array<uint64_t, 16>& bits, unsigned cell) {
  return (bits[cell / 64] >> cell % 64 & 1) != 0;
}

}  // namespace

DataOrder::~DataOrder() { budget_.give_memory(taken_); }

void DataOrder::mark(uint64_t address, uint64_t bytes, bool written) {
  for (uint64_t at = address; at < address + bytes;) {
    const uint64_t key = at / kPageBytes;
    const uint64_t stop = std::min(address + bytes, (key + 1) * kPageBytes);
    if (key != last_key_) {
      last_key_ = key;
      last_ = &marks_[seconds_.chunk(key)];
    }
    set_bits(written ? last_->written : last_->read, static_cast<unsigned>(at % kPageBytes / 4),
             static_cast<unsigned>(((stop - 1) % kPageBytes) / 4 + 1));
    at = stop;
  }
}

void DataOrder::access(const emulator::MemoryEvent& event, uint32_t lanes) {
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint64_t address = event.address[std::countr_zero(rest)];
    if (address - kHostCallAddress < kHostCallBytes) continue;  // packets are not data of launches
    if (event.kind != emulator::AccessKind::kStore) read(address, event.access_bytes);
    if (event.kind != emulator::AccessKind::kLoad) write(address, event.access_bytes);
  }
}

// Splits the page where the marks change, and merges runs that became equal.
void DataOrder::apply(Page& page, const Marks& marks, uint32_t node, std::vector<uint32_t>& needs) {
  Page after;
  unsigned begin = 0;
  const auto add = [&](Run run) {
    if (!after.empty() && after.back().writer == run.writer && after.back().readers == run.readers)
      after.back().end = run.end;
    else
      after.push_back(std::move(run));
  };
  for (const Run& run : page) {
    while (begin < run.end) {
      const bool reads = bit(marks.read, begin), writes = bit(marks.written, begin);
      unsigned end = begin + 1;
      while (end < run.end && bit(marks.read, end) == reads && bit(marks.written, end) == writes)
        ++end;
      Run part = run;
      part.end = static_cast<uint16_t>(end);
      if ((reads || writes) && part.writer != kNobody) needs.push_back(part.writer);
      if (writes) {
        needs.insert(needs.end(), part.readers.begin(), part.readers.end());
        part.writer = node;
        part.readers.clear();
      } else if (reads) {
        part.readers.push_back(node);
      }
      add(std::move(part));
      begin = end;
    }
  }
  page = std::move(after);
}

void DataOrder::tell(uint64_t address, const Bits& bits, bool written) const {
  if (!touched_) return;
  for (unsigned cell = 0; cell < kCells; ++cell) {
    if (!bit(bits, cell)) continue;
    unsigned end = cell + 1;
    while (end < kCells && bit(bits, end)) ++end;
    touched_(current_, address + 4 * cell, 4 * (end - cell), written);
    cell = end;
  }
}

void DataOrder::end() {
  const auto node = static_cast<uint32_t>(nodes_.size());
  for (const auto& [key, marks] : marks_) {
    const uint64_t address = key * kPageBytes;
    const auto next = memory_.lower_bound(address + kPageBytes);
    if (next == memory_.begin()) continue;
    const auto before = std::prev(next);
    if (before->first + before->second <= address) continue;
    Page& page = pages_[key];
    if (page.empty()) {
      Run all;
      all.end = kCells;
      page.push_back(std::move(all));
      constexpr uint64_t kBytes = sizeof(Page) + 2 * sizeof(Run);
      if (budget_.take_memory(kBytes, "the access history of memory")) taken_ += kBytes;
    }
    current_.read_bytes += 4 * count(marks.read);
    current_.written_bytes += 4 * count(marks.written);
    apply(page, marks, node, current_.needs);
    tell(address, marks.read, false);
    tell(address, marks.written, true);
  }
  std::ranges::sort(current_.needs);
  current_.needs.erase(std::ranges::unique(current_.needs).begin(), current_.needs.end());
  nodes_.push_back(std::move(current_));
  current_ = {};
  marks_.clear();
  last_key_ = UINT64_MAX;
}

void DataOrder::add_memory(uint64_t address, uint64_t second, uint64_t bytes) {
  seconds_.remove(address, bytes);
  if (second != 0) (void)seconds_.add(second, address, bytes);
  memory_[address] = bytes;
  forget(address, bytes);
}

void DataOrder::forget(uint64_t address, uint64_t bytes) {
  for (uint64_t at = address; at < address + bytes;) {
    const uint64_t key = at / kPageBytes;
    const uint64_t stop = std::min(address + bytes, (key + 1) * kPageBytes);
    if (const auto found = pages_.find(key); found != pages_.end()) {
      Marks marks;
      set_bits(marks.written, static_cast<unsigned>(at % kPageBytes / 4),
               static_cast<unsigned>(((stop - 1) % kPageBytes) / 4 + 1));
      std::vector<uint32_t> ignored;
      apply(found->second, marks, kNobody, ignored);
    }
    at = stop;
  }
}

namespace {

// Whether a node depends on another one, directly or through others.
bool leads_to(const std::vector<DataNode>& nodes, uint32_t from, uint32_t to) {
  std::vector<uint32_t> open = {to};
  std::vector<bool> seen(to - from + 1);
  while (!open.empty()) {
    const uint32_t node = open.back();
    open.pop_back();
    for (const uint32_t before : nodes[node].needs) {
      if (before == from) return true;
      if (before < from || seen[before - from]) continue;
      seen[before - from] = true;
      open.push_back(before);
    }
  }
  return false;
}

}  // namespace

void compare_orders(const WorkOrder& order, DataOrderReport& report) {
  const std::vector<DataNode>& nodes = report.nodes;
  std::vector<uint32_t>& launches = report.launches;
  for (uint32_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].kind == DataNode::Kind::kLaunch) launches.push_back(n);
  std::map<uint64_t, uint32_t> by_number;
  for (const uint32_t n : launches) by_number[nodes[n].launch] = n;
  std::map<format::StreamId, uint32_t> last;  // of each stream
  std::vector<uint64_t> needed(nodes.size());
  std::vector<uint64_t> ordered;  // by launch
  std::vector<uint64_t> longest;  // of all launches up to there
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    const DataNode& node = nodes[n];
    for (const uint32_t before : node.needs) needed[n] = std::max(needed[n], needed[before]);
    needed[n] += node.wave_instructions;
    report.needed_path = std::max(report.needed_path, needed[n]);
    if (node.kind != DataNode::Kind::kLaunch) continue;
    report.wave_instructions += node.wave_instructions;
    const std::vector<uint64_t> none;
    const std::vector<uint64_t>& unordered =
        node.launch < order.unordered.size() ? order.unordered[node.launch] : none;
    for (const uint64_t other : unordered) {
      const auto found = by_number.find(other);
      if (found != by_number.end() && std::ranges::binary_search(node.needs, found->second))
        report.missing.emplace_back(found->second, n);
    }
    uint64_t before = longest.empty() ? 0 : longest.back();
    if (!unordered.empty()) {
      before = 0;
      const uint64_t first = *std::ranges::min_element(unordered);
      for (size_t i = ordered.size(); i-- > 0;) {
        const uint64_t number = nodes[launches[i]].launch;
        if (number < first) {
          before = std::max(before, longest[i]);
          break;
        }
        if (std::ranges::find(unordered, number) == unordered.end())
          before = std::max(before, ordered[i]);
      }
    }
    ordered.push_back(before + node.wave_instructions);
    longest.push_back(std::max(longest.empty() ? 0 : longest.back(), ordered.back()));
    const auto [stream, first_there] = last.emplace(node.stream, n);
    if (first_there) continue;
    ++report.neighbours;
    if (!leads_to(nodes, stream->second, n)) report.unneeded.emplace_back(stream->second, n);
    stream->second = n;
  }
  report.ordered_path = longest.empty() ? 0 : longest.back();
}

}  // namespace gfxgraph::check

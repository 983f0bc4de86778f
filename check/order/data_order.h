// Finds which bytes each launch and copy reads and writes, and so which of them depend on each
// other: the order that the data requires, to compare with the order that the program requests.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "check/budget.h"
#include "check/memory/second_addresses.h"
#include "emulator/engine/observer.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

// A launch, copy, memset or host write, in trace order.
struct DataNode {
  enum class Kind : uint8_t { kLaunch, kCopy, kMemset, kHostWrite };
  Kind kind = Kind::kLaunch;
  uint64_t event = 0;
  uint64_t launch = 0;  // kLaunch: its index among the launches
  format::KernelId kernel = 0;
  format::StreamId stream = 0;
  uint64_t wave_instructions = 0;
  uint64_t read_bytes = 0, written_bytes = 0;  // in whole dwords, each counted once
  // Earlier nodes whose results it reads or overwrites, or which read what it overwrites; sorted.
  std::vector<uint32_t> needs;
};

// Not thread-safe.
class DataOrder {
 public:
  explicit DataOrder(Budget& budget) : budget_(budget) {}
  ~DataOrder();
  DataOrder(const DataOrder&) = delete;
  DataOrder& operator=(const DataOrder&) = delete;

  // read(), write() and access() belong to the node between begin() and end().
  void begin(DataNode node) { current_ = std::move(node); }
  void read(uint64_t address, uint64_t bytes) { mark(address, bytes, false); }
  void write(uint64_t address, uint64_t bytes) { mark(address, bytes, true); }
  void access(const emulator::MemoryEvent& event, uint32_t lanes);
  void end();
  // Memory whose accesses count; others (arguments, code) are ignored. Earlier accesses to its
  // addresses create no dependencies. `second`: it is reached there, too (0: it is not).
  void add_memory(uint64_t address, uint64_t second, uint64_t bytes);
  void remove_memory(uint64_t address) { memory_.erase(address); }

  // Called at the end of each node for each run of dwords that it has read, or written: their
  // address (the first one, if memory has two) and size. Empty: nobody is.
  using Touched =
      std::function<void(const DataNode&, uint64_t address, uint64_t bytes, bool written)>;
  void watch(Touched touched) { touched_ = std::move(touched); }

  DataNode& current() { return current_; }
  const std::vector<DataNode>& nodes() const { return nodes_; }

 private:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr unsigned kCells = kPageBytes / 4;
  using Bits = std::array<uint64_t, kCells / 64>;
  struct Marks {
    Bits read = {}, written = {};
  };
  static constexpr uint32_t kNobody = ~0U;
  struct Run {
    uint16_t end = 0;  // cells from the end of the previous run
    uint32_t writer = kNobody;
    std::vector<uint32_t> readers;  // since that write
    bool operator==(const Run&) const = default;
  };
  using Page = std::vector<Run>;

  void mark(uint64_t address, uint64_t bytes, bool written);
  void forget(uint64_t address, uint64_t bytes);
  void apply(Page& page, const Marks& marks, uint32_t node, std::vector<uint32_t>& needs);

  void tell(uint64_t address, const Bits& bits, bool written) const;

  Budget& budget_;
  Touched touched_;
  uint64_t taken_ = 0;
  DataNode current_;
  std::vector<DataNode> nodes_;
  std::unordered_map<uint64_t, Marks> marks_;
  uint64_t last_key_ = UINT64_MAX;
  Marks* last_ = nullptr;
  std::unordered_map<uint64_t, Page> pages_;
  std::map<uint64_t, uint64_t> memory_;  // live memory: address to size
  SecondAddresses<kPageBytes> seconds_;
};

struct DataOrderReport {
  std::vector<DataNode> nodes;
  std::vector<uint32_t> launches;  // indices of nodes
  // Pairs of dependent launches (nodes: earlier, later) that the program does not order.
  std::vector<std::pair<uint32_t, uint32_t>> missing;
  // Consecutive launches of a stream, the later of which does not depend on the earlier one,
  // directly or through others.
  std::vector<std::pair<uint32_t, uint32_t>> unneeded;
  uint64_t neighbours = 0;  // pairs of consecutive launches in a stream
  // All wave instructions, and those of the longest chain of launches: in the program's order and
  // in the data's.
  uint64_t wave_instructions = 0, ordered_path = 0, needed_path = 0;
  uint64_t failed_launches = 0;
  std::string failure;
  std::string stopped;
};

struct WorkOrder;
// Computes the other fields from `nodes`, whose launches have the same numbers as in `order`.
void compare_orders(const WorkOrder& order, DataOrderReport& report);

// Executes the whole trace. Errors: as check_trace().
Result<DataOrderReport> order_by_data(const format::Trace& trace, const BudgetLimits& limits,
                                      const LaunchProgress& progress = {},
                                      DataOrder::Touched touched = {});

}  // namespace gfxgraph::check

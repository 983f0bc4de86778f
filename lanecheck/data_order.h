// Which bytes each launch and copy reads and writes, and so which of them need each other's
// results: the order that data asks for, beside the one that the program asked for.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "emulator/engine/observer.h"
#include "format/reader.h"
#include "lanecheck/budget.h"

namespace gfxgraph::lanecheck {

// A launch, copy, memset or write of the host, in the order of the trace.
struct DataNode {
  enum class Kind : uint8_t { kLaunch, kCopy, kMemset, kHostWrite };
  Kind kind = Kind::kLaunch;
  uint64_t event = 0;
  uint64_t launch = 0;  // kLaunch: its number
  format::KernelId kernel = 0;
  format::StreamId stream = 0;
  uint64_t wave_instructions = 0;
  uint64_t read_bytes = 0, written_bytes = 0;  // each byte once, in dwords
  // Earlier nodes whose results it reads or replaces, or which read what it replaces; rising.
  std::vector<uint32_t> needs;
};

// One thread.
class DataOrder {
 public:
  explicit DataOrder(Budget& budget) : budget_(budget) {}
  ~DataOrder();
  DataOrder(const DataOrder&) = delete;
  DataOrder& operator=(const DataOrder&) = delete;

  void begin(DataNode node) { current_ = std::move(node); }
  void read(uint64_t address, uint64_t bytes) { mark(address, bytes, false); }
  void write(uint64_t address, uint64_t bytes) { mark(address, bytes, true); }
  void access(const emulator::MemoryEvent& event, uint32_t lanes);
  void end();
  // Memory that begins or ends: what stood there needs nobody any more.
  void forget(uint64_t address, uint64_t bytes);
  // Accesses elsewhere (arguments, code) do not count.
  void add_memory(uint64_t address, uint64_t bytes) { memory_[address] = bytes; }
  void remove_memory(uint64_t address) { memory_.erase(address); }

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
    uint16_t end = 0;  // cells from the end of the one before
    uint32_t writer = kNobody;
    std::vector<uint32_t> readers;  // since then
    bool operator==(const Run&) const = default;
  };
  using Page = std::vector<Run>;

  void mark(uint64_t address, uint64_t bytes, bool written);
  void apply(Page& page, const Marks& marks, uint32_t node, std::vector<uint32_t>& needs);

  Budget& budget_;
  uint64_t taken_ = 0;
  DataNode current_;
  std::vector<DataNode> nodes_;
  std::unordered_map<uint64_t, Marks> marks_;
  uint64_t last_key_ = UINT64_MAX;
  Marks* last_ = nullptr;
  std::unordered_map<uint64_t, Page> pages_;
  std::map<uint64_t, uint64_t> memory_;  // live: address, bytes
};

struct DataOrderReport {
  std::vector<DataNode> nodes;
  std::vector<uint32_t> launches;  // indices of nodes
  // Pairs of nodes, both launches, that need each other and that nothing orders: earlier, later.
  std::vector<std::pair<uint32_t, uint32_t>> missing;
  // Launches behind each other in a stream of which the later one needs nothing of the earlier one,
  // directly or through others.
  std::vector<std::pair<uint32_t, uint32_t>> unneeded;
  uint64_t neighbours = 0;  // launches behind each other in a stream
  // The longest chain of launches, in wave instructions, as the program orders them and as their
  // data does.
  uint64_t wave_instructions = 0, ordered_path = 0, needed_path = 0;
  uint64_t failed_launches = 0;
  std::string failure;
  std::string stopped;
};

struct WorkOrder;
// Fills in what follows from `nodes`, in which launches are numbered as `order` numbers them.
void compare_orders(const WorkOrder& order, DataOrderReport& report);

// Runs the whole trace. Errors: as check_trace().
Result<DataOrderReport> order_by_data(const format::Trace& trace, const BudgetLimits& limits,
                                      const LaunchProgress& progress = {});

}  // namespace gfxgraph::lanecheck

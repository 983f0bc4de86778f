// Counts what the accesses and launches of kernels cost (--tool perf): cache lines, passes over the
// banks of LDS, idle lanes, waves that fit. Not thread-safe: the engine must use one thread.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "check/budget.h"
#include "check/launch/loaded_code.h"
#include "check/listener.h"
#include "check/perf/access_cost.h"
#include "check/report/perf_table.h"
#include "check/report/sites.h"
#include "emulator/engine/observer.h"
#include "format/read/reader.h"

namespace gfxgraph::check {

class PerfCheck final : public Listener {
 public:
  // The argument must outlive this.
  explicit PerfCheck(Budget& budget) : budget_(budget) {}

  // An access of a wave of the launch that runs.
  void access(const emulator::Inst& inst, const emulator::MemoryEvent& event);

  void before_run(const LaunchRun& run) override;
  // The table, and findings for what is far from the least.
  PerfTable finish(const format::Trace& trace, const std::vector<LoadedCode>& code, Sites& sites);

 private:
  struct Row {
    emulator::Op op = emulator::Op{0};
    bool lds = false;
    uint64_t launch = 0;  // the first
    uint64_t executions = 0, lanes = 0, units = 0, least = 0;
  };
  using Key = std::pair<uint32_t, uint64_t>;  // kernel, pc

  void report(uint32_t kernel, uint64_t pc, const Row& row, Sites& sites) const;
  void report(uint32_t kernel, uint64_t entry, const PerfKernel& launches, Sites& sites) const;

  Budget& budget_;
  uint32_t kernel_ = 0;
  uint64_t launch_ = 0;
  std::map<Key, Row> rows_;
  struct Launched {
    PerfKernel table;
    uint64_t entry = 0;
    uint64_t first = 0;  // launch
  };
  std::map<uint32_t, Launched> kernels_;
  uint64_t last_pc_ = 0;  // of `last_`
  Row* last_ = nullptr;
};

// The observer of its engine.
struct PerfObserver {
  static constexpr bool kInstructions = false;
  static constexpr bool kMemory = true;
  static constexpr bool kLds = true;
  static constexpr bool kSuspectsOnly = false;
  static constexpr bool kOperands = false;
  struct WaveState {};

  explicit PerfObserver(PerfCheck* check) : check_(check) {}
  void decoded(const emulator::Inst&, emulator::InstOperands&) {}
  void dispatch_begin(const emulator::DispatchInfo&) {}
  void dispatch_end() {}
  void wave_begin(WaveState&, const emulator::Wave&, const emulator::WaveInfo&) {}
  void wave_end(WaveState&, const emulator::Wave&) {}
  uint32_t memory(WaveState&, const emulator::Wave&, const emulator::Inst& inst,
                  const emulator::MemoryEvent& event) {
    check_->access(inst, event);
    return event.exec;
  }
  bool scalar_load(WaveState&, const emulator::Wave&, const emulator::Inst&,
                   const emulator::ScalarEvent&) {
    return true;
  }

 private:
  PerfCheck* const check_;
};

}  // namespace gfxgraph::check

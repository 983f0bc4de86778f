// Creates engines whose observers spend a budget while waves run.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "check/budget.h"
#include "check/deep/deep_observer.h"
#include "check/executed/executed_code.h"
#include "check/perf/perf_check.h"
#include "check/provenance/provenance_observer.h"
#include "emulator/engine/engine.h"

namespace gfxgraph::check {

// An observer with a budget, which must outlive it.
template <typename Base>
struct WithBudget : Base {
  template <typename... Arguments>
  explicit WithBudget(Budget& of, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), budget(of) {}
  Budget& budget;
  emulator::Engine* engine = nullptr;
  uint64_t launch = 0;  // unique in this process; changes between launches only
};
using BudgetObserver = WithBudget<DeepObserver>;  // for kLanes and kDeep
using BudgetProvenance = WithBudget<ProvenanceObserver>;
using BudgetPerf = WithBudget<PerfObserver>;
using BudgetExecuted = WithBudget<ExecutedObserver>;

// For `launch` of the observers.
uint64_t next_launch_number();

// Of an engine that observes nothing.
struct BudgetOnly {
  Budget& budget;
  emulator::Engine* engine = nullptr;
  uint64_t launch = 0;
};

// kLanes: lane checks only. kDeep: every access is observed.
enum class Watch : uint8_t { kLanes, kDeep };
// The observer must outlive the engine. Set `observer.engine` before the first launch.
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetObserver& observer, Watch watch);
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetProvenance& observer);
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetPerf& observer);
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetExecuted& observer);
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetOnly& observer);

}  // namespace gfxgraph::check

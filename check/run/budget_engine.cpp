#include "check/run/budget_engine.h"

#include <atomic>

#include "emulator/engine/backend.h"

namespace gfxgraph::emulator {
GFXGRAPH_DECLARE_BACKENDS(kDeepBackend);
GFXGRAPH_DECLARE_BACKENDS(kExecutedBackend);
GFXGRAPH_DECLARE_BACKENDS(kLaneBackend);
GFXGRAPH_DECLARE_BACKENDS(kPerfBackend);
GFXGRAPH_DECLARE_BACKENDS(kProvenanceBackend);
GFXGRAPH_DECLARE_BACKENDS(kPlainBackend);
}  // namespace gfxgraph::emulator

namespace gfxgraph::check {
namespace {

enum class Kind { kLanes, kDeep, kProvenance, kPerf, kExecuted, kNone };
template <Kind kKind>
const emulator::Backend& plain_backend() {
  using namespace emulator;
  if constexpr (kKind == Kind::kProvenance)
    return select_backend(GFXGRAPH_BACKEND_SET(kProvenanceBackend));
  if constexpr (kKind == Kind::kPerf) return select_backend(GFXGRAPH_BACKEND_SET(kPerfBackend));
  if constexpr (kKind == Kind::kExecuted)
    return select_backend(GFXGRAPH_BACKEND_SET(kExecutedBackend));
  if constexpr (kKind == Kind::kNone) return select_backend(GFXGRAPH_BACKEND_SET(kPlainBackend));
  if constexpr (kKind == Kind::kDeep) return select_backend(GFXGRAPH_BACKEND_SET(kDeepBackend));
  return select_backend(GFXGRAPH_BACKEND_SET(kLaneBackend));
}
template <Kind kKind>
auto* observer_of(void* observer) {
  if constexpr (kKind == Kind::kProvenance)
    return static_cast<BudgetProvenance*>(static_cast<ProvenanceObserver*>(observer));
  else if constexpr (kKind == Kind::kPerf)
    return static_cast<BudgetPerf*>(static_cast<PerfObserver*>(observer));
  else if constexpr (kKind == Kind::kExecuted)
    return static_cast<BudgetExecuted*>(static_cast<ExecutedObserver*>(observer));
  else if constexpr (kKind == Kind::kNone)
    return static_cast<BudgetOnly*>(observer);
  else
    return static_cast<BudgetObserver*>(static_cast<LaneObserver*>(observer));
}

// Runs a slice of a wave and spends its instructions, some thousand at a time.
template <Kind kKind>
uint64_t run_within_budget(emulator::Wave& wave) {
  constexpr uint64_t kAtATime = 1 << 14;
  static const emulator::Backend& plain = plain_backend<kKind>();
  thread_local uint64_t unspent = 0;
  thread_local uint64_t launch = 0;
  const uint64_t ran = plain.run(wave);
  if (wave.observer == nullptr) return ran;
  auto* const observer = observer_of<kKind>(wave.observer);
  if (std::exchange(launch, observer->launch) != observer->launch) unspent = 0;
  unspent += ran + 1;  // a wave that sleeps runs none
  if (unspent < kAtATime) return ran;
  if (!observer->budget.spend(std::exchange(unspent, 0))) observer->engine->stop();
  return ran;
}

template <Kind kKind>
const emulator::Backend& budget_backend() {
  static const emulator::Backend backend = [] {
    emulator::Backend copy = plain_backend<kKind>();
    copy.run = run_within_budget<kKind>;
    return copy;
  }();
  return backend;
}

}  // namespace

uint64_t next_launch_number() {
  static std::atomic<uint64_t> launches{0};
  return ++launches;
}

// A backend takes a pointer to its own observer.
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetObserver& observer, Watch watch) {
  if (watch == Watch::kDeep)
    return emulator::create_engine(memory, options, budget_backend<Kind::kDeep>(),
                                   static_cast<DeepObserver*>(&observer));
  return emulator::create_engine(memory, options, budget_backend<Kind::kLanes>(),
                                 static_cast<LaneObserver*>(&observer));
}
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetProvenance& observer) {
  return emulator::create_engine(memory, options, budget_backend<Kind::kProvenance>(),
                                 static_cast<ProvenanceObserver*>(&observer));
}
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetPerf& observer) {
  return emulator::create_engine(memory, options, budget_backend<Kind::kPerf>(),
                                 static_cast<PerfObserver*>(&observer));
}
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetExecuted& observer) {
  return emulator::create_engine(memory, options, budget_backend<Kind::kExecuted>(),
                                 static_cast<ExecutedObserver*>(&observer));
}
std::unique_ptr<emulator::Engine> create_engine(emulator::MemoryMap& memory,
                                                const emulator::EngineOptions& options,
                                                BudgetOnly& observer) {
  return emulator::create_engine(memory, options, budget_backend<Kind::kNone>(), &observer);
}

}  // namespace gfxgraph::check

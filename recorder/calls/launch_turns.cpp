#include "recorder/calls/launch_turns.h"

#include <array>

#include "base/hip_quirks.h"

namespace gfxgraph::recorder {

bool LaunchTurns::executes(const LaunchCall& launch) const {
  if (!graphs_.captures().capturing(launch.stream)) return true;
  const HipQuirk quirk = launch.executable != nullptr ? HipQuirk::kGraphLaunchNotCaptured
                         : launch.cooperative         ? HipQuirk::kCooperativeLaunchNotCaptured
                                                      : HipQuirk::kModuleLaunchNotCaptured;
  return (launch.executable != nullptr || launch.never_captured) &&
         hip_quirk_seen(quirk, facts_.runtime_version);
}

// The patterns of --kernel that a function matches, as a mask.
uint64_t LaunchTurns::matching(Handle function, bool host_function) noexcept {
  if (stretch_.launch_selection().patterns().empty()) return 0;
  // As look_up_kernel() does, but the kernel's code is not looked at: only what is recorded shall
  // get into the trace.
  struct Known {
    const LaunchTurns* owner = nullptr;
    Handle function = nullptr;
    uint64_t generation = 0;
    uint64_t mask = 0;
  };
  static thread_local std::array<Known, 16> cache;
  Known& known = cache[reinterpret_cast<uintptr_t>(function) / 16 % cache.size()];
  const uint64_t generation = code_.registry().generation();
  if (known.owner == this && known.function == function && known.generation == generation) {
    return known.mask;
  }
  uint64_t mask = 0;
  guarded([&] {
    const CodeRegistry::FunctionName* name =
        code_.registry().find_launched(function, host_function);
    if (name == nullptr) return;
    mask = stretch_.launch_selection().matching(name->name);
    known = {this, function, generation, mask};
  });
  return mask;
}

uint64_t LaunchTurns::matching(KernelEntry& kernel) {
  if (!kernel.patterns_known) {
    kernel.patterns = stretch_.launch_selection().matching(kernel.kernel.name);
    kernel.patterns_known = true;
  }
  return kernel.patterns;
}

// Calls `count` with each pattern that kernels of the launch match, and how often; the number of
// kernels is the result.
template <typename Count>
uint64_t LaunchTurns::count_kernels(const LaunchCall& launch, uint64_t mask, Count&& count) {
  uint64_t kernels = 1;
  const ExecutableGraph* graph = nullptr;
  if (launch.executable != nullptr) {
    graph = executables_.find(launch.executable);
    if (graph == nullptr) return 0;  // prepare_graph_launch() says so
    kernels = 0;
    for (const FlatNode& node : graph->nodes) {
      kernels += std::holds_alternative<RawLaunch>(node.action) ? 1 : 0;
    }
  }
  if (launch.list != nullptr) kernels = launch.list->size();
  for (size_t i = 0; i < stretch_.launch_selection().patterns().size(); ++i) {
    uint64_t matched = mask >> i & 1;
    if (launch.list != nullptr) {
      matched = 0;
      for (const ListedKernel& one : *launch.list) matched += one.mask >> i & 1;
    }
    if (graph != nullptr) {
      matched = 0;
      for (const FlatNode& node : graph->nodes) {
        const auto* raw = std::get_if<RawLaunch>(&node.action);
        if (raw != nullptr && raw->kernel != nullptr) matched += matching(*raw->kernel) >> i & 1;
      }
    }
    if (matched != 0) count(i, matched);
  }
  return kernels;
}

[[gnu::hot]] LaunchTurn LaunchTurns::begins(const LaunchCall& launch) noexcept {
  LaunchTurn turn;
  if (flight_.on()) {
    if (flight_.launch_begins()) streams_.call_begins();
    return turn;
  }
  if (stretch_.launch_selection().empty()) {
    if (stretch_.leaving()) streams_.call_begins();
    return turn;
  }
  if (launch.list != nullptr) {
    for (ListedKernel& one : *launch.list) one.mask = matching(one.function, launch.host_function);
  } else if (launch.executable == nullptr) {
    turn.mask = matching(launch.function, launch.host_function);
    if (turn.mask == 0 && launches_.idle() &&
        !stretch_.launch_selection().in_interval(stretch_.launches())) {
      turn.counts = true;
      return turn;
    }
  }
  guarded([&] {
    if (life_.finished || !executes(launch)) return;
    turn.counts = turn.looked_at = true;
    bool selected = false;
    const uint64_t count = count_kernels(launch, turn.mask, [&](size_t pattern, uint64_t matched) {
      selected = selected || stretch_.launch_selection().next_selected(pattern, matched);
    });
    const uint64_t next = stretch_.launches();
    if (stretch_.launch_selection().in_interval(next, count)) {
      selected = true;
      stretch_.in_interval(true);
    }
    if (selected) {
      turn.selected = true;
      stretch_.launch_begins();
      stretch_.stay();
      if (!stretch_.recording()) sections_.enter();
    }
    turn.recorded = stretch_.recording() && !stretch_.leaving();
  });
  // It belongs to the stretch that has begun for it, or to none.
  streams_.call_begins();
  return turn;
}

// Counts a successful launch, in the way that --launches counts.
void LaunchTurns::count_for_segment(const LaunchCall& launch) noexcept {
  if (launch.executable == nullptr && launches_.light()) {
    return flight_.count(launch.list == nullptr ? 1 : launch.list->size());
  }
  guarded([&] {
    if (executes(launch)) flight_.count(count_kernels(launch, 0, [](size_t, uint64_t) {}));
  });
}

[[gnu::hot]] void LaunchTurns::ended(const LaunchCall& launch, const LaunchTurn& turn,
                                     bool success) noexcept {
  if (flight_.on() && success) return count_for_segment(launch);
  if (!turn.counts || (!success && !turn.selected)) return;
  constexpr const char* kOverlapped =
      "a launch of another thread was in progress when its section began; it is not in the trace";
  if (!turn.looked_at) {
    const uint64_t number = stretch_.count_launches(1);
    if (!stretch_.launch_selection().in_interval(number)) return;
    return guarded([&] { finding(format::FindingKind::kIncomplete, "--launches", kOverlapped); });
  }
  guarded([&] {
    if (turn.selected) stretch_.launch_ends();
    if (success) {
      bool selected = false;
      const uint64_t count =
          count_kernels(launch, turn.mask, [&](size_t pattern, uint64_t matched) {
            selected = selected || stretch_.launch_selection().next_selected(pattern, matched);
            stretch_.launch_selection().count(pattern, matched);
          });
      const uint64_t number = stretch_.count_launches(count);
      selected = selected || stretch_.launch_selection().in_interval(number, count);
      if (selected && !turn.recorded && !life_.finished) {
        finding(format::FindingKind::kIncomplete, "--launches", kOverlapped);
      }
    }
    if (!stretch_.launch_selection().in_interval(stretch_.launches())) {
      stretch_.in_interval(false);
    }
    stretch_.leave_if_over();
  });
}

}  // namespace gfxgraph::recorder

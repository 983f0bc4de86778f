// Recording by launches: gfxgraph-record --launches and --kernel. Every launch that the program
// makes is counted when its call has returned; a recorded stretch begins in front of the first one
// that is selected, before anything that it touches is read.
#include <fmt/format.h>

#include <array>

#include "base/hip_quirks.h"
#include "recorder/recorder_internal.h"

namespace gfxgraph::recorder {

bool Recorder::executes(const LaunchCall& launch) const {
  if (!graphs_.captures().capturing(launch.stream)) return true;
  const HipQuirk quirk = launch.executable != nullptr ? HipQuirk::kGraphLaunchNotCaptured
                         : launch.cooperative         ? HipQuirk::kCooperativeLaunchNotCaptured
                                                      : HipQuirk::kModuleLaunchNotCaptured;
  return (launch.executable != nullptr || launch.never_captured) &&
         hip_quirk_seen(quirk, facts_.runtime_version);
}

// The patterns of --kernel that a function matches, as a mask.
uint64_t Recorder::matching(Handle function, bool host_function) noexcept {
  if (launch_selection_.patterns().empty()) return 0;
  // As look_up_kernel() does, but the kernel's code is not looked at: only what is recorded shall
  // get into the trace.
  struct Known {
    const Recorder* owner = nullptr;
    Handle function = nullptr;
    uint64_t generation = 0;
    uint64_t mask = 0;
  };
  static thread_local std::array<Known, 16> cache;
  Known& known = cache[reinterpret_cast<uintptr_t>(function) / 16 % cache.size()];
  const uint64_t generation = code_.generation();
  if (known.owner == this && known.function == function && known.generation == generation) {
    return known.mask;
  }
  uint64_t mask = 0;
  guarded([&] {
    const CodeRegistry::FunctionName* name = code_.find_launched(function, host_function);
    if (name == nullptr) return;
    mask = launch_selection_.matching(name->name);
    known = {this, function, generation, mask};
  });
  return mask;
}

uint64_t Recorder::matching(KernelEntry& kernel) {
  if (!kernel.patterns_known) {
    kernel.patterns = launch_selection_.matching(kernel.kernel.name);
    kernel.patterns_known = true;
  }
  return kernel.patterns;
}

// Calls `count` with each pattern that kernels of the launch match, and how often; the number of
// kernels is the result.
template <typename Count>
uint64_t Recorder::count_kernels(const LaunchCall& launch, uint64_t mask, Count&& count) {
  uint64_t kernels = 1;
  const ExecutableGraph* graph = nullptr;
  if (launch.executable != nullptr) {
    graph = graphs_.executable(launch.executable);
    if (graph == nullptr) return 0;  // prepare_graph_launch() says so
    kernels = 0;
    for (const FlatNode& node : graph->nodes) {
      kernels += std::holds_alternative<RawLaunch>(node.action) ? 1 : 0;
    }
  }
  for (size_t i = 0; i < launch_selection_.patterns().size(); ++i) {
    uint64_t matched = mask >> i & 1;
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

[[gnu::hot]] LaunchTurn Recorder::launch_begins(const LaunchCall& launch) noexcept {
  LaunchTurn turn;
  if (segments_) {
    if (segments_->over() && next_segment(1)) call_begins();
    return turn;
  }
  if (launch_selection_.empty()) {
    if (leaving_.load(std::memory_order_acquire)) call_begins();
    return turn;
  }
  if (launch.executable == nullptr) {
    turn.mask = matching(launch.function, launch.host_function);
    if (turn.mask == 0 && launches_are_idle() &&
        !launch_selection_.in_interval(launches_.load(std::memory_order_relaxed))) {
      turn.counts = true;
      return turn;
    }
  }
  guarded([&] {
    if (finished_ || !executes(launch)) return;
    turn.counts = turn.looked_at = true;
    bool selected = false;
    const uint64_t count = count_kernels(launch, turn.mask, [&](size_t pattern, uint64_t matched) {
      selected = selected || launch_selection_.next_selected(pattern, matched);
    });
    const uint64_t next = launches_.load(std::memory_order_relaxed);
    if (launch_selection_.in_interval(next, count)) selected = in_interval_ = true;
    if (selected) {
      turn.selected = true;
      ++selected_launches_;
      leaving_.store(false, std::memory_order_relaxed);
      if (!recording_) enter_range();
    }
    turn.recorded = recording_ && !leaving_.load(std::memory_order_relaxed);
  });
  // It belongs to the stretch that has begun for it, or to none.
  call_begins();
  return turn;
}

// Of a launch whose call has succeeded: as --launches counts them.
void Recorder::count_for_segment(const LaunchCall& launch) noexcept {
  if (launch.executable == nullptr && light_.load(std::memory_order_relaxed)) {
    return segments_->count(1);
  }
  guarded([&] {
    if (executes(launch)) segments_->count(count_kernels(launch, 0, [](size_t, uint64_t) {}));
  });
}

[[gnu::hot]] void Recorder::launch_ended(const LaunchCall& launch, const LaunchTurn& turn,
                                         bool success) noexcept {
  if (segments_ && success) return count_for_segment(launch);
  if (!turn.counts || (!success && !turn.selected)) return;
  constexpr const char* kOverlapped =
      "a launch of another thread was under way when its stretch began: it is not in the trace";
  if (!turn.looked_at) {
    const uint64_t number = launches_.fetch_add(1, std::memory_order_relaxed);
    if (launch_selection_.in_interval(number)) note_incomplete("--launches", kOverlapped);
    return;
  }
  guarded([&] {
    if (turn.selected) --selected_launches_;
    if (success) {
      bool selected = false;
      const uint64_t count =
          count_kernels(launch, turn.mask, [&](size_t pattern, uint64_t matched) {
            selected = selected || launch_selection_.next_selected(pattern, matched);
            launch_selection_.count(pattern, matched);
          });
      const uint64_t number = launches_.fetch_add(count, std::memory_order_relaxed);
      selected = selected || launch_selection_.in_interval(number, count);
      if (selected && !turn.recorded && !finished_) {
        finding(format::FindingKind::kIncomplete, "--launches", kOverlapped);
      }
    }
    if (!launch_selection_.in_interval(launches_.load(std::memory_order_relaxed))) {
      in_interval_ = false;
    }
    leave_if_over();
  });
}

}  // namespace gfxgraph::recorder

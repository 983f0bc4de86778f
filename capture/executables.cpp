#include "capture/executables.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include "capture/runtime.h"
#include "capture/turns.h"

namespace gfxgraph::capture {

std::unique_lock<std::mutex> Executables::locked() {
  watch_forks();
  return std::unique_lock(mutex_);
}

void Executables::update() {
  any_alive_.store(
      std::ranges::any_of(graphs_, [](const auto& one) { return !one.second.destroyed; }),
      std::memory_order_release);
}

void Executables::release(Executable& executable) {
  if (executable.clone) {
    (void)runtime::destroy_graph(executable.graph);
  } else if (const auto used = graphs_.find(executable.graph); used != graphs_.end()) {
    if (--used->second.executables != 0) return;
    if (used->second.destroyed) (void)runtime::destroy_graph(used->first);
    graphs_.erase(used);
  }
}

void Executables::made(hipGraphExec_t executable, hipGraph_t graph) {
  const std::unique_lock lock = locked();
  try {
    Executable& one = all_[executable];
    release(one);
    one = {};
    ++graphs_[graph].executables;
    one.graph = graph;
  } catch (const std::bad_alloc&) {
    // What it holds is not known.
  }
  update();
}

void Executables::destroyed(hipGraphExec_t executable) {
  const std::unique_lock lock = locked();
  const auto found = all_.find(executable);
  if (found == all_.end()) return;
  release(found->second);
  all_.erase(found);
  update();
}

void Executables::changed(hipGraphExec_t executable) {
  const std::unique_lock lock = locked();
  if (const auto found = all_.find(executable); found != all_.end()) found->second.changed = true;
}

Executables::Destroy Executables::destroyed(hipGraph_t graph) {
  const std::unique_lock lock = locked();
  const auto used = graphs_.find(graph);
  if (used == graphs_.end()) return Destroy::kNow;
  if (std::exchange(used->second.destroyed, true)) return Destroy::kTwice;
  update();
  return Destroy::kLater;
}

void Executables::clone_alive() {
  const std::unique_lock lock = locked();
  for (auto& [handle, one] : all_) {
    const auto used = one.clone ? graphs_.end() : graphs_.find(one.graph);
    if (used == graphs_.end() || used->second.destroyed) continue;
    hipGraph_t clone = nullptr;
    const Turn turn;
    if (runtime::clone_graph(&clone, one.graph) != hipSuccess) one.changed = true;
    release(one);
    one.graph = clone;
    one.clone = clone != nullptr;
  }
  update();
}

hipGraph_t Executables::graph_of(hipGraphExec_t executable, const char*& why) {
  const std::unique_lock lock = locked();
  const auto found = all_.find(executable);
  if (found == all_.end() || found->second.graph == nullptr) {
    why = "what the executable graph holds is not known";
    return nullptr;
  }
  if (found->second.changed) {
    why = "nodes of the executable graph were changed after it was instantiated";
    return nullptr;
  }
  return found->second.graph;
}

Executables& executables() {
  // Never destroyed: hooks live until the process ends.
  alignas(Executables) static std::byte storage[sizeof(Executables)];
  static Executables* const all = new (storage) Executables;
  return *all;
}

}  // namespace gfxgraph::capture

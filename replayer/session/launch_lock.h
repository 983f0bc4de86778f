// The calls of a session's steps that HIP 5 mixes when two threads make them for the same kernel
// (HipQuirk::kGraphKernelsMix). Its kernels are of the session's own modules, so sessions do not
// share it; those of sessions in place are the program's, and they do.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>

namespace gfxgraph::replayer {

class LaunchLock {
 public:
  using Launching = std::shared_lock<std::shared_mutex>;
  using InGraph = std::unique_lock<std::shared_mutex>;

  // Of all sessions in place, on a runtime that mixes such calls: always in use.
  static const std::shared_ptr<LaunchLock>& of_process() {
    static const auto* const one = [] {
      auto* const made = new std::shared_ptr<LaunchLock>(std::make_shared<LaunchLock>());
      (*made)->use(true);
      return made;
    }();
    return *one;
  }

  // Whether the locks below hold anything. Call it only while no step of the session runs.
  void use(bool used) noexcept { used_ = used; }
  // Around a launch into a stream, which may take place beside others.
  Launching launching() { return used_ ? Launching(mutex_) : Launching(); }
  // Around a call that adds a kernel to a graph, sets its values, or launches the graph.
  InGraph in_graph() { return used_ ? InGraph(mutex_) : InGraph(); }

 private:
  std::shared_mutex mutex_;
  bool used_ = false;
};

}  // namespace gfxgraph::replayer

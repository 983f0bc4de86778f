// What executable graphs hold, for launches of them into a capture, which become child graphs. A
// child graph is a copy of a graph; but the program may have destroyed or changed the graph since
// it was instantiated. So a graph that is destroyed lives on as long as its executable graphs do,
// and one that is changed is cloned before; so is each before code is unloaded, for HIP looks into
// it to clone. Programs that do neither pay nothing.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "capture/hooks_internal.h"

namespace gfxgraph::capture {

// Thread-safe.
class Executables {
 public:
  // Also instead of another graph (hipGraphExecUpdate).
  void made(hipGraphExec_t executable, hipGraph_t graph);
  void destroyed(hipGraphExec_t executable);
  // One of its nodes was changed by itself: what it holds is not known any more.
  void changed(hipGraphExec_t executable);
  // The program destroys the graph. kLater: it is needed until its executable graphs are gone.
  enum class Destroy { kNow, kLater, kTwice };
  Destroy destroyed(hipGraph_t graph);
  // Some graph is about to be changed. Most programs do that before they instantiate any.
  void before_change() {
    if (any_alive_.load(std::memory_order_acquire)) clone_alive();
  }
  // nullptr: not known, and why.
  hipGraph_t graph_of(hipGraphExec_t executable, const char*& why);

 private:
  struct Executable {
    hipGraph_t graph = nullptr;  // of the program, or the layer's clone
    bool clone = false;
    bool changed = false;
  };
  struct Used {
    size_t executables = 0;
    bool destroyed = false;  // by the program
  };
  std::unique_lock<std::mutex> locked();
  void clone_alive();
  void release(Executable& executable);
  void update();

  std::mutex mutex_;
  std::unordered_map<hipGraphExec_t, Executable> all_;
  std::unordered_map<hipGraph_t, Used> graphs_;  // of the program, that are in use
  std::atomic<bool> any_alive_{false};           // one of these is not destroyed
};

Executables& executables();

}  // namespace gfxgraph::capture

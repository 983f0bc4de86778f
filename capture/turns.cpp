#include "capture/turns.h"

#include <mutex>

#include "base/hip_quirks.h"

namespace gfxgraph::capture {
namespace {

constinit std::mutex at_graphs;
constinit thread_local bool has_turn = false;

}  // namespace

Turn::Turn() {
  if (has_turn || is_child_of_fork ||
      !hip_quirk_avoided(HipQuirk::kGraphKernelsMix, runtime_version()))
    return;
  at_graphs.lock();
  has_turn = true;
  mine_.emplace();
}

Turn::~Turn() {
  if (!mine_) return;
  mine_.reset();
  has_turn = false;
  at_graphs.unlock();
}

}  // namespace gfxgraph::capture

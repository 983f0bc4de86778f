// Where a buffer is bound anew.
#include "replayer/session/executor.h"
#include "replayer/session/instance.h"
#include "replayer/session/moves.h"

namespace gfxgraph::replayer {

void Instance::follow_new_moves(Executor* executor) noexcept {
  const std::vector<Move>& moves = session_->moves();
  for (; moves_followed_ < moves.size(); ++moves_followed_)
    follow(moves[moves_followed_], executor);
}

// Updates values that point into a moved allocation; other values that the caller set stay.
void Instance::follow(const Move& move, Executor* executor) noexcept {
  for (size_t i = 0; i < prepared_.all.size(); ++i) {
    const Operation& recorded = program_->operations()[i];
    bool changed = false;
    switch (prepared_.all[i].kind) {
      case OperationKind::kLaunch: {
        const PreparedLaunch& launch = prepared_.launches[prepared_.all[i].index];
        changed = follow_move(
            move, std::as_writable_bytes(std::span(launch.kernarg, launch.kernarg_bytes)),
            recorded.launch->relocations);
        break;
      }
      case OperationKind::kCopy: {
        PreparedCopy& copy = prepared_.copies[prepared_.all[i].index];
        changed = follow_move(move, copy.source, recorded.copy->source.allocation);
        changed |= follow_move(move, copy.destination, recorded.copy->destination.allocation);
        if (recorded.copy->source.allocation != 0 || copy.given || copy.source == nullptr) break;
        auto* const staged = const_cast<uint8_t*>(copy.source);
        changed |= follow_move(
            move, std::as_writable_bytes(std::span(staged, recorded.copy->host_source.size_bytes)),
            recorded.copy->host_source.relocations);
        break;
      }
      case OperationKind::kMemset: {
        PreparedMemset& memset = prepared_.memsets[prepared_.all[i].index];
        changed = follow_move(move, memset.destination, recorded.memset->allocation);
        changed |= follow_move(move, memset.copy_destination, recorded.memset->allocation);
        break;
      }
    }
    if (changed && executor != nullptr) executor->changed(static_cast<uint32_t>(i));
  }
  host_writes_.follow(move, *program_);
}

}  // namespace gfxgraph::replayer

// All that the operations of a step are set to, to be set again in another one of the same work.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "replayer/session/live_use.h"
#include "replayer/session/prepared.h"

namespace gfxgraph::replayer {

class Instance;
class Session;

// Whose memory arguments point to, in place: what keeps a look-out for it.
struct ArgumentsOf {
  std::shared_ptr<Session> session;
  std::shared_ptr<const Program> program;
  LiveUse use;  // of these
};

struct StepArguments {
  std::shared_ptr<const ArgumentsOf> of;
  size_t moves = 0;                      // how much was bound before, in that session
  std::vector<PreparedLaunch> launches;  // but for where their bytes stand
  std::vector<PreparedCopy> copies;
  std::vector<PreparedMemset> memsets;
  std::vector<uint8_t> kernargs;  // those of the launches, one behind the other

  uint64_t bytes() const {
    return launches.size() * sizeof(PreparedLaunch) + copies.size() * sizeof(PreparedCopy) +
           memsets.size() * sizeof(PreparedMemset) + kernargs.size();
  }
};

StepArguments arguments_of(const PreparedOperations& operations);
// kUnsupported, naming the first difference: the two are not the same work, or a place of them
// cannot be set.
Result<void> check_same_work(const Instance& step, const Instance& other);

}  // namespace gfxgraph::replayer

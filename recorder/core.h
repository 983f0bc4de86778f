// State that every part of the recorder uses. Parts know each other only through their
// constructors.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "recorder/contract/options.h"
#include "recorder/device.h"
#include "recorder/guard.h"
#include "recorder/queue/journal.h"

namespace gfxgraph::recorder {

// How far the recording is. The recorder's lock guards it.
struct Life {
  bool begun = false;                 // the trace is open
  bool finished = false;              // nothing is added to it any more
  uint32_t longest_wait_ms = 30'000;  // for the device, where the trace or a section of it ends
};

// All of it outlives the parts.
struct Core {
  Guard& guard;
  Journal& journal;
  Device& device;
  const DeviceFacts& facts;  // as soon as the recording is open
  const Options& options;
  Life& life;
};

class Part {
 protected:
  explicit Part(const Core& core) noexcept
      : guard_(core.guard),
        journal_(core.journal),
        device_(core.device),
        facts_(core.facts),
        options_(core.options),
        life_(core.life) {}
  ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  template <typename F>
  void guarded(F&& function) noexcept {
    guard_.locked(std::forward<F>(function));
  }
  template <typename F>
  void guarded_unlocked(F&& function) noexcept {
    guard_.unlocked(std::forward<F>(function));
  }
  void finding(format::FindingKind kind, std::string_view call, std::string_view detail) {
    journal_.finding(kind, call, detail);
  }
  void finding_now(format::FindingKind kind, std::string_view call, std::string_view detail) {
    journal_.finding_now(kind, call, detail);
  }

  Guard& guard_;
  Journal& journal_;
  Device& device_;
  const DeviceFacts& facts_;
  const Options& options_;
  Life& life_;
};

}  // namespace gfxgraph::recorder

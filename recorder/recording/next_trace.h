// One process, several traces, one after another: the next one begins with its own numbers, code
// objects and memory.
#pragma once

#include <memory>

#include "format/write/writer.h"
#include "recorder/core.h"
#include "recorder/events/events.h"
#include "recorder/events/flights.h"
#include "recorder/events/host_runs.h"
#include "recorder/memory/code.h"
#include "recorder/memory/contents.h"
#include "recorder/objects/allocations.h"
#include "recorder/work/device_work.h"

namespace gfxgraph::recorder {

class NextTrace : private Part {
 public:
  NextTrace(const Core& core, Allocations& allocations, Flights& flights, HostRuns& runs,
            Events& events, Contents& contents, Code& code, DeviceWork& work) noexcept
      : Part(core),
        allocations_(allocations),
        flights_(flights),
        runs_(runs),
        events_(events),
        contents_(contents),
        code_(code),
        work_(work) {}

  // The former one is sealed. kKept: calls that no trace has may affect the next one, too. With
  // both locks.
  enum class Earlier : uint8_t { kKept, kForgotten };
  void begin(std::unique_ptr<format::Writer> writer, const format::Environment& environment,
             Earlier findings);

 private:
  void forget_last(Earlier findings);

  Allocations& allocations_;
  Flights& flights_;
  HostRuns& runs_;
  Events& events_;
  Contents& contents_;
  Code& code_;
  DeviceWork& work_;
};

}  // namespace gfxgraph::recorder

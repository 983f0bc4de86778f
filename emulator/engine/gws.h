// Global wave sync: the counters behind ds_gws_init and ds_gws_barrier, shared by all dispatches of
// an engine. Source: RDNA2 ISA guide, DS_GWS_INIT and DS_GWS_BARRIER.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace gfxgraph::emulator {

struct Wave;

// Thread-safe.
class Gws {
 public:
  static constexpr uint32_t kResources = 64;

  // `count`: waves of the next barrier, less one.
  void init(uint32_t resource, uint32_t count);
  // A wave arrives. True: it is the last one, the others may go and the next barrier takes
  // `next_count`. False: it waits until phase() differs from `phase`.
  bool arrive(uint32_t resource, uint32_t next_count, uint32_t& phase);
  uint32_t phase(uint32_t resource) const;
  // How many waves must still arrive before those that wait may go.
  uint32_t missing(uint32_t resource) const;

 private:
  struct Resource {
    uint32_t counter = 0;
    uint32_t phase = 0;
  };
  mutable std::mutex mutex_;
  std::array<Resource, kResources> resources_;
};

// The same for the barrier that a wave waits at (Wave::gws_waits).
uint32_t gws_missing(const Wave& wave);

}  // namespace gfxgraph::emulator

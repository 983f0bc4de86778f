// A running workgroup: its waves, LDS and scratch. The storage is reused for the next workgroup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/engine/backend.h"
#include "emulator/engine/launch.h"
#include "emulator/engine/schedule/wave_places.h"

namespace gfxgraph::emulator {

struct WaveDeleter {
  const Backend* backend = nullptr;
  void operator()(Wave* wave) const;
};
using WavePointer = std::unique_ptr<Wave, WaveDeleter>;

// Scratch of one wave. Its memory counts in EngineOptions::take_scratch while it lives.
class Scratch {
 public:
  Scratch() = default;
  Scratch(Scratch&&) = default;
  ~Scratch();
  // At least `size_bytes`; throws std::bad_alloc if there are not so many. `options`: of the
  // engine, which outlives this.
  std::byte* reserve(uint64_t size_bytes, const EngineOptions& options);

 private:
  void release();

  std::unique_ptr<std::byte[]> bytes_;
  uint64_t size_bytes_ = 0;
  const EngineOptions* options_ = nullptr;
};

// A workgroup's storage, reused from one workgroup to the next.
struct ResidentGroup {
  Workgroup group;
  GroupShape shape;
  std::vector<WavePointer> waves;
  std::vector<WavePointer> uppers;  // of wave64 waves; empty until one ran here
  std::vector<WaveExit> states;     // kEnded, kBarrier; anything else: can run
  std::unique_ptr<std::byte[]> lds;
  uint32_t lds_capacity = 0;
  std::vector<Scratch> scratch;              // per wave
  uint64_t cache_generation = ~uint64_t{0};  // of the waves' region caches
  bool used_scratch = false;
  uint32_t live = 0;
  uint64_t turn = 0;  // of each wave, the next one, in instructions, unless the slice is shorter
  std::vector<SpinLoop> loops;  // per wave, of the last check (progress_check.h)
};

// Where its live waves are; its loops are of now.
void add_places(std::vector<WavePlace>& to, const ResidentGroup& g);

// Puts workgroups of one launch into storage, with all waves at their first instruction.
class GroupStarter {
 public:
  // What is referred to must outlive the waves that are started.
  GroupStarter(const Launch& launch, const Backend& backend, void* observer,
               DispatchContext& context)
      : launch_(launch), backend_(backend), observer_(observer), context_(context) {}
  // The index-th workgroup.
  void start(ResidentGroup& g, uint64_t index) const;

 private:
  WavePointer new_wave() const;
  void start_wave_of(ResidentGroup& g, uint32_t n) const;

  const Launch& launch_;
  const Backend& backend_;
  void* const observer_;
  DispatchContext& context_;
};

}  // namespace gfxgraph::emulator

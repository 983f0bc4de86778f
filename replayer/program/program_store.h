// Storage for the events of a program: copies of the few large ones, and launches without the
// fields that they share. The program needs the trace's events no longer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "format/trace.h"

namespace gfxgraph::replayer {

// A launch but for its argument bytes. Those of a loop share it.
struct LaunchShape {
  format::KernelId kernel = 0;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> grid_remainder = {0, 0, 0};
  std::array<uint32_t, 3> block = {1, 1, 1};
  uint32_t dynamic_lds_bytes = 0;
  bool cooperative = false;
  uint32_t kernarg_bytes = 0;
  std::vector<format::Relocation> relocations;
  bool operator==(const LaunchShape&) const = default;
};

// Nothing moves: pointers are valid as long as the store. May throw std::bad_alloc. Not
// thread-safe.
class ProgramStore {
 public:
  const LaunchShape* shape(const format::Launch& launch);
  // A copy of the bytes, at a multiple of 8.
  const uint8_t* arguments(std::span<const uint8_t> bytes);
  template <typename Action>
  const Action* keep(const Action& action) {
    return &std::get<std::deque<Action>>(kept_).emplace_back(action);
  }
  // No more shapes will come.
  void finish() { known_ = {}; }
  size_t shapes() const { return shapes_.size(); }

 private:
  std::deque<LaunchShape> shapes_;
  std::unordered_multimap<uint64_t, const LaunchShape*, SeededHash> known_;
  std::vector<std::unique_ptr<uint64_t[]>> blocks_;  // of argument bytes
  std::span<uint64_t> room_;                         // what is left of the last one
  std::tuple<std::deque<format::AllocationBegin>, std::deque<format::AllocationEnd>,
             std::deque<format::HostWrite>, std::deque<format::Copy>, std::deque<format::Memset>,
             std::deque<format::Checkpoint>>
      kept_;
};

}  // namespace gfxgraph::replayer

// Places for what runs read and the host changes between them. The law for all modes: a place may
// be written again when the last run that reads it has ended; until then a change goes to the next
// one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "replayer/memory/runs_in_flight.h"

namespace gfxgraph::replayer {

template <typename Place>
class Rotation {
 public:
  static constexpr size_t kPlaces = 4;

  Rotation() = default;
  // No run before the next one reads the first place.
  explicit Rotation(const RunsInFlight& runs) : since_(runs.last()) {}

  std::array<Place, kPlaces>& places() { return places_; }
  const std::array<Place, kPlaces>& places() const { return places_; }
  size_t at() const { return at_; }
  size_t next() const { return (at_ + 1) % kPlaces; }
  Place& current() { return places_[at_]; }
  const Place& current() const { return places_[at_]; }

  // Whether the current place may be written, as far as is known without a call.
  bool is_free(const RunsInFlight& runs) const {
    return runs.last() <= since_ || runs.has_ended(runs.last());
  }
  // Lets the next place be written. Waits only if runs in flight read all of them.
  Result<void> free_next(RunsInFlight& runs) {
    GFXGRAPH_TRY(runs.fence());
    return runs.wait_for(last_runs_[next()]);
  }
  // Makes the next place, which is free, the current one, and leaves this one to the runs so far.
  void turn(const RunsInFlight& runs) {
    last_runs_[at_] = since_ = runs.last();
    at_ = next();
  }

 private:
  std::array<Place, kPlaces> places_{};
  std::array<uint64_t, kPlaces> last_runs_{};  // that read the places, but for the current one
  uint64_t since_ = 0;  // the run before the first one that reads the current place
  size_t at_ = 0;
};

}  // namespace gfxgraph::replayer

// The values that streams last wrote into memory, in call order: what a stream that waits for a
// value finds there. Not thread-safe; the recorder's lock guards it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "format/trace.h"
#include "recorder/device.h"

namespace gfxgraph::recorder {

// hipStreamWaitValue32 and 64.
struct RawValueWait {
  uint64_t address = 0;
  uint32_t size_bytes = 4;  // or 8
  uint64_t value = 0;
  uint64_t mask = 0;
  uint32_t condition = 0;  // hipStreamWaitValueGte, ...
};

// Whether the wait ends when memory holds `now`. Empty: its condition was not measured.
std::optional<bool> ends_wait(const RawValueWait& wait, uint64_t now);

struct StreamValue {
  format::AllocationId allocation = 0;
  uint64_t begin = 0;  // byte offsets
  uint64_t end = 0;
  uint64_t value = 0;
  format::StreamId stream = 0;
  // Memory that the host sees: what is idle once the value is there, since the host may write over
  // it from then on.
  std::unique_ptr<StreamRead> behind = nullptr;

  bool landed() const { return behind != nullptr && behind->state() == StreamState::kIdle; }
};

class StreamValues {
 public:
  void write(StreamValue value);
  // Something else may have written there.
  void lose(format::AllocationId allocation, uint64_t begin = 0, uint64_t end = UINT64_MAX);
  void lose_all() { values_.clear(); }
  // What a write of exactly these bytes left there, if nothing else has been there since.
  const StreamValue* find(format::AllocationId allocation, uint64_t begin, uint64_t end) const;

 private:
  std::vector<StreamValue> values_;  // few: words that streams signal each other with
};

}  // namespace gfxgraph::recorder

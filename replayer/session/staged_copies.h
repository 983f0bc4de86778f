// Copies from and to memory of the host that HIP does not know: each has a place in pinned memory,
// or goes through the ring (staging.h), the bytes from the trace anew in each run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/result.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/staging.h"
#include "replayer/session/prepared.h"

namespace gfxgraph::replayer {

// Not thread-safe. Work that uses the memory has ended before it is destroyed.
class StagedCopies {
 public:
  // Both outlive it.
  StagedCopies(const Program& program, const Memory& memory) : program_(program), memory_(memory) {}
  ~StagedCopies() { memory_.source().release(MemoryKind::kPinned, resident_); }
  StagedCopies(const StagedCopies&) = delete;
  StagedCopies& operator=(const StagedCopies&) = delete;

  // To be called first, once: memory for all copies of the program, `most_bytes` of it pinned.
  Result<void> allocate(uint64_t most_bytes);
  // The next copy gets its place, or goes through the ring. Returns its end on the host, which is
  // null for one through the ring to the device.
  uint8_t* add(const format::Copy& recorded, PreparedCopy& copy);
  // A copy through the ring: reads its bytes from the trace, and waits for space there.
  hip::Error submit(const format::Copy& recorded, const PreparedCopy& copy,
                    hip::Stream stream) noexcept;
  // Why submit() failed, if no call of HIP did; once.
  std::optional<Error> take_error() noexcept { return std::exchange(error_, std::nullopt); }
  // All submitted work is complete: bytes that came through the ring go to their HostResult.
  void collect() noexcept {
    if (ring_) ring_->collect();
  }

 private:
  hip::Error to_device(const format::Copy& recorded, const PreparedCopy& copy, hip::Stream stream);
  hip::Error to_host(const PreparedCopy& copy, hip::Stream stream);
  const HipTable& hip() const { return memory_.source().library().table(); }

  const Program& program_;
  const Memory& memory_;
  StagingPlan plan_;
  uint8_t* resident_ = nullptr;  // pinned
  std::unique_ptr<StagingRing> ring_;
  std::unique_ptr<uint8_t[]> received_;  // what copies to the host brought through it
  uint64_t resident_offset_ = 0;         // of the next one
  uint64_t received_offset_ = 0;
  uint32_t streamed_ = 0;
  std::optional<Error> error_;
};

}  // namespace gfxgraph::replayer

// The source of a session's memory: HIP, or the caller's allocator. Also the stream that reads and
// writes it from the host: the null stream would wait for other blocking streams.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/agent_memory.h"
#include "base/result.h"
#include "replayer/abi/hip_library.h"
#include "replayer/program/options.h"

namespace gfxgraph::replayer {

// As thread-safe as its allocator.
class MemorySource {
 public:
  MemorySource(std::shared_ptr<const HipLibrary> library, const Allocator& allocator);
  ~MemorySource();
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;

  const HipLibrary& library() const { return *library_; }
  // `flags`: of hipHostMalloc and hipMallocManaged; an allocator of the caller does not get them.
  // kUnsupported: HIP has no managed memory.
  Result<void*> allocate(MemoryKind kind, size_t bytes, unsigned flags,
                         std::string_view what) const;
  void release(MemoryKind kind, void* pointer) const noexcept;

  // Returns when the bytes have moved. `kind`: hip::kHostToDevice, ...
  // As copy(); allocates nothing.
  // Likewise a box, one end of which is an array.
  hip::Error move(const hip::Memcpy3dParams& box) const noexcept;
  hip::Error move(void* destination, const void* source, size_t bytes, int kind) const noexcept;
  Result<void> copy(void* destination, const void* source, size_t bytes, int kind,
                    std::string_view what) const;
  // Device memory. May return before it is done: copies follow it, and synchronize() waits.
  Result<void> fill(void* destination, uint8_t value, size_t bytes, std::string_view what) const;
  // Zeros in memory of the software agent, which then takes none of this machine's. False, and
  // nothing is changed: it is not such memory. No work uses it, and none is issued meanwhile.
  bool zero(void* destination, size_t bytes) const;
  // Whether zero() may do it: whether there is such an agent.
  bool may_zero() const { return agent_zero_ != nullptr; }
  Result<void> synchronize() const;

 private:
  // Opens the stream at the first call: a session in place may never need it.
  hip::Error ready() const noexcept;

  std::shared_ptr<const HipLibrary> library_;
  Allocator allocator_;
  mutable std::mutex opening_;
  mutable hip::Stream stream_ = nullptr;
  AgentZeroFunction agent_zero_ = nullptr;
};

}  // namespace gfxgraph::replayer

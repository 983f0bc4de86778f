// What of the program's own code and memory a step in place works with (SessionOptions::live),
// and whether the program still has it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/live/objects.h"
#include "base/result.h"
#include "replayer/program/program.h"
#include "replayer/session/prepared.h"

namespace gfxgraph::replayer {

class Session;

// Changes nothing after find(): as thread-safe as the session's memory.
class LiveUse {
 public:
  // Not in place: nothing is gone.
  LiveUse() = default;
  // kNotFound, naming it: the program does not have a kernel or buffer that the operations name
  // any more, and nothing is bound in its place. kUnsupported: an operation of another device.
  // Both outlive it.
  static Result<LiveUse> find(const Session& session, const Program& program);

  // Before each run; two loads, unless the program has given something back. kNotFound, as find(),
  // of what the operations name now.
  Result<void> check(const PreparedOperations& operations) const {
    if (gone_ == nullptr || (gone_->allocation.load(std::memory_order_acquire) |
                             gone_->code_object.load(std::memory_order_acquire)) == 0) [[likely]]
      return {};
    return check_each(operations);
  }

 private:
  struct Place {
    uint64_t begin = 0;
    uint64_t size_bytes = 0;
    format::AllocationId allocation = 0;
  };

  void find_kernels();
  void find_places();
  Result<void> check_devices() const;
  Result<void> check_recorded();
  Result<void> check_kernels() const;
  Result<void> check_each(const PreparedOperations& operations) const;
  Result<void> check_operation(const PreparedOperations& operations, uint32_t index) const;
  // An address that the trace knows in `recorded`.
  Result<void> check_word(uint64_t address, format::AllocationId recorded) const;
  Result<void> check_address(uint64_t address) const;
  Result<void> check_place(format::AllocationId id) const;
  tl::unexpected<Error> gone(format::AllocationId id) const;

  const Session* session_ = nullptr;
  const Program* program_ = nullptr;
  const live::Gone* gone_ = nullptr;
  std::vector<format::KernelId> kernels_;
  std::vector<Place> places_;  // of the program's memory, by address
  // What no operation names: by words in memory, by textures, by code.
  std::vector<format::AllocationId> reached_;
};

}  // namespace gfxgraph::replayer

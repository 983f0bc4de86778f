// Footprints of the launches of a trace: which bytes of which allocations each may read and write.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "footprint/kernel.h"
#include "format/read/reader.h"

namespace gfxgraph::footprint {

// Bytes of an allocation: [begin, end), of them in steps: `width` bytes from each multiple of
// `step` after `begin`. step 0: all.
struct Bytes {
  format::AllocationId allocation = 0;
  AccessKind kind = AccessKind::kRead;
  uint64_t begin = 0, end = 0;
  uint64_t step = 0;
  uint32_t width = 0;
  bool whole = false;  // the code gives no bounds: the buffer's, by what kernel.h assumes
};
// Whether they may share a byte and one of them writes it.
bool conflict(const Bytes& a, const Bytes& b);

struct LaunchFootprint {
  // Why the launch may read and write anything that it can reach; empty: `bytes` is all. "at 0x..:"
  // is an ELF address in its code object.
  std::string unknown;
  std::vector<Bytes> bytes;  // by allocation
};

// Bytes of a launch's arguments that are to be taken for any value.
struct OpenArgument {
  uint64_t launch = 0;  // its number
  uint32_t offset_bytes = 0, size_bytes = 0;
};

// Refers to the trace, whose events must be loaded. Not thread-safe. Kernels are analysed once for
// each grid and all arguments but the addresses.
class Launches {
 public:
  static Result<std::unique_ptr<Launches>> create(const format::Trace& trace);
  ~Launches();
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  // Borrowed until the next call. `open`: those of this launch that are no pointers.
  const LaunchFootprint& of(const format::Launch& launch, std::span<const OpenArgument> open = {});
  // How many kernels with other grids or arguments were analysed, and launches asked for.
  uint64_t analysed() const { return analysed_; }
  uint64_t asked() const { return asked_; }

 private:
  struct Code;
  struct Known;
  explicit Launches(const format::Trace& trace);
  const KernelFootprint& analyse(const format::Launch& launch, const format::Kernel& kernel,
                                 const std::vector<uint32_t>& pointers,
                                 std::span<const OpenArgument> open);
  Code& code(format::CodeObjectId id);

  const format::Trace& trace_;
  std::vector<std::unique_ptr<Code>> codes_;  // index = id - 1; null: not read yet
  std::vector<uint64_t> sizes_;               // of allocations, by id
  std::unique_ptr<Known> known_;
  LaunchFootprint result_;
  uint64_t analysed_ = 0, asked_ = 0;
};

}  // namespace gfxgraph::footprint

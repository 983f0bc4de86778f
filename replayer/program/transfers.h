// What a program gets from the host and gives to it, beside its buffers. Needs no device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// As GFXGRAPH_TRANSFER_...
enum class TransferKind : uint32_t {
  kCopy = 1,       // from or to memory that HIP does not know
  kHostWrite = 2,  // the host wrote memory that it shares with the device
};

struct Transfer {
  TransferKind kind = TransferKind::kCopy;
  uint32_t index = 0;  // of the operation, or of the host write, in the program
  std::string name;
  uint64_t size_bytes = 0;  // packed: without the gaps of a pitched copy
  format::AllocationId buffer = 0;
  uint64_t offset_bytes = 0;
};

// Copies in recorded order, then host writes; without what moves nothing, and without writes that a
// kernel may have made instead.
std::vector<Transfer> find_inputs(const Program& program);
std::vector<Transfer> find_outputs(const Program& program);

}  // namespace gfxgraph::replayer

// Writes operations as AQL packets and kernel arguments: launches as kernels of the trace, copies
// and fills as kernels of the library's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "replayer/code/hidden_arguments.h"
#include "replayer/modes/packet_eligibility.h"
#include "replayer/packets/packet_queue.h"
#include "replayer/session/instance.h"

namespace gfxgraph::replayer {

class PacketWriter {
 public:
  // The instance, and later the device and the queue, must outlive the writer.
  explicit PacketWriter(Instance& instance) : instance_(instance) {}

  // To be called first, once: finds the kernels of the first `limit` operations.
  Result<void> find_kernels(EligibleKernels&& eligible, uint32_t limit, PacketDevice& device,
                            PacketQueue& queue);

  uint64_t kernarg_bytes(const PreparedLaunch& launch) const;  // of the segment
  // Whether none of the launch's own argument bytes is a hidden argument.
  bool is_plain(const PreparedLaunch& launch) const;

  // These overwrite the packet but for its header, and the arguments at `kernarg`, which stay those
  // of the packet. They allocate nothing unless they fail. `index`: the operation, for messages.
  Result<void> launch(hsa_abi::Packet& packet, std::byte* kernarg, uint32_t index,
                      const PreparedLaunch& launch);
  // True: kernels cannot reach the destination, which is pageable memory of the caller; the packet
  // copies to the step's own memory instead (PreparedCopy::staged).
  Result<bool> copy(hsa_abi::Packet& packet, std::byte* kernarg, uint32_t index,
                    const PreparedCopy& copy);
  void fill(hsa_abi::Packet& packet, std::byte* kernarg, const PreparedMemset& memset);

 private:
  struct Kernel {
    PacketKernel code;
    std::vector<HiddenField> hidden;
    uint32_t kernarg_bytes = 0;  // of the segment
  };

  Result<uint64_t> device_address(const void* pointer, uint32_t index) const;

  Instance& instance_;
  PacketDevice* device_ = nullptr;
  PacketQueue* queue_ = nullptr;
  std::map<format::KernelId, Kernel> kernels_;
  PacketKernel copy_kernel_, fill_kernel_;
};

}  // namespace gfxgraph::replayer

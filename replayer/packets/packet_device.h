// The device of a session in terms of HSA: the part that all steps in mode packets share.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "replayer/abi/hip_library.h"
#include "replayer/abi/hsa_library.h"
#include "replayer/packets/packet_code.h"

namespace gfxgraph::replayer {

class PacketDevice {
 public:
  static Result<std::shared_ptr<PacketDevice>> open(std::shared_ptr<const HipLibrary> hip,
                                                    const HipDevice& device);
  PacketDevice(const PacketDevice&) = delete;
  PacketDevice& operator=(const PacketDevice&) = delete;

  const HipLibrary& hip() const { return *hip_; }
  const HsaLibrary& hsa() const { return *hsa_; }
  const std::shared_ptr<const HsaLibrary>& shared_hsa() const { return hsa_; }
  uint64_t agent() const { return agent_; }
  uint32_t most_slots() const { return most_slots_; }    // of a queue
  uint64_t group_bytes() const { return group_bytes_; }  // LDS of a workgroup at most
  PacketCode& code() { return *code_; }                  // while steps are prepared

  // Memory from which the device reads arguments, and which only the host writes. Thread-safe.
  Result<std::byte*> allocate(size_t bytes, std::string_view what) const;
  // Memory that kernels and the host read and write meanwhile. Thread-safe.
  Result<std::byte*> allocate_shared(size_t bytes, std::string_view what) const;
  void release(void* memory) const noexcept;

 private:
  PacketDevice(std::shared_ptr<const HipLibrary> hip, std::shared_ptr<const HsaLibrary> hsa)
      : hip_(std::move(hip)), hsa_(std::move(hsa)) {}
  Result<void> find_agents(const HipDevice& device);
  Result<void> find_pools();
  Result<std::byte*> allocate_from(uint64_t pool, size_t bytes, std::string_view what) const;

  std::shared_ptr<const HipLibrary> hip_;
  std::shared_ptr<const HsaLibrary> hsa_;
  std::unique_ptr<PacketCode> code_;
  uint64_t agent_ = 0;
  uint64_t cpu_agent_ = 0;
  uint64_t kernarg_pool_ = 0;
  uint64_t shared_pool_ = 0;  // fine-grained, not for arguments if there is such a pool
  uint64_t group_bytes_ = 0;
  uint32_t most_slots_ = 0;
};

}  // namespace gfxgraph::replayer

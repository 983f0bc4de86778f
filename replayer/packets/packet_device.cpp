#include "replayer/packets/packet_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace gfxgraph::replayer {
namespace {

std::vector<uint64_t> list(auto&& iterate) {
  std::vector<uint64_t> found;
  iterate(
      [](uint64_t handle, void* data) {
        static_cast<std::vector<uint64_t>*>(data)->push_back(handle);
        return hsa_abi::kSuccess;
      },
      static_cast<void*>(&found));
  return found;
}

}  // namespace

Result<std::shared_ptr<PacketDevice>> PacketDevice::open(std::shared_ptr<const HipLibrary> hip,
                                                         const HipDevice& device) {
  if (hip->lookup() == nullptr)
    return fail(Status::kUnsupported, "mode packets needs a HIP runtime of the process itself");
  GFXGRAPH_ASSIGN_OR_RETURN(std::shared_ptr<const HsaLibrary> hsa, HsaLibrary::load(hip->lookup()));
  std::shared_ptr<PacketDevice> found(new PacketDevice(std::move(hip), std::move(hsa)));
  GFXGRAPH_TRY(found->find_agents(device));
  GFXGRAPH_TRY(found->find_pools());
  GFXGRAPH_TRY(
      found->hsa_->check(found->hsa_->table().hsa_agent_get_info(
                             found->agent_, hsa_abi::kAgentQueueMaxSize, &found->most_slots_),
                         "hsa_agent_get_info"));
  found->code_ = std::make_unique<PacketCode>(found->hip_, found->hsa_, found->agent_);
  return found;
}

// HIP's ordinals follow HIP_VISIBLE_DEVICES; both APIs use the same PCI address.
Result<void> PacketDevice::find_agents(const HipDevice& device) {
  const hsa_abi::Table& hsa = hsa_->table();
  if (hip_->table().hipDeviceGetPCIBusId == nullptr)
    return fail(Status::kUnsupported, "mode packets: the HIP runtime lacks hipDeviceGetPCIBusId");
  std::array<char, 64> text{};
  GFXGRAPH_TRY(hip_->check(hip_->table().hipDeviceGetPCIBusId(
                               text.data(), static_cast<int>(text.size()) - 1, device.ordinal),
                           "hipDeviceGetPCIBusId"));
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  if (std::sscanf(text.data(), "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
    return fail(Status::kDevice, fmt::format("mode packets: device at '{}'", text.data()));
  const uint32_t place = bus << 8 | slot << 3 | function;
  for (const uint64_t agent : list(hsa.hsa_iterate_agents)) {
    uint32_t kind = 0, bdf = 0, its_domain = 0;
    GFXGRAPH_TRY(hsa_->check(hsa.hsa_agent_get_info(agent, hsa_abi::kAgentDevice, &kind),
                             "hsa_agent_get_info"));
    if (kind == hsa_abi::kDeviceCpu && cpu_agent_ == 0) cpu_agent_ = agent;
    if (kind != hsa_abi::kDeviceGpu) continue;
    GFXGRAPH_TRY(hsa_->check(hsa.hsa_agent_get_info(agent, hsa_abi::kAgentBdfId, &bdf),
                             "hsa_agent_get_info"));
    GFXGRAPH_TRY(hsa_->check(hsa.hsa_agent_get_info(agent, hsa_abi::kAgentDomain, &its_domain),
                             "hsa_agent_get_info"));
    if ((bdf & 0xffff) == place && its_domain == domain) agent_ = agent;
  }
  if (agent_ != 0 && cpu_agent_ != 0) return {};
  return fail(Status::kDevice,
              fmt::format("mode packets: HSA has no agent at {}, where HIP's device {} is",
                          text.data(), device.ordinal));
}

Result<void> PacketDevice::find_pools() {
  const hsa_abi::Table& hsa = hsa_->table();
  const auto pools = [&](uint64_t agent) {
    return list([&](auto callback, void* data) {
      return hsa.hsa_amd_agent_iterate_memory_pools(agent, callback, data);
    });
  };
  const auto get = [&](uint64_t pool, uint32_t attribute, void* value) {
    return hsa_->check(hsa.hsa_amd_memory_pool_get_info(pool, attribute, value),
                       "hsa_amd_memory_pool_get_info");
  };
  for (const uint64_t pool : pools(cpu_agent_)) {
    uint32_t segment = 0, flags = 0;
    GFXGRAPH_TRY(get(pool, hsa_abi::kPoolSegment, &segment));
    if (segment != hsa_abi::kSegmentGlobal) continue;
    GFXGRAPH_TRY(get(pool, hsa_abi::kPoolGlobalFlags, &flags));
    if ((flags & hsa_abi::kPoolFlagKernarg) != 0 && kernarg_pool_ == 0) kernarg_pool_ = pool;
    const uint32_t kinds = flags & (hsa_abi::kPoolFlagKernarg | hsa_abi::kPoolFlagFine);
    if (kinds == hsa_abi::kPoolFlagFine && shared_pool_ == 0) shared_pool_ = pool;
  }
  for (const uint64_t pool : pools(agent_)) {
    uint32_t segment = 0;
    GFXGRAPH_TRY(get(pool, hsa_abi::kPoolSegment, &segment));
    if (segment == hsa_abi::kSegmentGroup)
      GFXGRAPH_TRY(get(pool, hsa_abi::kPoolSize, &group_bytes_));
  }
  if (shared_pool_ == 0) shared_pool_ = kernarg_pool_;
  if (kernarg_pool_ != 0) return {};
  return fail(Status::kDevice, "mode packets: HSA has no memory for arguments of kernels");
}

Result<std::byte*> PacketDevice::allocate(size_t bytes, std::string_view what) const {
  return allocate_from(kernarg_pool_, bytes, what);
}

Result<std::byte*> PacketDevice::allocate_shared(size_t bytes, std::string_view what) const {
  return allocate_from(shared_pool_, bytes, what);
}

Result<std::byte*> PacketDevice::allocate_from(uint64_t pool, size_t bytes,
                                               std::string_view what) const {
  const hsa_abi::Table& hsa = hsa_->table();
  void* memory = nullptr;
  const std::string text = fmt::format("{} bytes of memory for {}", bytes, what);
  GFXGRAPH_TRY(hsa_->check(
      hsa.hsa_amd_memory_pool_allocate(pool, std::max<size_t>(bytes, 1), 0, &memory), text));
  const Result<void> allowed =
      hsa_->check(hsa.hsa_amd_agents_allow_access(1, &agent_, nullptr, memory), text);
  if (allowed) return static_cast<std::byte*>(memory);
  hsa.hsa_amd_memory_pool_free(memory);
  return tl::unexpected<Error>(allowed.error());
}

void PacketDevice::release(void* memory) const noexcept {
  if (memory != nullptr) hsa_->table().hsa_amd_memory_pool_free(memory);
}

}  // namespace gfxgraph::replayer

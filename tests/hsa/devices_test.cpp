// Several equal GPU agents ($GFXGRAPH_DEVICES=3 in CMakeLists.txt): what each has of its own, and
// what one may do with another's memory.
#include <array>
#include <set>

#include "tests/hsa/agent_fixture.h"
#include "tests/hsa/code_file.h"
#include "tests/hsa/newer_calls.h"

namespace gfxgraph::hsa_test {
namespace {

constexpr size_t kMiB = 1u << 20;

class DevicesTest : public AgentTest {
 protected:
  void SetUp() override {
    if (std::getenv("GFXGRAPH_DEVICES") == nullptr) GTEST_SKIP() << "set GFXGRAPH_DEVICES=3";
    AgentTest::SetUp();
    ASSERT_EQ(gpus_.size(), 3u);
  }
  void TearDown() override {
    if (!IsSkipped()) AgentTest::TearDown();
  }

  template <typename T>
  static T info(hsa_agent_t agent, uint32_t attribute) {
    T value{};
    EXPECT_EQ(hsa_agent_get_info(agent, number<hsa_agent_info_t>(attribute), &value),
              HSA_STATUS_SUCCESS);
    return value;
  }
  static uint64_t free_bytes(hsa_agent_t agent) { return info<uint64_t>(agent, 0xA015); }
  static uint32_t access(hsa_agent_t agent, hsa_amd_memory_pool_t pool) {
    uint32_t value = 77;
    EXPECT_EQ(hsa_amd_agent_memory_pool_get_info(agent, pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS,
                                                 &value),
              HSA_STATUS_SUCCESS);
    return value;
  }
};

TEST_F(DevicesTest, AreEqualButForTheirPlace) {
  for (const uint32_t attribute :
       {uint32_t{HSA_AGENT_INFO_NODE}, uint32_t{HSA_AMD_AGENT_INFO_DRIVER_NODE_ID},
        uint32_t{HSA_AMD_AGENT_INFO_BDFID}, 0xA112u}) {
    std::set<uint32_t> values{info<uint32_t>(cpu_, attribute)};
    for (const hsa_agent_t gpu : gpus_) values.insert(info<uint32_t>(gpu, attribute));
    EXPECT_EQ(values.size(), 4u) << attribute;
  }
  std::set<std::string> uuids;
  for (const hsa_agent_t gpu : gpus_)
    uuids.insert(info<std::array<char, 21>>(gpu, HSA_AMD_AGENT_INFO_UUID).data());
  EXPECT_EQ(uuids.size(), 3u);
  EXPECT_TRUE(uuids.contains("GPU-6766786772617068")) << "the one that there always was";
  for (const hsa_agent_t gpu : gpus_) {
    EXPECT_STREQ((info<std::array<char, 64>>(gpu, HSA_AGENT_INFO_NAME).data()), "gfx1030");
    EXPECT_EQ(info<uint32_t>(gpu, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT), 72u);
  }
}

TEST_F(DevicesTest, AnAgentPastTheLastOneIsRejected) {
  uint32_t value = 0;
  EXPECT_EQ(hsa_agent_get_info({gpus_.back().handle + 1}, HSA_AGENT_INFO_NODE, &value),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(hsa_agent_get_info({0}, HSA_AGENT_INFO_NODE, &value), HSA_STATUS_ERROR_INVALID_AGENT);
}

TEST_F(DevicesTest, HaveMemoryOfTheirOwn) {
  std::set<uint64_t> handles;
  for (const hsa_agent_t gpu : gpus_) {
    for (const hsa_amd_memory_pool_t pool : pools(gpu)) handles.insert(pool.handle);
  }
  EXPECT_EQ(handles.size(), 6u) << "device memory and LDS";
  std::vector<uint64_t> before;
  for (const hsa_agent_t gpu : gpus_) before.push_back(free_bytes(gpu));
  auto* const memory = allocate<char>(pools(gpus_[1])[0], kMiB);
  EXPECT_EQ(free_bytes(gpus_[0]), before[0]);
  EXPECT_EQ(free_bytes(gpus_[1]), before[1] - kMiB);
  hsa_amd_pointer_info_t owner{};
  owner.size = sizeof(owner);
  uint32_t count = 0;
  hsa_agent_t* agents = nullptr;
  ASSERT_EQ(hsa_amd_pointer_info(memory + 5, &owner, std::malloc, &count, &agents),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(owner.agentOwner.handle, gpus_[1].handle);
  EXPECT_EQ(count, 3u);
  std::free(agents);
  EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(free_bytes(gpus_[1]), before[1]);
}

TEST_F(DevicesTest, ReachEachOthersMemoryWhereTheyAreAllowedTo) {
  for (const hsa_agent_t gpu : gpus_) {
    for (const hsa_agent_t other : gpus_) {
      EXPECT_EQ(access(gpu, pools(other)[0]),
                gpu.handle == other.handle
                    ? uint32_t{HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT}
                    : uint32_t{HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT});
      EXPECT_EQ(access(gpu, pools(other)[1]), uint32_t{HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED})
          << "LDS";
      uint32_t hops = 77;
      EXPECT_EQ(hsa_amd_agent_memory_pool_get_info(
                    gpu, pools(other)[0], HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS, &hops),
                HSA_STATUS_SUCCESS);
      EXPECT_EQ(hops, gpu.handle == other.handle ? 0u : 1u);
    }
    EXPECT_EQ(access(cpu_, pools(gpu)[0]), uint32_t{HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED});
  }
  auto* const memory = allocate<char>(pools(gpus_[2])[0], 100);
  EXPECT_EQ(hsa_amd_agents_allow_access(3, gpus_.data(), nullptr, memory), HSA_STATUS_SUCCESS);
  const hsa_agent_t wrong{gpus_.back().handle + 1};
  EXPECT_EQ(hsa_amd_agents_allow_access(1, &wrong, nullptr, memory),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
}

TEST_F(DevicesTest, CopyBetweenEachOther) {
  auto* const from = allocate<char>(pools(gpus_[2])[0], 100);
  auto* const to = allocate<char>(pools(gpus_[0])[0], 100);
  std::memset(from, 'x', 100);
  const hsa_signal_t done = signal(1);
  ASSERT_EQ(hsa_amd_memory_async_copy(to, gpus_[0], from, gpus_[2], 100, 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  ASSERT_TRUE(wait_until_zero(done));
  EXPECT_EQ(std::string(to, 100), std::string(100, 'x'));
  EXPECT_EQ(hsa_signal_destroy(done), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(from), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(to), HSA_STATUS_SUCCESS);
}

TEST_F(DevicesTest, AQueueBelongsToItsAgent) {
  for (const hsa_agent_t gpu : gpus_) {
    hsa_queue_t* queue = nullptr;
    ASSERT_EQ(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue),
              HSA_STATUS_SUCCESS);
    hsa_agent_t owner{};
    EXPECT_EQ(newer_hsa_amd_queue_get_info(queue, 0, &owner), HSA_STATUS_SUCCESS);
    EXPECT_EQ(owner.handle, gpu.handle);
    EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
  }
}

TEST_F(DevicesTest, CodeAndVariablesBelongToTheAgentTheyAreLoadedFor) {
  const std::vector<std::byte> elf = device_elf("loader_kernels.co");
  std::set<uint64_t> addresses;
  for (const hsa_agent_t gpu : gpus_) {
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    ASSERT_EQ(hsa_code_object_reader_create_from_memory(elf.data(), elf.size(), &reader),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                        nullptr, &executable),
              HSA_STATUS_SUCCESS);
    ASSERT_EQ(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr),
              HSA_STATUS_SUCCESS);
    hsa_executable_symbol_t symbol{};
    ASSERT_EQ(hsa_executable_get_symbol_by_name(executable, "counter", &gpu, &symbol),
              HSA_STATUS_SUCCESS);
    hsa_agent_t owner{};
    EXPECT_EQ(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_AGENT, &owner),
              HSA_STATUS_SUCCESS);
    EXPECT_EQ(owner.handle, gpu.handle);
    uint64_t address = 0;
    EXPECT_EQ(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS,
                                             &address),
              HSA_STATUS_SUCCESS);
    addresses.insert(address);
    // Each agent's symbols are its own.
    for (const hsa_agent_t other : gpus_) {
      size_t symbols = 0;
      const auto count = [](hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void* data) {
        ++*static_cast<size_t*>(data);
        return HSA_STATUS_SUCCESS;
      };
      EXPECT_EQ(hsa_executable_iterate_agent_symbols(executable, other, count, &symbols),
                HSA_STATUS_SUCCESS);
      EXPECT_EQ(symbols != 0, other.handle == gpu.handle);
    }
    EXPECT_EQ(hsa_code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
  }
  EXPECT_EQ(addresses.size(), 3u);
}

// As HIP 7.2.4 does for a graph node of another device. The fault ends the process's device.
TEST_F(DevicesTest, AKernelOfAnotherDeviceIsNamedWithIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::vector<std::byte> elf = device_elf("loader_kernels.co");
        hsa_code_object_reader_t reader{};
        hsa_executable_t executable{};
        hsa_executable_symbol_t symbol{};
        bool good =
            hsa_code_object_reader_create_from_memory(elf.data(), elf.size(), &reader) ==
                HSA_STATUS_SUCCESS &&
            hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                      nullptr, &executable) == HSA_STATUS_SUCCESS &&
            hsa_executable_load_agent_code_object(executable, gpus_[1], reader, nullptr, nullptr) ==
                HSA_STATUS_SUCCESS &&
            hsa_executable_freeze(executable, nullptr) == HSA_STATUS_SUCCESS &&
            hsa_executable_get_symbol_by_name(executable, "empty_kernel.kd", &gpus_[1], &symbol) ==
                HSA_STATUS_SUCCESS;
        hsa_kernel_dispatch_packet_t packet{};
        hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                       &packet.kernel_object);
        packet.header = 0x0b02;
        packet.setup = 1;
        packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
        packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
        packet.completion_signal = signal(1);
        submit(queue(), packet);
        good = good && wait_until_zero(packet.completion_signal);
        std::exit(good ? 0 : 7);  // 0 becomes 1
      },
      testing::ExitedWithCode(1),
      "launch 1 on device 0: bad dispatch: kernel empty_kernel is loaded on device 1 only");
}

TEST_F(DevicesTest, MappedMemoryCountsForItsDeviceAndIsAllowedForEachAlone) {
  const uint64_t before = free_bytes(gpus_[1]);
  uint64_t memory = 0;
  const hsa_amd_memory_pool_t pool = pools(gpus_[1])[0];
  ASSERT_EQ(newer_hsa_amd_vmem_handle_create(pool, kMiB, 1, 0, &memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(free_bytes(gpus_[1]), before - kMiB);
  hsa_amd_memory_pool_t told{};
  uint32_t type = 0;
  EXPECT_EQ(newer_hsa_amd_vmem_get_alloc_properties_from_handle(memory, &told, &type),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(told.handle, pool.handle);
  void* range = nullptr;
  ASSERT_EQ(newer_hsa_amd_vmem_address_reserve(&range, kMiB, 0, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(newer_hsa_amd_vmem_map(range, kMiB, 0, memory, 0), HSA_STATUS_SUCCESS);
  const auto allowed = [&](hsa_agent_t gpu) {
    uint32_t permissions = 77;
    EXPECT_EQ(newer_hsa_amd_vmem_get_access(range, &permissions, gpu), HSA_STATUS_SUCCESS);
    return permissions;
  };
  const auto allow = [&](hsa_agent_t gpu, uint32_t permissions) {
    const AccessOfAgent access{permissions, gpu};
    EXPECT_EQ(newer_hsa_amd_vmem_set_access(range, kMiB, &access, 1), HSA_STATUS_SUCCESS);
  };
  allow(gpus_[1], 3);
  allow(gpus_[0], 1);
  EXPECT_EQ(allowed(gpus_[0]), 1u);
  EXPECT_EQ(allowed(gpus_[1]), 3u);
  EXPECT_EQ(allowed(gpus_[2]), 0u);
  allow(gpus_[1], 0);
  EXPECT_EQ(allowed(gpus_[0]), 1u);
  EXPECT_EQ(allowed(gpus_[1]), 0u);
  EXPECT_EQ(newer_hsa_amd_vmem_unmap(range, kMiB), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_handle_release(memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_address_free(range, kMiB), HSA_STATUS_SUCCESS);
  EXPECT_EQ(free_bytes(gpus_[1]), before);
}

}  // namespace
}  // namespace gfxgraph::hsa_test

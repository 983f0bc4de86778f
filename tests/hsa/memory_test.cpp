// Pools, pointer information, locked host memory, fills and copies.
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/agent_memory.h"
#include "tests/hsa/agent_fixture.h"

namespace gfxgraph::hsa_test {
namespace {

using MemoryTest = AgentTest;

hsa_amd_pointer_info_t info_of(const void* pointer) {
  hsa_amd_pointer_info_t info{};
  info.size = sizeof(info);
  EXPECT_EQ(hsa_amd_pointer_info(pointer, &info, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
  return info;
}

TEST_F(MemoryTest, AllocationsAreZeroedApartAndKnown) {
  auto* const a = allocate<uint8_t>(device_pool(), 100);
  auto* const b = allocate<uint8_t>(device_pool(), 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 4096, 0u);
  EXPECT_GE(std::abs(b - a), 8192);  // a page between them
  EXPECT_EQ(std::accumulate(a, a + 4096, 0), 0);
  EXPECT_EQ(info_of(a + 50).sizeInBytes, 100u);
  EXPECT_EQ(info_of(a + 50).agentBaseAddress, a);
  EXPECT_EQ(info_of(a + 50).type, HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(info_of(a).agentOwner.handle, gpu_.handle);
  std::memset(a, 1, 4096);
  ASSERT_EQ(hsa_amd_memory_pool_free(a), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info_of(a).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  auto* const again = allocate<uint8_t>(device_pool(), 100);
  EXPECT_EQ(std::accumulate(again, again + 4096, 0), 0) << "memory of a former owner";
  ASSERT_EQ(hsa_amd_memory_pool_free(again), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_pool_free(b), HSA_STATUS_SUCCESS);
}

// How many of the pages are in memory.
size_t resident_pages(void* memory, size_t pages) {
  std::vector<unsigned char> states(pages);
  EXPECT_EQ(mincore(memory, pages * 4096, states.data()), 0);
  return static_cast<size_t>(std::count_if(states.begin(), states.end(),
                                           [](unsigned char one) { return (one & 1) != 0; }));
}

TEST_F(MemoryTest, ZerosForTheReplayTakeNoMemory) {
  constexpr size_t kPages = 1024;
  constexpr size_t kBytes = kPages * 4096;
  const auto zero = reinterpret_cast<AgentZeroFunction>(dlsym(RTLD_DEFAULT, kAgentZeroFunction));
  ASSERT_NE(zero, nullptr);
  for (const hsa_amd_memory_pool_t pool : {device_pool(), pools(cpu_)[0]}) {
    auto* const memory = allocate<uint8_t>(pool, kBytes);
    std::memset(memory, 7, kBytes);
    EXPECT_EQ(resident_pages(memory, kPages), kPages);
    ASSERT_TRUE(zero(memory + 100, kBytes - 200));
    EXPECT_LE(resident_pages(memory, kPages), 2u);
    EXPECT_EQ(std::accumulate(memory, memory + kBytes, uint64_t{0}), 200u * 7);
    EXPECT_EQ(memory[99] + memory[kBytes - 100], 14);
    ASSERT_TRUE(zero(memory, 50));
    EXPECT_EQ(memory[49], 0);
    EXPECT_EQ(memory[50], 7);
    EXPECT_FALSE(zero(memory + 1, kBytes));  // beyond its end
    EXPECT_EQ(memory[50], 7);
    ASSERT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
  }
  std::vector<uint8_t> own(2 * 4096, 7);
  EXPECT_FALSE(zero(own.data(), own.size()));
  void* locked = nullptr;
  ASSERT_EQ(hsa_amd_memory_lock(own.data(), own.size(), nullptr, 0, &locked), HSA_STATUS_SUCCESS);
  EXPECT_FALSE(zero(own.data(), own.size()));
  EXPECT_EQ(own[4096], 7);
  ASSERT_EQ(hsa_amd_memory_unlock(own.data()), HSA_STATUS_SUCCESS);
}

TEST_F(MemoryTest, ManyAllocationsOfAllSizes) {
  std::vector<uint8_t*> list;
  for (size_t size = 1; size < (8u << 20); size = size * 3 + 1) {
    for (int i = 0; i < 20; ++i) {
      list.push_back(allocate<uint8_t>(device_pool(), size));
      list.back()[0] = 1;
      list.back()[size - 1] = 1;
    }
  }
  for (uint8_t* memory : list) EXPECT_EQ(hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
}

TEST_F(MemoryTest, BadRequestsAreRefused) {
  void* memory = nullptr;
  EXPECT_EQ(hsa_amd_memory_pool_allocate(device_pool(), 0, 0, &memory),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_pool_allocate(device_pool(), 4, 0, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_pool_allocate({77}, 4, 0, &memory), HSA_STATUS_ERROR_INVALID_REGION);
  EXPECT_EQ(hsa_amd_memory_pool_allocate(pools(gpu_)[1], 4, 0, &memory),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_memory_pool_allocate(device_pool(), size_t{1} << 45, 0, &memory),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_NE(hsa_amd_memory_pool_allocate(device_pool(), SIZE_MAX, 0, &memory), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(nullptr), HSA_STATUS_SUCCESS);
  int local = 0;
  EXPECT_EQ(hsa_amd_memory_pool_free(&local), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  auto* const good = allocate<uint8_t>(device_pool(), 4096);
  EXPECT_EQ(hsa_amd_memory_pool_free(good + 16), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_memory_pool_free(good), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(good), HSA_STATUS_ERROR_INVALID_ALLOCATION);
}

TEST_F(MemoryTest, NoMoreThanAPoolHas) {
  for (const hsa_amd_memory_pool_t pool : {pools(cpu_)[0], pools(cpu_)[1], pools(gpu_)[0]}) {
    size_t most = 0;
    ASSERT_EQ(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE, &most),
              HSA_STATUS_SUCCESS);
    void* memory = nullptr;
    EXPECT_EQ(hsa_amd_memory_pool_allocate(pool, most + 4096, 0, &memory),
              HSA_STATUS_ERROR_INVALID_ALLOCATION);
    EXPECT_EQ(memory, nullptr);
  }
  // As much as there is, and then nothing more.
  size_t most = 0;
  ASSERT_EQ(
      hsa_amd_memory_pool_get_info(device_pool(), HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE, &most),
      HSA_STATUS_SUCCESS);
  auto* const all = allocate<std::byte>(device_pool(), most);
  void* memory = nullptr;
  EXPECT_EQ(hsa_amd_memory_pool_allocate(device_pool(), 4096, 0, &memory),
            HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  EXPECT_EQ(hsa_amd_memory_pool_free(all), HSA_STATUS_SUCCESS);
}

TEST_F(MemoryTest, MemoryOfAPoolNeedsNoLock) {
  int* const made = allocate<int>(kernarg_pool(), 4);
  EXPECT_EQ(hsa_amd_memory_unlock(made), HSA_STATUS_SUCCESS);
  int own = 0;
  EXPECT_EQ(hsa_amd_memory_unlock(&own), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_amd_memory_pool_free(made);
}

TEST_F(MemoryTest, TheAgentsOwnMemoryCannotBeFreed) {
  hsa_queue_t* const q = queue();
  EXPECT_EQ(hsa_amd_memory_pool_free(q), HSA_STATUS_ERROR_INVALID_ALLOCATION);
  hsa_queue_destroy(q);
}

TEST_F(MemoryTest, PointerInfoWritesOnlyWhatTheCallerKnows) {
  auto* const memory = allocate<uint8_t>(device_pool(), 64);
  struct {
    hsa_amd_pointer_info_t info;
    uint64_t after;
  } old{};
  old.info.size = offsetof(hsa_amd_pointer_info_t, agentOwner);
  old.info.agentOwner.handle = 0x5555;
  ASSERT_EQ(hsa_amd_pointer_info(memory, &old.info, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(old.info.sizeInBytes, 64u);
  EXPECT_EQ(old.info.agentOwner.handle, 0x5555u);
  old.info.size = 4;
  EXPECT_EQ(hsa_amd_pointer_info(memory, &old.info, nullptr, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);

  hsa_amd_pointer_info_t info{};
  info.size = sizeof(info);
  uint32_t count = 0;
  hsa_agent_t* agents = nullptr;
  ASSERT_EQ(hsa_amd_pointer_info(memory, &info, std::malloc, &count, &agents), HSA_STATUS_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(agents[0].handle, gpu_.handle);
  std::free(agents);
  int tag = 0;
  ASSERT_EQ(hsa_amd_pointer_info_set_userdata(memory, &tag), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info_of(memory).userData, &tag);
  hsa_amd_memory_pool_free(memory);
}

TEST_F(MemoryTest, LockedHostMemoryHasAnotherAddress) {
  std::vector<uint8_t> host(100000, 7);
  void* agent = nullptr;
  ASSERT_EQ(hsa_amd_memory_lock(host.data(), host.size(), &gpu_, 1, &agent), HSA_STATUS_SUCCESS);
  EXPECT_NE(agent, host.data());
  const hsa_amd_pointer_info_t info = info_of(static_cast<uint8_t*>(agent) + 5);
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
  EXPECT_EQ(info.hostBaseAddress, host.data());
  EXPECT_EQ(info.agentBaseAddress, agent);
  EXPECT_EQ(info.sizeInBytes, host.size());
  auto* const device = allocate<uint8_t>(device_pool(), host.size());
  const hsa_signal_t done = signal(1);
  ASSERT_EQ(hsa_amd_memory_async_copy(device, gpu_, agent, cpu_, host.size(), 0, nullptr, done),
            HSA_STATUS_SUCCESS);
  ASSERT_TRUE(wait_until_zero(done));
  EXPECT_EQ(device[99999], 7);
  EXPECT_EQ(hsa_amd_memory_unlock(host.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_unlock(host.data()), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(info_of(host.data()).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  hsa_amd_memory_pool_free(device);
}

TEST_F(MemoryTest, LocksNestAndOverlap) {
  std::vector<uint8_t> host(64 * 1024);
  void* agent = nullptr;
  const auto lock = [&](size_t begin, size_t bytes) {
    return hsa_amd_memory_lock(host.data() + begin, bytes, nullptr, 0, &agent);
  };
  ASSERT_EQ(lock(0, 10000), HSA_STATUS_SUCCESS);
  ASSERT_EQ(lock(0, 10000), HSA_STATUS_SUCCESS);
  ASSERT_EQ(lock(5000, 10000), HSA_STATUS_SUCCESS);
  ASSERT_EQ(lock(100, 50), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info_of(host.data() + 120).sizeInBytes, 50u);
  EXPECT_EQ(hsa_amd_memory_unlock(host.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info_of(host.data() + 50).type, HSA_EXT_POINTER_TYPE_LOCKED);
  EXPECT_EQ(hsa_amd_memory_unlock(host.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info_of(host.data() + 50).type, HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(info_of(host.data() + 5000).type, HSA_EXT_POINTER_TYPE_LOCKED);
  EXPECT_EQ(hsa_amd_memory_unlock(host.data() + 5000), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_unlock(host.data() + 100), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_lock(nullptr, 10, nullptr, 0, &agent),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_lock(host.data(), 0, nullptr, 0, &agent),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
}

TEST_F(MemoryTest, FillAndCopy) {
  auto* const a = allocate<uint32_t>(device_pool(), 1000);
  auto* const b = allocate<uint32_t>(device_pool(), 1000);
  ASSERT_EQ(hsa_amd_memory_fill(a, 0x01020304, 1000), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_memory_copy(b, a, 4000), HSA_STATUS_SUCCESS);
  EXPECT_EQ(b[999], 0x01020304u);
  EXPECT_EQ(hsa_amd_memory_fill(reinterpret_cast<uint8_t*>(a) + 1, 0, 1),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_fill(a, 0, 1025), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_fill(a, 0, SIZE_MAX / 2), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_memory_copy(b, a, 5000), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_amd_memory_pool_free(a);
  hsa_amd_memory_pool_free(b);
}

TEST_F(MemoryTest, AsyncCopyRefusesBadArguments) {
  auto* const a = allocate<uint8_t>(device_pool(), 4096);
  uint8_t host[8192] = {};
  const hsa_signal_t done = signal(1);
  const auto copy = [&](void* to, const void* from, size_t bytes, hsa_signal_t completion) {
    return hsa_amd_memory_async_copy(to, gpu_, from, cpu_, bytes, 0, nullptr, completion);
  };
  EXPECT_EQ(copy(a, host, 4097, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(a + 1, host, 4096, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(a, host, SIZE_MAX, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(nullptr, host, 1, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  // The device reaches memory of the agent and locked memory only.
  EXPECT_EQ(copy(a, host, 16, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(copy(host, a, 16, done), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(host[0], 0);
  EXPECT_EQ(hsa_amd_memory_fill(host, 0xabcdabcd, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(host[0], 0);
  EXPECT_EQ(hsa_memory_copy(a, host, 16), HSA_STATUS_SUCCESS) << "the host reaches its own";
  EXPECT_EQ(copy(a, host, 1, hsa_signal_t{0}), HSA_STATUS_ERROR_INVALID_SIGNAL);
  EXPECT_EQ(hsa_amd_memory_async_copy(a, gpu_, host, cpu_, 1, 1, nullptr, done),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_signal_load_relaxed(done), 1) << "a refused copy completed";
  hsa_amd_memory_pool_free(a);
}

TEST_F(MemoryTest, RectangularCopy) {
  constexpr uint32_t kPitch = 64;
  constexpr uint32_t kSlice = kPitch * 10;
  auto* const device = allocate<uint8_t>(device_pool(), kSlice * 4);
  std::vector<uint8_t> host(30 * 8 * 3);
  std::iota(host.begin(), host.end(), uint8_t{0});
  const hsa_pitched_ptr_t to{device, kPitch, kSlice};
  void* locked = nullptr;
  ASSERT_EQ(hsa_amd_memory_lock(host.data(), host.size(), &gpu_, 1, &locked), HSA_STATUS_SUCCESS);
  const hsa_pitched_ptr_t from{locked, 30, 30 * 8};
  const hsa_dim3_t to_offset{5, 2, 1};
  const hsa_dim3_t from_offset{3, 1, 0};
  const hsa_dim3_t range{20, 6, 3};
  const hsa_signal_t done = signal(1);
  const auto copy = [&](const hsa_dim3_t& r) {
    return hsa_amd_memory_async_copy_rect(&to, &to_offset, &from, &from_offset, &r, gpu_,
                                          hsaHostToDevice, 0, nullptr, done);
  };
  ASSERT_EQ(copy(range), HSA_STATUS_SUCCESS);
  ASSERT_TRUE(wait_until_zero(done));
  for (uint32_t z = 0; z < 3; ++z) {
    for (uint32_t y = 0; y < 6; ++y) {
      for (uint32_t x = 0; x < 20; ++x) {
        ASSERT_EQ(device[(z + 1) * kSlice + (y + 2) * kPitch + x + 5],
                  host[z * 240 + (y + 1) * 30 + x + 3]);
      }
    }
  }
  EXPECT_EQ(device[kSlice + 2 * kPitch + 4], 0);
  EXPECT_EQ(device[kSlice + 2 * kPitch + 25], 0);
  EXPECT_EQ(copy({20, 6, 30}), HSA_STATUS_ERROR_INVALID_ARGUMENT) << "past the device allocation";
  EXPECT_EQ(copy({0, 6, 3}), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_memory_unlock(host.data()), HSA_STATUS_SUCCESS);
  EXPECT_EQ(copy(range), HSA_STATUS_ERROR_INVALID_ARGUMENT) << "not locked any more";
  hsa_amd_memory_pool_free(device);
}

}  // namespace
}  // namespace gfxgraph::hsa_test

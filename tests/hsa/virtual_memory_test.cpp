// Memory whose addresses and bytes are got apart.
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <random>

#include "tests/hsa/agent_fixture.h"
#include "tests/hsa/newer_calls.h"

namespace gfxgraph::hsa_test {
namespace {

constexpr size_t kPage = 4096;
constexpr uint32_t kReadWrite = 3;

class VirtualMemoryTest : public AgentTest {
 protected:
  char* reserve(size_t bytes) {
    void* address = nullptr;
    EXPECT_EQ(newer_hsa_amd_vmem_address_reserve(&address, bytes, 0, 0), HSA_STATUS_SUCCESS);
    return static_cast<char*>(address);
  }
  uint64_t memory(size_t bytes) {
    uint64_t made = 0;
    EXPECT_EQ(newer_hsa_amd_vmem_handle_create(device_pool(), bytes, 1, 0, &made),
              HSA_STATUS_SUCCESS);
    return made;
  }
  hsa_status_t allow(void* address, size_t bytes, uint32_t permissions = kReadWrite) {
    const AccessOfAgent access{permissions, gpu_};
    return newer_hsa_amd_vmem_set_access(address, bytes, &access, 1);
  }
  static hsa_amd_pointer_type_t type_of(const void* pointer) {
    hsa_amd_pointer_info_t info{};
    info.size = sizeof(info);
    EXPECT_EQ(hsa_amd_pointer_info(pointer, &info, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
    return info.type;
  }
};

TEST_F(VirtualMemoryTest, MappingsSideBySideAreOneRangeForCopies) {
  char* const range = reserve(8 * kPage);
  const uint64_t first = memory(kPage);
  const uint64_t second = memory(3 * kPage);
  ASSERT_EQ(newer_hsa_amd_vmem_map(range + kPage, kPage, 0, first, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(newer_hsa_amd_vmem_map(range + 2 * kPage, 2 * kPage, kPage, second, 0),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(type_of(range + kPage), HSA_EXT_POINTER_TYPE_UNKNOWN) << "the device has no access yet";
  ASSERT_EQ(allow(range + kPage, 3 * kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(type_of(range + kPage), HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(type_of(range + 4 * kPage), HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(hsa_amd_memory_fill(range + kPage, 0x01010101, 3 * kPage / 4), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_fill(range + kPage, 0x02020202, 3 * kPage / 4 + 1),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(hsa_amd_memory_pool_free(range + kPage), HSA_STATUS_SUCCESS);

  // The same bytes at a second place; what is released goes with its last mapping.
  ASSERT_EQ(newer_hsa_amd_vmem_map(range + 6 * kPage, kPage, 2 * kPage, second, 0),
            HSA_STATUS_SUCCESS);
  ASSERT_EQ(allow(range + 6 * kPage, kPage), HSA_STATUS_SUCCESS);
  ASSERT_EQ(newer_hsa_amd_vmem_handle_release(second), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_handle_release(second), HSA_STATUS_SUCCESS);
  EXPECT_EQ(range[6 * kPage], 1);
  range[6 * kPage + 5] = 7;
  EXPECT_EQ(range[3 * kPage + 5], 7);

  EXPECT_NE(newer_hsa_amd_vmem_address_free(range, 8 * kPage), HSA_STATUS_SUCCESS)
      << "still mapped";
  EXPECT_NE(newer_hsa_amd_vmem_unmap(range + 2 * kPage, kPage), HSA_STATUS_SUCCESS)
      << "half a mapping";
  for (const auto& [at, pages] : {std::pair{1, 1}, {2, 2}, {6, 1}})
    EXPECT_EQ(newer_hsa_amd_vmem_unmap(range + at * kPage, pages * kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(type_of(range + kPage), HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(hsa_amd_memory_fill(range + kPage, 0, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(newer_hsa_amd_vmem_handle_release(first), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_address_free(range, 8 * kPage), HSA_STATUS_SUCCESS);
}

TEST_F(VirtualMemoryTest, AddressesAreAlignedAndWishesAreKept) {
  void* address = nullptr;
  const uint64_t align = uint64_t{1} << 30;
  ASSERT_EQ(newer_hsa_amd_vmem_address_reserve_align(&address, 3 * kPage, 0, align, 0),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uint64_t>(address) % align, 0u);
  ASSERT_EQ(newer_hsa_amd_vmem_address_free(address, 3 * kPage), HSA_STATUS_SUCCESS);
  void* again = nullptr;
  const auto wish = reinterpret_cast<uint64_t>(address);
  ASSERT_EQ(newer_hsa_amd_vmem_address_reserve(&again, 2 * kPage, wish, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(again, address);
  void* other = nullptr;
  ASSERT_EQ(newer_hsa_amd_vmem_address_reserve(&other, 2 * kPage, wish, 0), HSA_STATUS_SUCCESS);
  EXPECT_NE(other, again);
  for (void* one : {again, other})
    EXPECT_EQ(newer_hsa_amd_vmem_address_free(one, 2 * kPage), HSA_STATUS_SUCCESS);
}

TEST_F(VirtualMemoryTest, BadRequestsAreRefused) {
  void* address = nullptr;
  uint64_t made = 0;
  EXPECT_NE(newer_hsa_amd_vmem_address_reserve(nullptr, kPage, 0, 0), HSA_STATUS_SUCCESS);
  for (const size_t bytes : {size_t{0}, size_t{100}, ~size_t{0}, ~size_t{0} - kPage + 1})
    EXPECT_NE(newer_hsa_amd_vmem_address_reserve(&address, bytes, 0, 0), HSA_STATUS_SUCCESS)
        << bytes;
  EXPECT_NE(newer_hsa_amd_vmem_address_reserve_align(&address, kPage, 0, 3, 0), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_handle_create(device_pool(), 100, 1, 0, &made), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_handle_create(device_pool(), size_t{1} << 45, 1, 0, &made),
            HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_handle_create({77}, kPage, 1, 0, &made), HSA_STATUS_SUCCESS);

  char* const range = reserve(2 * kPage);
  const uint64_t one = memory(2 * kPage);
  EXPECT_NE(newer_hsa_amd_vmem_map(range, 3 * kPage, 0, one, 0), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_map(range, 2 * kPage, kPage, one, 0), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_map(range + kPage, 2 * kPage, 0, one, 0), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_map(range + 1, kPage, 0, one, 0), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_map(range, kPage, 0, one + 1000, 0), HSA_STATUS_SUCCESS);
  ASSERT_EQ(newer_hsa_amd_vmem_map(range, kPage, 0, one, 0), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_map(range, kPage, 0, one, 0), HSA_STATUS_SUCCESS)
      << "mapped already";
  EXPECT_NE(allow(range, 2 * kPage), HSA_STATUS_SUCCESS) << "half of it is not mapped";
  EXPECT_NE(allow(range, kPage, 4), HSA_STATUS_SUCCESS);
  uint32_t access = 9;
  EXPECT_NE(newer_hsa_amd_vmem_get_access(range + kPage, &access, gpu_), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_get_access(range, &access, gpu_), HSA_STATUS_SUCCESS);
  EXPECT_EQ(access, 0u);
  ASSERT_EQ(allow(range, kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_get_access(range + 9, &access, gpu_), HSA_STATUS_SUCCESS);
  EXPECT_EQ(access, kReadWrite);
  ASSERT_EQ(allow(range, kPage, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(type_of(range), HSA_EXT_POINTER_TYPE_UNKNOWN);
  EXPECT_EQ(newer_hsa_amd_vmem_unmap(range, kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_handle_release(one), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_address_free(range, kPage), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_address_free(range, 2 * kPage), HSA_STATUS_SUCCESS);
  EXPECT_NE(newer_hsa_amd_vmem_address_free(range, 2 * kPage), HSA_STATUS_SUCCESS);
}

TEST_F(VirtualMemoryTest, HandlesAreSharedAndHeld) {
  char* const range = reserve(kPage);
  const uint64_t one = memory(kPage);
  int descriptor = -1;
  ASSERT_EQ(newer_hsa_amd_vmem_export_shareable_handle(&descriptor, one, 0), HSA_STATUS_SUCCESS);
  uint64_t same = 0;
  ASSERT_EQ(newer_hsa_amd_vmem_import_shareable_handle(descriptor, &same), HSA_STATUS_SUCCESS);
  EXPECT_EQ(same, one);
  ASSERT_EQ(newer_hsa_amd_vmem_map(range, kPage, 0, one, 0), HSA_STATUS_SUCCESS);
  range[3] = 4;
  uint64_t third = 0;
  ASSERT_EQ(newer_hsa_amd_vmem_retain_alloc_handle(&third, range + 100), HSA_STATUS_SUCCESS);
  EXPECT_EQ(third, one);
  hsa_amd_memory_pool_t pool{};
  uint32_t type = 0;
  ASSERT_EQ(newer_hsa_amd_vmem_get_alloc_properties_from_handle(one, &pool, &type),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(pool.handle, device_pool().handle);
  EXPECT_EQ(type, 1u);
  ASSERT_EQ(newer_hsa_amd_vmem_unmap(range, kPage), HSA_STATUS_SUCCESS);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(newer_hsa_amd_vmem_handle_release(one), HSA_STATUS_SUCCESS) << i;
  EXPECT_NE(newer_hsa_amd_vmem_map(range, kPage, 0, one, 0), HSA_STATUS_SUCCESS);
  // As another process does that was sent the descriptor.
  uint64_t theirs = 0;
  ASSERT_EQ(newer_hsa_amd_vmem_import_shareable_handle(descriptor, &theirs), HSA_STATUS_SUCCESS);
  ASSERT_EQ(newer_hsa_amd_vmem_map(range, kPage, 0, theirs, 0), HSA_STATUS_SUCCESS);
  EXPECT_EQ(range[3], 4);
  EXPECT_EQ(newer_hsa_amd_vmem_handle_release(theirs), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_unmap(range, kPage), HSA_STATUS_SUCCESS);
  ::close(descriptor);
  EXPECT_NE(newer_hsa_amd_vmem_import_shareable_handle(descriptor, &theirs), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_address_free(range, kPage), HSA_STATUS_SUCCESS);
}

// The last test that locks memory in this process: what it asks cannot be unasked.
TEST_F(VirtualMemoryTest, RuntimesThatAskForItLockMemoryAtItsOwnAddress) {
  constexpr auto kVirtualMemorySupported = static_cast<hsa_system_info_t>(0x205);
  alignas(4096) static char bytes[kPage];
  void* device = nullptr;
  ASSERT_EQ(hsa_amd_memory_lock(bytes, kPage, &gpu_, 1, &device), HSA_STATUS_SUCCESS);
  EXPECT_NE(device, bytes) << "HIP 5.2 takes it for a mistake";
  ASSERT_EQ(hsa_amd_memory_unlock(bytes), HSA_STATUS_SUCCESS);
  bool supported = true;
  ASSERT_EQ(hsa_system_get_info(kVirtualMemorySupported, &supported), HSA_STATUS_SUCCESS);
  EXPECT_FALSE(supported);
  ASSERT_EQ(hsa_amd_memory_lock(bytes, kPage, &gpu_, 1, &device), HSA_STATUS_SUCCESS);
  EXPECT_EQ(device, bytes);
  hsa_amd_pointer_info_t info{};
  info.size = sizeof(info);
  ASSERT_EQ(hsa_amd_pointer_info(bytes + 5, &info, nullptr, nullptr, nullptr), HSA_STATUS_SUCCESS);
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
  EXPECT_EQ(info.agentBaseAddress, bytes);
  ASSERT_EQ(hsa_amd_memory_unlock(bytes), HSA_STATUS_SUCCESS);
}

// Against a model: which page of which memory is at each page of the range.
TEST_F(VirtualMemoryTest, RandomMappingsAgreeWithAModel) {
  constexpr size_t kPages = 24;
  constexpr size_t kMemories = 4;
  constexpr size_t kMemoryPages = 6;
  struct Place {
    size_t memory, page;
  };
  char* const range = reserve(kPages * kPage);
  std::array<uint64_t, kMemories> memories{};
  for (uint64_t& one : memories) one = memory(kMemoryPages * kPage);
  std::array<std::array<char, kMemoryPages>, kMemories> bytes{};
  std::array<std::optional<Place>, kPages> model{};
  std::array<size_t, kPages> begun{};  // pages of the mapping that begins here; 0: none does
  std::mt19937 random(7);
  const auto dice = [&](size_t sides) { return random() % sides; };
  size_t mapped = 0;
  for (int step = 0; step < 4000; ++step) {
    const size_t at = dice(kPages);
    if (dice(2) == 0) {
      const size_t count = 1 + dice(3);
      const size_t from = dice(kMemoryPages);
      const size_t which = dice(kMemories);
      bool good = at + count <= kPages && from + count <= kMemoryPages;
      for (size_t i = at; good && i < at + count; ++i) good = !model[i];
      const hsa_status_t done = newer_hsa_amd_vmem_map(range + at * kPage, count * kPage,
                                                       from * kPage, memories[which], 0);
      ASSERT_EQ(done == HSA_STATUS_SUCCESS, good) << step;
      if (!good) continue;
      ++mapped;
      ASSERT_EQ(allow(range + at * kPage, count * kPage), HSA_STATUS_SUCCESS);
      for (size_t i = 0; i < count; ++i) model[at + i] = Place{which, from + i};
      begun[at] = count;
    } else if (dice(3) == 0) {
      const size_t count = begun[at];
      const hsa_status_t done =
          newer_hsa_amd_vmem_unmap(range + at * kPage, std::max<size_t>(count, 1) * kPage);
      ASSERT_EQ(done == HSA_STATUS_SUCCESS, count != 0) << step;
      for (size_t i = at; i < at + count; ++i) model[i].reset();
      begun[at] = 0;
    } else if (model[at]) {
      const auto value = static_cast<char>(dice(256));
      bytes[model[at]->memory][model[at]->page] = value;
      range[at * kPage + 17] = value;
    }
    for (size_t i = 0; i < kPages; ++i) {
      ASSERT_EQ(type_of(range + i * kPage) == HSA_EXT_POINTER_TYPE_HSA, model[i].has_value());
      if (model[i]) {
        ASSERT_EQ(range[i * kPage + 17], bytes[model[i]->memory][model[i]->page]);
      }
    }
  }
  EXPECT_GT(mapped, 200u);
  for (size_t at = 0; at < kPages; ++at) {
    if (begun[at] == 0) continue;
    EXPECT_EQ(newer_hsa_amd_vmem_unmap(range + at * kPage, begun[at] * kPage), HSA_STATUS_SUCCESS);
  }
  for (const uint64_t one : memories)
    EXPECT_EQ(newer_hsa_amd_vmem_handle_release(one), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_vmem_address_free(range, kPages * kPage), HSA_STATUS_SUCCESS);
}

}  // namespace
}  // namespace gfxgraph::hsa_test

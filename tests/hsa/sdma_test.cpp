// Queues of the copy engine: their packets are carried out in order, up to the doorbell.
#include <hsa/amd_hsa_signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/hsa/agent_fixture.h"
#include "tests/hsa/newer_calls.h"

namespace gfxgraph::hsa_test {
namespace {

enum Info : uint32_t { kAgent = 0, kDoorbell = 1, kEngineType = 13, kEngine = 14, kRead, kWrite };

uint32_t low(const volatile void* p) {
  return static_cast<uint32_t>(reinterpret_cast<uint64_t>(p));
}
uint32_t high(const volatile void* p) {
  return static_cast<uint32_t>(reinterpret_cast<uint64_t>(p) >> 32);
}
using Words = std::vector<uint32_t>;
Words copy_packet(void* to, const void* from, uint32_t bytes) {
  return {1, bytes - 1, 0, low(from), high(from), low(to), high(to)};
}
Words write_packet(void* to, const Words& data) {
  Words packet = {2, low(to), high(to), static_cast<uint32_t>(data.size() - 1)};
  packet.insert(packet.end(), data.begin(), data.end());
  return packet;
}
Words fill_packet(void* to, uint32_t value, uint32_t bytes) {
  return {11 | 2u << 30, low(to), high(to), value, bytes - 1};
}
Words fence_packet(volatile void* to, uint32_t value) { return {5, low(to), high(to), value}; }
Words poll_packet(volatile void* at, uint32_t value, uint32_t mask, uint32_t function = 3) {
  return {8 | function << 28 | 1u << 31, low(at), high(at), value, mask, 0};
}
Words add_packet(volatile void* to, uint64_t value) {
  return {10 | 47u << 25,
          low(to),
          high(to),
          static_cast<uint32_t>(value),
          static_cast<uint32_t>(value >> 32),
          0,
          0,
          0};
}
Words time_packet(volatile void* to) { return {13 | 2u << 8, low(to), high(to)}; }

class SdmaTest : public AgentTest {
 protected:
  hsa_queue_t* sdma_queue(uint32_t bytes = 4096, uint32_t engine = UINT32_MAX) {
    SdmaQueueDescriptor wished;
    wished.queue_size_bytes = bytes;
    wished.engine = engine;
    EXPECT_EQ(create(wished), HSA_STATUS_SUCCESS);
    return wished.queue;
  }
  hsa_status_t create(SdmaQueueDescriptor& wished) {
    return newer_hsa_amd_queue_create(gpu_, reinterpret_cast<QueueDescriptor*>(&wished), 1);
  }
  template <typename T>
  static T info(hsa_queue_t* q, uint32_t attribute) {
    T value{};
    EXPECT_EQ(newer_hsa_amd_queue_get_info(q, attribute, &value), HSA_STATUS_SUCCESS);
    return value;
  }
  // Writes packets behind those that are there; the doorbell is the caller's.
  static uint64_t put(hsa_queue_t* q, const std::vector<Words>& packets) {
    uint64_t at = hsa_queue_load_write_index_relaxed(q);
    for (const Words& packet : packets) {
      for (const uint32_t word : packet) {
        while (at - hsa_queue_load_read_index_scacquire(q) >= q->size) std::this_thread::yield();
        std::memcpy(static_cast<std::byte*>(q->base_address) + at % q->size, &word, 4);
        at += 4;
      }
    }
    hsa_queue_store_write_index_screlease(q, at);
    return at;
  }
  static void run(hsa_queue_t* q, const std::vector<Words>& packets) {
    const uint64_t end = put(q, packets);
    hsa_signal_store_screlease(q->doorbell_signal, static_cast<hsa_signal_value_t>(end));
    EXPECT_TRUE(reaches(q, end));
  }
  static bool reaches(hsa_queue_t* q, uint64_t index) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (hsa_queue_load_read_index_scacquire(q) != index) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

TEST_F(SdmaTest, WhatAQueueIs) {
  hsa_queue_t* const q = sdma_queue(4096, 1);
  EXPECT_EQ(q->type, uint32_t{HSA_QUEUE_TYPE_SINGLE});
  EXPECT_EQ(q->features, 0u);
  EXPECT_EQ(q->size, 4096u);
  EXPECT_EQ(info<hsa_agent_t>(q, kAgent).handle, gpu_.handle);
  EXPECT_EQ(info<uint32_t>(q, kEngineType), 1u);
  EXPECT_EQ(info<uint32_t>(q, kEngine), 1u);
  auto* const written = reinterpret_cast<volatile uint64_t*>(info<uint64_t>(q, kWrite));
  hsa_queue_store_write_index_relaxed(q, 64);
  EXPECT_EQ(*written, 64u);
  EXPECT_EQ(hsa_queue_add_write_index_relaxed(q, 32), 64u);
  EXPECT_EQ(hsa_queue_cas_write_index_relaxed(q, 96, 128), 96u);
  EXPECT_EQ(*written, 128u);
  EXPECT_EQ(*reinterpret_cast<volatile uint64_t*>(info<uint64_t>(q, kRead)), 0u);
  EXPECT_EQ(hsa_amd_queue_set_priority(q, HSA_AMD_QUEUE_PRIORITY_HIGH),
            HSA_STATUS_ERROR_INVALID_QUEUE);
  EXPECT_EQ(hsa_queue_destroy(q), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_queue_destroy(q), HSA_STATUS_ERROR_INVALID_QUEUE);

  // Two that may be any take turns.
  hsa_queue_t* const first = sdma_queue();
  hsa_queue_t* const second = sdma_queue();
  EXPECT_NE(info<uint32_t>(first, kEngine), info<uint32_t>(second, kEngine));
  hsa_queue_destroy(first);
  hsa_queue_destroy(second);

  hsa_queue_t* const compute = queue();
  EXPECT_EQ(info<uint32_t>(compute, kEngineType), 0u);
  uint64_t value = 7;
  for (const uint32_t attribute : {kEngine, kRead, kWrite})
    EXPECT_EQ(newer_hsa_amd_queue_get_info(compute, attribute, &value),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_queue_destroy(compute);
}

TEST_F(SdmaTest, RefusesBadDescriptors) {
  const auto refused = [&](hsa_status_t status, const auto& change) {
    SdmaQueueDescriptor wished;
    change(wished);
    EXPECT_EQ(create(wished), status);
    EXPECT_EQ(wished.queue, nullptr);
  };
  const hsa_status_t bad = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const hsa_status_t impossible = HSA_STATUS_ERROR_INVALID_QUEUE_CREATION;
  refused(bad, [](SdmaQueueDescriptor& d) { d.engine = 2; });
  refused(bad, [](SdmaQueueDescriptor& d) { d.reserved_sdma[0] = 1; });
  refused(bad, [](SdmaQueueDescriptor& d) { d.reserved_sdma[6] = 1; });
  refused(bad, [](SdmaQueueDescriptor& d) { d.queue_size_bytes = 3; });
  refused(impossible, [](SdmaQueueDescriptor& d) { d.queue_size_bytes = 512; });
  refused(impossible, [](SdmaQueueDescriptor& d) { d.queue_size_bytes = 1u << 29; });
  refused(impossible, [](SdmaQueueDescriptor& d) { d.flags = 2; });
}

TEST_F(SdmaTest, PacketsOfEveryKind) {
  hsa_queue_t* const q = sdma_queue();
  constexpr size_t kWords = 4096;
  uint32_t* const from = allocate<uint32_t>(device_pool(), kWords);
  uint32_t* const to = allocate<uint32_t>(device_pool(), kWords);
  uint64_t* const longs = allocate<uint64_t>(kernarg_pool(), 4);
  std::iota(from, from + kWords, 3u);
  longs[0] = UINT32_MAX;
  run(q, {copy_packet(to, from, kWords * 4 - 4),  // all but the last word
          write_packet(to + 1, {100, 101, 102}),
          fill_packet(to + 10, 7, 5 * 4),
          {0 | 3u << 16, 9, 9, 9},  // no-operation of four words
          {6, 5},                   // trap
          {17, 0, 0, 0, 0},         // cache request
          add_packet(longs, uint64_t{1} << 32 | 2),
          time_packet(longs + 1),
          fence_packet(longs + 2, 0xabcd)});
  for (uint32_t i = 0; i < kWords; ++i) {
    uint32_t expected = i == kWords - 1 ? 0 : i + 3;
    if (i >= 1 && i < 4) expected = 99 + i;
    if (i >= 10 && i < 15) expected = 7;
    ASSERT_EQ(to[i], expected) << i;
  }
  EXPECT_EQ(longs[0], (uint64_t{1} << 32 | 2) + UINT32_MAX);
  EXPECT_GT(longs[1], 0u);
  EXPECT_EQ(longs[2], 0xabcdu);
  hsa_queue_destroy(q);
  for (void* const memory :
       {static_cast<void*>(from), static_cast<void*>(to), static_cast<void*>(longs)})
    hsa_amd_memory_pool_free(memory);
}

// Nothing runs before the doorbell, nothing of a packet before all of it is published, nothing past
// a poll that does not hold.
TEST_F(SdmaTest, WhatWaits) {
  hsa_queue_t* const q = sdma_queue();
  auto* const words = allocate<uint32_t>(kernarg_pool(), 8);
  auto* const shared = reinterpret_cast<std::atomic<uint32_t>*>(words);
  const uint64_t end = put(q, {fence_packet(words, 1)});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(shared[0].load(), 0u);
  hsa_signal_store_screlease(q->doorbell_signal, static_cast<hsa_signal_value_t>(end - 4));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(shared[0].load(), 0u);
  EXPECT_EQ(hsa_queue_load_read_index_scacquire(q), 0u);
  // By the doorbell's word, without a call.
  auto* const bell = reinterpret_cast<std::atomic<uint64_t>*>(info<uint64_t>(q, kDoorbell));
  bell->store(end);
  EXPECT_TRUE(reaches(q, end));
  EXPECT_EQ(shared[0].load(), 1u);

  const uint64_t after = put(q, {poll_packet(words + 1, 0x50, 0xf0), fence_packet(words, 2)});
  hsa_signal_store_screlease(q->doorbell_signal, static_cast<hsa_signal_value_t>(after));
  shared[1].store(0x40);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(shared[0].load(), 1u);
  shared[1].store(0x5f);
  EXPECT_TRUE(reaches(q, after));
  EXPECT_EQ(shared[0].load(), 2u);
  hsa_queue_destroy(q);
  hsa_amd_memory_pool_free(words);
}

// Packets reach signals, whose waiters wake; and the ring is used again and again, also by packets
// that lie over its end.
TEST_F(SdmaTest, SignalsAndTheRing) {
  hsa_queue_t* const q = sdma_queue(1024);
  const hsa_signal_t done = signal(500);
  auto* const value = &reinterpret_cast<amd_signal_t*>(done.handle)->value;
  auto* const words = allocate<uint32_t>(kernarg_pool(), 1);
  for (uint32_t i = 1; i <= 500; ++i)
    run(q, {write_packet(words, {i}), add_packet(value, UINT64_MAX)});  // 5 + 8 words
  EXPECT_EQ(words[0], 500u);
  EXPECT_TRUE(wait_until_zero(done));
  hsa_queue_destroy(q);
  hsa_signal_destroy(done);
  hsa_amd_memory_pool_free(words);
}

TEST_F(SdmaTest, NothingRunsOnAnInactiveQueue) {
  hsa_queue_t* const q = sdma_queue();
  auto* const words = allocate<uint32_t>(kernarg_pool(), 1);
  EXPECT_EQ(hsa_queue_inactivate(q), HSA_STATUS_SUCCESS);
  const uint64_t end = put(q, {fence_packet(words, 1)});
  hsa_signal_store_screlease(q->doorbell_signal, static_cast<hsa_signal_value_t>(end));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(words[0], 0u);
  hsa_queue_destroy(q);
  hsa_amd_memory_pool_free(words);
}

// What it cannot carry out is a fault of the device, by name, and no memory changes.
class SdmaDeathTest : public SdmaTest {
 protected:
  void faults(const Words& packet, const char* message) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
          hsa_shut_down();
          hsa_init();
          hsa_queue_t* const q = sdma_queue();
          const uint64_t end = put(q, {packet});
          hsa_signal_store_screlease(q->doorbell_signal, static_cast<hsa_signal_value_t>(end));
          const hsa_signal_t never = signal(1);
          hsa_signal_wait_scacquire(never, HSA_SIGNAL_CONDITION_LT, 1, 200'000'000,
                                    HSA_WAIT_STATE_BLOCKED);
          std::exit(hsa_queue_load_read_index_scacquire(q) == 0 ? 0 : 5);
        },
        testing::ExitedWithCode(1), message);
  }
};

TEST_F(SdmaDeathTest, UnknownOperation) { faults({99, 0, 0}, "SDMA queue .* does not know"); }
TEST_F(SdmaDeathTest, FormsOfKnownOperations) {
  faults({1 | 4u << 8, 0, 0, 0, 0, 0, 0}, "does not carry out");  // a copy of a box
}
TEST_F(SdmaDeathTest, AddressesOutside) {
  static uint32_t outside = 5;
  faults(fence_packet(&outside, 9), "an address outside of the device's memory");
}

}  // namespace
}  // namespace gfxgraph::hsa_test

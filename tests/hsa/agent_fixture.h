// What the tests of the software agent share: it linked directly, as HIP would call it.
#pragma once

#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace gfxgraph::hsa_test {

// An enumerator that the header lacks: HIP passes numbers of newer headers.
template <typename Enum>
Enum number(uint32_t value) {
  static_assert(sizeof(Enum) == sizeof(value));
  Enum result{};
  std::memcpy(&result, &value, sizeof(value));
  return result;
}

class AgentTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    std::vector<hsa_agent_t> agents;
    ASSERT_EQ(hsa_iterate_agents(
                  [](hsa_agent_t agent, void* list) {
                    static_cast<std::vector<hsa_agent_t>*>(list)->push_back(agent);
                    return HSA_STATUS_SUCCESS;
                  },
                  &agents),
              HSA_STATUS_SUCCESS);
    const char* const devices = std::getenv("GFXGRAPH_DEVICES");
    ASSERT_EQ(agents.size(), devices == nullptr ? 2u : 1u + std::strtoul(devices, nullptr, 10));
    cpu_ = agents[0];
    gpu_ = agents[1];
    gpus_.assign(agents.begin() + 1, agents.end());
  }
  void TearDown() override { EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS); }

  static std::vector<hsa_amd_memory_pool_t> pools(hsa_agent_t agent) {
    std::vector<hsa_amd_memory_pool_t> list;
    EXPECT_EQ(hsa_amd_agent_iterate_memory_pools(
                  agent,
                  [](hsa_amd_memory_pool_t pool, void* data) {
                    static_cast<std::vector<hsa_amd_memory_pool_t>*>(data)->push_back(pool);
                    return HSA_STATUS_SUCCESS;
                  },
                  &list),
              HSA_STATUS_SUCCESS);
    return list;
  }
  hsa_amd_memory_pool_t device_pool() { return pools(gpu_)[0]; }
  hsa_amd_memory_pool_t kernarg_pool() { return pools(cpu_)[1]; }

  template <typename T>
  T* allocate(hsa_amd_memory_pool_t pool, size_t count) {
    void* memory = nullptr;
    EXPECT_EQ(hsa_amd_memory_pool_allocate(pool, count * sizeof(T), 0, &memory),
              HSA_STATUS_SUCCESS);
    return static_cast<T*>(memory);
  }

  static hsa_signal_t signal(hsa_signal_value_t value) {
    hsa_signal_t made{};
    EXPECT_EQ(hsa_signal_create(value, 0, nullptr, &made), HSA_STATUS_SUCCESS);
    return made;
  }
  // False after ten seconds.
  static bool wait_until_zero(hsa_signal_t s) {
    return hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1, 10'000'000'000u,
                                     HSA_WAIT_STATE_BLOCKED) < 1;
  }

  hsa_queue_t* queue(uint32_t slots = 64, hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI) {
    hsa_queue_t* made = nullptr;
    EXPECT_EQ(hsa_queue_create(gpu_, slots, type, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &made),
              HSA_STATUS_SUCCESS);
    return made;
  }

  // Writes a packet the way HIP does: body, header last, one doorbell store.
  template <typename Packet>
  static void submit(hsa_queue_t* queue, Packet packet) {
    static_assert(sizeof(Packet) == 64);
    const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
      std::this_thread::yield();
    }
    auto* const slot = static_cast<std::byte*>(queue->base_address) + index % queue->size * 64;
    std::memcpy(slot + 4, reinterpret_cast<const std::byte*>(&packet) + 4, 60);
    uint32_t first = 0;
    std::memcpy(&first, &packet, 4);
    reinterpret_cast<std::atomic<uint32_t>*>(slot)->store(first, std::memory_order_release);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }

  static hsa_barrier_and_packet_t barrier(hsa_packet_type_t type,
                                          std::vector<hsa_signal_t> dependencies,
                                          hsa_signal_t completion) {
    hsa_barrier_and_packet_t packet{};
    packet.header =
        static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER);
    for (size_t i = 0; i < dependencies.size() && i < 5; ++i)
      packet.dep_signal[i] = dependencies[i];
    packet.completion_signal = completion;
    return packet;
  }

  hsa_agent_t cpu_{};
  hsa_agent_t gpu_{};  // the first one
  std::vector<hsa_agent_t> gpus_;
};

}  // namespace gfxgraph::hsa_test

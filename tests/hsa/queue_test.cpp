// Queues without kernels: barriers, dependencies, ring wrap. Also run under the thread sanitizer.
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>

#include <chrono>
#include <thread>

#include "tests/hsa/agent_fixture.h"

namespace gfxgraph::hsa_test {
namespace {

using QueueTest = AgentTest;
using namespace std::chrono_literals;

TEST_F(QueueTest, RefusesBadSizesAndAgents) {
  hsa_queue_t* made = nullptr;
  const auto create = [&](hsa_agent_t agent, uint32_t slots, hsa_queue_type32_t type) {
    return hsa_queue_create(agent, slots, type, nullptr, nullptr, 0, 0, &made);
  };
  EXPECT_EQ(create(gpu_, 100, HSA_QUEUE_TYPE_MULTI), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(create(gpu_, 32, HSA_QUEUE_TYPE_MULTI), HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  EXPECT_EQ(create(gpu_, 1u << 20, HSA_QUEUE_TYPE_MULTI), HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  EXPECT_EQ(create(gpu_, 64, 9), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(create(cpu_, 64, HSA_QUEUE_TYPE_MULTI), HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  EXPECT_EQ(create(hsa_agent_t{9}, 64, HSA_QUEUE_TYPE_MULTI), HSA_STATUS_ERROR_INVALID_AGENT);
  hsa_queue_t not_a_queue{};
  EXPECT_EQ(hsa_queue_destroy(&not_a_queue), HSA_STATUS_ERROR_INVALID_QUEUE);
}

TEST_F(QueueTest, AmdQueueHasApertures) {
  hsa_queue_t* const q = queue(4096);
  const auto* const amd = reinterpret_cast<amd_queue_t*>(q);
  EXPECT_EQ(q->size, 4096u);
  EXPECT_NE(amd->group_segment_aperture_base_hi, 0u);
  EXPECT_NE(amd->private_segment_aperture_base_hi, 0u);
  EXPECT_NE(amd->group_segment_aperture_base_hi, amd->private_segment_aperture_base_hi);
  EXPECT_EQ(amd->read_dispatch_id_field_base_byte_offset, offsetof(amd_queue_t, read_dispatch_id));
  EXPECT_EQ(hsa_queue_destroy(q), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_queue_destroy(q), HSA_STATUS_ERROR_INVALID_QUEUE);
}

TEST_F(QueueTest, EmptyBarrierCompletesWithTimes) {
  hsa_queue_t* const q = queue();
  const hsa_signal_t done = signal(1);
  submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, done));
  ASSERT_TRUE(wait_until_zero(done));
  hsa_amd_profiling_dispatch_time_t time{};
  ASSERT_EQ(hsa_amd_profiling_get_dispatch_time(gpu_, done, &time), HSA_STATUS_SUCCESS);
  uint64_t now = 0;
  ASSERT_EQ(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now), HSA_STATUS_SUCCESS);
  EXPECT_GT(time.start, 0u);
  EXPECT_LE(time.start, time.end);
  EXPECT_LE(time.end, now);
  EXPECT_EQ(hsa_queue_load_read_index_scacquire(q), 1u);
  hsa_queue_destroy(q);
  hsa_signal_destroy(done);
}

// A packet's signals are looked up too: memory of the program is neither waited for nor written.
TEST_F(QueueTest, PacketsWithoutRealSignalsWriteNothing) {
  hsa_queue_t* const q = queue();
  alignas(64) amd_signal_t plain[2] = {};
  for (amd_signal_t& one : plain) {
    one.kind = AMD_SIGNAL_KIND_USER;
    one.value = 1000;
  }
  const hsa_signal_t fake{reinterpret_cast<uint64_t>(&plain[0])};
  const hsa_signal_t open{reinterpret_cast<uint64_t>(&plain[1])};
  submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {open}, fake));
  submit(q, barrier(HSA_PACKET_TYPE_BARRIER_OR, {open}, fake));
  hsa_amd_barrier_value_packet_t value{};
  value.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
  value.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  value.signal = open;
  value.mask = -1;
  value.cond = HSA_SIGNAL_CONDITION_EQ;
  value.completion_signal = fake;
  submit(q, value);
  const hsa_signal_t done = signal(1);
  submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, done));
  ASSERT_TRUE(wait_until_zero(done));
  for (const amd_signal_t& one : plain) {
    EXPECT_EQ(one.value, 1000);
    EXPECT_EQ(one.start_ts, 0u);
    EXPECT_EQ(one.reserved3[0], 0u);
  }
  hsa_queue_destroy(q);
  hsa_signal_destroy(done);
}

TEST_F(QueueTest, CopiesAndFillsDoNotReachTheQueue) {
  hsa_queue_t* const q = queue();
  auto* const memory = allocate<uint32_t>(device_pool(), 16);
  const hsa_signal_t done = signal(1);
  EXPECT_EQ(hsa_amd_memory_fill(q->base_address, 0, 16), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_memory_copy(q, memory, 64), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_async_copy(q, gpu_, memory, gpu_, 64, 0, nullptr, done),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_memory_fill(reinterpret_cast<void*>(done.handle), 0, 16),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_queue_destroy(q);
  hsa_signal_destroy(done);
}

TEST_F(QueueTest, TheRingWrapsManyTimes) {
  hsa_queue_t* const q = queue(64);
  constexpr int kPackets = 20000;
  const hsa_signal_t done = signal(kPackets);
  for (int i = 0; i < kPackets; ++i) submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, done));
  ASSERT_TRUE(wait_until_zero(done));
  EXPECT_EQ(hsa_signal_load_relaxed(done), 0);
  EXPECT_EQ(hsa_queue_load_read_index_scacquire(q), static_cast<uint64_t>(kPackets));
  hsa_queue_destroy(q);
  hsa_signal_destroy(done);
}

TEST_F(QueueTest, BarrierAndWaitsForAllBarrierOrForOne) {
  hsa_queue_t* const q_and = queue();
  hsa_queue_t* const q_or = queue();
  const std::vector<hsa_signal_t> host = {signal(1), signal(1), signal(1)};
  const hsa_signal_t all = signal(1);
  const hsa_signal_t any = signal(1);
  submit(q_and, barrier(HSA_PACKET_TYPE_BARRIER_AND, host, all));
  submit(q_or, barrier(HSA_PACKET_TYPE_BARRIER_OR, host, any));
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(hsa_signal_load_relaxed(any), 1);
  hsa_signal_store_relaxed(host[1], 0);
  EXPECT_TRUE(wait_until_zero(any));
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(hsa_signal_load_relaxed(all), 1);
  hsa_signal_store_relaxed(host[0], 0);
  hsa_signal_store_relaxed(host[2], 0);
  EXPECT_TRUE(wait_until_zero(all));
  hsa_queue_destroy(q_and);
  hsa_queue_destroy(q_or);
}

TEST_F(QueueTest, PacketsOfOneQueueEndInOrder) {
  hsa_queue_t* const q = queue();
  const hsa_signal_t gate = signal(1);
  const hsa_signal_t first = signal(1);
  const hsa_signal_t second = signal(1);
  submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {gate}, first));
  submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, second));
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(hsa_signal_load_relaxed(second), 1);
  hsa_signal_store_relaxed(gate, 0);
  EXPECT_TRUE(wait_until_zero(second));
  EXPECT_EQ(hsa_signal_load_relaxed(first), 0);
  hsa_queue_destroy(q);
}

TEST_F(QueueTest, AChainAcrossQueuesCopiesAndTheHost) {
  hsa_queue_t* const a = queue();
  hsa_queue_t* const b = queue();
  auto* const from = allocate<uint32_t>(device_pool(), 1 << 18);
  auto* const to = allocate<uint32_t>(device_pool(), 1 << 18);
  ASSERT_EQ(hsa_amd_memory_fill(from, 0xc0ffee, 1 << 18), HSA_STATUS_SUCCESS);
  const hsa_signal_t host = signal(1);
  const hsa_signal_t after_a = signal(1);
  const hsa_signal_t copied = signal(1);
  const hsa_signal_t after_b = signal(1);
  // Submitted last to first: nothing may depend on the order of submission.
  submit(b, barrier(HSA_PACKET_TYPE_BARRIER_AND, {copied}, after_b));
  ASSERT_EQ(hsa_amd_memory_async_copy(to, gpu_, from, gpu_, 4 << 18, 1, &after_a, copied),
            HSA_STATUS_SUCCESS);
  submit(a, barrier(HSA_PACKET_TYPE_BARRIER_AND, {host}, after_a));
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(hsa_signal_load_relaxed(after_b), 1);
  EXPECT_EQ(to[77], 0u);
  hsa_signal_store_relaxed(host, 0);
  EXPECT_TRUE(wait_until_zero(after_b));
  EXPECT_EQ(to[77], 0xc0ffeeu);
  hsa_queue_destroy(a);
  hsa_queue_destroy(b);
  hsa_amd_memory_pool_free(from);
  hsa_amd_memory_pool_free(to);
}

TEST_F(QueueTest, BarrierValueWaitsForAMaskedValue) {
  hsa_queue_t* const q = queue();
  const hsa_signal_t value = signal(0x100);
  const hsa_signal_t done = signal(1);
  hsa_amd_barrier_value_packet_t packet{};
  packet.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
  packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  packet.signal = value;
  packet.value = 7;
  packet.mask = 0xff;
  packet.cond = HSA_SIGNAL_CONDITION_EQ;
  packet.completion_signal = done;
  submit(q, packet);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(hsa_signal_load_relaxed(done), 1);
  hsa_signal_store_relaxed(value, 0x107);
  EXPECT_TRUE(wait_until_zero(done));
  hsa_queue_destroy(q);
}

TEST_F(QueueTest, ManyThreadsOneQueue) {
  hsa_queue_t* const q = queue(128);
  constexpr int kThreads = 4;
  constexpr int kPackets = 2000;
  const hsa_signal_t done = signal(kThreads * kPackets);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kPackets; ++i) submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, done));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(wait_until_zero(done));
  hsa_queue_destroy(q);
}

// Threads that take turns by the index: a torn or lost exchange would stop them.
TEST_F(QueueTest, TheWriteIndexByTurns) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kTurns = 400;
  hsa_queue_t* const q = queue();
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([q, number] {
      for (uint64_t turn = number; turn < kTurns; turn += kThreads) {
        while (hsa_queue_cas_write_index_scacq_screl(q, turn, turn + 1) != turn)
          std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hsa_queue_load_write_index_scacquire(q), kTurns);
  EXPECT_EQ(hsa_queue_cas_write_index_relaxed(q, 5, 6), kTurns);
  EXPECT_EQ(hsa_queue_load_write_index_scacquire(q), kTurns);
  hsa_queue_destroy(q);
}

TEST_F(QueueTest, ManyQueuesDependOnEachOther) {
  constexpr size_t kQueues = 8;
  constexpr int kRounds = 200;
  std::vector<hsa_queue_t*> queues;
  for (size_t i = 0; i < kQueues; ++i) queues.push_back(queue());
  std::vector<hsa_signal_t> signals{signal(0)};
  for (int round = 0; round < kRounds; ++round) {
    for (hsa_queue_t* q : queues) {
      signals.push_back(signal(1));
      submit(q,
             barrier(HSA_PACKET_TYPE_BARRIER_AND, {signals[signals.size() - 2]}, signals.back()));
    }
  }
  EXPECT_TRUE(wait_until_zero(signals.back()));
  for (const hsa_signal_t s : signals) EXPECT_EQ(hsa_signal_load_relaxed(s), 0);
  for (hsa_queue_t* q : queues) hsa_queue_destroy(q);
  for (const hsa_signal_t s : signals) hsa_signal_destroy(s);
}

TEST_F(QueueTest, DestroyDoesNotWaitForADependencyThatNeverComes) {
  hsa_queue_t* const q = queue();
  submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {signal(1)}, signal(1)));
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(hsa_queue_destroy(q), HSA_STATUS_SUCCESS);
}

TEST_F(QueueTest, AnInactiveQueueProcessesNothing) {
  hsa_queue_t* const q = queue();
  ASSERT_EQ(hsa_queue_inactivate(q), HSA_STATUS_SUCCESS);
  const hsa_signal_t done = signal(1);
  submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, done));
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(hsa_signal_load_relaxed(done), 1);
  hsa_queue_destroy(q);
}

}  // namespace
}  // namespace gfxgraph::hsa_test

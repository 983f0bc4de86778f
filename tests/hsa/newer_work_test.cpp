// Calls of newer ROCr that give the device work: queues by descriptors, shared queues, lists of
// copies.
#include <hsa/amd_hsa_signal.h>

#include <array>
#include <numeric>

#include "tests/hsa/agent_fixture.h"
#include "tests/hsa/newer_calls.h"

namespace gfxgraph::hsa_test {
namespace {

constexpr auto kUseCount = 2u, kHardwareId = 3u;

class NewerWorkTest : public AgentTest {
 protected:
  void expect_works(hsa_queue_t* q) {
    const hsa_signal_t done = signal(1);
    submit(q, barrier(HSA_PACKET_TYPE_BARRIER_AND, {}, done));
    EXPECT_TRUE(wait_until_zero(done));
    hsa_signal_destroy(done);
  }
};

TEST_F(NewerWorkTest, QueuesByDescriptors) {
  std::array<QueueDescriptor, 2> wished;
  wished[0].queue_size_bytes = 1024 * 64;
  wished[1].queue_size_bytes = 64 * 64;
  wished[1].flags = 1;  // the ring in device memory
  ASSERT_EQ(newer_hsa_amd_queue_create(gpu_, wished.data(), 2), HSA_STATUS_SUCCESS);
  EXPECT_EQ(wished[0].queue->size, 1024u);
  EXPECT_EQ(wished[1].queue->size, 64u);
  for (const QueueDescriptor& made : wished) {
    expect_works(made.queue);
    uint32_t number = 7;
    EXPECT_EQ(newer_hsa_amd_queue_get_info(made.queue, kUseCount, &number), HSA_STATUS_SUCCESS);
    EXPECT_EQ(number, UINT32_MAX);
    EXPECT_EQ(newer_hsa_amd_queue_get_info(made.queue, kHardwareId, &number), HSA_STATUS_SUCCESS);
    EXPECT_EQ(number, made.queue->id);
    EXPECT_EQ(hsa_queue_destroy(made.queue), HSA_STATUS_SUCCESS);
  }
}

TEST_F(NewerWorkTest, TheFirstBadDescriptorIsTheError) {
  QueueDescriptor good;
  good.queue_size_bytes = 4096;
  const auto refused = [&](hsa_status_t status, const auto& change) {
    std::array<QueueDescriptor, 2> wished = {good, good};
    change(wished[0]);
    EXPECT_EQ(newer_hsa_amd_queue_create(gpu_, wished.data(), 2), status);
    EXPECT_EQ(wished[0].queue, nullptr);
    ASSERT_NE(wished[1].queue, nullptr);  // tried all the same
    EXPECT_EQ(hsa_queue_destroy(wished[1].queue), HSA_STATUS_SUCCESS);
  };
  const hsa_status_t bad = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  const hsa_status_t impossible = HSA_STATUS_ERROR_INVALID_QUEUE_CREATION;
  refused(bad, [](QueueDescriptor& d) { d.version = 2; });
  refused(bad, [](QueueDescriptor& d) { d.queue_size_bytes = 0; });
  refused(bad, [](QueueDescriptor& d) { d.queue_size_bytes = 4097; });
  refused(bad, [](QueueDescriptor& d) { d.priority = 3; });
  refused(bad, [](QueueDescriptor& d) { d.flags = 4; });
  refused(bad, [](QueueDescriptor& d) { d.traffic_class = 1; });
  refused(bad, [](QueueDescriptor& d) { d.reserved[19] = 1; });
  refused(bad, [](QueueDescriptor& d) { d.cu_mask_count = 32; });
  refused(bad, [](QueueDescriptor& d) { d.type = 9; });
  refused(impossible, [](QueueDescriptor& d) { d.queue_size_bytes = 64; });
  refused(impossible, [](QueueDescriptor& d) { d.flags = 2; });
  refused(impossible, [](QueueDescriptor& d) { d.engine_type = 2; });
  refused(bad, [](QueueDescriptor& d) { d.engine_type = 3; });
  EXPECT_EQ(newer_hsa_amd_queue_create(gpu_, nullptr, 1), bad);
  EXPECT_EQ(newer_hsa_amd_queue_create(gpu_, &good, 0), bad);
  EXPECT_EQ(newer_hsa_amd_queue_create(cpu_, &good, 1), HSA_STATUS_ERROR_INVALID_AGENT);
}

// $GPU_MAX_HW_QUEUES is 2.
TEST_F(NewerWorkTest, CountedQueuesAreShared) {
  const auto acquire = [&](uint32_t priority) {
    hsa_queue_t* made = nullptr;
    EXPECT_EQ(newer_hsa_amd_counted_queue_acquire(gpu_, HSA_QUEUE_TYPE_MULTI, priority, nullptr,
                                                  nullptr, 0, &made),
              HSA_STATUS_SUCCESS);
    return made;
  };
  const auto users = [](hsa_queue_t* q) {
    int32_t count = 0;
    EXPECT_EQ(newer_hsa_amd_queue_get_info(q, kUseCount, &count), HSA_STATUS_SUCCESS);
    return count;
  };
  hsa_queue_t* const first = acquire(1);
  hsa_queue_t* const second = acquire(1);
  EXPECT_NE(first, second);
  hsa_queue_t* const third = acquire(1);
  EXPECT_TRUE(third == first || third == second);
  EXPECT_EQ(users(first) + users(second), 3);
  hsa_queue_t* const other = acquire(2);
  EXPECT_TRUE(other != first && other != second);
  for (hsa_queue_t* const q : {first, second, other}) expect_works(q);
  EXPECT_EQ(hsa_queue_destroy(first), HSA_STATUS_ERROR_INVALID_QUEUE);

  for (hsa_queue_t* const q : {first, second, third, other})
    EXPECT_EQ(newer_hsa_amd_counted_queue_release(q), HSA_STATUS_SUCCESS);
  EXPECT_EQ(newer_hsa_amd_counted_queue_release(first), HSA_STATUS_ERROR);
  uint32_t count = 0;
  EXPECT_EQ(newer_hsa_amd_queue_get_info(first, kUseCount, &count),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_queue_t* const again = acquire(1);  // one that is there
  EXPECT_TRUE(again == first || again == second);
  EXPECT_EQ(users(again), 1);
  EXPECT_EQ(newer_hsa_amd_counted_queue_release(again), HSA_STATUS_SUCCESS);

  hsa_queue_t* made = nullptr;
  EXPECT_EQ(newer_hsa_amd_counted_queue_acquire(gpu_, HSA_QUEUE_TYPE_COOPERATIVE, 1, nullptr,
                                                nullptr, 0, &made),
            HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  EXPECT_EQ(newer_hsa_amd_counted_queue_acquire(gpu_, HSA_QUEUE_TYPE_MULTI, 3, nullptr, nullptr, 0,
                                                &made),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_queue_t* const plain = queue();
  EXPECT_EQ(newer_hsa_amd_counted_queue_release(plain), HSA_STATUS_ERROR);
  hsa_queue_destroy(plain);
}

TEST_F(NewerWorkTest, ListsOfCopies) {
  constexpr size_t kWords = 1000;
  constexpr size_t kBytes = kWords * sizeof(int);
  int* const from = allocate<int>(device_pool(), kWords);
  std::iota(from, from + kWords, 5);
  std::array<int*, 3> to{};
  for (int*& one : to) one = allocate<int>(device_pool(), kWords);
  const hsa_signal_t ready = signal(1);
  const hsa_signal_t single = signal(1);
  const hsa_signal_t all = signal(1);
  const std::array<hsa_agent_t, 2> agents = {gpu_, gpu_};
  std::array<CopyOperation, 2> list;
  list[0].completion = single;
  list[0].to = to[0];
  list[0].to_agent = reinterpret_cast<const void*>(gpu_.handle);
  list[1].type = 1;
  list[1].entries = 2;
  list[1].completion = all;
  list[1].to = &to[1];
  list[1].to_agent = agents.data();
  for (CopyOperation& one : list) {
    one.from = from;
    one.from_agent = gpu_;
    one.bytes = kBytes;
  }
  ASSERT_EQ(newer_hsa_amd_memory_async_batch_copy(list.data(), 2, 1, &ready), HSA_STATUS_SUCCESS);
  EXPECT_EQ(to[0][999], 0);  // they wait
  hsa_signal_store_screlease(ready, 0);
  EXPECT_TRUE(wait_until_zero(single));
  EXPECT_TRUE(wait_until_zero(all));
  for (const int* const one : to) EXPECT_EQ(std::memcmp(one, from, kBytes), 0);

  // Nothing is copied if one of them is wrong.
  std::memset(to[0], 0, kBytes);
  hsa_signal_store_screlease(single, 1);
  const auto refused = [&](const auto& change) {
    std::array<CopyOperation, 2> wrong = {list[0], list[1]};
    change(wrong[1]);
    EXPECT_EQ(newer_hsa_amd_memory_async_batch_copy(wrong.data(), 2, 0, nullptr),
              HSA_STATUS_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(to[0][999], 0);
  };
  refused([](CopyOperation& o) { o.version = 2; });
  refused([](CopyOperation& o) { o.type = 2; });
  refused([](CopyOperation& o) { o.type = 9; });
  refused([](CopyOperation& o) { o.entries = 0; });
  refused([](CopyOperation& o) { o.entries = 1025; });
  refused([](CopyOperation& o) { o.unused_bytes = 1; });
  EXPECT_EQ(newer_hsa_amd_memory_async_batch_copy(nullptr, 1, 0, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(newer_hsa_amd_memory_async_batch_copy(list.data(), 1, 1, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  for (const hsa_signal_t one : {ready, single, all}) hsa_signal_destroy(one);
  for (int* const one : to) hsa_amd_memory_pool_free(one);
  hsa_amd_memory_pool_free(from);
}

TEST_F(NewerWorkTest, EventsOfSignalsAndWhatThereIsNot) {
  const hsa_signal_t made = signal(1);
  uint32_t event = 7;
  EXPECT_EQ(newer_hsa_amd_signal_get_event_id(made, &event), HSA_STATUS_SUCCESS);
  EXPECT_EQ(event, reinterpret_cast<const amd_signal_t*>(made.handle)->event_id);
  EXPECT_EQ(newer_hsa_amd_signal_get_event_id(made, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(newer_hsa_amd_signal_get_event_id({}, &event), HSA_STATUS_ERROR_INVALID_SIGNAL);
  hsa_signal_destroy(made);
  EXPECT_EQ(newer_hsa_ven_amd_pcs_create(gpu_), HSA_STATUS_ERROR);
}

}  // namespace
}  // namespace gfxgraph::hsa_test

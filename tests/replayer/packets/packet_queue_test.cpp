// Queues of mode packets in several threads, on the software agent, with a HIP that does nothing
// but load the library's kernels. Also run under the thread sanitizer. No kernel is executed
// ($GFXGRAPH_NULL_DEVICE): what runs here is the host's side, and the agent's queues.
#include <gtest/gtest.h>
#include <hsa/hsa.h>

#include <atomic>
#include <thread>
#include <vector>

#include "packets/packet_hip.h"
#include "replayer/packets/packet_queue.h"

namespace gfxgraph::replayer::testing {
namespace {

using hsa_abi::Packet;

class PacketQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
    // As on streams that are done at once.
    HipTable table = packet_hip_table(
        fake_, [](void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void*, void**, void**) { return hip::kSuccess; });
    table.hipStreamQuery = [](void*) { return hip::kSuccess; };
    table.hipGetLastError = [] { return hip::kSuccess; };
    const auto hip = HipLibrary::from_table(table, "fake", &dlsym);
    ASSERT_TRUE(hip) << hip.error().message;
    const auto device = PacketDevice::open(*hip, HipDevice{0, "fake", "gfx1030"});
    ASSERT_TRUE(device) << device.error().message;
    device_ = *device;
  }
  void TearDown() override {
    device_.reset();
    EXPECT_EQ(hsa_shut_down(), HSA_STATUS_SUCCESS);
  }

  std::unique_ptr<PacketQueue> queue() {
    auto made = PacketQueue::open(device_, "gfx1030");
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : nullptr;
  }
  std::vector<Packet> packets(size_t count) {
    Packet packet;
    packet.header = hsa_abi::kPacketDispatch | hsa_abi::kBarrierBit | hsa_abi::kAcquireSystem |
                    hsa_abi::kReleaseSystem;
    packet.setup = 3;
    for (int i = 0; i < 3; ++i) {
      packet.block[i] = 1;
      packet.grid[i] = 1;
    }
    const auto kernel = device_->code().own("gfx1030", "gfxgraph_store");
    EXPECT_TRUE(kernel) << kernel.error().message;
    if (kernel) packet.kernel_object = kernel->object;
    return std::vector<Packet>(count, packet);
  }

  FakeHip fake_;
  std::shared_ptr<PacketDevice> device_;
};

// The ring wraps several times, and more runs than have fences of their own are in flight.
TEST_F(PacketQueueTest, ThreadsSubmitToQueuesOfTheirOwn) {
  constexpr size_t kThreads = 3;
  constexpr uint64_t kRuns = 400;
  std::vector<std::unique_ptr<PacketQueue>> queues;
  for (size_t i = 0; i < kThreads; ++i) queues.push_back(queue());
  const std::vector<Packet> run = packets(100);
  std::atomic<bool> ended{false};
  std::thread looks([&] {
    while (!ended.load()) {
      for (const auto& one : queues) (void)one->is_complete(kRuns);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (const auto& one : queues) {
    threads.emplace_back([&run, &one] {
      int stream = 0;
      for (uint64_t n = 1; n <= kRuns; ++n) {
        PacketQueue::Run next{run, &stream};
        next.fenced_before = next.fenced_behind = n % 3 != 0;
        const auto number = one->submit(next);
        ASSERT_TRUE(number) << number.error().message;
        EXPECT_EQ(*number, n);
        if (n % 50 != 0) continue;
        EXPECT_TRUE(one->wait(n, &stream));
      }
      EXPECT_TRUE(one->wait(kRuns, &stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  ended.store(true);
  looks.join();
  for (const auto& one : queues) EXPECT_TRUE(one->is_complete(kRuns));
}

TEST_F(PacketQueueTest, ARunMayBeLongerThanTheRing) {
  const auto one = queue();
  const std::vector<Packet> run = packets(40'000);
  for (uint64_t n = 1; n <= 3; ++n) {
    PacketQueue::Run next{run};
    next.fenced_before = next.fenced_behind = n == 2;
    const auto number = one->submit(next);
    ASSERT_TRUE(number) << number.error().message;
    EXPECT_EQ(*number, n);
  }
  EXPECT_TRUE(one->wait(3, nullptr));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing

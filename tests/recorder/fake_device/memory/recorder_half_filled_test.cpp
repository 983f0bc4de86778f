// Memory that a kernel of one thread is filling, while another thread's launch looks at it.
#include <atomic>
#include <thread>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

// One thread's kernel is filling memory, and the same thread copies it behind the kernel. Another
// thread's kernel, whose stream follows neither, was given the memory, too, and ends at once: the
// look behind it finds the memory half filled.
class RecorderHalfFilledTest : public RecorderHostMemoryTest {
 protected:
  static constexpr int kWhole = 9;

  void SetUp() override {
    RecorderHostMemoryTest::SetUp();
    state_.reads_behind = true;
    state_.synchronizes = false;  // whoever waits for the device waits in vain
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    device_memory(device_, sizeof(device_));
    launch(host_);
    std::memset(host_, kWhole, kBytes / 2);
    state_.stream = StreamState::kIdle;  // of the other thread
  }
  void copy_behind(Work& work, const char* call, Knows knows) {
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(device_);
    raw.source.address = reinterpret_cast<uint64_t>(host_);
    raw.width_bytes = kBytes;
    work.raw = raw;
    work.stream = handle(10);
    work.call = call;
    work.knows = knows;
    recorder_->work().prepare(work);
  }
  void kernel_ends() { std::memset(host_, kWhole, kBytes); }
  std::shared_ptr<const Trace> arrive_and_finish() {
    state_.arrive();
    state_.synchronizes = true;
    return finish();
  }
  // Whether a replay's copy finds what the kernel leaves, which is done by the first write.
  static bool copy_is_right(const Trace& trace) {
    std::vector<char> memory(kBytes, kWhole);
    for (const format::Event& event : trace.events()) {
      if (std::holds_alternative<format::Copy>(event.action)) break;
      const auto* const write = std::get_if<format::HostWrite>(&event.action);
      if (write == nullptr) continue;
      const auto bytes = *trace.content(write->content);
      for (size_t i = 0; i < bytes.size() && write->offset_bytes + i < kBytes; ++i)
        memory[write->offset_bytes + i] = static_cast<char>(bytes[i]);
    }
    return std::ranges::all_of(memory, [](char byte) { return byte == kWhole; });
  }

  static constexpr size_t kBytes = 256;
  alignas(256) char device_[kBytes] = {};
};

TEST_F(RecorderHalfFilledTest, WhatAnotherThreadFindsComesBehindTheCopy) {
  Work work;
  copy_behind(work, "hipMemcpyAsync", Knows::BY_ARGUMENT);
  ASSERT_FALSE(work.host_waits);
  std::atomic<bool> begun = false;
  std::thread other([&] {
    begun = true;
    launch(host_, handle(11));
  });
  while (!begun) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  kernel_ends();
  state_.arrive();
  recorder_->commit(work);
  other.join();
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  // The other thread waits for 100 ms at most: where that is too short, a finding says so.
  if (trace->complete()) {
    EXPECT_TRUE(copy_is_right(*trace));
  }
}

// Nobody waits for a call that waits for the kernel.
TEST_F(RecorderHalfFilledTest, ACopyThatWaitsFindsWhatTheKernelLeft) {
  Work work;
  copy_behind(work, "hipMemcpy", Knows::STREAM);
  ASSERT_TRUE(work.host_waits);
  std::thread([&] { launch(host_, handle(11)); }).join();
  kernel_ends();
  state_.arrive();
  recorder_->commit(work);
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_TRUE(copy_is_right(*trace));
}

// The call of one thread takes memory from the runtime, and another thread launches before that has
// returned to the recorder: to copy from there then would end the program.
TEST_F(RecorderHalfFilledTest, MemoryThatIsBeingUnregisteredIsNotReadThroughTheRuntime) {
  state_.stream = StreamState::kBusy;
  recorder_->buffers().host_unregistering(reinterpret_cast<uint64_t>(host_));
  launch(host_, handle(11));
  EXPECT_THAT(state_.under_way, SizeIs(0));
  recorder_->buffers().host_unregistered(reinterpret_cast<uint64_t>(host_), false);
  launch(host_, handle(11));
  EXPECT_THAT(state_.under_way, SizeIs(1)) << "the runtime refused";
  // Nor before the device has done what was begun.
  state_.during_wait = [&] { state_.arrive(); };
  recorder_->buffers().host_unregistering(reinterpret_cast<uint64_t>(host_));
  EXPECT_THAT(state_.under_way, SizeIs(0));
  kernel_ends();
  recorder_->buffers().host_unregistered(reinterpret_cast<uint64_t>(host_), true);
  const auto trace = arrive_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
}

}  // namespace
}  // namespace gfxgraph::recorder

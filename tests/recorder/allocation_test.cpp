// What the recorder allocates: nothing for a launch once its buffers have grown; and where an
// allocation fails, recording ends with an error while the program goes on.
#include <gtest/gtest.h>

#include "tests/recorder/fake_device/recorder_fixture.h"
#include "tests/support/allocations.h"

// LLVM is built without exceptions: what it holds when an allocation fails stays allocated.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:llvm::\n"; }

namespace gfxgraph::recorder {
namespace {

class AllocationTest : public RecorderTest {
 protected:
  void load_kernel() {
    image_ = read_text(MODULE_FILE);
    ASSERT_FALSE(image_.empty());
  }
  KernelEntry* find_kernel() {
    recorder_->code().module_loaded(this, image_.data());
    recorder_->code().function_found(handle(2), this, "module_increment");
    return recorder_->launches().find_kernel(handle(2), false, "hipModuleLaunchKernel", held_);
  }
  void launch(bool packed) {
    struct {
      void* data;
      int by;
    } arguments{buffer_, 3};
    size_t size = sizeof(arguments);
    void* params[] = {&arguments.data, &arguments.by};
    void* extra[] = {reinterpret_cast<void*>(1), &arguments, reinterpret_cast<void*>(2), &size,
                     reinterpret_cast<void*>(3)};
    launch_function({.function = handle(2)}, packed ? nullptr : params, true, {},
                    packed ? extra : nullptr);
  }
  LaunchWay way(KernelEntry* kernel, void* data) {
    int by = 3;
    void* params[] = {&data, &by};
    recorder_->streams().call_begins();
    return recorder_->launches().launch_way(*kernel, params, nullptr);
  }

  // Some of everything; what the program would see is not the recorder's to change.
  void whole_life() {
    KernelEntry* kernel = find_kernel();
    device_memory(buffer_, sizeof(buffer_));
    recorder_->streams().stream_created(handle(10), 0, 0);
    recorder_->streams().event_created(handle(20), 0);
    for (int i = 0; i < 3 && kernel != nullptr; ++i) launch(i == 1);
    recorder_->streams().event_recorded(handle(20), handle(10));
    copy(buffer_, host_, sizeof(host_));
    recorder_->graphs().graph_created(handle(30));
    RawMemset set;
    set.address = reinterpret_cast<uint64_t>(buffer_);
    set.width_elements = 16;
    recorder_->graphs().node_added(handle(30), handle(31), nullptr, 0, set,
                                   "hipGraphAddMemsetNode");
    recorder_->executables().instantiated(handle(40), handle(30));
    Work work;
    recorder_->work().prepare_graph_launch(handle(40), handle(10), work);
    recorder_->commit(work);
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    memset_work(buffer_, 8);
    recorder_->streams().synchronized(format::SynchronizeKind::kDevice, nullptr);
    recorder_->note("something", "worth knowing");
    recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(buffer_)),
                               true);
    recorder_->finish();
  }

  std::string image_;
  alignas(4096) char buffer_[4096] = {};
  alignas(4096) char host_[4096] = {1};
};

TEST_F(AllocationTest, ALaunchAllocatesNothing) {
  load_kernel();
  KernelEntry* kernel = find_kernel();
  ASSERT_NE(kernel, nullptr);
  device_memory(buffer_, sizeof(buffer_));
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kAfter);
  for (int i = 0; i < 100; ++i) launch(i % 2 == 0);
  testing::start_counting_allocations(testing::OfThreads::kThis);
  for (int i = 0; i < 1900; ++i) launch(i % 2 == 0);
  EXPECT_EQ(testing::stop_counting_allocations(), 0u);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto launches = actions<format::Launch>(*trace);
  ASSERT_EQ(launches.size(), 2000u);
  for (const format::Launch& launch : launches) {
    ASSERT_EQ(launch.kernarg, launches[0].kernarg);
    ASSERT_EQ(launch.relocations.size(), 1u);
  }
}

TEST_F(AllocationTest, ALaunchBesideMemoryOfTheHostAllocatesNothing) {
  load_kernel();
  KernelEntry* kernel = find_kernel();
  ASSERT_NE(kernel, nullptr);
  device_memory(buffer_, sizeof(buffer_));
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kWords);
  for (int i = 0; i < 100; ++i) launch(i % 2 == 0);
  testing::start_counting_allocations(testing::OfThreads::kThis);
  for (int i = 0; i < 1900; ++i) launch(i % 2 == 0);
  EXPECT_EQ(testing::stop_counting_allocations(), 0u);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_EQ(actions<format::Launch>(*trace).size(), 2000u);
}

TEST_F(AllocationTest, WhatALaunchMayReadIsLookedAtBeforeIt) {
  load_kernel();
  KernelEntry* kernel = find_kernel();
  ASSERT_NE(kernel, nullptr);
  device_memory(buffer_, sizeof(buffer_));
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kAfter);
  recorder_->graphs().capture_begins(handle(10));
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kWhole);
  recorder_->graphs().capture_ended(handle(10), nullptr);
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kAfter);
  // What no kernel has been given concerns only those that get it.
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  void* const registered = reinterpret_cast<void*>(FakeDevice(state_).device_address(host_));
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kWords);
  EXPECT_EQ(way(kernel, registered), LaunchWay::kWhole);
  Work work;
  work.call = "hipModuleLaunchKernel";
  int by = 3;
  void* data = registered;
  void* params[] = {&data, &by};
  work.raw = RawLaunch{kernel, {}, kernarg_of(kernel->kernel, params)};
  recorder_->work().prepare(work);
  recorder_->commit(work);
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kWhole) << "a kernel may have kept its address";
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(host_)), true);
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kAfter);
  // Other memory of the host, that no kernel has been given, does not bring it back.
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kWords);
}

TEST_F(AllocationTest, WithCheckpointsEveryLaunchIsLookedAt) {
  load_kernel();
  Options options;
  options.checkpoints = true;
  make(options);
  KernelEntry* kernel = find_kernel();
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(way(kernel, buffer_), LaunchWay::kWhole);
}

TEST_F(AllocationTest, EveryAllocationThatFailsEndsTheRecordingOnly) {
  load_kernel();
  size_t failures = 0;
  size_t reported = 0;
  // Parsing the code object is most of it: every one at first, then ever fewer.
  for (int64_t n = 1;; n += 1 + n / 400) {
    recorder_.reset();
    std::filesystem::remove(path() + ".partial");
    make({});
    std::vector<uint32_t>().swap(state_.waits);  // so that waiting for a device allocates
    testing::fail_allocation(n, testing::OfThreads::kAll);
    whole_life();
    const bool failed = testing::stop_failing_allocations();
    const Report report = recorder_->report();
    if (!failed) {
      EXPECT_TRUE(report.sealed) << report.error;
      break;
    }
    ++failures;
    reported += report.error.empty() ? 0 : 1;
    // Sealed and whole, sealed with the loss named, or not sealed with the error.
    if (!report.sealed) {
      EXPECT_FALSE(report.error.empty()) << "allocation " << n;
      EXPECT_FALSE(recorder_->active()) << "allocation " << n;
    }
    ASSERT_LT(n, 1'000'000);
  }
  EXPECT_GT(failures, 50u);
  EXPECT_GT(reported, 10u);
}

// A capture fails with an error, or holds what it should; nobody waits for one that failed.
TEST_F(AllocationTest, EveryAllocationThatFailsEndsTheCapturesOnly) {
  load_kernel();
  Options options;
  options.in_process = true;
  options.status_folder = folder_.path().string();
  int errors = 0;
  for (int64_t n = 1;; n += 1 + n / 50) {
    recorder_ = std::make_unique<Recorder>(options, std::make_unique<FakeDevice>(state_));
    recorder_->begin();
    (void)find_kernel();  // outside of captures none is looked up
    device_memory(buffer_, sizeof(buffer_));
    testing::fail_allocation(n, testing::OfThreads::kThis);
    LiveCaptures& live = recorder_->live();
    CaptureRequest request;
    request.held = n % 2 == 1;
    request.wait_ms = 1;
    const auto whole = [&]() -> Result<Captured> {
      GFXGRAPH_ASSIGN_OR_RETURN(const uint64_t capture, live.begin(request));
      recorder_->streams().call_begins();
      launch(false);
      GFXGRAPH_TRY(live.pause(capture));
      GFXGRAPH_TRY(live.resume(capture));
      launch(true);
      return live.end(capture);
    };
    Result<Captured> captured = whole();
    const bool failed = testing::stop_failing_allocations();
    if (!captured) {
      ++errors;
      EXPECT_NE(captured.error().status, Status::kNotReady) << n;
      const Result<uint64_t> next = live.begin(request);
      EXPECT_TRUE(next || next.error().status != Status::kNotReady) << "allocation " << n;
    } else {
      const auto trace = captured->held ? Trace::of(captured->held)
                                        : Trace::open_descriptor(captured->file.fd(), {});
      ASSERT_TRUE(trace) << n << trace.error().message;
      ASSERT_TRUE((*trace)->load_events());
      // Whole, or the loss is named.
      EXPECT_TRUE(actions<format::Launch>(**trace).size() == 2 || !(*trace)->findings().empty())
          << n;
    }
    if (!failed) {
      ASSERT_TRUE(captured) << captured.error().message;
      break;
    }
    ASSERT_LT(n, 100'000);
  }
  EXPECT_GT(errors, 5);
}

}  // namespace
}  // namespace gfxgraph::recorder

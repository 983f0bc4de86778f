// The recorder without HIP: kernels, their registration, and modules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST_F(RecorderTest, UnregisteredKernelsMakeTheTraceIncomplete) {
  EXPECT_EQ(recorder_->launches().find_kernel(handle(1), true, "hipLaunchKernel", held_), nullptr);
  recorder_->count(held_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

// dlopen() of a library with kernels holds the dynamic linker's lock, which the runtime may need.
TEST_F(RecorderTest, RegistrationWaitsForNoCallOfTheRuntime) {
  int calls = 0;
  std::vector<std::thread> threads;
  state_.during_call = [&] {
    ++calls;
    auto done = std::make_shared<std::promise<void>>();
    threads.emplace_back([this, done] {
      recorder_->code().fat_binary(handle(1), nullptr);
      recorder_->code().function(handle(1), handle(2), "kernel");
      recorder_->code().variable(handle(1), handle(3), "variable");
      done->set_value();
    });
    EXPECT_EQ(done->get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  };
  alignas(8) char data[16] = {};
  device_memory(data, sizeof(data));
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(data)), true);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 2) << "the facts, and the last content";
  state_.during_call = nullptr;
  ASSERT_TRUE(finish());
}

TEST_F(RecorderTest, ARefusedLaunchLeavesNoFinding) {
  EXPECT_EQ(recorder_->launches().find_kernel(handle(1), true, "hipLaunchKernel", held_), nullptr);
  EXPECT_THAT(held_, SizeIs(1));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
}

// A refused launch with a pointer that nothing is known of, then the same one accepted: said once.
TEST_F(RecorderTest, WhatARefusedLaunchLackedIsSaidByTheNextOne) {
  const std::string image = read_text(MODULE_FILE);
  recorder_->code().module_loaded(this, image.data());
  recorder_->code().function_found(handle(2), this, "module_increment");
  alignas(8) uint64_t buffer[8] = {};
  device_memory(buffer, sizeof(buffer));
  KernelEntry* kernel =
      recorder_->launches().find_kernel(handle(2), false, "hipModuleLaunchKernel", held_);
  ASSERT_NE(kernel, nullptr);
  void* unknown = reinterpret_cast<void*>(uint64_t{1} << 45);
  int by = 1;
  void* params[] = {&unknown, &by};
  for (const bool accepted : {false, true, true}) {
    Work work;
    work.call = "hipModuleLaunchKernel";
    work.raw = RawLaunch{kernel, {}, kernarg_of(kernel->kernel, params)};
    recorder_->work().prepare(work);
    if (accepted) recorder_->commit(work);
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_EQ(trace->findings()[0].count, 1u);
}

TEST_F(RecorderTest, BadModuleImagesMakeTheTraceIncomplete) {
  std::vector<char> garbage(4096, 0x5a);
  recorder_->code().module_loaded(&garbage, garbage.data());
  recorder_->code().function_found(handle(2), &garbage, "k");
  EXPECT_EQ(recorder_->launches().find_kernel(handle(2), false, "hipModuleLaunchKernel", held_),
            nullptr);
  recorder_->count(held_);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

TEST_F(RecorderTest, AModulesKernelAndVariable) {
  const std::string image = read_text(MODULE_FILE);
  ASSERT_FALSE(image.empty());
  int variable = 3;
  state_.symbol = &variable;
  recorder_->code().module_loaded(this, image.data());
  recorder_->code().function_found(handle(2), this, "takes_struct");
  KernelEntry* kernel =
      recorder_->launches().find_kernel(handle(2), false, "hipModuleLaunchKernel", held_);
  ASSERT_NE(kernel, nullptr);
  alignas(8) uint64_t buffer[8] = {};
  device_memory(buffer, sizeof(buffer));
  struct {
    void* first;
    int number, other;
    void* second;
  } pointers{buffer, 1, 2, &buffer[4]};
  uint64_t plain = reinterpret_cast<uint64_t>(&buffer[1]);
  void* out = &buffer[2];
  void* params[] = {&pointers, &plain, &out};
  Work work;
  work.call = "hipModuleLaunchKernel";
  work.raw = RawLaunch{kernel, {}, kernarg_of(kernel->kernel, params)};
  recorder_->work().prepare(work);
  recorder_->commit(work);
  recorder_->code().module_unloading(this);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  ASSERT_THAT(trace->kernels(), SizeIs(1));
  EXPECT_EQ(trace->kernels()[0].name, "takes_struct");
  const auto launches = actions<format::Launch>(*trace);
  ASSERT_THAT(launches, SizeIs(1));
  ASSERT_THAT(launches[0].relocations, SizeIs(4));
  EXPECT_FALSE(launches[0].relocations[0].ambiguous);
  EXPECT_TRUE(launches[0].relocations[2].ambiguous) << "the 8-byte scalar";
  EXPECT_EQ(launches[0].relocations[3].source, format::RelocationSource::kTyped);
  const auto begins = actions<format::AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  EXPECT_EQ(begins[0].symbol, "module_counter");
  EXPECT_TRUE(actions<format::AllocationEnd>(*trace)[0].freed) << "it goes with its module";
  const Report report = parse_report(read_text(folder_.path() / "report"));
  ASSERT_THAT(report.ambiguous_kernels, SizeIs(1));
  EXPECT_EQ(report.ambiguous_kernels[0].name, "takes_struct");
  EXPECT_THAT(report.ambiguous_kernels[0].arguments, ElementsAre("argument 1"));
}

}  // namespace
}  // namespace gfxgraph::recorder

// Values that streams write into memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/recorder/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecorderValuesTest : public RecorderTest {
 protected:
  void write(const void* address, uint32_t size_bytes, uint64_t value, Handle stream = nullptr) {
    Work work;
    work.raw = RawWrite{reinterpret_cast<uint64_t>(address), size_bytes, value};
    work.stream = stream;
    work.call = size_bytes == 4 ? "hipStreamWriteValue32" : "hipStreamWriteValue64";
    work.never_captured = true;
    recorder_->prepare(work);
    std::memcpy(const_cast<void*>(address), &value, size_bytes);
    recorder_->commit(std::move(work));
  }

  alignas(8) uint64_t data_[8] = {};
};

TEST_F(RecorderValuesTest, FourBytesAreAMemsetOfOneElement) {
  device_memory(data_, sizeof(data_));
  recorder_->stream_created(handle(10), 1, 0);
  write(&data_[1], 4, 0xa1b2c3d4u, handle(10));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto sets = actions<format::Memset>(*trace);
  ASSERT_THAT(sets, SizeIs(1));
  EXPECT_EQ(sets[0].offset_bytes, 8u);
  EXPECT_EQ(sets[0].element_bytes, 4u);
  EXPECT_EQ(sets[0].width_elements, 1u);
  EXPECT_EQ(sets[0].value, 0xa1b2c3d4u);
  EXPECT_EQ(sets[0].stream, 1u);
  EXPECT_TRUE(sets[0].asynchronous);
}

TEST_F(RecorderValuesTest, EightBytesAreACopyWhoseAddressesAreFound) {
  alignas(8) uint64_t target[4] = {};
  device_memory(data_, sizeof(data_));
  device_memory(target, sizeof(target));
  write(&data_[2], 8, reinterpret_cast<uint64_t>(&target[1]));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].destination.allocation, 1u);
  EXPECT_EQ(copies[0].destination.offset_bytes, 16u);
  EXPECT_EQ(copies[0].source.allocation, 0u);
  EXPECT_EQ(copies[0].width_bytes, 8u);
  EXPECT_TRUE(copies[0].asynchronous);
  ASSERT_THAT(copies[0].host_source.relocations, SizeIs(1));
  EXPECT_EQ(copies[0].host_source.relocations[0].allocation, 2u);
  EXPECT_EQ(copies[0].host_source.relocations[0].addend, 8);
}

TEST_F(RecorderValuesTest, FourBytesAtAnOddAddressAreACopy) {
  device_memory(data_, sizeof(data_));
  write(reinterpret_cast<char*>(data_) + 3, 4, 0xa1b2c3d4u);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::Memset>(*trace), IsEmpty());
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].destination.offset_bytes, 3u);
  EXPECT_EQ(copies[0].width_bytes, 4u);
}

TEST_F(RecorderValuesTest, WhatAWriteLeavesInMemoryOfTheHostIsNotTheProgramsOwn) {
  std::vector<uint64_t> host(1024, 0);
  const uint64_t address = reinterpret_cast<uint64_t>(host.data());
  recorder_->allocated({format::AllocationKind::kHostPinned, address, address, 8192, 0, nullptr});
  write(&host[1], 4, 5);
  write(&host[2], 8, 6);
  recorder_->synchronized(format::SynchronizeKind::kStream, nullptr, "hipStreamSynchronize");
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::HostWrite>(*trace), IsEmpty());
}

TEST_F(RecorderValuesTest, AWriteToUnknownMemoryIsNamed) {
  device_memory(data_, 16);
  write(&data_[6], 4, 5);
  write(&data_[6], 8, 5);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  EXPECT_THAT(actions<format::Memset>(*trace), IsEmpty());
  EXPECT_THAT(actions<format::Copy>(*trace), IsEmpty());
  EXPECT_THAT(trace->findings(), SizeIs(2));
}

// Of a runtime that no one has measured the recorder does not know it.
TEST_F(RecorderValuesTest, WritesAreDoneAtOnceInACapture) {
  for (const int32_t version : {50'221'153, 70'253'211, 90'000'000}) {
    std::filesystem::remove(path());
    state_.runtime_version = version;
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->capture_begins(handle(10));
    write(data_, 4, 5, handle(10));
    const auto trace = finish();
    ASSERT_TRUE(trace);
    const bool known = version < 90'000'000;
    EXPECT_THAT(actions<format::Memset>(*trace), SizeIs(known ? 1 : 0));
    EXPECT_EQ(trace->complete(), known);
    if (!known) {
      EXPECT_EQ(trace->findings()[0].call, "hipStreamWriteValue32");
    }
  }
}

}  // namespace
}  // namespace gfxgraph::recorder

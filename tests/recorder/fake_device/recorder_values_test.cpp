// Values that streams write into memory and wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <vector>

#include "tests/recorder/fake_device/recorder_fixture.h"

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
    recorder_->work().prepare(work);
    std::memcpy(const_cast<void*>(address), &value, size_bytes);
    recorder_->commit(work);
  }

  static constexpr uint32_t kAtLeast = 0, kEqual = 1, kAnd = 2, kNor = 3;
  void wait(const void* address, uint32_t size_bytes, uint64_t value, Handle stream,
            uint32_t condition = kAtLeast, uint64_t mask = ~uint64_t{0}) {
    recorder_->streams().stream_waits(
        stream, {reinterpret_cast<uint64_t>(address), size_bytes, value, mask, condition},
        "hipStreamWaitValue");
  }
  void two_streams() {
    recorder_->streams().stream_created(handle(10), 1, 0);
    recorder_->streams().stream_created(handle(11), 1, 0);
  }
  // What the trace says that stands for a wait, or the detail of the finding that it is incomplete.
  std::string outcome() {
    const auto trace = finish();
    if (!trace) return "no trace";
    for (const format::Finding& finding : trace->findings()) {
      if (finding.kind == format::FindingKind::kIncomplete) {
        return finding.detail.substr(0, finding.detail.find(':'));
      }
    }
    const auto records = actions<format::EventRecord>(*trace);
    const auto waits = actions<format::StreamWait>(*trace);
    if (records.empty() && waits.empty()) return "nothing";
    if (records.size() != 1 || waits.size() != 1 || records[0].event != waits[0].event) return "?";
    return std::to_string(waits[0].stream) + " follows " + std::to_string(records[0].stream);
  }
  void anew() {
    recorder_.reset();
    std::filesystem::remove(path());
    make({});
    std::ranges::fill(data_, 0);
  }

  alignas(8) uint64_t data_[8] = {};
};

TEST_F(RecorderValuesTest, AWaitFollowsTheStreamThatWroteWhatEndsIt) {
  struct Case {
    uint64_t written;
    uint64_t value;
    uint32_t condition;
    uint64_t mask;
    const char* outcome;
  };
  const char* const kLater = "waits for a value that is written after it, or by the host";
  for (const Case& one : {
           Case{5, 5, kAtLeast, ~uint64_t{0}, "2 follows 1"},
           Case{5, 6, kAtLeast, ~uint64_t{0}, kLater},
           Case{0x1234, 0x34, kEqual, 0xff, "2 follows 1"},
           Case{0x1234, 0x34, kEqual, 0xffff, kLater},
           Case{6, 4, kAnd, ~uint64_t{0}, "2 follows 1"},
           Case{6, 8, kAnd, ~uint64_t{0}, kLater},
           Case{6, 4, kAnd, 3, kLater},
           Case{0, 0, kNor, ~uint64_t{0}, "waits with an unknown condition"},
       }) {
    anew();
    device_memory(data_, sizeof(data_));
    two_streams();
    write(&data_[1], 8, one.written, handle(10));
    wait(&data_[1], 8, one.value, handle(11), one.condition, one.mask);
    EXPECT_EQ(outcome(), one.outcome) << one.written << ' ' << one.value << ' ' << one.condition;
  }
}

TEST_F(RecorderValuesTest, TheOrderStandsWhereTheWaitWasIssued) {
  device_memory(data_, sizeof(data_));
  two_streams();
  write(data_, 4, 1, handle(10));
  wait(data_, 4, 1, handle(10));  // its own stream has that order
  wait(data_, 4, 1, handle(11));
  memset_work(&data_[2], 8, handle(11));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  std::string order;
  for (const format::Event& event : trace->events()) {
    if (std::holds_alternative<format::Memset>(event.action)) order += 'm';
    if (std::holds_alternative<format::EventRecord>(event.action)) order += 'r';
    if (std::holds_alternative<format::StreamWait>(event.action)) order += 'w';
  }
  EXPECT_EQ(order, "mrwm");
  ASSERT_FALSE(trace->findings().empty());
  EXPECT_EQ(trace->findings()[0].kind, format::FindingKind::kNote);
}

TEST_F(RecorderValuesTest, AWaitForWhatNoStreamWroteLastIsNamed) {
  device_memory(data_, sizeof(data_));
  two_streams();
  wait(data_, 4, 0, handle(11));
  EXPECT_EQ(outcome(), "waits for a value that is not known to be written before it");
  anew();
  two_streams();
  device_memory(data_, 8);
  wait(&data_[4], 4, 0, handle(11));
  EXPECT_EQ(outcome(), "waits for memory outside every allocation");
  anew();
  two_streams();
  device_memory(data_, sizeof(data_));
  write(data_, 4, 1, handle(10));
  memset_work(data_, 1, handle(10));  // a part of it
  wait(data_, 4, 1, handle(11));
  EXPECT_EQ(outcome(), "waits for a value that is not known to be written before it");
  anew();
  two_streams();
  device_memory(data_, sizeof(data_));
  write(data_, 8, 1, handle(10));
  wait(data_, 4, 1, handle(11));  // not the same bytes
  EXPECT_EQ(outcome(), "waits for a value that is not known to be written before it");
}

TEST_F(RecorderValuesTest, MemoryThatOtherMemoryLeadsToMayBeWrittenByKernels) {
  alignas(8) uint64_t table[1] = {};
  device_memory(data_, sizeof(data_));
  device_memory(table, sizeof(table));
  two_streams();
  write(data_, 4, 1, handle(10));
  const uint64_t pointer = reinterpret_cast<uint64_t>(data_);
  copy(table, &pointer, sizeof(pointer));
  wait(data_, 4, 1, handle(11));
  EXPECT_EQ(outcome(), "waits for a value that a kernel may write");
}

// The host may poll for the value and write another one. It cannot have done so before the value is
// there.
TEST_F(RecorderValuesTest, MemoryOfTheHostCountsAsItIsWhenTheWriteIsDone) {
  for (const bool landed : {false, true}) {
    anew();
    state_.reads_behind = true;
    state_.under_way.clear();
    const uint64_t address = reinterpret_cast<uint64_t>(data_);
    recorder_->buffers().allocated(
        {format::AllocationKind::kHostPinned, address, address, sizeof(data_), 0, nullptr});
    two_streams();
    write(data_, 8, 1, handle(10));
    if (landed) state_.arrive();
    data_[0] = 0;  // not there yet, or set back by the host
    wait(data_, 8, 1, handle(11));
    EXPECT_EQ(outcome(), landed ? "waits for a value that is written after it, or by the host"
                                : "2 follows 1");
  }
}

TEST_F(RecorderValuesTest, WhatTheHostWroteEndsAWait) {
  const uint64_t address = reinterpret_cast<uint64_t>(data_);
  recorder_->buffers().allocated(
      {format::AllocationKind::kHostPinned, address, address, sizeof(data_), 0, nullptr});
  two_streams();
  data_[1] = 7;
  wait(&data_[1], 8, 7, handle(11), kEqual);
  EXPECT_EQ(outcome(), "nothing");
}

class RecorderValuesKernelTest : public RecorderHostMemoryTest {
 protected:
  alignas(8) uint64_t data_[2] = {};
};

// A kernel that was given the memory goes the way on which that is seen, and counts as a writer.
TEST_F(RecorderValuesKernelTest, AKernelThatIsGivenTheMemoryMayWriteIt) {
  device_memory(data_, sizeof(data_));
  KernelEntry* kernel =
      recorder_->launches().find_kernel(handle(2), false, "hipModuleLaunchKernel", held_);
  ASSERT_NE(kernel, nullptr);
  void* pointer = data_;
  int by = 3;
  void* params[] = {&pointer, &by};
  EXPECT_EQ(recorder_->launches().launch_way(*kernel, params, nullptr), LaunchWay::kAfter);
  Work write;
  write.raw = RawWrite{reinterpret_cast<uint64_t>(data_), 4, 1};
  write.stream = handle(10);
  write.call = "hipStreamWriteValue32";
  recorder_->work().prepare(write);
  recorder_->commit(write);
  EXPECT_EQ(recorder_->launches().launch_way(*kernel, params, nullptr), LaunchWay::kWhole);
  Work work;
  RawLaunch raw;
  raw.kernel = kernel;
  raw.kernarg = kernarg_of(kernel->kernel, params);
  work.raw = std::move(raw);
  work.stream = handle(10);
  work.call = "hipModuleLaunchKernel";
  recorder_->work().prepare(work);
  recorder_->commit(work);
  recorder_->streams().stream_waits(handle(11),
                                    {reinterpret_cast<uint64_t>(data_), 4, 1, ~uint64_t{0}, 0},
                                    "hipStreamWaitValue32");
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  EXPECT_THAT(actions<format::StreamWait>(*trace), IsEmpty());
  EXPECT_THAT(trace->findings()[0].detail, ::testing::HasSubstr("that a kernel may write"));
}

TEST_F(RecorderValuesTest, FourBytesAreAMemsetOfOneElement) {
  device_memory(data_, sizeof(data_));
  recorder_->streams().stream_created(handle(10), 1, 0);
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
  recorder_->buffers().allocated(
      {format::AllocationKind::kHostPinned, address, address, 8192, 0, nullptr});
  write(&host[1], 4, 5);
  write(&host[2], 8, 6);
  recorder_->streams().synchronized(format::SynchronizeKind::kStream, nullptr,
                                    "hipStreamSynchronize");
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
  for (const int32_t version : {50'221'153, 70'253'211, 71'499'999}) {
    std::filesystem::remove(path());
    state_.runtime_version = version;
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->graphs().capture_begins(handle(10));
    write(data_, 4, 5, handle(10));
    const auto trace = finish();
    ASSERT_TRUE(trace);
    const bool known = version < 70'300'000;
    EXPECT_THAT(actions<format::Memset>(*trace), SizeIs(known ? 1 : 0));
    EXPECT_EQ(trace->complete(), known);
    if (!known) {
      EXPECT_EQ(trace->findings()[0].call, "hipStreamWriteValue32");
    }
  }
}

// From ROCm 10.0 on they are nodes.
TEST_F(RecorderValuesTest, CapturedValuesAreNodesOfNewerRuntimes) {
  state_.runtime_version = 71'526'333;
  make({});
  device_memory(data_, sizeof(data_));
  two_streams();
  write(data_ + 1, 8, 9, handle(10));
  recorder_->graphs().capture_begins(handle(11));
  EXPECT_TRUE(recorder_->work().captures_values(handle(11)));
  EXPECT_FALSE(recorder_->work().captures_values(handle(10)));
  write(data_, 4, 5, handle(11));
  wait(data_ + 1, 8, 9, handle(11), kEqual);
  write(data_ + 2, 8, 6, handle(11));
  state_.nodes = {data_, data_ + 1, data_ + 2};
  recorder_->graphs().capture_ended(handle(11), handle(30));
  recorder_->executables().instantiated(handle(40), handle(30));
  Work work;
  recorder_->work().prepare_graph_launch(handle(40), handle(11), work);
  recorder_->commit(work);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Memset>(*trace), ::testing::IsEmpty());  // not in the capture
  ASSERT_THAT(trace->graphs(), SizeIs(1));
  const auto& nodes = trace->graphs()[0].nodes;
  ASSERT_THAT(nodes, SizeIs(3));
  EXPECT_EQ(std::get<format::Memset>(nodes[0].action).value, 5u);
  EXPECT_EQ(std::get<format::Copy>(nodes[2].action).destination.offset_bytes, 16u);
  EXPECT_THAT(nodes[1].dependencies, ::testing::ElementsAre(0u));
  EXPECT_THAT(nodes[2].dependencies, ::testing::ElementsAre(1u));
  // The wait is the order that it makes where the graph is launched.
  ASSERT_THAT(actions<format::StreamWait>(*trace), SizeIs(1));
}

TEST_F(RecorderValuesTest, AWaitWithAMaskInACaptureIsNamed) {
  state_.runtime_version = 71'526'333;
  make({});
  device_memory(data_, sizeof(data_));
  recorder_->graphs().capture_begins(handle(11));
  wait(data_, 4, 5, handle(11), kEqual, 0xff);
  EXPECT_EQ(outcome(), "with a mask, inside a stream capture");
}

// A graph with a list of values as its only node, or behind a memset of `before`.
class RecorderValueNodesTest : public RecorderValuesTest {
 protected:
  using Kind = RawListedValue::Kind;
  struct Entry {
    Kind kind;
    uint64_t address;
    uint32_t size_bytes;
    uint64_t value;
  };
  static std::vector<RawListedValue> parse(std::span<const std::byte> bytes) {
    std::vector<RawListedValue> values;
    for (; bytes.size() >= sizeof(Entry); bytes = bytes.subspan(sizeof(Entry))) {
      Entry one;
      std::memcpy(&one, bytes.data(), sizeof one);
      values.push_back({one.kind, one.address, one.size_bytes, one.value, kEqual});
    }
    return values;
  }
  uint64_t word(size_t i) { return reinterpret_cast<uint64_t>(data_ + i); }
  void instantiate(const std::vector<Entry>& list, bool memset_before = false) {
    recorder_->graphs().graph_created(handle(30));
    std::vector<Handle> after;
    if (memset_before) {
      RawMemset set;
      set.address = word(0);
      set.width_elements = 8;
      after = {handle(1)};
      recorder_->graphs().node_added(handle(30), handle(1), nullptr, 0, set, "add");
    }
    const std::span bytes(reinterpret_cast<const std::byte*>(list.data()),
                          list.size() * sizeof(Entry));
    RawValueList node{parse(bytes), reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), parse};
    recorder_->graphs().node_added(handle(30), handle(2), after.data(), after.size(), node, "add");
    recorder_->executables().instantiated(handle(40), handle(30));
  }
  void launch(Handle stream) {
    Work work;
    recorder_->work().prepare_graph_launch(handle(40), stream, work);
    recorder_->commit(work);
  }
};

TEST_F(RecorderValueNodesTest, TheListOfANodeIsReadWhenTheRuntimeReadsIt) {
  for (const int32_t version : {60'443'483, 70'253'211, 90'000'000}) {
    std::filesystem::remove(path());
    state_.runtime_version = version;
    make({});
    device_memory(data_, sizeof(data_));
    std::vector<Entry> list = {{Kind::kWrite, word(0), 4, 1}, {Kind::kWrite, word(1), 8, 5}};
    instantiate(list);
    list[0].value = 2;
    launch(nullptr);
    list[0].value = 3;
    launch(nullptr);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    const bool at_launch = version < 90'000'000;
    ASSERT_EQ(trace->graphs().size(), at_launch ? 2u : 1u);
    const auto& nodes = trace->graphs()[0].nodes;
    ASSERT_EQ(nodes.size(), 2u);
    EXPECT_EQ(std::get<format::Memset>(nodes[0].action).value, at_launch ? 2u : 1u);
    const auto& copy = std::get<format::Copy>(nodes[1].action);
    EXPECT_EQ(copy.destination.offset_bytes, 8u);
    EXPECT_EQ(copy.width_bytes, 8u);
    EXPECT_THAT(nodes[1].dependencies, ::testing::ElementsAre(0u));
    if (at_launch) {
      EXPECT_EQ(std::get<format::Memset>(trace->graphs()[1].nodes[0].action).value, 3u);
    }
  }
}

TEST_F(RecorderValueNodesTest, AWaitOfANodeIsTheOrderThatItImposes) {
  const char* const kOther = "waits for a value that another node may write";
  const char* const kList = "waits for a value other than the one that its list wrote there before";
  const char* const kUnknown = "waits for a value that is not known to be written before it";
  struct Case {
    std::vector<Entry> list;
    bool memset_before;
    const char* outcome;
  };
  const Case cases[] = {
      {{{Kind::kWait, word(0), 8, 7}}, false, "2 follows 1"},
      {{{Kind::kWait, word(0), 8, 7}, {Kind::kWrite, word(0), 8, 0}}, false, "2 follows 1"},
      {{{Kind::kWait, word(0), 8, 7}}, true, kOther},
      {{{Kind::kWrite, word(1), 8, 9}, {Kind::kWait, word(1), 8, 9}}, false, "nothing"},
      {{{Kind::kWrite, word(1), 8, 9}, {Kind::kWait, word(1), 8, 8}}, false, kList},
      {{{Kind::kWrite, word(1), 8, 9}, {Kind::kWait, word(1), 4, 9}}, false, kList},
      {{{Kind::kWait, word(1), 8, 9}}, false, kUnknown},
      {{{Kind::kOther, 0, 4, 0}},
       false,
       "a batch memory operation that is neither a write nor a wait"},
  };
  for (const Case& one : cases) {
    anew();
    device_memory(data_, sizeof(data_));
    two_streams();
    write(data_, 8, 7, handle(10));
    instantiate(one.list, one.memset_before);
    launch(handle(11));
    EXPECT_EQ(outcome(), one.outcome) << &one - cases;
  }
}

TEST_F(RecorderValueNodesTest, AListThatCannotBeReadIsNamed) {
  state_.runtime_version = 70'253'211;
  anew();
  device_memory(data_, sizeof(data_));
  instantiate({{Kind::kWrite, word(0), 4, 1}});
  recorder_->executables().changed(handle(40), handle(2), RawValueList{{}, 8, sizeof(Entry), parse},
                                   "set");
  launch(nullptr);
  EXPECT_EQ(outcome(), "the list of a node of batch memory operations cannot be read");
}

}  // namespace
}  // namespace gfxgraph::recorder

// The recorder without HIP: memory, contents, findings, its beginning and end.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST_F(RecorderTest, NothingRecordedLeavesNoFile) {
  recorder_->finish();
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "claim"));
}

TEST_F(RecorderTest, WithoutOutputNothingIsActive) {
  Recorder idle(Options{}, std::make_unique<FakeDevice>(state_));
  EXPECT_FALSE(idle.active());
  idle.begin();
  idle.finish();
}

TEST_F(RecorderTest, TheSecondProcessDoesNotRecord) {
  recorder_->begin();
  Options options;
  options.output = (folder_.path() / "other.gfxg").string();
  options.status_folder = folder_.path().string();
  Recorder second(options, std::make_unique<FakeDevice>(state_));
  second.begin();
  EXPECT_FALSE(second.active());
  EXPECT_FALSE(std::filesystem::exists(options.output + ".partial"));
}

TEST_F(RecorderTest, ContentsAndPointersInMemory) {
  alignas(8) uint64_t data[4] = {0, 0, 0, 0};
  alignas(8) uint64_t table[2] = {};
  device_memory(data, sizeof(data));
  device_memory(table, sizeof(table));
  const uint64_t host[2] = {reinterpret_cast<uint64_t>(&data[1]), 3};
  copy(table, host, sizeof(host));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(trace->environment().gpu_arch, "gfx1030");
  const auto begins = actions<format::AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  EXPECT_FALSE(begins[0].initial.blob) << "all zero: no blob";
  EXPECT_EQ(begins[0].initial.size_bytes, 32u);
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].destination.allocation, 2u);
  ASSERT_THAT(copies[0].host_source.relocations, SizeIs(1));
  EXPECT_EQ(copies[0].host_source.relocations[0].allocation, 1u);
  EXPECT_EQ(copies[0].host_source.relocations[0].addend, 8u);
  const auto ends = actions<format::AllocationEnd>(*trace);
  ASSERT_THAT(ends, SizeIs(2));
  const auto& of_table = ends[0].id == 2 ? ends[0] : ends[1];
  EXPECT_FALSE(of_table.freed);
  EXPECT_THAT(of_table.post.relocations, SizeIs(1));
}

TEST_F(RecorderTest, APointerInMemoryThatLiesBesideItsBufferIsNamed) {
  alignas(256) static uint64_t data[96];
  alignas(8) uint64_t table[2] = {};
  device_memory(&data[64], 32 * sizeof(uint64_t));
  device_memory(table, sizeof(table));
  for (const uint64_t* biased : {&data[0], &data[1]}) {
    const uint64_t host[2] = {1, reinterpret_cast<uint64_t>(biased)};
    copy(table, host, sizeof(host));
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  ASSERT_THAT(trace->findings(), SizeIs(1)) << "the first one of a buffer";
  EXPECT_EQ(trace->findings()[0].kind, format::FindingKind::kNote);
  EXPECT_EQ(trace->findings()[0].call, "memory");
  EXPECT_THAT(trace->findings()[0].detail,
              ::testing::HasSubstr(fmt::format("copy to buffer #2 holds {:#x} at byte 8, ",
                                               reinterpret_cast<uint64_t>(&data[0]))));
}

TEST_F(RecorderTest, PointersToFreedMemoryAreStillFound) {
  // A gap lies between the two.
  alignas(8) uint64_t memory[8] = {};
  uint64_t* const data = &memory[0];
  uint64_t* const table = &memory[6];
  table[0] = reinterpret_cast<uint64_t>(data);
  device_memory(data, 4 * sizeof(uint64_t));
  device_memory(table, sizeof(uint64_t));
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(data)), true);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto ends = actions<format::AllocationEnd>(*trace);
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_TRUE(ends[0].freed);
  ASSERT_THAT(ends[1].post.relocations, SizeIs(1));
  EXPECT_EQ(ends[1].post.relocations[0].allocation, 1u);
}

TEST_F(RecorderTest, MemoryEndsBeforeAnotherThreadsAllocationBeginsInIt) {
  alignas(8) uint64_t data[4] = {7, 7, 7, 7};
  device_memory(data, sizeof(data));
  memset_work(data, 8);
  auto freeing = recorder_->buffers().freeing(reinterpret_cast<uint64_t>(data));
  device_memory(data + 1, 8);  // by a thread that got it while the first one is still in its call
  auto other = recorder_->buffers().freeing(reinterpret_cast<uint64_t>(data + 1));
  device_memory(data, 16);
  recorder_->buffers().freed(std::move(freeing), true);
  recorder_->buffers().freed(std::move(other), true);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  std::string order;
  for (const format::Event& event : trace->events()) {
    if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
      order += fmt::format("begin{} ", begin->id);
    } else if (const auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
      EXPECT_TRUE(end->post.stored);
      order += fmt::format("end{} ", end->id);
    }
  }
  EXPECT_EQ(order, "begin1 end1 begin2 end2 begin3 end3 ");
}

TEST_F(RecorderTest, ARefusedFreeLeavesTheAllocationAlive) {
  alignas(8) uint64_t data[4] = {};
  device_memory(data, sizeof(data));
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(data)), false);
  memset_work(data, 8);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Memset>(*trace), SizeIs(1));
  ASSERT_THAT(actions<format::AllocationEnd>(*trace), SizeIs(1));
}

TEST_F(RecorderTest, AddressesGivenOutAgainWithoutAFreeEndTheOldAllocation) {
  alignas(8) uint64_t data[4] = {};
  device_memory(data, 32);
  device_memory(data, 16);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto ends = actions<format::AllocationEnd>(*trace);
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(ends[0].id, 1u);
  EXPECT_FALSE(ends[0].post.stored);
}

TEST_F(RecorderTest, ACopyOutOfPinnedMemoryBringsWhatTheProgramWroteThere) {
  std::vector<char> host(3 * 4096, 0);
  alignas(8) char device[64] = {};
  recorder_->buffers().host_registered(host.data(), host.size(), 0);
  device_memory(device, sizeof(device));
  host[5000] = 1;
  copy(device, host.data() + 4096, 64);
  host[4100] = 5;
  copy(device, host.data() + 4096, 64);
  host[1] = 2;
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto begins = actions<format::AllocationBegin>(*trace);
  EXPECT_EQ(begins[0].recorded_address, begins[0].host_address | uint64_t{1} << 47);
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(2));
  for (const format::Copy& one : copies) {
    EXPECT_EQ(one.source.allocation, 0u);
    EXPECT_TRUE(one.source_is_pinned);
  }
  const auto brought = trace->content(copies[1].host_source);
  ASSERT_TRUE(brought);
  ASSERT_THAT(*brought, SizeIs(64));
  EXPECT_EQ((*brought)[4], std::byte{5});
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(1)) << "at the end: nothing read it before";
  EXPECT_EQ(writes[0].offset_bytes, 0u);
  EXPECT_EQ(writes[0].content.size_bytes, 8192u);
}

// Weights are in the trace once.
TEST_F(RecorderTest, ALargeCopyOutOfPinnedMemoryBringsItsBytesIfTheyHaveChanged) {
  std::vector<char> host(40 * 4096, 1);
  std::vector<char> device(host.size());
  recorder_->buffers().host_registered(host.data(), host.size(), 0);
  device_memory(device.data(), device.size());
  copy(device.data(), host.data(), host.size());
  host[33 * 4096] = 5;
  copy(device.data(), host.data(), host.size());
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(2));
  EXPECT_EQ(copies[0].source.allocation, 1u);
  EXPECT_FALSE(copies[0].source_is_pinned);
  EXPECT_TRUE(copies[1].source_is_pinned);
}

// What the device wrote must stay a copy of what the device writes in a replay.
TEST_F(RecorderTest, ACopyOutOfWhatACopyWroteKeepsItsSource) {
  std::vector<char> host(2 * 4096, 0);
  alignas(8) char device[64] = {};
  recorder_->buffers().host_registered(host.data(), host.size(), 0);
  device_memory(device, sizeof(device));
  copy(host.data() + 64, device, 64);
  host[130] = 1;
  copy(device, host.data() + 100, 20);  // of the copy's bytes
  host[130] = 2;
  copy(device, host.data() + 128, 20);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(3));
  EXPECT_EQ(copies[1].source.allocation, 1u);
  EXPECT_EQ(copies[2].source.allocation, 0u);
  ASSERT_THAT(actions<format::HostWrite>(*trace), SizeIs(2));
}

// The call of the copy returns at once; what the host learns and when decides what it wrote itself.
TEST_F(RecorderTest, ACopyInFlightIsNotWaitedFor) {
  alignas(8) char host[4096] = {};
  alignas(8) char device[64];
  std::memset(device, 3, sizeof(device));
  state_.stream = StreamState::kBusy;
  recorder_->buffers().host_registered(host, sizeof(host), 0);
  device_memory(device, sizeof(device));
  Work work;
  RawCopy raw;
  raw.destination.address = reinterpret_cast<uint64_t>(host + 64);
  raw.source.address = reinterpret_cast<uint64_t>(device);
  raw.width_bytes = 64;
  work.raw = raw;
  work.call = "hipMemcpyAsync";
  work.knows = Knows::BY_ARGUMENT;
  recorder_->work().prepare(work);
  recorder_->commit(work);
  std::memset(host + 64, 3, 64);  // the copy
  host[10] = 1;                   // the program, beside it
  recorder_->streams().synchronized(format::SynchronizeKind::kDevice, nullptr);
  host[70] = 9;  // the program, which knows that the copy is done
  state_.stream = StreamState::kIdle;
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_THAT(writes, SizeIs(2));
  EXPECT_EQ(writes[0].offset_bytes, 8u);  // whole words
  EXPECT_EQ(writes[0].content.size_bytes, 8u);
  EXPECT_EQ(writes[1].offset_bytes, 0u);
  EXPECT_TRUE(actions<format::Copy>(*trace)[0].asynchronous);
}

// A host function runs, and tells another thread, before the call that issued it has returned.
TEST_F(RecorderTest, AHostFunctionThatRanOrdersWhatIsIssuedNext) {
  alignas(8) char data[16] = {};
  device_memory(data, sizeof(data));
  recorder_->streams().stream_created(handle(10), 1, 0);
  recorder_->streams().stream_created(handle(11), 1, 0);
  std::shared_ptr<HostCall> wrapped =
      recorder_->host_runs().wrap_host_function(data, data + 1, false);
  ASSERT_TRUE(wrapped);
  Work work;
  work.raw = RawHostFunction{"hipStreamAddCallback", wrapped};
  work.stream = handle(10);
  work.call = "hipStreamAddCallback";
  recorder_->work().prepare(work);
  const HostRuns::HostRun run = recorder_->host_runs().host_function_runs(*wrapped);
  EXPECT_EQ(run.keep, wrapped);
  memset_work(data, 16, handle(11));
  recorder_->host_runs().host_function_ran(run);
  recorder_->commit(work);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto functions = actions<format::HostFunction>(*trace);
  ASSERT_THAT(functions, SizeIs(1));
  EXPECT_EQ(functions[0].id, 1u);
  std::string order;
  for (const format::Event& event : trace->events()) {
    if (std::holds_alternative<format::HostFunction>(event.action)) order += "function ";
    if (std::holds_alternative<format::Memset>(event.action)) order += "memset ";
    if (const auto* known = std::get_if<format::Synchronize>(&event.action)) {
      EXPECT_EQ(known->kind, format::SynchronizeKind::kHostFunction);
      order += "known ";
    }
  }
  EXPECT_EQ(order, "function known memset ");
}

TEST_F(RecorderTest, ARefusedHostFunctionLeavesNothing) {
  recorder_->streams().stream_created(handle(10), 1, 0);
  std::shared_ptr<HostCall> wrapped =
      recorder_->host_runs().wrap_host_function(&state_, nullptr, false);
  {
    Work work;
    work.raw = RawHostFunction{"hipStreamAddCallback", wrapped};
    work.stream = handle(10);
    work.call = "hipStreamAddCallback";
    recorder_->work().prepare(work);
  }
  EXPECT_EQ(wrapped.use_count(), 1);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::HostFunction>(*trace), SizeIs(0));
}

// HIP may have refused the copy: only afterwards is its source known to be readable.
TEST_F(RecorderTest, ARefusedCopysSourceIsNeverRead) {
  alignas(8) char device[64] = {};
  device_memory(device, sizeof(device));
  Work work;
  RawCopy raw;
  raw.destination.address = reinterpret_cast<uint64_t>(device);
  raw.source.address = 8;
  raw.width_bytes = 64;
  work.raw = raw;
  work.call = "hipMemcpy";
  recorder_->work().prepare(work);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Copy>(*trace), SizeIs(0));
}

TEST_F(RecorderTest, WhatADeviceWritesIsNoHostWrite) {
  std::vector<char> host(4096, 0);
  alignas(8) char device[64];
  std::memset(device, 3, sizeof(device));
  recorder_->buffers().host_registered(host.data(), host.size(), 0);
  device_memory(device, sizeof(device));
  copy(host.data(), device, 64);  // what the copy writes is known
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0));
}

TEST_F(RecorderTest, ReceivedBytesAreKept) {
  alignas(8) char device[64] = {1, 2, 3};
  char host[64] = {};
  device_memory(device, sizeof(device));
  copy(host, device, 64);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_EQ(copies[0].host_result.size_bytes, 64u);
  EXPECT_TRUE(copies[0].host_result.blob);
}

TEST_F(RecorderTest, UnknownDeviceMemoryMakesTheTraceIncomplete) {
  char source[8] = {};
  char target[8] = {};
  copy(target, source, 8, MemorySide::kDevice);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  EXPECT_EQ(trace->findings()[0].call, "hipMemcpy");
  EXPECT_THAT(actions<format::Copy>(*trace), SizeIs(0));
}

TEST_F(RecorderTest, HostToHostCopiesAreNoDeviceWork) {
  char source[8] = {};
  char target[8] = {};
  copy(target, source, 8);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Copy>(*trace), SizeIs(0));
}

TEST_F(RecorderTest, FindingsAreCounted) {
  for (int i = 0; i < 3; ++i) recorder_->note_incomplete("hipMemcpyToArray");
  recorder_->note("something", "else");
  const auto trace = finish();
  ASSERT_TRUE(trace);
  uint64_t count = 0;
  for (const format::Finding& finding : trace->findings()) {
    if (finding.call == "hipMemcpyToArray") count += finding.count;
  }
  EXPECT_EQ(count, 3u);
  const Report report = parse_report(read_text(folder_.path() / "report"));
  EXPECT_TRUE(report.sealed);
  EXPECT_THAT(report.incomplete, ElementsAre("hipMemcpyToArray (3 times)"));
  EXPECT_THAT(report.notes, ElementsAre("something: else (1 time)"));
}

TEST_F(RecorderTest, HashOnlyAndNoContent) {
  alignas(8) uint64_t data[4] = {1, 2, 3, 4};
  for (const PostState post : {PostState::kHash, PostState::kNone}) {
    Options options;
    options.post = post;
    make(options);
    device_memory(data, sizeof(data));
    const auto trace = finish();
    ASSERT_TRUE(trace);
    const auto ends = actions<format::AllocationEnd>(*trace);
    ASSERT_THAT(ends, SizeIs(1));
    EXPECT_FALSE(ends[0].post.stored);
    EXPECT_EQ(static_cast<bool>(ends[0].post.hash), post == PostState::kHash);
    EXPECT_TRUE(actions<format::AllocationBegin>(*trace)[0].initial.stored);
    std::filesystem::remove(path());
  }
}

TEST_F(RecorderTest, CheckpointsFollowEveryPieceOfWork) {
  Options options;
  options.checkpoints = true;
  make(options);
  alignas(8) char data[16] = {};
  device_memory(data, sizeof(data));
  memset_work(data, 16);
  memset_work(data, 8);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto checkpoints = actions<format::Checkpoint>(*trace);
  ASSERT_THAT(checkpoints, SizeIs(2));
  EXPECT_THAT(checkpoints[0].states, SizeIs(1));
}

TEST_F(RecorderTest, StreamsEventsAndSynchronisation) {
  recorder_->streams().stream_created(handle(10), 1, -1);
  recorder_->streams().event_created(handle(20), 2);
  recorder_->streams().event_recorded(handle(20), handle(10));
  recorder_->streams().stream_waits(nullptr, handle(20), 0);
  recorder_->streams().event_recorded(handle(99), per_thread_stream());
  recorder_->streams().synchronized(format::SynchronizeKind::kEvent, handle(20));
  const LeavingStream left = recorder_->streams().stream_leaves(handle(10));
  recorder_->streams().stream_created(handle(10), 0,
                                      0);  // by another thread, which got the handle again
  recorder_->streams().stream_destroyed(left, true);
  recorder_->streams().stream_destroyed(recorder_->streams().stream_leaves(handle(10)), false);
  recorder_->streams().stream_destroyed(recorder_->streams().stream_leaves(handle(11)),
                                        true);  // none
  recorder_->streams().event_destroyed(handle(20));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::StreamCreate>(*trace), SizeIs(3));
  const auto ends = actions<format::StreamDestroy>(*trace);
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(ends[0].id, 1u);
  EXPECT_EQ(ends[1].id, 3u);
  const auto waits = actions<format::Synchronize>(*trace);
  ASSERT_THAT(waits, SizeIs(2));
  EXPECT_EQ(waits[1].kind, format::SynchronizeKind::kStream) << "it waits for that stream alone";
  EXPECT_EQ(waits[1].object, 1u);
  EXPECT_THAT(actions<format::EventCreate>(*trace), SizeIs(2));
  const auto records = actions<format::EventRecord>(*trace);
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].stream, 1u);
  EXPECT_EQ(records[1].stream, 2u);
  EXPECT_EQ(actions<format::StreamWait>(*trace)[0].stream, 0u);
}

TEST_F(RecorderTest, WorkThatDoesNotEndIsGivenUpOn) {
  state_.synchronizes = false;
  alignas(8) char data[16] = {};
  device_memory(data, sizeof(data));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::AllocationEnd>(*trace), SizeIs(0));
  EXPECT_FALSE(trace->findings().empty());
}

TEST_F(RecorderTest, UnreadableMemoryIsUnknownNotWrong) {
  state_.readable = false;
  alignas(8) char data[16] = {};
  device_memory(data, sizeof(data));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(actions<format::AllocationEnd>(*trace)[0].post.stored);
}

TEST_F(RecorderTest, AnOutputThatCannotBeWrittenStopsTheRecordingOnly) {
  Options options;
  options.output = "/proc/no/such/folder/t.gfxg";
  options.status_folder = folder_.path().string();
  Recorder broken(options, std::make_unique<FakeDevice>(state_));
  broken.begin();
  EXPECT_FALSE(broken.active());
  broken.note_incomplete("anything");
  broken.finish();
  const Report report = parse_report(read_text(folder_.path() / "report"));
  EXPECT_FALSE(report.sealed);
  EXPECT_FALSE(report.error.empty());
}

TEST_F(RecorderTest, AForkedChildLeavesTheFileToTheParent) {
  alignas(8) char data[16] = {};
  device_memory(data, sizeof(data));
  const pid_t child = fork();
  if (child == 0) {
    recorder_->abandon();
    recorder_->note_incomplete("in the child");
    recorder_->finish();
    _exit(recorder_->active() || std::filesystem::exists(path()) ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::AllocationEnd>(*trace), SizeIs(1));
}

}  // namespace
}  // namespace gfxgraph::recorder

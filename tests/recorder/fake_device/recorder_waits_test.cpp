// Which calls of the program are waits: asked of the runtimes by program_waits.hip and
// program_array_waits.hip.
#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <thread>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

TEST_F(RecorderTest, CallsThatReturnAtOnceAreNoWaits) {
  struct Row {
    int32_t version;
    bool copy_waits, staged, rows_wait;
  };
  alignas(8) char data[64] = {};
  std::vector<char> plain((1 << 20) + 1);
  std::vector<char> large(plain.size());
  for (const auto& [version, copy_waits, staged, rows_wait] :
       {Row{50'221'153, true, false, false}, Row{50'731'921, false, false, true},
        Row{60'443'484, false, true, true}, Row{70'253'211, false, true, true}}) {
    SCOPED_TRACE(version);
    state_.runtime_version = version;
    std::filesystem::remove(path());
    make({});
    device_memory(data, sizeof(data));
    device_memory(large.data(), large.size());
    const auto waits = [&](auto raw, const char* call, Knows knows) {
      Work work;
      work.raw = raw;
      work.call = call;
      work.knows = knows;
      recorder_->work().prepare(work);
      const bool waited = work.host_waits;
      recorder_->commit(work);
      return waited;
    };
    RawMemset set;
    set.address = reinterpret_cast<uint64_t>(data);
    set.width_elements = 8;
    EXPECT_TRUE(waits(set, "hipMemset", Knows::STREAM));
    RawCopy between;
    between.destination.address = reinterpret_cast<uint64_t>(data);
    between.source.address = between.destination.address + 32;
    between.width_bytes = 16;
    EXPECT_EQ(waits(between, "hipMemcpy", Knows::STREAM), copy_waits);
    RawCopy from_host;
    from_host.destination.address = reinterpret_cast<uint64_t>(large.data());
    from_host.source.address = reinterpret_cast<uint64_t>(plain.data());
    from_host.width_bytes = 1 << 20;
    EXPECT_TRUE(waits(from_host, "hipMemcpy", Knows::STREAM));
    EXPECT_EQ(waits(from_host, "hipMemcpyAsync", Knows::BY_ARGUMENT), !staged);
    ++from_host.width_bytes;
    EXPECT_TRUE(waits(from_host, "hipMemcpyAsync", Knows::BY_ARGUMENT));
    from_host.width_bytes = 16;
    from_host.height = 4;
    from_host.destination.pitch_bytes = from_host.source.pitch_bytes = 64;
    EXPECT_EQ(waits(from_host, "hipMemcpy2DAsync", Knows::BY_ARGUMENT), version < 70'000'000);
    RawCopy plain_alone;
    plain_alone.destination.address = reinterpret_cast<uint64_t>(plain.data());
    plain_alone.source.address = plain_alone.destination.address + 4096;
    plain_alone.width_bytes = 16;
    EXPECT_TRUE(waits(plain_alone, "hipMemcpy", Knows::STREAM));
    plain_alone.height = 4;
    plain_alone.destination.pitch_bytes = plain_alone.source.pitch_bytes = 64;
    EXPECT_EQ(waits(plain_alone, "hipMemcpy2D", Knows::STREAM), rows_wait);
    EXPECT_EQ(waits(plain_alone, "hipMemcpy2DAsync", Knows::BY_ARGUMENT), rows_wait);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(actions<format::Copy>(*trace)[0].asynchronous, !copy_waits);
    EXPECT_EQ(actions<format::Copy>(*trace)[2].asynchronous, staged);
  }
}

// Of device memory only: copies from and to plain memory are right.
TEST_F(RecorderTest, CopiesOfArraysThatTakeOtherBytesAreNamed) {
  struct Row {
    int32_t version;
    bool middle, rows, pitch;
  };
  alignas(8) char data[256] = {};
  char plain[256] = {};
  for (const auto& [version, middle, rows, pitch] :
       {Row{50'221'153, true, true, true}, Row{50'731'921, true, true, false},
        Row{60'443'484, true, false, false}, Row{70'253'211, true, false, false},
        Row{80'000'000, false, false, false}}) {
    SCOPED_TRACE(version);
    state_.runtime_version = version;
    for (char* const memory : {data, plain}) {
      const auto named = [&](uint64_t offset, uint64_t rows_bytes, uint64_t pitch_bytes) {
        std::filesystem::remove(path());
        make({});
        device_memory(data, sizeof(data));
        format::ArrayShape shape;
        shape.width = shape.height = 4;
        shape.format.bits = {32, 0, 0, 0};
        recorder_->arrays().created(handle(1), shape, "hipMallocArray");
        ArrayCalls::Place place;
        EXPECT_TRUE(recorder_->arrays().find(handle(1), place));
        RawCopy raw;
        raw.width_bytes = 16;
        raw.height = 2;
        raw.source = {.address = place.address, .pitch_bytes = 16, .slice_bytes = 64};
        const auto pointer = reinterpret_cast<uint64_t>(memory) + offset;
        raw.destination = {.address = pointer + rows_bytes,
                           .pitch_bytes = pitch_bytes,
                           .pointer = pointer,
                           .rows_bytes = rows_bytes};
        Work work;
        work.raw = raw;
        work.call = "hipMemcpy3D";
        recorder_->work().prepare(work);
        recorder_->commit(work);
        const auto trace = finish();
        return std::ranges::any_of(trace->findings(), [](const format::Finding& one) {
          return one.kind == format::FindingKind::kIncomplete;
        });
      };
      const bool known = memory == data;
      EXPECT_FALSE(named(0, 0, 16));
      EXPECT_EQ(named(16, 0, 16), known && middle);
      EXPECT_EQ(named(0, 16, 16), known && rows);
      EXPECT_EQ(named(0, 0, 24), known && pitch);
    }
  }
}

// Measured by program_array_waits: HIP's copies from and to arrays wait more often than others.
TEST_F(RecorderTest, CopiesOfArraysAreWaits) {
  struct Row {
    int32_t version;
    bool always, rows_wait;
  };
  alignas(8) char data[64] = {};
  char plain[64] = {};
  for (const auto& [version, always, rows_wait] :
       {Row{50'221'153, true, true}, Row{50'731'921, false, true}, Row{60'443'484, false, true},
        Row{70'253'211, false, false}}) {
    SCOPED_TRACE(version);
    state_.runtime_version = version;
    std::filesystem::remove(path());
    make({});
    device_memory(data, sizeof(data));
    format::ArrayShape shape;
    shape.width = shape.height = 4;
    shape.format.bits = {32, 0, 0, 0};
    recorder_->arrays().created(handle(1), shape, "hipMallocArray");
    ArrayCalls::Place place;
    ASSERT_TRUE(recorder_->arrays().find(handle(1), place));
    const auto waits = [&](uint64_t to, uint64_t from, Knows knows) {
      Work work;
      RawCopy raw;
      raw.width_bytes = 16;
      raw.height = 4;
      raw.destination = {.address = to, .pitch_bytes = 16};
      raw.source = {.address = from, .pitch_bytes = 16};
      (to == place.address ? raw.destination : raw.source).slice_bytes = 64;
      work.raw = raw;
      work.call = "hipMemcpy2DToArray";
      work.knows = knows;
      recorder_->work().prepare(work);
      const bool waited = work.host_waits;
      recorder_->commit(work);
      return waited;
    };
    const auto device = reinterpret_cast<uint64_t>(data), host = reinterpret_cast<uint64_t>(plain);
    EXPECT_TRUE(waits(place.address, device, Knows::STREAM));
    EXPECT_TRUE(waits(device, place.address, Knows::STREAM));
    EXPECT_TRUE(waits(place.address, host, Knows::STREAM));
    EXPECT_EQ(waits(place.address, device, Knows::BY_ARGUMENT), always);
    EXPECT_EQ(waits(device, place.address, Knows::BY_ARGUMENT), always);
    EXPECT_EQ(waits(place.address, host, Knows::BY_ARGUMENT), rows_wait);
    EXPECT_TRUE(waits(host, place.address, Knows::BY_ARGUMENT));
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_THAT(actions<format::Copy>(*trace), SizeIs(7));
  }
}

// No bytes, no rows: no runtime waits then, whatever the row of the call says.
TEST_F(RecorderTest, CallsWithNothingToDoAreNoWaits) {
  alignas(8) char data[64] = {};
  device_memory(data, sizeof(data));
  const auto waits = [&](auto raw, Knows knows) {
    Work work;
    work.raw = raw;
    work.call = "hipMemcpy2D";
    work.knows = knows;
    work.host_waits = true;  // as device_work() has it of the row
    recorder_->work().prepare(work);
    const bool waited = work.host_waits;
    recorder_->commit(work);
    return waited;
  };
  char host[64] = {};
  RawCopy copy;
  copy.destination.address = reinterpret_cast<uint64_t>(data);
  copy.source.address = reinterpret_cast<uint64_t>(host);
  RawMemset set;
  set.address = copy.destination.address;
  for (const Knows knows : {Knows::STREAM, Knows::BY_ARGUMENT}) {
    for (const auto& [width, height, depth] :
         {std::array<uint64_t, 3>{0, 1, 1}, {8, 0, 1}, {8, 1, 0}}) {
      copy.width_bytes = set.width_elements = width;
      copy.height = set.height = height;
      copy.depth = set.depth = depth;
      EXPECT_FALSE(waits(copy, knows));
      EXPECT_FALSE(waits(set, knows));
    }
  }
  copy.width_bytes = set.width_elements = 8;
  copy.depth = set.depth = 1;
  EXPECT_TRUE(waits(copy, Knows::STREAM));
  EXPECT_TRUE(waits(set, Knows::STREAM));
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::Copy>(*trace), SizeIs(1));
  EXPECT_THAT(actions<format::Memset>(*trace), SizeIs(1));
}

TEST_F(RecorderTest, UnregisteringWaitsForMoreOnLaterRuntimes) {
  for (const auto& [version, kind] : {std::pair{50'221'153, format::SynchronizeKind::kStream},
                                      {50'731'921, format::SynchronizeKind::kDevice},
                                      {60'443'484, format::SynchronizeKind::kDevice},
                                      {70'253'211, format::SynchronizeKind::kDevice}}) {
    SCOPED_TRACE(version);
    state_.runtime_version = version;
    std::filesystem::remove(path());
    make({});
    for (const char* call : {"hipHostUnregister", "hipFreeArray", "hipArrayDestroy"})
      recorder_->streams().synchronized(format::SynchronizeKind::kStream, nullptr, call);
    recorder_->streams().synchronized(format::SynchronizeKind::kStream, nullptr,
                                      "hipStreamSynchronize");
    const auto trace = finish();
    ASSERT_TRUE(trace);
    const auto waits = actions<format::Synchronize>(*trace);
    ASSERT_THAT(waits, SizeIs(4));
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(waits[i].kind, kind) << waits[i].call;
    EXPECT_EQ(waits[3].kind, format::SynchronizeKind::kStream);
  }
}

TEST_F(RecorderTest, AStreamIsWaitedForByItselfOnLaterRuntimes) {
  using enum format::SynchronizeKind;
  for (const auto& [version, kind] : {std::pair{50'221'153, kStream},
                                      {50'731'921, kStream},
                                      {60'443'484, kStreamItself},
                                      {70'253'211, kStreamItself}}) {
    SCOPED_TRACE(version);
    state_.runtime_version = version;
    std::filesystem::remove(path());
    make({});
    recorder_->streams().stream_created(handle(10), 0, 0);
    recorder_->streams().stream_created(handle(11), 1, 0);
    alignas(256) static char device[64];
    device_memory(device, sizeof(device));
    const auto memset_on = [&](Handle stream) {
      Work work;
      RawMemset raw;
      raw.address = reinterpret_cast<uint64_t>(device);
      raw.width_elements = 4;
      work.raw = raw;
      work.stream = stream;
      work.call = "hipMemsetAsync";
      recorder_->work().prepare(work);
      recorder_->commit(work);
    };
    for (const char* call : {"hipStreamSynchronize", "hipStreamQuery"}) {
      recorder_->streams().synchronized(kStream, handle(10), call);
      memset_on(nullptr);
      for (const Handle stream : {handle(10), handle(11), Handle{nullptr}})
        recorder_->streams().synchronized(kStream, stream, call);
      memset_on(handle(10));  // follows the null stream's
    }
    memset_on(nullptr);
    recorder_->streams().event_created(handle(20), 0);
    for (int i = 0; i < 2; ++i)
      recorder_->streams().stream_waits(handle(10), handle(20), 0);  // does not
    recorder_->streams().synchronized(kStream, handle(10), "hipStreamSynchronize");
    memset_on(handle(10));
    memset_on(nullptr);
    for (const Handle stream : {handle(10), handle(11)})
      recorder_->streams().stream_destroyed(recorder_->streams().stream_leaves(stream), true);
    const auto trace = finish();
    ASSERT_TRUE(trace);
    std::vector<format::SynchronizeKind> kinds;
    for (const auto& wait : actions<format::Synchronize>(*trace)) kinds.push_back(wait.kind);
    EXPECT_EQ(kinds, (std::vector{kStream, kind, kStream, kStream, kStream, kind, kStream, kStream,
                                  kind, kStreamItself, kStream}));
  }
}

class RecorderOwnWaitsTest : public RecorderHostMemoryTest {
 protected:
  void free_memory(void* memory) {
    recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(memory)),
                               true);
  }
  static bool known(const Trace& trace, format::AllocationId id) {
    for (const auto& end : actions<format::AllocationEnd>(trace)) {
      if (end.id == id) return static_cast<bool>(end.post.hash);
    }
    return false;
  }
  // A kernel with a variable, and that variable.
  void variable_of_module() {
    state_.symbol = &variable_;
    recorder_->code().global_found(this, "module_counter", reinterpret_cast<uint64_t>(&variable_),
                                   sizeof(variable_));
  }
  std::shared_ptr<const Trace> idle_and_finish() {
    state_.stream = StreamState::kIdle;
    return finish();
  }

  alignas(8) uint32_t variable_ = 5;
  alignas(8) char device_[64] = {};
};

// What the device waits for may be another thread's call.
TEST_F(RecorderOwnWaitsTest, AFreeWaitsWithoutALimitAndWithoutTheLock) {
  device_memory(device_, sizeof(device_));
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  launch(host_);
  state_.waits.clear();
  std::thread other;
  state_.during_wait = [&] {
    std::promise<void> done;
    std::future<void> went_on = done.get_future();
    other = std::thread([&, done = std::move(done)]() mutable {
      memset_work(host_ + 4096, 16, handle(11));
      done.set_value();
    });
    EXPECT_EQ(went_on.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  };
  free_memory(device_);
  if (other.joinable()) other.join();
  EXPECT_EQ(state_.waits, std::vector<uint32_t>{0});
  const auto trace = idle_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(trace->findings(), SizeIs(0));
  EXPECT_TRUE(known(*trace, 1));
}

// It was not waited for, and goes on to write.
TEST_F(RecorderOwnWaitsTest, AKernelLaunchedDuringTheWaitIsInFlightAfterIt) {
  device_memory(device_, sizeof(device_));
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  state_.during_wait = [&] { launch(host_, handle(11)); };
  free_memory(device_);
  during_wait_ = [&] { host_[0] = 1; };
  wait(handle(11));
  const auto trace = idle_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(0)) << "the kernel's";
}

// Another thread freed it meanwhile: no legal program, but nothing of it may be used.
TEST_F(RecorderOwnWaitsTest, MemoryThatEndsDuringTheWaitEndsOnce) {
  device_memory(device_, sizeof(device_));
  state_.during_wait = [&] { free_memory(device_); };
  free_memory(device_);
  const auto trace = idle_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::AllocationEnd>(*trace), SizeIs(1));
}

TEST_F(RecorderOwnWaitsTest, UnregisteringWaitsForNothing) {
  std::filesystem::remove(path());
  state_.runtime_version = 50'221'153;
  SetUp();
  recorder_->streams().call_begins();
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);    // 1
  recorder_->buffers().host_registered(other_, sizeof(other_), 0);  // 2
  launch(other_);
  wait();
  launch(host_);  // in flight, and may not write other_ but by an address that it found
  state_.waits.clear();
  other_[5] = 7;
  recorder_->buffers().host_unregistered(reinterpret_cast<uint64_t>(other_), true);
  recorder_->buffers().host_unregistered(reinterpret_cast<uint64_t>(host_), true);
  EXPECT_THAT(state_.waits, SizeIs(0));
  const auto trace = idle_and_finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_FALSE(known(*trace, 1));
  EXPECT_TRUE(known(*trace, 2));
  EXPECT_THAT(actions<format::HostWrite>(*trace), SizeIs(1));
}

// HIP 5.2.3 waits for the null stream, and the kernel runs on another one.
TEST_F(RecorderOwnWaitsTest, MemoryOfAKernelInFlightEndsUnknownAndNamed) {
  for (const bool idle : {false, true}) {
    SCOPED_TRACE(idle);
    std::filesystem::remove(path());
    state_.runtime_version = 50'221'153;
    SetUp();
    recorder_->streams().call_begins();
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    launch(host_);
    if (idle) state_.stream = StreamState::kIdle;
    recorder_->buffers().host_unregistered(reinterpret_cast<uint64_t>(host_), true);
    const auto trace = idle_and_finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    EXPECT_EQ(known(*trace, 1), idle);
    const bool named = std::ranges::any_of(trace->findings(), [](const format::Finding& one) {
      return one.call == "hipHostUnregister";
    });
    EXPECT_EQ(named, !idle);
  }
}

// Of a thread's own stream nothing can be asked, but the program has waited for it.
TEST_F(RecorderOwnWaitsTest, WhatTheProgramHasWaitedForIsNotAsked) {
  for (const bool waited : {false, true}) {
    for (const auto kind : {format::SynchronizeKind::kDevice, format::SynchronizeKind::kStream}) {
      SCOPED_TRACE(waited);
      std::filesystem::remove(path());
      SetUp();
      recorder_->streams().call_begins();
      variable_of_module();
      device_memory(device_, sizeof(device_));
      Work work;
      RawMemset raw;
      raw.address = reinterpret_cast<uint64_t>(device_);
      raw.width_elements = 8;
      work.raw = raw;
      work.stream = per_thread_stream();
      work.call = "hipMemsetAsync";
      recorder_->work().prepare(work);
      recorder_->commit(work);
      if (waited) {  // as the hook does it
        recorder_->streams().call_begins();
        recorder_->streams().host_may_learn();
      }
      recorder_->streams().synchronized(
          kind, kind == format::SynchronizeKind::kDevice ? nullptr : per_thread_stream());
      recorder_->code().module_unloading(this);
      const auto trace = idle_and_finish();
      ASSERT_TRUE(trace);
      EXPECT_EQ(known(*trace, 1), waited);
    }
  }
}

TEST_F(RecorderTest, AFreedStreamOfAThreadIsNamed) {
  for (const auto& [version, named] : {std::pair{50'731'921, 1}, std::pair{60'443'484, 0}}) {
    SCOPED_TRACE(version);
    state_.runtime_version = version;
    std::filesystem::remove(path());
    make({});
    alignas(8) char data[64] = {};
    const auto work_on = [&](Handle stream) {
      device_memory(data, sizeof(data));
      RawMemset raw;
      raw.address = reinterpret_cast<uint64_t>(data);
      raw.width_elements = 8;
      Work work;
      work.raw = raw;
      work.stream = stream;
      work.call = "hipMemsetAsync";
      recorder_->work().prepare(work);
      recorder_->commit(work);
    };
    work_on(per_thread_stream());
    recorder_->buffers().resetting();
    recorder_->buffers().was_reset();
    std::thread([&] { work_on(per_thread_stream()); }).join();
    work_on(nullptr);
    work_on(per_thread_stream());
    state_.stream = StreamState::kIdle;
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(std::ranges::count(trace->findings(), format::FindingKind::kIncomplete,
                                 &format::Finding::kind),
              named);
  }
}

TEST_F(RecorderOwnWaitsTest, UnloadingAModuleWaitsForNothing) {
  for (const bool idle : {false, true}) {
    SCOPED_TRACE(idle);
    std::filesystem::remove(path());
    SetUp();
    recorder_->streams().call_begins();
    variable_of_module();
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    launch(host_);
    if (idle) state_.stream = StreamState::kIdle;
    state_.waits.clear();
    recorder_->code().module_unloading(this);
    EXPECT_THAT(state_.waits, SizeIs(0));
    const auto trace = idle_and_finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    EXPECT_EQ(known(*trace, 1), idle);
    const bool named = std::ranges::any_of(trace->findings(), [](const format::Finding& one) {
      return one.call == "hipModuleUnload";
    });
    EXPECT_EQ(named, !idle);
  }
}

}  // namespace
}  // namespace gfxgraph::recorder

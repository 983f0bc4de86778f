// Sources of copies that host functions of the program fill.
#include <chrono>
#include <future>
#include <thread>

#include "fmt/format.h"
#include "recorder/objects/devices.h"

#include "tests/recorder/fake_device/effects_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

// Of the copy node that is the trace's only graph; -1: there is none.
int first_byte_of_source(const Trace& trace) {
  if (trace.graphs().size() != 1) return -1;
  const auto& copy = std::get<format::Copy>(trace.graphs()[0].nodes.at(0).action);
  const auto bytes = trace.content(copy.host_source);
  return bytes && !bytes->empty() ? static_cast<int>(bytes->front()) : -1;
}

// The function was issued before the graph, and ends when the launch has returned.
TEST_F(RecorderEffectsTest, APlainSourceOfANodeBehindAFunctionOfTheStreamIsReadWhenThatHasRun) {
  for (const bool follows : {true, false}) {
    SCOPED_TRACE(follows);
    std::filesystem::remove(path());
    SetUp();
    std::memset(other_, 1, 64);
    host_function([&] { std::memset(other_ + (follows ? 0 : 64), 2, 64); },
                  handle(follows ? 10 : 11));
    copy_node(1, device_, MemorySide::kDevice, other_, MemorySide::kHost, 64);
    launch_graph();
    if (!follows) std::memset(other_, 3, 64);  // the program knows that the graph is done
    during_call_();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    EXPECT_EQ(first_byte_of_source(*trace), follows ? 2 : 1);
  }
}

// The device is done before the runtime's thread has left the function.
TEST_F(RecorderEffectsTest, AFunctionThatIsAboutToEndIsWaitedForAtTheEnd) {
  host_function([&] { std::memset(other_, 2, 64); });
  copy_node(1, device_, MemorySide::kDevice, other_, MemorySide::kHost, 64);
  launch_graph();
  std::promise<void> runs;
  std::thread runtime([&] {
    const HostRuns::HostRun run = recorder_->host_runs().host_function_runs(*issued_);
    std::memset(other_, 2, 64);
    runs.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    recorder_->host_runs().host_function_ran(run);
  });
  runs.get_future().wait();
  const auto trace = finish();
  runtime.join();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(first_byte_of_source(*trace), 2);
}

// Bytes that are read when the function has run are the node's only if nothing else may write them.
TEST_F(RecorderEffectsTest, APinnedSourceOfANodeBehindAFunctionOfTheStreamIsWhatThatLeft) {
  for (const bool written : {false, true}) {
    SCOPED_TRACE(written);
    std::filesystem::remove(path());
    SetUp();
    std::memset(host_, 0, sizeof(host_));
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    if (written) async_copy(host_, device_, 64, Knows::NOTHING);
    host_function([&] { host_[100] = 9; });
    copy_node(1, device_, MemorySide::kDevice, host_, MemorySide::kHost, 128);
    launch_graph();
    if (written) std::memset(host_, 5, 64);  // the copy, in time
    during_call_();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    ASSERT_THAT(trace->graphs(), SizeIs(1));
    const auto& node = std::get<format::Copy>(trace->graphs()[0].nodes[0].action);
    const auto copies = actions<format::Copy>(*trace);
    if (written) {
      EXPECT_NE(node.source.allocation, 0u);
      ASSERT_THAT(copies, SizeIs(2)) << "what the function wrote, too";
      const format::Copy& filled = copies[1];
      EXPECT_EQ(filled.destination.allocation, node.source.allocation);
      EXPECT_LE(filled.destination.offset_bytes, 100u);
      EXPECT_GT(filled.destination.offset_bytes + filled.width_bytes, 100u);
      EXPECT_LT(places<format::Copy>(*trace)[1], places<format::GraphLaunch>(*trace)[0]);
    } else {
      EXPECT_EQ(node.source.allocation, 0u);
      const auto bytes = trace->content(node.host_source);
      ASSERT_TRUE(bytes);
      ASSERT_THAT(*bytes, SizeIs(128));
      EXPECT_EQ(static_cast<int>((*bytes)[100]), 9);
    }
  }
}

TEST_F(RecorderEffectsTest, WhatAGraphWritesItCopiesFromThere) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  RawMemset raw;
  raw.address = reinterpret_cast<uint64_t>(host_);
  raw.width_elements = 64;
  function_node(1, [&] { host_[100] = 4; });
  node(2, raw, {handle(1)});
  copy_node(3, device_, MemorySide::kDevice, host_, MemorySide::kHost, 128, {handle(2)});
  launch_graph();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  ASSERT_THAT(trace->graphs(), SizeIs(1));
  const auto* copied = std::get_if<format::Copy>(&trace->graphs()[0].nodes.back().action);
  ASSERT_NE(copied, nullptr);
  EXPECT_NE(copied->source.allocation, 0u);
}

// One end of a copy must be memory that the trace has.
TEST_F(RecorderEffectsTest, ACopyOutOfMemoryThatAFunctionMayFillKeepsItsSource) {
  for (const Knows knows : {Knows::STREAM, Knows::NOTHING}) {
    SCOPED_TRACE(static_cast<int>(knows));
    std::filesystem::remove(path());
    SetUp();
    host_[100] = 0;
    recorder_->buffers().host_registered(host_, sizeof(host_), 0);
    host_function([&] { host_[100] = 9; });
    static char plain[64];
    async_copy(plain, host_ + 96, sizeof(plain), knows);
    during_call_();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    const auto copies = actions<format::Copy>(*trace);
    ASSERT_THAT(copies, SizeIs(2)) << "what the function wrote, and the program's";
    bool out = false;
    bool written = false;
    for (const format::Copy& copy : copies) {
      EXPECT_TRUE(copy.source.allocation != 0 || copy.destination.allocation != 0);
      out = out || copy.source.allocation != 0;
      written = written || copy.destination.offset_bytes == 96;
    }
    EXPECT_TRUE(out);
    EXPECT_TRUE(written) << "the copy may follow the function";
  }
}

TEST_F(RecorderEffectsTest, WhatTheProgramWroteBeforeACopyOutOfItIsNotAFunctionsThatRuns) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  host_[100] = 9;
  host_[5000] = 9;
  static char plain[64];
  host_function([&] { async_copy(plain, host_ + 96, sizeof(plain), Knows::NOTHING); });
  during_call_();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_FALSE(actions<format::HostWrite>(*trace).empty());
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(1));
  EXPECT_NE(copies[0].source.allocation, 0u);
}

// The copy does not follow the function, which may wait for the host to know that it is done.
TEST_F(RecorderEffectsTest, ACopyFromWhatAFunctionWritesBesideItIsIncomplete) {
  for (const bool elsewhere : {false, true}) {
    for (const bool out : {false, true}) {
      SCOPED_TRACE(2 * elsewhere + out);
      std::filesystem::remove(path());
      SetUp();
      std::memset(host_, 0, sizeof(host_));
      recorder_->buffers().host_registered(host_, sizeof(host_), 0);
      static char plain[64];
      char* const to = out ? plain : device_;
      host_function([&] { host_[elsewhere ? 200 : 100] = 9; }, handle(11));
      async_copy(to, host_ + 96, 64, out ? Knows::STREAM : Knows::NOTHING);
      during_call_();
      const auto trace = finish();
      ASSERT_TRUE(trace);
      EXPECT_EQ(trace->complete(), elsewhere);
    }
  }
}

// A piece of pinned memory that the program fills again and again while a function of another
// stream is due, which may run at any time, and write the piece.
TEST_F(RecorderEffectsTest, ACopyBesideAFunctionCarriesWhatTheProgramFilled) {
  enum class Runs { kWhileItIsCopied, kBetween, kAtTheEnd };
  for (const Runs runs : {Runs::kWhileItIsCopied, Runs::kBetween, Runs::kAtTheEnd}) {
    for (const bool writes : {false, true}) {
      SCOPED_TRACE(2 * static_cast<int>(runs) + writes);
      std::filesystem::remove(path());
      SetUp();
      std::memset(host_, 0, sizeof(host_));
      recorder_->buffers().host_registered(host_, sizeof(host_), 0);
      host_function([&] { host_[writes ? 100 : 200] = 9; }, handle(11));
      for (const int filled : {1, 2}) {
        std::memset(host_ + 96, filled, 64);
        async_copy(device_, host_ + 96, 64, Knows::NOTHING);
        if (filled == 1 && runs == Runs::kWhileItIsCopied) during_call_();
        wait();
        if (filled == 1 && runs == Runs::kBetween) during_call_();
      }
      if (runs == Runs::kAtTheEnd) during_call_();
      const auto trace = finish();
      ASSERT_TRUE(trace);
      EXPECT_EQ(trace->complete(), !writes || runs != Runs::kWhileItIsCopied);
      const auto copies = actions<format::Copy>(*trace);
      ASSERT_THAT(copies, SizeIs(2));
      for (const format::Copy& copy : copies) {
        EXPECT_EQ(copy.source.allocation, 0u);
        const auto bytes = trace->content(copy.host_source);
        ASSERT_TRUE(bytes);
        EXPECT_EQ(static_cast<int>(bytes->front()), &copy == copies.data() ? 1 : 2);
      }
    }
  }
}

// Bytes that are read when the function has run are the copy's only if nothing else may write them.
TEST_F(RecorderEffectsTest, ASourceThatWorkStillWritesIsNotReadInItsPlace) {
  recorder_->buffers().host_registered(host_, sizeof(host_), 0);
  async_copy(host_, device_, 64, Knows::NOTHING);
  host_function([] {}, handle(11));
  async_copy(device_ + 256, host_, 64, Knows::NOTHING);
  during_call_();
  std::memset(host_, 5, 64);  // the first copy
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto copies = actions<format::Copy>(*trace);
  ASSERT_THAT(copies, SizeIs(2));
  EXPECT_NE(copies[1].source.allocation, 0u);
}

TEST_F(RecorderEffectsTest, APlainSourceIsReadWhenTheRuntimeReadsIt) {
  for (const int32_t version : {50'221'153, 60'443'483, 70'226'015}) {
    SCOPED_TRACE(version);
    begin_on(version);
    std::memset(other_, 1, 64);
    function_node(1, [&] { std::memset(other_, 2, 64); });
    copy_node(2, device_, MemorySide::kDevice, other_, MemorySide::kHost, 64, {handle(1)});
    launch_graph();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    ASSERT_THAT(trace->graphs(), SizeIs(1));
    const auto& copy = std::get<format::Copy>(trace->graphs()[0].nodes.back().action);
    const auto bytes = trace->content(copy.host_source);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(static_cast<int>((*bytes)[0]), version < 60'000'000 ? 2 : 1);
  }
}

// The copy before it ends first in any case, the function may not.
TEST_F(RecorderEffectsTest, APlainSourceThatItsGraphWroteIsNotReadBehindAFunctionByLaterRuntimes) {
  for (const int32_t version : {50'221'153, 60'443'483, 70'226'015}) {
    SCOPED_TRACE(version);
    begin_on(version);
    copy_node(1, other_, MemorySide::kHost, device_, MemorySide::kDevice, 64);
    function_node(2, [&] { std::memset(other_, 2, 64); }, {handle(1)});
    copy_node(3, device_, MemorySide::kDevice, other_, MemorySide::kHost, 64, {handle(2)});
    launch_graph();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->complete(), version < 60'000'000);
  }
}

// HIP 6.4 takes small sources at the call, whatever their stream has still to do; rows are read
// when the copy runs by 7.2, before the call returns by others.
TEST_F(RecorderEffectsTest, APlainSourceIsReadBeforeFunctionsThatAreStillToCome) {
  struct Case {
    int32_t version;
    bool adopted, waits, rows;  // adopted: the trace has the memory
    int read;                   // 1: before the function wrote 2
  };
  for (const Case& one :
       {Case{60'443'483, false, false, false, 1}, Case{60'443'483, true, false, false, 1},
        Case{60'443'483, false, true, false, 1}, Case{60'443'483, true, true, false, 1},
        Case{60'443'483, false, true, true, 2}, Case{70'253'211, false, false, true, 2},
        Case{70'253'211, false, false, false, 1}, Case{50'221'153, false, true, false, 2}}) {
    SCOPED_TRACE(fmt::format("{} {} {} {}", one.version, one.adopted, one.waits, one.rows));
    begin_on(one.version);
    std::memset(other_, 1, 64);
    if (one.adopted) {
      copy_node(1, other_, MemorySide::kHost, device_, MemorySide::kDevice, 64);
      launch_graph();
    }
    host_function([&] { std::memset(other_, 2, 64); });
    Work work;
    RawCopy raw;
    raw.destination.address = reinterpret_cast<uint64_t>(device_);
    raw.source.address = reinterpret_cast<uint64_t>(other_);
    raw.width_bytes = one.rows ? 32 : 64;
    raw.height = one.rows ? 2 : 1;
    raw.destination.pitch_bytes = raw.source.pitch_bytes = one.rows ? 32 : 0;
    work.raw = raw;
    work.stream = one.waits ? null_stream(0) : handle(10);
    work.call = one.waits ? "hipMemcpy" : "hipMemcpyAsync";
    work.knows = one.waits ? Knows::STREAM : Knows::BY_ARGUMENT;
    recorder_->work().prepare(work);
    if (one.waits) during_call_();
    recorder_->commit(work);
    if (!one.waits) during_call_();
    wait();
    const auto trace = finish();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
    const format::Copy copy = actions<format::Copy>(*trace).back();
    const auto bytes = trace->content(copy.host_source);
    ASSERT_TRUE(bytes && !bytes->empty());
    EXPECT_EQ(static_cast<int>((*bytes)[0]), one.read);
  }
}

TEST_F(RecorderEffectsTest, ASourceThatAFunctionFillsDuringTheCallIsIncomplete) {
  begin_on(60'443'483);
  std::memset(other_, 1, 64);
  host_function([&] { std::memset(other_, 2, 64); });
  Work work;
  RawCopy raw;
  raw.destination.address = reinterpret_cast<uint64_t>(device_);
  raw.source.address = reinterpret_cast<uint64_t>(other_);
  raw.width_bytes = 64;
  work.raw = raw;
  work.stream = handle(10);
  work.call = "hipMemcpyAsync";
  work.knows = Knows::BY_ARGUMENT;
  recorder_->work().prepare(work);
  during_call_();
  recorder_->commit(work);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

}  // namespace
}  // namespace gfxgraph::recorder

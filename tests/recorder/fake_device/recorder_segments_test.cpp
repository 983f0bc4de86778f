// The flight recorder: a row of traces, each of which stands alone.
#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using format::AllocationBegin;
using format::AllocationEnd;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecorderSegmentsTest : public RecorderHostMemoryTest {
 protected:
  void SetUp() override {
    image_ = read_text(MODULE_FILE);
    start("1");
  }
  void start(const std::string& size, bool keep = true, Options options = {}) {
    options.flight_recorder = size;
    options.keep_segments = keep;
    if (recorder_) recorder_->finish();
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      std::filesystem::remove_all(file.path());
    }
    make(options);
    call([&] { begin(); });
    state_.stream = StreamState::kIdle;
  }
  // As an outermost call of the program.
  void call(const std::function<void()>& body) {
    recorder_->gate()->enter();
    recorder_->streams().call_begins();
    body();
    recorder_->gate()->leave();
  }
  void launch_call(const LaunchCall& launch, const std::function<void()>& body,
                   bool success = true) {
    call([&] {
      const LaunchTurn turn = recorder_->turns().begins(launch);
      body();
      recorder_->turns().ended(launch, turn, success);
    });
  }
  void kernel(void* address, Handle stream = handle(10), Handle function = handle(2)) {
    int by = 3;
    void* params[] = {&address, &by};
    call([&] { launch_function({.function = function, .stream = stream}, params); });
  }
  void fill(void* memory, size_t bytes, int value = 7) {
    call([&] { memset_work(memory, bytes); });
    std::memset(memory, value, bytes);
  }

  std::string file(const std::string& word) const {
    return (folder_.path() / ("t" + (word.empty() ? "" : "." + word) + ".gfxg")).string();
  }
  std::string kept(size_t number) const { return file("kept-" + std::to_string(number)); }
  static std::shared_ptr<const Trace> open(const std::string& path) {
    auto trace = Trace::open(path);
    EXPECT_TRUE(trace) << path << (trace ? "" : ": " + trace.error().message);
    return trace ? *trace : nullptr;
  }
  // All of them, the last one at the end; each of them sealed.
  std::vector<std::shared_ptr<const Trace>> all() {
    std::vector<std::shared_ptr<const Trace>> traces;
    for (size_t number = 1; std::filesystem::exists(kept(number)); ++number) {
      traces.push_back(open(kept(number)));
    }
    traces.push_back(finish());
    return traces;
  }
  static size_t launches(const std::shared_ptr<const Trace>& trace) {
    return actions<format::Launch>(*trace).size();
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& one : std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = one.path().filename().string();
      if (name.starts_with("t.")) names.insert(name);
    }
    return names;
  }
  static int first_byte(const Trace& trace, const format::Content& content) {
    const auto bytes = trace.content(content);
    return bytes && !bytes->empty() ? static_cast<int>((*bytes)[0]) : -1;
  }

  alignas(256) uint64_t a_[32] = {};
  alignas(256) uint64_t b_[32] = {};
};

TEST_F(RecorderSegmentsTest, SizesAreLaunchesOrBytes) {
  EXPECT_EQ(parse_segment_size("5000")->launches, 5000u);
  EXPECT_EQ(parse_segment_size("64MiB")->bytes, 64u << 20);
  EXPECT_EQ(parse_segment_size("3KiB")->bytes, 3u << 10);
  EXPECT_EQ(parse_segment_size("2GiB")->bytes, 2ull << 30);
  for (const char* wrong : {"", "0", "0MiB", "MiB", "-1", "5000 ", "64MB", "64mib", "1.5GiB", "x",
                            "99999999999999999999", "99999999999999GiB"}) {
    EXPECT_FALSE(parse_segment_size(wrong)) << wrong;
  }
}

TEST_F(RecorderSegmentsTest, EachLaunchAlone) {
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 5; ++i) {
    kernel(a_);
    a_[0] = static_cast<uint64_t>(i) + 1;  // what it did
  }
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(5));
  for (size_t i = 0; i < traces.size(); ++i) {
    EXPECT_TRUE(traces[i]->complete()) << i;
    EXPECT_EQ(launches(traces[i]), 1u) << i;
    EXPECT_THAT(traces[i]->kernels(), SizeIs(1));
    EXPECT_THAT(traces[i]->code_objects(), SizeIs(1));
    const auto begins = actions<AllocationBegin>(*traces[i]);
    ASSERT_THAT(begins, SizeIs(1)) << i;
    EXPECT_EQ(begins[0].id, 1u);
    EXPECT_EQ(first_byte(*traces[i], begins[0].initial), static_cast<int>(i));
    const auto ends = actions<AllocationEnd>(*traces[i]);
    ASSERT_THAT(ends, SizeIs(1)) << i;
    EXPECT_EQ(first_byte(*traces[i], ends[0].post), static_cast<int>(i) + 1);
    EXPECT_EQ(traces[i]->environment().device_name, "fake");
    EXPECT_EQ(traces[i]->environment().start_unix_ns, traces[0]->environment().start_unix_ns);
  }
}

TEST_F(RecorderSegmentsTest, SevenLaunchesEach) {
  start("7");
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 23; ++i) {
    kernel(a_);
    fill(b_, 8);  // in no allocation: said by name
  }
  std::vector<size_t> counts;
  for (const auto& trace : all()) counts.push_back(launches(trace));
  EXPECT_THAT(counts, ElementsAre(7, 7, 7, 2));
}

TEST_F(RecorderSegmentsTest, TheLastTwoStay) {
  start("2", false);
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 9; ++i) {
    kernel(a_);
    a_[0] = static_cast<uint64_t>(i) + 1;
  }
  EXPECT_THAT(files(), ElementsAre("t.gfxg.partial", "t.previous.gfxg"));
  const auto last = finish();
  EXPECT_THAT(files(), ElementsAre("t.gfxg", "t.previous.gfxg"));
  const auto before = open(file("previous"));
  EXPECT_EQ(launches(last), 1u);
  EXPECT_EQ(launches(before), 2u);
  EXPECT_EQ(first_byte(*before, actions<AllocationBegin>(*before)[0].initial), 6);
  EXPECT_THAT(read_segment_list(segment_list(folder_.path(), "")), ElementsAre(file("previous")));
}

// Who killed the process left the one before, and what recover reads of the last.
TEST_F(RecorderSegmentsTest, TheFileAtHandCanBeRead) {
  start("2", false);
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 5; ++i) kernel(a_);
  recorder_->flush();
  const auto torn = Trace::open(path() + ".partial", {.allow_torn = true});
  ASSERT_TRUE(torn);
  EXPECT_EQ(launches(*torn), 1u);
  EXPECT_EQ(launches(open(file("previous"))), 2u);
}

// A program that took the name of one of the files keeps its own.
TEST_F(RecorderSegmentsTest, FilesOfOthersStay) {
  start("1", false);
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 3; ++i) kernel(a_);
  std::filesystem::remove(file("previous"));
  std::ofstream(file("previous")) << "mine";
  for (int i = 0; i < 3; ++i) kernel(a_);
  (void)finish();
  EXPECT_TRUE(read_text(file("previous")) == "mine");
  EXPECT_THAT(files(), ElementsAre("t.gfxg", "t.previous-2.gfxg", "t.previous.gfxg"));
  EXPECT_EQ(launches(open(file("previous-2"))), 1u);
}

TEST_F(RecorderSegmentsTest, StreamsAndEventsAreDescribedInEach) {
  device_memory(a_, sizeof(a_));
  recorder_->streams().event_created(handle(20), 2);
  for (int i = 0; i < 3; ++i) {
    kernel(a_, handle(10));
    call([&] { recorder_->streams().event_recorded(handle(20), handle(10)); });
    call([&] { recorder_->streams().stream_waits(handle(11), handle(20), 0); });
    call([&] { recorder_->streams().event_recorded(handle(20), nullptr); });
  }
  for (const auto& trace : all()) {
    EXPECT_TRUE(trace->complete());
    const auto streams = actions<format::StreamCreate>(*trace);
    ASSERT_THAT(streams, SizeIs(2));
    EXPECT_EQ(streams[0].id, 1u);
    EXPECT_EQ(streams[0].flags, 1u) << "as it was made";
    const auto events = actions<format::EventCreate>(*trace);
    ASSERT_THAT(events, SizeIs(1));
    EXPECT_EQ(events[0].flags, 2u);
  }
}

// A word in memory that led to memory which is gone, and another one has its number.
TEST_F(RecorderSegmentsTest, NumbersOfFreedMemoryLeadNowhere) {
  device_memory(a_, sizeof(a_));
  device_memory(b_, sizeof(b_));
  a_[0] = a_[1] = reinterpret_cast<uint64_t>(b_);
  kernel(a_);
  kernel(a_);
  call([&] {
    auto freeing = recorder_->buffers().freeing(reinterpret_cast<uint64_t>(b_));
    recorder_->buffers().freed(std::move(freeing), true);
  });
  kernel(a_);
  kernel(a_);
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(4));
  // In the first one the memory is fresh: nothing was read.
  const auto with = actions<AllocationBegin>(*traces[1]);
  ASSERT_THAT(with, SizeIs(2));
  EXPECT_THAT(with[1].initial.relocations, SizeIs(2));
  EXPECT_TRUE(actions<AllocationEnd>(*traces[1])[0].freed);
  for (size_t i = 2; i < 4; ++i) {
    const auto begins = actions<AllocationBegin>(*traces[i]);
    ASSERT_THAT(begins, SizeIs(1));
    EXPECT_THAT(begins[0].initial.relocations, IsEmpty());
  }
}

TEST_F(RecorderSegmentsTest, VariablesBeginAnew) {
  int32_t variable = 5;
  state_.symbol = &variable;
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 3; ++i) {
    kernel(a_);
    variable = 10 + i;
  }
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(3));
  const int before[] = {5, 10, 11};
  for (size_t i = 0; i < traces.size(); ++i) {
    size_t variables = 0;
    for (const auto& begin : actions<AllocationBegin>(*traces[i])) {
      if (begin.symbol != "module_counter") continue;
      ++variables;
      EXPECT_EQ(begin.code_object, 1u);
      EXPECT_EQ(first_byte(*traces[i], begin.initial), before[i]);
    }
    EXPECT_EQ(variables, 1u);
  }
}

TEST_F(RecorderSegmentsTest, GraphsAreDescribedInEach) {
  device_memory(a_, sizeof(a_));
  call([&] {
    recorder_->graphs().graph_created(handle(30));
    RawLaunch raw;
    raw.kernel = recorder_->launches().find_any_kernel(handle(2), "hipGraphAddKernelNode", held_);
    void* address = a_;
    int by = 3;
    void* params[] = {&address, &by};
    raw.kernarg = kernarg_of(raw.kernel->kernel, params);
    recorder_->graphs().node_added(handle(30), handle(31), nullptr, 0, raw,
                                   "hipGraphAddKernelNode");
    recorder_->executables().instantiated(handle(32), handle(30));
  });
  for (int i = 0; i < 3; ++i) {
    launch_call({.executable = handle(32), .stream = handle(10)}, [&] {
      Work work;
      recorder_->work().prepare_graph_launch(handle(32), handle(10), work);
      recorder_->commit(work);
    });
  }
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(3));
  for (const auto& trace : traces) {
    EXPECT_TRUE(trace->complete());
    EXPECT_THAT(trace->graphs(), SizeIs(1));
    EXPECT_THAT(trace->kernels(), SizeIs(1));
    EXPECT_THAT(actions<format::GraphLaunch>(*trace), SizeIs(1));
  }
}

// Whichever is used first has the first number.
TEST_F(RecorderSegmentsTest, CodeObjectsAreDescribedInEach) {
  start("2");
  device_memory(a_, sizeof(a_));
  std::string other = image_;
  call([&] {
    recorder_->code().module_loaded(&other, other.data());
    recorder_->code().function_found(handle(3), &other, "module_increment");
  });
  for (const uintptr_t function : {2, 3, 3, 3, 3, 2}) kernel(a_, handle(10), handle(function));
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(3));
  const size_t modules[] = {2, 1, 2};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(traces[i]->complete());
    EXPECT_THAT(traces[i]->code_objects(), SizeIs(modules[i]));
    EXPECT_THAT(traces[i]->kernels(), SizeIs(modules[i]));
  }
}

TEST_F(RecorderSegmentsTest, OpenRangesGoOn) {
  device_memory(a_, sizeof(a_));
  for (int step = 0; step < 2; ++step) {
    const format::RangeId range = recorder_->marks().range_begins("step");
    kernel(a_);
    kernel(a_);
    recorder_->marks().range_ends(range);
  }
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(4));
  for (size_t i = 0; i < 4; ++i) {
    const auto markers = actions<format::Marker>(*traces[i]);
    ASSERT_THAT(markers, ::testing::Not(IsEmpty())) << i;
    EXPECT_EQ(markers[0].text, "step");
    EXPECT_EQ(markers[0].kind, format::MarkerKind::kRangeBegin);
    EXPECT_EQ(markers[0].ordinal, i / 2) << "as in a recording of the whole program";
    EXPECT_EQ(markers[1].kind, format::MarkerKind::kRangeEnd);
  }
}

TEST_F(RecorderSegmentsTest, WhatIsMissingForGoodStaysSaid) {
  device_memory(a_, sizeof(a_));
  recorder_->note("hipOther", "a remark");
  recorder_->note_incomplete("hipUnknown", "not followed");
  kernel(a_);
  kernel(a_);
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(2));
  for (const auto& trace : traces) EXPECT_FALSE(trace->complete());
  EXPECT_THAT(traces[0]->findings(), SizeIs(2));
  ASSERT_THAT(traces[1]->findings(), SizeIs(1)) << "a remark is about one file";
  EXPECT_EQ(traces[1]->findings()[0].call, "hipUnknown");
  EXPECT_EQ(traces[1]->findings()[0].count, 1u);
}

// An address that leads nowhere is about the launch that has it.
TEST_F(RecorderSegmentsTest, WhatOneLaunchLacksIsSaidOfItsSegment) {
  device_memory(a_, sizeof(a_));
  kernel(a_);
  kernel(reinterpret_cast<void*>(uint64_t{0x7000'0000'0000}));
  kernel(a_);
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(3));
  EXPECT_TRUE(traces[0]->complete());
  EXPECT_TRUE(traces[2]->complete());
}

TEST_F(RecorderSegmentsTest, NoBoundaryInsideOfACapture) {
  device_memory(a_, sizeof(a_));
  kernel(a_);
  call([&] { recorder_->graphs().capture_begins(handle(11)); });
  for (int i = 0; i < 2; ++i) kernel(a_);
  EXPECT_FALSE(std::filesystem::exists(kept(1)));
  call([&] { recorder_->graphs().capture_ended(handle(11), handle(40)); });
  kernel(a_);
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(2));
  EXPECT_EQ(launches(traces[0]), 3u);
}

TEST_F(RecorderSegmentsTest, NoBoundaryInsideOfAnotherCall) {
  device_memory(a_, sizeof(a_));
  call([&] {  // of another thread
    for (int i = 0; i < 3; ++i) std::thread([&] { kernel(a_); }).join();
    EXPECT_FALSE(std::filesystem::exists(kept(1)));
  });
  kernel(a_);
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(2));
  EXPECT_EQ(launches(traces[0]), 3u);
  EXPECT_THAT(traces[0]->findings(), IsEmpty());
}

TEST_F(RecorderSegmentsTest, AWaitOfAnotherThreadHoldsNothingUp) {
  device_memory(a_, sizeof(a_));
  call([&] {
    recorder_->streams().host_may_learn();
    recorder_->gate()->leave();  // as hooks do around it
    for (int i = 0; i < 3; ++i) std::thread([&] { kernel(a_); }).join();
    recorder_->gate()->enter();
    recorder_->streams().synchronized(format::SynchronizeKind::kDevice, nullptr,
                                      "hipDeviceSynchronize");
  });
  const auto traces = all();
  ASSERT_THAT(traces, SizeIs(3));
  for (const auto& trace : traces) EXPECT_TRUE(trace->complete());
}

TEST_F(RecorderSegmentsTest, SaysThatItWasPutOffForLong) {
  device_memory(a_, sizeof(a_));
  call([&] {
    for (int i = 0; i < 9; ++i) std::thread([&] { kernel(a_); }).join();
  });
  const auto last = finish();
  ASSERT_THAT(last->findings(), SizeIs(1));
  EXPECT_TRUE(last->complete());
  EXPECT_THAT(last->findings()[0].detail, HasSubstr("more than 1 launch"));
}

TEST_F(RecorderSegmentsTest, NoBoundaryWhileTheDeviceIsBusy) {
  device_memory(a_, sizeof(a_));
  kernel(a_);
  state_.synchronizes = false;
  kernel(a_);
  state_.synchronizes = true;
  EXPECT_FALSE(std::filesystem::exists(kept(1)));
  EXPECT_EQ(launches(finish()), 2u);
}

TEST_F(RecorderSegmentsTest, LaunchesThatFailDoNotCount) {
  device_memory(a_, sizeof(a_));
  for (int i = 0; i < 3; ++i) launch_call({.function = handle(2)}, [] {}, false);
  kernel(a_);
  EXPECT_FALSE(std::filesystem::exists(kept(1)));
}

TEST_F(RecorderSegmentsTest, BytesOfTheFile) {
  start("256KiB");
  std::vector<uint64_t> large(16384);
  device_memory(large.data(), large.size() * 8);
  Options options;
  for (int i = 0; i < 200; ++i) {
    kernel(large.data());
    // Noise that is copied to the device.
    std::vector<uint64_t> noise(4096);
    for (size_t k = 0; k < noise.size(); ++k) {
      noise[k] = (k + static_cast<size_t>(i) * noise.size()) * 0x9E3779B97F4A7C15u >> 8;
    }
    call([&] { copy(large.data(), noise.data(), noise.size() * 8); });
    recorder_->flush();
  }
  const auto traces = all();
  EXPECT_GE(traces.size(), 3u);
  size_t sum = 0;
  for (const auto& trace : traces) sum += launches(trace);
  EXPECT_EQ(sum, 200u);
  for (size_t number = 1; number < traces.size(); ++number) {
    EXPECT_GE(std::filesystem::file_size(kept(number)), 256u << 10);
    EXPECT_LE(std::filesystem::file_size(kept(number)), 2u << 20);
  }
}

// The order of launches in one stream is that of their calls, in whatever file they are.
TEST_F(RecorderSegmentsTest, ThreadsLaunchMeanwhile) {
  start("50");
  device_memory(a_, sizeof(a_));
  constexpr int kThreads = 8;
  constexpr int kEach = 400;
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      for (int i = 0; i < kEach; ++i) kernel(a_, handle(static_cast<uintptr_t>(10 + number % 2)));
    });
  }
  for (std::thread& one : threads) one.join();
  const auto traces = all();
  EXPECT_GE(traces.size(), 2u);
  size_t sum = 0;
  for (const auto& trace : traces) {
    EXPECT_TRUE(trace->complete());
    sum += launches(trace);
  }
  EXPECT_EQ(sum, static_cast<size_t>(kThreads) * kEach) << "none is lost, none is in two files";
}

}  // namespace
}  // namespace gfxgraph::recorder

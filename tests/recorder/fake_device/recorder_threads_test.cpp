// Launches of several threads: each in a lane of its own, in the trace in the order in which the
// program could have known of them.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <mutex>
#include <thread>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;

class RecorderThreadsTest : public RecorderTest {
 protected:
  void SetUp() override {
    image_ = read_text(MODULE_FILE);
    ASSERT_FALSE(image_.empty());
    prepare({});
  }
  void prepare(const Options& options) {
    make(options);
    recorder_->code().module_loaded(this, image_.data());
    recorder_->code().function_found(handle(2), this, "module_increment");
    device_memory(data_, sizeof(data_));
    kernel_ = recorder_->launches().find_kernel(handle(2), false, "hipModuleLaunchKernel", held_);
    if (kernel_ == nullptr) kernel_ = recorder_->launches().find_any_kernel(handle(2), "", held_);
    ASSERT_NE(kernel_, nullptr);
  }
  void launch(void* data, int number, Handle stream, const std::function<void()>& during = {}) {
    recorder_->streams().call_begins();
    void* params[] = {&data, &number};
    launch_function({.function = handle(2), .stream = stream}, params, true, during);
  }
  static int number(const format::Launch& launch) {
    int value = 0;
    std::memcpy(&value, launch.kernarg.data() + 8, sizeof(value));
    return value;
  }
  static void together(int threads, const std::function<void(int)>& body) {
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) all.emplace_back(body, t);
    for (std::thread& one : all) one.join();
  }

  std::string image_;
  KernelEntry* kernel_ = nullptr;
  alignas(8) char data_[64] = {};
  alignas(4096) char pinned_[4096] = {};
};

// Whether the processors' counters give the order of the launches, or one that all threads share.
class RecorderOrderTest : public RecorderThreadsTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    TickClock::forbid_counters(!GetParam());
    RecorderThreadsTest::SetUp();
    TickClock::forbid_counters(false);
  }
};
INSTANTIATE_TEST_SUITE_P(OfTickets, RecorderOrderTest, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "ByCounters" : "ByOneNumber"; });

// Each thread launches when the one before it has returned from its launch.
TEST_P(RecorderOrderTest, WhatFollowsByTheProgramFollowsInTheTrace) {
  constexpr int kThreads = 4;
  constexpr int kTurns = 3000;
  std::atomic<int> turn{0};
  together(kThreads, [&](int t) {
    for (int i = t; i < kTurns; i += kThreads) {
      while (turn.load(std::memory_order_acquire) != i) std::this_thread::yield();
      if (i % 7 == 3) {
        recorder_->streams().call_begins();
        memset_work(data_, 1 + static_cast<size_t>(t), nullptr);
      } else {
        launch(data_, i, i % 2 == 0 ? nullptr : handle(static_cast<uintptr_t>(10 + t)));
      }
      turn.store(i + 1, std::memory_order_release);
    }
  });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(trace->findings(), SizeIs(0));
  int expected = 0;
  for (const format::Event& event : trace->events()) {
    if (std::holds_alternative<format::Memset>(event.action)) {
      ASSERT_EQ(expected % 7, 3);
      ++expected;
    } else if (const auto* launch = std::get_if<format::Launch>(&event.action)) {
      ASSERT_EQ(number(*launch), expected);
      ++expected;
    }
  }
  EXPECT_EQ(expected, kTurns);
}

// At the same time, while another thread allocates, frees and makes streams, and memory of the host
// comes and goes: nothing is lost, and each thread's launches keep their order.
TEST_F(RecorderThreadsTest, NothingOfLaunchesAtTheSameTimeIsLost) {
  constexpr int kThreads = 3;
  constexpr int kLaunches = 4000;
  std::atomic<int> running{kThreads};
  std::thread other([&] {
    std::vector<char> memory(4096);
    for (uintptr_t i = 0; running.load() != 0; ++i) {
      recorder_->streams().call_begins();
      device_memory(memory.data(), memory.size());
      recorder_->streams().stream_created(handle(1000 + i), 0, 0);
      if (i % 3 == 0) recorder_->buffers().host_registered(pinned_, sizeof(pinned_), 0);
      if (i % 5 == 0) recorder_->graphs().capture_begins(handle(1000 + i));
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      if (i % 5 == 0) recorder_->graphs().capture_ended(handle(1000 + i), nullptr);
      if (i % 3 == 0) {
        recorder_->buffers().freed(
            recorder_->buffers().freeing(reinterpret_cast<uint64_t>(pinned_)), true);
      }
      recorder_->buffers().freed(
          recorder_->buffers().freeing(reinterpret_cast<uint64_t>(memory.data())), true);
      recorder_->streams().stream_destroyed(recorder_->streams().stream_leaves(handle(1000 + i)),
                                            i % 2 == 0);
    }
  });
  together(kThreads, [&](int t) {
    const Handle stream = handle(static_cast<uintptr_t>(10 + t));
    for (int i = 0; i < kLaunches; ++i) launch(data_ + 16 * t, t * kLaunches + i, stream);
    --running;
  });
  other.join();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  std::vector<int> next(kThreads, 0);
  std::vector<format::StreamId> stream(kThreads, 0);
  for (const format::Launch& launch : actions<format::Launch>(*trace)) {
    const auto t = static_cast<size_t>(number(launch) / kLaunches);
    ASSERT_EQ(number(launch) % kLaunches, next[t]++);
    if (stream[t] == 0) stream[t] = launch.stream;
    ASSERT_EQ(launch.stream, stream[t]);
    ASSERT_THAT(launch.relocations, SizeIs(1));
    ASSERT_EQ(launch.relocations[0].addend, static_cast<int64_t>(16 * t));
  }
  for (const int count : next) EXPECT_EQ(count, kLaunches);
}

// A range that is recorded ends and begins while other threads launch: each launch is in it or not,
// and a trace that lacks one which was under way says so.
TEST_F(RecorderThreadsTest, RangesEndWhileOtherThreadsLaunch) {
  Options options;
  options.ranges = {"step"};
  prepare(options);
  constexpr int kThreads = 2;
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  for (int t = 0; t < kThreads; ++t) {
    all.emplace_back([&, t] {
      for (int i = 0; !stop.load(); ++i) launch(data_, i, handle(static_cast<uintptr_t>(10 + t)));
    });
  }
  for (int i = 0; i < 40; ++i) {
    const format::RangeId range = recorder_->marks().range_begins("step");
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    recorder_->marks().range_ends(range);
  }
  stop = true;
  for (std::thread& one : all) one.join();
  const auto trace = finish();
  ASSERT_TRUE(trace);
  std::set<format::AllocationId> live;
  size_t launches = 0;
  for (const format::Event& event : trace->events()) {
    if (const auto* begin = std::get_if<format::AllocationBegin>(&event.action)) {
      live.insert(begin->id);
    } else if (const auto* end = std::get_if<format::AllocationEnd>(&event.action)) {
      live.erase(end->id);
    } else if (const auto* launch = std::get_if<format::Launch>(&event.action)) {
      ASSERT_THAT(launch->relocations, SizeIs(1));
      EXPECT_TRUE(live.contains(launch->relocations[0].allocation)) << "of another stretch";
      ++launches;
    }
  }
  EXPECT_GT(launches, 0u);
  for (const format::Finding& finding : trace->findings()) {
    if (finding.kind != format::FindingKind::kIncomplete) continue;
    EXPECT_NE(finding.detail.find("was in progress when a recorded range ended"), std::string::npos)
        << finding.detail;
  }
}

// Lanes of threads that have ended are taken over.
TEST_F(RecorderThreadsTest, ManyShortThreadsShareFewLanes) {
  for (int i = 0; i < 500; ++i) {
    std::thread([&] { launch(data_, i, nullptr); }).join();
  }
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto launches = actions<format::Launch>(*trace);
  EXPECT_THAT(trace->findings(), SizeIs(0)) << "none ran while another one did";
  ASSERT_EQ(launches.size(), 500u);
  for (int i = 0; i < 500; ++i) ASSERT_EQ(number(launches[static_cast<size_t>(i)]), i);
}

// As long as one thread launches, it looks for no other: until there is one.
TEST_P(RecorderOrderTest, TheSecondThreadIsSeenByTheFirst) {
  const auto noted = [&](bool at_the_same_time) {
    std::filesystem::remove(path());
    prepare({});
    for (int i = 0; i < 3; ++i) launch(data_, i, handle(10));
    const auto another_launches = [&] {
      std::thread([&] { launch(data_, 4, handle(10)); }).join();
    };
    if (!at_the_same_time) another_launches();
    launch(data_, 3, handle(10), [&] {
      if (at_the_same_time) another_launches();
    });
    launch(data_, 5, handle(10));
    const auto trace = finish();
    EXPECT_TRUE(trace && trace->complete());
    EXPECT_EQ(actions<format::Launch>(*trace).size(), 6u);
    return !trace->findings().empty();
  };
  EXPECT_TRUE(noted(true));
  EXPECT_FALSE(noted(false));
}

// Counts without atomic operations inside of the lock, and while nobody is there.
TEST(LaneLock, OneThreadAtATimeIsInside) {
  constexpr int kEntries = 200'000;
  LaneLock lock;
  int inside = 0;
  std::atomic<bool> over{false};
  int alone = 0;
  std::thread other([&] {
    while (!over.load()) {
      lock.want();
      lock.wait();
      const int before = ++inside;
      std::this_thread::yield();
      ASSERT_EQ(inside, before);
      lock.let_go();
      ++alone;
    }
  });
  for (int i = 0; i < kEntries; ++i) {
    const std::lock_guard held(lock);
    ++inside;
  }
  over = true;
  other.join();
  EXPECT_EQ(inside, kEntries + alone);
}

// abort(): another thread takes the lock while the flush writes, and waits for the device with it.
// Steps that eight threads capture of themselves, while they all launch and allocate.
TEST_F(RecorderThreadsTest, EachCaptureHasTheLaunchesOfItsThread) {
  constexpr int kThreads = 8, kRounds = 12, kLaunches = 5;
  constexpr uint32_t kPatience = 60'000;
  Options options;
  options.in_process = true;
  options.status_folder = folder_.path().string();
  recorder_ = std::make_unique<Recorder>(options, std::make_unique<FakeDevice>(state_));
  recorder_->begin();
  recorder_->code().module_loaded(this, image_.data());
  recorder_->code().function_found(handle(2), this, "module_increment");
  device_memory(data_, sizeof(data_));
  std::atomic<int> wrong = 0;
  alignas(256) static std::byte others[kThreads][256];
  together(kThreads, [&](int t) {
    const Handle stream = handle(100 + t);
    recorder_->streams().call_begins();
    recorder_->streams().stream_created(stream, 1, 0);
    for (int round = 0; round < kRounds; ++round) {
      recorder_->streams().call_begins();
      device_memory(others[t], sizeof(others[t]));
      const Result<uint64_t> capture = recorder_->live().begin(
          {.name = "step", .stream = stream, .held = t % 2 == 1, .wait_ms = kPatience});
      if (!capture) {
        ++wrong;
        continue;
      }
      for (int i = 0; i < kLaunches; ++i) launch(others[t], t, stream);
      Result<Captured> ended = recorder_->live().end(*capture);
      launch(data_, t, stream);  // beside the captures of the others
      const auto trace = !ended        ? fail(Status::kInternal, "no trace")
                         : ended->held ? Trace::of(ended->held)
                                       : Trace::open_descriptor(ended->file.fd(), {});
      if (!trace || !(*trace)->load_events()) {
        ++wrong;
        continue;
      }
      const auto launches = actions<format::Launch>(**trace);
      const bool all_mine = std::ranges::all_of(
          launches, [&](const format::Launch& one) { return number(one) == t; });
      if (launches.size() != kLaunches || !all_mine || !(*trace)->findings().empty()) ++wrong;
      if (ended->step->gone().allocation.load() != 0) ++wrong;
      recorder_->streams().call_begins();
      recorder_->buffers().freed(
          recorder_->buffers().freeing(reinterpret_cast<uint64_t>(others[t])), true);
      if (ended->step->gone().allocation.load() == 0) ++wrong;
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(RecorderThreadsTest, AFlushWaitsForNoThreadThatWaitsForTheDevice) {
  constexpr uintptr_t kGraphs = 4;  // when the first one is in the file, the last one is not
  constexpr uintptr_t kNodes = 10'000;
  alignas(8) static char ordered[64] = {};
  alignas(8) static char other[64] = {};
  device_memory(other, sizeof(other));
  recorder_->buffers().allocated({format::AllocationKind::kStreamOrdered,
                                  reinterpret_cast<uint64_t>(ordered), 0, sizeof(ordered), 0,
                                  handle(10)});
  memset_work(data_, sizeof(data_));
  memset_work(other, sizeof(other));
  memset_work(ordered, sizeof(ordered));
  RawMemset raw;
  raw.address = reinterpret_cast<uint64_t>(data_);
  raw.width_elements = 8;
  for (uintptr_t graph = 0; graph < kGraphs; ++graph) {
    recorder_->graphs().graph_created(handle(30 + graph));
    for (uintptr_t i = 0; i < kNodes; ++i) {
      recorder_->graphs().node_added(handle(30 + graph), handle(1000 + graph * kNodes + i), nullptr,
                                     0, raw, "add");
    }
    recorder_->executables().instantiated(handle(40 + graph), handle(30 + graph));
  }
  // Nothing behind its end is written as long as its last state is not there.
  state_.reads_behind = true;
  Freeing freeing =
      recorder_->buffers().freeing(reinterpret_cast<uint64_t>(ordered), handle(10), true);
  recorder_->buffers().freed(std::move(freeing), true);
  for (uintptr_t graph = 0; graph < kGraphs; ++graph) {
    Work work;
    recorder_->work().prepare_graph_launch(handle(40 + graph), handle(10), work);
    recorder_->commit(work);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the flusher has seen all

  std::promise<void> over;
  const std::shared_future<void> ended = over.get_future().share();
  state_.during_call = [&] { ended.wait_for(std::chrono::seconds(20)); };
  const std::string partial = path() + ".partial";
  const uint64_t size = std::filesystem::file_size(partial);
  std::atomic<bool> flushed{false};
  std::thread waits([&] {
    while (std::filesystem::file_size(partial) == size && !flushed.load())
      std::this_thread::yield();
    (void)recorder_->buffers().freeing(reinterpret_cast<uint64_t>(other));
  });
  const auto start = std::chrono::steady_clock::now();
  recorder_->flush();
  const auto took = std::chrono::steady_clock::now() - start;
  flushed.store(true);
  over.set_value();
  waits.join();
  EXPECT_LT(took, std::chrono::seconds(10));
}

}  // namespace
}  // namespace gfxgraph::recorder

// What the program's calls wait for: no more and no less under the recorder, and the trace says so.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "format/read/reader.h"
#include "tests/recorder/e2e/recorded_program.h"

namespace gfxgraph::recorder {
namespace {

using format::Trace;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kWaits = std::string(PROGRAMS) + "/program_waits ";
// The recorder has a stream of its own: with four queues one of the program's would share its.
const std::string kManyQueues = "env GPU_MAX_HW_QUEUES=16 ";
const std::string kReturns = kWaits + "returns " PROGRAMS "/module.co";

class WaitsTest : public RecordedProgramTest {
 protected:
  ProcessResult alone(const std::string& program) {
    const std::filesystem::path tools = std::filesystem::path(RECORD_TOOL).parent_path();
    return run((tools / "gfxgraph").string() + " run -- " + program, folder_.path());
  }
};

// Without the recorder, which may wait itself.
TEST_F(WaitsTest, TheTableSaysWhatTheRuntimeDoes) {
  for (const std::string& program : {kWaits + "waits", kReturns, kWaits + "calls",
                                     std::string(PROGRAMS) + "/program_array_waits",
                                     kWaits + "graphs", kWaits + "reset", kWaits + "beside"}) {
    EXPECT_EQ(alone(program).out, "ok\n") << program;
  }
}

TEST_F(WaitsTest, LaunchesOnSeveralDevicesAreLaunchesBetweenWaits) {
  const std::string program = std::string(PROGRAMS) + "/program_launch_list ";
  ProcessResult result = record(program + "order");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "ok\n");
  auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete()) << result.err;
  size_t cooperative = 0;
  for (const format::Launch& launch : actions<format::Launch>(*trace))
    cooperative += launch.cooperative ? 1 : 0;
  EXPECT_EQ(cooperative, 6u);
  size_t waits = 0;
  for (const format::Synchronize& wait : actions<format::Synchronize>(*trace))
    waits += wait.call == "hipLaunchCooperativeKernelMultiDevice" ? 1 : 0;
  EXPECT_EQ(waits, 12u) << "for two streams before and after each call";
  // Lists that HIP refuses launch nothing.
  result = record(program + "one");
  EXPECT_EQ(result.out, "ok\n") << result.err;
  EXPECT_TRUE(open()->complete()) << result.err;
  result = record(program + "barrier");
  EXPECT_EQ(result.out, "ok\n") << result.err;
  EXPECT_FALSE(open()->complete());
  EXPECT_THAT(result.err, HasSubstr("a barrier of the grids of several devices"));
  // One device, of which only the list is one of several.
  result = record(GFXGRAPH_BINARY_DIR "/tests/hsa/hip/hip_multi_grid");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(open()->complete());
}

TEST_F(WaitsTest, CallsWaitUnderTheRecorderAsWell) {
  for (const char* mode : {"calls", "arrays", "reset", "graphs"}) {
    const ProcessResult result = record(kManyQueues + kWaits + mode);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    const auto trace = open();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete()) << mode;
  }
}

// The runtime does not wait in these calls, nor does the recorder, and the trace does not say so.
TEST_F(WaitsTest, CallsThatWaitForNothingAreNoWaits) {
  const ProcessResult result = record(kManyQueues + kReturns);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  int destroyed = 0;
  std::set<std::string> calls;
  for (const auto& wait : actions<format::Synchronize>(*trace)) {
    calls.insert(wait.call);
    if (wait.call != "hipStreamDestroy") continue;
    EXPECT_EQ(wait.kind, format::SynchronizeKind::kStream);
    EXPECT_NE(wait.object, 0u);
    ++destroyed;
  }
  EXPECT_EQ(destroyed, 3);
  calls.erase("exit");
  EXPECT_EQ(calls, (std::set<std::string>{"hipDeviceSynchronize", "hipStreamDestroy",
                                          "hipStreamSynchronize"}));
}

TEST_F(WaitsTest, TheEndOfAStreamTellsNothingOfTheNullStream) {
  const ProcessResult result = record(kManyQueues + kWaits + "beside");
  ASSERT_EQ(result.out, "ok\n") << result.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  std::vector<format::SynchronizeKind> destroyed;
  for (const auto& wait : actions<format::Synchronize>(*trace))
    if (wait.call == "hipStreamDestroy") destroyed.push_back(wait.kind);
  EXPECT_EQ(destroyed, std::vector{format::SynchronizeKind::kStreamItself});
}

// Kernels that the host holds: who waits for the device before it lets them end is stuck.
class HeldTest : public WaitsTest {
 protected:
  // The end of the only allocation for which `is_it` is true; and whether `call` has a note.
  struct Ended {
    std::optional<format::AllocationEnd> end;
    bool noted = false;
  };
  template <typename Predicate>
  Ended recorded(const std::string& mode, const char* call, Predicate&& is_it) {
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult result = record(PROGRAMS "/program_order " + mode);
    EXPECT_EQ(result.out, "ok\n") << result.err;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    trace_ = open();
    Ended ended;
    if (!trace_) return ended;
    EXPECT_TRUE(trace_->complete());
    format::AllocationId id = 0;
    for (const auto& one : actions<format::AllocationBegin>(*trace_)) {
      if (is_it(one)) id = one.id;
    }
    for (const auto& end : actions<format::AllocationEnd>(*trace_)) {
      if (end.id == id) ended.end = end;
    }
    ended.noted = std::ranges::any_of(trace_->findings(),
                                      [&](const format::Finding& one) { return one.call == call; });
    return ended;
  }
  std::vector<uint64_t> words(const format::Content& content) {
    const auto bytes = trace_->content(content);
    if (!bytes) return {};
    std::vector<uint64_t> words(bytes->size() / sizeof(uint64_t));
    std::memcpy(words.data(), bytes->data(), words.size() * sizeof(uint64_t));
    return words;
  }

  std::shared_ptr<const Trace> trace_;
};

TEST_F(HeldTest, RegisteredMemoryIsGivenBack) {
  const auto [end, noted] =
      recorded("held_unregister", "hipHostUnregister", [](const format::AllocationBegin& one) {
        return one.kind == format::AllocationKind::kHostRegistered;
      });
  ASSERT_TRUE(end && end->freed && end->post.hash);
  EXPECT_FALSE(noted);
  EXPECT_EQ(words(end->post)[0], 1442695040888963407u) << "the kernel's";
  EXPECT_EQ(words(end->post)[1], 7u) << "the program's";
}

TEST_F(HeldTest, AModuleIsUnloaded) {
  const auto [end, noted] =
      recorded("held_unload " PROGRAMS "/module.co", "hipModuleUnload",
               [](const format::AllocationBegin& one) { return one.symbol == "module_counter"; });
  ASSERT_TRUE(end && end->freed);
  EXPECT_FALSE(end->post.hash) << "any kernel may write it";
  EXPECT_TRUE(noted);
}

TEST_F(HeldTest, OneThreadFreesAndAnotherLetsTheKernelEnd) {
  const auto [end, noted] =
      recorded("held_free_by_thread", "hipFree", [](const format::AllocationBegin& one) {
        return one.kind == format::AllocationKind::kDevice;  // the last one
      });
  ASSERT_TRUE(end && end->freed && end->post.hash);
  EXPECT_FALSE(noted);
  EXPECT_EQ(words(end->post), std::vector<uint64_t>{42});
}

// Functions of HIP 7.2 to 10.2, which are not recorded, on a fake in front of the installed HIP.
using NewerCallsTest = RecordedProgramTest;
TEST_F(NewerCallsTest, CallsThatAreNotRecordedAreNamed) {
  const auto named = [&](const std::string& mode) {
    const ProcessResult result = record(std::string(PROGRAMS) + "/program_newer " + mode);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "ok\n");
    std::vector<std::string> calls;
    const auto trace = open();
    if (trace == nullptr) return calls;
    EXPECT_FALSE(trace->complete()) << mode;
    for (const format::Finding& finding : trace->findings()) {
      if (finding.kind == format::FindingKind::kIncomplete) calls.push_back(finding.call);
    }
    return calls;
  };
  EXPECT_THAT(named("primary"), ::testing::ElementsAre("hipExecutionCtxSynchronize"));
  EXPECT_THAT(named("discards"),
              ::testing::UnorderedElementsAre(
                  "hipMemDiscardBatchAsync", "hipDrvMemDiscardBatchAsync",
                  "hipMemDiscardAndPrefetchBatchAsync", "hipDrvMemDiscardAndPrefetchBatchAsync"));
  EXPECT_THAT(named("copies"), ::testing::ElementsAre("hipExtMemcpyBatchAsync"));
  EXPECT_THAT(named("condition"), ::testing::UnorderedElementsAre("hipGraphConditionalHandleCreate",
                                                                  "hipGraphAddConditionalNode"));
}

}  // namespace
}  // namespace gfxgraph::recorder

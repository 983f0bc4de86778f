// What a program may do without dying, hanging or changing because it is recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>

#include "format/read/reader.h"
#include "tests/recorder/e2e/recorded_program.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class SurvivalTest : public RecordedProgramTest {
 protected:
  // The program ends as without the recorder; returns its trace.
  std::shared_ptr<const format::Trace> survives(const std::string& mode) {
    const ProcessResult result = record("timeout 120 " + program(mode));
    // HIP 5.2.3 itself often crashes at the exit of a process whose threads still use it.
    constexpr int kCrashed = 128 + SIGSEGV;
    if (mode != "exit_beside_threads" || result.code != kCrashed) {
      EXPECT_EQ(result.code, 0) << mode << ": " << result.err;
    }
    if (mode != "exit_beside_threads") {
      EXPECT_EQ(result.out, "1\n") << mode;
    }
    EXPECT_THAT(result.err, Not(HasSubstr("not recorded"))) << mode;
    auto trace = open();
    EXPECT_TRUE(trace) << mode;
    EXPECT_TRUE(trace && trace->sealed()) << mode;
    return trace;
  }
  static std::string program(const std::string& mode) {
    return std::string(PROGRAMS) + "/program_survives " + mode;
  }
};

TEST_F(SurvivalTest, ThreadsThatAreCancelled) { (void)survives("cancel"); }

// At any instruction: in the recorder's own code, too. The runtime here bears that.
TEST_F(SurvivalTest, ThreadsThatAreCancelledAsynchronously) {
  const std::string program = std::string("timeout 120 ") + PROGRAMS + "/program_cancelled 300";
  const std::string environment = std::string("LD_LIBRARY_PATH=") + FAKE_HIP_FOLDER + " ";
  const ProcessResult bare = run(environment + program, folder_.path());
  ASSERT_EQ(bare.code, 0) << bare.err;
  EXPECT_EQ(bare.out, "300 7\n");
  const std::string recorder =
      environment + RECORD_TOOL + " --device emulated --force -o " + path() + " -- " + program;
  for (int i = 0; i < 3; ++i) {
    const ProcessResult recorded = run(recorder, folder_.path());
    ASSERT_EQ(recorded.code, 0) << recorded.err;
    EXPECT_EQ(recorded.out, bare.out);
    const auto trace = open();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->sealed());
  }
}

// By pthread_exit, cancelled, and out of a signal's handler; destructors call HIP meanwhile.
TEST_F(SurvivalTest, ThreadsThatCallWhileTheyEnd) {
  const auto trace = survives("leave_threads");
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(9 + 1));
}

TEST_F(SurvivalTest, HandlersThatJumpAway) {
  const auto trace = survives("leave_handlers");
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(11));
}

// What may have interrupted the recorder itself is not recorded, and the trace says so.
TEST_F(SurvivalTest, CallsWithinACallAreNamed) {
  const auto named = [](const std::string& call) {
    return Contains(AllOf(Field(&format::Finding::kind, format::FindingKind::kIncomplete),
                          Field(&format::Finding::call, call),
                          Field(&format::Finding::detail, HasSubstr("within another HIP call"))));
  };
  const auto launched = survives("launch_inside");
  ASSERT_TRUE(launched);
  EXPECT_THAT(launched->findings(), named("hipLaunchKernel"));

  // After a handler's jump out of a call, its thread's next calls are within that one.
  const std::string program = std::string(PROGRAMS) + "/program_cancelled jump";
  const std::string environment = std::string("LD_LIBRARY_PATH=") + FAKE_HIP_FOLDER + " ";
  const ProcessResult recorded =
      run(environment + RECORD_TOOL + " --device emulated --force -o " + path() + " -- " + program,
          folder_.path());
  ASSERT_EQ(recorded.code, 0) << recorded.err;
  EXPECT_EQ(recorded.out, "0 7\n");
  const auto jumped = open();
  ASSERT_TRUE(jumped);
  EXPECT_THAT(jumped->findings(), named("hipMemset"));
}

TEST_F(SurvivalTest, MainThatLeavesItsThreadsBehind) {
  const auto trace = survives("leave_main");
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(1));
}

TEST_F(SurvivalTest, ThreadsThatGoOnAtExit) {
  for (int i = 0; i < 3; ++i) {
    const auto trace = survives("exit_beside_threads");
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete());
  }
}

// No work behind the function can end, so it is not waited for.
TEST_F(SurvivalTest, HostFunctionsThatEndTheProgram) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(survives("exit_in_function"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(SurvivalTest, MemoryThatCannotBeRead) {
  for (const char* mode : {"unmap", "protect", "bad_pointers"}) {
    const auto trace = survives(mode);
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete()) << mode;
  }
  const ProcessResult result = record(program("protect"), "--checkpoints");
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(SurvivalTest, DeviceResets) {
  const auto trace = survives("reset");
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(4));
}

TEST_F(SurvivalTest, TexturesThatEndBeforeOrAfterTheirArrays) {
  for (const char* mode : {"texture_first", "array_first"}) {
    const auto trace = survives(mode);
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete()) << mode;
  }
}

TEST_F(SurvivalTest, MemoryThatIsFreedByAPointerIntoIt) {
  const auto trace = survives("free_inside");
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::AllocationEnd>(*trace),
              Contains(Field(&format::AllocationEnd::freed, true)));
}

TEST_F(SurvivalTest, ExecsThatFail) {
  const auto trace = survives("failing_execs " + folder_.path().string());
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(10));
}

TEST_F(SurvivalTest, HostFunctionsThatWriteNothing) {
  const auto trace = survives("staged");
  ASSERT_TRUE(trace);
  EXPECT_THAT(trace->findings(),
              Not(Contains(Field(&format::Finding::detail, HasSubstr("concurrently")))));
}

// By a shell's limit or the program's own, or because the program has used up what it may have.
TEST_F(SurvivalTest, ProgramsWithoutDescriptors) {
  const std::string runs[] = {"ulimit -n 8; exec " + program("few_descriptors"),
                              "exec " + program("limited_descriptors"),
                              "ulimit -n 64; exec " + program("used_descriptors")};
  for (const std::string& text : runs) {
    const ProcessResult result = record("timeout 120 sh -c '" + text + "'");
    EXPECT_EQ(result.code, 0) << text << ": " << result.err;
    EXPECT_EQ(result.out, "50529028 50529028\n1\n") << text;
    const auto trace = open();
    ASSERT_TRUE(trace) << text;
    EXPECT_TRUE(trace->sealed()) << text;
    EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(7)) << text;
    if (trace->complete()) continue;
    // What does not fit into the recorder's memory goes into a file, for which there is none.
    EXPECT_THAT(trace->findings(), Contains(Field(&format::Finding::call, "temporary file")))
        << text << ": " << result.err;
  }
}

TEST_F(SurvivalTest, AProgramThatIsAnotherUserBeforeItsFirstCallIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  const ProcessResult result = record(program("another_user"));
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.out, "1\n");
  EXPECT_THAT(result.err, HasSubstr("did it change its user"));
}

}  // namespace
}  // namespace gfxgraph::recorder

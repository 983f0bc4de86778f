// How recorded programs end: exit codes, exec, signals, crashes, other processes. What came before
// is in the trace, and the program notices nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "format/read/reader.h"
#include "tests/recorder/e2e/recorded_program.h"

namespace gfxgraph::recorder {
namespace {

using format::Trace;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class EndsTest : public RecordedProgramTest {};

TEST_F(EndsTest, ExitCodesPassThrough) {
  const std::map<std::string, int> codes = {{"exit_code", 41}, {"_exit", 42}, {"quick_exit", 43}};
  for (const auto& [mode, code] : codes) {
    const ProcessResult result = record(std::string(PROGRAMS) + "/program_forms " + mode);
    EXPECT_EQ(result.code, code) << mode << result.err;
    const auto trace = open();
    ASSERT_TRUE(trace) << mode;
    EXPECT_TRUE(trace->sealed()) << mode;
    EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(1)) << mode;
  }
}

TEST_F(EndsTest, ExecSealsWhatCameBefore) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_forms exec");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "from exec\n");
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(1));
}

TEST_F(EndsTest, TracesOfCrashesAreClosed) {
  const std::map<std::string, int> codes = {{"abort", 128 + 6}, {"crash", 128 + 11}};
  for (const auto& [mode, code] : codes) {
    const ProcessResult result = record(std::string(PROGRAMS) + "/program_forms " + mode);
    EXPECT_EQ(result.code, code) << mode;
    EXPECT_THAT(result.err, HasSubstr("killed by signal"));
    EXPECT_THAT(result.err, HasSubstr("the earlier recording is closed as " + path()));
    EXPECT_THAT(result.err, HasSubstr("gfxgraph-replay " + path() + " --allow-incomplete"));
    EXPECT_FALSE(std::filesystem::exists(path() + ".partial")) << mode;
    const auto trace = open();
    ASSERT_TRUE(trace) << mode;
    EXPECT_TRUE(trace->sealed());
    EXPECT_FALSE(trace->complete());
    ASSERT_THAT(trace->findings(), Not(SizeIs(0)));
    EXPECT_EQ(trace->findings().back().call, "gfxgraph-record");
    EXPECT_THAT(trace->findings().back().detail,
                HasSubstr("killed by signal " + std::to_string(code - 128)));
    EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(1)) << mode;
  }
}

TEST_F(EndsTest, KilledAtAnyTime) {
  const std::string started = (folder_.path() / "started").string();
  const std::string script = (folder_.path() / "kill.sh").string();
  std::ofstream(script) << PROGRAMS << "/program_forms for_ever >" << started << " & p=$!\n"
                        << "until grep -q started " << started << "; do sleep 0.01; done\n"
                        << "sleep $1\nkill -9 $p\nwait $p\nexit 0\n";
  size_t most = 0;
  for (const char* delay : {"0", "0.013", "0.05", "0.12", "0.4"}) {
    std::filesystem::remove(path());
    std::filesystem::remove(started);
    const ProcessResult result = record("sh " + script + " " + delay);
    EXPECT_EQ(result.code, 3) << result.err;
    EXPECT_THAT(result.err, HasSubstr("ended without telling the recorder"));
    const auto trace = open();
    ASSERT_TRUE(trace) << delay;
    EXPECT_TRUE(trace->sealed());
    EXPECT_FALSE(trace->complete());
    most = std::max(most, actions<format::Launch>(*trace).size());
  }
  EXPECT_GE(most, 20u) << "every synchronisation hands over what came before";
}

TEST_F(EndsTest, TheTraceIsNeverWrittenIntoAFileOfTheProgram) {
  const std::string files = (folder_.path() / "files").string();
  std::filesystem::create_directory(files);
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_process closes " + files);
  EXPECT_EQ(result.out, "ok\n");
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the program closed its file descriptor"));
  const auto trace = open();  // what was written before
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  for (const auto& entry : std::filesystem::directory_iterator(files)) {
    EXPECT_EQ(std::filesystem::file_size(entry.path()), 0u) << entry.path();
  }
}

TEST_F(EndsTest, TracesAreSealedWithoutDescriptorsRootOrRights) {
  for (const char* mode : {"limit", "chroot", "setuid"}) {
    if (::geteuid() != 0 && mode != std::string("limit")) continue;
    const std::string jail = (folder_.path() / "jail").string();
    std::filesystem::create_directory(jail);
    const ProcessResult result =
        record(std::string(PROGRAMS) + "/program_process " + mode + " " + jail);
    EXPECT_EQ(result.out, "ok\n") << mode;
    EXPECT_EQ(result.code, 0) << mode << result.err;
    const auto trace = open();
    ASSERT_TRUE(trace) << mode;
    EXPECT_TRUE(trace->sealed() && trace->complete()) << mode;
    EXPECT_THAT(result.err, HasSubstr("of 1 kernel,")) << mode;
    struct stat status{};
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u) << mode;
    EXPECT_FALSE(std::filesystem::exists(path() + ".partial")) << mode;
  }
}

TEST_F(EndsTest, SignalsThatEndTheProgramSealTheTrace) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const ProcessResult result =
        record(std::string(PROGRAMS) + "/program_process signal " + std::to_string(signal));
    EXPECT_EQ(result.code, 128 + signal) << result.err;
    EXPECT_THAT(result.err, HasSubstr("killed by signal " + std::to_string(signal)));
    const auto trace = open();
    ASSERT_TRUE(trace) << signal;
    EXPECT_TRUE(trace->sealed() && trace->complete()) << signal;
    EXPECT_GE(actions<format::Launch>(*trace).size(), 1u) << signal;
  }
}

TEST_F(EndsTest, AnAbortWaitsForNoOtherThread) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_process abort_busy");
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now().time_since_epoch());
  ASSERT_EQ(result.code, 128 + SIGABRT) << result.err;
  EXPECT_LT(now.count() - std::stoll(result.out), 5000);
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_GE(actions<format::Launch>(*trace).size(), 1u);
}

TEST_F(EndsTest, SignalHandlersAreThePrograms) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_process handler");
  EXPECT_EQ(result.code, 24) << result.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->sealed());
  const ProcessResult ignored =
      run("trap '' INT HUP; " + std::string(RECORD_TOOL) + " --device emulated --force -o " +
              path() + " -- " + PROGRAMS + "/program_process ignores",
          folder_.path());
  EXPECT_EQ(ignored.code, 0) << ignored.err;
  EXPECT_EQ(ignored.out, "ok\n");
}

TEST_F(EndsTest, WorkOfOtherProcessesIsNotSilentlyMissing) {
  const std::string program = std::string(PROGRAMS) + "/program_process ";
  for (const char* mode : {"child", "system"}) {
    const ProcessResult result = record(program + mode);
    EXPECT_EQ(result.code, 0) << mode << result.err;
    EXPECT_THAT(result.err, HasSubstr("incomplete: process ")) << mode;
    const auto trace = open();
    ASSERT_TRUE(trace) << mode;
    EXPECT_TRUE(trace->sealed() && !trace->complete()) << mode;
    const char* first = mode == std::string("child") ? "hipLaunchKernel" : "hipMemset";
    EXPECT_THAT(result.err, HasSubstr(std::string("): ") + first)) << mode;
  }
  // A process that gives the device no work takes nothing from the trace.
  const ProcessResult allocates = record(program + "system_allocates");
  EXPECT_EQ(allocates.code, 0) << allocates.err;
  EXPECT_THAT(allocates.err, Not(HasSubstr("incomplete")));
  // The trace was sealed before.
  const ProcessResult result = record(program + "exec");
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("not recorded, and not named in the trace: process "));
  // Nothing is lost where the child is the only one that uses the device.
  const ProcessResult child = record(program + "fork_first");
  EXPECT_EQ(child.code, 0) << child.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->sealed() && trace->complete());
  EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(1));
}

}  // namespace
}  // namespace gfxgraph::recorder

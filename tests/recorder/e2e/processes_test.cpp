// A trace for each process: programs that start others, under gfxgraph-record with %p and %r in the
// trace's name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/sanitized.h"
#include "format/read/reader.h"
#include "recorder/tool/manifest.h"
#include "tests/recorder/process.h"

namespace gfxgraph::recorder {
namespace {

using format::Trace;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kProgram = std::string(PROGRAMS) + "/program_process ";

class ProcessesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) {
      GTEST_SKIP() << "a sanitizer's runtime cannot be preloaded into the recorded program";
    }
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  ProcessResult record(const std::string& program, const std::string& options = "",
                       const std::string& pattern = "run-%p.gfxg") {
    return run(std::string(RECORD_TOOL) + " --device emulated -o '" + path(pattern) + "' " +
                   options + " -- " + program,
               folder_.path());
  }

  Manifest manifest(const std::string& name = "run.manifest.json") {
    const auto read = parse_manifest(read_text(path(name)));
    EXPECT_TRUE(read) << name << ": " << (read ? "" : read.error().message);
    return read.value_or(Manifest());
  }

  // Whether the trace that an entry names is sealed and complete, and holds this many launches.
  void expect_whole(const ManifestEntry& entry, size_t launches) {
    EXPECT_EQ(entry.state, TraceState::kSealed) << entry.error;
    EXPECT_TRUE(entry.complete) << entry.file;
    EXPECT_EQ(entry.launches, launches) << entry.file;
    expect_launches(entry, launches);
  }
  void expect_launches(const ManifestEntry& entry, size_t launches) {
    const auto trace = Trace::open(path(entry.file), {.allow_torn = true});
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ((*trace)->sealed(), entry.state == TraceState::kSealed);
    if (entry.state == TraceState::kSealed) {
      EXPECT_EQ((*trace)->complete(), entry.complete);
    }
    EXPECT_EQ(std::ranges::count_if((*trace)->events(),
                                    [](const format::Event& event) {
                                      return std::holds_alternative<format::Launch>(event.action);
                                    }),
              static_cast<ptrdiff_t>(launches))
        << entry.file;
  }

  TemporaryFolder folder_;
};

TEST_F(ProcessesTest, OneProcess) {
  const ProcessResult result = record(kProgram + "once");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "ok\n");
  EXPECT_THAT(result.err, HasSubstr("run.manifest.json names 1 trace; next: gfxgraph info"));
  const Manifest found = manifest();
  ASSERT_THAT(found.traces, SizeIs(1));
  const ManifestEntry& entry = found.traces[0];
  expect_whole(entry, 1);
  EXPECT_EQ(entry.file, "run-" + std::to_string(entry.pid) + ".gfxg");
  EXPECT_EQ(entry.exit_status, 0);
  EXPECT_EQ(entry.rank, std::nullopt);
  EXPECT_EQ(entry.command_line,
            (std::vector<std::string>{std::string(PROGRAMS) + "/program_process", "once"}));
  EXPECT_EQ(found.program, entry.command_line);
}

TEST_F(ProcessesTest, ProcessesThatAreStartedInEachWay) {
  for (const char* mode : {"forks_first", "fork_exec", "spawn"}) {
    const ProcessResult result = record(kProgram + mode, "--force");
    ASSERT_EQ(result.code, 0) << mode << result.err;
    EXPECT_EQ(result.out, "ok\n") << mode;
    const Manifest found = manifest();
    ASSERT_THAT(found.traces, SizeIs(2)) << mode << result.err;
    for (const ManifestEntry& entry : found.traces) expect_whole(entry, 1);
    const ManifestEntry& a = found.traces[0];
    const ManifestEntry& b = found.traces[1];
    EXPECT_TRUE(a.parent_pid == b.pid || b.parent_pid == a.pid) << mode;
    EXPECT_NE(a.exit_status.has_value(), b.exit_status.has_value()) << "of the first process only";
  }
}

// HIP does not work there: what the child tries is a finding of its parent's trace.
TEST_F(ProcessesTest, ChildrenForkedAfterHipAreFindingsOfTheirParents) {
  const ProcessResult result = record(kProgram + "child");
  EXPECT_EQ(result.code, 0) << result.err;
  const Manifest found = manifest();
  ASSERT_THAT(found.traces, SizeIs(1));
  EXPECT_EQ(found.traces[0].state, TraceState::kSealed);
  EXPECT_FALSE(found.traces[0].complete);
  ASSERT_THAT(found.traces[0].incomplete, SizeIs(1));
  EXPECT_THAT(found.traces[0].incomplete[0], HasSubstr("hipLaunchKernel"));
  EXPECT_THAT(result.err, HasSubstr("incomplete: process "));
  EXPECT_EQ(record(kProgram + "child", "--strict --force").code, 3);
}

// mpirun and the like set the variable.
TEST_F(ProcessesTest, Ranks) {
  const std::string script = "sh -c 'PMI_RANK=0 " + kProgram + "once & OMPI_COMM_WORLD_RANK=1 " +
                             kProgram + "once & wait'";
  const ProcessResult result = record(script, "", "run-%r.gfxg");
  ASSERT_EQ(result.code, 0) << result.err;
  const Manifest found = manifest();
  ASSERT_THAT(found.traces, SizeIs(2));
  std::set<std::string> names;
  for (const ManifestEntry& entry : found.traces) {
    expect_whole(entry, 1);
    ASSERT_TRUE(entry.rank);
    EXPECT_EQ(entry.file, "run-" + std::to_string(*entry.rank) + ".gfxg");
    names.insert(entry.file);
  }
  EXPECT_THAT(names, SizeIs(2));
  EXPECT_THAT(result.err, HasSubstr(", rank 1: run-1.gfxg, 1 launch"));
  // mpirun gfxgraph-record ...: each has a manifest of its own.
  const ProcessResult inside =
      run("MV2_COMM_WORLD_RANK=7 " + std::string(RECORD_TOOL) + " --device emulated -o '" +
              path("run-%r.gfxg") + "' -- " + kProgram + "once",
          folder_.path());
  ASSERT_EQ(inside.code, 0) << inside.err;
  EXPECT_EQ(manifest("run-7.manifest.json").traces[0].file, "run-7.gfxg");
}

TEST_F(ProcessesTest, NothingReplacesATraceOfTheSameName) {
  // The second image of one process.
  const ProcessResult result = record(kProgram + "exec", "--force");
  ASSERT_EQ(result.code, 0) << result.err;
  const Manifest found = manifest();
  ASSERT_THAT(found.traces, SizeIs(2));
  const std::string pid = std::to_string(found.traces[0].pid);
  EXPECT_EQ(found.traces[1].pid, found.traces[0].pid);
  EXPECT_EQ(found.traces[0].file, "run-" + pid + ".gfxg");
  EXPECT_EQ(found.traces[1].file, "run-" + pid + ".2.gfxg");
  EXPECT_EQ(found.traces[0].command_line.back(), "exec");
  EXPECT_EQ(found.traces[1].command_line.back(), "once");
  EXPECT_FALSE(found.traces[0].exit_status);
  EXPECT_EQ(found.traces[1].exit_status, 0);
  for (const ManifestEntry& entry : found.traces) expect_whole(entry, 1);
  // Processes without a rank, and a trace of an earlier recording.
  std::ofstream(path("old-0.gfxg")) << "something";
  ASSERT_EQ(record(kProgram + "spawn", "", "old-%r.gfxg").code, 0);
  EXPECT_EQ(read_text(path("old-0.gfxg")), "something");
  std::set<std::string> names;
  for (const ManifestEntry& entry : manifest("old.manifest.json").traces) {
    expect_whole(entry, 1);
    names.insert(entry.file);
  }
  EXPECT_EQ(names, (std::set<std::string>{"old-0.2.gfxg", "old-0.3.gfxg"}));
  // --force replaces it, but nothing of its own.
  ASSERT_EQ(record(kProgram + "spawn", "--force", "old-%r.gfxg").code, 0);
  names.clear();
  for (const ManifestEntry& entry : manifest("old.manifest.json").traces) {
    expect_whole(entry, 1);
    names.insert(entry.file);
  }
  EXPECT_EQ(names, (std::set<std::string>{"old-0.gfxg", "old-0.2.gfxg"}));
}

TEST_F(ProcessesTest, TracesOfKilledProcessesAreClosed) {
  const ProcessResult result = record(kProgram + "killed_child");
  EXPECT_EQ(result.out, "ok\n");
  EXPECT_EQ(result.code, 3) << result.err;
  const Manifest found = manifest();
  ASSERT_THAT(found.traces, SizeIs(2));
  const bool first = !found.traces[0].complete;
  const ManifestEntry& killed = found.traces[first ? 0 : 1];
  expect_whole(found.traces[first ? 1 : 0], 1);
  EXPECT_EQ(killed.state, TraceState::kSealed);
  EXPECT_EQ(killed.file, "run-" + std::to_string(killed.pid) + ".gfxg");
  EXPECT_EQ(killed.launches, 1u);
  EXPECT_FALSE(killed.complete);
  EXPECT_THAT(killed.error, HasSubstr("ended without telling the recorder"));
  ASSERT_THAT(killed.incomplete, SizeIs(1));
  EXPECT_THAT(killed.incomplete[0], HasSubstr("lacks everything not yet written"));
  expect_launches(killed, 1);
  EXPECT_THAT(result.err, HasSubstr(killed.file));
}

TEST_F(ProcessesTest, ProcessesThatOutliveTheProgramAreStillRecording) {
  const ProcessResult result = record(kProgram + "outlives " + folder_.path().string());
  EXPECT_EQ(result.code, 3) << result.err;
  const Manifest found = manifest();
  std::ofstream(path("stop")) << "now";
  ASSERT_THAT(found.traces, SizeIs(1));
  EXPECT_EQ(found.traces[0].state, TraceState::kRecording);
  EXPECT_THAT(result.err, HasSubstr("still recording"));
  // The trace gets its name when the process ends.
  while (!std::filesystem::exists(path(found.traces[0].file))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(Trace::open(path(found.traces[0].file)));
}

TEST_F(ProcessesTest, SignalsThatEndTheProgramSealAllTraces) {
  // All get the signal, as from a terminal; gfxgraph-record names what they leave.
  const std::string pids = path("pids");
  const std::string script = path("both.sh");
  std::ofstream(script) << "trap 'kill -TERM $a $b; wait $a $b; exit 143' TERM\n"
                        << kProgram << "signal 0 >" << path("a") << " & a=$!\n"
                        << kProgram << "signal 0 >" << path("b") << " & b=$!\n"
                        << "until grep -q ok " << path("a") << " && grep -q ok " << path("b")
                        << "; do sleep 0.02; done\nkill -TERM $$\nwait\n";
  const ProcessResult result = record("sh " + script);
  EXPECT_EQ(result.code, 143) << result.err;
  const Manifest found = manifest();
  EXPECT_EQ(found.exit_status, 143);
  ASSERT_THAT(found.traces, SizeIs(2));
  for (const ManifestEntry& entry : found.traces) {
    EXPECT_EQ(entry.state, TraceState::kSealed) << entry.error;
  }
}

TEST_F(ProcessesTest, FortyAtOnce) {
  const ProcessResult result = record(kProgram + "crowd 40", "", "run-%r.gfxg");
  ASSERT_EQ(result.code, 0) << result.err;
  const Manifest found = manifest();
  ASSERT_THAT(found.traces, SizeIs(40));
  std::set<std::string> names;
  std::set<pid_t> pids;
  for (const ManifestEntry& entry : found.traces) {
    expect_whole(entry, 1);
    names.insert(entry.file);
    pids.insert(entry.pid);
  }
  EXPECT_THAT(names, SizeIs(40));
  EXPECT_THAT(pids, SizeIs(40));
  EXPECT_TRUE(names.contains("run-0.gfxg") && names.contains("run-0.40.gfxg"));
  EXPECT_THAT(result.err, HasSubstr("20 more sealed traces"));
}

TEST_F(ProcessesTest, RedactedManifestsHaveNoCommandLines) {
  ASSERT_EQ(record(kProgram + "once", "--redact").code, 0);
  EXPECT_THAT(read_text(path("run.manifest.json")), Not(HasSubstr("program_process")));
}

TEST_F(ProcessesTest, InfoListsAManifest) {
  const std::string info =
      (std::filesystem::path(RECORD_TOOL).parent_path() / "gfxgraph info ").string();
  ASSERT_EQ(record(kProgram + "spawn").code, 0);
  const ProcessResult listed = run(info + path("run.manifest.json"), folder_.path());
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("traces: 2, 2 sealed\n"));
  for (const ManifestEntry& entry : manifest().traces) {
    EXPECT_THAT(listed.out, HasSubstr(entry.file));
  }
  const ProcessResult json = run(info + "--json " + path("run.manifest.json"), folder_.path());
  EXPECT_EQ(json.out, read_text(path("run.manifest.json")));
  EXPECT_EQ(run(info + "--ranges " + path("run.manifest.json"), folder_.path()).code, 2);
  record(kProgram + "killed_child", "--force");
  EXPECT_EQ(run(info + path("run.manifest.json"), folder_.path()).code, 3);
  std::ofstream(path("bad.json")) << "{\"a\": 1}";
  const ProcessResult bad = run(info + path("bad.json"), folder_.path());
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("not a manifest of gfxgraph-record"));
}

TEST_F(ProcessesTest, NamesThatCannotBe) {
  const auto code = [&](const std::string& pattern, const std::string& message) {
    const ProcessResult result = record(kProgram + "once", "", pattern);
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.out, "") << "the program must not have run";
    return result.code;
  };
  EXPECT_EQ(code("run-%x.gfxg", "'%x' in the name"), 2);
  EXPECT_EQ(code("%p/run.gfxg", "is in a folder name"), 2);
  EXPECT_EQ(code("none/run-%p.gfxg", "is not a directory"), 1);
  EXPECT_EQ(code("%p" + std::string(245, 'x'), "the limit is 255"), 1);
  std::ofstream(path("run.manifest.json")) << "{}";
  EXPECT_EQ(code("run-%p.gfxg", "run.manifest.json exists: use --force"), 1);
  EXPECT_EQ(read_text(path("run.manifest.json")), "{}");
  // No process needs HIP: nothing is written.
  const ProcessResult nothing = record("true", "", "none-%p.gfxg");
  EXPECT_EQ(nothing.code, 0);
  EXPECT_THAT(nothing.err,
              HasSubstr("no HIP calls that succeeded and use the device, no trace written"));
  EXPECT_FALSE(std::filesystem::exists(path("none.manifest.json")));
}

// Two tools that do not know of each other, and one name.
TEST_F(ProcessesTest, AManifestOfAnotherRecordingStays) {
  const ProcessResult result =
      record("sh -c '" + kProgram + "once; echo other > " + path("run.manifest.json") + "'");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(read_text(path("run.manifest.json")), "other\n");
  EXPECT_THAT(result.err, HasSubstr("run.manifest.2.json names 1 trace"));
  EXPECT_THAT(manifest("run.manifest.2.json").traces, SizeIs(1));
}

// A folder that is gone when the process begins to record changes nothing for the program.
TEST_F(ProcessesTest, TracesThatCannotBeWritten) {
  std::filesystem::create_directory(path("gone"));
  const ProcessResult result = record(
      "sh -c 'rmdir " + path("gone") + " && " + kProgram + "once; mkdir " + path("gone") + "'", "",
      "gone/run-%p.gfxg");
  EXPECT_EQ(result.out, "ok\n");
  EXPECT_EQ(result.code, 3) << result.err;
  const Manifest found = manifest("gone/run.manifest.json");
  ASSERT_THAT(found.traces, SizeIs(1));
  EXPECT_EQ(found.traces[0].state, TraceState::kFailed);
  EXPECT_THAT(found.traces[0].error, HasSubstr("No such file or directory"));
  EXPECT_EQ(found.traces[0].file, "");
}

}  // namespace
}  // namespace gfxgraph::recorder

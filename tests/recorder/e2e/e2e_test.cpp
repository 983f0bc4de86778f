// Whole recordings: HIP programs under gfxgraph-record, on the software agent with the installed
// runtime, and on fake_hip where calls fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "format/read/reader.h"
#include "tests/recorder/e2e/recorded_program.h"

namespace gfxgraph::recorder {
namespace {

using format::Trace;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class RecordTest : public RecordedProgramTest {
 protected:
  std::shared_ptr<const Trace> record_mode(const std::string& mode) {
    const ProcessResult result = record(std::string(PROGRAMS) + "/program_forms " + mode);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("ok\n"));
    return open();
  }
};

TEST_F(RecordTest, OrdinaryProgram) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_basic");
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.out, "ok\n");
  EXPECT_THAT(result.err, HasSubstr("next: gfxgraph-replay " + path()));
  EXPECT_THAT(result.err, HasSubstr("3 launches of 3 kernels"));
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->sealed() && trace->complete());
  EXPECT_TRUE(trace->environment().emulated);
  EXPECT_EQ(trace->environment().gpu_arch, "gfx1030");
  EXPECT_THAT(trace->environment().command_line, SizeIs(1));
  const auto launches = actions<format::Launch>(*trace);
  ASSERT_THAT(launches, SizeIs(3));
  EXPECT_EQ(launches[0].kernarg.size(), 16u);
  float value = 0;
  std::memcpy(&value, &launches[0].kernarg[8], sizeof(value));
  EXPECT_EQ(value, 1.5f);
  ASSERT_THAT(launches[1].relocations, SizeIs(2)) << "two pointers in a struct by value";
  EXPECT_EQ(launches[1].relocations[1].offset_bytes, 16u);
  EXPECT_NE(launches[0].stream, launches[1].stream);
  // The table of pointers in memory, after what one of them points to was freed.
  for (const auto& end : actions<format::AllocationEnd>(*trace)) {
    if (end.id == 4) {
      EXPECT_THAT(end.post.relocations, SizeIs(2));
    }
  }
  // The __device__ variable that a kernel changed without any call about it.
  std::map<uint32_t, std::string> symbols;
  for (const auto& begin : actions<format::AllocationBegin>(*trace))
    symbols[begin.id] = begin.symbol;
  bool seen = false;
  for (const auto& end : actions<format::AllocationEnd>(*trace)) {
    if (symbols[end.id] != "launches_done") continue;
    seen = true;
    const auto bytes = trace->content(end.post);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(static_cast<int>((*bytes)[0]), 1);
  }
  EXPECT_TRUE(seen);
}

TEST_F(RecordTest, KernelsOfALibraryThatTheProgramIsLinkedTo) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_linked");
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.out, "ok\n");
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->sealed() && trace->complete());
  EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(1));
}

TEST_F(RecordTest, RedactedCommandLine) {
  ASSERT_EQ(record(std::string(PROGRAMS) + "/program_basic", "--redact").code, 0);
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->environment().command_line.empty());
}

TEST_F(RecordTest, HostVisibleMemory) {
  for (const char* mode : {"managed", "pinned", "registered"}) {
    const auto trace = record_mode(mode);
    ASSERT_TRUE(trace) << mode;
    EXPECT_TRUE(trace->complete()) << mode;
    // A kernel that ends before the program waits for it leaves what it wrote in doubt.
    auto writes = actions<format::HostWrite>(*trace);
    std::erase_if(writes, [](const format::HostWrite& one) { return one.in_doubt; });
    EXPECT_THAT(writes, SizeIs(4)) << mode;
  }
}

// roctx, hipProfilerStart and gfxgraph/record.h; the program alone finds none of them.
TEST_F(RecordTest, RangesAndMarks) {
  const std::filesystem::path tools = std::filesystem::path(RECORD_TOOL).parent_path();
  const ProcessResult alone =
      run((tools / "gfxgraph").string() + " run -- " + std::string(PROGRAMS) + "/program_marks",
          folder_.path());
  EXPECT_EQ(alone.out, "ok\n") << alone.err;
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_marks");
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.out, "levels 0 1 1 0\nok\n");
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  std::string order;
  for (const format::Event& event : trace->events()) {
    if (std::holds_alternative<format::Launch>(event.action)) order += ".";
    const auto* marker = std::get_if<format::Marker>(&event.action);
    if (marker == nullptr) continue;
    const char* const kinds[] = {"!", "<", ">"};
    order += kinds[static_cast<int>(marker->kind)] + marker->text + " ";
  }
  EXPECT_EQ(order,
            "<whole <step .!half .>step <step .!half .>step <step .!half .>step "
            "<outer <inner .!roctx mark >inner >outer <started >started "
            "<hipProfiler .>hipProfiler >whole <not left ");
  std::map<std::string, uint64_t> notes;
  for (const format::Finding& finding : trace->findings()) notes[finding.call] += finding.count;
  EXPECT_EQ(notes["roctxRangePop"], 1u);
  EXPECT_EQ(notes["gfxgraph_range_end"], 1u);
  EXPECT_EQ(notes["ranges"], 1u);
}

// Only what stands between hipProfilerStart and hipProfilerStop, and launches by the kernel's name.
TEST_F(RecordTest, PartsOfAProgram) {
  const std::string program = std::string(PROGRAMS) + "/program_marks";
  for (const auto& [options, launches] :
       {std::pair{"--profiler-range", 1u},
        {"--kernel increment#1-3", 3u},
        {"--launches 6:", 2u},
        {"--kernel 'incr*#0' --launches 2:4 --range step#2", 5u}}) {
    const ProcessResult result = record(program, std::string("--strict ") + options);
    ASSERT_EQ(result.code, 0) << options << result.out << result.err;
    EXPECT_EQ(result.out, "levels 0 1 1 0\nok\n");
    const auto trace = open();
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->complete()) << options;
    EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(launches)) << options;
  }
}

// A program that marks and never uses the device: nothing is recorded, and nothing goes wrong.
TEST_F(RecordTest, MarksAloneAreNoRecording) {
  const std::string program = std::string(PROGRAMS) + "/record_header";
  EXPECT_EQ(run(program, folder_.path()).code, 0);
  const ProcessResult result = record(program);
  EXPECT_FALSE(std::filesystem::exists(path())) << result.err;
  EXPECT_THAT(result.err, HasSubstr("HIP"));
}

// Nothing stands between the steps at which a replay would have to wait.
TEST_F(RecordTest, CopiesOutOfPinnedMemoryNeedNoHostWrites) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_bytes pinned_steps");
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  std::vector<int> positions;
  size_t writes = 0;
  for (const format::Event& event : trace->events()) {
    if (const auto* copy = std::get_if<format::Copy>(&event.action);
        copy != nullptr && copy->source_is_pinned) {
      int position = -1;
      const auto bytes = trace->content(copy->host_source);
      ASSERT_TRUE(bytes);
      ASSERT_EQ(bytes->size(), sizeof(position));
      std::memcpy(&position, bytes->data(), sizeof(position));
      positions.push_back(position);
    }
    if (std::holds_alternative<format::HostWrite>(event.action)) {
      EXPECT_EQ(positions.size(), 16u) << "the last state only";
      ++writes;
    }
  }
  ASSERT_EQ(positions.size(), 16u);
  for (int step = 0; step < 16; ++step) EXPECT_EQ(positions[step], step * step);
  EXPECT_EQ(writes, 1u);
}

// Only HIP 5.2.3 calls it early (docs/runtime-quirks.md).
TEST_F(RecordTest, AHostNodeThatIsCalledBeforeItsCopyIsNamed) {
  const ProcessResult result =
      record(std::string(PROGRAMS) + "/program_bytes host_node_after_pinned_copy");
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  const int32_t version = trace->environment().hip_runtime_version;
  EXPECT_EQ(trace->complete(), version < 50'200'000 || version >= 50'300'000);
  for (const format::Finding& finding : trace->findings()) {
    if (finding.kind != format::FindingKind::kIncomplete) continue;
    EXPECT_THAT(finding.detail, HasSubstr("kHostNodeCalledEarly"));
  }
}

TEST_F(RecordTest, ACopyThatTheHostHoldsUpKeepsItsPinnedSource) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_bytes pinned_held");
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  for (const auto& copy : actions<format::Copy>(*trace)) EXPECT_FALSE(copy.source_is_pinned);
  const auto writes = actions<format::HostWrite>(*trace);
  const auto seven = [&](const format::HostWrite& write) {
    const auto bytes = trace->content(write.content);
    return bytes && !bytes->empty() && bytes->front() == std::byte{7};
  };
  EXPECT_TRUE(std::ranges::any_of(writes, seven)) << "what the copy read";
}

// Kernels that end when the host lets them hold up neither hipFreeAsync nor what the trace says of
// the memory: its bytes are read behind the work of the stream.
TEST_F(RecordTest, NothingWaitsForAKernelThatWaitsForTheHost) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_order held");
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  for (const format::Finding& finding : trace->findings()) {
    EXPECT_NE(finding.call, "hipFree") << finding.detail;
    EXPECT_NE(finding.call, "hipFreeAsync") << finding.detail;
  }
  format::AllocationId temporary = 0;
  for (const auto& begin : actions<format::AllocationBegin>(*trace)) {
    if (begin.kind == format::AllocationKind::kStreamOrdered) temporary = begin.id;
  }
  bool ended = false;
  for (const auto& end : actions<format::AllocationEnd>(*trace)) {
    if (end.id != temporary) continue;
    ended = true;
    ASSERT_TRUE(end.post.hash);
    uint64_t word = 0;
    const auto bytes = trace->content(end.post);
    ASSERT_TRUE(bytes);
    ASSERT_EQ(bytes->size(), sizeof(word));
    std::memcpy(&word, bytes->data(), sizeof(word));
    EXPECT_EQ(word, 42u) << "what the kernel wrote after hipFreeAsync had returned";
  }
  EXPECT_TRUE(ended);
  // What the second kernel read stands before it.
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(writes[0].offset_bytes, 0u) << "the word that changed, with its neighbour";
  EXPECT_EQ(static_cast<int>((*trace->content(writes[0].content))[4]), 7);
}

// What is read behind a stream stands in memory as a whole: there is a bound.
TEST_F(RecordTest, FewBytesAreReadBehindAStream) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_order held_frees");
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  std::vector<bool> known;
  for (const auto& end : actions<format::AllocationEnd>(*trace)) {
    if (end.post.size_bytes == size_t{96} << 20) known.push_back(static_cast<bool>(end.post.hash));
  }
  EXPECT_EQ(known, std::vector<bool>({true, false}));
  EXPECT_TRUE(std::ranges::any_of(trace->findings(), [](const format::Finding& finding) {
    return finding.call == "hipFreeAsync" && finding.kind == format::FindingKind::kNote;
  }));
}

TEST_F(RecordTest, WithWaitsTheSameIsRecorded) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_order held", "--wait");
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  const auto writes = actions<format::HostWrite>(*trace);
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(static_cast<int>((*trace->content(writes[0].content))[4]), 7);
}

TEST_F(RecordTest, EveryFormIsComplete) {
  const std::map<std::string, size_t> launches = {
      {"staging", 2},
      {"symbols", 1},
      {"copies_2d", 0},
      {"capture", 0},
      {"dynamic", 0},
      {"explicit_graph", 0},
      {"threads", 200},
      {"last_error", 1},
      {"callback", 1},
      {"fork", 2},
      {std::string("module ") + PROGRAMS + "/module.co", 2}};
  for (const auto& [mode, count] : launches) {
    const auto trace = record_mode(mode);
    ASSERT_TRUE(trace) << mode;
    EXPECT_TRUE(trace->sealed() && trace->complete()) << mode;
    EXPECT_THAT(actions<format::Launch>(*trace), SizeIs(count)) << mode;
  }
}

TEST_F(RecordTest, CallsFoundAtRunTimeAreSeen) {
  const auto trace = record_mode("dynamic");
  ASSERT_TRUE(trace);
  ASSERT_THAT(actions<format::AllocationBegin>(*trace), SizeIs(1));
  EXPECT_TRUE(actions<format::AllocationEnd>(*trace)[0].freed);
}

TEST_F(RecordTest, Graphs) {
  auto trace = record_mode("capture");
  ASSERT_TRUE(trace);
  ASSERT_THAT(trace->graphs(), SizeIs(1));
  EXPECT_THAT(trace->graphs()[0].nodes, SizeIs(3));
  EXPECT_THAT(actions<format::GraphLaunch>(*trace), SizeIs(2));
  trace = record_mode("explicit_graph");
  ASSERT_TRUE(trace);
  EXPECT_THAT(trace->graphs(), SizeIs(2)) << "before and after the change of an argument";
  EXPECT_THAT(actions<format::GraphLaunch>(*trace), SizeIs(3));
}

TEST_F(RecordTest, UnsupportedCallsAreNamedAndCounted) {
  const std::string program = std::string(PROGRAMS) + "/program_forms unsupported";
  const ProcessResult result = record(program);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("incomplete: hipTexRefSetFlags (2 times)"));
  EXPECT_THAT(result.err, Not(HasSubstr("hipMallocArray"))) << "a call that HIP refused";
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
  EXPECT_EQ(record(program, "--strict").code, 3);
}

TEST_F(RecordTest, WorkOnAnotherDeviceIsRecordedAndLookingAtItIsNotWork) {
  const std::string program = GFXGRAPH_BINARY_DIR "/tests/hsa/hip/hip_devices";
  ProcessResult result = record(program + " look 2", "--devices 2");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "ok\n");
  EXPECT_TRUE(open()->complete()) << result.err;
  EXPECT_THAT(open()->devices(), SizeIs(0));
  result = record(program + " copies 2", "--devices 2");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "ok\n");
  EXPECT_TRUE(open()->complete()) << result.err;
  EXPECT_THAT(open()->devices(), SizeIs(1));
  // A barrier of all grids, which no replay on one device can have.
  result = record(program + " grids 2", "--devices 2");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(open()->complete());
  EXPECT_THAT(result.err, HasSubstr("incomplete: hipLaunchCooperativeKernelMultiDevice"));
  EXPECT_THAT(result.err, HasSubstr("a barrier of the grids of several devices"));
}

TEST_F(RecordTest, WaitsForValuesThatNoStreamWroteBeforeAreNamed) {
  const ProcessResult result = record(std::string(PROGRAMS) + "/program_values unknown_waits");
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* what :
       {"hipStreamWaitValue32: waits for a value that is not known to be written before it",
        "hipStreamWaitValue64: waits for a value that is written after it, or by the host",
        "hipStreamWaitValue64: waits for a value that a kernel may write"}) {
    EXPECT_THAT(result.err, HasSubstr(what));
  }
  const auto trace = open();
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->complete());
}

TEST_F(RecordTest, OutputsThatCannotBe) {
  const std::string program = std::string(PROGRAMS) + "/program_basic";
  const auto code = [&](const std::string& options, const std::string& message) {
    const ProcessResult result =
        run(std::string(RECORD_TOOL) + " --device emulated " + options + " -- " + program,
            folder_.path());
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.out, "") << "the program must not have run";
    return result.code;
  };
  EXPECT_EQ(code("-o /no/such/folder/t.gfxg", "is not a directory; create it"), 1);
  EXPECT_EQ(code("-o /tmp", "is a directory"), 1);
  std::ofstream(path()) << "something";
  EXPECT_EQ(code("-o " + path(), "exists: use --force"), 1);
  EXPECT_EQ(read_text(path()), "something");
}

TEST_F(RecordTest, UsageErrors) {
  const auto code = [&](const std::string& arguments) {
    return run(std::string(RECORD_TOOL) + " " + arguments, folder_.path()).code;
  };
  EXPECT_EQ(code(""), 2);
  EXPECT_EQ(code("-o x.gfxg"), 2);
  EXPECT_EQ(code("-o x.gfxg --"), 2);
  EXPECT_EQ(code("true"), 2);
  EXPECT_EQ(code("-o x.gfxg --no-such-option -- true"), 2);
  EXPECT_EQ(code("-o x.gfxg --device mars -- true"), 2);
  EXPECT_EQ(code("-o x.gfxg --compress 99 -- true"), 2);
  EXPECT_EQ(code("-o x.gfxg --hash-only --no-content -- true"), 2);
  EXPECT_EQ(code("--help"), 0);
}

TEST_F(RecordTest, ProgramsThatCannotBeRecorded) {
  const auto expect_message = [&](const std::string& program, const std::string& message,
                                  int code) {
    const ProcessResult result = record(program);
    EXPECT_THAT(result.err, HasSubstr(message)) << program;
    EXPECT_EQ(result.code, code) << program;
    EXPECT_FALSE(std::filesystem::exists(path())) << program;
  };
  expect_message("/no/such/program", "no such program", 1);
  expect_message("no-such-program-anywhere", "no such program; give its path", 1);
  expect_message("/etc/passwd", "is not executable", 1);
  expect_message("/etc", "is a folder", 1);
  expect_message(std::string(PROGRAMS) + "/static_program", "is statically linked", 1);
  expect_message("true", "no HIP calls that succeeded and use the device, no trace written", 0);
  expect_message("'sh' -c 'exit 9'",
                 "no HIP calls that succeeded and use the device, no trace written", 9);
}

TEST_F(RecordTest, FailingCallsPassThroughUnchanged) {
  const std::string program = std::string(PROGRAMS) + "/program_faults";
  for (int fail_at = -1; fail_at < 20; ++fail_at) {
    const std::string environment =
        "FAKE_HIP_FAIL_AT=" + std::to_string(fail_at) + " LD_LIBRARY_PATH=" + FAKE_HIP_FOLDER + " ";
    const ProcessResult bare = run(environment + program, folder_.path());
    EXPECT_EQ(bare.err, "");
    const ProcessResult recorded = run(
        environment + RECORD_TOOL + " --device emulated --force -o " + path() + " -- " + program,
        folder_.path());
    EXPECT_EQ(recorded.out, bare.out) << "call " << fail_at << " fails";
    EXPECT_EQ(recorded.code, bare.code) << "call " << fail_at << " fails";
    const auto trace = open();
    ASSERT_TRUE(trace) << recorded.err;
    EXPECT_TRUE(trace->sealed());
    EXPECT_THAT(actions<format::Launch>(*trace),
                SizeIs(fail_at == 7 || fail_at == 0 || fail_at == 1 ? 0 : 1))
        << "call " << fail_at << " fails\n"
        << recorded.out;
  }
}

// Words that lead into no allocation are named as what they are, or the kernels that leave them.
TEST_F(RecordTest, AddressesOfFunctionsAndOfTheDeviceHeapAreNamed) {
  const auto notes = [&](const std::string& program) {
    const ProcessResult result = record(std::string(PROGRAMS) + "/" + program);
    EXPECT_EQ(result.out, "ok\n") << program << result.err;
    const auto trace = open();
    std::vector<std::string> found;
    if (!trace) return found;
    EXPECT_TRUE(trace->complete());
    for (const format::Finding& finding : trace->findings())
      found.push_back(finding.call + ": " + finding.detail);
    return found;
  };
  EXPECT_THAT(notes("program_addresses neither"), SizeIs(0));
  EXPECT_THAT(notes("program_addresses heap"),
              ElementsAre(StartsWith("_Z4takePPi: it can call malloc")));
  EXPECT_THAT(notes("program_addresses functions"),
              Contains(StartsWith("_Z7measurePK4RoomPi: it can call functions by address")));
  EXPECT_THAT(notes("program_addresses_known functions"), SizeIs(0));
  const std::filesystem::path tools = std::filesystem::path(RECORD_TOOL).parent_path();
  const ProcessResult info =
      run((tools / "gfxgraph").string() + " info --relocations " + path(), folder_.path());
  EXPECT_THAT(
      info.out,
      HasSubstr(
          "4 x matched, code, by pointers next to it: copy from host memory to allocation 3"));
}

// Functions of a runtime newer than gfxgraph, and calls that are not recorded.
TEST_F(RecordTest, CallsThatNoRowDescribesAreFindings) {
  const auto expect_findings = [&](const std::string& program, const std::string& printed,
                                   const std::vector<std::string>& incomplete) {
    const ProcessResult result =
        run(std::string("LD_LIBRARY_PATH=") + FAKE_HIP_FOLDER + " " + RECORD_TOOL +
                " --device emulated --force -o " + path() + " -- " + PROGRAMS + "/" + program,
            folder_.path());
    EXPECT_EQ(result.code, 0) << program << result.err;
    EXPECT_EQ(result.out, printed) << program;
    const auto trace = open();
    ASSERT_TRUE(trace) << program;
    std::vector<std::string> found;
    for (const format::Finding& finding : trace->findings()) {
      if (finding.kind == format::FindingKind::kIncomplete) {
        found.push_back(finding.call + ": " + finding.detail);
      }
    }
    EXPECT_EQ(trace->complete(), incomplete.empty()) << program;
    EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(incomplete)) << program;
  };
  const std::string unknown = "hipFutureCall: gfxgraph does not know this function";
  const std::string linked = "hipFutureLinked: linked; gfxgraph does not know this function";
  // The second call fails: what that says of an unknown function is not known.
  expect_findings("program_unknown looked_up", "0 1\n", {unknown, unknown});
  expect_findings("program_unknown by_handle", "0 1\n", {unknown, unknown});
  expect_findings("program_unknown by_runtime", "0 1\n", {unknown, unknown});
  expect_findings("program_unknown not_called", "", {});
  expect_findings("program_unknown_linked linked", "0\n", {linked});
  expect_findings("program_unknown_linked not_called", "", {linked});
  expect_findings("program_unknown unsupported", "0\n", {"hipBindTexture2D: "});
  expect_findings("program_unknown namespaces", "",
                  {"libamdhip64: loaded more than once; calls of one copy are not recorded"});
  expect_findings("program_unknown refused", "1\n", {});

  // Ways around the recorder.
  const std::string by_version = ": looked up by dlvsym; its calls are not recorded";
  expect_findings("program_unknown versioned", "1 0 1\n",
                  {"hipFutureCall" + by_version, "hipMemset" + by_version});
  expect_findings("program_unknown versioned_first", "", {"hipFree" + by_version});
  expect_findings("program_unknown versioned_other", "1001\n", {});
  expect_findings("program_unknown plugin", "0\n", {});
  if (std::string(GFXGRAPH_SANITIZE_FLAGS)
          .empty()) {  // the address sanitizer forbids RTLD_DEEPBIND
    expect_findings("program_unknown plugin_deep", "0\n",
                    {"libplugin_unknown.so: its HIP calls are bound past the recorder "
                     "(RTLD_DEEPBIND?) and not recorded"});
    expect_findings("program_unknown plugin_deep_idle", "1\n", {});
  }
  expect_findings("program_unknown_hsa hsa", "0 1\n",
                  {"program_unknown_hsa: it uses hsa_queue_create: device work that is given to "
                   "HSA directly is not recorded"});
  expect_findings("program_unknown_hsa not_called", "", {});
  const std::string hsa = "hsa_queue_create: looked up: device work that is given to HSA directly ";
  expect_findings("program_unknown hsa_looked_up", "0\n", {hsa + "is not recorded"});
  expect_findings("program_unknown hsa_refused", "1\n", {});
  expect_findings("program_unknown hsa_only_looked_up", "0\n", {});
  expect_findings("program_unknown hsa_versioned", "0\n", {"hsa_queue_create" + by_version});
}

}  // namespace
}  // namespace gfxgraph::recorder

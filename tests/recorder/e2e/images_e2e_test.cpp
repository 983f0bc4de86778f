// Recordings of arrays and textures: of ranges, and those that lack something by name.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/recorder/e2e/recorded_program.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class ImagesTest : public RecordedProgramTest {
 protected:
  // The calls that the trace lacks.
  std::vector<std::string> missing() {
    std::vector<std::string> found;
    const auto trace = open();
    for (const format::Finding& one : trace->findings())
      if (one.kind == format::FindingKind::kIncomplete) found.push_back(one.call);
    EXPECT_EQ(trace->complete(), found.empty());
    return found;
  }
  ProcessResult record_fake(const std::string& program, const std::string& environment = "") {
    return run(environment + " LD_LIBRARY_PATH=" + FAKE_HIP_FOLDER + " " + RECORD_TOOL +
                   " --device emulated --force -o " + path() + " -- " + PROGRAMS + "/" + program,
               folder_.path());
  }
  void expect_replays(const std::string& options, const std::vector<std::string>& modes) {
    const std::string replay =
        (std::filesystem::path(RECORD_TOOL).parent_path() / "gfxgraph-replay").string();
    for (const std::string& mode : modes) {
      for (const char* layout : {"same", "shift"}) {
        const ProcessResult result =
            run(replay + " " + path() + " --device emulated --verify --mode " + mode +
                    " --layout " + layout + options,
                folder_.path());
        EXPECT_EQ(result.code, 0) << mode << " " << layout << result.out << result.err;
      }
    }
  }
};

// The runtime's own texture works, and the trace says that it lacks it.
TEST_F(ImagesTest, TextureReferencesAreNamed) {
  const std::string program = std::string(PROGRAMS) + "/program_texture_references ";
  ProcessResult result = record(program + "bound");
  EXPECT_EQ(result.out, "ok\n") << result.err;
  EXPECT_THAT(missing(), ElementsAre("hipBindTextureToArray"));
  result = record(program + "memory");
  EXPECT_EQ(result.out, "ok\n") << result.err;
  EXPECT_THAT(missing(), ElementsAre("hipBindTexture"));
}

// No software agent has them: a runtime that does.
TEST_F(ImagesTest, MipmappedArraysAreNamed) {
  const ProcessResult result = record_fake("program_unknown mipmapped");
  EXPECT_EQ(result.out, "0 0\n") << result.err;
  EXPECT_THAT(missing(), ElementsAre("hipMallocMipmappedArray", "hipMipmappedArrayCreate"));
}

TEST_F(ImagesTest, AnArrayWhoseWorkCannotBeWaitedForIsNamed) {
  ProcessResult result = record_fake("program_unknown array");
  EXPECT_EQ(result.out, "0 0\n") << result.err;
  EXPECT_THAT(missing(), SizeIs(0));
  result = record_fake("program_unknown array", "FAKE_HIP_NEVER_WAITS=1");
  EXPECT_EQ(result.out, "0 0\n") << result.err;
  EXPECT_THAT(missing(), ElementsAre("hipFreeArray"));
}

// The array, the texture and the surface are older than the range.
TEST_F(ImagesTest, ARangeHasWhatItNeeds) {
  for (const char* range : {"step#0", "step#1", "step#1-2", "step"}) {
    const ProcessResult result = record(std::string(PROGRAMS) + "/program_images ranges",
                                        "--strict --range '" + std::string(range) + "'");
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_THAT(missing(), SizeIs(0));
    const auto trace = open();
    size_t arrays = 0, objects = 0;
    for (const format::AllocationBegin& begin : actions<format::AllocationBegin>(*trace)) {
      arrays += begin.array != nullptr;
      objects += begin.object != nullptr;
    }
    EXPECT_GE(arrays, 1u);
    EXPECT_EQ(objects, 2 * arrays);
    expect_replays("", {"eager", "batch", "graph", "packets"});
  }
  expect_replays(" --range step#1 --iterations 3", {"batch", "graph"});
}

TEST_F(ImagesTest, ARangeOfTwoDevicesHasWhatItNeeds) {
  const std::string program = std::string(PROGRAMS) + "/program_device_graphs steps";
  for (const char* range : {"step#0", "step#1-2", "step#2"}) {
    const ProcessResult result = record(program, "--strict --range '" + std::string(range) + "'");
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    EXPECT_THAT(missing(), SizeIs(0));
    expect_replays("", {"eager", "batch", "graph", "packets"});
  }
  expect_replays(" --range step#2 --iterations 3", {"batch", "graph", "packets"});
}

}  // namespace
}  // namespace gfxgraph::recorder

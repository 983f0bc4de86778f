// Ranges of one name that are open at the same time: which of them a call ends, and what --range
// NAME#N records.
#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/recorder/e2e/recorded_program.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::SizeIs;
using Launches = std::map<std::string, size_t>;

class OpenRangesTest : public RecordedProgramTest {
 protected:
  // Of each range of the whole program, those between its two calls.
  Launches launches_of_ranges(const std::string& mode) {
    const ProcessResult result = record(program(mode), "--strict");
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    const auto trace = open();
    Launches found;
    std::map<format::RangeId, std::string> begun;
    for (const format::Event& event : trace->events()) {
      if (std::holds_alternative<format::Launch>(event.action)) {
        for (const auto& [id, name] : begun) ++found[name];
      }
      const auto* marker = std::get_if<format::Marker>(&event.action);
      if (marker == nullptr) continue;
      if (marker->kind == format::MarkerKind::kRangeBegin) {
        begun[marker->range] = marker->text + "#" + std::to_string(marker->ordinal);
      } else if (marker->kind == format::MarkerKind::kRangeEnd) {
        EXPECT_EQ(begun.erase(marker->range), 1u);
      }
    }
    EXPECT_THAT(begun, SizeIs(0)) << "each is left";
    return found;
  }

  // Of a recording of this range alone.
  size_t launches_in(const std::string& mode, const std::string& range) {
    const ProcessResult result = record(program(mode), "--strict --range '" + range + "'");
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    const auto trace = open();
    EXPECT_TRUE(trace->complete());
    const std::string replay =
        (std::filesystem::path(RECORD_TOOL).parent_path() / "gfxgraph-replay").string();
    const ProcessResult replayed =
        run(replay + " " + path() + " --device emulated --layout shift --verify", folder_.path());
    EXPECT_EQ(replayed.code, 0) << replayed.out << replayed.err;
    return actions<format::Launch>(*trace).size();
  }

 private:
  static std::string program(const std::string& mode) {
    return std::string(PROGRAMS) + "/program_marks " + mode;
  }
};

TEST_F(OpenRangesTest, OneInAnotherOnOneThread) {
  EXPECT_EQ(launches_of_ranges("nested"), (Launches{{"step#0", 7}, {"step#1", 2}}));
  EXPECT_EQ(launches_in("nested", "step#0"), 7u);
  EXPECT_EQ(launches_in("nested", "step#1"), 2u);
  EXPECT_EQ(launches_in("nested", "step"), 7u) << "one stretch";
}

TEST_F(OpenRangesTest, EachThreadEndsItsOwn) {
  EXPECT_EQ(launches_of_ranges("threads"),
            (Launches{{"step#0", 11}, {"step#1", 30}, {"step#2", 4}}));
  EXPECT_EQ(launches_in("threads", "step#0"), 11u);
  EXPECT_EQ(launches_in("threads", "step#1"), 30u);
  EXPECT_EQ(launches_in("threads", "step#2"), 4u);
  EXPECT_EQ(launches_in("threads", "step"), 31u);
}

TEST_F(OpenRangesTest, AThreadThatBeganNoneEndsTheLastOne) {
  EXPECT_EQ(launches_of_ranges("handed_over"), (Launches{{"step#0", 7}, {"step#1", 2}}));
  EXPECT_EQ(launches_in("handed_over", "step#0"), 7u);
  EXPECT_EQ(launches_in("handed_over", "step#1"), 2u);
}

}  // namespace
}  // namespace gfxgraph::recorder

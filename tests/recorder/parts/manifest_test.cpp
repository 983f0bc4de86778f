#include "recorder/tool/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gfxgraph::recorder {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Manifest example() {
  Manifest manifest;
  manifest.gfxgraph_version = "1.2.3";
  manifest.program = {"mpirun", "-n", "2", "./app"};
  manifest.exit_status = 143;
  ManifestEntry sealed;
  sealed.pid = 10;
  sealed.parent_pid = 9;
  sealed.rank = 1;
  sealed.command_line = {"./app", "two\nlines", "\"quoted\"", ""};
  sealed.file = "run-10.gfxg";
  sealed.state = TraceState::kSealed;
  sealed.launches = UINT64_C(1) << 60;
  sealed.incomplete = {"hipSomething: (1 time)"};
  sealed.notes = {"a note"};
  sealed.exit_status = 0;
  ManifestEntry partial;
  partial.pid = 11;
  partial.state = TraceState::kPartial;
  partial.file = "run-11.gfxg.partial";
  partial.error = "killed";
  manifest.traces = {sealed, partial};
  return manifest;
}

TEST(Manifest, IsReadAsItWasWritten) {
  const std::string text = manifest_text(example());
  EXPECT_TRUE(looks_like_manifest(text));
  const auto read = parse_manifest(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(manifest_text(*read), text);
  ASSERT_THAT(read->traces, SizeIs(2));
  EXPECT_EQ(read->traces[0].command_line, example().traces[0].command_line);
  EXPECT_EQ(read->traces[0].launches, UINT64_C(1) << 60);
  EXPECT_EQ(read->traces[1].state, TraceState::kPartial);
  EXPECT_EQ(read->traces[1].rank, std::nullopt);
}

// A flight recorder's field: manifests of other recordings do not have it.
TEST(Manifest, EarlierTracesAreListed) {
  Manifest manifest = example();
  EXPECT_EQ(manifest_text(manifest).find("earlier"), std::string::npos);
  manifest.traces[0].earlier = {"run-10.kept-1.gfxg", "run-10.previous.gfxg"};
  const auto read = parse_manifest(manifest_text(manifest));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->traces[0].earlier, manifest.traces[0].earlier);
  EXPECT_TRUE(read->traces[1].earlier.empty());
  std::string damaged = manifest_text(manifest);
  damaged.replace(damaged.find("\"earlier\": ["), 12, "\"earlier\": 1, \"other\": [");
  EXPECT_FALSE(parse_manifest(damaged));
}

TEST(Manifest, CommandLinesNeedNotBeText) {
  Manifest manifest = example();
  manifest.program = {"\xff\xfe"};
  EXPECT_TRUE(parse_manifest(manifest_text(manifest)));
}

TEST(Manifest, RefusesWhatIsNotOne) {
  const std::string text = manifest_text(example());
  const auto message = [](const std::string& damaged) {
    const auto read = parse_manifest(damaged);
    return read ? "read" : read.error().message;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return message(changed.replace(at, from.size(), to));
  };
  EXPECT_THAT(message(""), HasSubstr("not JSON"));
  EXPECT_THAT(message(text.substr(0, text.size() / 2)), HasSubstr("not JSON"));
  EXPECT_THAT(message("{}"), HasSubstr("no field gfxgraph_manifest"));
  EXPECT_THAT(message("[1]"), HasSubstr("no field gfxgraph_manifest"));
  EXPECT_THAT(with("\"gfxgraph_manifest\": 1", "\"gfxgraph_manifest\": 2"),
              HasSubstr("version 2 is unknown"));
  EXPECT_THAT(with("\"pid\": 10", "\"pid\": \"10\""), HasSubstr("trace 0, field pid"));
  EXPECT_THAT(with("\"pid\": 11", "\"pid\": 99999999999"), HasSubstr("trace 1, field pid"));
  EXPECT_THAT(with("\"rank\": 1", "\"rank\": -1"), HasSubstr("trace 0, field rank"));
  EXPECT_THAT(with("\"sealed\"", "\"perfect\""), HasSubstr("state 'perfect'"));
  EXPECT_THAT(with("\"a note\"", "7"), HasSubstr("trace 0, field notes"));
  EXPECT_THAT(with("\"traces\"", "\"other\""), HasSubstr("field traces"));
}

}  // namespace
}  // namespace gfxgraph::recorder

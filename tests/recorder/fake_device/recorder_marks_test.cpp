// Ranges and marks of the program, among the events.
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using format::MarkerKind;
using ::testing::SizeIs;

class RecorderMarksTest : public RecorderTest {
 protected:
  void work() { device_memory(data_, sizeof(data_)); }
  std::byte data_[64] = {};
};

TEST_F(RecorderMarksTest, StandWhereTheProgramSetThem) {
  work();
  const format::RangeId outer = recorder_->marks().range_begins("step");
  recorder_->marks().mark("token");
  const format::RangeId inner = recorder_->marks().range_begins("layer");
  recorder_->marks().range_ends(outer);
  recorder_->marks().range_ends(inner);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto markers = actions<format::Marker>(*trace);
  ASSERT_THAT(markers, SizeIs(5));
  EXPECT_EQ(markers[0].text, "step");
  EXPECT_EQ(markers[0].kind, MarkerKind::kRangeBegin);
  EXPECT_EQ(markers[0].range, outer);
  EXPECT_EQ(markers[1].kind, MarkerKind::kMark);
  EXPECT_EQ(markers[1].text, "token");
  EXPECT_EQ(markers[3].kind, MarkerKind::kRangeEnd);
  EXPECT_EQ(markers[3].range, outer);
  EXPECT_EQ(markers[3].text, "step");
  EXPECT_EQ(markers[4].range, inner);
  EXPECT_THAT(trace->findings(), SizeIs(0));
}

// A program that marks and never uses the device is left alone: no runtime is asked, no file made.
TEST_F(RecorderMarksTest, TouchNothingBeforeTheDeviceIsUsed) {
  bool asked = false;
  state_.during_call = [&] { asked = true; };
  const format::RangeId range = recorder_->marks().range_begins("start");
  recorder_->marks().mark("here");
  recorder_->marks().range_ends(range);
  recorder_->marks().note("roctxRangePop", "no range is open on the thread");
  recorder_->finish();
  EXPECT_FALSE(asked);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(RecorderMarksTest, WhatIsOpenWhenTheDeviceIsFirstUsedIsKept) {
  const format::RangeId over = recorder_->marks().range_begins("over before");
  recorder_->marks().range_ends(over);
  const format::RangeId open = recorder_->marks().range_begins("whole");
  recorder_->marks().mark("here");
  work();
  recorder_->marks().range_ends(open);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto markers = actions<format::Marker>(*trace);
  ASSERT_THAT(markers, SizeIs(3));
  EXPECT_EQ(markers[0].text, "whole");
  EXPECT_EQ(markers[1].text, "here");
  EXPECT_EQ(markers[2].kind, MarkerKind::kRangeEnd);
  EXPECT_EQ(markers[2].range, open);
}

TEST_F(RecorderMarksTest, WhatIsTooMuchBeforeTheDeviceIsUsedIsLeftOutWhole) {
  std::vector<format::RangeId> ranges;
  for (int i = 0; i < 5000; ++i) ranges.push_back(recorder_->marks().range_begins("early"));
  work();
  for (const format::RangeId range : ranges) recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete()) << "no end without a beginning";
  EXPECT_THAT(actions<format::Marker>(*trace), SizeIs(2 * 4096));
}

TEST_F(RecorderMarksTest, ARangeThatIsNotLeftIsNamed) {
  work();
  recorder_->marks().range_begins("loop");
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  ASSERT_THAT(trace->findings(), SizeIs(1));
  EXPECT_EQ(trace->findings()[0].kind, format::FindingKind::kNote);
  EXPECT_EQ(trace->findings()[0].call, "ranges");
}

TEST_F(RecorderMarksTest, EndsOfNothingChangeNothing) {
  work();
  recorder_->marks().range_ends(0);
  recorder_->marks().range_ends(99);
  const format::RangeId range = recorder_->marks().range_begins("once");
  recorder_->marks().range_ends(range);
  recorder_->marks().range_ends(range);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_THAT(actions<format::Marker>(*trace), SizeIs(2));
}

TEST_F(RecorderMarksTest, LongNamesAreCutBetweenCharacters) {
  work();
  std::string text(999, 'x');
  text += "\xC3\xA4\xC3\xA4";  // two characters of two bytes
  recorder_->marks().mark(text.c_str());
  recorder_->marks().mark(nullptr);
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto markers = actions<format::Marker>(*trace);
  ASSERT_THAT(markers, SizeIs(2));
  EXPECT_EQ(markers[0].text, std::string(999, 'x'));
  EXPECT_EQ(markers[1].text, "");
}

TEST_F(RecorderMarksTest, AfterTheEndNothingIsAdded) {
  work();
  const format::RangeId range = recorder_->marks().range_begins("step");
  const auto trace = finish();
  ASSERT_TRUE(trace);
  recorder_->marks().range_ends(range);
  EXPECT_EQ(recorder_->marks().range_begins("late"), 0u);
  recorder_->marks().mark("late");
}

}  // namespace
}  // namespace gfxgraph::recorder

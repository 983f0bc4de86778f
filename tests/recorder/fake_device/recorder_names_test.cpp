// Names that the program gives its memory: gfxgraph_name().
#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using format::AllocationBegin;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecorderNamesTest : public RecorderTest {
 protected:
  void SetUp() override {}

  void use(bool range) {
    Options options;
    if (range) options.ranges = {"step"};
    make(options);
    device_memory(a_, sizeof(a_));
    device_memory(b_, sizeof(b_));
  }
  void fill(void* memory, size_t bytes) {
    recorder_->streams().call_begins();
    memset_work(memory, bytes);
  }
  void step(const std::function<void()>& body) {
    const format::RangeId range = recorder_->marks().range_begins("step");
    body();
    recorder_->marks().range_ends(range);
  }

  alignas(256) uint64_t a_[32] = {};
  alignas(256) uint64_t b_[32] = {};
  alignas(256) uint64_t c_[32] = {};
};

TEST_F(RecorderNamesTest, AreThoseOfTheMemoryThatHoldsThePointer) {
  use(false);
  recorder_->marks().name_memory(a_, "weights");
  recorder_->marks().name_memory(b_ + 3, "cache");
  recorder_->marks().name_memory(a_, "weights");
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto begins = actions<AllocationBegin>(*trace);
  ASSERT_THAT(begins, SizeIs(2));
  const auto names = actions<format::Marker>(*trace);
  ASSERT_THAT(names, SizeIs(2)) << "said again is said once";
  EXPECT_EQ(names[0].kind, format::MarkerKind::kName);
  EXPECT_EQ(names[0].text, "weights");
  EXPECT_EQ(names[0].allocation, begins[0].id);
  EXPECT_EQ(names[1].text, "cache");
  EXPECT_EQ(names[1].allocation, begins[1].id);
  EXPECT_THAT(trace->findings(), IsEmpty());
}

TEST_F(RecorderNamesTest, GivenOutsideOfRangesAreKnownInThem) {
  use(true);
  recorder_->marks().name_memory(a_, "weights");
  step([&] {
    fill(a_, 8);
    recorder_->marks().name_memory(a_, "other");
    recorder_->marks().name_memory(b_, "untouched");
  });
  recorder_->streams().call_begins();
  recorder_->buffers().freed(recorder_->buffers().freeing(reinterpret_cast<uint64_t>(b_)), true);
  device_memory(b_, sizeof(b_));
  step([&] {
    fill(a_, 8);
    fill(b_, 8);
  });
  const auto trace = finish();
  ASSERT_TRUE(trace);
  std::vector<std::string> names;
  for (const auto& begin : actions<AllocationBegin>(*trace)) names.push_back(begin.name);
  EXPECT_THAT(names, ElementsAre("weights", "other", "")) << "new memory has none";
}

TEST_F(RecorderNamesTest, OfHostMemoryByItsHostPointer) {
  use(false);
  recorder_->buffers().allocated({format::AllocationKind::kHostPinned,
                                  reinterpret_cast<uint64_t>(c_), reinterpret_cast<uint64_t>(c_),
                                  sizeof(c_), 0, nullptr});
  recorder_->marks().name_memory(c_ + 1, "staging");
  const auto trace = finish();
  ASSERT_TRUE(trace);
  const auto names = actions<format::Marker>(*trace);
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_EQ(names[0].allocation, 3u);
}

TEST_F(RecorderNamesTest, OfNothingAreNotes) {
  use(false);
  recorder_->marks().name_memory(nullptr, "nothing");
  recorder_->marks().name_memory(reinterpret_cast<const void*>(uint64_t{1} << 46), "nowhere");
  recorder_->marks().name_memory(a_, "");
  recorder_->marks().name_memory(a_, nullptr);
  recorder_->marks().name_memory(a_, std::string(3000, 'n').c_str());
  const auto trace = finish();
  ASSERT_TRUE(trace);
  EXPECT_TRUE(trace->complete());
  uint64_t notes = 0;
  for (const format::Finding& finding : trace->findings()) {
    EXPECT_EQ(finding.call, "gfxgraph_name");
    notes += finding.count;
  }
  EXPECT_EQ(notes, 4u);
  const auto names = actions<format::Marker>(*trace);
  ASSERT_THAT(names, SizeIs(1));
  EXPECT_EQ(names[0].text, std::string(format::kMostNameBytes, 'n'));
}

}  // namespace
}  // namespace gfxgraph::recorder

// Calls of several threads that give work to one stream at the same time.
#include <thread>

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

// One thread's call begins, another thread gives work to `other`, and the first call ends on
// `stream`. Whether the trace says that the order is not known.
class OverlapTest : public RecorderTest {
 protected:
  // The same whether it is the first work of the first thread or not.
  bool noted(Handle stream, Handle other, bool at_the_same_time) {
    const bool first = noted(stream, other, at_the_same_time, false);
    EXPECT_EQ(first, noted(stream, other, at_the_same_time, true));
    return first;
  }
  bool noted(Handle stream, Handle other, bool at_the_same_time, bool worked_before) {
    std::filesystem::remove(path());
    make({});
    device_memory(data_, sizeof(data_));
    recorder_->streams().stream_created(handle(10), 1, 0);
    recorder_->streams().stream_created(handle(11), 1, 0);
    recorder_->streams().stream_created(handle(12), 0, 0);
    recorder_->streams().call_begins();
    if (worked_before) memset_work(data_, 8, stream);
    if (at_the_same_time) recorder_->streams().call_begins();
    std::thread([&] {
      recorder_->streams().call_begins();
      memset_work(data_, 16, other);
      recorder_->streams().call_begins();
      memset_work(data_, 8, other);
    }).join();
    if (!at_the_same_time) recorder_->streams().call_begins();
    memset_work(data_, 8, stream);
    recorder_->streams().call_begins();
    memset_work(data_, 8, stream);
    const auto trace = finish();
    EXPECT_TRUE(trace && trace->complete());
    EXPECT_LE(trace->findings().size(), 1u);
    return !trace->findings().empty() && trace->findings()[0].call == "threads";
  }
  alignas(8) char data_[16] = {};
};

TEST_F(OverlapTest, CallsThatRanAtTheSameTimeOnOneStreamAreNamed) {
  EXPECT_TRUE(noted(handle(10), handle(10), true));
  EXPECT_TRUE(noted(nullptr, nullptr, true));
  EXPECT_TRUE(noted(nullptr, handle(12), true)) << "the null stream waits for blocking ones";
  EXPECT_TRUE(noted(handle(12), nullptr, true)) << "and they for it";
}

TEST_F(OverlapTest, CallsThatFollowEachOtherOrUseOtherStreamsAreNot) {
  EXPECT_FALSE(noted(handle(10), handle(10), false));
  EXPECT_FALSE(noted(nullptr, handle(12), false));
  EXPECT_FALSE(noted(handle(10), handle(11), true));
  EXPECT_FALSE(noted(nullptr, handle(11), true)) << "the null stream does not wait for it";
  EXPECT_FALSE(noted(handle(12), handle(11), true));
}

}  // namespace
}  // namespace gfxgraph::recorder

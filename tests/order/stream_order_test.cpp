// One table of calls and of what the work after them follows. Streams 1 and 2 are blocking, 3 and 4
// are not; 10 is the null stream of device 1, and 11 a blocking stream there.
#include "order/stream_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace gfxgraph::order {
namespace {

using format::SynchronizeKind;
using testing::ElementsAre;
using testing::IsEmpty;

struct Order : StreamOrder {
  Order() {
    for (const format::StreamId blocking : {1, 2}) add(blocking, {});
    for (const format::StreamId other : {3, 4}) add(other, {0, 0, false});
    add(10, {1, 10});
    add(11, {1, 10});
  }
};

struct Row {
  const char* name;
  std::vector<format::StreamId> issued;  // one piece of work each, from 0 on
  std::function<void(StreamOrder&)> then;
  format::StreamId reader;
  Set front;
};

void nothing(StreamOrder&) {}

TEST(StreamOrder, Rules) {
  const std::vector<Row> rows = {
      {"a stream keeps its order", {3, 3}, nothing, 3, {1}},
      {"streams do not follow each other", {1, 3}, nothing, 2, {}},
      {"the null stream follows blocking streams", {1, 2, 3}, nothing, 0, {0, 1}},
      {"blocking streams follow the null stream", {0, 3}, nothing, 1, {0}},
      {"others do not follow the null stream", {0, 1}, nothing, 3, {}},
      {"null streams are a device's", {1, 11, 10}, nothing, 0, {0}},
      {"a device's null stream follows its blocking streams", {1, 11}, nothing, 10, {1}},
      {"an event stands for the work before its record",
       {3, 3},
       [](StreamOrder& order) {
         order.record(7, 3);
         (void)order.issue(3);
         order.wait(4, 7);
       },
       4,
       {1}},
      {"a wait for an event that was never recorded",
       {3},
       [](StreamOrder& o) { o.wait(4, 7); },
       4,
       {}},
      {"a record on the null stream joins blocking streams",
       {1},
       [](StreamOrder& order) { order.record(7, 0); },
       2,
       {0}},
      {"a record on another stream does not", {1}, [](StreamOrder& o) { o.record(7, 2); }, 2, {}},
      {"a wait on the null stream joins blocking streams",
       {1, 3},
       [](StreamOrder& order) {
         order.record(7, 3);
         order.wait(0, 7);
       },
       2,
       {0, 1}},
      {"a host function on the null stream joins blocking streams",
       {1},
       [](StreamOrder& order) { order.host_function(0, 0); },
       2,
       {0}},
      {"a wait for a blocking stream itself is one for what its host function followed",
       {0},
       [](StreamOrder& order) {
         order.host_function(1, 0);
         order.synchronize(SynchronizeKind::kStreamItself, 1);
       },
       3,
       {0}},
      {"what a host function follows is known with it",
       {3, 4},
       [](StreamOrder& order) {
         order.host_function(3, 9);
         (void)order.issue(3);
         order.synchronize(SynchronizeKind::kHostFunction, 9);
       },
       1,
       {0}},
      {"the host waits for a stream",
       {3, 4},
       [](StreamOrder& o) { o.synchronize(SynchronizeKind::kStream, 3); },
       1,
       {0}},
      {"a wait for the null stream is one for those that it follows",
       {1, 3},
       [](StreamOrder& o) { o.synchronize(SynchronizeKind::kStream, 0); },
       4,
       {0}},
      {"a wait for the null stream itself is not",
       {1, 3},
       [](StreamOrder& o) { o.synchronize(SynchronizeKind::kStreamItself, 0); },
       4,
       {}},
      {"the host waits for an event",
       {3},
       [](StreamOrder& order) {
         order.record(7, 3);
         (void)order.issue(3);
         order.synchronize(SynchronizeKind::kEvent, 7);
       },
       4,
       {0}},
      {"the host waits for a device",
       {3, 11},
       [](StreamOrder& o) { o.synchronize(SynchronizeKind::kDevice, 1); },
       4,
       {1}},
      {"the host waits for all", {3, 11}, [](StreamOrder& o) { o.wait_devices(); }, 4, {0, 1}},
      {"the host was told", {3, 3}, [](StreamOrder& o) { o.tell_host(1); }, 4, {1}},
      {"a graph ends with its last nodes",
       {3},
       [](StreamOrder& order) {
         order.begin_graph(3, 3);
         (void)order.issue_node({});
         (void)order.issue_node({});
         (void)order.pass_node(std::vector<uint32_t>{0});
         order.end_graph();
       },
       3,
       {1, 2}},
      {"an empty graph passes on",
       {3},
       [](StreamOrder& order) {
         order.begin_graph(3, 0);
         order.end_graph();
       },
       3,
       {0}},
      {"a node tells of its own branch",
       {},
       [](StreamOrder& order) {
         order.begin_graph(3, 2);
         (void)order.issue_node({});
         (void)order.issue_node({});
         order.end_graph();
         order.tell_host(1);
       },
       4,
       {1}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Order order;
    for (const format::StreamId stream : row.issued) (void)order.issue(stream);
    row.then(order);
    EXPECT_EQ(order.front(row.reader), row.front);
  }
}

TEST(StreamOrder, WorkFollowsNoMoreThanItMust) {
  Order order;
  EXPECT_THAT(order.issue(1).follows, IsEmpty());
  EXPECT_THAT(order.issue(2).follows, IsEmpty());
  EXPECT_THAT(order.issue(0).follows, ElementsAre(0, 1));
  const StreamOrder::Issued last = order.issue(1);
  EXPECT_EQ(last.number, 3u);
  EXPECT_THAT(last.follows, ElementsAre(2));
  EXPECT_TRUE(order.follows(3, 1));
  EXPECT_FALSE(order.follows(1, 0));
}

TEST(StreamOrder, NodesFollowTheirEdgesAndTheFirstOnesTheStream) {
  Order order;
  (void)order.issue(3);
  order.begin_graph(3, 4);
  EXPECT_THAT(order.issue_node({}).follows, ElementsAre(0));
  EXPECT_THAT(order.issue_node(std::vector<uint32_t>{0}).follows, ElementsAre(1));
  EXPECT_THAT(order.pass_node(std::vector<uint32_t>{0}), ElementsAre(1));
  EXPECT_THAT(order.issue_node(std::vector<uint32_t>{1, 2}).follows, ElementsAre(2));
  order.end_graph();
  EXPECT_FALSE(order.host_knows(3));
  order.synchronize(SynchronizeKind::kStream, 3);
  EXPECT_TRUE(order.host_knows(0));
  EXPECT_TRUE(order.host_knows(3));
}

}  // namespace
}  // namespace gfxgraph::order

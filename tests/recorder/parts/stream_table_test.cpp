// Handles of streams and events are given out again; numbers are not.
#include "recorder/objects/stream_table.h"

#include <gtest/gtest.h>

namespace gfxgraph::recorder {
namespace {

Handle stream_handle(uintptr_t number) { return reinterpret_cast<Handle>(number * 16); }

TEST(StreamTable, TheNullStreamIsAlwaysKnown) {
  StreamTable table(false);
  EXPECT_EQ(table.find(nullptr), 0u);
  EXPECT_EQ(table.handle_of(0), nullptr);
  EXPECT_FALSE(table.find(stream_handle(1)));
}

TEST(StreamTable, AHandleThatIsUsedAgainGetsAnotherNumber) {
  StreamTable table(false);
  const format::StreamCreate first = table.made(1, -1);
  EXPECT_EQ(first.flags, 1u);
  table.know(stream_handle(1), first.id);
  table.forget(stream_handle(1));
  const format::StreamCreate second = table.made(0, 0);
  table.know(stream_handle(1), second.id);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(table.find(stream_handle(1)), second.id);
  EXPECT_FALSE(table.handle_of(first.id));
  EXPECT_EQ(table.handle_of(second.id), stream_handle(1));
}

TEST(StreamTable, AStreamThatWasNotSeenBeingMadeIsItsThreadsOwn) {
  StreamTable table(false);
  table.made_outside(stream_handle(1), 1, -2);
  const format::StreamCreate made = table.first_used(stream_handle(1));
  EXPECT_EQ(made.flags, 1u);
  EXPECT_EQ(made.priority, -2);
  EXPECT_FALSE(table.own(made.id));
  const format::StreamCreate unseen = table.first_used(stream_handle(2));
  table.know(stream_handle(2), unseen.id);
  EXPECT_TRUE(table.own(unseen.id));
  EXPECT_FALSE(table.handle_of(unseen.id)) << "nobody else can ask it";
}

TEST(StreamTable, TheNextTraceKnowsWhatWasMadeBefore) {
  for (const bool keep : {false, true}) {
    StreamTable table(keep);
    table.made_outside(stream_handle(1), 1, 0);
    table.event_made_outside(stream_handle(2), 3);
    table.know(stream_handle(1), table.first_used(stream_handle(1)).id);
    EXPECT_EQ(table.event_first_used(stream_handle(2)).flags, 3u);
    table.number_anew();
    EXPECT_FALSE(table.find(stream_handle(1)));
    EXPECT_FALSE(table.find_event(stream_handle(2)));
    EXPECT_EQ(table.first_used(stream_handle(1)).flags, keep ? 1u : 0u);
    EXPECT_EQ(table.event_first_used(stream_handle(2)).flags, keep ? 3u : 0u);
  }
}

TEST(StreamTable, AnEventThatIsGoneIsForgotten) {
  StreamTable table(false);
  const format::EventId id = table.event_made(stream_handle(1), 2).id;
  EXPECT_EQ(table.forget_event(stream_handle(1)), id);
  EXPECT_FALSE(table.forget_event(stream_handle(1)));
  EXPECT_NE(table.event_first_used(stream_handle(1)).id, id);
}

}  // namespace
}  // namespace gfxgraph::recorder

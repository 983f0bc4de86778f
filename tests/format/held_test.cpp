// A trace that stays in memory, beside the same one in a file.
#include "format/held_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/write/content_writer.h"
#include "format/write/held_copy.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

using ::testing::HasSubstr;
using Fill = std::function<Result<void>(Writer&)>;

std::string text_of(const Result<std::shared_ptr<const Trace>>& trace) {
  if (!trace) return "error: " + trace.error().message;
  if (const Result<void> loaded = (*trace)->load_events(); !loaded) return loaded.error().message;
  return dump_json(**trace);
}

std::shared_ptr<const HeldTrace> hold(const Fill& fill) {
  const auto writer = Writer::create_held();
  GFXGRAPH_CHECK(writer.has_value());
  EXPECT_EQ((*writer)->held(), nullptr);  // not before it has its end
  EXPECT_TRUE(fill(**writer));
  EXPECT_TRUE((*writer)->seal());
  return (*writer)->held();
}

// Of the file that `write` writes into.
std::string text_of_file(const Fill& write) {
  File file;
  const auto writer = Writer::create_in_memory(file, {.compression_level = 0});
  GFXGRAPH_CHECK(writer.has_value());
  const Result<void> written = write(**writer);
  if (!written) return "error: " + written.error().message;
  return text_of(Trace::open_descriptor(file.fd(), {.lazy = true, .keep_events = 0}));
}

void is_as_in_a_file(const Fill& fill) {
  const std::shared_ptr<const HeldTrace> held = hold(fill);
  ASSERT_NE(held, nullptr);
  const std::string expected = text_of_file([&](Writer& writer) -> Result<void> {
    GFXGRAPH_TRY(fill(writer));
    return writer.seal();
  });
  EXPECT_THAT(expected, HasSubstr("launches"));
  EXPECT_EQ(text_of(Trace::of(held)), expected);
  EXPECT_EQ(text_of_file([&](Writer& writer) { return copy_held(*held, writer); }), expected);
}

Result<void> add_all(Writer& writer, const std::vector<Action>& actions) {
  for (const Action& action : actions) GFXGRAPH_TRY(writer.add(event_of(action)));
  return {};
}

TEST(HeldTrace, HoldsEachKindOfItem) {
  is_as_in_a_file([](Writer& writer) { return write_everything(writer, false); });
}

TEST(HeldTrace, HoldsLaunchesAmongOtherEvents) {
  is_as_in_a_file([](Writer& writer) -> Result<void> {
    GFXGRAPH_TRY(add_preamble(writer));
    Launch other = sample_launch(2, 1);
    other.kernarg[0] = 200;
    other.cooperative = true;
    Launch plain = sample_launch(1, 2);
    plain.relocations.clear();
    GFXGRAPH_TRY(add_all(writer, {sample_allocation(3)}));
    return add_all(writer, {StreamCreate{1, 0, 0}, sample_allocation(1), sample_allocation(2),
                            sample_launch(1, 2), other, Marker{"a", MarkerKind::kMark, 0}, plain,
                            sample_allocation(4), sample_launch(4, 2, 1)});
  });
}

// More than one block of argument bytes; the file's writer gathers chunks of events meanwhile.
TEST(HeldTrace, HoldsManyLaunches) {
  is_as_in_a_file([](Writer& writer) -> Result<void> {
    GFXGRAPH_TRY(add_preamble(writer));
    GFXGRAPH_TRY(add_all(writer, {sample_allocation(1), sample_allocation(2)}));
    for (int i = 0; i < 3000; ++i) {
      Event event = event_of(sample_launch(1 + i % 2, 2 - i % 2));
      event.time_ns = static_cast<uint64_t>(i);
      event.thread = static_cast<uint32_t>(i % 3);
      std::get<Launch>(event.action).kernarg[4] = static_cast<uint8_t>(i);
      GFXGRAPH_TRY(writer.add(std::move(event)));
    }
    return {};
  });
}

TEST(HeldTrace, HoldsContentsInChunks) {
  is_as_in_a_file([](Writer& writer) -> Result<void> {
    GFXGRAPH_TRY(add_preamble(writer));
    std::vector<std::byte> bytes = random_bytes(2 * kChunkBytes + 100);
    std::ranges::fill(std::span(bytes).subspan(kChunkBytes, kChunkBytes), std::byte{0});
    ContentWriter content(writer, bytes.size());
    for (size_t at = 0; at < bytes.size();) {
      GFXGRAPH_ASSIGN_OR_RETURN(const std::span<std::byte> room, content.room());
      std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), room.size(), room.begin());
      at += room.size();
      GFXGRAPH_TRY(content.put());
    }
    AllocationBegin begin = sample_allocation(1, bytes.size());
    GFXGRAPH_ASSIGN_OR_RETURN(begin.initial, content.finish());
    GFXGRAPH_TRY(writer.settle());
    return add_all(writer, {begin});
  });
}

TEST(HeldTrace, GivesTheBytesOfBlobsAndFills) {
  const std::vector<std::byte> bytes = random_bytes(5000);
  BlobId id;
  const auto held = hold([&](Writer& writer) -> Result<void> {
    GFXGRAPH_ASSIGN_OR_RETURN(id, writer.add_blob(bytes));
    GFXGRAPH_ASSIGN_OR_RETURN(const BlobId again, writer.add_blob(bytes));
    EXPECT_EQ(again, id);
    return {};
  });
  ASSERT_EQ(held->blobs.size(), 1u);
  const auto trace = Trace::of(held).value();
  EXPECT_TRUE(std::ranges::equal(trace->blob(id).value(), bytes));
  EXPECT_EQ(trace->content(blob_content(id, bytes.size())).value(), bytes);
  Content fill;
  fill.size_bytes = 3;
  fill.fill = 7;
  EXPECT_EQ(trace->content(fill).value(), std::vector(3, std::byte{7}));
  EXPECT_EQ(trace->blob({1, 2}).error().status, Status::kNotFound);
}

TEST(HeldTrace, RefusesWhatAFileRefuses) {
  Launch bad = sample_launch(1, 1);
  bad.grid[1] = 0;
  is_as_in_a_file([&](Writer& writer) -> Result<void> {
    GFXGRAPH_TRY(add_preamble(writer));
    GFXGRAPH_TRY(add_all(writer, {sample_allocation(1), sample_launch(1, 1)}));
    EXPECT_EQ(writer.add(event_of(bad)).error().status, Status::kInvalidArgument);
    return {};
  });
  const auto held = hold([&](Writer& writer) -> Result<void> {
    GFXGRAPH_TRY(add_preamble(writer));
    EXPECT_FALSE(writer.add(event_of(bad)));
    return {};
  });
  EXPECT_FALSE(Trace::of(held).value()->complete());
}

TEST(HeldTrace, VisitsWhatIsAskedForInOrder) {
  const auto held = hold([](Writer& writer) -> Result<void> {
    GFXGRAPH_TRY(add_preamble(writer));
    return add_all(writer, {sample_allocation(1), sample_launch(1, 1), sample_allocation(2),
                            sample_launch(1, 2), Marker{"a", MarkerKind::kMark, 0}});
  });
  const auto trace = Trace::of(held).value();
  const auto visited = [&](ActionKinds kinds) {
    std::vector<uint64_t> sequences;
    EXPECT_TRUE(trace->visit_events(kinds, [&](const Event& event) -> Result<void> {
      EXPECT_NE(kind_of(event.action) & kinds, 0u);
      sequences.push_back(event.sequence);
      return {};
    }));
    return sequences;
  };
  EXPECT_EQ(visited(kEveryAction), (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(visited(kinds_of<Launch>()), (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ((visited(kinds_of<AllocationBegin, Marker>())), (std::vector<uint64_t>{0, 2, 4}));
  int visits = 0;
  const Result<void> ended = trace->visit_events(kEveryAction, [&](const Event&) -> Result<void> {
    return ++visits == 2 ? fail(Status::kMismatch, "enough") : Result<void>();
  });
  EXPECT_EQ(ended.error().message, "enough");
  EXPECT_EQ(visits, 2);
}

// Who adds launches one after another allocates no memory for each.
TEST(HeldTrace, LeavesALaunchItsMemory) {
  const auto writer = Writer::create_held().value();
  ASSERT_TRUE(add_preamble(*writer));
  ASSERT_TRUE(writer->add(event_of(sample_allocation(1))));
  Event event = event_of(sample_launch(1, 1));
  const uint8_t* const bytes = std::get<Launch>(event.action).kernarg.data();
  ASSERT_TRUE(writer->add(std::move(event)));
  // NOLINTNEXTLINE(bugprone-use-after-move): what is left is promised
  EXPECT_EQ(std::get<Launch>(event.action).kernarg.data(), bytes);
}

TEST(HeldTrace, NamesItsLayout) { EXPECT_GT(std::string(held_layout()).size(), 64u); }

}  // namespace
}  // namespace gfxgraph::format

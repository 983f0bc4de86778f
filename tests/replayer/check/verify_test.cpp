#include "replayer/check/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/verify_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

TEST_F(VerifyTest, NamesTheFirstDifferingByte) {
  const auto a = trace.allocate(64);
  const auto b = trace.allocate(64);
  trace.launch("fill", Arguments().value(trace.address(a)).value(7u).value(16u));
  load();
  const uint8_t wrong = 0xEE;
  for (const uint64_t offset : {40, 20}) {
    ASSERT_TRUE(replay->instance().memory().write(a, offset, std::as_bytes(std::span(&wrong, 1))));
  }
  const VerifyReport report = verified();
  EXPECT_FALSE(report.identical_throughout());
  EXPECT_EQ(report.different, 1u);
  EXPECT_EQ(report.identical, 1u);
  EXPECT_EQ(report.buffers[a - 1].first_difference, 20u);
  EXPECT_EQ(report.buffers[a - 1].differing_bytes, 2u);
  EXPECT_EQ(report.buffers[a - 1].expected, 7);
  EXPECT_EQ(report.buffers[a - 1].got, 0xEE);
  EXPECT_EQ(report.buffers[b - 1].comparison, Comparison::kIdentical);
}

// Nobody saw whether the program or a kernel wrote these: the replay's kernels tell.
TEST_F(VerifyTest, HostWritesInDoubtAreThoseThatNoKernelMakes) {
  const auto pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  const auto out = trace.allocate(64);
  trace.launch("fill", Arguments().value(trace.address(pinned)).value(0x07070707u).value(8u));
  trace.host_write(pinned, 4, {7, 7, 7, 7}, true);
  trace.host_write(pinned, 40, {9}, true);
  trace.host_write(pinned, 41, {9});
  trace.copy(trace.make_copy(out, pinned, 64));
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options = shifted();
    options.mode = mode;
    load(program, options);
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(replay->restore());
      ASSERT_TRUE(replay->run());
      const VerifyReport report = verified();
      EXPECT_TRUE(report.identical_throughout());
      EXPECT_EQ(report.doubtful.made, 1u);
      EXPECT_EQ(report.doubtful.given, 1u);
      EXPECT_EQ(report.doubtful.first_given, 1u);
    }
  }
}

// A run as recorded has shown that they are its kernel's: with another argument it makes other
// bytes.
TEST_F(VerifyTest, HostWritesThatAKernelMadeDoNotUndoWhatItMakesNext) {
  const auto pinned = trace.allocate(64, {}, format::AllocationKind::kHostPinned);
  trace.launch("fill", Arguments().value(trace.address(pinned)).value(0x07070707u).value(8u));
  trace.host_write(pinned, 4, {7, 7, 7, 7}, true);
  trace.host_write(pinned, 40, {9}, true);
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options = shifted();
    options.mode = mode;
    load(program, options);
    ASSERT_TRUE(replay->run());
    for (const uint32_t value : {5u, 6u}) {
      if (value == 6) {
        ASSERT_TRUE(replay->restore());
      }
      ASSERT_TRUE(replay->values().set_kernarg(0, 8, std::as_bytes(std::span(&value, 1))));
      ASSERT_TRUE(replay->run());
      ASSERT_TRUE(replay->wait());
      std::vector<std::byte> bytes(64);
      ASSERT_TRUE(replay->instance().memory().read(pinned, 0, bytes));
      EXPECT_EQ(std::to_integer<uint32_t>(bytes[4]), value) << mode_name(mode);
      EXPECT_EQ(std::to_integer<int>(bytes[40]), 9) << mode_name(mode);
    }
  }
}

// What the runtime does with a large graph is wrong: it is seen, and smaller graphs are right.
TEST_F(VerifyTest, LargeGraphsThatReadStalePointersDifferAndCanBeSplit) {
  const auto a = trace.allocate(64);
  for (const uint32_t value : {1u, 2u, 3u, 4u}) {
    trace.launch("fill", Arguments().value(trace.address(a)).value(value).value(16u));
  }
  const auto program = trace.program();
  fake.stale_graph_nodes = 4;
  LoadOptions options = shifted();
  options.mode = Mode::kGraph;
  load(program, options);
  EXPECT_EQ(verified().different, 1u);
  options.graph_max_nodes = 2;
  load(program, options);
  EXPECT_TRUE(verified().identical_throughout());
}

// Contents are compared piece by piece: a word has its first bytes in one piece and the others in
// the next, and so has a difference.
TEST(VerifyPieces, WordsAndDifferencesAtTheirEdges) {
  constexpr uint64_t kBytes = 3 * kTestChunkBytes;
  for (const bool by_hash : {false, true}) {
    for (uint64_t place = kTestChunkBytes - 17; place <= kTestChunkBytes + 9; ++place) {
      if (by_hash && place % 8 != 0) continue;  // no other words are named by the trace
      FakeHip fake;
      add_test_kernels(fake);
      TestTrace trace(fake);
      trace.hash_only = by_hash;
      const auto a = trace.allocate(64);
      const auto table = trace.allocate(kBytes, std::vector<uint8_t>(kBytes, 3));
      fake.kernels["store"] = [=](const FakeLaunch& l) {
        const auto word = l.argument<uint64_t>(8);
        std::memcpy(l.argument<uint8_t*>(0) + place, &word, sizeof(word));
      };
      trace.launch("store", Arguments().value(trace.address(table)).value(trace.address(a) + 8));
      LoadOptions options;
      options.mode = Mode::kBatch;
      options.layout = Layout::kShift;
      auto step = Step::load(trace.program(), fake.library(), options);
      ASSERT_TRUE(step) << step.error().message;
      ASSERT_TRUE((*step)->run());
      auto report = StepCheck(**step).verify();
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_TRUE(report->identical_throughout()) << place;
      const uint8_t wrong = 0xEE;
      for (const uint64_t offset : {place + 8, place - 1, kBytes - 1}) {
        ASSERT_TRUE(
            (*step)->instance().memory().write(table, offset, std::as_bytes(std::span(&wrong, 1))));
        report = StepCheck(**step).verify();
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_EQ(report->different, 1u);
        if (by_hash) continue;
        const BufferResult& result = report->buffers[table - 1];
        EXPECT_EQ(result.first_difference, offset == place + 8 ? offset : place - 1);
        EXPECT_EQ(result.differing_bytes, offset == place + 8 ? 1u : offset < place ? 2u : 3u);
        EXPECT_EQ(result.expected, 3);
        EXPECT_EQ(result.got, wrong);
      }
    }
  }
}

TEST_F(VerifyTest, UnknownStateIsNotASuccess) {
  trace.allocate(64);
  trace.edit_post = [](format::Content& post) {
    post = format::Content{};
    post.size_bytes = 64;
    post.stored = false;
  };
  load();
  const VerifyReport report = verified();
  EXPECT_EQ(report.uncompared, 1u);
  EXPECT_FALSE(report.identical_throughout());
  EXPECT_FALSE(report.buffers[0].reason.empty());
}

TEST_F(VerifyTest, MemoryThatGraphsFreedIsInNoCount) {
  const auto kept = trace.allocate(64);
  trace.gone.insert(trace.allocate(64));
  load();
  const VerifyReport report = verified();
  EXPECT_EQ(report.gone, 1u);
  EXPECT_EQ(report.not_compared(), 0u);
  EXPECT_TRUE(report.identical_throughout());
  ASSERT_EQ(report.buffers.size(), 1u);
  EXPECT_EQ(report.buffers[0].allocation, kept);
}

TEST_F(VerifyTest, NothingButMemoryThatGraphsFreedIsNotASuccess) {
  trace.gone.insert(trace.allocate(64));
  load();
  EXPECT_FALSE(verified().identical_throughout());
}

// gfxgraph-record --contents none: zeros, but for the words that lead to other memory.
TEST_F(VerifyTest, UnknownContentsAreRefusedOrBeginWithZeros) {
  const auto target = trace.allocate(64, std::vector<uint8_t>(64, 3));
  std::vector<uint8_t> bytes(70000, 9);
  const uint64_t word = trace.address(target) + 8;
  for (const size_t offset : {16, 24, 69992}) std::memcpy(&bytes[offset], &word, sizeof(word));
  trace.edit_begin = [](format::AllocationBegin& begin) {
    begin.initial.stored = false;
    begin.initial.blob = {};
  };
  trace.edit_post = [](format::Content& post) {
    const uint64_t size = post.size_bytes;
    post = format::Content{};
    post.size_bytes = size;
    post.stored = false;
  };
  const auto table = trace.allocate(bytes.size(), bytes);
  LoadOptions options = shifted();
  const std::shared_ptr<const Program> program = trace.program();
  const auto refused = Step::load(program, fake.library(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::kIncomplete);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("allocation 2 is not in the trace"));
  options.zero_unknown = true;
  load(program, options);
  const Memory& memory = replay->instance().memory();
  std::vector<uint8_t> got(bytes.size());
  ASSERT_TRUE(memory.read(table, 0, std::as_writable_bytes(std::span(got))));
  const uint64_t moved = reinterpret_cast<uint64_t>(memory.device_pointer(target)) + 8;
  ASSERT_NE(moved, word);
  std::vector<uint8_t> expected(bytes.size());
  for (const size_t offset : {16, 24, 69992}) std::memcpy(&expected[offset], &moved, sizeof(moved));
  EXPECT_EQ(got, expected);
  const VerifyReport report = verified();
  EXPECT_EQ(report.identical + report.different, 0u);
  EXPECT_FALSE(report.identical_throughout());
}

TEST_F(VerifyTest, ReceivedCopiesAreCompared) {
  const auto a = trace.allocate_words({1, 2, 3, 4});
  trace.copy_to_host(a);
  load();
  EXPECT_EQ(verified().copies_identical, 1u);
  // The copy ran while the buffer held something else.
  const uint32_t other = 9;
  ASSERT_TRUE(replay->restore());
  ASSERT_TRUE(replay->instance().memory().write(a, 4, std::as_bytes(std::span(&other, 1))));
  ASSERT_TRUE(replay->run());
  const VerifyReport report = verified();
  EXPECT_EQ(report.copies_different, 1u);
  EXPECT_EQ(report.copies[0].first_difference, 4u);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing

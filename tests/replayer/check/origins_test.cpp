// Memory that nobody had written when the program got it: what of it is compared, and what is not.
#include "replayer/check/origins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replayer/check/verify.h"
#include "replayer/step/step.h"
#include "replayer/step/step_check.h"
#include "scenario.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint8_t kStale = 7;

LoadOptions options_of(Mode mode, Layout layout = Layout::kShift) {
  LoadOptions options;
  options.mode = mode;
  options.layout = layout;
  return options;
}

class OriginsTest : public ::testing::Test {
 protected:
  OriginsTest() : trace(fake) { add_test_kernels(fake); }

  // It holds stale bytes, which the trace does not say.
  format::AllocationId fresh(uint64_t address = 0) {
    trace.edit_begin = [address](format::AllocationBegin& begin) {
      begin.initial = {};
      begin.initial.size_bytes = begin.size_bytes;
      begin.initial.unwritten = true;
      if (address != 0) begin.recorded_address = address;
    };
    const auto id = trace.allocate(64, std::vector<uint8_t>(64, kStale));
    trace.edit_begin = nullptr;
    return id;
  }
  // At the address of memory that was freed with the same bytes in it.
  format::AllocationId recycled() {
    const auto before = trace.allocate(64, std::vector<uint8_t>(64, kStale));
    const uint64_t address = trace.address(before);
    trace.free(before);
    return fresh(address);
  }
  void set_part(format::AllocationId id, uint64_t bytes) {
    format::Memset memset;
    memset.allocation = id;
    memset.value = 3;
    memset.width_elements = bytes;
    trace.memset(memset);
  }
  void load(const LoadOptions& options) {
    if (!program_) program_ = trace.program();
    auto loaded = Step::load(program_, fake.library(), options);
    ASSERT_TRUE(loaded) << loaded.error().message;
    replay = std::move(*loaded);
    ASSERT_TRUE(replay->run());
  }
  VerifyReport verified() {
    auto report = StepCheck(*replay).verify();
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    EXPECT_EQ(report ? report->unwritten_failure : "", "");
    return report ? std::move(*report) : VerifyReport{};
  }
  void poke(format::AllocationId id, uint64_t offset, uint8_t value) {
    ASSERT_TRUE(replay->instance().memory().write(id, offset, std::as_bytes(std::span(&value, 1))));
  }
  uint8_t peek(format::AllocationId id, uint64_t offset) {
    uint8_t value = 0;
    EXPECT_TRUE(
        replay->instance().memory().read(id, offset, std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }

  FakeHip fake;
  TestTrace trace;
  std::unique_ptr<Step> replay;

 private:
  std::shared_ptr<const Program> program_;
};

TEST_F(OriginsTest, BytesThatNobodyWroteAreLeftOut) {
  const auto id = recycled();
  set_part(id, 16);
  trace.copy_to_host(id);
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph, Mode::kAuto}) {
    for (const Layout layout : {Layout::kSame, Layout::kShift}) {
      for (const bool poison : {false, true}) {
        SCOPED_TRACE(mode_name(mode));
        LoadOptions options = options_of(mode, layout);
        options.poison_fresh = poison;
        load(options);
        EXPECT_EQ(peek(id, 16), poison ? kPoison : 0);
        const VerifyReport report = verified();
        EXPECT_TRUE(report.identical_throughout());
        EXPECT_EQ(report.unwritten_bytes, 96u);
        EXPECT_EQ(report.unwritten_places, 2u);
        EXPECT_EQ(report.uninitialised(), 0u);
        EXPECT_EQ(peek(id, 0), 3) << "as it was before the comparison";
        EXPECT_EQ(peek(id, 16), poison ? kPoison : 0);
        EXPECT_TRUE(verified().identical_throughout()) << "once more";
      }
    }
  }
}

TEST_F(OriginsTest, MemoryOfTheSystemIsZero) {
  const auto id = fresh();
  set_part(id, 64);
  trace.edit_begin = [](format::AllocationBegin& begin) {
    begin.initial = {};
    begin.initial.size_bytes = begin.size_bytes;
    begin.initial.unwritten = true;
  };
  trace.allocate(64, std::vector<uint8_t>(64, 0));
  LoadOptions options = options_of(Mode::kBatch);
  load(options);
  EXPECT_EQ(verified().unwritten_bytes, 0u) << "the replay holds the same";
  options.poison_fresh = true;
  load(options);
  const VerifyReport report = verified();
  EXPECT_TRUE(report.identical_throughout());
  EXPECT_EQ(report.unwritten_bytes, 64u);
}

// The trace does not say that such bytes stood there: it may as well lack what wrote them.
TEST_F(OriginsTest, UnexplainedBytesAreNotIdentical) {
  const auto id = fresh();
  set_part(id, 16);
  load(options_of(Mode::kBatch));
  const VerifyReport report = verified();
  EXPECT_FALSE(report.differs());
  EXPECT_FALSE(report.identical_throughout());
  EXPECT_EQ(report.uncompared, 1u);
  EXPECT_EQ(report.uninitialised(), 0u);
  EXPECT_THAT(report.buffers[id - 1].reason,
              HasSubstr("48 bytes, the first at offset 16, were never written in the replay"));
}

TEST_F(OriginsTest, WrongBytesStayDifferent) {
  const auto id = recycled();
  const auto written = recycled();
  set_part(id, 16);
  set_part(written, 64);
  load(options_of(Mode::kBatch));
  poke(id, 8, 0xEE);
  poke(id, 40, 0xEE);
  VerifyReport report = verified();
  EXPECT_EQ(report.different, 1u);
  EXPECT_EQ(report.buffers[id - 1].first_difference, 8u);
  EXPECT_EQ(report.buffers[id - 1].differing_bytes, 2u);
  EXPECT_EQ(report.buffers[id - 1].expected, 3);
  EXPECT_EQ(report.buffers[id - 1].got, 0xEE);
  poke(id, 8, 3);
  poke(id, 40, 0);
  poke(written, 8, 0);
  report = verified();
  EXPECT_EQ(report.buffers[id - 1].comparison, Comparison::kIdentical);
  EXPECT_EQ(report.buffers[written - 1].comparison, Comparison::kDifferent)
      << "zero is what it began with, but the program wrote it";
}

// As if nobody had written it: but eager mode does.
TEST_F(OriginsTest, AWriteThatAModeLosesIsADifference) {
  const auto id = recycled();
  trace.launch("fill", Arguments().value(trace.address(id)).value(0x07070707u).value(16u));
  fake.skip_last_graph_kernel = true;
  load(options_of(Mode::kGraph));
  const VerifyReport report = verified();
  EXPECT_EQ(report.different, 1u);
  fake.skip_last_graph_kernel = false;
  load(options_of(Mode::kGraph));
  EXPECT_TRUE(verified().identical_throughout());
}

TEST_F(OriginsTest, ResultsOfUnwrittenMemoryAreNamed) {
  const auto read = fresh();
  const auto b = trace.allocate_words(std::vector<uint32_t>(16, 5));
  const auto sum = trace.allocate(64);
  trace.launch("add", Arguments()
                          .value(trace.address(read))
                          .value(trace.address(b))
                          .value(trace.address(sum))
                          .value(8u));
  trace.copy_to_host(sum);
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph, Mode::kAuto}) {
    SCOPED_TRACE(mode_name(mode));
    load(options_of(mode));
    const VerifyReport report = verified();
    EXPECT_FALSE(report.differs());
    EXPECT_FALSE(report.identical_throughout());
    EXPECT_EQ(report.uninitialised(), 2u);
    EXPECT_EQ(report.buffers[sum - 1].fresh.derived, 32u);
    EXPECT_EQ(report.buffers[sum - 1].fresh.first_derived, 0u);
    EXPECT_THAT(report.buffers[sum - 1].reason,
                HasSubstr("the program reads uninitialised memory"));
    EXPECT_EQ(report.copies_uncompared, 1u);
    poke(sum, 40, 1);
    EXPECT_EQ(verified().different, 1u) << "beside it";
  }
}

TEST_F(OriginsTest, NondeterminismIsNotUnwrittenMemory) {
  const auto read = recycled();
  const auto out = trace.allocate(64);
  auto runs = std::make_shared<uint32_t>(0);
  fake.kernels["count"] = [runs](const FakeLaunch& l) { *l.argument<uint32_t*>(0) = ++*runs; };
  trace.launch("count", Arguments().value(trace.address(out)));
  set_part(read, 16);
  load(options_of(Mode::kBatch));
  const VerifyReport report = verified();
  EXPECT_EQ(report.different, 1u);
  EXPECT_EQ(report.uninitialised(), 0u);
  EXPECT_EQ(report.buffers[out - 1].comparison, Comparison::kDifferent);
  EXPECT_EQ(report.buffers[read - 1].comparison, Comparison::kIdentical);
}

TEST_F(OriginsTest, AHashOverUnwrittenBytesIsNotCompared) {
  const auto part = recycled();
  const auto whole = recycled();
  set_part(part, 16);
  set_part(whole, 64);
  trace.hash_only = true;
  load(options_of(Mode::kBatch));
  VerifyReport report = verified();
  EXPECT_FALSE(report.differs());
  EXPECT_EQ(report.buffers[part - 1].comparison, Comparison::kUncompared);
  EXPECT_THAT(report.buffers[part - 1].reason, HasSubstr("48 bytes that were never written"));
  EXPECT_EQ(report.buffers[whole - 1].comparison, Comparison::kIdentical);
  poke(whole, 3, 0);
  report = verified();
  EXPECT_EQ(report.buffers[whole - 1].comparison, Comparison::kDifferent)
      << "every byte is written";
}

// Bound memory begins as any other, and what a caller keeps in it is his.
TEST_F(OriginsTest, BoundBuffers) {
  const auto id = recycled();
  const auto out = trace.allocate(64);
  set_part(id, 16);
  trace.launch("double", Arguments().value(trace.address(out)).value(16u));
  std::vector<uint8_t> own(64, 0xCC);
  std::vector<uint8_t> kept(64, 0x5A);
  LoadOptions options = options_of(Mode::kBatch);
  options.bindings = {{id, own.data(), own.size(), false}, {out, kept.data(), kept.size(), true}};
  load(options);
  EXPECT_EQ(own[63], 0);
  const std::vector<uint8_t> after = kept;
  const VerifyReport report = verified();
  EXPECT_TRUE(report.identical_throughout());
  EXPECT_EQ(report.unwritten_bytes, 48u);
  EXPECT_EQ(kept, after);
}

// What the recorded copy held cannot be known.
TEST_F(OriginsTest, CopiesOfUnwrittenMemoryAreNamed) {
  const auto from = recycled();
  const auto to = recycled();
  trace.copy(trace.make_copy(to, from, 32));
  load(options_of(Mode::kBatch));
  const VerifyReport report = verified();
  EXPECT_FALSE(report.differs());
  EXPECT_EQ(report.buffers[from - 1].comparison, Comparison::kIdentical);
  EXPECT_EQ(report.buffers[to - 1].comparison, Comparison::kUncompared);
  EXPECT_EQ(report.buffers[to - 1].fresh.derived, 32u);
  EXPECT_EQ(report.buffers[to - 1].fresh.left_out, 32u);
}

TEST_F(OriginsTest, AFailureLeavesTheStrictComparison) {
  const auto id = recycled();
  set_part(id, 16);
  bool failed = true;
  for (int call = 1; failed && call < 100; ++call) {
    load(options_of(Mode::kBatch));
    ASSERT_TRUE(replay->wait());
    fake.fail_call(call);
    const auto report = StepCheck(*replay).verify();
    failed = fake.failed;
    fake.fail_call(0);
    if (!report) continue;
    EXPECT_EQ(report->identical_throughout(), !failed);
    EXPECT_EQ(report->unwritten_failure.empty(), !failed);
    EXPECT_EQ(report->differs(), failed);
  }
  EXPECT_FALSE(failed) << "all calls were made to fail";
}

TEST_F(OriginsTest, AreNotLookedForWithoutTheMemoryForIt) {
  const auto id = fresh();
  set_part(id, 16);
  load(options_of(Mode::kBatch));
  const auto report = verify(replay->instance());
  ASSERT_TRUE(report);
  ASSERT_EQ(report->different, 1u);
  const auto find = [&](const MachineMemory& machine) {
    return OriginMap::find(replay->instance(), {}, nullptr, *report, nullptr, machine);
  };
  fake.log.clear();
  for (const MachineMemory& machine : {MachineMemory{255, false}, MachineMemory{319, true}}) {
    const auto refused = find(machine);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, Status::kOutOfMemory);
    EXPECT_THAT(refused.error().message, HasSubstr("more than this machine has available"));
  }
  EXPECT_TRUE(fake.log.empty());
  EXPECT_TRUE(find({256, false}));
  EXPECT_TRUE(find({320, true}));
}

}  // namespace
}  // namespace gfxgraph::replayer::testing

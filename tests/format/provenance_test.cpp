// What a trace says of its words, and what readers make of it.
#include "format/provenance.h"

#include <gtest/gtest.h>

#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

constexpr PointerUse kUses[] = {PointerUse::kRecorded, PointerUse::kTyped, PointerUse::kProven};

// A buffer with a table of three words, a launch with a typed and a matched one.
class KnownWordsTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::byte> bytes = trace_bytes([](Writer& writer) {
      GFXGRAPH_CHECK(add_preamble(writer).has_value());
      AllocationBegin begin = sample_allocation(1, 8192);
      begin.initial.size_bytes = 8192;
      begin.initial.fill = 0;
      for (uint64_t n = 0; n < 3; ++n)
        begin.initial.relocations.push_back({8 * n, 1, 0, RelocationSource::kMatched, true});
      GFXGRAPH_CHECK(writer.add(event_of(begin)).has_value());
      GFXGRAPH_CHECK(writer.add(event_of(sample_allocation(2, 8192))).has_value());
      GFXGRAPH_CHECK(writer.add(event_of(sample_launch(1, 2))).has_value());
    });
    ASSERT_TRUE(write_file_atomic(path_, bytes));
  }
  std::shared_ptr<const Trace> open(PointerUse use, bool lazy = false) {
    ReadOptions options;
    options.pointers = use;
    options.lazy = lazy;
    Result<std::shared_ptr<const Trace>> trace = Trace::open(path_, options);
    EXPECT_TRUE(trace) << trace.error().message;
    EXPECT_TRUE((*trace)->load_events());
    return *trace;
  }
  static const std::vector<Relocation>& table(const Trace& trace) {
    return std::get<AllocationBegin>(trace.events()[0].action).initial.relocations;
  }
  static const std::vector<Relocation>& arguments(const Trace& trace) {
    return std::get<Launch>(trace.events()[2].action).relocations;
  }
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "t.gfxg";
};

TEST_F(KnownWordsTest, WithoutARecordProvenMeansRecorded) {
  EXPECT_FALSE(open(PointerUse::kProven)->provenance().made);
  EXPECT_EQ(table(*open(PointerUse::kProven)), table(*open(PointerUse::kRecorded)));
  EXPECT_EQ(table(*open(PointerUse::kTyped)).size(), 0u);
  EXPECT_EQ(arguments(*open(PointerUse::kTyped)).size(), 1u);
}

TEST_F(KnownWordsTest, DataIsLeftAloneAndPointersAreCertain) {
  Provenance known;
  known.places = {
      {{0, 0, 0, WordPart::kInitial}, {{0, WordVerdict::kPointer}, {8, WordVerdict::kData}}},
      // A type says more than a run.
      {{2, 0, 0, WordPart::kArguments}, {{8, WordVerdict::kData}, {16, WordVerdict::kPointer}}}};
  ASSERT_TRUE(write_provenance(path_, path_, known));
  for (const bool lazy : {false, true}) {
    const auto trace = open(PointerUse::kProven, lazy);
    EXPECT_TRUE(trace->provenance().made);
    EXPECT_EQ(trace->provenance().places, known.places);
    ASSERT_EQ(table(*trace).size(), 2u);
    EXPECT_EQ(table(*trace)[0].source, RelocationSource::kProven);
    EXPECT_FALSE(table(*trace)[0].ambiguous);
    EXPECT_EQ(table(*trace)[1].offset_bytes, 16u);
    EXPECT_TRUE(table(*trace)[1].ambiguous);
    ASSERT_EQ(arguments(*trace).size(), 2u);
    EXPECT_EQ(arguments(*trace)[0].source, RelocationSource::kTyped);
    EXPECT_EQ(arguments(*trace)[1].source, RelocationSource::kProven);
  }
  EXPECT_EQ(table(*open(PointerUse::kRecorded)).size(), 3u);
  EXPECT_EQ(count_data(known), 2u);
}

TEST_F(KnownWordsTest, WhatWasKnownBeforeIsReplaced) {
  Provenance known;
  known.places = {{{0, 0, 0, WordPart::kInitial}, {{0, WordVerdict::kData}}}};
  ASSERT_TRUE(write_provenance(path_, path_, known));
  ASSERT_TRUE(write_provenance(path_, path_, Provenance()));
  for (const PointerUse use : kUses) EXPECT_TRUE(open(use)->provenance().places.empty());
  EXPECT_TRUE(open(PointerUse::kProven)->provenance().made);
  EXPECT_EQ(table(*open(PointerUse::kProven)).size(), 3u);
}

}  // namespace
}  // namespace gfxgraph::format

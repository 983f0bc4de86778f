// What final contents are said to be, which were computed from recorded words.
#include "check/provenance/provenance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace gfxgraph::check {
namespace {

// A buffer of recorded words that all look like addresses in it, and a result of 8 bytes that was
// computed from all of them, and looks like one, too.
class Sum {
 public:
  explicit Sum(uint32_t words, const BudgetLimits& limits = {}) : words_(words), budget_(limits) {
    format::AllocationBegin from;
    from.id = 1;
    from.recorded_address = kFrom;
    from.size_bytes = from.initial.size_bytes = uint64_t{words} * 8;
    for (uint32_t n = 0; n < words; ++n)
      from.initial.relocations.push_back({uint64_t{n} * 8, 1, n});
    provenance_.next_event(1);
    EXPECT_TRUE(provenance_.allocated(from));
    format::AllocationBegin to;
    to.id = 2;
    to.recorded_address = kTo;
    to.size_bytes = to.initial.size_bytes = 8;
    provenance_.next_event(2);
    EXPECT_TRUE(provenance_.allocated(to));
    for (uint32_t n = 1; n <= words; ++n)
      for (unsigned half = 0; half < 2; ++half) {
        provenance_.read(Tags::of(n, half));
        sum_[half] = provenance_.tags().unite(sum_[half], Tags::of(n, half));
      }
  }
  // A kernel reads the buffer through the word of this number, which starts at 1.
  void follow(uint32_t word) {
    provenance_.reach(Tags::of(word, 1), Tags::of(word, 0), kFrom + word - 1);
  }
  Tag tag_of_recorded(uint32_t n, unsigned half) {
    return provenance_.memory().get(kFrom + n * 8 + half * 4);
  }
  bool result_is_data() {
    for (unsigned half = 0; half < 2; ++half)
      provenance_.memory().store(kTo + half * 4, 4, sum_[half]);
    format::AllocationEnd end;
    end.id = 2;
    end.post.size_bytes = 8;
    end.post.relocations.push_back({0, 1, 8});
    provenance_.next_event(3);
    EXPECT_TRUE(provenance_.freed(end));
    ProvenanceReport report;
    provenance_.finish(report, false);
    EXPECT_EQ(report.words, words_);
    const format::WordPlace place{3, 0, 0, format::WordPart::kFinal};
    return std::ranges::any_of(report.facts.places, [&](const format::KnownWords& known) {
      return known.place == place && known.words.size() == 1 &&
             known.words[0].verdict == format::WordVerdict::kData;
    });
  }

 private:
  static constexpr uint64_t kFrom = 0x7f0000000000, kTo = 0x7f8000000000;
  uint32_t words_;
  Budget budget_;
  Provenance provenance_{budget_};
  Tag sum_[2] = {};
};

TEST(Provenance, RecordedWordsAreNumberedInTheirOrder) {
  Sum sum(3);
  for (uint32_t n = 0; n < 3; ++n)
    for (unsigned half = 0; half < 2; ++half)
      EXPECT_EQ(sum.tag_of_recorded(n, half), Tags::of(n + 1, half)) << n << ", " << half;
}

TEST(Provenance, AResultOfDataIsData) {
  for (const uint32_t words : {1U, 2U, 8U, 9U, 16U, 17U, 40U, 5000U}) {
    Sum sum(words);
    EXPECT_TRUE(sum.result_is_data()) << words;
  }
}

// Its origins did not fit into memory: that no pointer is among them is not known.
TEST(Provenance, AResultWhoseOriginsWereLostIsNotClaimedToBeData) {
  BudgetLimits limits;
  limits.memory_bytes = 60'000;
  Sum sum(1, limits);
  sum.follow(1);
  EXPECT_FALSE(sum.result_is_data());
}

TEST(Provenance, AResultOfOnePointerIsNotClaimedToBeData) {
  for (const uint32_t words : {1U, 2U, 16U, 17U, 40U, 5000U})
    for (const uint32_t pointer : {1U, words / 2 + 1, words}) {
      Sum sum(words);
      sum.follow(pointer);
      EXPECT_FALSE(sum.result_is_data()) << pointer << " of " << words;
    }
}

// A graph is launched again, and there was no memory for a word of its node.
TEST(Provenance, AWordThatWasLostHasNoNumberInLaterLaunches) {
  constexpr uint64_t kBuffer = 0x7f0000000000, kArguments = kBuffer + 0xf000;
  BudgetLimits limits;
  limits.memory_bytes = 100'000;
  Budget budget(limits);
  Provenance provenance(budget);
  format::AllocationBegin begin;
  begin.id = 1;
  begin.recorded_address = kBuffer;
  begin.size_bytes = begin.initial.size_bytes = 0x2000;
  for (uint64_t n = 0; n < 1023; ++n) begin.initial.relocations.push_back({n * 8, 1, 0});
  provenance.next_event(1);
  EXPECT_TRUE(provenance.allocated(begin));
  ASSERT_EQ(provenance.memory().get(kBuffer + 1022 * 8), Tags::of(1023, 0));
  format::Launch launch;
  launch.kernarg.resize(8);
  launch.relocations.push_back({0, 1, 0});
  for (int n = 0; n < 2; ++n) {
    provenance.next_node(1, 0);
    provenance.launch(launch, kArguments);
    EXPECT_EQ(provenance.memory().get(kArguments), Tag{0}) << "launch " << n;
  }
}

// What lies outside of all allocations is remembered, until one begins there.
TEST(Provenance, RemembersWhatIsNotRecorded) {
  constexpr uint64_t kFirstBuffer = 0x7f0000000000, kSecondBuffer = kFirstBuffer + 0x10000,
                     kBytes = 0x1000;
  const auto allocation = [](format::AllocationId id, uint64_t address) {
    format::AllocationBegin begin;
    begin.id = id;
    begin.recorded_address = address;
    begin.size_bytes = begin.initial.size_bytes = kBytes;
    return begin;
  };
  Budget budget{BudgetLimits()};
  Provenance provenance(budget);
  const auto untraced = [&](uint64_t address, uint64_t pc) {
    provenance.untraced(address, pc);
    ProvenanceReport report;
    provenance.finish(report, false);
    return report.untraced_instructions;
  };
  provenance.next_event(1);
  EXPECT_TRUE(provenance.allocated(allocation(1, kFirstBuffer)));
  EXPECT_EQ(untraced(kSecondBuffer - 8, 1), 0U);
  EXPECT_TRUE(provenance.is_not_recorded(kSecondBuffer - 8));
  EXPECT_TRUE(provenance.is_not_recorded(kSecondBuffer + kBytes));
  EXPECT_FALSE(provenance.is_not_recorded(kFirstBuffer));
  provenance.next_event(2);
  EXPECT_TRUE(provenance.allocated(allocation(2, kSecondBuffer)));
  EXPECT_FALSE(provenance.is_not_recorded(kSecondBuffer));
  EXPECT_EQ(untraced(kSecondBuffer + 8, 2), 1U);
  EXPECT_EQ(untraced(kSecondBuffer - 8, 3), 1U);
  EXPECT_FALSE(provenance.is_not_recorded(kSecondBuffer));
  EXPECT_EQ(untraced(kFirstBuffer + kBytes - 1, 4), 2U);
  provenance.next_event(3);
  format::AllocationEnd end;
  end.id = 2;
  EXPECT_TRUE(provenance.freed(end));
  EXPECT_EQ(untraced(kSecondBuffer + 8, 5), 2U);
  EXPECT_TRUE(provenance.is_not_recorded(kSecondBuffer + 8));
}

// The recorder saw bytes change during a kernel that has their address, and wrote down whose they
// may be: the program's, or the kernel's, which stored a pointer there.
class HostWriteInDoubt : public testing::Test {
 protected:
  static constexpr uint64_t kBuffer = 0x7f0000000000, kArguments = kBuffer + 0xf000;
  static constexpr uint64_t kWord = kBuffer + 16;  // what the kernel stores

  HostWriteInDoubt() {
    format::AllocationBegin begin;
    begin.id = 1;
    begin.kind = format::AllocationKind::kHostPinned;
    begin.recorded_address = begin.host_address = kBuffer;
    begin.size_bytes = begin.initial.size_bytes = 0x1000;
    EXPECT_TRUE(memory_.begin(begin));
    provenance_.follow(memory_);
    provenance_.next_event(1);
    EXPECT_TRUE(provenance_.allocated(begin));
    format::Launch launch;
    launch.kernarg.resize(8);
    std::memcpy(launch.kernarg.data(), &kWord, sizeof(kWord));
    launch.relocations.push_back({0, 1, 16});
    provenance_.next_event(2);
    provenance_.launch(launch, kArguments);
    provenance_.memory().copy(kBuffer + 8, kArguments, 8);
    for (unsigned half = 0; half < 2; ++half) provenance_.read(Tags::of(1, half));
    put(kWord);
  }
  void put(uint64_t word) {
    const Result<std::span<std::byte>> bytes = memory_.bytes(1, 8, sizeof(word));
    ASSERT_TRUE(bytes);
    std::memcpy(bytes->data(), &word, sizeof(word));
  }
  // Of the bytes from 8 to 24, after which they hold `word`.
  void write(uint64_t word) {
    format::HostWrite write;
    write.allocation = 1;
    write.offset_bytes = 8;
    write.in_doubt = true;
    write.content.size_bytes = 16;
    write.content.relocations.push_back({0, 1, 16});
    provenance_.next_event(3);
    EXPECT_TRUE(provenance_.will_write(write));
    put(word);
    EXPECT_TRUE(provenance_.written(write));
  }
  // A kernel follows the word in memory.
  void follow() {
    provenance_.reach(provenance_.memory().get(kBuffer + 12), provenance_.memory().get(kBuffer + 8),
                      kWord);
  }
  ProvenanceReport report() {
    ProvenanceReport report;
    provenance_.finish(report, false);
    return report;
  }
  static constexpr format::WordPlace kWritten{3, 0, 0, format::WordPart::kHostWrite};

  Budget budget_{BudgetLimits()};
  const std::vector<format::Event> none_;
  DeviceMemory memory_{none_, budget_};
  Provenance provenance_{budget_};
};

TEST_F(HostWriteInDoubt, WhatAKernelStoredRemainsWhatItWas) {
  write(kWord);
  follow();
  const ProvenanceReport found = report();
  EXPECT_EQ(found.words, 1U);
  EXPECT_EQ(found.proven, 1U);
  ASSERT_EQ(found.facts.places.size(), 2U);
  EXPECT_EQ(found.facts.places[1].place, kWritten);
  EXPECT_EQ(found.facts.places[1].words, (std::vector<format::KnownWord>{{0}}));
}

TEST_F(HostWriteInDoubt, WhatTheKernelStoredIsDataLikeItsOrigin) {
  write(kWord);
  const ProvenanceReport found = report();
  EXPECT_EQ(found.data, 1U);
  ASSERT_EQ(found.facts.places.size(), 2U);
  EXPECT_EQ(found.facts.places[1].words,
            (std::vector<format::KnownWord>{{0, format::WordVerdict::kData}}));
}

TEST_F(HostWriteInDoubt, AnotherWordIsTheProgramsOwn) {
  put(5);
  write(kWord);
  follow();
  const ProvenanceReport found = report();
  EXPECT_EQ(found.words, 2U);
  EXPECT_EQ(found.proven, 1U);
  EXPECT_EQ(found.data, 1U);
}

}  // namespace
}  // namespace gfxgraph::check

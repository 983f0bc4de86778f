// Sets of halves of recorded words, against std::map.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "check/provenance/provenance_tags.h"
#include "emulator/engine/wave.h"

namespace gfxgraph::check {
namespace {

// Half -> whether it is strong.
using Halves = std::map<Tag, bool>;

struct TaggedHalves {
  Tag tag = 0;
  Halves model;
};

std::set<uint32_t> words_of(const Halves& model) {
  std::set<uint32_t> words;
  for (const auto& [half, strong] : model) words.insert(Tags::word_of(half));
  return words;
}

class ProvenanceTags : public testing::Test {
 protected:
  // Sets of sets, some of them weak: joins of joins are most of them.
  void grow(unsigned count) {
    for (uint32_t word = 1; word <= 12; ++word) {
      for (const unsigned half : {0U, 1U})
        pairs_.push_back({Tags::of(word, half), {{Tags::of(word, half), true}}});
    }
    std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same each time
    const auto any = [&] { return pairs_[random() % pairs_.size()]; };
    for (unsigned n = 0; n < count; ++n) {
      TaggedHalves made = any();
      if (random() % 4 == 0) {
        made.tag = tags_.weaken(made.tag);
        for (auto& [half, strong] : made.model) strong = false;
      } else {
        const TaggedHalves other = any();
        made.tag = tags_.unite(made.tag, other.tag);
        for (const auto& [half, strong] : other.model) {
          bool& one = made.model.try_emplace(half, false).first->second;
          one = one || strong;
        }
      }
      if (made.model.size() <= 8) pairs_.push_back(std::move(made));
    }
  }

  Tags tags_;
  std::vector<TaggedHalves> pairs_;
};

TEST_F(ProvenanceTags, ElementsAreThoseOfTheModel) {
  grow(2000);
  unsigned nested = 0;
  for (const TaggedHalves& pair : pairs_) {
    Tags::Elements elements;
    if (!tags_.elements(pair.tag, elements)) continue;  // it is made of too many sets
    Halves found;
    for (unsigned n = 0; n < elements.count; ++n)
      found.emplace(elements.element[n] & ~Tags::kWeak, !Tags::is_weak(elements.element[n]));
    ASSERT_EQ(found, pair.model) << pair.tag;
    nested += pair.model.size() > 2 ? 1 : 0;
  }
  EXPECT_GT(nested, 300U);
}

TEST_F(ProvenanceTags, EachSetIsVisitedOnce) {
  grow(2000);
  std::set<uint32_t> all;
  for (const TaggedHalves& pair : pairs_) {
    std::set<uint32_t> seen;
    tags_.visit_once(pair.tag, [&](uint32_t word) { seen.insert(word); });
    const std::set<uint32_t> words = words_of(pair.model);
    for (const uint32_t word : seen) EXPECT_TRUE(words.contains(word)) << pair.tag;
    all.insert(seen.begin(), seen.end());
    for (const uint32_t word : words) EXPECT_TRUE(all.contains(word)) << pair.tag;
  }
}

TEST_F(ProvenanceTags, VisitsEveryWordOfNestedSets) {
  for (const bool weak : {false, true}) {
    Tags tags;
    Tag tag = Tags::of(1, 0);
    std::set<uint32_t> words = {1};
    for (uint32_t word = 2; word < 40; ++word) {
      tag = tags.unite(tags.unite(Tags::of(word, 0), Tags::of(word + 100, 1)), tag);
      if (weak) tag = tags.weaken(tag);
      words.insert({word, word + 100});
    }
    std::set<uint32_t> seen;
    tags.visit_once(tag, [&](uint32_t word) { seen.insert(word); });
    EXPECT_EQ(seen, words);
    seen.clear();
    tags.visit_once(tag, [&](uint32_t word) { seen.insert(word); });
    EXPECT_TRUE(seen.empty());
  }
}

TEST_F(ProvenanceTags, AllOfAsksForEachWord) {
  grow(2000);
  for (const uint32_t modulus : {2U, 3U, 5U, 13U}) {
    const auto holds = [&](uint32_t word) { return word % modulus != 0; };
    const auto all = tags_.all_of(holds);
    for (const TaggedHalves& pair : pairs_) {
      const std::set<uint32_t> words = words_of(pair.model);
      ASSERT_EQ(all(pair.tag), std::all_of(words.begin(), words.end(), holds)) << pair.tag;
    }
  }
}

}  // namespace
}  // namespace gfxgraph::check

#include "base/cli/suggestion.h"

#include <gtest/gtest.h>

#include <vector>

namespace gfxgraph {
namespace {

const std::vector<std::string> kWords = {"record",     "replay", "run",
                                         "info",       "check",  "--kernels",
                                         "--launches", "--lint", "--lint-summary"};

TEST(Suggestion, NamesTheWordThatWasMeant) {
  EXPECT_EQ(closest_word("inof", kWords), "info");
  EXPECT_EQ(closest_word("recrd", kWords), "record");
  EXPECT_EQ(closest_word("relay", kWords), "replay");
  EXPECT_EQ(closest_word("--kernel", kWords), "--kernels");
  EXPECT_EQ(closest_word("--lanches", kWords), "--launches");
  EXPECT_EQ(closest_word("--lints", kWords), "--lint");
  EXPECT_EQ(closest_word("rum", kWords), "run");
}

TEST(Suggestion, NamesNothingForWordsOfTheirOwn) {
  for (const char* word : {"", "-", "x", "frobnicate", "./app", "--verbose"})
    EXPECT_EQ(closest_word(word, kWords), "") << word;
  EXPECT_EQ(closest_word(std::string(100'000, 'a'), kWords), "");
}

TEST(Suggestion, IsASentence) {
  EXPECT_EQ(did_you_mean("replai", kWords), "; did you mean replay?");
  EXPECT_EQ(did_you_mean("frobnicate", kWords), "");
}

}  // namespace
}  // namespace gfxgraph

#include "base/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/log.h"

namespace gfxgraph {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kVariable = "GFXGRAPH_TEST_VARIABLE";

class Environment : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink(
        [](LogLevel, std::string_view text, void* context) {
          static_cast<Environment*>(context)->messages_.emplace_back(text);
        },
        this);
  }
  void TearDown() override {
    set_log_sink(nullptr, nullptr);
    unsetenv(kVariable);
  }
  static void set(const char* value) { setenv(kVariable, value, 1); }

  std::vector<std::string> messages_;
};

TEST_F(Environment, UnsetAndEmptyAreTheDefault) {
  for (const bool empty : {false, true}) {
    if (empty) set("");
    EXPECT_EQ(environment_number(kVariable, 1, 9, 5), 5u);
    EXPECT_EQ(environment_seconds(kVariable, 9, 0.5), 0.5);
    EXPECT_EQ(environment_word(kVariable, {"allow", "deny"}, 0, 1), 0u);
  }
  EXPECT_THAT(messages_, IsEmpty());
}

TEST_F(Environment, NumbersAreWholeAndInRange) {
  for (const auto& [text, number] : std::vector<std::pair<const char*, uint64_t>>{
           {"1", 1}, {"0x1f", 31}, {"18446744073709551615", UINT64_MAX}}) {
    set(text);
    EXPECT_EQ(environment_number(kVariable, 1, UINT64_MAX, 5), number);
  }
  EXPECT_THAT(messages_, IsEmpty());
  for (const char* const text :
       {"0", "10", "3x", " 3", "-1", "+3", "1e3", "0x", "x", "18446744073709551616"}) {
    set(text);
    messages_.clear();
    EXPECT_EQ(environment_number(kVariable, 1, 9, 5), 5u) << text;
    EXPECT_THAT(messages_, ElementsAre(std::string(kVariable) + "=" + text +
                                       ": expected a number in 1..9; using 5"));
  }
}

TEST_F(Environment, SecondsAreFinite) {
  set("0.25");
  EXPECT_EQ(environment_seconds(kVariable, 9, 0.5), 0.25);
  set("0");
  EXPECT_EQ(environment_seconds(kVariable, 9, 0.5), 0);
  EXPECT_THAT(messages_, IsEmpty());
  for (const char* const text : {"nan", "inf", "-1", "9.5", "1s"}) {
    set(text);
    messages_.clear();
    EXPECT_EQ(environment_seconds(kVariable, 9, 0.5), 0.5) << text;
    EXPECT_THAT(messages_, ElementsAre(std::string(kVariable) + "=" + text +
                                       ": expected seconds in 0..9; using 0.5"));
  }
}

// A value that is misspelt may have another meaning than none.
TEST_F(Environment, WordsAreOnesOfTheList) {
  set("deny");
  EXPECT_EQ(environment_word(kVariable, {"allow", "deny"}, 0, 1), 1u);
  EXPECT_THAT(messages_, IsEmpty());
  set("Deny");
  EXPECT_EQ(environment_word(kVariable, {"allow", "deny"}, 0, 1), 1u);
  EXPECT_THAT(messages_, ElementsAre(std::string(kVariable) +
                                     "=Deny: expected one of allow, deny; using deny"));
}

}  // namespace
}  // namespace gfxgraph

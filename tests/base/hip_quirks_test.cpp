// base/hip_quirks.inc: its rows, the page written from them, and the tests that they name.
#include "base/hip_quirks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace gfxgraph {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(GFXGRAPH_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string version(int number) {
  const std::string text = fmt::format("{}.{}", number / 10000000, number / 100000 % 100);
  return number % 100000 == 0 ? text : fmt::format("{}.{}", text, number % 100000);
}

std::string range(const HipVersionRange& versions) {
  if (versions.from >= versions.until) return "";
  if (versions.from == 0 && versions.until == INT_MAX) return "all";
  if (versions.until == INT_MAX) return version(versions.from) + " and newer";
  const std::string until = "below " + version(versions.until);
  return versions.from == 0 ? until : fmt::format("{} to {}", version(versions.from), until);
}

std::string page() {
  std::string text =
      "# Defects of HIP runtimes\n\n"
      "What gfxgraph knows of HIP runtimes that do not do what was asked, and what it does "
      "instead: "
      "the rows of\n`base/hip_quirks.inc`, from which this page is written "
      "(`GFXGRAPH_UPDATE_DOCS=1 "
      "base_test`). *Seen* are the versions that did it\non the software agent, or a report; "
      "*avoided* is where replay does something else instead.\n\n"
      "| defect | seen | avoided | what gfxgraph does |\n|---|---|---|---|\n";
  for (const HipQuirkRow& row : kHipQuirks) {
    text += fmt::format("| {} | {} | {} | {} |\n", row.defect, row.where, range(row.avoided),
                        row.measure);
  }
  return text;
}

TEST(HipQuirks, RangesAreWhole) {
  for (const HipQuirkRow& row : kHipQuirks) {
    EXPECT_LT(row.avoided.from, row.avoided.until) << row.name;
    EXPECT_EQ(&row, &kHipQuirks[static_cast<size_t>(row.quirk)]) << row.name;
    EXPECT_TRUE(hip_quirk_avoided(row.quirk, row.avoided.from)) << row.name;
    EXPECT_FALSE(hip_quirk_avoided(row.quirk, row.avoided.until)) << row.name;
    if (row.seen.until == 0) continue;
    EXPECT_TRUE(hip_quirk_seen(row.quirk, row.seen.from)) << row.name;
    EXPECT_TRUE(hip_quirk_avoided(row.quirk, row.seen.from)) << row.name << ": seen, not avoided";
  }
}

TEST(HipQuirks, EachNamesATestThatExists) {
  for (const HipQuirkRow& row : kHipQuirks) {
    const std::string test = row.test;
    const size_t colon = test.find(": ");
    ASSERT_NE(colon, std::string::npos) << row.name;
    EXPECT_NE(text_of(test.substr(0, colon)).find(test.substr(colon + 2)), std::string::npos)
        << row.name << ": " << test;
  }
}

TEST(HipQuirks, ThePageIsWrittenFromTheTable) {
  const std::string path = "docs/runtime-quirks.md";
  if (std::getenv("GFXGRAPH_UPDATE_DOCS") != nullptr) {
    std::ofstream(std::string(GFXGRAPH_SOURCE_DIR) + "/" + path, std::ios::binary) << page();
  }
  EXPECT_EQ(text_of(path), page()) << "renew it: GFXGRAPH_UPDATE_DOCS=1 base_test";
}

}  // namespace
}  // namespace gfxgraph

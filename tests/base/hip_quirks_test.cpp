// base/hip_quirks.inc: its rows, the page written from them, and the tests that they name.
#include "base/hip_quirks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>

namespace gfxgraph {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(GFXGRAPH_SOURCE_DIR) + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Builds with a sanitizer leave tests out.
constexpr bool kAllTestsAreRegistered = std::string_view(GFXGRAPH_SANITIZE_FLAGS).empty();

bool is_ctest(const std::string& name) {
  if (!kAllTestsAreRegistered) return true;
  const std::string added = fmt::format("add_test([=[{}]=] ", name);
  const std::filesystem::path folder = std::filesystem::path(GFXGRAPH_BINARY_DIR) / "tests";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "CTestTestfile.cmake") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find(added) != std::string::npos) return true;
  }
  return false;
}

// "FILE: NAME" of a GoogleTest test, or "ctest: NAME".
bool is_test(const std::string& text) {
  const size_t colon = text.find(": ");
  if (colon == std::string::npos) return false;
  const std::string place = text.substr(0, colon);
  const std::string name = text.substr(colon + 2);
  if (place == "ctest") return is_ctest(name);
  const std::regex defined("\\nTEST(_F|_P)?\\(\\w+,\\s+" + name + "\\)");
  return place.ends_with("_test.cpp") && std::regex_search(text_of(place), defined);
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
      "Defects of HIP runtimes, and what gfxgraph does about them. This page is generated from "
      "the rows of\n`base/hip_quirks.inc` (`GFXGRAPH_UPDATE_DOCS=1 base_test`). *Seen* lists the "
      "versions that had the defect\non the software agent, or a report; *avoided* the versions "
      "for which replay does something else instead.\n\n"
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
  for (const HipQuirkRow& row : kHipQuirks)
    EXPECT_TRUE(is_test(row.test)) << row.name << ": " << row.test;
}

TEST(HipQuirks, AnyTextIsNotTheNameOfATest) {
  EXPECT_TRUE(is_test("tests/base/hip_quirks_test.cpp: RangesAreWhole"));
  EXPECT_TRUE(is_test("ctest: base_test"));
  for (const char* text :
       {"tests/base/hip_quirks_test.cpp: HipQuirks", "tests/base/hip_quirks_test.cpp: RangesAre",
        "tests/base/hip_quirks_test.cpp: text_of", "tests/base/none_test.cpp: RangesAreWhole",
        "tests/recorder/programs/program_graphs.hip: hipGraphLaunch", "RangesAreWhole", "-"}) {
    EXPECT_FALSE(is_test(text)) << text;
  }
  EXPECT_EQ(is_test("ctest: base_tes"), !kAllTestsAreRegistered);
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

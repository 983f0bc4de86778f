// The stored traces: they stay readable, their generator still makes them, and no damage to them
// goes unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "base/file/file.h"
#include "format/read/verify.h"
#include "golden/golden_cases.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

std::string text_of(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  if (!bytes) ADD_FAILURE() << bytes.error().message;
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
}

std::vector<std::byte> stored(const std::string& name) {
  return read_file(golden_folder() / name).value_or(std::vector<std::byte>());
}

TEST(Golden, FilesReadAsTheyDid) {
  for (const GoldenCase& golden : golden_cases()) {
    SCOPED_TRACE(golden.name);
    const auto trace =
        Trace::open(golden_folder() / (golden.name + ".gfxg"), {.allow_torn = golden.torn});
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(dump_json(**trace), text_of(golden_folder() / (golden.name + ".json")));
    EXPECT_EQ((*trace)->sealed(), !golden.torn);
  }
}

TEST(Golden, GeneratorMakesTheStoredFiles) {
  for (const GoldenCase& golden : golden_cases()) {
    if (golden.compressed) continue;  // another zstd packs differently
    EXPECT_EQ(golden.bytes, stored(golden.name + ".gfxg")) << golden.name;
  }
}

TEST(Golden, FilesAreSmallAndAllKnown) {
  std::set<std::string> known = {"bad.txt"};
  for (const GoldenCase& golden : golden_cases()) {
    known.insert(golden.name + ".gfxg");
    known.insert(golden.name + ".json");
  }
  for (const auto& entry : std::filesystem::directory_iterator(golden_folder())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_TRUE(known.contains(entry.path().filename().string())) << entry.path();
    if (entry.path().extension() != ".gfxg") continue;
    EXPECT_LE(entry.file_size(), 8192u) << entry.path();
  }
}

TEST(Golden, BadTracesAreRefusedWithTheirMessage) {
  EXPECT_EQ(bad_messages(), text_of(golden_folder() / "bad.txt"));
  std::set<std::string> known;
  for (const GoldenCase& bad : bad_cases()) {
    SCOPED_TRACE(bad.name);
    EXPECT_TRUE(known.insert(bad.name).second) << "twice";
    EXPECT_NE(first_error(bad.bytes), "");
    const auto report = verify_bytes(bad.bytes);
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->problems.empty());
  }
}

// A damaged file must not pass; with allow_torn it must not pass as a whole one, and what is left
// must be a prefix.
void expect_noticed(std::span<const std::byte> bytes, const Trace& original, size_t at,
                    const char* how) {
  const auto strict = Trace::from_bytes(bytes);
  EXPECT_FALSE(strict) << how << " at byte " << at;
  const auto torn = Trace::from_bytes(bytes, {.allow_torn = true});
  if (!torn) return;
  EXPECT_FALSE((*torn)->sealed()) << how << " at byte " << at;
  EXPECT_NE((*torn)->torn_reason(), "");
  EXPECT_LE((*torn)->events().size(), original.events().size());
  EXPECT_LE((*torn)->kernels().size(), original.kernels().size());
  EXPECT_LE((*torn)->statistics().blobs, original.statistics().blobs);
}

TEST(Golden, EveryFlippedByteIsNoticed) {
  for (const GoldenCase& golden : golden_cases()) {
    if (golden.torn) continue;
    SCOPED_TRACE(golden.name);
    const auto original = Trace::from_bytes(golden.bytes).value();
    std::vector<std::byte> bytes = golden.bytes;
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const std::byte mask : {std::byte{1} << (at % 8), std::byte{0xff}}) {
        bytes[at] ^= mask;
        expect_noticed(bytes, *original, at, "flip");
        bytes[at] ^= mask;
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Golden, EveryTruncationIsNoticed) {
  for (const GoldenCase& golden : golden_cases()) {
    SCOPED_TRACE(golden.name);
    const auto original = Trace::from_bytes(golden.bytes, {.allow_torn = true}).value();
    for (size_t size = 0; size < golden.bytes.size(); ++size) {
      expect_noticed(std::span(golden.bytes).first(size), *original, size, "cut");
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// A hash does not stop somebody who can compute it: flips inside payloads, with hashes made right
// again, may pass as another trace, but must never crash or lead outside the file.
TEST(Golden, FlipsWithRightHashesNeverCrash) {
  for (const GoldenCase& golden : golden_cases()) {
    if (golden.torn) continue;
    std::vector<RawRecord> records = split_records(golden.bytes);
    size_t refused = 0;
    for (RawRecord& record : records) {
      for (size_t at = 0; at < record.payload.size(); ++at) {
        const std::byte mask = at % 9 == 8 ? std::byte{0xff} : std::byte{1} << (at % 9);
        record.payload[at] ^= mask;
        if (!first_error(join_records(records)).empty()) ++refused;
        record.payload[at] ^= mask;
      }
    }
    EXPECT_GT(refused, 0u) << golden.name;
  }
}

// docs/format.md shows the smallest file; what it shows must be true.
TEST(Golden, HexDumpInTheDocumentIsTheSmallestFile) {
  std::istringstream document(
      text_of(std::filesystem::path(GFXGRAPH_SOURCE_DIR) / "docs/format.md"));
  std::vector<std::byte> dumped;
  std::string line;
  const std::regex row("^([0-9a-f]{8})((?: [0-9a-f]{2}){1,16})  .*$");
  std::smatch match;
  while (std::getline(document, line)) {
    if (!std::regex_match(line, match, row)) continue;
    ASSERT_EQ(std::stoul(match[1], nullptr, 16), dumped.size()) << line;
    std::istringstream numbers(match[2]);
    std::string number;
    while (numbers >> number) {
      dumped.push_back(static_cast<std::byte>(std::stoul(number, nullptr, 16)));
    }
  }
  EXPECT_EQ(dumped, stored("smallest.gfxg"));
}

}  // namespace
}  // namespace gfxgraph::format

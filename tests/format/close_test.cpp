// Traces of recordings that died are sealed where they stand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "base/file/file.h"
#include "format/read/recover.h"
#include "format/read/verify.h"
#include "format/write/writer.h"
#include "golden/golden_cases.h"
#include "trace_builder.h"

namespace gfxgraph::format {
namespace {

using ::testing::HasSubstr;

// Of all kinds of records.
std::vector<std::byte> whole_trace() { return golden_cases()[2].bytes; }

TEST(Close, SealsEveryTruncationInItsPlace) {
  TemporaryFolder folder;
  const std::vector<std::byte> whole = whole_trace();
  const std::filesystem::path partial = folder / "t.gfxg.partial";
  const std::filesystem::path out = folder / "t.gfxg";
  size_t closed = 0;
  for (size_t size = 0; size < whole.size(); size += 61) {
    SCOPED_TRACE(size);
    ASSERT_TRUE(write_file_atomic(partial, std::span(whole).first(size)));
    const auto expected = recover(partial, folder / "copy.gfxg");
    const auto report = close_recording(partial, out, {"the program was killed by signal 9", 0});
    if (!expected || expected->kept_records == 0) {
      EXPECT_EQ(report.error().status, Status::kTruncated);
      EXPECT_EQ(read_file(partial).value().size(), size) << "it stays as it was";
      continue;
    }
    ASSERT_TRUE(report) << report.error().message;
    ++closed;
    EXPECT_FALSE(std::filesystem::exists(partial));
    const auto trace = Trace::open(out);
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_TRUE((*trace)->sealed());
    EXPECT_FALSE((*trace)->complete());
    EXPECT_EQ((*trace)->findings().back().call, "gfxgraph-record");
    EXPECT_THAT((*trace)->findings().back().detail,
                HasSubstr("the program was killed by signal 9; the trace ends at record "));
    EXPECT_EQ((*trace)->findings().size(), report->findings.size());
    EXPECT_EQ((*trace)->statistics().events, expected->statistics.events);
    EXPECT_EQ((*trace)->statistics().blobs, expected->statistics.blobs);
    EXPECT_TRUE(verify(out).value().problems.empty());
  }
  EXPECT_GT(closed, 20u);
}

TEST(Close, OnlyNamesATraceThatIsSealed) {
  TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "t.gfxg.partial", whole_trace()));
  const auto report = close_recording(folder / "t.gfxg.partial", folder / "t.gfxg", {"died", 0});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->intact);
  EXPECT_EQ(read_file(folder / "t.gfxg").value(), whole_trace());
}

TEST(Close, LeavesWhatItCannotSeal) {
  TemporaryFolder folder;
  const std::filesystem::path partial = folder / "t.gfxg.partial";
  std::vector<std::byte> bytes = whole_trace();
  bytes.resize(bytes.size() - kFooterBytes - 1);
  const auto refused = [&](const Closing& closing, const char* why) {
    const auto report = close_recording(partial, folder / "t.gfxg", closing);
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(folder / "t.gfxg"));
  };
  refused({"died", 0}, "t.gfxg.partial");
  EXPECT_FALSE(std::filesystem::exists(partial)) << "of nothing";

  ASSERT_TRUE(write_file_atomic(partial, bytes));
  refused({"died", UINT64_MAX}, "left from an earlier recording");
  EXPECT_EQ(read_file(partial).value(), bytes);

  // Damage, not a cut: whole records may stand behind it.
  std::vector<std::byte> damaged = bytes;
  damaged[damaged.size() / 2] ^= std::byte{1};
  ASSERT_TRUE(write_file_atomic(partial, damaged));
  refused({"died", 0}, "at byte");
  EXPECT_EQ(read_file(partial).value(), damaged);

  std::filesystem::remove(partial);
  const std::unique_ptr<Writer> writer = Writer::create(folder / "t.gfxg").value();
  refused({"died", 0}, "still writing");
}

TEST(Close, AFullDiskKeepsTheWholeRecords) {
  TemporaryFolder folder;
  const std::filesystem::path partial = folder / "t.gfxg.partial";
  std::vector<std::byte> bytes = whole_trace();
  bytes.resize(bytes.size() - kFooterBytes - 1);
  ASSERT_TRUE(write_file_atomic(partial, bytes));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = bytes.size() - 8;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto full = close_recording(partial, folder / "t.gfxg", {"died", 0});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr(partial.string()));
  EXPECT_FALSE(std::filesystem::exists(folder / "t.gfxg"));
  const auto later = close_recording(partial, folder / "t.gfxg", {"died", 0});
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->lost_bytes, 0u);
  EXPECT_EQ(later->statistics.events, Trace::from_bytes(whole_trace()).value()->events().size());
}

}  // namespace
}  // namespace gfxgraph::format

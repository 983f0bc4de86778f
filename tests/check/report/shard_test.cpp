// Parts of a check, and what merging them says of each way in which they can be wrong.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "check/shard/merge.h"

namespace gfxgraph::check {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Json = nlohmann::ordered_json;

// Every member has a value of its own, so that two that are exchanged or lost show.
Report full_report() {
  Finding finding;
  finding.finding_class = FindingClass::kE6;
  finding.severity = Severity::kWarning;
  finding.kernel = "name with \xff and \xc3\xa9";
  finding.code_address = 1;
  finding.kernel_offset = 2;
  finding.mnemonic = "global_load_dword";
  finding.source = codeobj::SourceLocation{"a.hip", 12, 7, "f(int)"};
  finding.events = 3;
  finding.lanes_total = UINT64_MAX;
  finding.launches = 4;
  finding.in_launches = {{5, 6}, {7, UINT64_MAX}};
  finding.places = {{8, 9, "s_load_dword", 10}};
  finding.launch = 11;
  finding.event_sequence = 12;
  finding.workgroup = {13, 14, 15};
  finding.wave = 16;
  finding.lanes = 17;
  finding.exec = 18;
  finding.address = 19;
  finding.access_bytes = 20;
  finding.write = true;
  finding.address_class = "unmapped";
  finding.nearest = NearestBuffer{21, "buffer #21", 22, 23, 24, -25, true};
  finding.written_by = 26;
  finding.detail = "several\nlines";
  finding.suppressed_by = "a reason";
  Report report;
  report.tools = {false, true, false, true, false, true, false, true};
  report.findings = {finding, Finding{}};
  report.calls = {{"launched+0x1", "allocated+0x2", 27, 28}, {}};
  report.places = {{{{"b.hip", 29, 30, "g"}, {"", 0, 0, ""}},
                    {{31, "s_endpgm", CodeLine::Role::kFinding, true},
                     {32, "s_nop 0", CodeLine::Role::kAddress, false}}},
                   {}};
  report.failed = {{33, 34, "k", "why\nlines", true, FindingClass::kF1}, {35, 36, "k", "w", false}};
  report.failed_launches = 37;
  report.stopped = Stop{"the limit", 38, 39};
  report.kernels = {{"k", 40, 41, 42, 43}};
  report.perf.made = true;
  report.perf.lines = {{"k", "c.hip", 44, 45, true, 46, 47, 48, 49, 50}};
  report.perf.kernels = {{"k", 51, 64, 52, 53, 54, 55, 56, "LDS"}};
  report.notes = {"a note"};
  report.emulator_notes = {"of the\nemulator"};
  report.launches = 57;
  report.wave_instructions = 58;
  report.empty_exec_scalar_loads = 59;
  report.buffers_compared = 60;
  report.buffers_equal = 61;
  return report;
}

// Of the run of these tests: five traces, of which the third cannot be read.
Part part_of(uint32_t number, uint32_t of = 3) {
  Part part;
  part.version = "1";
  part.shard = {number, of};
  part.names = {"a", "b", "c", "d", "e"};
  part.options = {{"--tool", "lanes"}, {"--strict", "false"}};
  part.suppressions = {"s:1", "s:2"};
  part.used = {number == 2, false};
  for (size_t place = 0; place < part.names.size(); ++place) {
    if (!part.shard.has(place)) continue;
    PartTrace one;
    one.place = place;
    one.trace.name = part.names[place];
    one.exit_code = static_cast<uint32_t>(place);
    if (place == 2) {
      one.trace.error = "open c";
    } else {
      one.trace.report = full_report();
      one.trace.report->launches += place;
    }
    part.traces.push_back(std::move(one));
  }
  return part;
}

PartFile file_of(const std::string& path, const Part& part) {
  return {path, decode(Json::parse(encode(part)), "1")};
}

std::vector<TraceReport> reports_of(const Part& part) {
  std::vector<TraceReport> reports;
  for (const PartTrace& one : part.traces) reports.push_back(one.trace);
  return reports;
}

TEST(Shard, EachTraceIsOneShards) {
  for (uint32_t of = 1; of < 20; ++of) {
    for (size_t place = 0; place < 50; ++place) {
      int owners = 0;
      for (uint32_t number = 1; number <= of; ++number) owners += Shard{number, of}.has(place);
      EXPECT_EQ(owners, 1);
    }
  }
}

TEST(Shard, IsReadStrictly) {
  const Result<Shard> shard = parse_shard("3/8");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->number, 3U);
  EXPECT_EQ(shard->of, 8U);
  for (const char* text : {"", "/", "3", "3/", "/8", "0/8", "9/8", "0/0", "-1/8", "3/8 ", " 3/8",
                           "3/8/1", "+3/8", "1/1000001", "1/99999999999", "a/b"})
    EXPECT_FALSE(parse_shard(text)) << text;
}

TEST(Part, LosesNothing) {
  const Part part = part_of(1);
  const std::string text = encode(part);
  const Result<Part> read = decode(Json::parse(text), "1");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(encode(*read), text);
  EXPECT_EQ(render_json(reports_of(*read)), render_json(reports_of(part)));
  EXPECT_EQ(render_sarif(reports_of(*read)), render_sarif(reports_of(part)));
  EXPECT_EQ(render_text(reports_of(*read), true), render_text(reports_of(part), true));
  EXPECT_EQ(read->traces[0].trace.report->findings[0].kernel, "name with \xff and \xc3\xa9");
}

TEST(Part, RefusesWhatNoShardWrites) {
  const std::string text = encode(part_of(1));
  const auto error_of = [](const Json& json, const char* version = "1") {
    const Result<Part> part = decode(json, version);
    return part ? Status::kOk : part.error().status;
  };
  EXPECT_EQ(error_of(Json::parse(text)), Status::kOk);
  EXPECT_EQ(error_of(Json::parse(text), "2"), Status::kVersion);
  for (const Json& other : {Json(), Json(1), Json::object(), Json::array(),
                            Json{{"schema", "gfxgraph-check/1"}}, Json{{"schema", 1}}})
    EXPECT_EQ(error_of(other), Status::kCorrupt) << other;
  // A changed byte, under the digest of what was written.
  Json changed = Json::parse(text);
  changed["body"][1][0] = "b";
  EXPECT_EQ(error_of(changed), Status::kCorrupt);
  // A right digest of what is impossible.
  const auto impossible = [&](const auto& change) {
    Part part = part_of(1);
    change(part);
    return error_of(Json::parse(encode(part)));
  };
  EXPECT_EQ(impossible([](Part& part) { part.traces.pop_back(); }), Status::kCorrupt);
  EXPECT_EQ(impossible([](Part& part) { part.traces[0].place = 1; }), Status::kCorrupt);
  EXPECT_EQ(impossible([](Part& part) { part.traces[0].trace.name = "b"; }), Status::kCorrupt);
  EXPECT_EQ(impossible([](Part& part) { part.shard.number = 4; }), Status::kCorrupt);
  EXPECT_EQ(impossible([](Part& part) { part.used.pop_back(); }), Status::kCorrupt);
  EXPECT_EQ(impossible([](Part& part) {
              part.traces[0].trace.report->findings[0].finding_class =
                  static_cast<FindingClass>(kFindingClasses);
            }),
            Status::kCorrupt);
  EXPECT_EQ(
      impossible([](Part& part) { part.traces[0].trace.report->findings[0].nearest.reset(); }),
      Status::kCorrupt);
}

// Every value of a part, replaced by one of another type or size: an error, never a crash.
TEST(Part, SurvivesAnyValue) {
  const std::string text = encode(part_of(1));
  const Json whole = Json::parse(text);
  const Json flat = whole.flatten();
  size_t refused = 0;
  for (const auto& [pointer, value] : flat.items()) {
    for (const Json& other : {Json(), Json(-1), Json(UINT64_MAX), Json(1.5), Json("\xc4\x80"),
                              Json(true), Json::array(), Json::object()}) {
      Json changed = whole;
      changed[Json::json_pointer(pointer)] = other;
      // With its digest, which encode() makes only of a part.
      Part ignored;
      if (!decode(changed, "1")) ++refused;
    }
  }
  EXPECT_GT(refused, flat.size());
}

TEST(Merge, HasTheOrderOfTheListInAnyOrderOfFiles) {
  std::vector<uint32_t> numbers = {1, 2, 3};
  std::string first;
  do {
    std::vector<PartFile> files;
    for (const uint32_t number : numbers)
      files.push_back(file_of("part" + std::to_string(number), part_of(number)));
    const MergedParts merged = merge(std::move(files));
    ASSERT_THAT(merged.problems, IsEmpty());
    const std::vector<TraceReport> reports = reports_of(merged.run);
    const std::string json = render_json(reports);
    if (first.empty()) {
      first = json;
      EXPECT_EQ(json, render_json(reports_of(part_of(1, 1))));
      EXPECT_THAT(merged.run.used, ElementsAre(true, false));
      EXPECT_EQ(merged.run.traces[4].exit_code, 4U);
    }
    EXPECT_EQ(json, first);
  } while (std::ranges::next_permutation(numbers).found);
}

TEST(Merge, NamesMissingShards) {
  const MergedParts merged = merge({file_of("a", part_of(2, 9)), file_of("b", part_of(5, 9))});
  ASSERT_THAT(merged.problems, SizeIs(1));
  EXPECT_EQ(merged.problems[0].status, Status::kIncomplete);
  EXPECT_EQ(merged.problems[0].message,
            "shards 1,3-4,6-9 of 9 are missing, with 3 of 5 traces; run them again: gfxgraph check "
            "--shard 1/9 and so on");
}

TEST(Merge, TakesARepeatedShardOnceUnlessItDiffers) {
  const MergedParts same = merge(
      {file_of("a", part_of(1, 2)), file_of("b", part_of(2, 2)), file_of("c", part_of(1, 2))});
  EXPECT_THAT(same.problems, IsEmpty());
  EXPECT_THAT(same.repeated, ElementsAre("c: the same as a"));
  EXPECT_THAT(same.run.traces, SizeIs(5));
  Part other = part_of(1, 2);
  ++other.traces[0].trace.report->launches;
  const MergedParts twice =
      merge({file_of("a", part_of(1, 2)), file_of("b", part_of(2, 2)), file_of("c", other)});
  ASSERT_THAT(twice.problems, SizeIs(1));
  EXPECT_EQ(twice.problems[0].status, Status::kIncomplete);
  EXPECT_THAT(twice.problems[0].message, HasSubstr("a and c are both shard 1 of 2"));
}

TEST(Merge, RefusesPartsOfDifferentRuns) {
  const auto problem = [](const auto& change) {
    Part other = part_of(2);
    change(other);
    const MergedParts merged =
        merge({file_of("a", part_of(1)), file_of("b", other), file_of("c", part_of(3))});
    if (merged.problems.size() != 1 || merged.problems[0].status != Status::kInvalidArgument)
      return std::string();
    return merged.problems[0].message;
  };
  const std::string lead = "a and b are parts of different runs: ";
  EXPECT_EQ(problem([](Part& part) { part.options[0].value = "memcheck"; }),
            lead + "--tool is 'lanes' and 'memcheck'");
  EXPECT_EQ(problem([](Part& part) { part.names[3] = "D"; }), lead + "trace 4 is d and D");
  EXPECT_EQ(problem([](Part& part) { part = part_of(2, 4); }), lead + "3 shards and 4 shards");
  EXPECT_EQ(problem([](Part& part) {
              part.names.pop_back();
              part.traces.pop_back();
            }),
            lead + "5 traces and 4 traces");
  EXPECT_EQ(problem([](Part& part) { part.suppressions[0] = "t:1"; }), lead + "other options");
}

TEST(Merge, NamesFilesThatAreNoParts) {
  const MergedParts merged = merge({file_of("b", part_of(1, 2)), {"a", decode(Json("text"), "1")}});
  ASSERT_THAT(merged.problems, SizeIs(2));
  EXPECT_THAT(merged.problems[0].message, HasSubstr("a: not a whole part"));
  EXPECT_THAT(merged.problems[1].message, HasSubstr("shard 2 of 2 is missing, with 2 of 5 traces"));
}

}  // namespace
}  // namespace gfxgraph::check

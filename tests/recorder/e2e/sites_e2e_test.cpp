// Where calls of recorded programs stand, and the names of memory that are made of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "format/read/reader.h"
#include "format/site_name.h"
#include "tests/recorder/e2e/recorded_program.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;
using Names = std::vector<std::string>;

// The line of the source that holds `text`.
unsigned line_of(const std::string& text, const char* source = SITES_SOURCE) {
  std::ifstream file(source);
  std::string line;
  for (unsigned number = 1; std::getline(file, line); ++number) {
    if (line.find(text) != std::string::npos) return number;
  }
  return 0;
}

class SitesTest : public RecordedProgramTest {
 protected:
  ProcessResult record(const std::string& program, const std::string& options = "") {
    const ProcessResult result =
        RecordedProgramTest::record(std::string(PROGRAMS) + "/" + program, options);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    return result;
  }
  // Of the allocations, in order.
  Names names() const {
    Names found;
    const auto trace = format::Trace::open(path());
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().message);
    if (!trace) return found;
    for (const format::Event& event : (*trace)->events()) {
      const auto* begin = std::get_if<format::AllocationBegin>(&event.action);
      if (begin != nullptr) found.push_back(format::made_name((*trace)->sites(), *begin));
    }
    return found;
  }
  ProcessResult info(const std::string& options) {
    return run(std::string(INFO_TOOL) + " info " + path() + " " + options, folder_.path());
  }
  // The sites of the first line of this category.
  Json lint_sites(const std::string& category) {
    const Json all = Json::parse(info("--lint --json").out);
    for (const Json& line : all["lint"][0]["lines"]) {
      if (line["category"] == category) return line["sites"];
    }
    return {};
  }
};

TEST_F(SitesTest, NameMemoryByTheCallThatMadeIt) {
  record("program_sites");
  const Names first = names();
  ASSERT_THAT(first, SizeIs(3));
  EXPECT_THAT(first[0], MatchesRegex("load\\(unsigned long\\)\\+0x[0-9a-f]+#0"));
  EXPECT_EQ(first[1], first[0].substr(0, first[0].size() - 1) + "1");
  EXPECT_EQ(first[2], first[0].substr(0, first[0].size() - 1) + "2");
  record("program_sites");
  EXPECT_EQ(names(), first) << "addresses differ from run to run, names do not";
  // The second allocation is not used by the range; those outside of it count.
  record("program_sites", "--range decode#1");
  EXPECT_THAT(names(), ElementsAre(first[0], first[2]));
  const std::string buffers = info("--buffers").out;
  EXPECT_THAT(buffers, HasSubstr(first[2] + ", add argument"));
}

TEST_F(SitesTest, SameNamesWhereTheProgramStandsInOnePlace) {
  record("program_sites_fixed");
  const Names fixed = names();
  ASSERT_THAT(fixed, SizeIs(3));
  EXPECT_THAT(fixed[0], MatchesRegex("load\\(unsigned long\\)\\+0x[0-9a-f]+#0"));
}

TEST_F(SitesTest, ALibraryGoesByItsName) {
  record("program_sites " + std::string(PROGRAMS) + "/libsites_library.so");
  const Names found = names();
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_THAT(found[2], MatchesRegex("libsites_library\\.so:library_load\\+0x[0-9a-f]+#0"));
}

TEST_F(SitesTest, WithoutSymbolsByTheModule) {
  record("program_sites_stripped");
  const Names found = names();
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_THAT(found[0], MatchesRegex("program_sites_stripped\\+0x[0-9a-f]+#0"));
  const Json sites = lint_sites("synchronization");
  ASSERT_THAT(sites, SizeIs(1));
  EXPECT_THAT(std::string(sites[0]["site"]), MatchesRegex("program_sites_stripped\\+0x[0-9a-f]+"));
  EXPECT_EQ(sites[0]["file"], "");
}

TEST_F(SitesTest, LintNamesTheLine) {
  record("program_sites");
  const Json waits = lint_sites("synchronization");
  ASSERT_THAT(waits, SizeIs(1));
  EXPECT_EQ(waits[0]["count"], 3);
  EXPECT_THAT(std::string(waits[0]["site"]), HasSubstr("decode(int*, int*, "));
  EXPECT_THAT(std::string(waits[0]["file"]), HasSubstr("program_sites.hip"));
  EXPECT_EQ(waits[0]["line"], line_of("hipStreamSynchronize(stream)"));
  const std::string text = info("--lint").out;
  EXPECT_THAT(text, HasSubstr("(program_sites.hip:" +
                              std::to_string(line_of("hipStreamSynchronize(stream)")) + ")"));
}

TEST_F(SitesTest, ARecordingEndsWithWhatStandsInTheWayOfAGraph) {
  const std::string said = record("program_sites").err;
  EXPECT_THAT(said,
              HasSubstr("graph readiness of decode: 3 x hipStreamSynchronize at decode(int*"));
  EXPECT_THAT(said, HasSubstr(path() + " --lint"));
}

TEST_F(SitesTest, AnotherProgramOfTheSameNameHasNoSaying) {
  const std::string copy = (folder_.path() / "program").string();
  std::filesystem::copy_file(std::string(PROGRAMS) + "/program_sites", copy);
  const ProcessResult result = run(
      std::string(RECORD_TOOL) + " --device emulated -o " + path() + " -- " + copy, folder_.path());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_NE(lint_sites("synchronization")[0]["file"], "");
  std::filesystem::copy_file(std::string(PROGRAMS) + "/program_sites_fixed", copy,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(lint_sites("synchronization")[0]["file"], "");
}

// Whoever calls through ctypes has libffi's return address.
TEST_F(SitesTest, PythonGoesByItsLines) {
  const ProcessResult result =
      RecordedProgramTest::record(std::string(SITES_PYTHON) + " " + PYTHON_SOURCE);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const auto line = [](const char* what) {
    return "program_sites.py:" +
           std::to_string(line_of(std::string("# here: ") + what, PYTHON_SOURCE));
  };
  const auto trace = open();
  ASSERT_TRUE(trace);
  const std::string made = line("allocate");
  EXPECT_THAT(names(), ElementsAre(made + "#0", made + "#1"));
  const auto called_at = [&](format::SiteId site) {
    return site == 0 || site > trace->sites().size() ? "none"
                                                     : format::site_name(trace->sites()[site - 1]);
  };
  std::map<std::string, size_t> waits;
  std::string freed;
  for (const format::Event& event : trace->events()) {
    if (std::holds_alternative<format::Synchronize>(event.action)) ++waits[called_at(event.site)];
    const auto* end = std::get_if<format::AllocationEnd>(&event.action);
    if (end != nullptr && end->freed) freed = called_at(event.site);
  }
  EXPECT_EQ(freed, line("free"));
  EXPECT_EQ(waits[line("step")], 3u);
  EXPECT_EQ(waits[line("thread")], 1u);
  EXPECT_EQ(waits[line("callback")], 1u);
  EXPECT_EQ(waits[line("with the interpreter's lock")], 1u);
  for (int i = 0; i < 64; ++i) {
    const std::string place = "made_" + std::to_string(i % 8) + ".py:" + std::to_string(i + 1);
    EXPECT_EQ(waits[place], 1u) << place;
  }
  for (const format::Site& site : trace->sites()) {
    EXPECT_THAT(site.module, Not(HasSubstr("libffi")));
    if (format::site_name(site) == line("step")) {
      EXPECT_EQ(site.symbol, "Model.step");
      EXPECT_EQ(site.module, PYTHON_SOURCE);
    }
  }
  EXPECT_THAT(info("--lint").out, HasSubstr("at Model.step (" + line("step") + ")"));
}

// A hook's body may be in a function of its own: what counts is where the program called.
TEST_F(SitesTest, NoCallIsMadeByTheRecorder) {
  const std::string module = " " + std::string(PROGRAMS) + "/module.co";
  for (const std::string& program :
       {std::string("program_graphs nodes"), std::string("program_graphs capture"),
        "program_calls per_thread" + module, "program_calls copies" + module}) {
    record(program);
    const auto trace = open();
    ASSERT_TRUE(trace) << program;
    ASSERT_THAT(trace->sites(), Not(SizeIs(0))) << program;
    for (const format::Site& site : trace->sites()) {
      EXPECT_THAT(site.module, Not(HasSubstr("libgfxgraph-recorder")))
          << program << ": " << site.symbol;
    }
  }
}

TEST_F(SitesTest, RedactedTracesHoldNoPaths) {
  record("program_sites", "--redact");
  const auto trace = format::Trace::open(path());
  ASSERT_TRUE(trace);
  ASSERT_THAT((*trace)->sites(), Not(SizeIs(0)));
  for (const format::Site& site : (*trace)->sites()) {
    EXPECT_THAT(site.module, Not(HasSubstr("/")));
  }
}

}  // namespace
}  // namespace gfxgraph::recorder

// What passes between gfxgraph-record and the preloaded library as text: options and the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "recorder/contract/options.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;

TEST(Options, SurviveTheEnvironment) {
  Options options;
  options.output = "/x/t.gfxg";
  options.post = PostState::kHash;
  options.checkpoints = true;
  options.compression_level = 0;
  options.redact = true;
  options.emulated = true;
  for (const std::string& variable : options_to_environment(options)) {
    const size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
  }
  const Options read = options_from_environment();
  EXPECT_EQ(read.output, options.output);
  EXPECT_EQ(read.post, options.post);
  EXPECT_TRUE(read.checkpoints && read.redact && read.emulated);
  EXPECT_EQ(read.compression_level, 0);
}

TEST(ReportText, SurvivesOddTexts) {
  Report report;
  report.trace = "a\nb\tc";
  report.ambiguous = {"one", "two"};
  report.ambiguous_kernels = {{"fill\tx", {"argument 1 'a'", "argument 2 'b'"}}, {"scale", {}}};
  report.launches = 7;
  const Report read = parse_report(write_report(report));
  EXPECT_EQ(read.trace, "a b c");
  EXPECT_THAT(read.ambiguous, ElementsAre("one", "two"));
  ASSERT_EQ(read.ambiguous_kernels.size(), 2u);
  EXPECT_EQ(read.ambiguous_kernels[0].name, "fill x");
  EXPECT_THAT(read.ambiguous_kernels[0].arguments, ElementsAre("argument 1 'a'", "argument 2 'b'"));
  EXPECT_EQ(read.ambiguous_kernels[1].name, "scale");
  EXPECT_EQ(read.launches, 7u);
  EXPECT_EQ(parse_report("no tab here\n\t\nlaunches\tx").launches, 0u);
}

}  // namespace
}  // namespace gfxgraph::recorder

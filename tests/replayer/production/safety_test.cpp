// Levels of safety of pools: what is compared, and what strict mode refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gfxgraph/safety.h"
#include "production/pool_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SafetyTest : public ::testing::Test, public PoolOnFake {
 protected:
  std::string text_of(gfxgraph_status_t (*give)(gfxgraph_pool_t, char*, uint64_t, uint64_t*)) {
    std::string text(20000, '\0');
    uint64_t size = 0;
    EXPECT_EQ(give(pool, text.data(), text.size(), &size), GFXGRAPH_OK) << gfxgraph_last_error();
    text.resize(size);
    return text;
  }
  std::string fingerprint() { return text_of(gfxgraph_pool_fingerprint); }
  std::string report() { return text_of(gfxgraph_pool_report); }
  void create_at(uint32_t safety, const char* saved = nullptr) {
    destroy();
    options.safety = safety;
    options.fingerprint = saved;
    ASSERT_EQ(create(), GFXGRAPH_OK) << gfxgraph_last_error();
  }
  // Refused by name, and the function is not called.
  void expect_refused(const char* word) {
    const int before = calls;
    EXPECT_EQ(run({1, 2}), GFXGRAPH_MISMATCH) << word;
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(word));
    EXPECT_EQ(calls, before);
  }
};

TEST_F(SafetyTest, WithoutALevelNothingIsHashed) {
  create_at(GFXGRAPH_SAFETY_OFF);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  EXPECT_THAT(report(), HasSubstr("\"sequence\": null, \"code\": null"));
  EXPECT_THAT(fingerprint(), Not(HasSubstr("bucket")));
}

TEST_F(SafetyTest, ACaptureKeepsItsIdentity) {
  create_at(GFXGRAPH_SAFETY_IDENTITY);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  const std::string first = fingerprint();
  EXPECT_THAT(first, HasSubstr("gfxgraph-fingerprint/1\ndevice "));
  EXPECT_THAT(first, HasSubstr("\nruntime 50221153\n"));
  EXPECT_THAT(first, HasSubstr("\nbucket 8 0 "));
  ASSERT_EQ(gfxgraph_pool_recapture(pool, 0), GFXGRAPH_OK);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  EXPECT_EQ(fingerprint(), first);
  EXPECT_THAT(report(), HasSubstr("\"identity_changes\": 0"));
  EXPECT_THAT(report(), HasSubstr("\"safety\": \"identity\""));
  EXPECT_THAT(report(), HasSubstr("\"clean\": true"));
  EXPECT_THAT(report(), HasSubstr("\"capture\": 2"));
}

// The work that a later capture gets has another number of rows in its arguments.
TEST_F(SafetyTest, AnotherCaptureIsSeen) {
  TestTrace other((add_test_kernels(fake), fake));
  other.keep_memory = true;
  const auto from = other.allocate(kRows * 4), to = other.allocate(kRows * 4);
  other.range_begins("step", 1, 0);
  other.launch("add", Arguments()
                          .value(other.address(from))
                          .value(other.address(from))
                          .value(other.address(to))
                          .value(static_cast<uint32_t>(kRows - 1)));
  other.range_ends("step", 1);
  other.finish();
  for (const uint32_t level : {GFXGRAPH_SAFETY_IDENTITY, GFXGRAPH_SAFETY_STRICT}) {
    answers.path = trace.path();
    create_at(level);
    expect_run({1}, GFXGRAPH_WAY_CAPTURE);
    ASSERT_EQ(gfxgraph_pool_recapture(pool, 0), GFXGRAPH_OK);
    answers.path = other.path();
    if (level == GFXGRAPH_SAFETY_STRICT) {
      EXPECT_EQ(run({1}), GFXGRAPH_MISMATCH);
      EXPECT_THAT(gfxgraph_last_error(), HasSubstr("before"));
      expect_refused("strict: bucket 8 cannot go by graph");
    } else {
      expect_run({1}, GFXGRAPH_WAY_CAPTURE);
    }
    EXPECT_THAT(report(), HasSubstr("\"identity_changes\": 1"));
    EXPECT_THAT(report(), HasSubstr("\"clean\": false"));
  }
}

TEST_F(SafetyTest, ASavedFingerprintIsCompared) {
  create_at(GFXGRAPH_SAFETY_FINGERPRINT);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  const std::string saved = fingerprint();
  create_at(GFXGRAPH_SAFETY_FINGERPRINT, saved.c_str());
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_run({2}, GFXGRAPH_WAY_GRAPH);
  EXPECT_THAT(report(), HasSubstr("\"fingerprint\": \"compared\""));
  // Of other code: the bucket falls, by name.
  std::string other = saved;
  other[other.find("bucket 8 0 ") + 11] ^= 1;
  create_at(GFXGRAPH_SAFETY_FINGERPRINT, other.c_str());
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_run({2}, GFXGRAPH_WAY_WORK, GFXGRAPH_FALL_FINGERPRINT);
  EXPECT_THAT(reason(GFXGRAPH_WAY_GRAPH), HasSubstr("and the fingerprint has "));
  create_at(GFXGRAPH_SAFETY_STRICT, other.c_str());
  EXPECT_EQ(run({1}), GFXGRAPH_MISMATCH);
  expect_refused("the fingerprint has ");
  // Of another runtime, which is seen before anything is captured.
  destroy();
  other = saved;
  other.replace(other.find("50221153"), 8, "60443483");
  options.fingerprint = other.c_str();
  EXPECT_EQ(create(), GFXGRAPH_MISMATCH);
  EXPECT_THAT(gfxgraph_last_error(),
              HasSubstr("the runtime is 50221153, and that of the fingerprint 60443483"));
  EXPECT_EQ(pool, nullptr);
  // A fingerprint without this bucket is enough, but not for strict.
  other = saved.substr(0, saved.find("bucket"));
  create_at(GFXGRAPH_SAFETY_FINGERPRINT, other.c_str());
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_run({1}, GFXGRAPH_WAY_GRAPH);
  create_at(GFXGRAPH_SAFETY_STRICT, other.c_str());
  EXPECT_EQ(run({1}), GFXGRAPH_MISMATCH);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("none of this bucket"));
}

TEST_F(SafetyTest, AShadowValidatesEachRun) {
  create_at(GFXGRAPH_SAFETY_SHADOW);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_run({2}, GFXGRAPH_WAY_GRAPH);
  EXPECT_EQ(result.validation, static_cast<uint32_t>(GFXGRAPH_VALIDATION_EQUAL));
  options.validate_every = 3;
  create_at(GFXGRAPH_SAFETY_SHADOW);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run({5}), GFXGRAPH_OK);
  EXPECT_EQ(result.validation, static_cast<uint32_t>(GFXGRAPH_VALIDATION_EQUAL));
  EXPECT_EQ(info().validations[GFXGRAPH_VALIDATION_EQUAL], 1u);
}

TEST_F(SafetyTest, StrictRefusesWhatWouldFall) {
  create_at(GFXGRAPH_SAFETY_STRICT);
  answers.fails = "begin";
  expect_refused("begin fails");
  expect_refused("begin fails");
  EXPECT_EQ(gfxgraph_pool_warm(pool, nullptr), GFXGRAPH_MISMATCH);
  answers.fails.clear();
  ASSERT_EQ(gfxgraph_pool_recapture(pool, 0), GFXGRAPH_OK);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_run({2}, GFXGRAPH_WAY_GRAPH);
  EXPECT_EQ(result.validation, static_cast<uint32_t>(GFXGRAPH_VALIDATION_EQUAL));
  live->free(in);
  expect_refused("cannot go by graph (run)");
  EXPECT_EQ(info().failures, 4u);
  EXPECT_THAT(info().falls, ::testing::Each(0u));
}

TEST_F(SafetyTest, StrictRefusesWhatCannotBeCompared) {
  options.max_device_bytes = 64;  // no room for a second set of buffers
  create_at(GFXGRAPH_SAFETY_STRICT);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  expect_refused("cannot be compared");
  EXPECT_EQ(info().validations[GFXGRAPH_VALIDATION_UNCOMPARED], 2u);
}

TEST_F(SafetyTest, StrictRefusesWhatDiffers) {
  create_at(GFXGRAPH_SAFETY_STRICT);
  expect_run({1}, GFXGRAPH_WAY_CAPTURE);
  fake.kernels["program:add"] = [](const FakeLaunch&) {};  // the step does nothing now
  EXPECT_EQ(run({7}), GFXGRAPH_MISMATCH);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("the step of bucket 8 and the function differ"));
  EXPECT_EQ(result.validation, static_cast<uint32_t>(GFXGRAPH_VALIDATION_DIFFERENT));
  EXPECT_EQ(got[0], 14u) << "the function's";
  EXPECT_EQ(info().validations[GFXGRAPH_VALIDATION_DIFFERENT], 1u);
  EXPECT_THAT(report(), HasSubstr("\"clean\": false"));
}

TEST_F(SafetyTest, ADigestIsOfTheOutputsInTheirOrder) {
  options.digest = 1;
  const auto digest_of = [&](const std::vector<Rows>& runs) {
    create_at(GFXGRAPH_SAFETY_OFF);
    for (const Rows& rows : runs) EXPECT_EQ(run(rows), GFXGRAPH_OK);
    const std::string text = report();
    EXPECT_THAT(text, HasSubstr("\"digested_runs\": " + std::to_string(runs.size())));
    const size_t at = text.find("\"digest\": ");
    return text.substr(at, 28);
  };
  const std::string one = digest_of({{1, 2}, {3}});
  EXPECT_THAT(one, Not(HasSubstr("null")));
  EXPECT_EQ(digest_of({{1, 2}, {3}}), one);
  EXPECT_NE(digest_of({{3}, {1, 2}}), one);
  EXPECT_NE(digest_of({{1, 2}, {4}}), one);
}

TEST_F(SafetyTest, WrongOptionsAreRefusedByName) {
  const auto right = options;
  const auto refused = [&](const char* word) {
    EXPECT_EQ(create(), GFXGRAPH_INVALID_ARGUMENT) << word;
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(word));
    options = right;
  };
  options.safety = 5;
  refused("unknown safety");
  options.digest = 2;
  refused("digest");
  options.fingerprint = "gfxgraph-fingerprint/1\n";
  refused("without GFXGRAPH_SAFETY_FINGERPRINT");
  options.safety = GFXGRAPH_SAFETY_STRICT;
  options.fingerprint = "gfxgraph-fingerprint/2\n";
  refused("does not begin with");
  options.safety = GFXGRAPH_SAFETY_STRICT;
  options.beyond = GFXGRAPH_BEYOND_WORK;
  refused("GFXGRAPH_BEYOND_WORK");
  options.safety = GFXGRAPH_SAFETY_STRICT;
  options.first_way = GFXGRAPH_WAY_WORK;
  refused("GFXGRAPH_WAY_WORK");
}

TEST_F(SafetyTest, NothingLeaksWhereAnythingFails) {
  options.safety = GFXGRAPH_SAFETY_STRICT;
  options.digest = 1;
  for (int n = 1;; ++n) {
    const size_t before = fake.alive();
    fake.fail_call(n);
    gfxgraph_status_t status = create();
    if (status == GFXGRAPH_OK) status = run({1, 2});
    if (status == GFXGRAPH_OK) status = run({3});
    const bool failed = std::exchange(fake.failed, false);
    fake.fail_call(0);
    if (status == GFXGRAPH_OK) {
      EXPECT_EQ(got[0], 6u) << "call " << n;
    }
    destroy();
    EXPECT_EQ(fake.alive(), before) << "call " << n;
    if (!failed) break;
    ASSERT_LT(n, 1000);
  }
}

}  // namespace
}  // namespace gfxgraph::replayer::testing

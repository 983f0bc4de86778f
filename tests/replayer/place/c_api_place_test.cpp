// Captured traces through the C ABI: steps in place and apart, on the fake runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "gfxgraph/gfxgraph.hpp"
#include "place/live_program.h"
#include "replayer/capi/c_api_internal.h"
#include "step_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Words = std::vector<uint32_t>;

class CApiPlace : public ::testing::TestWithParam<gfxgraph_mode_t> {
 protected:
  CApiPlace() : recorded(fake, 2, true, false, true) {
    const auto library = fake.library();
    library->update_trials().assume(fake.arch, {true, true, true}, false);  // they load code
    use_hip_library_for_tests(library);
    live.places.at(recorded.flag).host = live.places.at(recorded.flag).device;
    trace = open();
  }
  ~CApiPlace() override {
    destroy();
    use_hip_library_for_tests(nullptr);
  }
  // As gfxgraph_capture_end does.
  gfxgraph_trace_t open() {
    const auto file = File::open_read(recorded.trace.path());
    EXPECT_TRUE(file);
    const auto opened = open_captured_trace(*file, live.objects());
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    return opened ? *opened : nullptr;
  }
  void create(uint32_t place = GFXGRAPH_PLACE_DEFAULT) {
    gfxgraph_session_options_t options = gfxgraph_session_options_default();
    EXPECT_EQ(options.place, static_cast<uint32_t>(GFXGRAPH_PLACE_DEFAULT));
    options.place = place;
    ASSERT_EQ(gfxgraph_session_create(trace, &options, &session), GFXGRAPH_OK)
        << gfxgraph_last_error();
  }
  gfxgraph_status_t make_step(gfxgraph_range_t range = 1) {
    gfxgraph_step_options_t options = gfxgraph_step_options_default();
    options.mode = GetParam();
    options.border = [](void*, const gfxgraph_border_t*) { return 0; };
    return gfxgraph_step_create(session, range, &options, &step);
  }
  gfxgraph_status_t run() {
    const gfxgraph_status_t status = gfxgraph_step_run(step, nullptr);
    return status == GFXGRAPH_OK ? gfxgraph_step_wait(step) : status;
  }
  void destroy() {
    gfxgraph_step_destroy(std::exchange(step, nullptr));
    gfxgraph_session_destroy(std::exchange(session, nullptr));
    gfxgraph_trace_destroy(std::exchange(trace, nullptr));
  }
  uint32_t* words(format::AllocationId id) { return recorded.trace.words(id); }

  FakeHip fake;
  StepTrace recorded;
  LiveProgram live{fake, recorded.trace, LiveProgram::By::kFunctions};
  gfxgraph_trace_t trace = nullptr;
  gfxgraph_session_t session = nullptr;
  gfxgraph_step_t step = nullptr;
};

TEST_P(CApiPlace, WorksInPlaceByDefault) {
  create();
  gfxgraph_session_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(gfxgraph_session_info(session, &info), GFXGRAPH_OK);
  EXPECT_EQ(info.device_bytes, 0u);
  const Words before(words(recorded.state), words(recorded.state) + 4);
  ASSERT_EQ(make_step(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(Words(words(recorded.state), words(recorded.state) + 4), before) << "it was restored";
  for (uint32_t i = 0; i < 4; ++i) words(recorded.state)[i] = 1000 * i;
  const Words input = {1, 2, 3, 4};
  ASSERT_EQ(gfxgraph_step_set_input(step, 0, input.data(), 16), GFXGRAPH_OK);
  const uint32_t flag = 70;
  ASSERT_EQ(gfxgraph_step_set_input(step, 1, &flag, 4), GFXGRAPH_OK);
  ASSERT_EQ(gfxgraph_step_advance(step, 3), GFXGRAPH_OK);
  ASSERT_EQ(run(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_THAT(Words(words(recorded.state), words(recorded.state) + 4),
              ElementsAre(1, 1002, 2003, 3004));
  EXPECT_EQ(words(recorded.history)[4], 14u);
  EXPECT_EQ(words(recorded.flag)[1], 141u);
  Words output(4);
  ASSERT_EQ(gfxgraph_step_read_output(step, 0, output.data(), 16), GFXGRAPH_OK);
  EXPECT_THAT(output, ElementsAre(1, 1002, 2003, 3004));
  EXPECT_EQ(live.launches, 3);

  void* address = nullptr;
  ASSERT_EQ(gfxgraph_session_address(session, recorded.state, &address), GFXGRAPH_OK);
  EXPECT_EQ(address, words(recorded.state));
  ASSERT_EQ(gfxgraph_session_write(session, recorded.state, 4, &flag, 4), GFXGRAPH_OK);
  EXPECT_EQ(words(recorded.state)[1], 70u);
  ASSERT_EQ(gfxgraph_session_read(session, recorded.state, 0, output.data(), 16), GFXGRAPH_OK);
  EXPECT_THAT(output, ElementsAre(1, 70, 2003, 3004));
}

TEST_P(CApiPlace, BindsOthersInPlaceOfTheProgramsBuffers) {
  create();
  Words first(4, 5), second(4, 6);
  ASSERT_EQ(gfxgraph_session_bind(session, recorded.state, first.data(), 16, 0), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_session_bind(session, recorded.state, first.data(), 16, GFXGRAPH_BIND_FILL),
            GFXGRAPH_UNSUPPORTED);
  ASSERT_EQ(make_step(), GFXGRAPH_OK) << gfxgraph_last_error();
  const Words zeros(4, 0), before(words(recorded.state), words(recorded.state) + 4);
  ASSERT_EQ(gfxgraph_step_set_input(step, 0, zeros.data(), 16), GFXGRAPH_OK);
  ASSERT_EQ(run(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_THAT(first, ElementsAre(5, 5, 5, 5));
  ASSERT_EQ(gfxgraph_session_bind(session, recorded.state, second.data(), 16, 0), GFXGRAPH_OK);
  const Words ones(4, 1);
  ASSERT_EQ(gfxgraph_step_set_input(step, 0, ones.data(), 16), GFXGRAPH_OK);
  ASSERT_EQ(run(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_THAT(first, ElementsAre(5, 5, 5, 5));
  EXPECT_THAT(second, ElementsAre(7, 7, 7, 7));
  EXPECT_EQ(Words(words(recorded.state), words(recorded.state) + 4), before);
}

TEST_P(CApiPlace, NamesWhatIsGone) {
  create();
  ASSERT_EQ(make_step(), GFXGRAPH_OK) << gfxgraph_last_error();
  ASSERT_EQ(run(), GFXGRAPH_OK) << gfxgraph_last_error();
  live.free(recorded.history);
  const Words before(words(recorded.state), words(recorded.state) + 4);
  EXPECT_EQ(run(), GFXGRAPH_NOT_FOUND);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("history"));
  EXPECT_EQ(Words(words(recorded.state), words(recorded.state) + 4), before);
  uint32_t word = 0;
  EXPECT_EQ(gfxgraph_session_read(session, recorded.history, 0, &word, 4), GFXGRAPH_NOT_FOUND);
  EXPECT_EQ(gfxgraph_session_write(session, recorded.history, 0, &word, 4), GFXGRAPH_NOT_FOUND);
  void* address = nullptr;
  EXPECT_EQ(gfxgraph_session_address(session, recorded.history, &address), GFXGRAPH_NOT_FOUND);
  gfxgraph_step_t other = nullptr;
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.border = [](void*, const gfxgraph_border_t*) { return 0; };
  EXPECT_EQ(gfxgraph_step_create(session, 0, &options, &other), GFXGRAPH_NOT_FOUND);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("history"));
  Words mine(64);
  ASSERT_EQ(gfxgraph_session_bind(session, recorded.history, mine.data(), 256, 0), GFXGRAPH_OK);
  EXPECT_EQ(run(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(mine[1], 11u);
}

TEST_P(CApiPlace, ComparesOnlyApart) {
  create();
  ASSERT_EQ(make_step(), GFXGRAPH_OK) << gfxgraph_last_error();
  gfxgraph_verification_t verification{};
  verification.struct_size = sizeof verification;
  EXPECT_EQ(gfxgraph_step_verify(step, &verification, nullptr, 0, 0), GFXGRAPH_UNSUPPORTED);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("GFXGRAPH_PLACE_APART"));
  EXPECT_EQ(gfxgraph_step_restore(step), GFXGRAPH_UNSUPPORTED);
  gfxgraph_step_destroy(std::exchange(step, nullptr));
  gfxgraph_session_destroy(std::exchange(session, nullptr));

  EXPECT_EQ(fake.modules_loaded, 0);
  create(GFXGRAPH_PLACE_APART);
  const Words before(words(recorded.state), words(recorded.state) + 4);
  live.launches = 0;
  ASSERT_EQ(make_step(), GFXGRAPH_OK) << gfxgraph_last_error();
  ASSERT_EQ(run(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(gfxgraph_step_verify(step, &verification, nullptr, 0, 0), GFXGRAPH_OK)
      << gfxgraph_last_error();
  EXPECT_GE(verification.identical, 4u);
  EXPECT_EQ(verification.different, 0u);
  EXPECT_EQ(live.launches, 0) << "it used the program's code";
  EXPECT_GE(fake.modules_loaded, 1);
  EXPECT_EQ(Words(words(recorded.state), words(recorded.state) + 4), before);
}

TEST_P(CApiPlace, TheObjectsAreReleasedAfterTheLastUser) {
  create();
  ASSERT_EQ(make_step(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_TRUE(trace->file.is_open());
  gfxgraph_trace_destroy(std::exchange(trace, nullptr));
  gfxgraph_session_destroy(std::exchange(session, nullptr));
  EXPECT_EQ(live.released, 0);
  EXPECT_EQ(run(), GFXGRAPH_OK) << gfxgraph_last_error();
  gfxgraph_step_destroy(std::exchange(step, nullptr));
  EXPECT_EQ(live.released, 1);
}

TEST_P(CApiPlace, TheObjectsAreReleasedWhereTheTraceCannotBeOpened) {
  const auto path = recorded.trace.path().string() + ".damaged";
  std::ofstream(path) << "no trace";
  const auto file = File::open_read(path);
  ASSERT_TRUE(file);
  EXPECT_FALSE(open_captured_trace(*file, live.objects()));
  EXPECT_EQ(live.released, 1);
  live::Objects newer = live.objects();
  ++newer.version;
  EXPECT_FALSE(open_captured_trace(*file, newer));
  EXPECT_EQ(live.released, 2);
  std::filesystem::remove(path);
}

TEST_P(CApiPlace, KnowsNoOtherPlaces) {
  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.place = 2;
  EXPECT_EQ(gfxgraph_session_create(trace, &options, &session), GFXGRAPH_INVALID_ARGUMENT);
  options.place = 0;
  options.reserved2 = 1;
  EXPECT_EQ(gfxgraph_session_create(trace, &options, &session), GFXGRAPH_INVALID_ARGUMENT);
  // A caller that was built before there was a choice.
  options.struct_size = offsetof(gfxgraph_session_options_t, place);
  options.place = GFXGRAPH_PLACE_APART;
  ASSERT_EQ(gfxgraph_session_create(trace, &options, &session), GFXGRAPH_OK);
  ASSERT_EQ(make_step(), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(gfxgraph_step_restore(step), GFXGRAPH_UNSUPPORTED);
}

INSTANTIATE_TEST_SUITE_P(Modes, CApiPlace,
                         ::testing::Values(GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH,
                                           GFXGRAPH_MODE_GRAPH),
                         [](const auto& test) {
                           return std::string(mode_name(static_cast<Mode>(test.param)));
                         });

}  // namespace
}  // namespace gfxgraph::replayer::testing

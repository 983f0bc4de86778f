// gfxgraph/capture.h against a recorder whose every answer may be an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "capi/fake_recorder.h"
#include "gfxgraph/gfxgraph.hpp"
#include "place/live_program.h"
#include "replayer/capi/c_api_internal.h"
#include "step_trace.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `true`: the recorder hands over a trace that it holds in memory, else a file.
class CApiCapture : public ::testing::TestWithParam<bool> {
 protected:
  CApiCapture() : recorded(fake_hip, 2, true, false, true) {
    const auto library = fake_hip.library();
    library->update_trials().assume(fake_hip.arch, {true, true, true}, false);
    use_hip_library_for_tests(library);
    live.places.at(recorded.flag).host = live.places.at(recorded.flag).device;
    fake.path = recorded.trace.path();
    if (GetParam()) fake.hold(fake.path);
    fake.objects = live.objects();
    recorder = &fake;
  }
  ~CApiCapture() override {
    recorder = nullptr;
    use_hip_library_for_tests(nullptr);
  }
  gfxgraph_capture_t begin() {
    gfxgraph_capture_t capture = nullptr;
    EXPECT_EQ(gfxgraph_capture_begin(nullptr, nullptr, &capture), GFXGRAPH_OK)
        << gfxgraph_last_error();
    return capture;
  }
  gfxgraph_trace_t captured() {
    gfxgraph_trace_t trace = nullptr;
    EXPECT_EQ(gfxgraph_capture_end(begin(), &trace), GFXGRAPH_OK) << gfxgraph_last_error();
    return trace;
  }

  FakeHip fake_hip;
  StepTrace recorded;
  LiveProgram live{fake_hip, recorded.trace, LiveProgram::By::kFunctions};
  FakeRecorder fake;
};

TEST_P(CApiCapture, EachCallIsAskedOfTheRecorder) {
  gfxgraph_capture_t capture = begin();
  uint32_t launches = 0;
  EXPECT_EQ(gfxgraph_capture_pause(capture), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_capture_resume(capture), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_capture_break(capture, "here"), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_capture_launches(capture, &launches), GFXGRAPH_OK);
  EXPECT_EQ(launches, 5u);
  gfxgraph_trace_t trace = nullptr;
  EXPECT_EQ(gfxgraph_capture_end(capture, &trace), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_THAT(fake.calls, ElementsAre("begin", "pause", "resume", "mark", "launches", "end"));
  EXPECT_EQ(live.released, 0);
  gfxgraph_trace_destroy(trace);
  EXPECT_EQ(live.released, 1);
}

TEST_P(CApiCapture, ItsErrorsAreTheCallers) {
  uint32_t launches = 0;
  gfxgraph_capture_t capture = nullptr;
  fake.fails = "begin";
  EXPECT_EQ(gfxgraph_capture_begin(nullptr, nullptr, &capture), GFXGRAPH_INCOMPLETE);
  EXPECT_STREQ(gfxgraph_last_error(), "begin fails");
  EXPECT_EQ(capture, nullptr);
  const auto fails = [&](const char* name, const auto& call) {
    fake.fails.clear();
    capture = begin();
    fake.fails = name;
    EXPECT_EQ(call(), GFXGRAPH_INCOMPLETE) << name;
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr(name));
  };
  fails("pause", [&] { return gfxgraph_capture_pause(capture); });
  gfxgraph_capture_abandon(capture);
  fails("resume", [&] { return gfxgraph_capture_resume(capture); });
  gfxgraph_capture_abandon(capture);
  fails("mark", [&] { return gfxgraph_capture_break(capture, "x"); });
  gfxgraph_capture_abandon(capture);
  fails("launches", [&] { return gfxgraph_capture_launches(capture, &launches); });
  gfxgraph_capture_abandon(capture);
  // The handle is gone, and so is the capture.
  gfxgraph_trace_t trace = nullptr;
  fails("end", [&] { return gfxgraph_capture_end(capture, &trace); });
  EXPECT_EQ(trace, nullptr);
  EXPECT_EQ(fake.open, 0u);
  EXPECT_EQ(fake.calls.back(), "abandon");
}

TEST_P(CApiCapture, ATraceThatDoesNotOpenReleasesItsObjects) {
  gfxgraph_trace_t trace = nullptr;
  if (!GetParam()) {
    fake.path = "/dev/null";
    EXPECT_NE(gfxgraph_capture_end(begin(), &trace), GFXGRAPH_OK);
    EXPECT_EQ(trace, nullptr);
    EXPECT_EQ(live.released, 1);
    fake.path = recorded.trace.path();
    live.released = 0;
  }
  fake.objects.version = 99;
  EXPECT_EQ(gfxgraph_capture_end(begin(), &trace), GFXGRAPH_UNSUPPORTED);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("version 99"));
  EXPECT_EQ(live.released, 1);
}

TEST_P(CApiCapture, WrongArgumentsAreRefusedBeforeAnythingBegins) {
  gfxgraph_capture_t capture = nullptr;
  gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
  options.mode = 2;
  EXPECT_EQ(gfxgraph_capture_begin(nullptr, &options, &capture), GFXGRAPH_INVALID_ARGUMENT);
  options = gfxgraph_capture_options_default();
  options.contents = 1;
  options.mode = GFXGRAPH_CAPTURE_HOLD;
  EXPECT_EQ(gfxgraph_capture_begin(nullptr, &options, &capture), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_capture_begin(nullptr, nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  options = gfxgraph_capture_options_default();
  options.name = "";
  EXPECT_EQ(gfxgraph_capture_begin(nullptr, &options, &capture), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_capture_pause(nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_capture_end(nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_THAT(fake.calls, IsEmpty());
  gfxgraph_capture_abandon(nullptr);
  capture = begin();
  EXPECT_EQ(gfxgraph_capture_break(capture, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_capture_launches(capture, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_capture_end(capture, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(fake.open, 0u);
}

TEST_P(CApiCapture, WithoutARecorderItSaysHowToGetOne) {
  recorder = nullptr;
  gfxgraph_capture_t capture = nullptr;
  EXPECT_EQ(gfxgraph_capture_begin(nullptr, nullptr, &capture), GFXGRAPH_UNSUPPORTED);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("of another version"));
}

TEST_P(CApiCapture, NoRunGetsIntoACapture) {
  gfxgraph_trace_t trace = captured();
  gfxgraph_session_t session = nullptr;
  gfxgraph_step_t step = nullptr;
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = GFXGRAPH_MODE_BATCH;
  options.border = [](void*, const gfxgraph_border_t*) { return 0; };
  ASSERT_EQ(gfxgraph_session_create(trace, nullptr, &session), GFXGRAPH_OK);
  ASSERT_EQ(gfxgraph_step_create(session, 1, &options, &step), GFXGRAPH_OK)
      << gfxgraph_last_error();
  fake.capturing = true;
  const int before = live.launches;
  EXPECT_EQ(gfxgraph_step_run(step, nullptr), GFXGRAPH_UNSUPPORTED);
  EXPECT_EQ(gfxgraph_step_run_unfenced(step, nullptr), GFXGRAPH_UNSUPPORTED);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("capture open"));
  EXPECT_EQ(live.launches, before);
  fake.capturing = false;
  EXPECT_EQ(gfxgraph_step_run(step, nullptr), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_EQ(gfxgraph_step_wait(step), GFXGRAPH_OK);
  EXPECT_GT(live.launches, before);
  gfxgraph_step_destroy(step);
  gfxgraph_session_destroy(session);
  gfxgraph_trace_destroy(trace);
}

struct Borders {
  const uint32_t* memory = nullptr;
  std::vector<uint32_t> kinds, values;  // and what the memory held there
  uint32_t ends_at = UINT32_MAX;

  static int32_t see(void* context, const gfxgraph_border_t* border) {
    auto& borders = *static_cast<Borders*>(context);
    EXPECT_EQ(border->struct_size, sizeof(gfxgraph_border_t));
    EXPECT_EQ(border->number, borders.kinds.size());
    borders.kinds.push_back(border->kind);
    borders.values.push_back(*borders.memory);
    return border->number == borders.ends_at ? 1 : 0;
  }
};

TEST_P(CApiCapture, BordersAreCalledWhenTheWorkBeforeThemIsDone) {
  gfxgraph_trace_t trace = captured();
  gfxgraph_session_t session = nullptr;
  ASSERT_EQ(gfxgraph_session_create(trace, nullptr, &session), GFXGRAPH_OK);
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  gfxgraph_step_t step = nullptr;
  for (const gfxgraph_mode_t mode :
       {GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH, GFXGRAPH_MODE_GRAPH}) {
    options.mode = mode;
    options.border = nullptr;
    EXPECT_EQ(gfxgraph_step_create(session, 0, &options, &step), GFXGRAPH_INVALID_ARGUMENT);
    EXPECT_THAT(gfxgraph_last_error(), HasSubstr("gfxgraph_step_options_t.border"));
    Borders borders;
    borders.memory = recorded.trace.words(recorded.history);
    options.border = &Borders::see;
    options.border_context = &borders;
    ASSERT_EQ(gfxgraph_step_create(session, 0, &options, &step), GFXGRAPH_OK)
        << gfxgraph_last_error();
    recorded.trace.words(recorded.history)[0] = 0;
    recorded.trace.words(recorded.flag)[0] = 21;
    EXPECT_EQ(gfxgraph_step_run(step, nullptr), GFXGRAPH_OK) << gfxgraph_last_error();
    EXPECT_EQ(gfxgraph_step_wait(step), GFXGRAPH_OK);
    EXPECT_THAT(borders.kinds, ElementsAre(GFXGRAPH_BORDER_RESULT, GFXGRAPH_BORDER_WAIT)) << mode;
    EXPECT_THAT(borders.values, ElementsAre(0, 10)) << mode;  // the second launch is behind one
    EXPECT_EQ(recorded.trace.words(recorded.flag)[0], 43u) << mode;
    EXPECT_EQ(recorded.trace.words(recorded.flag)[1], 11u) << mode;  // the host wrote 5 behind it

    borders = {recorded.trace.words(recorded.history), {}, {}, 0};
    recorded.trace.words(recorded.history)[0] = 0;
    EXPECT_EQ(gfxgraph_step_run(step, nullptr), GFXGRAPH_INVALID_ARGUMENT);
    EXPECT_EQ(gfxgraph_step_wait(step), GFXGRAPH_OK);
    EXPECT_EQ(borders.kinds.size(), 1u);
    EXPECT_EQ(recorded.trace.words(recorded.history)[0], 0u) << "work behind the border that ended";
    gfxgraph_step_destroy(step);
  }
  gfxgraph_session_destroy(session);
  gfxgraph_trace_destroy(trace);
}

TEST_P(CApiCapture, SavedBytesAreTheTraces) {
  gfxgraph_trace_t trace = captured();
  const std::filesystem::path path = recorded.trace.path().string() + ".saved";
  ASSERT_EQ(gfxgraph_trace_save(trace, path.c_str()), GFXGRAPH_OK) << gfxgraph_last_error();
  if (!GetParam()) {
    EXPECT_EQ(std::filesystem::file_size(path), std::filesystem::file_size(recorded.trace.path()));
  }
  const auto launches_of = [](const std::filesystem::path& file) {
    return format::Trace::open(file).value()->statistics().launches;
  };
  EXPECT_EQ(launches_of(path), launches_of(recorded.trace.path()));
  gfxgraph_trace_t again = nullptr;
  ASSERT_EQ(gfxgraph_trace_open(path.c_str(), nullptr, &again), GFXGRAPH_OK);
  EXPECT_EQ(gfxgraph_trace_save(again, path.c_str()), GFXGRAPH_UNSUPPORTED);
  gfxgraph_trace_destroy(again);
  std::filesystem::remove(path);
  EXPECT_EQ(gfxgraph_trace_save(trace, "/no/such/folder/x"), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_trace_save(trace, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_trace_save(nullptr, path.c_str()), GFXGRAPH_INVALID_ARGUMENT);
  gfxgraph_trace_destroy(trace);
}

TEST_P(CApiCapture, WhatTheRecorderHoldsIsReleasedOnceWithTheTrace) {
  if (!GetParam()) GTEST_SKIP() << "it hands over a file";
  gfxgraph_trace_t trace = captured();
  gfxgraph_session_t session = nullptr;
  ASSERT_EQ(gfxgraph_session_create(trace, nullptr, &session), GFXGRAPH_OK);
  gfxgraph_trace_destroy(trace);
  EXPECT_EQ(fake.released, 0);
  gfxgraph_session_destroy(session);
  EXPECT_EQ(fake.released, 1);
}

INSTANTIATE_TEST_SUITE_P(Traces, CApiCapture, ::testing::Bool(), [](const auto& given) {
  return std::string(given.param ? "held" : "in_a_file");
});

}  // namespace
}  // namespace gfxgraph::replayer::testing

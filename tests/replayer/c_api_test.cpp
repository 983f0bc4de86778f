#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "base/result.h"
#include "gfxgraph/gfxgraph.hpp"
#include "replayer/c_api_internal.h"
#include "scenario.h"

namespace gfxgraph::replayer::testing {
namespace {

using ::testing::HasSubstr;

class CApi : public ::testing::Test {
 protected:
  CApi() : trace(fake) {
    add_test_kernels(fake);
    use_hip_library_for_tests(fake.library());
  }
  ~CApi() override { use_hip_library_for_tests(nullptr); }
  FakeHip fake;
  TestTrace trace;
};

TEST_F(CApi, StatusValuesAreThoseOfTheLibrary) {
  EXPECT_EQ(GFXGRAPH_OK, static_cast<int>(Status::kOk));
  EXPECT_EQ(GFXGRAPH_INVALID_ARGUMENT, static_cast<int>(Status::kInvalidArgument));
  EXPECT_EQ(GFXGRAPH_NOT_FOUND, static_cast<int>(Status::kNotFound));
  EXPECT_EQ(GFXGRAPH_UNSUPPORTED, static_cast<int>(Status::kUnsupported));
  EXPECT_EQ(GFXGRAPH_CORRUPT, static_cast<int>(Status::kCorrupt));
  EXPECT_EQ(GFXGRAPH_TRUNCATED, static_cast<int>(Status::kTruncated));
  EXPECT_EQ(GFXGRAPH_VERSION, static_cast<int>(Status::kVersion));
  EXPECT_EQ(GFXGRAPH_IO, static_cast<int>(Status::kIo));
  EXPECT_EQ(GFXGRAPH_OUT_OF_MEMORY, static_cast<int>(Status::kOutOfMemory));
  EXPECT_EQ(GFXGRAPH_DEVICE, static_cast<int>(Status::kDevice));
  EXPECT_EQ(GFXGRAPH_MISMATCH, static_cast<int>(Status::kMismatch));
  EXPECT_EQ(GFXGRAPH_UNSAFE_LANE, static_cast<int>(Status::kUnsafeLane));
  EXPECT_EQ(GFXGRAPH_INTERNAL, static_cast<int>(Status::kInternal));
  EXPECT_EQ(GFXGRAPH_INCOMPLETE, static_cast<int>(Status::kIncomplete));
}

TEST_F(CApi, LimitsRefuseBeforeTheWork) {
  const auto a = trace.allocate(4096);
  for (int i = 0; i < 3; ++i) trace.launch("double", Arguments().value(trace.address(a)).value(4u));
  trace.finish();
  gfxgraph_trace_options_t limits = gfxgraph_trace_options_default();
  EXPECT_EQ(limits.max_operations, 0u);
  limits.max_operations = 2;
  gfxgraph_trace_t opened = nullptr;
  EXPECT_EQ(gfxgraph_trace_open(trace.path().c_str(), &limits, &opened), GFXGRAPH_UNSUPPORTED);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("more than 2 operations"));
  // A caller that was built when the structure had no limits.
  limits.struct_size = offsetof(gfxgraph_trace_options_t, max_operations);
  ASSERT_EQ(gfxgraph_trace_open(trace.path().c_str(), &limits, &opened), GFXGRAPH_OK);
  gfxgraph_plan_t plan = nullptr;
  ASSERT_EQ(gfxgraph_plan_create(opened, nullptr, &plan), GFXGRAPH_OK);
  gfxgraph_replay_options_t options = gfxgraph_replay_options_default();
  options.max_memory_bytes = 4096;  // the buffer, and nothing for the arguments
  gfxgraph_replay_t replay = nullptr;
  EXPECT_EQ(gfxgraph_replay_create(plan, &options, &replay), GFXGRAPH_OUT_OF_MEMORY);
  EXPECT_THAT(gfxgraph_last_error(), HasSubstr("nothing was allocated"));
  options.max_memory_bytes = 1 << 20;
  options.max_load_seconds = 100;
  EXPECT_EQ(gfxgraph_replay_create(plan, &options, &replay), GFXGRAPH_OK);
  gfxgraph_replay_destroy(replay);
  gfxgraph_plan_destroy(plan);
  gfxgraph_trace_destroy(opened);
}

TEST_F(CApi, AllocationsHaveNames) {
  trace.edit_begin = [](format::AllocationBegin& begin) { begin.name = "weights"; };
  const auto known = trace.allocate(64);
  const auto renamed = trace.allocate(64);
  trace.edit_begin = [](format::AllocationBegin& begin) {
    begin.initial.stored = false;
    begin.initial.blob = {};
  };
  const auto unnamed = trace.allocate(64);
  trace.name(renamed, "kv cache");
  trace.finish();
  const TraceFile file(trace.path().string());
  EXPECT_STREQ(file.allocation(known).name, "weights");
  EXPECT_STREQ(file.allocation(renamed).name, "kv cache");
  EXPECT_STREQ(file.allocation(unnamed).name, "");
  EXPECT_EQ(file.allocation(known).initial_state_unknown, 0u);
  EXPECT_EQ(file.allocation(unnamed).initial_state_unknown, 1u);
}

TEST_F(CApi, WholeLifeThroughTheHandles) {
  const Scenario scenario = build_scenario(fake, trace);
  trace.finish();
  const size_t alive = fake.alive();
  {
    auto file = std::make_unique<TraceFile>(trace.path().string());
    const gfxgraph_environment_t environment = file->environment();
    EXPECT_STREQ(environment.gpu_arch, "gfx1030");
    EXPECT_EQ(environment.complete, 1u);
    EXPECT_GT(environment.launch_count, 8u);
    const gfxgraph_launch_t launch = file->launch(0);
    EXPECT_STREQ(file->kernel(launch.kernel).name, "double");
    EXPECT_EQ(launch.relocation_count, 1u);
    EXPECT_EQ(file->relocation(0, 0).allocation, scenario.a);
    EXPECT_EQ(file->argument(launch.kernel, 0).size_bytes, 8u);
    EXPECT_EQ(file->allocation(scenario.global).kind,
              static_cast<uint32_t>(GFXGRAPH_ALLOCATION_MODULE_GLOBAL));

    std::vector<uint32_t> mine(16);
    gfxgraph::Plan plan(*file);
    plan.bind(scenario.a, mine.data(), 64);
    gfxgraph_replay_options_t options = gfxgraph_replay_options_default();
    options.mode = GFXGRAPH_MODE_GRAPH;
    gfxgraph::Replay replay(plan, options);
    file.reset();  // the replay keeps what it needs
    replay.set_stream(nullptr);
    replay.run();
    replay.wait();
    std::vector<gfxgraph_buffer_result_t> buffers;
    const gfxgraph_verification_t result = replay.verify(&buffers);
    EXPECT_EQ(result.different, 0u);
    EXPECT_EQ(result.identical, buffers.size());
    EXPECT_EQ(replay.address(scenario.a), mine.data());
    EXPECT_GT(replay.info().graph_nodes, 10u);
    EXPECT_EQ(replay.info().mode, GFXGRAPH_MODE_GRAPH);

    const uint32_t wrong = 77;
    replay.write(scenario.b, 4, &wrong, 4);
    EXPECT_EQ(replay.verify(&buffers).different, 1u);
    EXPECT_EQ(buffers[scenario.b - 1].first_difference, 4u);
    uint32_t read = 0;
    replay.read(scenario.b, 4, &read, 4);
    EXPECT_EQ(read, 77u);
    replay.restore();
    replay.run();
    EXPECT_EQ(replay.verify().different, 0u);
  }
  EXPECT_EQ(fake.alive(), alive);
}

TEST_F(CApi, NullsAndWrongSizesAreRefused) {
  trace.allocate(64);
  trace.finish();
  EXPECT_EQ(gfxgraph_trace_open(nullptr, nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_plan_create(nullptr, nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_replay_create(nullptr, nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_replay_run(nullptr), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_replay_verify(nullptr, nullptr, nullptr, 0, 0), GFXGRAPH_INVALID_ARGUMENT);
  gfxgraph_trace_destroy(nullptr);
  gfxgraph_plan_destroy(nullptr);
  gfxgraph_replay_destroy(nullptr);

  gfxgraph_trace_t handle = nullptr;
  gfxgraph_trace_options_t options{};  // struct_size not set
  EXPECT_EQ(gfxgraph_trace_open(trace.path().c_str(), &options, &handle),
            GFXGRAPH_INVALID_ARGUMENT);
  ASSERT_EQ(gfxgraph_trace_open(trace.path().c_str(), nullptr, &handle), GFXGRAPH_OK);
  gfxgraph_environment_t environment{};
  EXPECT_EQ(gfxgraph_trace_environment(handle, &environment), GFXGRAPH_INVALID_ARGUMENT);
  gfxgraph_plan_t plan = nullptr;
  ASSERT_EQ(gfxgraph_plan_create(handle, nullptr, &plan), GFXGRAPH_OK);
  int byte = 0;
  EXPECT_EQ(gfxgraph_plan_bind(plan, 1, &byte, 1000, 8), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(gfxgraph_plan_bind(plan, 9, &byte, 1000, 0), GFXGRAPH_NOT_FOUND);
  gfxgraph_replay_options_t replay_options = gfxgraph_replay_options_default();
  replay_options.mode = 17;
  gfxgraph_replay_t replay = nullptr;
  EXPECT_EQ(gfxgraph_replay_create(plan, &replay_options, &replay), GFXGRAPH_INVALID_ARGUMENT);
  EXPECT_EQ(replay, nullptr);
  gfxgraph_plan_destroy(plan);
  gfxgraph_trace_destroy(handle);
}

TEST_F(CApi, OlderCallerGetsItsShorterStructure) {
  trace.allocate(64);
  trace.finish();
  TraceFile file(trace.path().string());
  struct {
    gfxgraph_environment_t environment;
    uint32_t behind = 0xABCD;
  } older;
  std::memset(&older.environment, 0xFF, sizeof(older.environment));
  older.environment.struct_size = offsetof(gfxgraph_environment_t, device_name);
  ASSERT_EQ(gfxgraph_trace_environment(file.get(), &older.environment), GFXGRAPH_OK);
  EXPECT_STREQ(older.environment.gpu_arch, "gfx1030");
  EXPECT_EQ(older.environment.allocation_count, UINT32_MAX);  // not touched
  EXPECT_EQ(older.environment.struct_size, offsetof(gfxgraph_environment_t, device_name));
}

TEST_F(CApi, IncompleteTraceNeedsPermission) {
  trace.allocate(64);
  trace.incomplete("hipMemcpyToArray");
  trace.finish();
  TraceFile file(trace.path().string());
  try {
    gfxgraph::Plan plan(file);
    FAIL() << "accepted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), GFXGRAPH_INCOMPLETE);
    EXPECT_THAT(failure.what(), HasSubstr("hipMemcpyToArray"));
  }
  EXPECT_NO_THROW(gfxgraph::Plan(file, true));
}

TEST_F(CApi, ErrorTextBelongsToItsThread) {
  EXPECT_EQ(gfxgraph_trace_open("/nowhere/x.gfxg", nullptr, nullptr), GFXGRAPH_INVALID_ARGUMENT);
  const std::string here = gfxgraph_last_error();
  EXPECT_FALSE(here.empty());
  std::thread([] { EXPECT_STREQ(gfxgraph_last_error(), ""); }).join();
  EXPECT_EQ(here, gfxgraph_last_error());
}

TEST_F(CApi, MissingAndForeignFilesAreErrors) {
  gfxgraph_trace_t handle = nullptr;
  EXPECT_NE(gfxgraph_trace_open("/nowhere/x.gfxg", nullptr, &handle), GFXGRAPH_OK);
  const std::string text = "this is not a trace, but it is longer than a header would be";
  EXPECT_NE(gfxgraph_trace_open_memory(text.data(), text.size(), nullptr, &handle), GFXGRAPH_OK);
  EXPECT_NE(gfxgraph_trace_open_memory(nullptr, 0, nullptr, &handle), GFXGRAPH_OK);
  EXPECT_EQ(handle, nullptr);
}

TEST_F(CApi, EveryTruncationIsAnErrorOrATornTrace) {
  build_scenario(fake, trace);
  trace.finish();
  std::ifstream file(trace.path(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  gfxgraph_trace_options_t torn = gfxgraph_trace_options_default();
  torn.allow_torn = 1;
  for (size_t size = 0; size < bytes.size(); size += 61) {
    gfxgraph_trace_t handle = nullptr;
    EXPECT_NE(gfxgraph_trace_open_memory(bytes.data(), size, nullptr, &handle), GFXGRAPH_OK)
        << size;
    if (gfxgraph_trace_open_memory(bytes.data(), size, &torn, &handle) != GFXGRAPH_OK) continue;
    gfxgraph_plan_options_t allow = gfxgraph_plan_options_default();
    gfxgraph_plan_t plan = nullptr;
    EXPECT_EQ(gfxgraph_plan_create(handle, nullptr, &plan), GFXGRAPH_INCOMPLETE);
    allow.allow_incomplete = 1;
    if (gfxgraph_plan_create(handle, &allow, &plan) == GFXGRAPH_OK) {
      gfxgraph_replay_options_t options = gfxgraph_replay_options_default();
      options.mode = GFXGRAPH_MODE_GRAPH;
      gfxgraph_replay_t replay = nullptr;
      // A prefix of a program can be run or is refused; it is never a crash.
      if (gfxgraph_replay_create(plan, &options, &replay) == GFXGRAPH_OK)
        gfxgraph_replay_run(replay);
      gfxgraph_replay_destroy(replay);
    }
    gfxgraph_plan_destroy(plan);
    gfxgraph_trace_destroy(handle);
  }
}

}  // namespace
}  // namespace gfxgraph::replayer::testing

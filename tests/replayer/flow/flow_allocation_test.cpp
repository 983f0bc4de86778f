// Each host allocation in the life of branches, a loop, a composition and a pipeline fails: it
// comes back as a status, or they do without; what is there works afterwards, and nothing is left.
#include <gtest/gtest.h>

#include "gfxgraph/flow.h"
#include "production/pool_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

using gfxgraph::testing::Failing;

// The fixture's captured work, over memory that stays where it is.
struct Fixed {
  PoolOnFake fake;
  Rows from, to;
  std::array<void*, 2> memory{};

  Fixed() : from(PoolOnFake::kRows, 3), to(PoolOnFake::kRows) {
    memory = {from.data(), to.data()};
    fake.fake.keep_log = false;
    fake.fake.inside = gfxgraph::testing::pause_failing_allocations;
  }
  gfxgraph_piece_t piece() {
    gfxgraph_piece_t one{};
    one.work_context = this;
    one.work = [](void* context, const gfxgraph_call_t* call) {
      auto& own = *static_cast<Fixed*>(context);
      gfxgraph_call_t with_memory = *call;
      with_memory.size = PoolOnFake::kRows;
      with_memory.memory = own.memory.data();
      return own.fake.work(with_memory);
    };
    return one;
  }
  // A step that the caller captured.
  gfxgraph_step_t step() {
    gfxgraph_capture_t capture = nullptr;
    gfxgraph_trace_t trace = nullptr;
    gfxgraph_session_t session = nullptr;
    gfxgraph_step_t made = nullptr;
    gfxgraph_range_t range = 0;
    const gfxgraph_piece_t captured = piece();
    gfxgraph_call_t call{};
    call.struct_size = sizeof call;
    call.captured = 1;
    EXPECT_EQ(gfxgraph_capture_begin(nullptr, nullptr, &capture), GFXGRAPH_OK);
    EXPECT_EQ(captured.work(captured.work_context, &call), 0);
    EXPECT_EQ(gfxgraph_capture_end(capture, &trace), GFXGRAPH_OK) << gfxgraph_last_error();
    EXPECT_EQ(gfxgraph_trace_find_range(trace, "step", &range), GFXGRAPH_OK);
    EXPECT_EQ(gfxgraph_session_create(trace, nullptr, &session), GFXGRAPH_OK);
    gfxgraph_step_options_t options = gfxgraph_step_options_default();
    options.mode = GFXGRAPH_MODE_GRAPH;
    EXPECT_EQ(gfxgraph_step_create(session, range, &options, &made), GFXGRAPH_OK)
        << gfxgraph_last_error();
    gfxgraph_session_destroy(session);
    gfxgraph_trace_destroy(trace);
    return made;
  }
};

// One of the four: made, run, and gone.
struct Trial {
  gfxgraph_status_t (*create)(Fixed& fixed, gfxgraph_step_t step, void** handle);
  gfxgraph_status_t (*run)(Fixed& fixed, void* handle);
  void (*destroy)(void* handle);
  bool has_step = false;
};

const Trial kBranches = {
    [](Fixed& fixed, gfxgraph_step_t, void** handle) {
      const gfxgraph_branch_t branches[] = {{"a", 1, fixed.piece()}, {"b", 2, fixed.piece()}};
      gfxgraph_branches_options_t options = gfxgraph_branches_options_default();
      options.branches = branches;
      options.branch_count = 2;
      return gfxgraph_branches_create(&options, reinterpret_cast<gfxgraph_branches_t*>(handle));
    },
    [](Fixed&, void* handle) {
      return gfxgraph_branches_run(static_cast<gfxgraph_branches_t>(handle), 2, nullptr, nullptr);
    },
    [](void* handle) { gfxgraph_branches_destroy(static_cast<gfxgraph_branches_t>(handle)); }};

const Trial kLoop = {
    [](Fixed& fixed, gfxgraph_step_t, void** handle) {
      gfxgraph_loop_options_t options = gfxgraph_loop_options_default();
      options.body = fixed.piece();
      return gfxgraph_loop_create(&options, reinterpret_cast<gfxgraph_loop_t*>(handle));
    },
    [](Fixed&, void* handle) {
      return gfxgraph_loop_run(static_cast<gfxgraph_loop_t>(handle), 3, nullptr, nullptr);
    },
    [](void* handle) { gfxgraph_loop_destroy(static_cast<gfxgraph_loop_t>(handle)); }};

const Trial kComposition = {
    [](Fixed&, gfxgraph_step_t step, void** handle) {
      const gfxgraph_part_t parts[] = {{step, 0, 0}, {step, 1, 0}};
      gfxgraph_composition_options_t options = gfxgraph_composition_options_default();
      options.parts = parts;
      options.part_count = 2;
      return gfxgraph_composition_create(&options,
                                         reinterpret_cast<gfxgraph_composition_t*>(handle));
    },
    [](Fixed&, void* handle) {
      return gfxgraph_composition_run(static_cast<gfxgraph_composition_t>(handle), nullptr,
                                      nullptr);
    },
    [](void* handle) { gfxgraph_composition_destroy(static_cast<gfxgraph_composition_t>(handle)); },
    true};

const Trial kPipeline = {
    [](Fixed& fixed, gfxgraph_step_t, void** handle) {
      gfxgraph_pipeline_options_t options = gfxgraph_pipeline_options_default();
      options.depth = 1;  // the fixture has one captured place of each buffer
      options.rows = PoolOnFake::kRows;
      options.tensors = PoolOnFake::kTensors.data();
      options.tensor_count = PoolOnFake::kTensors.size();
      options.work = fixed.fake.options.work;
      options.work_context = fixed.fake.options.work_context;
      return gfxgraph_pipeline_create(&options, reinterpret_cast<gfxgraph_pipeline_t*>(handle));
    },
    [](Fixed& fixed, void* handle) {
      const auto pipeline = static_cast<gfxgraph_pipeline_t>(handle);
      gfxgraph_pipeline_run_t run = gfxgraph_pipeline_run_default();
      run.size = PoolOnFake::kRows;
      run.memory = fixed.memory.data();
      if (const gfxgraph_status_t status = gfxgraph_pipeline_submit(pipeline, &run, nullptr);
          status != GFXGRAPH_OK)
        return status;
      gfxgraph_pipeline_result_t result{};
      result.struct_size = sizeof result;
      return gfxgraph_pipeline_next(pipeline, &result);
    },
    [](void* handle) { gfxgraph_pipeline_destroy(static_cast<gfxgraph_pipeline_t>(handle)); }};

class EveryAllocationOfAFlow : public ::testing::TestWithParam<std::tuple<const Trial*, Failing>> {
};

TEST_P(EveryAllocationOfAFlow, LeavesNothing) {
  const Trial& trial = *std::get<0>(GetParam());
  Fixed fixed;
  const gfxgraph_step_t step = trial.has_step ? fixed.step() : nullptr;
  const size_t alive = fixed.fake.fake.alive();
  int64_t failures = 0;
  for (int64_t n = 1;; ++n) {
    void* handle = nullptr;
    gfxgraph::testing::fail_allocation(n, gfxgraph::testing::OfThreads::kThis,
                                       std::get<1>(GetParam()));
    gfxgraph_status_t status = trial.create(fixed, step, &handle);
    for (int i = 0; i < 3 && status == GFXGRAPH_OK; ++i) status = trial.run(fixed, handle);
    const bool failed = gfxgraph::testing::stop_failing_allocations();
    ASSERT_TRUE(status == GFXGRAPH_OUT_OF_MEMORY || status == GFXGRAPH_OK)
        << "allocation " << n << ": " << gfxgraph_status_name(status);
    if (handle != nullptr) {
      fixed.to.assign(PoolOnFake::kRows, 0);
      ASSERT_EQ(trial.run(fixed, handle), GFXGRAPH_OK)
          << "allocation " << n << ": " << gfxgraph_last_error();
      ASSERT_EQ(fixed.to, Rows(PoolOnFake::kRows, 6)) << "allocation " << n;
    }
    trial.destroy(handle);
    ASSERT_EQ(fixed.fake.fake.alive(), alive) << "allocation " << n;
    if (!failed) break;
    ++failures;
    ASSERT_LT(n, 100000);
  }
  EXPECT_GT(failures, 10);
  gfxgraph_step_destroy(step);
}

// Once it was captured.
class HotPathOfAFlow : public ::testing::TestWithParam<const Trial*> {};

TEST_P(HotPathOfAFlow, AllocatesNothing) {
  const Trial& trial = *GetParam();
  Fixed fixed;
  // The fake runtime allocates; empty calls show what the library does.
  HipTable table = fixed.fake.fake.table();
  table.hipGraphLaunch = [](void*, void*) { return 0; };
  table.hipMemcpyAsync = [](void*, const void*, size_t, int, void*) { return 0; };
  table.hipStreamSynchronize = [](void*) { return 0; };
  table.hipStreamQuery = [](void*) { return 0; };
  fixed.fake.use(table);
  const gfxgraph_step_t step = trial.has_step ? fixed.step() : nullptr;
  void* handle = nullptr;
  ASSERT_EQ(trial.create(fixed, step, &handle), GFXGRAPH_OK) << gfxgraph_last_error();
  ASSERT_EQ(trial.run(fixed, handle), GFXGRAPH_OK) << gfxgraph_last_error();
  gfxgraph_status_t status = GFXGRAPH_OK;
  gfxgraph::testing::start_counting_allocations(gfxgraph::testing::OfThreads::kAll);
  for (int i = 0; i < 100; ++i) status |= trial.run(fixed, handle);
  EXPECT_EQ(gfxgraph::testing::stop_counting_allocations(), 0u);
  EXPECT_EQ(status, GFXGRAPH_OK);
  EXPECT_LE(fixed.fake.calls, 1) << "it did not run as a graph";
  trial.destroy(handle);
  gfxgraph_step_destroy(step);
}

INSTANTIATE_TEST_SUITE_P(Runs, HotPathOfAFlow,
                         ::testing::Values(&kBranches, &kLoop, &kComposition, &kPipeline));

INSTANTIATE_TEST_SUITE_P(
    Failing, EveryAllocationOfAFlow,
    ::testing::Combine(::testing::Values(&kBranches, &kLoop, &kComposition, &kPipeline),
                       ::testing::Values(Failing::kOnce, Failing::kFromThenOn)));

}  // namespace
}  // namespace gfxgraph::replayer::testing

// Pools on the fake runtime: a bucket of 8 rows whose captured work doubles its input, and what a
// recorder gives for it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/fake_recorder.h"
#include "gfxgraph/production.h"
#include "place/live_program.h"
#include "replayer/capi/c_api_internal.h"
#include "test_trace.h"
#include "tests/support/allocations.h"

namespace gfxgraph::replayer::testing {

using Rows = std::vector<uint32_t>;

class PoolOnFake {
 public:
  static constexpr uint64_t kRows = 8;

  PoolOnFake() : trace((add_test_kernels(fake), fake)) {
    trace.keep_memory = true;
    in = trace.allocate(kRows * 4);
    out = trace.allocate(kRows * 4);
    trace.range_begins("step", 1, 0);
    trace.launch("add", Arguments()
                            .value(trace.address(in))
                            .value(trace.address(in))
                            .value(trace.address(out))
                            .value(static_cast<uint32_t>(kRows)));
    trace.range_ends("step", 1);
    trace.finish();
    live.emplace(fake, trace, LiveProgram::By::kFunctions);
    answers.path = trace.path();
    answers.objects = live->objects();
    recorder = &answers;
    options.sizes = &kRows;
    options.size_count = 1;
    options.tensors = kTensors.data();
    options.tensor_count = kTensors.size();
    options.work_context = this;
    options.work = [](void* context, const gfxgraph_call_t* call) {
      return static_cast<PoolOnFake*>(context)->work(*call);
    };
    use(fake.table());
  }
  ~PoolOnFake() {
    destroy();
    recorder = nullptr;
    use_hip_library_for_tests(nullptr);
  }
  PoolOnFake(const PoolOnFake&) = delete;
  PoolOnFake& operator=(const PoolOnFake&) = delete;

  void use(const HipTable& table) {
    const auto library = *HipLibrary::from_table(table, "the fake HIP runtime");
    library->update_trials().assume(fake.arch, {true, true, true}, false);
    use_hip_library_for_tests(library);
  }
  gfxgraph_status_t create() { return gfxgraph_pool_create(&options, &pool); }
  void destroy() { gfxgraph_pool_destroy(std::exchange(pool, nullptr)); }

  gfxgraph_status_t run(const Rows& rows, bool timed = false, hip::Stream stream = nullptr) {
    given = rows;
    got.assign(rows.size() + 1, kUntouched);
    std::array<void*, 2> memory = {given.data(), got.data()};
    gfxgraph_pool_run_t one = gfxgraph_pool_run_default();
    one.size = rows.size();
    one.memory = memory.data();
    one.hip_stream = stream;
    one.timed = timed ? 1 : 0;
    result = {};
    result.struct_size = sizeof result;
    return gfxgraph_pool_run(pool, &one, &result);
  }
  // It succeeds, on this way, with the right rows.
  void expect_run(const Rows& rows, uint32_t way, uint32_t fall = GFXGRAPH_FALL_NONE) {
    EXPECT_EQ(run(rows), GFXGRAPH_OK) << gfxgraph_last_error();
    Rows wanted;
    for (const uint32_t row : rows) wanted.push_back(row * 2);
    wanted.push_back(kUntouched);
    EXPECT_EQ(got, wanted);
    EXPECT_STREQ(gfxgraph_way_name(result.way), gfxgraph_way_name(way));
    EXPECT_STREQ(gfxgraph_fall_name(result.fall), gfxgraph_fall_name(fall));
  }
  gfxgraph_bucket_info_t info(uint32_t bucket = 0) const {
    gfxgraph_bucket_info_t found{};
    found.struct_size = sizeof found;
    EXPECT_EQ(gfxgraph_pool_info(pool, bucket, &found), GFXGRAPH_OK) << gfxgraph_last_error();
    return found;
  }
  std::string reason(uint32_t way, uint32_t bucket = 0) const {
    std::array<char, 1024> text{};
    EXPECT_EQ(gfxgraph_pool_reason(pool, bucket, way, text.data(), text.size(), nullptr),
              GFXGRAPH_OK)
        << gfxgraph_last_error();
    return text.data();
  }

  // The caller's function, which the fake runtime does at once.
  int32_t work(const gfxgraph_call_t& call) {
    gfxgraph::testing::pause_failing_allocations(true);
    ++calls;
    const auto* const from = static_cast<const uint32_t*>(call.memory[0]);
    auto* const to = static_cast<uint32_t*>(call.memory[1]);
    padding.assign(from, from + call.size);
    for (uint64_t i = 0; fails == 0 && i < call.size; ++i) to[i] = from[i] * 2;
    if (call.captured != 0) {
      live->places[in] = {call.memory[0], nullptr, nullptr, kRows * 4};
      live->places[out] = {call.memory[1], nullptr, nullptr, kRows * 4};
    }
    gfxgraph::testing::pause_failing_allocations(false);
    return fails;
  }

  static constexpr uint32_t kUntouched = 0xdddddddd;
  static constexpr std::array<gfxgraph_tensor_t, 2> kTensors = {
      {{"in", 4, GFXGRAPH_TENSOR_INPUT, 0}, {"out", 4, GFXGRAPH_TENSOR_OUTPUT, 0}}};

  FakeHip fake;
  TestTrace trace;
  format::AllocationId in = 0, out = 0;
  std::optional<LiveProgram> live;
  FakeRecorder answers;
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  gfxgraph_pool_t pool = nullptr;
  Rows given, got;
  gfxgraph_pool_result_t result{};
  int calls = 0;
  int32_t fails = 0;  // what the function returns
  Rows padding;       // the input of its last call, with what is behind the rows
};

}  // namespace gfxgraph::replayer::testing

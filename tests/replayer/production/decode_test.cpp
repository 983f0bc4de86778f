// Decode pools when calls of HIP or allocations fail, and what their runs cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gfxgraph/decode.h"
#include "production/pool_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

constexpr uint32_t kDecodeBlocks = 3;

class DecodeTest : public ::testing::Test, public PoolOnFake {
 protected:
  DecodeTest() {
    options.work_context = this;
    options.work = [](void* context, const gfxgraph_call_t* call) {
      auto& own = *static_cast<DecodeTest*>(context);
      if (call->lengths == nullptr || call->block_table == nullptr) return int32_t{-5};
      own.lengths.assign(call->lengths, call->lengths + call->size);
      own.tables.assign(call->block_table, call->block_table + call->size * kDecodeBlocks);
      return own.work(*call);
    };
  }
  gfxgraph_status_t create_decode() {
    gfxgraph_decode_options_t decode = gfxgraph_decode_options_default();
    decode.max_blocks = kDecodeBlocks;
    return gfxgraph_decode_pool_create(&options, &decode, &pool);
  }
  // Two columns of the table; `first` is everywhere.
  gfxgraph_status_t run_decode(const Rows& rows, int32_t first) {
    given = rows;
    got.assign(rows.size(), kUntouched);
    std::array<void*, 2> memory = {given.data(), got.data()};
    std::vector<int32_t> of_host(rows.size(), first), table(rows.size() * 2, first + 1);
    gfxgraph_decode_run_t one = gfxgraph_decode_run_default();
    one.batch = rows.size();
    one.memory = memory.data();
    one.lengths = of_host.data();
    one.block_table = table.data();
    one.block_columns = 2;
    result = {};
    result.struct_size = sizeof result;
    return gfxgraph_decode_run(pool, &one, &result);
  }
  std::vector<int32_t> lengths, tables;  // of the function's last call
};

TEST_F(DecodeTest, TheFunctionSeesLengthsTablesAndPadding) {
  ASSERT_EQ(create_decode(), GFXGRAPH_OK) << gfxgraph_last_error();
  ASSERT_EQ(run_decode({4, 5}, 7), GFXGRAPH_OK) << gfxgraph_last_error();
  EXPECT_THAT(lengths, ::testing::ElementsAre(7, 7, 0, 0, 0, 0, 0, 0));
  std::vector<int32_t> wanted(kRows * kDecodeBlocks);
  for (const size_t i : {0u, 1u, 3u, 4u}) wanted[i] = 8;
  EXPECT_EQ(tables, wanted);
  ASSERT_EQ(run_decode({6}, 9), GFXGRAPH_OK);
  EXPECT_EQ(got[0], 12u);
  EXPECT_EQ(result.way, static_cast<uint32_t>(GFXGRAPH_WAY_GRAPH));
  EXPECT_EQ(info().device_bytes, kRows * (4 + 4 + 4 + 4 * kDecodeBlocks));
}

TEST_F(DecodeTest, NothingLeaksWhereAnythingFails) {
  for (int n = 1;; ++n) {
    const size_t before = fake.alive();
    fake.fail_call(n);
    gfxgraph_status_t status = create_decode();
    for (uint32_t i = 0; i < 10 && status == GFXGRAPH_OK; ++i) {
      status = run_decode({i, 2}, 3);
      if (status == GFXGRAPH_OK) {
        EXPECT_EQ(got[0], 2 * i) << "call " << n;
      }
    }
    const bool failed = std::exchange(fake.failed, false);
    fake.fail_call(0);
    if (pool != nullptr) {
      EXPECT_EQ(run_decode({5}, 1), GFXGRAPH_OK) << "call " << n << ": " << gfxgraph_last_error();
      EXPECT_EQ(got[0], 10u) << "call " << n;
    }
    destroy();
    EXPECT_EQ(fake.alive(), before) << "call " << n;
    if (!failed) break;
    ASSERT_LT(n, 1000);
  }
}

TEST_F(DecodeTest, ARunAllocatesNothing) {
  HipTable table = fake.table();
  table.hipGraphLaunch = [](void*, void*) { return 0; };
  table.hipMemcpyAsync = [](void*, const void*, size_t, int, void*) { return 0; };
  table.hipMemsetAsync = [](void*, int, size_t, void*) { return 0; };
  table.hipEventRecord = [](void*, void*) { return 0; };
  table.hipEventSynchronize = [](void*) { return 0; };
  use(table);
  ASSERT_EQ(create_decode(), GFXGRAPH_OK);
  ASSERT_EQ(run_decode({1, 2, 3}, 1), GFXGRAPH_OK) << gfxgraph_last_error();
  ASSERT_EQ(run_decode({1, 2, 3}, 1), GFXGRAPH_OK) << gfxgraph_last_error();
  std::array<void*, 2> memory = {given.data(), got.data()};
  const std::array<int32_t, 3> of_host{};
  const std::array<int32_t, 3 * kDecodeBlocks> blocks{};
  gfxgraph_decode_run_t one = gfxgraph_decode_run_default();
  one.batch = 3;
  one.memory = memory.data();
  one.lengths = of_host.data();
  one.block_table = blocks.data();
  gfxgraph_status_t status = GFXGRAPH_OK;
  gfxgraph::testing::start_counting_allocations(gfxgraph::testing::OfThreads::kAll);
  for (int i = 0; i < 100; ++i) status |= gfxgraph_decode_run(pool, &one, nullptr);
  EXPECT_EQ(gfxgraph::testing::stop_counting_allocations(), 0u);
  EXPECT_EQ(status, GFXGRAPH_OK);
}

}  // namespace
}  // namespace gfxgraph::replayer::testing

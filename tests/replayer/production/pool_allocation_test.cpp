// Each host allocation of a pool's life fails: it comes back as a status, or the pool does without.
#include <gtest/gtest.h>

#include "production/pool_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

using gfxgraph::testing::Failing;
class EveryAllocationOfAPool : public ::testing::TestWithParam<Failing> {};

TEST_P(EveryAllocationOfAPool, LeavesNothing) {
  PoolOnFake one;
  one.fake.keep_log = false;
  one.fake.inside = gfxgraph::testing::pause_failing_allocations;
  std::array<uint32_t, 4> cache{};
  const gfxgraph_state_t state = {"cache", cache.data(), sizeof cache, GFXGRAPH_TYPE_BYTES, 0};
  one.options.validate_every = 3;
  one.options.states = &state;
  one.options.state_count = 1;
  const size_t alive = one.fake.alive();
  int64_t failures = 0;
  for (int64_t n = 1;; ++n) {
    one.calls = 0;
    gfxgraph::testing::fail_allocation(n, gfxgraph::testing::OfThreads::kThis, GetParam());
    gfxgraph_status_t status = one.create();
    std::array<uint32_t, PoolOnFake::kRows> from{3, 4}, to{};
    std::array<void*, 2> memory = {from.data(), to.data()};
    gfxgraph_pool_run_t run = gfxgraph_pool_run_default();
    run.size = 2;
    run.memory = memory.data();
    for (int i = 0; i < 3 && status == GFXGRAPH_OK; ++i)
      status = gfxgraph_pool_run(one.pool, &run, nullptr);
    const bool failed = gfxgraph::testing::stop_failing_allocations();
    // Whatever failed, the next run is right.
    if (one.pool != nullptr) {
      ASSERT_EQ(gfxgraph_pool_run(one.pool, &run, nullptr), GFXGRAPH_OK)
          << "allocation " << n << ": " << gfxgraph_last_error();
      ASSERT_EQ(to[0], 6u) << "allocation " << n;
      ASSERT_EQ(to[1], 8u) << "allocation " << n;
      ASSERT_EQ(to[2], 0u) << "allocation " << n;
    }
    one.destroy();
    ASSERT_EQ(one.fake.alive(), alive) << "allocation " << n;
    ASSERT_TRUE(status == GFXGRAPH_OUT_OF_MEMORY || status == GFXGRAPH_OK)
        << "allocation " << n << ": " << gfxgraph_status_name(status);
    if (!failed) break;
    ++failures;
    ASSERT_LT(n, 100000);
  }
  EXPECT_GT(failures, 100);
}

INSTANTIATE_TEST_SUITE_P(Failing, EveryAllocationOfAPool,
                         ::testing::Values(Failing::kOnce, Failing::kFromThenOn));

}  // namespace
}  // namespace gfxgraph::replayer::testing

// hsa_amd_register_deallocation_callback: each function once, before its memory is gone.
#include <utility>

#include "tests/hsa/agent_fixture.h"

namespace gfxgraph::hsa_test {
namespace {

class ReleaseCallbackTest : public AgentTest {
 protected:
  using Calls = std::vector<std::pair<void*, int>>;
  static void note(void* pointer, void* data) {
    static_cast<Calls*>(data)->emplace_back(pointer, *static_cast<int*>(pointer));
  }
  int* four() {
    int* const made = allocate<int>(device_pool(), 4);
    std::fill(made, made + 4, 8);
    return made;
  }
};

TEST_F(ReleaseCallbackTest, EachOnceAndOnlyItsMemory) {
  Calls calls;
  int* const one = four();
  int* const other = four();
  ASSERT_EQ(hsa_amd_register_deallocation_callback(one, note, &calls), HSA_STATUS_SUCCESS);
  ASSERT_EQ(hsa_amd_register_deallocation_callback(one + 2, note, &calls), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(other), HSA_STATUS_SUCCESS);
  EXPECT_TRUE(calls.empty());
  EXPECT_EQ(hsa_amd_memory_pool_free(one), HSA_STATUS_SUCCESS);
  EXPECT_EQ(calls, (Calls{{one, 8}, {one + 2, 8}}));  // the memory was still there
  EXPECT_EQ(hsa_amd_deregister_deallocation_callback(one, note), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  int* const again = four();
  EXPECT_EQ(hsa_amd_memory_pool_free(again), HSA_STATUS_SUCCESS);
  EXPECT_EQ(calls.size(), 2u);
}

TEST_F(ReleaseCallbackTest, Deregistered) {
  Calls calls;
  int* const one = four();
  ASSERT_EQ(hsa_amd_register_deallocation_callback(one + 1, note, &calls), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_deregister_deallocation_callback(one, note), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_deregister_deallocation_callback(one + 1, note), HSA_STATUS_SUCCESS);
  hsa_amd_memory_pool_free(one);
  EXPECT_TRUE(calls.empty());
}

TEST_F(ReleaseCallbackTest, WhatIsNoMemoryOfAPool) {
  int own = 0;
  EXPECT_EQ(hsa_amd_register_deallocation_callback(&own, note, nullptr),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(hsa_amd_register_deallocation_callback(nullptr, note, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  int* const one = four();
  EXPECT_EQ(hsa_amd_register_deallocation_callback(one, nullptr, nullptr),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_amd_memory_pool_free(one);
}

// A function may use the agent, but not free the same memory again.
TEST_F(ReleaseCallbackTest, InsideOfACall) {
  struct Inner {
    hsa_amd_memory_pool_t pool;
    hsa_status_t freed_again;
    Calls calls;
  } inner{device_pool(), HSA_STATUS_SUCCESS, {}};
  const auto nested = [](void* pointer, void* data) {
    auto& in = *static_cast<Inner*>(data);
    in.freed_again = hsa_amd_memory_pool_free(pointer);
    void* made = nullptr;
    hsa_amd_memory_pool_allocate(in.pool, 64, 0, &made);
    hsa_amd_register_deallocation_callback(made, note, &in.calls);
    hsa_amd_memory_pool_free(made);
  };
  int* const one = four();
  ASSERT_EQ(hsa_amd_register_deallocation_callback(one, nested, &inner), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa_amd_memory_pool_free(one), HSA_STATUS_SUCCESS);
  EXPECT_EQ(inner.freed_again, HSA_STATUS_ERROR_INVALID_ALLOCATION);
  EXPECT_EQ(inner.calls.size(), 1u);
  EXPECT_EQ(hsa_amd_memory_pool_free(one), HSA_STATUS_ERROR_INVALID_ALLOCATION);  // gone
}

}  // namespace
}  // namespace gfxgraph::hsa_test

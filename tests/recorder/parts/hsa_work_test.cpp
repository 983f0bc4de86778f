#include "recorder/hooks/runtime/hsa_work.h"

#include <gtest/gtest.h>

namespace gfxgraph::recorder {
namespace {

TEST(HsaWork, QueuesAndCopiesOfEveryKindGiveWork) {
  for (const char* name :
       {"hsa_queue_create", "hsa_soft_queue_create", "hsa_amd_queue_create",
        "hsa_amd_queue_intercept_create", "hsa_amd_counted_queue_acquire", "hsa_memory_copy",
        "hsa_amd_memory_async_copy", "hsa_amd_memory_async_copy_on_engine",
        "hsa_amd_memory_async_copy_rect", "hsa_amd_memory_async_batch_copy", "hsa_amd_memory_fill",
        "hsa_amd_sdma_queue_create", "hsa_ext_image_copy", "hsa_amd_svm_discard_batch_async"}) {
    EXPECT_TRUE(gives_hsa_work(name)) << name;
  }
}

TEST(HsaWork, QuestionsDoNot) {
  for (const char* name :
       {"hsa_init", "hsa_agent_get_info", "hsa_queue_destroy", "hsa_amd_counted_queue_release",
        "hsa_amd_memory_copy_engine_status", "hsa_amd_memory_get_preferred_copy_engine",
        "hsa_amd_profiling_async_copy_enable", "hsa_amd_profiling_get_async_copy_time",
        "hsa_signal_create", "hsa_amd_queue_get_info", "memory_copy"}) {
    EXPECT_FALSE(gives_hsa_work(name)) << name;
  }
}

}  // namespace
}  // namespace gfxgraph::recorder

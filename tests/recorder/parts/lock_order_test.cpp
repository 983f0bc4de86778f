#include "recorder/lock_order.h"

#include <gtest/gtest.h>

#include <thread>

namespace gfxgraph::recorder {
namespace {

class LockOrderDeathTest : public ::testing::Test {
 protected:
  CheckedMutex<LockRank::kHandover> handover_;
  CheckedMutex<LockRank::kModel> model_;
  CheckedMutex<LockRank::kModel> other_model_;
  CheckedMutex<LockRank::kLast> last_;
};

TEST_F(LockOrderDeathTest, TheOrderIsAllowedAndAnyPartOfIt) {
  for (int again = 0; again < 2; ++again) {
    const std::lock_guard first(handover_);
    const std::lock_guard second(model_);
    const std::lock_guard third(last_);
  }
  const std::lock_guard first(handover_);
  const std::lock_guard second(last_);
}

TEST_F(LockOrderDeathTest, AnEarlierLockAfterALaterOne) {
  const std::lock_guard held(model_);
  EXPECT_DEATH(handover_.lock(), "lock 'handover' is taken while 'model' is held");
}

TEST_F(LockOrderDeathTest, TwoOfOneRank) {
  const std::lock_guard held(model_);
  EXPECT_DEATH(other_model_.lock(), "lock 'model' is taken while 'model' is held");
}

TEST_F(LockOrderDeathTest, AfterTheLaterOneIsGone) {
  {
    const std::lock_guard held(last_);
  }
  const std::lock_guard model(model_);
  EXPECT_DEATH(handover_.lock(), "'handover' is taken while 'model'");
}

// It waits for nobody, but what is taken behind it may.
TEST_F(LockOrderDeathTest, ATryMayComeInAnyOrderAndCountsAsHeld) {
  const std::lock_guard held(model_);
  ASSERT_TRUE(handover_.try_lock());
  EXPECT_DEATH(other_model_.lock(), "'model' is held");
  handover_.unlock();
}

TEST_F(LockOrderDeathTest, OtherThreadsHaveTheirOwn) {
  const std::lock_guard held(model_);
  std::thread([&] { const std::lock_guard other(handover_); }).join();
}

}  // namespace
}  // namespace gfxgraph::recorder

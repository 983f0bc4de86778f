#include "recorder/issuing.h"

#include <gtest/gtest.h>

#include <thread>

namespace gfxgraph::recorder {
namespace {

class IssuingTest : public ::testing::Test {
 protected:
  // What another thread finds when it may look.
  template <typename Found>
  void look(Found&& found) {
    std::thread([&] {
      std::unique_lock lock(mutex_);
      issuing_.wait(lock);
      found();
    }).join();
  }

  ModelMutex mutex_;
  Issuing issuing_{mutex_};
};

TEST_F(IssuingTest, OthersLookWhenTheCallIsOver) {
  bool done = false;
  bool seen = false;
  std::unique_lock lock(mutex_);
  Issuing::Call call = issuing_.begin();
  std::thread other([&] { look([&] { seen = done; }); });
  issuing_.wait(lock);  // not for its own call
  done = true;
  call.end();
  lock.unlock();
  other.join();
  EXPECT_TRUE(seen);
}

TEST_F(IssuingTest, ACallThatFailsEndsByItself) {
  {
    std::unique_lock lock(mutex_);
    const Issuing::Call call = issuing_.begin();
    lock.unlock();
  }
  bool is_long = true;
  look([&] { is_long = issuing_.long_one(); });
  EXPECT_FALSE(is_long);
}

TEST_F(IssuingTest, ALongCallIsWaitedForOnce) {
  std::unique_lock lock(mutex_);
  Issuing::Call call = issuing_.begin();
  EXPECT_FALSE(issuing_.long_one()) << "its own";
  lock.unlock();
  bool is_long = false;
  look([&] { is_long = issuing_.long_one(); });
  EXPECT_TRUE(is_long);
  look([&] { is_long = issuing_.long_one(); });
  EXPECT_TRUE(is_long);
  lock.lock();
  call.end();
  lock.unlock();
  look([&] { is_long = issuing_.long_one(); });
  EXPECT_FALSE(is_long);
}

}  // namespace
}  // namespace gfxgraph::recorder

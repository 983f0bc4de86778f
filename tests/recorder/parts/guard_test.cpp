#include "recorder/guard.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gfxgraph::recorder {
namespace {

class Noting final : public Guard::Owner {
 public:
  void ready() override {}
  void enter() override { said.push_back("enter"); }
  void leave() override { said.push_back("leave"); }
  void failed(const Error& error) noexcept override { said.push_back(error.message); }
  std::vector<std::string> said;
};

using Said = std::vector<std::string>;

TEST(Guard, OpensBeforeAMethodAndFollowsBehindIt) {
  Noting owner;
  Guard guard(owner);
  guard.locked([&] {
    owner.said.push_back("method");
    EXPECT_FALSE(guard.mutex().try_lock());
  });
  EXPECT_EQ(owner.said, (Said{"enter", "method", "leave"}));
  ASSERT_TRUE(guard.mutex().try_lock());
  guard.mutex().unlock();
}

TEST(Guard, TheFirstErrorEndsTheRecordingAndIsTheOnlyOneThatIsTold) {
  Noting owner;
  Guard guard(owner);
  guard.locked([&] {
    guard.unlocked([] { throw RecordingError{Error{Status::kIo, "disk"}}; });
    check(Result<void>(fail(Status::kIo, "what followed from it")));
  });
  EXPECT_FALSE(guard.active());
  guard.locked([&] { owner.said.push_back("method"); });
  guard.unlocked([&] { owner.said.push_back("method"); });
  EXPECT_EQ(owner.said, (Said{"enter", "disk"}));
  ASSERT_TRUE(guard.mutex().try_lock()) << "an error leaves the lock free";
  guard.mutex().unlock();
}

TEST(Guard, WhateverIsThrownBecomesAnError) {
  for (const auto& [thrown, told] : std::vector<std::pair<std::function<void()>, std::string>>{
           {[] { throw std::runtime_error("no memory"); }, "no memory"},
           {[] { throw 1; }, "unknown exception in the recorder"}}) {
    Noting owner;
    Guard guard(owner);
    guard.unlocked(thrown);
    EXPECT_EQ(owner.said, Said{told});
  }
}

// Another thread may end the recording between the question and the lock.
TEST(Guard, WhatIsStoppedMeanwhileCallsNoMethod) {
  class Stopping final : public Guard::Owner {
   public:
    void ready() override { (void)guard->stop(); }
    void enter() override { ADD_FAILURE(); }
    void leave() override { ADD_FAILURE(); }
    void failed(const Error&) noexcept override { ADD_FAILURE(); }
    Guard* guard = nullptr;
  } owner;
  Guard guard(owner);
  owner.guard = &guard;
  guard.locked([] { ADD_FAILURE(); });
  EXPECT_FALSE(guard.stop()) << "it was stopped";
}

TEST(Guard, MethodsOfSeveralThreadsFollowOneAnother) {
  Noting owner;
  Guard guard(owner);
  int inside = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        guard.locked([&] {
          EXPECT_EQ(inside++, 0);
          --inside;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace gfxgraph::recorder

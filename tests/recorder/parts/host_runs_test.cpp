// Host functions of a program, from their call to the moment at which the host knows that they ran.
#include "recorder/events/host_runs.h"

#include "tests/recorder/fake_device/recorder_fixture.h"

namespace gfxgraph::recorder {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class HostRunsTest : public ::testing::Test, private Guard::Owner {
 protected:
  void ready() override {}
  void enter() override {}
  void leave() override {}
  void failed(const Error& error) noexcept override { ADD_FAILURE() << error.message; }

  std::shared_ptr<HostCall> wrap(bool in_graph = false) {
    return runs_.wrap_host_function(nullptr, nullptr, in_graph);
  }

  Guard guard_{*this};
  Journal journal_{false};
  FakeState state_;
  FakeDevice device_{state_};
  DeviceFacts facts_;
  Options options_;
  Life life_;
  ByteStore store_;
  Allocations allocations_{journal_.lanes()};
  Flights flights_;
  HostRuns runs_{Core{guard_, journal_, device_, facts_, options_, life_}, store_, allocations_,
                 flights_};
};

TEST_F(HostRunsTest, AFunctionIsToldOfOnceInItsOrder) {
  const auto first = wrap(), second = wrap();
  Work work;
  runs_.will_run(work, {first, second}, nullptr);
  EXPECT_THAT(runs_.runs_to_come(), UnorderedElementsAre(work.first_run, work.first_run + 1));
  EXPECT_FALSE(runs_.any_ran());
  const HostRuns::HostRun run = runs_.host_function_runs(*first);
  EXPECT_EQ(run.token, work.first_run);
  EXPECT_TRUE(runs_.any_ran());
  EXPECT_EQ(runs_.issuing(run.token), &work);
  work.appended = true;
  runs_.issued(work, 7);
  EXPECT_EQ(runs_.issuing(run.token), nullptr);
  EXPECT_EQ(runs_.id_of(run.token), 7u);
  EXPECT_EQ(runs_.id_of(run.token + 1), 8u);
  EXPECT_THAT(runs_.take_ran(), ElementsAre(run.token));
  EXPECT_FALSE(runs_.any_ran());
  EXPECT_THAT(runs_.take_ran(), IsEmpty());
  EXPECT_THAT(runs_.runs_to_come(), UnorderedElementsAre(run.token, run.token + 1))
      << "the first one has not returned";
  runs_.host_function_ran(run);
  EXPECT_THAT(runs_.runs_to_come(), ElementsAre(run.token + 1));
  runs_.told(run.token);
  EXPECT_EQ(runs_.id_of(run.token), 0u);
}

TEST_F(HostRunsTest, WhatIsGivenBackComesFirst) {
  const auto call = wrap(true);
  Work work;
  runs_.will_run(work, {call, call}, nullptr);
  (void)runs_.host_function_runs(*call);
  const std::vector<uint64_t> ran = runs_.take_ran();
  (void)runs_.host_function_runs(*call);
  runs_.give_back_ran(ran);
  EXPECT_TRUE(runs_.any_ran());
  EXPECT_THAT(runs_.take_ran(), ElementsAre(work.first_run, work.first_run + 1));
}

TEST_F(HostRunsTest, ACallThatIsRefusedRunsNothing) {
  const auto call = wrap();
  {
    Work work;
    runs_.will_run(work, {call}, nullptr);
  }
  EXPECT_THAT(runs_.runs_to_come(), IsEmpty());
  EXPECT_EQ(runs_.host_function_runs(*call).token, 0u);
  EXPECT_FALSE(runs_.any_ran());
}

// Which of them runs is not known.
TEST_F(HostRunsTest, OfSeveralExecutablesOfOneGraphAllAreToldOf) {
  const auto call = wrap(true);
  int a = 0, b = 0;
  Work first, second;
  runs_.will_run(first, {call}, &a);
  runs_.will_run(second, {call}, &b);
  (void)runs_.host_function_runs(*call);
  EXPECT_THAT(runs_.take_ran(), ElementsAre(first.first_run, second.first_run));
}

TEST_F(HostRunsTest, ANodeStaysWhenItHasRun) {
  const auto call = wrap(true);
  Work work;
  runs_.will_run(work, {call}, nullptr);
  HostRuns::HostRun run = runs_.host_function_runs(*call);
  EXPECT_EQ(run.keep, call);
  runs_.host_function_ran(run);
  EXPECT_EQ(runs_.host_function_runs(*call).keep, call);
}

TEST_F(HostRunsTest, AFunctionThatIsNotTheRecordersIsNone) {
  HostCall unknown;
  EXPECT_EQ(runs_.host_function_runs(unknown).keep, nullptr);
}

}  // namespace
}  // namespace gfxgraph::recorder

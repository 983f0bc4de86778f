// The rules of stream capture, without HIP: streams, events and nodes are numbers.
#include "capture/captures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <set>
#include <thread>

#include "tests/support/allocations.h"

namespace gfxgraph::capture {
namespace {

Stream stream(uintptr_t number) { return reinterpret_cast<Stream>(number); }
Event event(uintptr_t number) { return reinterpret_cast<Event>(0x1000 + number); }
Node node(uintptr_t number) { return reinterpret_cast<Node>(0x2000 + number); }
const Graph kGraph = reinterpret_cast<Graph>(0x3000);

// Streams from 100 on do not wait for the null stream, nor it for them.
constexpr uintptr_t kFirstNonBlocking = 100;

class CapturesTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kThread = 1;
  static constexpr uint64_t kOther = 2;

  void begin(uintptr_t number, Mode mode = Mode::kGlobal, uint64_t thread = kThread) {
    ASSERT_EQ(captures_.begin(stream(number), mode, thread, kGraph, true, {}), Answer::kSuccess);
  }
  // Work on the stream becomes a node behind what the stream follows.
  void add(uintptr_t number, uintptr_t one) {
    Captures::Work work = captures_.work_on(stream(number));
    ASSERT_EQ(work.refused(), Answer::kSuccess);
    ASSERT_TRUE(work.captured());
    followed_.insert(work.after().begin(), work.after().end());
    work.made({node(one)});
  }
  Answer record(uintptr_t one, uintptr_t number) {
    Answer answer = Answer::kSuccess;
    captured_ = captures_.recorded(event(one), stream(number), answer);
    return answer;
  }
  Answer wait(uintptr_t number, uintptr_t one) {
    Answer answer = Answer::kSuccess;
    captured_ = captures_.waits(stream(number), event(one), answer);
    return answer;
  }
  Nodes after(uintptr_t number) {
    const auto known = captures_.info(stream(number)).after;
    return {known.begin(), known.end()};
  }
  Status status(uintptr_t number) { return captures_.info(stream(number)).status; }
  Captures::Ended end(uintptr_t number, uint64_t thread = kThread) {
    return captures_.end(stream(number), thread, [&](Node one) { return followed_.contains(one); });
  }

  Captures captures_{
      [](Stream one) { return reinterpret_cast<uintptr_t>(one) < kFirstNonBlocking; }};
  std::set<Node> followed_;  // nodes with dependents
  bool captured_ = false;    // by the last record() or wait()
};

TEST_F(CapturesTest, WorkFollowsTheStreamsLastNode) {
  EXPECT_FALSE(captures_.any());
  begin(1);
  EXPECT_TRUE(captures_.any());
  EXPECT_EQ(status(1), Status::kActive);
  EXPECT_EQ(status(2), Status::kNone);
  add(1, 1);
  EXPECT_EQ(after(1), Nodes{node(1)});
  add(1, 2);
  EXPECT_TRUE(followed_.contains(node(1)));
  const Captures::Ended ended = end(1);
  EXPECT_EQ(ended.answer, Answer::kSuccess);
  EXPECT_EQ(ended.graph, kGraph);
  EXPECT_FALSE(captures_.any());
  EXPECT_EQ(status(1), Status::kNone);
}

TEST_F(CapturesTest, OtherStreamsGiveTheirWorkToTheRuntime) {
  begin(1);
  const Captures::Work work = captures_.work_on(stream(2));
  EXPECT_FALSE(work.captured());
  EXPECT_EQ(work.refused(), Answer::kSuccess);
}

TEST_F(CapturesTest, AStreamThatWaitsForACapturedEventJoins) {
  begin(1);
  add(1, 1);
  EXPECT_EQ(record(1, 1), Answer::kSuccess);
  EXPECT_TRUE(captured_);
  EXPECT_EQ(wait(2, 1), Answer::kSuccess);
  EXPECT_EQ(status(2), Status::kActive);
  EXPECT_EQ(captures_.info(stream(2)).id, captures_.info(stream(1)).id);
  add(2, 2);
  EXPECT_EQ(record(2, 2), Answer::kSuccess);
  add(1, 3);
  EXPECT_EQ(wait(1, 2), Answer::kSuccess);
  EXPECT_EQ(after(1), (Nodes{node(3), node(2)}));  // after a join there are two
  EXPECT_EQ(end(1).answer, Answer::kSuccess);
  EXPECT_EQ(status(2), Status::kNone);
}

TEST_F(CapturesTest, AnEventHoldsWhatTheStreamFollowedWhenItWasRecorded) {
  begin(1);
  add(1, 1);
  record(1, 1);
  add(1, 2);
  wait(2, 1);
  EXPECT_EQ(after(2), Nodes{node(1)});
}

TEST_F(CapturesTest, WorkThatNobodyFollowsIsNotJoined) {
  begin(1);
  add(1, 1);
  record(1, 1);
  wait(2, 1);
  add(2, 2);
  const Captures::Ended ended = end(1);
  EXPECT_EQ(ended.answer, Answer::kUnjoined);
  EXPECT_TRUE(ended.over);
  EXPECT_EQ(status(1), Status::kNone);  // both are ordinary streams now
  EXPECT_EQ(status(2), Status::kNone);
}

TEST_F(CapturesTest, AForkWithoutWorkNeedsNoJoin) {
  begin(1);
  add(1, 1);
  record(1, 1);
  wait(2, 1);
  add(1, 2);
  EXPECT_EQ(end(1).answer, Answer::kSuccess);
}

TEST_F(CapturesTest, EndsOnlyWhereItBegan) {
  EXPECT_EQ(end(1).answer, Answer::kIllegalState);
  begin(1);
  add(1, 1);
  record(1, 1);
  wait(2, 1);
  EXPECT_EQ(end(2).answer, Answer::kUnmatched);
  EXPECT_EQ(end(1, kOther).answer, Answer::kWrongThread);
  EXPECT_EQ(status(1), Status::kActive);  // it goes on
  EXPECT_EQ(end(1).answer, Answer::kSuccess);
}

TEST_F(CapturesTest, ARelaxedOneEndsOnAnyThread) {
  begin(1, Mode::kRelaxed);
  EXPECT_EQ(end(1, kOther).answer, Answer::kSuccess);
}

TEST_F(CapturesTest, BeginsOnlyOnStreamsThatAreFree) {
  EXPECT_EQ(captures_.may_begin(nullptr), Answer::kUnsupported);
  begin(1);
  EXPECT_EQ(captures_.may_begin(stream(1)), Answer::kIllegalState);
  add(1, 1);
  record(1, 1);
  wait(2, 1);
  EXPECT_EQ(captures_.may_begin(stream(2)), Answer::kIllegalState);
  EXPECT_EQ(captures_.may_begin(stream(3)), Answer::kSuccess);
}

TEST_F(CapturesTest, CapturesOfTwoThreadsAreApart) {
  begin(1, Mode::kThreadLocal, kThread);
  begin(2, Mode::kThreadLocal, kOther);
  EXPECT_NE(captures_.info(stream(1)).id, captures_.info(stream(2)).id);
  EXPECT_EQ(captures_.unsafe(kOther), Answer::kUnsupported);
  EXPECT_EQ(status(1), Status::kActive);
  EXPECT_EQ(status(2), Status::kInvalidated);
  EXPECT_EQ(end(2, kOther).answer, Answer::kInvalidated);
  EXPECT_EQ(end(1).answer, Answer::kSuccess);
}

TEST_F(CapturesTest, CapturesAreNotMerged) {
  begin(1, Mode::kThreadLocal, kThread);
  begin(2, Mode::kThreadLocal, kOther);
  add(1, 1);
  record(1, 1);
  EXPECT_EQ(wait(2, 1), Answer::kMerge);
  EXPECT_EQ(status(2), Status::kInvalidated);
  EXPECT_EQ(status(1), Status::kActive);
}

TEST_F(CapturesTest, WorkFromOutsideIsNotFollowed) {
  EXPECT_EQ(record(1, 1), Answer::kSuccess);
  EXPECT_FALSE(captured_);
  begin(1);
  EXPECT_EQ(wait(1, 1), Answer::kIsolation);
  EXPECT_TRUE(captured_);
  EXPECT_EQ(end(1).answer, Answer::kInvalidated);
}

TEST_F(CapturesTest, AnInvalidOneTakesNoWork) {
  begin(1);
  add(1, 1);
  record(1, 1);
  EXPECT_EQ(captures_.waits_for_device(), Answer::kUnsupported);
  EXPECT_EQ(captures_.work_on(stream(1)).refused(), Answer::kInvalidated);
  EXPECT_EQ(record(2, 1), Answer::kInvalidated);
  EXPECT_EQ(wait(1, 1), Answer::kInvalidated);
  EXPECT_EQ(wait(2, 1), Answer::kInvalidated);
  EXPECT_EQ(status(2), Status::kNone);
  EXPECT_EQ(captures_.set_dependencies(stream(1), {}, true), Answer::kInvalidated);
  EXPECT_EQ(end(1).answer, Answer::kInvalidated);
  begin(1);  // the stream is as before
  EXPECT_EQ(end(1).answer, Answer::kSuccess);
}

TEST_F(CapturesTest, EventsOfACaptureCannotBeUsedOutside) {
  begin(1);
  add(1, 1);
  record(1, 1);
  EXPECT_EQ(end(1).answer, Answer::kSuccess);
  EXPECT_TRUE(captures_.any_event());
  EXPECT_EQ(captures_.event_used(event(1)), Answer::kCapturedEvent);
  EXPECT_EQ(wait(2, 1), Answer::kCapturedEvent);
  EXPECT_EQ(record(1, 2), Answer::kSuccess);  // an ordinary event again
  EXPECT_FALSE(captured_);
  EXPECT_EQ(captures_.event_used(event(1)), Answer::kSuccess);
  EXPECT_FALSE(captures_.any_event());
}

TEST_F(CapturesTest, QueryingACapturedEventEndsTheCapture) {
  begin(1);
  add(1, 1);
  record(1, 1);
  EXPECT_EQ(captures_.event_used(event(2)), Answer::kSuccess);  // others may be
  EXPECT_EQ(status(1), Status::kActive);
  EXPECT_EQ(captures_.event_used(event(1)), Answer::kCapturedEvent);
  EXPECT_EQ(status(1), Status::kInvalidated);
}

TEST_F(CapturesTest, DestroyedEventsAreForgotten) {
  begin(1);
  record(1, 1);
  captures_.event_destroyed(event(1));
  EXPECT_FALSE(captures_.any_event());
}

TEST_F(CapturesTest, TheNullStreamAndBlockingStreamsExcludeEachOther) {
  begin(1);
  EXPECT_EQ(captures_.info(nullptr).answer, Answer::kImplicit);
  EXPECT_EQ(status(1), Status::kActive);  // asking changes nothing
  EXPECT_EQ(captures_.work_on(nullptr).refused(), Answer::kImplicit);
  EXPECT_EQ(status(1), Status::kInvalidated);
  EXPECT_EQ(end(1).answer, Answer::kInvalidated);

  begin(kFirstNonBlocking);
  EXPECT_EQ(captures_.work_on(nullptr).refused(), Answer::kSuccess);
  EXPECT_EQ(captures_.info(nullptr).answer, Answer::kSuccess);
  EXPECT_EQ(end(kFirstNonBlocking).answer, Answer::kSuccess);
}

TEST_F(CapturesTest, UsingACapturingStreamEndsTheCapture) {
  begin(1, Mode::kRelaxed);
  EXPECT_EQ(captures_.stream_used(stream(2), kThread, true), Answer::kSuccess);
  EXPECT_EQ(captures_.stream_used(stream(1), kThread, false), Answer::kUnsupported);
  EXPECT_EQ(end(1).answer, Answer::kInvalidated);
}

// Who is refused a potentially unsafe call, by the capture's mode, whose thread it is, and the mode
// that the calling thread has given itself.
TEST_F(CapturesTest, UnsafeCallsAreRefusedByMode) {
  struct Row {
    Mode capture;
    bool own;
    Mode thread;
    bool refused;
  };
  constexpr Mode kG = Mode::kGlobal, kL = Mode::kThreadLocal, kR = Mode::kRelaxed;
  for (const Row& row :
       {Row{kG, true, kG, true}, Row{kG, true, kL, true}, Row{kG, true, kR, false},
        Row{kG, false, kG, true}, Row{kG, false, kL, false}, Row{kG, false, kR, false},
        Row{kL, true, kG, true}, Row{kL, true, kL, true}, Row{kL, true, kR, false},
        Row{kL, false, kG, false}, Row{kL, false, kL, false}, Row{kR, true, kG, false},
        Row{kR, true, kL, false}, Row{kR, false, kG, false}}) {
    begin(1, row.capture, row.own ? kThread : kOther);
    const Mode before = Captures::exchange_mode(row.thread);
    EXPECT_EQ(captures_.unsafe(kThread), row.refused ? Answer::kUnsupported : Answer::kSuccess)
        << static_cast<int>(row.capture) << row.own << static_cast<int>(row.thread);
    EXPECT_EQ(Captures::exchange_mode(before), row.thread);
    EXPECT_EQ(status(1), row.refused ? Status::kInvalidated : Status::kActive);
    (void)end(1, row.own ? kThread : kOther);
  }
}

TEST_F(CapturesTest, DependenciesAreSetAndAdded) {
  EXPECT_EQ(captures_.set_dependencies(stream(1), {}, true), Answer::kIllegalState);
  begin(1);
  add(1, 1);
  const Nodes more{node(7), node(1)};
  EXPECT_EQ(captures_.set_dependencies(stream(1), more, false), Answer::kSuccess);
  EXPECT_EQ(after(1), (Nodes{node(1), node(7)}));
  EXPECT_EQ(captures_.set_dependencies(stream(1), more, true), Answer::kSuccess);
  EXPECT_EQ(after(1), more);
}

TEST_F(CapturesTest, AGraphOfTheProgramsIsContinued) {
  ASSERT_EQ(captures_.begin(stream(1), Mode::kGlobal, kThread, kGraph, false, {node(5)}),
            Answer::kSuccess);
  EXPECT_EQ(after(1), Nodes{node(5)});
  add(1, 6);
  const Captures::Ended ended = end(1);
  EXPECT_EQ(ended.answer, Answer::kSuccess);
  EXPECT_FALSE(ended.graph_is_ours);
}

TEST_F(CapturesTest, ADestroyedStreamLeavesNothingBehind) {
  begin(1);
  add(1, 1);
  record(1, 1);
  wait(2, 1);
  EXPECT_EQ(captures_.destroyed(stream(3)), nullptr);  // of no capture
  EXPECT_EQ(status(1), Status::kActive);
  EXPECT_EQ(captures_.destroyed(stream(2)), nullptr);
  EXPECT_EQ(status(2), Status::kNone);
  EXPECT_EQ(end(1).answer, Answer::kInvalidated);
  begin(1);
  EXPECT_EQ(captures_.destroyed(stream(1)), kGraph);
  EXPECT_FALSE(captures_.any());
  // The program's own graph stays its own.
  ASSERT_EQ(captures_.begin(stream(1), Mode::kGlobal, kThread, kGraph, false, {}),
            Answer::kSuccess);
  EXPECT_EQ(captures_.destroyed(stream(1)), nullptr);
  EXPECT_FALSE(captures_.any());
}

// Whichever allocation fails, the call throws, and everything can be done again.
TEST_F(CapturesTest, EachAllocationMayFail) {
  int failed = 0;
  for (int64_t n = 1;; ++n) {
    bool reached = true;
    try {
      gfxgraph::testing::fail_allocation(n, gfxgraph::testing::OfThreads::kThis);
      if (status(1) == Status::kNone) begin(1);
      {
        Captures::Work work = captures_.work_on(stream(1));
        work.made({node(1)});
      }
      record(1, 1);
      wait(2, 1);
      const Nodes more{node(1), node(2)};
      (void)captures_.set_dependencies(stream(2), more, false);
      reached = gfxgraph::testing::stop_failing_allocations();
    } catch (const std::bad_alloc&) {
      (void)gfxgraph::testing::stop_failing_allocations();
      ++failed;
    }
    if (status(1) != Status::kNone) {
      captures_.event_destroyed(event(1));
      followed_ = {node(1), node(2)};
      EXPECT_EQ(end(1).answer, Answer::kSuccess) << n;
    }
    EXPECT_FALSE(captures_.any()) << n;
    EXPECT_EQ(status(2), Status::kNone) << n;
    if (!reached) break;
  }
  EXPECT_GE(failed, 8);
}

TEST_F(CapturesTest, ThreadsCaptureBesideEachOther) {
  constexpr uintptr_t kThreads = 4;
  constexpr uintptr_t kWork = 200;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (uintptr_t one = 1; one <= kThreads; ++one) {
    threads.emplace_back([&, one] {
      for (int round = 0; round < 20; ++round) {
        if (captures_.begin(stream(one), Mode::kThreadLocal, one, kGraph, true, {}) !=
            Answer::kSuccess) {
          return;
        }
        for (uintptr_t i = 0; i < kWork; ++i) {
          Captures::Work work = captures_.work_on(stream(one));
          if (i != 0 && (work.after().size() != 1 || work.after()[0] != node(one << 16 | (i - 1))))
            return;
          work.made({node(one << 16 | i)});
        }
        const auto ended = captures_.end(stream(one), one, [](Node) { return false; });
        if (ended.answer != Answer::kSuccess) return;
      }
      ++right;
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(right, kThreads);
}

}  // namespace
}  // namespace gfxgraph::capture

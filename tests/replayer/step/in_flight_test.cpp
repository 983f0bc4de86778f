// What a replay waits for, and streams and steps that go away while work is in flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay_fixture.h"

namespace gfxgraph::replayer::testing {
namespace {

class Waits : public ReplayTest {};

// Work of others on the device is no reason to wait, nor are their blocking streams.
TEST_F(Waits, OnlyItsOwnStreamsAreWaitedFor) {
  trace.stream(1);
  const auto a = trace.allocate(1 << 20);
  const auto b = trace.allocate_words({1, 2, 3, 4});
  trace.copy_to_device(b, std::vector<uint8_t>(16, 3), 1);
  launch_double(a, 1);
  launch_double(b, 1);
  trace.synchronize_device();
  trace.synchronize_stream(0);
  launch_double(b, 1);
  const auto program = trace.program();
  std::vector<uint32_t> mine(4);
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    fake.others_never_end = true;
    LoadOptions options;
    options.mode = mode;
    auto session = Session::load(program, fake.library(), options);
    ASSERT_TRUE(session) << session.error().message;
    auto step = Step::prepare(*session, program, options);
    ASSERT_TRUE(step) << step.error().message;
    expect_identical(**step);
    ASSERT_TRUE((*session)->bind({b, mine.data(), 16, false}));
    ASSERT_TRUE((*step)->restore());
    expect_identical(**step);
    EXPECT_TRUE(*(*step)->is_complete());
    fake.others_never_end = false;
  }
}

// A stream that its owner destroys behind a run: its work ends all the same, and is waited for.
TEST_F(Waits, AStreamThatIsDestroyedEarlyIsStillWaitedFor) {
  const auto a = trace.allocate_words({1, 2, 3, 4});
  launch_double(a);
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    {
      LoadOptions options;
      options.mode = mode;
      const auto replay = load(fake, program, options);
      ASSERT_NE(replay, nullptr);
      for (const bool restored : {false, true}) {
        hip::Stream theirs = nullptr;
        ASSERT_EQ(fake.table().hipStreamCreateWithFlags(&theirs, 0), 0);
        replay->set_stream(theirs);
        ASSERT_TRUE(replay->run());
        ASSERT_EQ(fake.table().hipStreamDestroy(theirs), 0);
        fake.destroyed = {theirs};
        if (restored) {
          ASSERT_TRUE(replay->restore()) << mode_name(mode);
        } else {
          EXPECT_TRUE(replay->is_complete()) << mode_name(mode);
          const auto waited = replay->wait();
          ASSERT_TRUE(waited) << waited.error().message;
          EXPECT_TRUE(StepCheck(*replay).verify()->identical_throughout());
        }
        // Its values may change, and it runs on another stream.
        const uint32_t words = 2;
        ASSERT_TRUE(replay->values().set_kernarg(0, 8, std::as_bytes(std::span(&words, 1))));
        ASSERT_TRUE(replay->commit());
        const uint32_t all = 4;
        ASSERT_TRUE(replay->values().set_kernarg(0, 8, std::as_bytes(std::span(&all, 1))));
        replay->set_stream(replay->own_stream().value());
        ASSERT_TRUE(replay->restore());
        expect_identical(*replay);
      }
      fake.destroyed.clear();
    }
    EXPECT_EQ(fake.alive(), 0u) << mode_name(mode);
  }
}

// As above, and the step goes away before anybody has waited for it.
TEST_F(Waits, AStepIsDestroyedInFlightOnADestroyedStream) {
  launch_double(trace.allocate(64));
  const auto program = trace.program();
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph}) {
    LoadOptions options;
    options.mode = mode;
    auto replay = load(fake, program, options);
    hip::Stream theirs = nullptr;
    ASSERT_EQ(fake.table().hipStreamCreateWithFlags(&theirs, 0), 0);
    replay->set_stream(theirs);
    ASSERT_TRUE(replay->run());
    ASSERT_EQ(fake.table().hipStreamDestroy(theirs), 0);
    fake.destroyed = {theirs};
    replay.reset();
    EXPECT_EQ(fake.alive(), 0u) << mode_name(mode);
    fake.destroyed.clear();
  }
}

}  // namespace
}  // namespace gfxgraph::replayer::testing

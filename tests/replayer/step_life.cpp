#include "step_life.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gfxgraph::replayer::testing {
namespace {

constexpr uint32_t kInput = 0, kFlagInput = 1, kOutput = 0;
constexpr uint32_t kStateBefore = 0x01010101, kStateAfter = 0x03030303;
constexpr uint64_t kHistoryBytes = 64 * 4;

}  // namespace

StepLife::StepLife(const StepTrace& recorded, gfxgraph_mode_t mode)
    : recorded_(recorded),
      path_(recorded.trace.path().string()),
      mode_(mode),
      history_(64),
      other_history_(64) {
  call_.reserve(64);
}

StepLife::~StepLife() {
  gfxgraph_step_destroy(step_);
  gfxgraph_session_destroy(session_);
  gfxgraph_trace_destroy(trace_);
}

template <typename Body>
void StepLife::then(const char* name, Body&& body) {
  if (status_ != GFXGRAPH_OK) return;
  status_ = body();
  call_ = name;
}

template <typename Body>
void StepLife::setup(const char* name, Body&& body) {
  if (status_ != GFXGRAPH_OK) return;
  state_.fill(kStateBefore);
  then(name, body);
  for (const uint32_t word : state_)
    EXPECT_EQ(word, kStateBefore) << name << " wrote memory of the caller";
}

gfxgraph_status_t StepLife::live() {
  make_handles();
  change_values();
  bind_others();
  run_as_recorded();
  return status_;
}

void StepLife::expect_usable() {
  if (call_ == "bind tail" && step_ != nullptr) expect_tail_is_followed();
  status_ = GFXGRAPH_OK;
  const std::string failed = call_;
  make_handles();
  run_as_recorded();
  EXPECT_EQ(status_, GFXGRAPH_OK) << "after a failure of " << failed << ", " << call_ << ": "
                                  << gfxgraph_last_error();
}

void StepLife::make_handles() {
  if (trace_ == nullptr)
    then("trace open", [&] { return gfxgraph_trace_open(path_.c_str(), nullptr, &trace_); });
  then("find range", [&] { return gfxgraph_trace_find_range(trace_, "step#1", &range_); });
  for (uint32_t i = 0; i < 2; ++i) {
    gfxgraph_parameter_t parameter{};
    parameter.struct_size = sizeof parameter;
    then("parameter", [&] { return gfxgraph_trace_parameter(trace_, range_, i, &parameter); });
    (parameter.buffer == 0 ? value_ : place_) = i;
  }
  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.layout = GFXGRAPH_LAYOUT_SHIFT;
  if (session_ == nullptr) {
    then("session create", [&] { return gfxgraph_session_create(trace_, &options, &session_); });
  }
  if (step_ == nullptr) {
    bind(recorded_.history, history_.data(), kHistoryBytes, GFXGRAPH_BIND_FILL);
    bind(recorded_.state, state_.data(), sizeof state_, 0);
    gfxgraph_step_options_t step = gfxgraph_step_options_default();
    step.mode = mode_;
    step.auto_milliseconds = 1;
    setup("step create", [&] { return gfxgraph_step_create(session_, range_, &step, &step_); });
  }
  then("stream", [&] { return gfxgraph_step_stream(step_, &stream_); });
}

void StepLife::bind(uint32_t buffer, void* memory, uint64_t size, uint32_t flags) {
  setup(buffer == recorded_.tail ? "bind tail" : "bind",
        [&] { return gfxgraph_session_bind(session_, buffer, memory, size, flags); });
}

// Five inputs in a row, of which four can be in flight; then a value of each kind.
void StepLife::change_values() {
  for (uint32_t n = 0; n < 5; ++n) {
    const std::array<uint32_t, 4> input = {n, n, n, n};
    then("set input",
         [&] { return gfxgraph_step_set_input(step_, kInput, input.data(), sizeof input); });
    then("set flag", [&] { return gfxgraph_step_set_input(step_, kFlagInput, &n, sizeof n); });
    then("advance", [&] { return gfxgraph_step_advance(step_, n); });
    then("run", [&] { return gfxgraph_step_run(step_, stream_); });
  }
  then("set output",
       [&] { return gfxgraph_step_set_output(step_, kOutput, output_.data(), sizeof output_); });
  then("set parameter", [&] { return gfxgraph_step_set_parameter(step_, value_, 77); });
  then("set parameter address",
       [&] { return gfxgraph_step_set_parameter_address(step_, place_, recorded_.history, 40); });
  gfxgraph_step_info_t info{};
  info.struct_size = sizeof info;
  then("info", [&] { return gfxgraph_step_info(step_, &info); });
  const uint32_t fill = info.first_launch + 1, changed = 99;
  then("set argument",
       [&] { return gfxgraph_step_set_argument(step_, fill, 8, &changed, sizeof changed); });
  then("set grid", [&] { return gfxgraph_step_set_grid(step_, fill, 2, 1, 1); });
  then("commit", [&] { return gfxgraph_step_commit(step_); });
  then("run", [&] { return gfxgraph_step_run(step_, stream_); });
  then("query", [&] { return gfxgraph_step_query(step_); });
  std::array<uint32_t, 4> read = {};
  then("read output",
       [&] { return gfxgraph_step_read_output(step_, kOutput, read.data(), sizeof read); });
  if (status_ != GFXGRAPH_OK) return;
  EXPECT_EQ(read, output_);
  EXPECT_EQ(history_[10], 99u);
}

// In place of memory of the library, and of what was bound before.
void StepLife::bind_others() {
  bind(recorded_.history, other_history_.data(), kHistoryBytes, GFXGRAPH_BIND_FILL);
  bind(recorded_.tail, tail_.data(), sizeof tail_, GFXGRAPH_BIND_FILL);
  bind(recorded_.flag, flag_.data(), sizeof flag_, GFXGRAPH_BIND_FILL);
  setup("restore", [&] { return gfxgraph_step_restore(step_); });
  const uint32_t word = 17;
  uint32_t back = 0;
  then("write",
       [&] { return gfxgraph_session_write(session_, recorded_.input, 4, &word, sizeof word); });
  then("read",
       [&] { return gfxgraph_session_read(session_, recorded_.input, 4, &back, sizeof back); });
  if (status_ == GFXGRAPH_OK) {
    EXPECT_EQ(back, word);
  }
}

void StepLife::run_as_recorded() {
  then("advance", [&] { return gfxgraph_step_advance(step_, 0); });
  gfxgraph_step_info_t info{};
  info.struct_size = sizeof info;
  then("info", [&] { return gfxgraph_step_info(step_, &info); });
  const uint32_t fill = info.first_launch + 1, value = 11, flag = 5;
  then("set argument",
       [&] { return gfxgraph_step_set_argument(step_, fill, 8, &value, sizeof value); });
  then("set grid", [&] { return gfxgraph_step_set_grid(step_, fill, 1, 1, 1); });
  std::array<uint8_t, 16> input;
  input.fill(2);
  then("set input",
       [&] { return gfxgraph_step_set_input(step_, kInput, input.data(), sizeof input); });
  then("set flag", [&] { return gfxgraph_step_set_input(step_, kFlagInput, &flag, sizeof flag); });
  then("unset output", [&] { return gfxgraph_step_set_output(step_, kOutput, nullptr, 0); });
  setup("restore", [&] { return gfxgraph_step_restore(step_); });
  then("run", [&] { return gfxgraph_step_run(step_, stream_); });
  then("wait", [&] { return gfxgraph_step_wait(step_); });
  std::array<uint32_t, 4> read = {};
  then("read output",
       [&] { return gfxgraph_step_read_output(step_, kOutput, read.data(), sizeof read); });
  if (status_ == GFXGRAPH_OK) {
    EXPECT_EQ(read[0], kStateAfter);
  }
  gfxgraph_verification_t result{};
  result.struct_size = sizeof result;
  then("verify", [&] { return gfxgraph_step_verify(step_, &result, nullptr, 0, 0); });
  if (status_ != GFXGRAPH_OK) return;
  EXPECT_EQ(result.identical, 7u);
  EXPECT_EQ(result.copies_identical, 1u);
  EXPECT_EQ(result.different + result.uncompared + result.copies_different, 0u);
}

// Bound or not: the words in memory lead to where the buffer is.
void StepLife::expect_tail_is_followed() {
  void* address = nullptr;
  EXPECT_EQ(gfxgraph_session_address(session_, recorded_.tail, &address), GFXGRAPH_OK);
  const std::vector<uint8_t> node = StepTrace::node(0, 70);
  std::ranges::copy(node, tail_.begin());
  EXPECT_EQ(gfxgraph_step_run(step_, stream_), GFXGRAPH_OK) << gfxgraph_last_error();
  uint32_t sum = 0;
  EXPECT_EQ(gfxgraph_session_read(session_, recorded_.sum, 0, &sum, sizeof sum), GFXGRAPH_OK);
  EXPECT_EQ(sum, address == tail_.data() ? 72u : 5u);
}

}  // namespace gfxgraph::replayer::testing

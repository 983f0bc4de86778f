// All that a product does with a step, by C handles: for tests in which one of the calls fails.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gfxgraph/gfxgraph.h"
#include "step_trace.h"

namespace gfxgraph::replayer::testing {

class StepLife {
 public:
  // `recorded`: two marked, linked iterations; the step is the second one, "step#1".
  StepLife(const StepTrace& recorded, gfxgraph_mode_t mode);
  ~StepLife();
  StepLife(const StepLife&) = delete;
  StepLife& operator=(const StepLife&) = delete;

  // Makes the handles, sets, binds, runs and reads; then a run as recorded, which is compared. Ends
  // with the first status that is not OK, and returns it.
  gfxgraph_status_t live();
  // After a failure, whose cause is gone: makes the handles that are missing, and a run as
  // recorded.
  void expect_usable();
  // The call that failed.
  const std::string& failed_call() const { return call_; }

 private:
  template <typename Body>
  void then(const char* name, Body&& body);
  // A call that must leave alone what the caller brought.
  template <typename Body>
  void setup(const char* name, Body&& body);
  void make_handles();
  void bind(uint32_t buffer, void* memory, uint64_t size, uint32_t flags);
  void change_values();
  void bind_others();
  void run_as_recorded();
  void expect_tail_is_followed();

  const StepTrace& recorded_;
  std::string path_;
  gfxgraph_mode_t mode_;
  gfxgraph_status_t status_ = GFXGRAPH_OK;
  std::string call_;
  gfxgraph_trace_t trace_ = nullptr;
  gfxgraph_session_t session_ = nullptr;
  gfxgraph_step_t step_ = nullptr;
  gfxgraph_range_t range_ = 0;
  uint32_t place_ = 0, value_ = 0;  // parameters
  void* stream_ = nullptr;
  // Memory of the caller.
  std::array<uint32_t, 4> state_ = {};
  std::vector<uint32_t> history_, other_history_;
  std::array<uint8_t, 16> tail_ = {}, flag_ = {};
  std::array<uint32_t, 4> output_ = {};
};

}  // namespace gfxgraph::replayer::testing

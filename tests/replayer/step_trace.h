// Iterations of a step, recorded on the fake HIP.
#pragma once

#include <vector>

#include "test_trace.h"

namespace gfxgraph::replayer::testing {

// In each iteration four numbers come from the host, are added to the state, and the state goes to
// the host; a flag in pinned memory is written by the host and doubled; the position is an
// argument.
class StepTrace {
 public:
  static constexpr uint32_t kRecorded = 3;

  // `marked`: iterations are ranges "step#0", ...; `linked`: each also follows a pointer in memory
  // from `list` to `tail`, and leaves the sum of both values. `goes_on`: the recorded process does.
  explicit StepTrace(FakeHip& fake, uint32_t iterations = kRecorded, bool marked = true,
                     bool linked = false, bool goes_on = false)
      : trace((add_test_kernels(fake), fake)) {
    trace.keep_memory = goes_on;
    input = named("input", trace.allocate(16));
    state = named("state", trace.allocate_words({0, 0, 0, 0}));
    history = named("history", trace.allocate(64 * 4));
    flag = named("flag", trace.allocate(16, {}, format::AllocationKind::kHostPinned));
    if (linked) {
      tail = named("tail", trace.allocate(16, node(0, 3)));
      list = named("list", trace.allocate(16, node(trace.address(tail), 2)));
      sum = named("sum", trace.allocate_words({0}));
    }
    for (uint32_t i = 0; i < iterations; ++i) {
      if (marked) trace.range_begins("step", i + 1, i);
      iterate(i);
      if (marked) trace.range_ends("step", i + 1);
    }
    trace.finish();
  }

  // What the kernel chase takes.
  static std::vector<uint8_t> node(uint64_t next, uint64_t value) {
    std::vector<uint8_t> bytes(16);
    std::memcpy(bytes.data(), &next, 8);
    std::memcpy(bytes.data() + 8, &value, 8);
    return bytes;
  }

  TestTrace trace;
  format::AllocationId input = 0, state = 0, history = 0, flag = 0;
  format::AllocationId tail = 0, list = 0, sum = 0;

 private:
  format::AllocationId named(const char* name, format::AllocationId id) {
    trace.name(id, name);
    return id;
  }
  void iterate(uint32_t i) {
    trace.copy_to_device(input, std::vector<uint8_t>(16, static_cast<uint8_t>(i + 1)));
    trace.launch("add", Arguments()
                            .value(trace.address(state))
                            .value(trace.address(input))
                            .value(trace.address(state))
                            .value(4u));
    trace.copy_to_host(state);
    trace.launch("fill", Arguments().value(trace.address(history) + 4 * i).value(i + 10).value(1u));
    if (list != 0)
      trace.launch("chase", Arguments().value(trace.address(list)).value(trace.address(sum)));
    trace.synchronize_device();
    trace.host_write(flag, 4, {5, 0, 0, 0});
    trace.launch("double", Arguments().value(trace.address(flag)).value(2u));
  }
};

}  // namespace gfxgraph::replayer::testing

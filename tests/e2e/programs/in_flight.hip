// A product with work of its own on the device while it replays, that has two steps in flight at
// the same time, and that lets go of streams and steps while their work is in flight.
// in_flight TRACE HALVES, where HALVES is what in_flight --record does, recorded.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "../../../include/gfxgraph/gfxgraph.hpp"
#include "../../../include/gfxgraph/record.h"
#include "../../../samples/sample.h"

namespace {

__global__ void spin(const volatile uint32_t* go_on) {
  while (*go_on == 0) {
  }
}

// A kernel that runs until it is told to end.
class Endless {
 public:
  explicit Endless(hipStream_t stream) : stream_(stream) {
    HIP_CHECK(hipHostMalloc(reinterpret_cast<void**>(&flag_), sizeof(uint32_t), 0));
    *flag_ = 0;
    spin<<<1, 1, 0, stream_>>>(flag_);
  }
  bool runs() const { return hipStreamQuery(stream_) == hipErrorNotReady; }
  void end() { *const_cast<volatile uint32_t*>(flag_) = 1; }

 private:
  hipStream_t stream_;
  uint32_t* flag_ = nullptr;
};

hipStream_t make_stream(unsigned flags) {
  hipStream_t stream = nullptr;
  HIP_CHECK(hipStreamCreateWithFlags(&stream, flags));
  return stream;
}

int failures = 0;
void require(bool holds, const char* what, const char* mode) {
  if (holds) return;
  std::printf("%s: %s\n", mode, what);
  ++failures;
}

bool identical(gfxgraph::Step& step) {
  const gfxgraph_verification_t result = step.verify();
  return result.different == 0 && result.copies_different == 0 && result.identical != 0;
}

// Loading, running, comparing, setting back: while a blocking stream of the product never gets done.
void beside_others(const gfxgraph::Trace& trace, gfxgraph_mode_t mode, const char* name) {
  // The trial of graph updates, once in a process, gives memory back, for which HIP waits.
  { const gfxgraph::Session first(trace); const gfxgraph::Step step(first, GFXGRAPH_RANGE_ALL, mode); }
  // Eager mode uses the null stream where the program did, and that waits for blocking streams.
  const hipStream_t theirs =
      make_stream(mode == GFXGRAPH_MODE_EAGER ? hipStreamNonBlocking : hipStreamDefault);
  Endless other(theirs);
  auto session = std::make_unique<gfxgraph::Session>(trace);
  auto step = std::make_unique<gfxgraph::Step>(*session, GFXGRAPH_RANGE_ALL, mode);
  for (int run = 0; run < 2; ++run) {
    step->run(step->stream());
    step->wait();
    require(identical(*step), "differs beside other work", name);
    step->restore();
  }
  require(other.runs(), "waited for the work of others", name);
  other.end();
  HIP_CHECK(hipStreamDestroy(theirs));
}

// A run behind work that ends later: whoever goes away first, it is waited for.
void let_go(const gfxgraph::Trace& trace, gfxgraph_mode_t mode, const char* name) {
  gfxgraph::Session session(trace);
  for (const bool stream_first : {true, false}) {
    auto step = std::make_unique<gfxgraph::Step>(session, GFXGRAPH_RANGE_ALL, mode);
    const hipStream_t mine = make_stream(hipStreamNonBlocking);
    Endless before(mine);
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      before.end();
    });
    step->run(mine);
    if (stream_first) {
      HIP_CHECK(hipStreamDestroy(mine));
      step->wait();
      require(identical(*step), "differs after its stream was destroyed", name);
      step->restore();
      step->run(step->stream());
      step->wait();
      require(identical(*step), "differs on another stream", name);
    } else {
      step.reset();
      require(hipStreamQuery(mine) == hipSuccess, "a step ended before its work", name);
      HIP_CHECK(hipStreamDestroy(mine));
    }
    later.join();
  }
  gfxgraph::Step again(session, GFXGRAPH_RANGE_ALL, mode);
  again.run(again.stream());
  again.wait();
  require(identical(again), "differs in a session that lost a step in flight", name);
}

constexpr unsigned kHalfCount = 64;

__global__ void grow(const unsigned* weights, unsigned* state, unsigned factor) {
  state[threadIdx.x] = 2 * state[threadIdx.x] + factor * weights[threadIdx.x];
}
constexpr unsigned kFactorOffset = 16;

// The recorded program of side_by_side(): two ranges that share what they only read.
int record_halves() {
  unsigned *weights, *states[2], ones[kHalfCount], result[kHalfCount];
  for (unsigned& one : ones) one = 1;
  HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&weights), sizeof(ones)));
  HIP_CHECK(hipMemcpy(weights, ones, sizeof(ones), hipMemcpyHostToDevice));
  for (unsigned*& state : states) {
    HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&state), sizeof(ones)));
    HIP_CHECK(hipMemset(state, 0, sizeof(ones)));
  }
  HIP_CHECK(hipDeviceSynchronize());
  for (unsigned* const state : states) {
    gfxgraph_range_begin("half");
    grow<<<1, kHalfCount>>>(weights, state, 1);
    HIP_CHECK(hipMemcpy(result, state, sizeof(result), hipMemcpyDeviceToHost));
    gfxgraph_range_end("half");
  }
  return sample::finish("halves", result[0] == 1 && result[kHalfCount - 1] == 1);
}

bool gave(gfxgraph::Step& step, unsigned expected) {
  unsigned result[kHalfCount] = {};
  step.read_output(0, result, sizeof(result));
  return result[0] == expected && result[kHalfCount - 1] == expected;
}

template <typename Call>
bool is_refused(Call&& call, const char* text) {
  try {
    call();
  } catch (const gfxgraph::Failure& failure) {
    return failure.status() == GFXGRAPH_UNSUPPORTED && std::strstr(failure.what(), text) != nullptr;
  }
  return false;
}

// Two steps of one session on two streams, of which one gets on while the other is held up.
void side_by_side(const gfxgraph::Trace& halves, gfxgraph_mode_t mode, const char* name) {
  gfxgraph::Session session(halves);
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = mode;
  options.keep_memory = 1;
  gfxgraph::Step first(session, halves.find_range("half#0"), options);
  gfxgraph::Step second(session, halves.find_range("half#1"), options);
  gfxgraph::Step again(session, halves.find_range("half#0"), options);
  const hipStream_t held = make_stream(hipStreamNonBlocking);
  const hipStream_t free = make_stream(hipStreamNonBlocking);
  // Eager mode waits for what its stream holds, and begins then.
  if (mode != GFXGRAPH_MODE_EAGER) {
    Endless before(held);
    first.run(held);
    second.run(free);
    require(gave(second, 1), "the second step gave something else", name);
    require(!first.is_complete(), "the first step did not wait for its stream", name);
    require(is_refused([&] { again.run(free); }, "nothing was submitted"),
            "steps that write the same memory ran side by side", name);
    before.end();
    require(gave(first, 1), "the first step gave something else", name);
  }
  HIP_CHECK(hipStreamDestroy(held));
  HIP_CHECK(hipStreamDestroy(free));
}

// Two steps that launch the same kernel from two threads, with values that change or stay. Calls that
// mix in the runtime do so in one of ten rounds.
void from_two_threads(const gfxgraph::Trace& halves, gfxgraph_mode_t mode, gfxgraph_mode_t other_mode,
                      bool changes, const char* name) {
  gfxgraph::Session session(halves);
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.keep_memory = 1;
  options.mode = mode;
  gfxgraph::Step first(session, halves.find_range("half#0"), options);
  options.mode = other_mode;
  gfxgraph::Step second(session, halves.find_range("half#1"), options);
  const hipStream_t streams[2] = {make_stream(hipStreamNonBlocking), make_stream(hipStreamNonBlocking)};
  for (int round = 0; round < 40; ++round) {
    unsigned expected[2] = {};
    const auto run = [&](gfxgraph::Step& step, unsigned which) {
      for (unsigned i = 0; i < 20; ++i) {
        // Now and then the same value again.
        const unsigned factor = changes ? (i + which) / 3 * 3 + round : 1;
        if (changes) step.set_argument(which, kFactorOffset, factor);
        step.run(streams[which]);
        if (i % 4 != 3) step.wait();
        expected[which] = 2 * expected[which] + factor;
      }
      step.wait();
    };
    std::thread other([&] { run(second, 1); });
    run(first, 0);
    other.join();
    require(gave(first, expected[0]) && gave(second, expected[1]), "differ from two threads", name);
    for (const uint64_t state : {2, 3})
      HIP_CHECK(hipMemset(session.address(state), 0, kHalfCount * sizeof(unsigned)));
    HIP_CHECK(hipDeviceSynchronize());
  }
  for (const hipStream_t stream : streams) HIP_CHECK(hipStreamDestroy(stream));
}

__global__ void set(unsigned* state, unsigned value) { state[threadIdx.x] = value; }
__global__ void take(const unsigned* state, unsigned* to) { to[threadIdx.x] = state[threadIdx.x]; }

// The stream's work before a run is done before it begins, and the run before the work behind it: of
// a run between a kernel that is held up and one that takes the result. Without fences it must go wrong.
void in_order(const gfxgraph::Trace& halves, gfxgraph_mode_t mode, const char* name) {
  if (mode == GFXGRAPH_MODE_EAGER) return;  // it waits for the store itself
  gfxgraph::Session session(halves);
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = mode;
  gfxgraph::Step step(session, halves.find_range("half#0"), options);
  auto* const state = static_cast<unsigned*>(session.address(2));
  unsigned* copied = nullptr;
  HIP_CHECK(hipHostMalloc(reinterpret_cast<void**>(&copied), kHalfCount * sizeof(unsigned), 0));
  const hipStream_t stream = make_stream(hipStreamNonBlocking);
  const auto rounds_in_order = [&](bool fenced) {
    int good = 0;
    for (unsigned round = 1; round <= 30; ++round) {
      Endless before(stream);
      set<<<1, kHalfCount, 0, stream>>>(state, round);
      if (fenced) {
        step.run(stream);
      } else {
        step.run_unfenced(stream);
      }
      take<<<1, kHalfCount, 0, stream>>>(state, copied);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      before.end();
      HIP_CHECK(hipStreamSynchronize(stream));
      good += copied[0] == 2 * round + 1 && copied[kHalfCount - 1] == 2 * round + 1;
      step.wait();
    }
    return good;
  };
  require(rounds_in_order(true) == 30, "runs out of the stream's order", name);
  if (mode == GFXGRAPH_MODE_PACKETS)
    require(rounds_in_order(false) == 0, "runs without fences were in order", name);
  HIP_CHECK(hipStreamDestroy(stream));
  HIP_CHECK(hipHostFree(copied));
}

// Nothing of a run comes into the graph that somebody captures.
void on_a_capturing_stream(const gfxgraph::Trace& trace, gfxgraph_mode_t mode, const char* name) {
  gfxgraph::Session session(trace);
  gfxgraph::Step step(session, GFXGRAPH_RANGE_ALL, mode);
  const hipStream_t stream = make_stream(hipStreamNonBlocking);
  HIP_CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  require(is_refused([&] { step.run(stream); }, "the stream is capturing"), "captured", name);
  hipGraph_t graph = nullptr;
  HIP_CHECK(hipStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  if (graph != nullptr) {
    HIP_CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
    HIP_CHECK(hipGraphDestroy(graph));
  }
  require(nodes == 0, "a part of a run was captured", name);
  step.run(stream);
  step.wait();
  require(identical(step), "differs after a capture", name);
  HIP_CHECK(hipStreamDestroy(stream));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--record") == 0) return record_halves();
  try {
    const gfxgraph::Trace trace(argv[1]);
    const gfxgraph::Trace halves(argv[2]);
    for (const auto& [mode, name] : {std::pair{GFXGRAPH_MODE_EAGER, "eager"},
                                     {GFXGRAPH_MODE_BATCH, "batch"},
                                     {GFXGRAPH_MODE_GRAPH, "graph"},
                                     {GFXGRAPH_MODE_PACKETS, "packets"}}) {
      beside_others(trace, mode, name);
      let_go(trace, mode, name);
      side_by_side(halves, mode, name);
      for (const bool changes : {false, true}) from_two_threads(halves, mode, mode, changes, name);
      in_order(halves, mode, name);
      on_a_capturing_stream(trace, mode, name);
    }
    for (const bool changes : {false, true}) {
      from_two_threads(halves, GFXGRAPH_MODE_GRAPH, GFXGRAPH_MODE_BATCH, changes, "graph and batch");
      from_two_threads(halves, GFXGRAPH_MODE_GRAPH, GFXGRAPH_MODE_EAGER, changes, "graph and eager");
    }
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  std::printf("in_flight: %s\n", failures == 0 ? "PASS" : "FAIL");
  return failures == 0 ? 0 : 1;
}

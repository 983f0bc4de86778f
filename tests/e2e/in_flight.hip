// A product with work of its own on the device while it replays, and that lets go of streams and
// steps while their work is in flight. in_flight TRACE
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "../../include/gfxgraph/gfxgraph.hpp"
#include "../../samples/sample.h"

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

}  // namespace

int main(int, char** argv) {
  try {
    const gfxgraph::Trace trace(argv[1]);
    for (const auto& [mode, name] : {std::pair{GFXGRAPH_MODE_EAGER, "eager"},
                                     {GFXGRAPH_MODE_BATCH, "batch"},
                                     {GFXGRAPH_MODE_GRAPH, "graph"}}) {
      beside_others(trace, mode, name);
      let_go(trace, mode, name);
    }
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  std::printf("in_flight: %s\n", failures == 0 ? "PASS" : "FAIL");
  return failures == 0 ? 0 : 1;
}

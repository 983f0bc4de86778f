// What programs with branches, loops, compositions and pipelines share.
#pragma once

#include <atomic>
#include <gfxgraph/flow.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "steps.h"

// A number in device memory that the host sets and reads.
struct Number {
  int* data = nullptr;
  explicit Number(int value) {
    OK(hipMalloc(&data, sizeof(int)));
    set(value);
  }
  ~Number() { OK(hipFree(data)); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  void set(int value) const { OK(hipMemcpy(data, &value, sizeof value, hipMemcpyHostToDevice)); }
  int now() const {
    int value = 0;
    OK(hipMemcpy(&value, data, sizeof value, hipMemcpyDeviceToHost));
    return value;
  }
};

inline void is(uint64_t got, uint64_t wanted, const std::string& what) {
  expect(got == wanted,
         what + ": " + std::to_string(got) + " instead of " + std::to_string(wanted));
}
inline void contains(const std::string& text, const std::string& word, const std::string& what) {
  expect(text.find(word) != std::string::npos, what + ": \"" + text + "\" lacks \"" + word + "\"");
}

struct Own : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// It throws what the caller's function threw, as it was.
inline void throws_own(const std::function<void()>& call, const std::string& what) {
  try {
    call();
  } catch (const Own&) {
    return;
  } catch (const std::exception& other) {
    return expect(false, what + ": another exception: " + other.what());
  }
  expect(false, what + ": no exception");
}

// A captured step, with all that it is made of.
struct Captured {
  gfxgraph::Trace trace;
  gfxgraph::Session session;
  gfxgraph::Step step;
  Captured(gfxgraph::Trace of, gfxgraph_mode_t mode)
      : trace(std::move(of)), session(trace), step(session, trace.find_range("step"), mode) {}
  Captured(hipStream_t stream, const std::function<void()>& work,
           gfxgraph_mode_t mode = GFXGRAPH_MODE_GRAPH)
      : Captured(captured(stream, work), mode) {}
};

// A step that adds a counter's value, which goes on from run to run as random state does: 10 in the
// captured run, 18, 26 and so on in those after it.
inline std::unique_ptr<Captured> drawing_step(hipStream_t stream, int* memory) {
  gfxgraph::Trace trace = captured(stream, [&] { launch(stream, memory, 10); });
  const gfxgraph_range_t range = trace.find_range("step");
  trace.name_parameter(range, "state", 8, {{0, 1, 0, 0}});
  return std::make_unique<Captured>(std::move(trace), GFXGRAPH_MODE_GRAPH);
}

// A call of the function that launches add().
inline gfxgraph::Piece adding(int* memory, int value, std::atomic<int>* calls = nullptr) {
  return gfxgraph::Piece([=](const gfxgraph_call_t& call) {
    if (calls != nullptr) ++*calls;
    launch(static_cast<hipStream_t>(call.hip_stream), memory, value);
  });
}

// A program that captures one step of itself and runs it again as a graph, in place: no recording,
// no file, no HIP capture. The step is a decoder's in small: the kernels read a table at the
// position, which is an argument, mix it into the state and append the result to a history.
//   gfxgraph run --capture-api -- captured_step
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <gfxgraph/gfxgraph.hpp>
#include <vector>

#define CHECK(call)                                                      \
  do {                                                                   \
    const hipError_t error = (call);                                     \
    if (error != hipSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error)); \
      return 1;                                                          \
    }                                                                    \
  } while (false)

constexpr int kSize = 256;
constexpr int kSteps = 64;

__global__ void mix(uint32_t* state, const uint32_t* table, int position) {
  const int i = static_cast<int>(threadIdx.x);
  state[i] = state[i] * 1664525u + table[(i + position) % kSize];
}
__global__ void append(const uint32_t* state, uint32_t* history, int position) {
  history[position * kSize + static_cast<int>(threadIdx.x)] = state[threadIdx.x];
}

struct Model {
  uint32_t *state = nullptr, *table = nullptr, *history = nullptr;
};

// The program's own step, as it was before it knew of gfxgraph.
static void decode(const Model& model, int position, hipStream_t stream) {
  mix<<<1, kSize, 0, stream>>>(model.state, model.table, position);
  append<<<1, kSize, 0, stream>>>(model.state, model.history, position);
}

int main() {
  Model model;
  CHECK(hipMalloc(&model.state, kSize * 4));
  CHECK(hipMalloc(&model.table, kSize * 4));
  CHECK(hipMalloc(&model.history, kSteps * kSize * 4));
  std::vector<uint32_t> table(kSize);
  for (int i = 0; i < kSize; ++i) table[i] = 2654435761u * static_cast<uint32_t>(i);
  CHECK(hipMemcpy(model.table, table.data(), kSize * 4, hipMemcpyHostToDevice));
  CHECK(hipMemset(model.state, 0, kSize * 4));
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));

  try {
    // Two positions are decoded while they are captured; what differs is the step's parameter.
    gfxgraph::Capture capture(stream);
    decode(model, 0, stream);
    capture.pause();
    capture.resume();
    decode(model, 1, stream);
    const gfxgraph::Trace trace = capture.end();

    const gfxgraph_range_t range = trace.find_range("step#1");
    for (const gfxgraph_parameter_t& found : trace.parameters(range))
      std::printf("parameter: %s, %u places\n", found.name, found.place_count);
    gfxgraph::Session session(trace);
    gfxgraph::Step step(session, range, GFXGRAPH_MODE_GRAPH);
    for (uint64_t position = 2; position < kSteps; ++position) {
      step.advance(position - 1);  // iterations behind the captured one
      step.run(stream);
    }
    step.wait();
  } catch (const gfxgraph::Failure& failure) {
    std::fprintf(stderr, "captured_step: %s\n", failure.what());
    return 1;
  }

  std::vector<uint32_t> history(kSteps * kSize), state(kSize, 0);
  CHECK(hipMemcpy(history.data(), model.history, history.size() * 4, hipMemcpyDeviceToHost));
  int wrong = 0;
  for (int position = 0; position < kSteps; ++position) {
    for (int i = 0; i < kSize; ++i) {
      state[i] = state[i] * 1664525u + table[(i + position) % kSize];
      wrong += history[position * kSize + i] != state[i] ? 1 : 0;
    }
  }
  std::printf("captured_step: %s: %d steps, %d captured, %d wrong values\n",
              wrong == 0 ? "PASS" : "FAIL", kSteps, 2, wrong);
  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(model.state));
  CHECK(hipFree(model.table));
  CHECK(hipFree(model.history));
  return wrong == 0 ? 0 : 1;
}

// Control flow over captured steps: branches, a loop, a composition and a pipeline. Each is
// compared with the host.
//   gfxgraph run --capture-api -- branches
#include <hip/hip_runtime.h>

#include <cstdio>
#include <gfxgraph/flow.hpp>
#include <stdexcept>
#include <vector>

constexpr int kNumbers = 256;
constexpr size_t kBytes = kNumbers * sizeof(float);

__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }
__global__ void add(float* x, float what) { x[threadIdx.x] += what; }
// Halves what is left, and says whether that is more than one.
__global__ void halve(float* x, int* more) {
  if (x[threadIdx.x] > 1.0f) x[threadIdx.x] /= 2;
  if (threadIdx.x == 0) *more = x[0] > 1.0f ? 1 : 0;
}
__global__ void square(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x];
}

static void check(hipError_t error, const char* what) {
  if (error != hipSuccess)
    throw std::runtime_error(std::string(what) + ": " + hipGetErrorString(error));
}

static hipStream_t stream_of(const gfxgraph_call_t& call) {
  return static_cast<hipStream_t>(call.hip_stream);
}

struct Numbers {
  float* data = nullptr;
  Numbers() { check(hipMalloc(&data, kBytes), "hipMalloc"); }
  ~Numbers() { (void)hipFree(data); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  void fill(float value) const {
    const std::vector<float> all(kNumbers, value);
    check(hipMemcpy(data, all.data(), kBytes, hipMemcpyHostToDevice), "hipMemcpy");
  }
  // How many are something else.
  int wrong(float value) const {
    std::vector<float> all(kNumbers);
    check(hipMemcpy(all.data(), data, kBytes, hipMemcpyDeviceToHost), "hipMemcpy");
    int count = 0;
    for (const float one : all) count += one != value ? 1 : 0;
    return count;
  }
};

// The host says which of two steps a run is.
static int run_branches(float* x, const Numbers& numbers, hipStream_t stream) {
  gfxgraph::Branches branches({
      {"grow", 1,
       [=](const gfxgraph_call_t& call) { scale<<<1, kNumbers, 0, stream_of(call)>>>(x, 3.0f); }},
      {"shrink", 2,
       [=](const gfxgraph_call_t& call) { add<<<1, kNumbers, 0, stream_of(call)>>>(x, -1.0f); }},
  });
  float expected = 2;
  numbers.fill(expected);
  for (const int64_t value : {1, 2, 2, 1, 1, 2}) {
    branches.run(value, stream);  // captured by the first run of each, a graph from then on
    expected = value == 1 ? expected * 3 : expected - 1;
  }
  check(hipStreamSynchronize(stream), "hipStreamSynchronize");
  std::printf("branches: %llu captures, grow %llu times as a graph\n",
              static_cast<unsigned long long>(branches.info(0).runs.captures +
                                              branches.info(1).runs.captures),
              static_cast<unsigned long long>(branches.info(0).runs.runs[GFXGRAPH_WAY_GRAPH]));
  return numbers.wrong(expected);
}

// The device says how often.
static int run_loop(float* x, const Numbers& numbers, hipStream_t stream) {
  int* more = nullptr;
  check(hipMalloc(&more, sizeof(int)), "hipMalloc");
  const int yes = 1;
  check(hipMemcpy(more, &yes, sizeof yes, hipMemcpyHostToDevice), "hipMemcpy");
  numbers.fill(1000);
  gfxgraph_loop_options_t options = gfxgraph_loop_options_default();
  options.flag = more;          // an int in device memory: as long as it is not zero
  options.read_every = 4;       // iterations between two looks at it
  options.max_iterations = 64;  // the guard
  uint64_t iterations = 0, reads = 0;
  {
    gfxgraph::Loop loop(
        [=](const gfxgraph_call_t& call) { halve<<<1, kNumbers, 0, stream_of(call)>>>(x, more); },
        options);
    const gfxgraph_loop_result_t result = loop.run(stream);
    iterations = result.iterations;
    reads = result.flag_reads;
  }
  std::printf("loop: %llu iterations, the flag was read %llu times\n",
              static_cast<unsigned long long>(iterations), static_cast<unsigned long long>(reads));
  check(hipFree(more), "hipFree");
  return numbers.wrong(1000.0f / 1024) + (iterations == 12 ? 0 : 1);
}

// Three captured steps become one graph: two beside each other, then one behind both.
static int run_composition(const Numbers& a, const Numbers& b, hipStream_t stream) {
  const auto captured = [&](float* x, float by) {
    gfxgraph::Capture capture(stream);
    scale<<<1, kNumbers, 0, stream>>>(x, by);
    return capture.end();
  };
  const gfxgraph::Trace first = captured(a.data, 2), second = captured(b.data, 5);
  gfxgraph::Capture capture(stream);
  add<<<1, kNumbers, 0, stream>>>(a.data, 1.0f);
  add<<<1, kNumbers, 0, stream>>>(b.data, 1.0f);
  const gfxgraph::Trace third = capture.end();
  const gfxgraph::Session of_first(first), of_second(second), of_third(third);
  const gfxgraph::Step one(of_first, first.find_range("step"), GFXGRAPH_MODE_GRAPH),
      two(of_second, second.find_range("step"), GFXGRAPH_MODE_GRAPH),
      three(of_third, third.find_range("step"), GFXGRAPH_MODE_GRAPH);
  check(hipStreamSynchronize(stream), "hipStreamSynchronize");  // what was captured is done, too
  a.fill(1);
  b.fill(1);
  gfxgraph::Composition all({{one.get(), 0, 0}, {two.get(), 0, 0}, {three.get(), 1, 0}});
  const bool one_graph = all.run(stream);
  check(hipStreamSynchronize(stream), "hipStreamSynchronize");
  std::printf("composition: three steps, %s\n",
              one_graph ? "one graph" : ("in order: " + all.reason()).c_str());
  return a.wrong(3) + b.wrong(6) + (one_graph ? 0 : 1);
}

// Two sets of buffers take turns: while one run computes, the next one's input is copied.
static int run_pipeline() {
  constexpr int kRuns = 10;
  float* memory = nullptr;  // pinned, so that copies are asynchronous
  check(hipHostMalloc(reinterpret_cast<void**>(&memory), 2 * kRuns * kBytes, 0), "hipHostMalloc");
  int wrong = 0;
  {
    gfxgraph::Pipeline pipeline(
        1, {{"in", kBytes, GFXGRAPH_TENSOR_INPUT, 0}, {"out", kBytes, GFXGRAPH_TENSOR_OUTPUT, 0}},
        [](const gfxgraph_call_t& call) {
          square<<<1, kNumbers, 0, stream_of(call)>>>(static_cast<const float*>(call.memory[0]),
                                                      static_cast<float*>(call.memory[1]));
        });
    pipeline.warm();
    for (int run = 0; run < kRuns; ++run) {
      float* const in = memory + 2 * run * kNumbers;
      for (int i = 0; i < kNumbers; ++i) in[i] = static_cast<float>(run + i);
      void* const both[] = {in, in + kNumbers};
      pipeline.submit(1, both);
    }
    for (int run = 0; run < kRuns; ++run) {
      pipeline.next();  // results come in the order of the runs
      const float* const out = memory + (2 * run + 1) * kNumbers;
      for (int i = 0; i < kNumbers; ++i)
        wrong += out[i] != static_cast<float>((run + i) * (run + i)) ? 1 : 0;
    }
    std::printf("pipeline: %d runs, at most %u in flight\n", kRuns, pipeline.info().most_in_flight);
  }
  check(hipHostFree(memory), "hipHostFree");
  return wrong;
}

static int run_all() {
  hipStream_t stream = nullptr;
  check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  const Numbers a, b;
  int wrong = run_branches(a.data, a, stream) + run_loop(a.data, a, stream);
  wrong += run_composition(a, b, stream) + run_pipeline();
  check(hipStreamDestroy(stream), "hipStreamDestroy");
  return wrong;
}

int main() {
  try {
    const int wrong = run_all();
    if (wrong != 0) std::printf("%d wrong values\n", wrong);
    std::printf("branches: %s\n", wrong == 0 ? "PASS" : "FAIL");
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "branches: %s\n", failure.what());
    return 1;
  }
}

// A small engine: a model of two layers is captured for two shapes, serves requests of two threads,
// and prints what it did. Each answer is compared with the host.
//   gfxgraph run --capture-api -- engine
#include <hip/hip_runtime.h>

#include <atomic>
#include <cstdio>
#include <gfxgraph/production.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

constexpr int kWidth = 64;
constexpr uint64_t kRow = kWidth * sizeof(int);
constexpr int kSmall = 4, kLarge = 16;  // rows of the two shapes

static void check(hipError_t error, const char* what) {
  if (error != hipSuccess)
    throw std::runtime_error(std::string(what) + ": " + hipGetErrorString(error));
}

// One layer: a row of `in` times the matrix, and no negative number.
__global__ void layer(const int* in, const int* matrix, int* out) {
  const int column = static_cast<int>(threadIdx.x), row = static_cast<int>(blockIdx.x);
  int sum = 0;
  for (int i = 0; i < kWidth; ++i) sum += in[row * kWidth + i] * matrix[i * kWidth + column];
  out[row * kWidth + column] = sum > 0 ? sum : 0;
}

static int weight(int which, int i) { return (i * (which + 3) + which) % 7 - 3; }

class Engine {
 public:
  // Captures both shapes on the stream, which outlives the engine.
  explicit Engine(hipStream_t stream)
      : pool_({kSmall, kLarge},
              {{"in", kRow, GFXGRAPH_TENSOR_INPUT, 0},
               {"hidden", kRow, GFXGRAPH_TENSOR_OUTPUT, 0},
               {"out", kRow, GFXGRAPH_TENSOR_OUTPUT, 0}},
              [this](const gfxgraph_call_t& call) { submit(call); }) {
    for (int which = 0; which < 2; ++which) {
      std::vector<int> values(kWidth * kWidth);
      for (int i = 0; i < kWidth * kWidth; ++i) values[i] = weight(which, i);
      check(hipMalloc(&weights_[which], kWidth * kRow), "hipMalloc");
      check(hipMemcpy(weights_[which], values.data(), kWidth * kRow, hipMemcpyHostToDevice),
            "hipMemcpy");
    }
    pool_.warm(stream);
  }
  ~Engine() {
    for (int* const one : weights_) (void)hipFree(one);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Any thread, on a stream of its own: asynchronous.
  gfxgraph_pool_result_t answer(int rows, void* const* memory, hipStream_t stream) {
    return pool_.run(static_cast<uint64_t>(rows), memory, stream, true);
  }
  void print() const {
    for (uint32_t bucket = 0; bucket < 2; ++bucket) {
      const gfxgraph_bucket_info_t info = pool_.info(bucket);
      std::printf("shape of %2llu rows: %llu requests, %llu as a graph, %llu rows of padding\n",
                  static_cast<unsigned long long>(info.size),
                  static_cast<unsigned long long>(info.submit.count),
                  static_cast<unsigned long long>(info.runs[GFXGRAPH_WAY_GRAPH]),
                  static_cast<unsigned long long>(info.padded_rows));
      std::printf("  submit p50 %.1f us, p99 %.1f us; end to end p50 %.1f us of %llu\n",
                  info.submit.p50_us, info.submit.p99_us, info.end_to_end.p50_us,
                  static_cast<unsigned long long>(info.end_to_end.count));
      // Nothing falls silently: a shape that does not run as a graph says why.
      if (info.way != GFXGRAPH_WAY_GRAPH)
        std::printf("  way %s: %s\n", gfxgraph_way_name(info.way), pool_.reason(bucket).c_str());
    }
  }
  uint64_t graphs() const { return pool_.info().runs[GFXGRAPH_WAY_GRAPH]; }

 private:
  void submit(const gfxgraph_call_t& call) const {
    const auto rows = static_cast<unsigned>(call.size);
    const auto stream = static_cast<hipStream_t>(call.hip_stream);
    int* const hidden = static_cast<int*>(call.memory[1]);
    layer<<<rows, kWidth, 0, stream>>>(static_cast<const int*>(call.memory[0]), weights_[0],
                                       hidden);
    layer<<<rows, kWidth, 0, stream>>>(hidden, weights_[1], static_cast<int*>(call.memory[2]));
    check(hipGetLastError(), "layer");
  }

  int* weights_[2] = {};
  gfxgraph::Pool pool_;
};

static std::vector<int> layer_on_host(const std::vector<int>& in, int which) {
  std::vector<int> out(in.size());
  for (size_t row = 0; row < in.size() / kWidth; ++row) {
    for (int column = 0; column < kWidth; ++column) {
      int sum = 0;
      for (int i = 0; i < kWidth; ++i)
        sum += in[row * kWidth + i] * weight(which, i * kWidth + column);
      out[row * kWidth + column] = sum > 0 ? sum : 0;
    }
  }
  return out;
}

// A client: requests of 1 to `most` rows, one after the other; how many numbers were wrong.
static int serve(Engine& engine, int most, int requests, hipStream_t stream) {
  int* memory[3] = {};
  for (int*& one : memory) check(hipMalloc(&one, most * kRow), "hipMalloc");
  int wrong = 0;
  for (int request = 0; request < requests; ++request) {
    const int rows = 1 + (request * 5) % most;
    std::vector<int> in(static_cast<size_t>(rows) * kWidth), out(in.size());
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<int>((i + static_cast<size_t>(request)) * 2654435761u >> 29);
    check(hipMemcpyAsync(memory[0], in.data(), rows * kRow, hipMemcpyHostToDevice, stream), "in");
    void* const tensors[] = {memory[0], memory[1], memory[2]};
    engine.answer(rows, tensors, stream);
    check(hipMemcpyAsync(out.data(), memory[2], rows * kRow, hipMemcpyDeviceToHost, stream), "out");
    check(hipStreamSynchronize(stream), "hipStreamSynchronize");
    const std::vector<int> wanted = layer_on_host(layer_on_host(in, 0), 1);
    for (size_t i = 0; i < out.size(); ++i) wrong += out[i] != wanted[i] ? 1 : 0;
  }
  for (int* const one : memory) check(hipFree(one), "hipFree");
  return wrong;
}

static int run_all() {
  constexpr int kRequests = 20;
  hipStream_t streams[2] = {};  // they outlive the engine
  for (hipStream_t& one : streams)
    check(hipStreamCreateWithFlags(&one, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  std::atomic<int> wrong{0};
  {
    Engine engine(streams[0]);
    const auto client = [&](int most, hipStream_t stream) {
      try {
        wrong += serve(engine, most, kRequests, stream);
      } catch (const std::exception& failure) {
        std::fprintf(stderr, "engine: %s\n", failure.what());
        ++wrong;
      }
    };
    std::thread small(client, kSmall, streams[0]), large(client, kLarge, streams[1]);
    small.join();
    large.join();
    engine.print();
    wrong += engine.graphs() == 2 * kRequests ? 0 : 1;
  }
  for (hipStream_t const one : streams) check(hipStreamDestroy(one), "hipStreamDestroy");
  return wrong;
}

int main() {
  try {
    const int wrong = run_all();
    std::printf("engine: %s\n", wrong == 0 ? "PASS" : "FAIL");
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "engine: %s\n", failure.what());
    return 1;
  }
}

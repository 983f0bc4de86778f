// What programs with pools share: work whose values depend on its padding, and runs that compare
// them.
#pragma once

#include <atomic>
#include <gfxgraph/production.hpp>
#include <memory>
#include <stdexcept>

#include "steps.h"

constexpr int kColumns = 32;
constexpr uint64_t kRow = kColumns * sizeof(int);
constexpr int kMost = 40;  // rows of the largest bucket

// Each number, times a weight, and the sum of its column over all rows: padding that is not zero
// changes every result.
__global__ void add_sums(const int* in, int* out, const int* weight, int rows) {
  const int column = static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int row = 0; row < rows; ++row) sum += in[row * kColumns + column];
  const int own = static_cast<int>(blockIdx.x) * kColumns + column;
  out[own] = in[own] * *weight + sum;
}
// In place: what a row holds is squared.
__global__ void square(int* rows) {
  const int own = static_cast<int>(blockIdx.x) * kColumns + static_cast<int>(threadIdx.x);
  rows[own] *= rows[own];
}

struct Weight {
  int* data = nullptr;
  explicit Weight(int value) {
    OK(hipMalloc(&data, sizeof(int)));
    OK(hipMemcpy(data, &value, sizeof value, hipMemcpyHostToDevice));
  }
  ~Weight() { OK(hipFree(data)); }
  Weight(const Weight&) = delete;
  Weight& operator=(const Weight&) = delete;
};

// Memory that kernels reach, of kMost rows and more.
struct Rows {
  int* data = nullptr;
  bool pinned;
  explicit Rows(bool on_host = false, int rows = 2 * kMost) : pinned(on_host) {
    if (pinned) {
      OK(hipHostMalloc(reinterpret_cast<void**>(&data), rows * kRow, 0));
    } else {
      OK(hipMalloc(&data, rows * kRow));
    }
  }
  ~Rows() { OK(pinned ? hipHostFree(data) : hipFree(data)); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
};

// What a caller of a pool has.
struct Model {
  std::unique_ptr<Weight> weight = std::make_unique<Weight>(3);
  int factor = 3;
  std::atomic<int> calls{0}, captured{0};
  std::atomic<uint64_t> last_size{0};
  std::function<void(const gfxgraph_call_t&)> before;  // the work

  void submit(const gfxgraph_call_t& call) {
    ++calls;
    captured += call.captured != 0 ? 1 : 0;
    last_size = call.size;
    if (before) before(call);
    const auto stream = static_cast<hipStream_t>(call.hip_stream);
    add_sums<<<static_cast<unsigned>(call.size), kColumns, 0, stream>>>(
        static_cast<const int*>(call.memory[0]), static_cast<int*>(call.memory[1]), weight->data,
        static_cast<int>(call.size));
    OK(hipGetLastError());
  }
};

inline const std::vector<uint64_t> kSizes = {4, 16, kMost};
inline const std::vector<gfxgraph_tensor_t> kTensors = {{"in", kRow, GFXGRAPH_TENSOR_INPUT, 0},
                                                        {"out", kRow, GFXGRAPH_TENSOR_OUTPUT, 0}};

inline gfxgraph::Pool pool_of(Model& model,
                              gfxgraph_pool_options_t options = gfxgraph_pool_options_default()) {
  return gfxgraph::Pool(
      kSizes, kTensors, [&model](const gfxgraph_call_t& call) { model.submit(call); }, options);
}

inline std::vector<int> numbers(int rows, int seed) {
  std::vector<int> result(static_cast<size_t>(rows) * kColumns);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<int>((i + 1) * 2654435761u % 1000) + seed;
  return result;
}

inline std::vector<int> expected(const std::vector<int>& in, int factor) {
  std::vector<int> result(in.size());
  for (int column = 0; column < kColumns; ++column) {
    int sum = 0;
    for (size_t i = column; i < in.size(); i += kColumns) sum += in[i];
    for (size_t i = column; i < in.size(); i += kColumns) result[i] = in[i] * factor + sum;
  }
  return result;
}

inline void compare(const std::vector<int>& got, const std::vector<int>& wanted,
                    const std::string& what) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (got[i] == wanted[i]) continue;
    return expect(false, what + ": number " + std::to_string(i) + " is " + std::to_string(got[i]) +
                             " instead of " + std::to_string(wanted[i]));
  }
}

// A run of n rows, whose outputs are compared, and the bytes behind them are untouched.
inline gfxgraph_pool_result_t check_run(gfxgraph::Pool& pool, const Model& model, int n,
                                        const Rows& in, const Rows& out, hipStream_t stream,
                                        bool timed = false) {
  const std::vector<int> given = numbers(n, n);
  OK(hipMemcpyAsync(in.data, given.data(), n * kRow, hipMemcpyDefault, stream));
  OK(hipMemsetAsync(out.data, 0x5a, (n + 1) * kRow, stream));
  void* const memory[] = {in.data, out.data};
  const gfxgraph_pool_result_t result = pool.run(static_cast<uint64_t>(n), memory, stream, timed);
  std::vector<int> got(static_cast<size_t>(n + 1) * kColumns);
  OK(hipMemcpyAsync(got.data(), out.data, (n + 1) * kRow, hipMemcpyDefault, stream));
  wait(stream);
  std::vector<int> wanted = expected(given, model.factor);
  wanted.resize(got.size(), 0x5a5a5a5a);
  compare(got, wanted, std::to_string(n) + " rows");
  return result;
}

inline void is(uint64_t got, uint64_t wanted, const std::string& what) {
  expect(got == wanted,
         what + ": " + std::to_string(got) + " instead of " + std::to_string(wanted));
}

inline void contains(const std::string& text, const std::string& word, const std::string& what) {
  expect(text.find(word) != std::string::npos, what + ": \"" + text + "\" lacks \"" + word + "\"");
}

inline uint64_t bucket_for(int n) { return n <= 4 ? 4 : n <= 16 ? 16 : kMost; }

// Work of any size up to 64 rows by three captured steps, for 4, 16 and 64 rows: a pool pads the
// rows of a run with zeros, runs the step of the bucket, and copies the rows out again.
//   gfxgraph run --capture-api -- buckets
#include <hip/hip_runtime.h>

#include <cstdio>
#include <gfxgraph/production.hpp>
#include <stdexcept>
#include <vector>

constexpr int kColumns = 64;

// Adds to each number the sum of its column over all rows: rows that are not zero beyond those of
// the run would change every result.
__global__ void add_sums(const int* in, int* out, int rows) {
  const int column = static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int row = 0; row < rows; ++row) sum += in[row * kColumns + column];
  const int own = static_cast<int>(blockIdx.x) * kColumns + column;
  out[own] = in[own] + sum;
}

static void check(hipError_t error, const char* what) {
  if (error != hipSuccess)
    throw std::runtime_error(std::string(what) + ": " + hipGetErrorString(error));
}

// The work for a size, over the buffers that the pool gives.
static void submit(const gfxgraph_call_t& call) {
  const auto* const in = static_cast<const int*>(call.memory[0]);
  auto* const out = static_cast<int*>(call.memory[1]);
  const auto rows = static_cast<unsigned>(call.size);
  const auto stream = static_cast<hipStream_t>(call.hip_stream);
  add_sums<<<rows, kColumns, 0, stream>>>(in, out, static_cast<int>(rows));
  check(hipGetLastError(), "add_sums");
}

// One run of n rows; how many of its numbers are wrong.
static int run(gfxgraph::Pool& pool, int n, int* in, int* out, hipStream_t stream) {
  std::vector<int> rows(static_cast<size_t>(n) * kColumns), got(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int>(i * 2654435761u >> 8);
  const size_t bytes = rows.size() * sizeof(int);
  check(hipMemcpyAsync(in, rows.data(), bytes, hipMemcpyHostToDevice, stream),
        "copy to the device");

  void* const memory[] = {in, out};
  pool.run(static_cast<uint64_t>(n), memory, stream);  // asynchronous, as a launch

  check(hipMemcpyAsync(got.data(), out, bytes, hipMemcpyDeviceToHost, stream), "copy to the host");
  check(hipStreamSynchronize(stream), "hipStreamSynchronize");
  int wrong = 0;
  for (int column = 0; column < kColumns; ++column) {
    unsigned sum = 0;
    for (int row = 0; row < n; ++row) sum += static_cast<unsigned>(rows[row * kColumns + column]);
    for (int row = 0; row < n; ++row) {
      const auto own = static_cast<unsigned>(rows[row * kColumns + column]);
      wrong += static_cast<unsigned>(got[row * kColumns + column]) != own + sum ? 1 : 0;
    }
  }
  return wrong;
}

static int run_all() {
  constexpr int kMost = 64;
  int *in = nullptr, *out = nullptr;
  hipStream_t stream = nullptr;
  check(hipMalloc(&in, kMost * kColumns * sizeof(int)), "hipMalloc");
  check(hipMalloc(&out, kMost * kColumns * sizeof(int)), "hipMalloc");
  check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
  int wrong = 0;
  {
    constexpr uint64_t kRow = kColumns * sizeof(int);
    gfxgraph::Pool pool(
        {4, 16, kMost},
        {{"in", kRow, GFXGRAPH_TENSOR_INPUT, 0}, {"out", kRow, GFXGRAPH_TENSOR_OUTPUT, 0}}, submit);
    pool.warm(stream);
    // Down, so that what a run leaves behind its rows is not zero.
    for (int n = kMost; n >= 1; --n) wrong += run(pool, n, in, out, stream);

    for (uint32_t bucket = 0; bucket < 3; ++bucket) {
      const gfxgraph_bucket_info_t info = pool.info(bucket);
      std::printf("bucket of %2llu rows: %llu runs as a graph, %llu rows, %llu of padding\n",
                  static_cast<unsigned long long>(info.size),
                  static_cast<unsigned long long>(info.runs[GFXGRAPH_WAY_GRAPH]),
                  static_cast<unsigned long long>(info.rows),
                  static_cast<unsigned long long>(info.padded_rows));
      // Nothing falls silently: a bucket that does not run as a graph says why.
      if (info.way != GFXGRAPH_WAY_GRAPH)
        std::printf("  way %s: %s\n", gfxgraph_way_name(info.way), pool.reason(bucket).c_str());
    }
    wrong += pool.info().runs[GFXGRAPH_WAY_GRAPH] == kMost ? 0 : 1;
  }
  check(hipStreamDestroy(stream), "hipStreamDestroy");
  check(hipFree(in), "hipFree");
  check(hipFree(out), "hipFree");
  return wrong;
}

int main() {
  try {
    const int wrong = run_all();
    std::printf("buckets: %s: 64 runs, %d wrong values\n", wrong == 0 ? "PASS" : "FAIL", wrong);
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "buckets: %s\n", failure.what());
    return 1;
  }
}

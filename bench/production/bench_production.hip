// What a pool (gfxgraph/production.h) adds to a run of its step: the call on the host, beside the
// bare step with the copies that the pool makes, in turns in one process. On a device that executes
// nothing:
//   GFXGRAPH_NULL_DEVICE=1 gfxgraph run --capture-api -- bench/bench_production [launches N]
#include <hip/hip_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gfxgraph/decode.hpp>
#include <memory>
#include <string>
#include <vector>

#include "replayer/production/bucket_counts.h"
#include "replayer/production/measure/stopwatch.h"

constexpr uint64_t kRow = 256;
constexpr uint64_t kRows = 16;
constexpr int kRounds = 41;
constexpr int kRuns = 50;  // in a round

static int launches = 20;

__global__ void kernel(float* out, const float* in, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i];
}

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("%s\n", hipGetErrorString(result));
  std::exit(1);
}

static void submit(const void* in, void* out, hipStream_t stream) {
  for (int i = 0; i < launches; ++i)
    kernel<<<4, 256, 0, stream>>>(static_cast<float*>(out), static_cast<const float*>(in), 64);
  check(hipGetLastError());
}
static void work(const gfxgraph_call_t& call) {
  submit(call.memory[0], call.memory[1], static_cast<hipStream_t>(call.hip_stream));
}

using Clock = std::chrono::steady_clock;
static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Row {
  std::string name;
  std::function<void()> run;
  bool waits = true;  // for the stream after each run
  std::vector<double> ns;
};

int main(int argc, char** argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "launches") == 0) launches = std::atoi(argv[++i]);
  }
  void *in = nullptr, *out = nullptr, *own_in = nullptr, *own_out = nullptr;
  for (void** one : {&in, &out, &own_in, &own_out}) check(hipMalloc(one, kRows * kRow));
  hipStream_t stream = nullptr;
  check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));

  gfxgraph::Capture capture(stream);
  submit(own_in, own_out, stream);
  const gfxgraph::Trace trace = capture.end();
  gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_GRAPH);

  const std::vector<gfxgraph_tensor_t> tensors = {{"in", kRow, GFXGRAPH_TENSOR_INPUT, 0},
                                                  {"out", kRow, GFXGRAPH_TENSOR_OUTPUT, 0}};
  void* const memory[] = {in, out};
  std::vector<std::unique_ptr<gfxgraph::Pool>> pools;
  const auto pool_of = [&](std::vector<uint64_t> sizes, const auto& change) -> gfxgraph::Pool& {
    gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
    change(options);
    pools.push_back(std::make_unique<gfxgraph::Pool>(sizes, tensors, work, options));
    pools.back()->warm(stream);
    return *pools.back();
  };
  const auto nothing = [](gfxgraph_pool_options_t&) {};
  gfxgraph::Pool& pool = pool_of({kRows}, nothing);
  std::vector<uint64_t> many;
  for (uint64_t i = 1; i <= 64; ++i) many.push_back(i < 64 ? i : 1024);
  many[15] = kRows;
  gfxgraph::Pool& routed = pool_of(many, nothing);
  gfxgraph::Pool& validated =
      pool_of({kRows}, [](gfxgraph_pool_options_t& one) { one.validate_every = 1u << 30; });
  gfxgraph::Pool& identified = pool_of(
      {kRows}, [](gfxgraph_pool_options_t& one) { one.safety = GFXGRAPH_SAFETY_FINGERPRINT; });
  gfxgraph::Pool& measured = pool_of({kRows}, [](gfxgraph_pool_options_t& one) {
    one.choose = GFXGRAPH_CHOOSE_MEASURED;
    one.measure_ways = 1u << GFXGRAPH_WAY_GRAPH;
    one.warm_measures = 1;
  });
  gfxgraph::Pool& shadow =
      pool_of({kRows}, [](gfxgraph_pool_options_t& one) { one.safety = GFXGRAPH_SAFETY_SHADOW; });
  gfxgraph::Pool& digested = pool_of({kRows}, [](gfxgraph_pool_options_t& one) { one.digest = 1; });
  gfxgraph_decode_options_t decode = gfxgraph_decode_options_default();
  decode.max_blocks = 16;
  decode.block_tokens = 16;
  gfxgraph::DecodePool decoder({kRows}, tensors, work, decode);
  decoder.warm(stream);
  const std::vector<int32_t> lengths(kRows, 100), table(kRows * 16, 1);
  int32_t *device_lengths = nullptr, *device_table = nullptr;
  check(hipMalloc(reinterpret_cast<void**>(&device_lengths), lengths.size() * 4));
  check(hipMalloc(reinterpret_cast<void**>(&device_table), table.size() * 4));
  gfxgraph_decode_run_t decode_run = gfxgraph_decode_run_default();
  decode_run.batch = kRows;
  decode_run.memory = memory;
  decode_run.hip_stream = stream;
  gfxgraph_decode_run_t on_device = decode_run;
  decode_run.lengths = lengths.data();
  decode_run.block_table = table.data();
  on_device.lengths = device_lengths;
  on_device.block_table = device_table;
  on_device.on_device = 1;

  const auto copy = [&](void* to, const void* from, size_t bytes) {
    check(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream));
  };
  const auto by_hand = [&](size_t padding) {
    copy(own_in, in, (kRows - padding) * kRow);
    if (padding != 0)
      check(hipMemsetAsync(static_cast<char*>(own_in) + (kRows - padding) * kRow, 0, padding * kRow,
                           stream));
    step.run(stream);
    copy(out, own_out, (kRows - padding) * kRow);
  };
  // As a bucket counts one.
  auto counts = std::make_unique<gfxgraph::replayer::BucketCounts>();
  const auto count_one = [&] {
    const gfxgraph::replayer::Stopwatch watch;
    gfxgraph::replayer::count_alone(counts->runs[GFXGRAPH_WAY_GRAPH]);
    gfxgraph::replayer::count_alone(counts->rows, kRows);
    gfxgraph::replayer::count_alone(counts->padded_rows, 3);
    counts->submit.add_alone(watch.nanoseconds());
  };
  Row rows[] = {
      {"step", [&] { step.run(stream); }},
      {"step and copies, by hand", [&] { by_hand(0); }},
      {"pool", [&] { pool.run(kRows, memory, stream); }},
      {"pool of 64 buckets", [&] { routed.run(kRows, memory, stream); }},
      {"validated, none due", [&] { validated.run(kRows, memory, stream); }},
      {"identity and fingerprint", [&] { identified.run(kRows, memory, stream); }},
      {"way chosen by measurement", [&] { measured.run(kRows, memory, stream); }},
      {"timed", [&] { pool.run(kRows, memory, stream, true); }},
      {"padded, by hand", [&] { by_hand(3); }},
      {"padded", [&] { pool.run(kRows - 3, memory, stream); }},
      {"decode pool, values on the device", [&] { decoder.run(on_device); }},
      {"decode pool, values of the host", [&] { decoder.run(decode_run); }},
      {"every run in the shadow", [&] { shadow.run(kRows, memory, stream); }},
      {"every run's outputs hashed", [&] { digested.run(kRows, memory, stream); }},
      {"statistics alone", count_one, false},
  };
  for (int round = 0; round < kRounds + 1; ++round) {
    for (Row& row : rows) {
      std::vector<double> ns;
      for (int i = 0; i < kRuns; ++i) {
        const auto start = Clock::now();
        row.run();
        ns.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
        if (row.waits) check(hipStreamSynchronize(stream));
      }
      if (round != 0) row.ns.push_back(median(ns));
    }
  }
  // What the clock itself takes.
  std::vector<double> empty;
  for (int i = 0; i < 1001; ++i) {
    const auto start = Clock::now();
    empty.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  const double clock = median(empty);
  const double bare = median(rows[0].ns) - clock, copies = median(rows[1].ns) - clock;
  std::printf("%d launches, ns of the call (medians of %d rounds of %d)\n%-36s %8s %9s %14s\n",
              launches, kRounds, kRuns, "", "ns", "to step", "to by hand ns");
  for (const Row& row : rows) {
    const double one = median(row.ns) - clock;
    std::printf("%-36s %8.0f %9.2f %14.0f\n", row.name.c_str(), one, one / bare, one - copies);
  }
  check(hipStreamSynchronize(stream));
  return 0;
}

// MIGraphX programs as steps that this process captures of itself and repeats as graphs: whole
// programs, whatever they hold. The first run of a shape is MIGraphX's own, is captured meanwhile
// and does its work once; later runs repeat what was captured.
//   gfxgraph run --capture-api -- migraphx_step
//
//   layers  batches of 1 to 16 rows by two programs, for 4 and 16 rows: a pool with two buckets
//   bound   a captured program over other memory of the caller, without copies
//   border  two programs in one step, between which the host works
//   branch  a program with a branch that the host takes: no step is right, and none is made
//   ways    a program of four kernels and one of one kernel: the way is measured
//   int4    weights of 4 bits: graph or eager, as the pool measures
//   gone    a program that was destroyed: its step refuses
//
// Each result is compared twice: its bytes with MIGraphX's own run of the same rows, its numbers
// with MIGraphX's target "ref" on the CPU. Without gfxgraph's hooks (gfxgraph run --
// migraphx_step) all runs are MIGraphX's own calls, with the same results.
#include <gfxgraph/record.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "programs.h"

// What the pool did by bucket, and why it did not run graphs.
static void print(const char* what, const gfxgraph::Pool& pool, size_t buckets) {
  for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
    const gfxgraph_bucket_info_t info = pool.info(bucket);
    std::printf("%s: bucket of %d rows:", what, static_cast<int>(info.size));
    for (uint32_t way = 0; way < GFXGRAPH_WAYS; ++way) {
      if (info.runs[way] != 0)
        std::printf(" %d %s,", static_cast<int>(info.runs[way]), gfxgraph_way_name(way));
    }
    std::printf(" %d rows of padding\n", static_cast<int>(info.padded_rows));
    const std::string reason = pool.reason(bucket);
    if (!reason.empty()) std::printf("%s: no graph: %s\n", what, reason.c_str());
  }
}

// ---- layers

static void layers(Programs& programs, hipStream_t stream, bool captures) {
  gfxgraph::Pool pool = programs.pool();
  const int before = programs.calls();
  std::vector<Request> requests;
  for (const size_t rows : {4, 4, 4, 3, 16, 11, 1, 16}) {
    const auto seed = static_cast<unsigned>(requests.size());
    requests.emplace_back(numbers(seed, rows * kWidth)).run(pool, stream);
  }
  HIP(hipStreamSynchronize(stream));
  const int calls = programs.calls() - before;
  print("layers", pool, programs.count());
  std::printf("layers: %zu runs, %d calls to MIGraphX\n", requests.size(), calls);
  if (captures) {
    const uint64_t graphs = requests.size() - 2;
    expect(calls == 2, "layers", "MIGraphX is called once for each bucket");
    expect(pool.info().runs[GFXGRAPH_WAY_GRAPH] == graphs, "layers", "other runs are graphs");
  }
  // Not before: an output is its caller's memory, whatever ran after it.
  for (const Request& one : requests) programs.compare(one.in, one.y.numbers(), stream, "layers");
}

// ---- bound

// Pointers as parameters: a pool copies, this does not. A run uses the memory that is bound when it
// is submitted.
static void bound(Programs& programs, hipStream_t stream) {
  const Request first(numbers(20, programs.least() * kWidth));
  gfxgraph_name(first.x.data(), "x");
  gfxgraph_name(first.y.data(), "y");
  gfxgraph::Capture capture(stream);
  programs.of(programs.least()).run(first.x.data(), first.y.data(), stream);
  const gfxgraph::Trace trace = capture.end();
  gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_GRAPH);
  std::vector<Request> others;
  for (unsigned seed = 21; seed < 24; ++seed) {
    const Request& one = others.emplace_back(numbers(seed, first.in.size()));
    session.bind(trace.find_buffer("x"), one.x.data(), one.x.bytes());
    session.bind(trace.find_buffer("y"), one.y.data(), one.y.bytes());
    step.run(stream);
  }
  step.wait();
  for (const Request& one : others) programs.compare(one.in, one.y.numbers(), stream, "bound");
  programs.compare(first.in, first.y.numbers(), stream, "bound");
  // A launch whose last workgroup is partial has no node: HIP's graphs cannot express it, and the
  // step launches it between graphs.
  const gfxgraph_step_info_t info = step.info();
  std::printf("bound: 1 capture, %zu runs over other memory: %u launches, %u graphs of %d nodes\n",
              others.size(), info.launches, info.graphs, static_cast<int>(info.graph_nodes));
}

// ---- border

// The host's part of a step: it makes the largest number of each row 1.
struct HostPart {
  float* rows;
  uint64_t count;
  int calls;
};
static int32_t scale(void* context, const gfxgraph_border_t* /*border*/) {
  auto& part = *static_cast<HostPart*>(context);
  ++part.calls;
  for (float* row = part.rows; row != part.rows + part.count * kWidth; row += kWidth) {
    const float most = *std::max_element(row, row + kWidth);
    std::for_each(row, row + kWidth, [most](float& number) { number /= most; });
  }
  return 0;
}

// That the host waits ends no capture: the wait becomes a border inside of the step. Runs wait
// there, call the host's part, and go on.
static void border(Programs& programs, hipStream_t stream) {
  const uint64_t rows = programs.least();
  Compiled& program = programs.of(rows);
  const Rows x(rows), middle(rows, true), y(rows);  // the host reaches what is in the middle
  HostPart part{static_cast<float*>(middle.data()), rows, 0};
  gfxgraph::Capture capture(stream);
  program.run(x.data(), middle.data(), stream);
  HIP(hipStreamSynchronize(stream));
  scale(&part, nullptr);
  program.run(middle.data(), y.data(), stream);
  const gfxgraph::Trace trace = capture.end();
  HIP(hipStreamSynchronize(stream));

  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = GFXGRAPH_MODE_GRAPH;
  options.border = scale;
  options.border_context = &part;
  const gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), options);
  for (unsigned seed = 30; seed < 33; ++seed) {
    const Numbers in = numbers(seed, rows * kWidth);
    HIP(hipMemcpy(x.data(), in.data(), x.bytes(), hipMemcpyHostToDevice));
    step.run(stream);
    step.wait();
    Numbers scaled = programs.own(in, stream);
    HostPart again{scaled.data(), rows, 0};
    scale(&again, nullptr);
    expect(same_bytes(middle.numbers(), scaled), "border", "the host's part has other bytes");
    programs.compare(scaled, y.numbers(), stream, "border");
  }
  expect(part.calls == 4, "border", "the host's part is called in each run");
  std::printf("border: 1 capture, %d runs of two programs and the host between\n", part.calls - 1);
}

// ---- branch

// MIGraphX copies the condition to the host, waits, and launches one of two kernels. A step would
// hold the branch that was taken when it was captured.
static void branch(hipStream_t stream, bool captures) {
  Programs programs(Model::kBranch, {4});
  gfxgraph::Pool pool = programs.pool();
  std::vector<Request> requests;
  for (unsigned run = 0; run < 6; ++run) {
    Numbers in = numbers(40 + run, programs.least() * kWidth);
    if (run % 2 == 1) std::ranges::for_each(in, [](float& number) { number = -std::abs(number); });
    requests.emplace_back(std::move(in)).run(pool, stream);
  }
  HIP(hipStreamSynchronize(stream));
  print("branch", pool, programs.count());
  for (const Request& one : requests) programs.compare(one.in, one.y.numbers(), stream, "branch");
  if (!captures) return;
  expect(pool.info().runs[GFXGRAPH_WAY_WORK] == 5, "branch", "MIGraphX runs all but the captured");
  expect(!pool.reason(0).empty(), "branch", "it is told why");
}

// ---- ways

// A run costs what the slower of host and device needs, in us: the median.
static double cost(const gfxgraph::Pool& pool) {
  const gfxgraph_bucket_info_t info = pool.info();
  return std::max(info.submit.p50_us, info.end_to_end.p50_us);
}

// A graph is not always the fastest way. One pool for each way, whose runs take turns, so that none
// has the quiet moments.
static void ways(const char* what, Programs& programs, hipStream_t stream, bool captures) {
  const uint32_t all[] = {GFXGRAPH_WAY_GRAPH, GFXGRAPH_WAY_BATCH, GFXGRAPH_WAY_EAGER,
                          GFXGRAPH_WAY_WORK};
  std::vector<gfxgraph::Pool> pools;
  for (const uint32_t way : all) {
    gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
    options.first_way = way;
    pools.push_back(programs.pool(options));
    pools.back().warm(stream);
    expect(!captures || pools.back().info(0).way == way, what, "the pool has this way");
  }
  const Request one(numbers(50, programs.least() * kWidth));
  for (int run = 0; run < 25; ++run) {
    for (gfxgraph::Pool& pool : pools) {
      one.run(pool, stream, true);
      HIP(hipStreamSynchronize(stream));
      programs.compare(one.in, one.y.numbers(), stream, what);
    }
  }
  std::printf("%s: us of a run:", what);
  for (const gfxgraph::Pool& pool : pools)
    std::printf(" %s %.0f,", gfxgraph_way_name(pool.info(0).way), cost(pool));
  gfxgraph::Pool& chosen = *std::ranges::min_element(pools, {}, cost);
  std::printf(" chosen: %s\n", gfxgraph_way_name(chosen.info(0).way));
  const Request other(numbers(51, one.in.size()));
  other.run(chosen, stream);
  HIP(hipStreamSynchronize(stream));
  programs.compare(other.in, other.y.numbers(), stream, what);
}

// ---- int4

// For one model a graph is slower than the calls that it stands for: which one is not known before.
// The pool measures both in its first runs, all of which count for the caller, and keeps one.
static void four_bits(hipStream_t stream, bool captures) {
  Programs programs(Model::kInt4, {4});
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.choose = GFXGRAPH_CHOOSE_MEASURED;
  options.measure_ways = 1u << GFXGRAPH_WAY_GRAPH | 1u << GFXGRAPH_WAY_EAGER;
  gfxgraph::Pool pool = programs.pool(options);
  const Request one(numbers(55, programs.least() * kWidth));
  for (int run = 0; run < 40; ++run) {
    one.run(pool, stream);
    HIP(hipStreamSynchronize(stream));
    programs.compare(one.in, one.y.numbers(), stream, "int4");
  }
  print("int4", pool, programs.count());
  if (!captures) return;
  const gfxgraph_bucket_info_t info = pool.info(0);
  expect(info.choice == GFXGRAPH_CHOICE_MADE, "int4", "the way is chosen");
  const auto spent = [&](uint32_t way) {
    return std::max(info.figures[way].submit_us, info.figures[way].end_to_end_us);
  };
  std::printf("int4: measured: graph %.0f us, eager %.0f us, chosen: %s\n",
              spent(GFXGRAPH_WAY_GRAPH), spent(GFXGRAPH_WAY_EAGER), gfxgraph_way_name(info.way));
}

// ---- gone

// A step uses the program's weights and kernels: without them it runs nothing.
static void gone(hipStream_t stream) {
  auto program = std::make_unique<Compiled>(Model::kLayers, 1, "gpu");
  const Request one(numbers(60, kWidth));
  gfxgraph::Capture capture(stream);
  program->run(one.x.data(), one.y.data(), stream);
  const gfxgraph::Trace trace = capture.end();
  const gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_GRAPH);
  step.run(stream);
  step.wait();
  program.reset();
  try {
    step.run(stream);
  } catch (const gfxgraph::Failure& failure) {
    expect(failure.status() == GFXGRAPH_NOT_FOUND, "gone", failure.what());
    std::printf("gone: %s\n", failure.what());
    return;
  }
  expect(false, "gone", "a step of a program that was destroyed ran");
}

// ---- all

// Whether the process can capture steps of itself, or why not.
static bool can_capture(hipStream_t stream) {
  try {
    const gfxgraph::Capture tried(stream);
    return true;
  } catch (const gfxgraph::Failure& failure) {
    std::printf("no steps: %s\n", failure.what());
    return false;
  }
}

static void run_all() {
  hipStream_t stream = nullptr;
  HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  const bool captures = can_capture(stream);
  Programs deep(Model::kLayers, {4, 16}), tiny(Model::kTiny, {4});
  layers(deep, stream, captures);
  branch(stream, captures);
  four_bits(stream, captures);
  if (captures) {
    bound(deep, stream);
    border(deep, stream);
    gone(stream);
  }
  ways("layers", deep, stream, captures);
  ways("tiny", tiny, stream, captures);
  HIP(hipStreamDestroy(stream));
}

int main() {
  try {
    run_all();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "migraphx_step: FAIL: %s\n", failure.what());
    return 1;
  }
  std::printf("migraphx_step: PASS\n");
  return 0;
}

// Pipelines: what overlapping runs leave, in which order, and what becomes of one that fails.
// flow_pipelines FORM
#include <cstring>
#include <mutex>

#include "flow.h"

namespace {

constexpr int kColumns = 32;
constexpr uint64_t kRow = kColumns * sizeof(int);
constexpr int kMost = 12;  // rows

const std::vector<gfxgraph_tensor_t> kTensors = {{"in", kRow, GFXGRAPH_TENSOR_INPUT, 0},
                                                 {"out", kRow, GFXGRAPH_TENSOR_OUTPUT, 0}};

// Each number times 3, and the sum of its column: padding that is not zero changes every result.
__global__ void add_sums(const int* in, int* out, int rows) {
  const int column = static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int row = 0; row < rows; ++row) sum += in[row * kColumns + column];
  const int own = static_cast<int>(blockIdx.x) * kColumns + column;
  out[own] = in[own] * 3 + sum;
}
void submit_sums(const gfxgraph_call_t& call) {
  add_sums<<<static_cast<unsigned>(call.size), kColumns, 0,
             static_cast<hipStream_t>(call.hip_stream)>>>(
      static_cast<const int*>(call.memory[0]), static_cast<int*>(call.memory[1]),
      static_cast<int>(call.size));
}

// Pinned memory for the inputs and outputs of one run.
struct Pinned {
  int *in = nullptr, *out = nullptr;
  Pinned() {
    OK(hipHostMalloc(reinterpret_cast<void**>(&in), (kMost + 1) * kRow, 0));
    OK(hipHostMalloc(reinterpret_cast<void**>(&out), (kMost + 1) * kRow, 0));
  }
  ~Pinned() {
    OK(hipHostFree(in));
    OK(hipHostFree(out));
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  std::vector<void*> prepare(int rows, int seed) {
    std::memset(out, 0x5a, (kMost + 1) * kRow);
    for (int i = 0; i < rows * kColumns; ++i) in[i] = i * 7 % 1000 + seed;
    return {in, out};
  }
  void check(int rows, const std::string& what) const {
    for (int column = 0; column < kColumns; ++column) {
      int sum = 0;
      for (int row = 0; row < rows; ++row) sum += in[row * kColumns + column];
      for (int row = 0; row < rows; ++row) {
        const int own = row * kColumns + column;
        expect(out[own] == in[own] * 3 + sum, what + ": number " + std::to_string(own));
      }
    }
    expect(out[rows * kColumns] == 0x5a5a5a5a, what + ": behind its rows");
  }
};

void values() {
  for (const uint32_t depth : {1u, 2u, 3u}) {
    constexpr int kRuns = 20;
    Pinned memory[kRuns];
    gfxgraph_pipeline_options_t options = gfxgraph_pipeline_options_default();
    options.depth = depth;
    gfxgraph::Pipeline pipeline(kMost, kTensors, submit_sums, options);
    const auto rows = [](int run) { return run % 2 == 0 ? kMost - run / 2 % kMost : 1 + run / 3; };
    for (int run = 0; run < kRuns; ++run) {
      is(pipeline.submit(static_cast<uint64_t>(rows(run)),
                         memory[run].prepare(rows(run), run).data()),
         static_cast<uint64_t>(run), "its number");
    }
    for (int run = 0; run < kRuns; ++run) {
      const gfxgraph_pipeline_result_t result = pipeline.next();
      is(result.number, static_cast<uint64_t>(run), "results come in order");
      is(result.way, run < static_cast<int>(depth) ? GFXGRAPH_WAY_CAPTURE : GFXGRAPH_WAY_GRAPH,
         "its way");
      memory[run].check(rows(run), "run " + std::to_string(run));
    }
    refuses(GFXGRAPH_NOT_FOUND, "all results were taken", [&] { pipeline.next(); }, "no run left");
    const gfxgraph_pipeline_info_t info = pipeline.info();
    is(info.runs.captures, depth, "captures");
    is(info.runs.runs[GFXGRAPH_WAY_GRAPH], kRuns - depth, "runs as graphs");
    is(info.device_bytes, depth * kMost * 2 * kRow, "device bytes");
    is(info.in_flight, 0, "runs in flight");
    is(info.untaken, 0, "results that nobody took");
    is(info.until_seen.count, kRuns, "times");
    expect(info.most_in_flight <= depth && info.most_in_flight > 0, "most in flight");
  }
}

// Flags in memory of the host that kernels reach.
struct Flags {
  volatile int* data = nullptr;
  Flags() {
    void* memory = nullptr;
    OK(hipHostMalloc(&memory, 64 * sizeof(int), hipHostMallocCoherent));
    data = static_cast<volatile int*>(memory);
    for (int i = 0; i < 64; ++i) data[i] = 0;
  }
  ~Flags() { OK(hipHostFree(const_cast<int*>(data))); }
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;
};

// Sets one flag and waits for another: numbers 0 and 1 of the input.
__global__ void meet(const int* in, int* out, volatile int* flags) {
  flags[in[0]] = 1;
  __threadfence_system();
  while (flags[in[1]] == 0) __builtin_amdgcn_s_sleep(8);
  out[0] = in[0] * 100 + in[1];
}

// Runs 0 and 1, 2 and 3, and so on wait for each other in their kernels: they end only if both are
// in flight at once. A warm-up's inputs of zeros wait for nothing.
void overlap() {
  constexpr int kRuns = 8;
  const Flags flags;
  Pinned memory[kRuns];
  gfxgraph::Pipeline pipeline(1, kTensors, [&](const gfxgraph_call_t& call) {
    meet<<<1, 1, 0, static_cast<hipStream_t>(call.hip_stream)>>>(
        static_cast<const int*>(call.memory[0]), static_cast<int*>(call.memory[1]), flags.data);
  });
  pipeline.warm();
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<void*> both = memory[run].prepare(1, 0);
    memory[run].in[0] = 2 + run;
    memory[run].in[1] = 2 + (run ^ 1);
    pipeline.submit(1, both.data());
  }
  for (int run = 0; run < kRuns; ++run) {
    is(pipeline.next().number, static_cast<uint64_t>(run), "in order");
    expect(memory[run].out[0] == (2 + run) * 100 + 2 + (run ^ 1), "run " + std::to_string(run));
  }
  is(pipeline.info().most_in_flight, 2, "two runs at once");
  is(pipeline.info().runs.runs[GFXGRAPH_WAY_GRAPH], kRuns, "as graphs");
}

// Nothing waits for ever: a run that is held up by the host holds up its set of buffers, and no
// more.
__global__ void wait_for_host(const int* in, int* out, volatile int* flags) {
  while (flags[in[0]] == 0) __builtin_amdgcn_s_sleep(8);
  out[0] = in[0] + 1000;
}
void back_pressure() {
  const Flags flags;
  Pinned memory[4];
  gfxgraph::Pipeline pipeline(1, kTensors, [&](const gfxgraph_call_t& call) {
    wait_for_host<<<1, 1, 0, static_cast<hipStream_t>(call.hip_stream)>>>(
        static_cast<const int*>(call.memory[0]), static_cast<int*>(call.memory[1]), flags.data);
  });
  flags.data[0] = 1;  // of the warm-up's zeros
  pipeline.warm();
  std::vector<std::vector<void*>> given;
  for (int run = 0; run < 4; ++run) {
    given.push_back(memory[run].prepare(1, 0));
    memory[run].in[0] = 1 + run;
  }
  expect(pipeline.try_submit(1, given[0].data()), "the first set");
  expect(pipeline.try_submit(1, given[1].data()), "the second set");
  expect(!pipeline.try_submit(1, given[2].data()), "no third one");
  is(pipeline.info().refusals, 1, "refusals");
  is(pipeline.info().in_flight, 2, "runs in flight");
  flags.data[2] = 1;  // the second run ends, and the first does not
  expect(!pipeline.try_submit(1, given[2].data()), "sets take turns");
  std::thread host([&] {
    while (pipeline.info().waits == 0) std::this_thread::yield();
    flags.data[1] = flags.data[3] = 1;
  });
  pipeline.submit(1, given[2].data());  // waits for the host
  host.join();
  is(pipeline.info().waits, 1, "waits");
  for (int run = 0; run < 3; ++run) {
    is(pipeline.next().number, static_cast<uint64_t>(run), "in order");
    expect(memory[run].out[0] == run + 1001, "run " + std::to_string(run));
  }
}

// Work that changes memory beside its tensors, in the order of the runs.
__global__ void append(const int* in, int* out, unsigned* state) {
  *state = *state * 31u + static_cast<unsigned>(in[0]);
  out[0] = static_cast<int>(*state);
}
void in_order() {
  constexpr int kRuns = 24;
  Pinned memory[kRuns];
  const Number state(1);
  gfxgraph_pipeline_options_t options = gfxgraph_pipeline_options_default();
  options.depth = 3;
  options.in_order = 1;
  gfxgraph::Pipeline pipeline(
      1, kTensors,
      [&](const gfxgraph_call_t& call) {
        const auto stream = static_cast<hipStream_t>(call.hip_stream);
        append<<<1, 1, 0, stream>>>(static_cast<const int*>(call.memory[0]),
                                    static_cast<int*>(call.memory[1]),
                                    reinterpret_cast<unsigned*>(state.data));
      },
      options);
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<void*> both = memory[run].prepare(1, 0);
    memory[run].in[0] = run * 17;
    pipeline.submit(1, both.data());
  }
  unsigned wanted = 1;
  for (int run = 0; run < kRuns; ++run) {
    pipeline.next();
    wanted = wanted * 31u + static_cast<unsigned>(run * 17);
    expect(memory[run].out[0] == static_cast<int>(wanted), "state of run " + std::to_string(run));
  }
}

// Behind the work of a stream of the caller.
void behind() {
  const Stream stream;
  const Buffer in, out;
  gfxgraph::Pipeline pipeline(kMost, kTensors, submit_sums);
  for (int round = 0; round < 4; ++round) {
    OK(hipMemsetAsync(in.data, 0, kBytes, stream));
    for (int i = 0; i < 20; ++i) launch(stream, in.data, round + 1);
    gfxgraph_pipeline_run_t run = gfxgraph_pipeline_run_default();
    void* const memory[] = {in.data, out.data};
    run.size = 4;
    run.memory = memory;
    run.behind_stream = 1;
    run.hip_stream = stream;
    pipeline.submit(run);
    pipeline.next();
    const int own = 20 * (round + 1);
    expect(out.now()[0] == own * 3 + own * 4, "round " + std::to_string(round));
  }
}

// What one run throws is that run's alone.
void exceptions() {
  constexpr int kRuns = 7;
  Pinned memory[kRuns];
  int calls = 0;
  gfxgraph_pipeline_options_t options = gfxgraph_pipeline_options_default();
  options.first_way = GFXGRAPH_WAY_WORK;
  gfxgraph::Pipeline pipeline(
      kMost, kTensors,
      [&](const gfxgraph_call_t& call) {
        if (calls++ % 3 == 1) throw Own("each third");
        submit_sums(call);
      },
      options);
  std::vector<int> accepted;
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<void*> both = memory[run].prepare(5, run);
    if (run % 3 == 1) {
      throws_own([&] { pipeline.submit(5, both.data()); }, "run " + std::to_string(run));
      expect(memory[run].out[0] == 0x5a5a5a5a, "its outputs are as they were");
    } else {
      is(pipeline.submit(5, both.data()), accepted.size(), "numbers of those that run");
      accepted.push_back(run);
    }
  }
  for (size_t i = 0; i < accepted.size(); ++i) {
    is(pipeline.next().number, i, "in order");
    memory[accepted[i]].check(5, "run " + std::to_string(accepted[i]));
  }
  is(pipeline.info().runs.work_failures, 2, "failures of the function");
  is(pipeline.info().runs.failures, 0, "other failures");
}

// One set's work cannot be captured: that one falls alone.
void failing_capture() {
  constexpr int kRuns = 8;
  Pinned memory[kRuns];
  std::atomic<int> captures{0};
  gfxgraph::Pipeline pipeline(kMost, kTensors, [&](const gfxgraph_call_t& call) {
    if (call.captured != 0 && captures++ == 0) {
      OK(hipMemsetAsync(call.memory[1], 1, kRow, static_cast<hipStream_t>(call.hip_stream)));
      wait(static_cast<hipStream_t>(call.hip_stream));  // the host acts in its middle
    }
    submit_sums(call);
  });
  for (int run = 0; run < kRuns; ++run) pipeline.submit(3, memory[run].prepare(3, run).data());
  for (int run = 0; run < kRuns; ++run) {
    const gfxgraph_pipeline_result_t result = pipeline.next();
    memory[run].check(3, "run " + std::to_string(run));
    if (run < 2) continue;
    is(result.way, run % 2 == 0 ? GFXGRAPH_WAY_WORK : GFXGRAPH_WAY_GRAPH, "its way");
    is(result.fall, run % 2 == 0 ? GFXGRAPH_FALL_PREPARE : GFXGRAPH_FALL_NONE, "its reason");
  }
  contains(pipeline.reason(0), "the host acted", "the reason");
  expect(pipeline.reason(1).empty(), "none of the other set");
}

// Runs in flight when it is destroyed are done.
void drained() {
  constexpr int kRuns = 6;
  Pinned memory[kRuns];
  {
    gfxgraph::Pipeline pipeline(kMost, kTensors, submit_sums);
    for (int run = 0; run < kRuns; ++run) pipeline.submit(9, memory[run].prepare(9, run).data());
  }
  for (int run = 0; run < kRuns; ++run) memory[run].check(9, "run " + std::to_string(run));
}

// Results that nobody takes: refused at a bound that is documented.
void untaken() {
  Pinned memory;
  gfxgraph_pipeline_options_t options = gfxgraph_pipeline_options_default();
  options.first_way = GFXGRAPH_WAY_WORK;
  gfxgraph::Pipeline pipeline(kMost, kTensors, submit_sums, options);
  const std::vector<void*> both = memory.prepare(1, 0);
  for (int run = 0; run < GFXGRAPH_PIPELINE_RESULTS; ++run) pipeline.submit(1, both.data());
  refuses(GFXGRAPH_NOT_READY, "not taken", [&] { pipeline.submit(1, both.data()); }, "one more");
  pipeline.next();
  is(pipeline.submit(1, both.data()), GFXGRAPH_PIPELINE_RESULTS, "room again");
  for (int run = 0; run < GFXGRAPH_PIPELINE_RESULTS; ++run) pipeline.next();
  memory.check(1, "the last run");
}

// Four threads submit, two take results, and two read counts.
void threads() {
  constexpr int kSubmitting = 4, kRuns = 12;
  Pinned memory[kSubmitting * kRuns];
  gfxgraph::Pipeline pipeline(kMost, kTensors, submit_sums);
  std::atomic<bool> done{false};
  std::atomic<int> taken{0};
  std::vector<std::thread> all, readers;
  for (int thread = 0; thread < kSubmitting; ++thread) {
    all.emplace_back([&, thread] {
      for (int run = 0; run < kRuns; ++run) {
        const int own = thread * kRuns + run;
        pipeline.submit(1 + own % kMost, memory[own].prepare(1 + own % kMost, own).data());
      }
    });
  }
  for (int thread = 0; thread < 2; ++thread) {
    all.emplace_back([&] {
      while (taken < kSubmitting * kRuns) {
        gfxgraph_pipeline_result_t result{};
        result.struct_size = sizeof result;
        const gfxgraph_status_t status = gfxgraph_pipeline_next(pipeline.get(), &result);
        if (status == GFXGRAPH_OK) ++taken;
        expect(status == GFXGRAPH_OK || status == GFXGRAPH_NOT_FOUND, gfxgraph_last_error());
        if (status != GFXGRAPH_OK) std::this_thread::yield();
      }
    });
    readers.emplace_back([&] {
      gfxgraph::Flow flow;
      flow.pipelines = {pipeline.get()};
      while (!done) {
        const gfxgraph_pipeline_info_t info = pipeline.info();
        expect(info.in_flight <= 2 && info.untaken <= kSubmitting * kRuns, "counts of a reader");
        contains(flow.metrics(), "gfxgraph_flow_pipeline_waits_total{", "metrics of a reader");
      }
    });
  }
  for (std::thread& one : all) one.join();
  done = true;
  for (std::thread& one : readers) one.join();
  is(static_cast<uint64_t>(taken), kSubmitting * kRuns, "results");
  for (int own = 0; own < kSubmitting * kRuns; ++own)
    memory[own].check(1 + own % kMost, "run " + std::to_string(own));
}

void misuse() {
  Pinned memory;
  const std::vector<void*> both = memory.prepare(1, 0);
  const auto refused = [&](gfxgraph_status_t status,
                           const std::function<void(gfxgraph_pipeline_options_t&)>& change,
                           const char* word) {
    gfxgraph_pipeline_options_t options = gfxgraph_pipeline_options_default();
    change(options);
    refuses(status, word,
            [&] { gfxgraph::Pipeline one(kMost, kTensors, submit_sums, options); }, word);
  };
  refused(GFXGRAPH_INVALID_ARGUMENT, [](gfxgraph_pipeline_options_t& one) { one.depth = 0; },
          "depth is not from 1 to 16");
  refused(GFXGRAPH_INVALID_ARGUMENT, [](gfxgraph_pipeline_options_t& one) { one.depth = 17; },
          "depth is not from 1 to 16");
  refused(GFXGRAPH_INVALID_ARGUMENT, [](gfxgraph_pipeline_options_t& one) { one.in_order = 2; },
          "in_order");
  refused(GFXGRAPH_OUT_OF_MEMORY,
          [](gfxgraph_pipeline_options_t& one) { one.max_device_bytes = 3 * kMost * kRow; },
          "set 1 of buffers");
  gfxgraph::Pipeline pipeline(kMost, kTensors, submit_sums);
  refuses(GFXGRAPH_INVALID_ARGUMENT, "13 rows", [&] { pipeline.submit(kMost + 1, both.data()); },
          "more rows than there are");
  refuses(GFXGRAPH_INVALID_ARGUMENT, "0 rows", [&] { pipeline.submit(0, both.data()); }, "no rows");
  void* const nothing[] = {memory.in, nullptr};
  refuses(GFXGRAPH_INVALID_ARGUMENT, "out has no memory", [&] { pipeline.submit(1, nothing); },
          "no memory");
  refuses(GFXGRAPH_NOT_FOUND, "set 2", [&] { pipeline.reason(2); }, "a set too many");
  is(pipeline.submit(1, both.data()), 0, "what was refused has no number");
  pipeline.next();
  memory.check(1, "the first run");
}

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"values", values},
                   {"overlap", overlap},
                   {"back_pressure", back_pressure},
                   {"in_order", in_order},
                   {"behind", behind},
                   {"exceptions", exceptions},
                   {"failing_capture", failing_capture},
                   {"drained", drained},
                   {"untaken", untaken},
                   {"threads", threads},
                   {"misuse", misuse}});
}

// Pools of captured steps by size: what their outputs hold, which way runs go, and why. pools FORM
#include "pools.h"

#include <cstdio>
#include <thread>

namespace {

void values() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model);
  pool.warm(stream);
  is(static_cast<uint64_t>(model.captured), 3, "captures of a warm pool");
  uint64_t padded = 0, rows = 0;
  // Large and small by turns: what a larger run left must not be padding.
  for (int i = 0; i < kMost; ++i) {
    const int n = i % 2 == 0 ? kMost - i / 2 : 1 + i / 2;
    const gfxgraph_pool_result_t result = check_run(pool, model, n, in, out, stream);
    is(result.way, GFXGRAPH_WAY_GRAPH, "way of a warm run");
    is(result.bucket_size, bucket_for(n), "bucket");
    padded += bucket_for(n) - static_cast<uint64_t>(n);
    rows += static_cast<uint64_t>(n);
  }
  const gfxgraph_bucket_info_t all = pool.info();
  is(all.runs[GFXGRAPH_WAY_GRAPH], kMost, "runs as graphs");
  is(all.captures, 3, "captures");
  is(all.rows, rows, "rows");
  is(all.padded_rows, padded, "padded rows");
  is(all.padded_bytes, padded * 2 * kRow, "padded bytes");
  is(all.submit.count, kMost, "submits");
  expect(all.submit.p50_us > 0 && all.submit.p50_us <= all.submit.p90_us &&
             all.submit.p90_us <= all.submit.p99_us && all.submit.p99_us <= all.submit.max_us,
         "percentiles");
  is(all.device_bytes, 2 * kRow * (4 + 16 + kMost), "device bytes");
  is(pool.info(0).runs[GFXGRAPH_WAY_GRAPH], 4, "runs of the first bucket");
  is(static_cast<uint64_t>(model.calls), 3, "calls of the function");
}

void lazy() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model);
  is(pool.info().device_bytes, 0, "bytes before the first run");
  is(pool.info(1).way, GFXGRAPH_WAY_CAPTURE, "way of the next run");
  is(check_run(pool, model, 9, in, out, stream).way, GFXGRAPH_WAY_CAPTURE, "the first run");
  is(check_run(pool, model, 5, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "the second run");
  is(check_run(pool, model, 16, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "the third run");
  is(pool.info().captures, 1, "captures: only of what ran");
  is(pool.info().device_bytes, 2 * kRow * 16, "device bytes");
  is(check_run(pool, model, 1, in, out, stream).way, GFXGRAPH_WAY_CAPTURE, "another bucket");
  is(static_cast<uint64_t>(model.calls), 2, "calls of the function");
}

// The function fails for one bucket: its status comes back as it is, the others go on.
void failing() {
  struct Failing {
    Model model;
    bool fails = true;
  } context;
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.sizes = kSizes.data();
  options.size_count = 3;
  options.tensors = kTensors.data();
  options.tensor_count = 2;
  options.work_context = &context;
  options.work = [](void* given, const gfxgraph_call_t* call) {
    auto& own = *static_cast<Failing*>(given);
    if (own.fails && call->size == 16) return int32_t{-77};
    own.model.submit(*call);
    return int32_t{0};
  };
  gfxgraph_pool_t pool = nullptr;
  is(static_cast<uint64_t>(gfxgraph_pool_create(&options, &pool)), GFXGRAPH_OK, "create");
  const Rows in, out;
  const Stream stream;
  expect(gfxgraph_pool_warm(pool, stream) == -77, "the status of a warm-up");
  const auto run = [&](int n, gfxgraph_pool_result_t& result) {
    const std::vector<int> given = numbers(n, 1);
    OK(hipMemcpy(in.data, given.data(), n * kRow, hipMemcpyHostToDevice));
    void* const memory[] = {in.data, out.data};
    gfxgraph_pool_run_t one = gfxgraph_pool_run_default();
    one.size = static_cast<uint64_t>(n);
    one.memory = memory;
    one.hip_stream = stream;
    result = {};
    result.struct_size = sizeof result;
    const gfxgraph_status_t status = gfxgraph_pool_run(pool, &one, &result);
    wait(stream);
    std::vector<int> got(given.size());
    OK(hipMemcpy(got.data(), out.data, n * kRow, hipMemcpyDeviceToHost));
    if (status == GFXGRAPH_OK) compare(got, expected(given, 3), std::to_string(n) + " rows");
    return status;
  };
  gfxgraph_pool_result_t result;
  expect(run(10, result) == -77 && result.work_status == -77, "the status of a run");
  contains(gfxgraph_last_error(), "-77", "the text of the status");
  for (const int n : {3, 20}) {
    expect(run(n, result) == GFXGRAPH_OK, "other buckets");
    is(result.way, GFXGRAPH_WAY_GRAPH, "the way of other buckets");
  }
  gfxgraph_bucket_info_t info{};
  info.struct_size = sizeof info;
  expect(gfxgraph_pool_info(pool, 1, &info) == GFXGRAPH_OK, "info");
  is(info.work_failures, 2, "failures of the function");
  is(info.failures, 0, "failures of the pool");
  context.fails = false;
  expect(run(10, result) == GFXGRAPH_OK, "it does not fail any more");
  is(result.way, GFXGRAPH_WAY_CAPTURE, "and is captured then");
  expect(run(11, result) == GFXGRAPH_OK, "a run after that");
  is(result.way, GFXGRAPH_WAY_GRAPH, "its way");
  gfxgraph_pool_destroy(pool);
}

struct Told {
  std::vector<gfxgraph_fall_t> falls;
  std::vector<std::string> texts;
  static void fell(void* context, const gfxgraph_fall_t* fall) {
    auto& told = *static_cast<Told*>(context);
    told.falls.push_back(*fall);
    told.texts.emplace_back(fall->text);
  }
};

// Work that cannot be captured, in one bucket: the host waits in it, or others' work is waited for.
void uncapturable(const std::function<void(const gfxgraph_call_t&)>& odd, uint32_t fall,
                  const char* word) {
  Model model;
  Told told;
  const Rows in, out;
  const Stream stream;
  model.before = [&](const gfxgraph_call_t& call) {
    if (call.size == 16) odd(call);
  };
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.fell = &Told::fell;
  options.fell_context = &told;
  gfxgraph::Pool pool = pool_of(model, options);
  for (int i = 0; i < 3; ++i) {
    for (const int n : {2, 12, 30}) {
      const gfxgraph_pool_result_t result = check_run(pool, model, n, in, out, stream);
      if (i == 0) continue;
      is(result.way, n == 12 ? GFXGRAPH_WAY_WORK : GFXGRAPH_WAY_GRAPH, "way");
      is(result.fall, n == 12 ? fall : GFXGRAPH_FALL_NONE, "reason");
    }
  }
  contains(pool.reason(1), word, "the reason");
  expect(pool.reason(0).empty() && pool.reason(2).empty(), "no reason of other buckets");
  is(told.falls.size(), 3, "each way is told once");
  for (size_t i = 0; i < told.falls.size(); ++i) {
    is(told.falls[i].way, i, "the way that was given up");
    is(told.falls[i].next_way, i + 1, "the next way");
    is(told.falls[i].bucket_size, 16, "the bucket of a fall");
    contains(told.texts[i], word, "a told reason");
  }
  const gfxgraph_bucket_info_t info = pool.info(1);
  is(info.runs[GFXGRAPH_WAY_GRAPH], 0, "no run as a graph");
  expect(info.falls[fall] >= 2, "falls are counted");
}

void border() {
  uncapturable(
      [](const gfxgraph_call_t& call) {
        const auto stream = static_cast<hipStream_t>(call.hip_stream);
        OK(hipMemsetAsync(call.memory[1], 1, kRow, stream));
        wait(stream);
      },
      GFXGRAPH_FALL_PREPARE, "the host acted");
}

void foreign() {
  const Buffer other;
  const Stream elsewhere;
  hipEvent_t event = nullptr;
  OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  uncapturable(
      [&](const gfxgraph_call_t& call) {
        std::thread([&] {
          launch(elsewhere, other.data, 1);
          OK(hipEventRecord(event, elsewhere));
        }).join();
        OK(hipStreamWaitEvent(static_cast<hipStream_t>(call.hip_stream), event, 0));
      },
      GFXGRAPH_FALL_CAPTURE, "");
  wait(elsewhere);
  OK(hipEventDestroy(event));
}

// Room for the two small buckets.
void cap() {
  Model model;
  Told told;
  const Rows in, out;
  const Stream stream;
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.max_device_bytes = 2 * kRow * (4 + 16) + 100;
  options.fell = &Told::fell;
  options.fell_context = &told;
  gfxgraph::Pool pool = pool_of(model, options);
  pool.warm(stream);
  is(static_cast<uint64_t>(model.calls), 2, "the large bucket is refused before it is captured");
  is(check_run(pool, model, 3, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "a bucket below the cap");
  is(check_run(pool, model, 16, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "another one");
  const gfxgraph_pool_result_t result = check_run(pool, model, 20, in, out, stream);
  is(result.way, GFXGRAPH_WAY_WORK, "a bucket beyond the cap");
  is(result.fall, GFXGRAPH_FALL_CAP, "its reason");
  is(model.last_size, 20, "the function works on the run's own rows");
  is(pool.info().device_bytes, 2 * kRow * (4 + 16), "bytes below the cap");
  is(pool.info(2).falls[GFXGRAPH_FALL_CAP], 1, "falls by the cap");
  is(pool.info(2).padded_rows, 0, "padding of the function's own rows");
  contains(pool.reason(2), std::to_string(2 * kRow * kMost) + " bytes", "the reason");
  is(told.falls.size(), 3, "each way is told");
  is(told.falls.empty() ? 0 : told.falls[0].fall, GFXGRAPH_FALL_CAP, "what is told");
  // Room that another bucket gives back.
  gfxgraph_pool_options_t one = gfxgraph_pool_options_default();
  one.max_device_bytes = 2 * kRow * kMost;
  gfxgraph::Pool narrow = pool_of(model, one);
  is(check_run(narrow, model, 40, in, out, stream).way, GFXGRAPH_WAY_CAPTURE, "it fits");
  is(check_run(narrow, model, 4, in, out, stream).fall, GFXGRAPH_FALL_CAP, "no room is left");
}

// What the work allocates for itself counts, too.
void inner_memory() {
  Model model;
  const Rows in, out;
  const Stream stream;
  model.before = [&](const gfxgraph_call_t& call) {
    if (call.captured == 0) return;
    int* scratch = nullptr;
    OK(hipMalloc(&scratch, 1 << 20));
    OK(hipMemsetAsync(scratch, 1, 1 << 20, static_cast<hipStream_t>(call.hip_stream)));
    OK(hipFree(scratch));
  };
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.max_device_bytes = 1 << 20;
  gfxgraph::Pool pool = pool_of(model, options);
  check_run(pool, model, 4, in, out, stream);
  const gfxgraph_pool_result_t result = check_run(pool, model, 4, in, out, stream);
  is(result.way, GFXGRAPH_WAY_WORK, "a step that allocates beyond the cap");
  is(result.fall, GFXGRAPH_FALL_CAP, "its reason");
  is(pool.info().device_bytes, 2 * kRow * 4, "bytes of the buffers alone");
}

void beyond() {
  Model model;
  Told told;
  const Rows in, out;
  const Stream stream;
  {
    gfxgraph::Pool pool = pool_of(model);
    refuses(GFXGRAPH_NOT_FOUND, "largest bucket of pool pool has 40",
            [&] { check_run(pool, model, kMost + 1, in, out, stream); }, "more than the largest");
    is(static_cast<uint64_t>(model.calls), 0, "nothing was called");
  }
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.beyond = GFXGRAPH_BEYOND_WORK;
  options.fell = &Told::fell;
  options.fell_context = &told;
  gfxgraph::Pool pool = pool_of(model, options);
  for (int i = 0; i < 2; ++i) {
    const gfxgraph_pool_result_t result = check_run(pool, model, 63, in, out, stream);
    is(result.way, GFXGRAPH_WAY_WORK, "way beyond");
    is(result.fall, GFXGRAPH_FALL_BEYOND, "reason beyond");
    is(result.bucket, GFXGRAPH_BUCKET_BEYOND, "bucket beyond");
  }
  is(model.last_size, 63, "the run's own rows");
  is(told.falls.size(), 1, "told once");
  is(pool.info(GFXGRAPH_BUCKET_BEYOND).falls[GFXGRAPH_FALL_BEYOND], 2, "counted each time");
  is(pool.info().rows, 126, "rows of the pool");
}

// Memory that a captured step used is replaced: the step refuses, the function does not.
void freed() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model);
  pool.warm(stream);
  check_run(pool, model, 7, in, out, stream);
  model.weight = std::make_unique<Weight>(11);
  model.factor = 11;
  const gfxgraph_pool_result_t result = check_run(pool, model, 7, in, out, stream);
  is(result.way, GFXGRAPH_WAY_WORK, "way after a free");
  is(result.fall, GFXGRAPH_FALL_RUN, "reason after a free");
  contains(pool.reason(1), "allocation", "the reason");
  is(pool.info(0).way, GFXGRAPH_WAY_GRAPH, "a bucket that did not run knows nothing of it");
  is(pool.info(1).falls[GFXGRAPH_FALL_RUN], 1, "falls by runs");
  pool.recapture(1);
  is(pool.info(1).device_bytes, 0, "memory is given back");
  is(check_run(pool, model, 7, in, out, stream).way, GFXGRAPH_WAY_CAPTURE, "captured again");
  is(check_run(pool, model, 8, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "a graph again");
  expect(pool.reason(1).empty(), "the reason is gone");
  is(pool.info(1).captures, 2, "captures");
}

// Threads with their own sizes and streams, or all with one bucket, while another one reads.
void threads() {
  Model model;
  const Stream streams[8];  // they live as long as the pool
  gfxgraph::Pool pool = pool_of(model);
  const auto run_threads = [&](int count, const std::function<int(int, int)>& size, int runs) {
    std::atomic<bool> done{false};
    std::vector<std::thread> all;
    for (int thread = 0; thread < count; ++thread) {
      all.emplace_back([&, thread] {
        try {
          const Rows in, out;
          for (int i = 0; i < runs; ++i)
            check_run(pool, model, size(thread, i), in, out, streams[thread]);
        } catch (const std::exception& thrown) {
          expect(false, thrown.what());
        }
      });
    }
    std::thread reader([&] {
      while (!done) {
        const gfxgraph_bucket_info_t info = pool.info();
        expect(info.padded_rows <= info.padded_bytes, "a reader");
        contains(pool.metrics(), "# EOF\n", "metrics that a reader gets");
      }
    });
    for (std::thread& one : all) one.join();
    done = true;
    reader.join();
  };
  run_threads(2, [](int thread, int i) { return thread == 0 ? 1 + i % 4 : 17 + i % 24; }, 12);
  run_threads(2, [](int, int i) { return 5 + i % 12; }, 12);
  run_threads(8, [](int thread, int i) { return 1 + (thread * 5 + i * 7) % kMost; }, 4);
  const gfxgraph_bucket_info_t all = pool.info();
  uint64_t runs = 0;
  for (const uint64_t one : all.runs) runs += one;
  is(runs, 24 + 24 + 32, "runs");
  is(all.runs[GFXGRAPH_WAY_CAPTURE], 3, "captures");
  is(all.runs[GFXGRAPH_WAY_WORK], 0, "runs by the function");
}

// Two streams by turns with one bucket, and nobody waits in between.
void streams() {
  Model model;
  constexpr int kRuns = 6;
  const Stream both[2];
  gfxgraph::Pool pool = pool_of(model);
  pool.warm(both[0]);
  std::vector<std::unique_ptr<Rows>> ins, outs;
  for (int i = 0; i < kRuns; ++i) {
    ins.push_back(std::make_unique<Rows>());
    outs.push_back(std::make_unique<Rows>());
    const std::vector<int> given = numbers(16 - i, i);
    OK(hipMemcpy(ins.back()->data, given.data(), (16 - i) * kRow, hipMemcpyHostToDevice));
  }
  for (int i = 0; i < kRuns; ++i) {
    void* const memory[] = {ins[i]->data, outs[i]->data};
    pool.run(static_cast<uint64_t>(16 - i), memory, both[i % 2].stream);
  }
  for (const Stream& one : both) wait(one);
  for (int i = 0; i < kRuns; ++i) {
    std::vector<int> got(static_cast<size_t>(16 - i) * kColumns);
    OK(hipMemcpy(got.data(), outs[i]->data, (16 - i) * kRow, hipMemcpyDeviceToHost));
    compare(got, expected(numbers(16 - i, i), 3), "run " + std::to_string(i));
  }
}

void host_memory() {
  Model model;
  const Rows in(true), out(true);
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model);
  for (const int n : {3, 4, 17, 33}) check_run(pool, model, n, in, out, stream);
  void* const nothing[] = {in.data, nullptr};
  refuses(GFXGRAPH_INVALID_ARGUMENT, "out has no memory", [&] { pool.run(3, nothing, stream); },
          "no memory for an output");
}

void both() {
  const Rows rows;
  const Stream stream;
  gfxgraph::Pool pool({8}, {{"state", kRow, GFXGRAPH_TENSOR_INPUT | GFXGRAPH_TENSOR_OUTPUT, 0}},
                      [](const gfxgraph_call_t& call) {
                        square<<<static_cast<unsigned>(call.size), kColumns, 0,
                                 static_cast<hipStream_t>(call.hip_stream)>>>(
                            static_cast<int*>(call.memory[0]));
                      });
  std::vector<int> values(5 * kColumns, 3);
  OK(hipMemcpy(rows.data, values.data(), 5 * kRow, hipMemcpyHostToDevice));
  void* const memory[] = {rows.data};
  for (int i = 0; i < 3; ++i) pool.run(5, memory, stream);
  wait(stream);
  OK(hipMemcpy(values.data(), rows.data, 5 * kRow, hipMemcpyDeviceToHost));
  compare(values, std::vector<int>(5 * kColumns, 6561), "a tensor in place");
  is(pool.info().runs[GFXGRAPH_WAY_GRAPH], 2, "runs as graphs");
}

void ways() {
  const Rows in, out;
  const Stream stream;
  for (const uint32_t way : {GFXGRAPH_WAY_BATCH, GFXGRAPH_WAY_EAGER, GFXGRAPH_WAY_WORK}) {
    Model model;
    gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
    options.first_way = way;
    gfxgraph::Pool pool = pool_of(model, options);
    pool.warm(stream);
    for (const int n : {1, 6, 39}) {
      const gfxgraph_pool_result_t result = check_run(pool, model, n, in, out, stream);
      is(result.way, way, "the way that was asked for");
      is(result.fall, GFXGRAPH_FALL_NONE, "it is no fall");
    }
    is(static_cast<uint64_t>(model.captured), way == GFXGRAPH_WAY_WORK ? 0 : 3, "captures");
  }
}

void timed() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model);
  for (int i = 0; i < 5; ++i) check_run(pool, model, 4, in, out, stream, i != 2);
  is(pool.info(0).end_to_end.count, 4, "timed runs");
  is(pool.info(0).submit.count, 5, "submits");
  expect(pool.info(0).end_to_end.p50_us > 0, "a time");
  // A stream that is held up: more runs in flight than are timed.
  std::atomic<bool> held{true};
  OK(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t, void* flag) {
        while (*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
      },
      &held, 0));
  void* const memory[] = {in.data, out.data};
  for (int i = 0; i < 6; ++i) pool.run(4, memory, stream, true);
  is(pool.info(0).untimed, 2, "runs beyond those that can be timed");
  held = false;
  wait(stream);
  is(pool.info(0).end_to_end.count, 8, "timed runs when the stream went on");
}

void metrics() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph_pool_options_t options = gfxgraph_pool_options_default();
  options.name = "a \"b\"\\";
  gfxgraph::Pool pool = pool_of(model, options);
  check_run(pool, model, 4, in, out, stream);
  check_run(pool, model, 3, in, out, stream);
  const std::string text = pool.metrics();
  std::printf("%s", text.c_str());
  const std::string labels = "{pool=\"a \\\"b\\\"\\\\\",bucket=\"4\"";
  contains(text, "gfxgraph_pool_runs_total" + labels + ",way=\"graph\"} 1\n", "runs");
  contains(text, "gfxgraph_pool_runs_total" + labels + ",way=\"capture\"} 1\n", "captured runs");
  contains(text, "gfxgraph_pool_padded_bytes_total" + labels + "} 256\n", "padding");
  contains(text, "gfxgraph_pool_submit_seconds_count" + labels + "} 2\n", "submits");
}

struct Own : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Of the function, out of a run, as they are.
void exceptions() {
  Model model;
  const Rows in, out;
  const Stream stream;
  model.before = [](const gfxgraph_call_t& call) {
    if (call.size == 16) throw Own("no 16");
  };
  gfxgraph::Pool pool = pool_of(model);
  const auto throws = [&](const std::function<void()>& call, const char* what) {
    try {
      call();
    } catch (const Own& own) {
      return expect(std::string(own.what()) == "no 16", std::string(what) + ": another text");
    } catch (const std::exception& other) {
      return expect(false, std::string(what) + ": another exception: " + other.what());
    }
    expect(false, std::string(what) + ": no exception");
  };
  throws([&] { pool.warm(stream); }, "warm");
  throws([&] { check_run(pool, model, 5, in, out, stream); }, "a run");
  is(check_run(pool, model, 4, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "another bucket");
  is(check_run(pool, model, 17, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "the one behind it");
  model.before = nullptr;
  check_run(pool, model, 5, in, out, stream);
  is(check_run(pool, model, 5, in, out, stream).way, GFXGRAPH_WAY_GRAPH, "when it throws no more");
  is(pool.info(1).work_failures, 2, "failures of the function");
}

void misuse() {
  Model model;
  const Rows in, out;
  const Stream stream;
  const auto work = [&](const gfxgraph_call_t& call) { model.submit(call); };
  const auto refused = [&](const std::vector<uint64_t>& sizes,
                           const std::vector<gfxgraph_tensor_t>& tensors, const char* word) {
    refuses(GFXGRAPH_INVALID_ARGUMENT, word, [&] { gfxgraph::Pool(sizes, tensors, work); }, word);
  };
  refused({}, kTensors, "needs sizes");
  refused({4, 4}, kTensors, "ascend");
  refused({0}, kTensors, "ascend");
  refused({4}, {}, "needs tensors");
  refused({4}, {{"x", 0, GFXGRAPH_TENSOR_INPUT, 0}}, "x of the pool: type is unknown, or row_bytes is 0");
  refused({4}, {{nullptr, 8, 4, 0}}, "tensor 0 of the pool: use");
  refused({4}, {{"x", UINT64_MAX / 2, GFXGRAPH_TENSOR_INPUT, 0}}, "beyond 64 bits");
  gfxgraph::Pool pool = pool_of(model);
  void* const memory[] = {in.data, out.data};
  refuses(GFXGRAPH_INVALID_ARGUMENT, "0 rows", [&] { pool.run(0, memory, stream); }, "no rows");
  refuses(GFXGRAPH_INVALID_ARGUMENT, "hipStreamPerThread",
          [&] { pool.run(1, memory, hipStreamPerThread); }, "the stream of each thread");
  refuses(GFXGRAPH_NOT_FOUND, "bucket 3", [&] { pool.info(3); }, "a bucket too many");
  {
    gfxgraph::Capture capture(stream);
    refuses(GFXGRAPH_UNSUPPORTED, "capture open", [&] { pool.run(1, memory, stream); },
            "a run in a capture");
  }
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  refuses(GFXGRAPH_UNSUPPORTED, "capturing", [&] { pool.run(1, memory, stream); },
          "a stream that is captured");
  hipGraph_t graph = nullptr;
  OK(hipStreamEndCapture(stream, &graph));
  OK(hipGraphDestroy(graph));
  is(static_cast<uint64_t>(model.calls), 0, "nothing was called");
  is(check_run(pool, model, 1, in, out, stream).way, GFXGRAPH_WAY_CAPTURE, "afterwards it works");
}

void without_hooks() {
  Model model;
  const Rows in, out;
  const Stream stream;
  gfxgraph::Pool pool = pool_of(model);
  for (int n = 1; n <= kMost; n += 3) {
    const gfxgraph_pool_result_t result = check_run(pool, model, n, in, out, stream);
    is(result.way, GFXGRAPH_WAY_WORK, "way");
    is(result.fall, GFXGRAPH_FALL_CAPTURE, "reason");
  }
  contains(pool.reason(0), "gfxgraph run --capture-api", "what to do");
}

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"values", values},
                   {"lazy", lazy},
                   {"failing", failing},
                   {"border", border},
                   {"foreign", foreign},
                   {"cap", cap},
                   {"inner_memory", inner_memory},
                   {"beyond", beyond},
                   {"freed", freed},
                   {"threads", threads},
                   {"streams", streams},
                   {"host_memory", host_memory},
                   {"both", both},
                   {"ways", ways},
                   {"timed", timed},
                   {"metrics", metrics},
                   {"exceptions", exceptions},
                   {"misuse", misuse},
                   {"without_hooks", without_hooks}});
}

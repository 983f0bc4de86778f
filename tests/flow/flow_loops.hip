// Loops: how often their body runs, by the host and by a flag of the device. flow_loops FORM
#include "flow.h"

namespace {

// Counts down; nothing once it is zero. The flag is what is left.
__global__ void count_down(int* flag, int* sum) {
  if (*flag == 0) return;
  *sum += *flag;
  --*flag;
}
gfxgraph::Piece counting_down(int* flag, int* sum) {
  return gfxgraph::Piece([=](const gfxgraph_call_t& call) {
    count_down<<<1, 1, 0, static_cast<hipStream_t>(call.hip_stream)>>>(flag, sum);
  });
}

void counted() {
  const Buffer a;
  const Stream stream;
  std::atomic<int> calls{0};
  gfxgraph::Loop loop(adding(a.data, 1, &calls));
  int wanted = 0;
  for (const uint64_t count : {3, 0, 1, 17, 100}) {
    const gfxgraph_loop_result_t result = loop.run(count, stream);
    is(result.iterations, count, "iterations");
    is(result.end, GFXGRAPH_LOOP_COUNT, "its end");
    is(result.flag_reads, 0, "no flag");
    wanted += static_cast<int>(count);
    wait(stream);
    a.holds(wanted, "after " + std::to_string(count));
  }
  is(static_cast<uint64_t>(calls), 1, "calls of the function");
  const gfxgraph_loop_info_t info = loop.info();
  is(info.iterations.runs[GFXGRAPH_WAY_GRAPH], 120, "iterations as graphs");
  is(info.iterations.runs[GFXGRAPH_WAY_CAPTURE], 1, "captures");
  is(info.runs[GFXGRAPH_LOOP_COUNT], 5, "runs");
}

void flagged() {
  const Stream stream;
  for (const uint32_t every : {1u, 2u, 3u, 7u}) {
    const Number flag(0), sum(0);
    gfxgraph_loop_options_t options = gfxgraph_loop_options_default();
    options.flag = flag.data;
    options.read_every = every;
    gfxgraph::Loop loop(counting_down(flag.data, sum.data), options);
    int wanted = 0;
    uint64_t reads = 0;
    for (const int from : {0, 1, 5, 6, 14}) {
      flag.set(from);
      const gfxgraph_loop_result_t result = loop.run(stream);
      const uint64_t rounds = (static_cast<uint64_t>(from) + every - 1) / every;
      is(result.iterations, rounds * every, "iterations from " + std::to_string(from));
      is(result.flag_reads, rounds + 1, "reads");
      is(result.end, GFXGRAPH_LOOP_FLAG, "its end");
      expect(result.flag == 0, "the flag that it saw");
      wanted += from * (from + 1) / 2;
      reads += rounds + 1;
      expect(sum.now() == wanted, "sum of every " + std::to_string(every) + " from " +
                                      std::to_string(from) + ": " + std::to_string(sum.now()));
    }
    is(loop.info().flag_reads, reads, "all reads");
    is(loop.info().runs[GFXGRAPH_LOOP_FLAG], 5, "runs");
  }
}

// A flag that never becomes zero.
void limited() {
  const Buffer a;
  const Stream stream;
  const Number flag(1);
  gfxgraph_loop_options_t options = gfxgraph_loop_options_default();
  options.flag = flag.data;
  options.read_every = 4;
  options.max_iterations = 10;
  options.name = "endless";
  gfxgraph::Loop loop(adding(a.data, 1), options);
  gfxgraph_loop_result_t result{};
  result.struct_size = sizeof result;
  is(static_cast<uint64_t>(gfxgraph_loop_run(loop.get(), 0, stream, &result)), GFXGRAPH_NOT_READY,
     "its status");
  contains(gfxgraph_last_error(), "loop endless: its flag is 1 after 10 iterations", "its text");
  is(result.end, GFXGRAPH_LOOP_LIMIT, "its end");
  is(result.iterations, 10, "iterations");
  is(result.flag_reads, 4, "reads: before 0, 4 and 8, and at the end");
  wait(stream);
  a.holds(10, "what was done");
  is(loop.run(stream).end, GFXGRAPH_LOOP_LIMIT, "in C++ a result");
  is(loop.info().runs[GFXGRAPH_LOOP_LIMIT], 2, "runs to the limit");
  flag.set(0);
  is(loop.run(stream).iterations, 0, "nothing to do");
  wait(stream);
  a.holds(20, "in all");
  options.flag = nullptr;
  gfxgraph::Loop by_host(adding(a.data, 1), options);
  refuses(GFXGRAPH_INVALID_ARGUMENT, "11 iterations, and max_iterations is 10",
          [&] { by_host.run(11, stream); }, "more than the most");
  is(by_host.run(10, stream).iterations, 10, "the most");
  wait(stream);
  a.holds(30, "nothing of what was refused");
  expect(std::string(gfxgraph_loop_end_name(GFXGRAPH_LOOP_LIMIT)) == "limit", "a name");
}

// Random state that goes on from iteration to iteration, and from run to run.
void drawing() {
  const Buffer a;
  const Stream stream;
  const auto step = drawing_step(stream, a.data);
  wait(stream);
  a.fill(0);
  gfxgraph::Loop loop(gfxgraph::Piece(step->step, true));
  loop.run(3, stream);
  loop.run(2, stream);
  wait(stream);
  a.holds(18 + 26 + 34 + 42 + 50, "state that goes on");
}

// The body cannot be captured: the host acts in it.
void failing_capture() {
  const Buffer a;
  const Stream stream;
  std::atomic<int> calls{0};
  gfxgraph::Loop loop(gfxgraph::Piece([&](const gfxgraph_call_t& call) {
    ++calls;
    const auto own = static_cast<hipStream_t>(call.hip_stream);
    launch(own, a.data, 1);
    wait(own);
    launch(own, a.data, 2);
  }));
  const gfxgraph_loop_result_t result = loop.run(5, stream);
  is(result.way, GFXGRAPH_WAY_WORK, "its way");
  is(result.fall, GFXGRAPH_FALL_PREPARE, "its reason");
  wait(stream);
  a.holds(15, "the values");
  is(static_cast<uint64_t>(calls), 5, "calls");
  contains(loop.reason(), "the host acted", "the reason");
  is(loop.info().iterations.falls[GFXGRAPH_FALL_PREPARE], 4, "falls");
}

void exceptions() {
  const Buffer a;
  const Stream stream;
  const Number flag(1);
  int left = 3;
  gfxgraph_loop_options_t options = gfxgraph_loop_options_default();
  options.flag = flag.data;
  gfxgraph::Piece piece([&](const gfxgraph_call_t& call) {
    if (left-- == 0) throw Own("the third");
    launch(static_cast<hipStream_t>(call.hip_stream), a.data, 1);
  });
  piece.first_way = GFXGRAPH_WAY_WORK;
  gfxgraph::Loop loop(piece, options);
  throws_own([&] { loop.run(stream); }, "an iteration");
  is(loop.info().runs[GFXGRAPH_LOOP_FAILED], 1, "failed runs");
  is(loop.info().iterations.runs[GFXGRAPH_WAY_WORK], 3, "iterations before it");
  is(loop.info().iterations.work_failures, 1, "failures");
  wait(stream);
  a.holds(3, "what was done before");
  left = 100;
  flag.set(0);
  is(loop.run(stream).end, GFXGRAPH_LOOP_FLAG, "it goes on");
}

// Eight threads: four run one loop, four read.
void threads() {
  constexpr int kRunning = 4, kRuns = 6, kIterations = 5;
  const Buffer a;
  const Stream own[kRunning];
  gfxgraph::Loop loop(adding(a.data, 1));
  std::atomic<bool> done{false};
  std::vector<std::thread> runners, readers;
  for (int i = 0; i < kRunning; ++i) {
    runners.emplace_back([&, i] {
      for (int run = 0; run < kRuns; ++run) loop.run(kIterations, own[i]);
    });
    readers.emplace_back([&] {
      while (!done) {
        const gfxgraph_loop_info_t info = loop.info();
        expect(info.runs[GFXGRAPH_LOOP_COUNT] <= kRunning * kRuns, "counts that a reader gets");
      }
    });
  }
  for (std::thread& one : runners) one.join();
  done = true;
  for (std::thread& one : readers) one.join();
  for (const Stream& one : own) wait(one);
  a.holds(kRunning * kRuns * kIterations, "iterations of all threads");
}

void misuse() {
  const Buffer a;
  const Stream stream;
  const Number flag(0);
  const auto refused = [&](const std::function<void(gfxgraph_loop_options_t&)>& change,
                           const char* word) {
    gfxgraph_loop_options_t options = gfxgraph_loop_options_default();
    change(options);
    refuses(GFXGRAPH_INVALID_ARGUMENT, word,
            [&] { gfxgraph::Loop loop(adding(a.data, 1), options); }, word);
  };
  refused([](gfxgraph_loop_options_t& one) { one.max_iterations = 0; }, "max_iterations is 0");
  refused([](gfxgraph_loop_options_t& one) { one.read_every = 0; }, "read_every is 0");
  refused([](gfxgraph_loop_options_t& one) { one.reserved = 1; }, "reserved");
  refused([](gfxgraph_loop_options_t& one) { one.struct_size = 2; }, "struct_size");
  gfxgraph_loop_options_t options = gfxgraph_loop_options_default();
  options.flag = flag.data;
  gfxgraph::Loop loop(adding(a.data, 1), options);
  refuses(GFXGRAPH_INVALID_ARGUMENT, "count is not 0", [&] { loop.run(3, stream); },
          "a count beside a flag");
  is(static_cast<uint64_t>(gfxgraph_loop_run(nullptr, 1, stream, nullptr)),
     GFXGRAPH_INVALID_ARGUMENT, "no loop");
  gfxgraph_loop_destroy(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"counted", counted},
                   {"flagged", flagged},
                   {"limited", limited},
                   {"drawing", drawing},
                   {"failing_capture", failing_capture},
                   {"exceptions", exceptions},
                   {"threads", threads},
                   {"misuse", misuse}});
}

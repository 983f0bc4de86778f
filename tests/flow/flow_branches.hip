// Branches: which work a run does, by values of the host and the device, and what happens where one
// cannot be captured. flow_branches FORM
#include <cstdio>

#include "flow.h"

namespace {

__global__ void set_flag(int* flag, int value) { *flag = value; }

void choices() {
  const Buffer a;
  const Stream stream;
  std::atomic<int> calls{0};
  gfxgraph::Branches branches({{"one", 7, adding(a.data, 1, &calls)},
                               {"ten", -3, adding(a.data, 10, &calls)},
                               {"hundred", int64_t{1} << 40, adding(a.data, 100, &calls)}});
  constexpr int64_t kValues[] = {7, -3, int64_t{1} << 40};
  constexpr int kAdds[] = {1, 10, 100};
  int wanted = 0;
  uint64_t runs[3] = {};
  for (uint32_t i = 0; i < 60; ++i) {
    const uint32_t one = i * 2654435761u >> 30 & 3u;
    const uint32_t branch = one == 3 ? 0 : one;
    const gfxgraph_branches_result_t result = branches.run(kValues[branch], stream);
    is(result.branch, branch, "the branch that ran");
    expect(result.value == kValues[branch], "the value that chose it");
    is(result.way, runs[branch] == 0 ? GFXGRAPH_WAY_CAPTURE : GFXGRAPH_WAY_GRAPH, "its way");
    ++runs[branch];
    wanted += kAdds[branch];
    wait(stream);
    a.holds(wanted, "after run " + std::to_string(i));
  }
  is(static_cast<uint64_t>(calls), 3, "each function is called once, for its capture");
  for (uint32_t branch = 0; branch < 3; ++branch) {
    const gfxgraph_branches_info_t info = branches.info(branch);
    is(info.runs.runs[GFXGRAPH_WAY_GRAPH], runs[branch] - 1, "runs as a graph");
    is(info.runs.captures, 1, "captures");
    is(info.runs.submit.count, runs[branch], "submits");
    is(info.flag_reads, 0, "no flag was read");
  }
}

// The flag is written on the same stream right before.
void flags() {
  const Buffer a;
  const Stream stream;
  const Number flag(0);
  gfxgraph_branches_options_t options = gfxgraph_branches_options_default();
  options.flag = flag.data;
  gfxgraph::Branches branches({{"even", 0, adding(a.data, 1)}, {"odd", 1, adding(a.data, 1000)}},
                              options);
  int wanted = 0;
  for (int i = 0; i < 12; ++i) {
    const int value = i * 5 % 3 % 2;
    launch(stream, a.data, 0);
    set_flag<<<1, 1, 0, stream>>>(flag.data, value);
    const gfxgraph_branches_result_t result = branches.run(stream);
    expect(result.value == value, "what the flag held");
    wanted += value == 0 ? 1 : 1000;
    wait(stream);
    a.holds(wanted, "by a flag, run " + std::to_string(i));
  }
  is(branches.info(0).flag_reads, 12, "reads of the flag");
  refuses(GFXGRAPH_INVALID_ARGUMENT, "flag", [&] { branches.run(5, stream); },
          "a value of the host beside a flag");
  set_flag<<<1, 1, 0, stream>>>(flag.data, 4);
  refuses(GFXGRAPH_NOT_FOUND, "even (0), odd (1)", [&] { branches.run(stream); },
          "a flag that is no branch's");
  wait(stream);
  a.holds(wanted, "nothing ran");
}

void unknown() {
  const Buffer a;
  const Stream stream;
  const std::vector<gfxgraph::Branch> two = {{"prefill", 1, adding(a.data, 1)},
                                             {"decode", 2, adding(a.data, 10)}};
  {
    gfxgraph::Branches branches(two);
    gfxgraph_branches_result_t result{};
    result.struct_size = sizeof result;
    is(static_cast<uint64_t>(gfxgraph_branches_run(branches.get(), 9, stream, &result)),
       GFXGRAPH_NOT_FOUND, "an unknown value");
    contains(gfxgraph_last_error(), "value 9", "which one");
    contains(gfxgraph_last_error(), "prefill (1), decode (2)", "those that there are");
    is(result.branch, GFXGRAPH_BRANCH_NONE, "no branch");
    wait(stream);
    a.holds(0, "nothing ran");
    is(branches.info(0).unknown, 1, "unknown values");
  }
  gfxgraph_branches_options_t options = gfxgraph_branches_options_default();
  options.default_branch = 1;
  gfxgraph::Branches branches(two, options);
  is(branches.run(9, stream).branch, 1, "the default");
  is(branches.run(1, stream).branch, 0, "a known value");
  wait(stream);
  a.holds(11, "with a default");
  is(branches.info(0).by_default, 1, "runs by default");
  is(branches.info(0).unknown, 0, "none was unknown");
}

// One branch waits for work of others, which captures do not hold; one waits on the host, so that
// there is no step of it. Both fall alone, with right values.
void failing_capture() {
  const Buffer a, other;
  const Stream stream, elsewhere;
  hipEvent_t event = nullptr;
  OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  std::atomic<int> foreign_calls{0}, border_calls{0};
  gfxgraph::Branches branches(
      {{"good", 0, adding(a.data, 1)},
       {"foreign", 1, gfxgraph::Piece([&](const gfxgraph_call_t& call) {
          ++foreign_calls;
          std::thread([&] {
            launch(elsewhere, other.data, 1);
            OK(hipEventRecord(event, elsewhere));
          }).join();
          OK(hipStreamWaitEvent(static_cast<hipStream_t>(call.hip_stream), event, 0));
          launch(static_cast<hipStream_t>(call.hip_stream), a.data, 10);
        })},
       {"border", 2, gfxgraph::Piece([&](const gfxgraph_call_t& call) {
          ++border_calls;
          const auto own = static_cast<hipStream_t>(call.hip_stream);
          launch(own, a.data, 40);
          wait(own);
          launch(own, a.data, 60);
        })},
       {"fine", 3, adding(a.data, 1000)}});
  int wanted = 0;
  constexpr int kAdds[] = {1, 10, 100, 1000};
  for (int round = 0; round < 4; ++round) {
    for (int64_t value = 0; value < 4; ++value) {
      const gfxgraph_branches_result_t result = branches.run(value, stream);
      wanted += kAdds[value];
      wait(stream);
      a.holds(wanted, "branch " + std::to_string(value));
      if (round == 0) continue;
      const bool falls = value == 1 || value == 2;
      is(result.way, falls ? GFXGRAPH_WAY_WORK : GFXGRAPH_WAY_GRAPH, "its way");
      is(result.fall,
         value == 1   ? GFXGRAPH_FALL_CAPTURE
         : value == 2 ? GFXGRAPH_FALL_PREPARE
                      : GFXGRAPH_FALL_NONE,
         "its reason");
    }
  }
  is(static_cast<uint64_t>(foreign_calls), 4, "calls of what cannot be captured");
  is(static_cast<uint64_t>(border_calls), 4, "calls of what has no step");
  is(branches.info(1).runs.falls[GFXGRAPH_FALL_CAPTURE], 4, "falls of captures");
  expect(!branches.reason(1).empty(), "a reason");
  contains(branches.reason(2), "the host acted", "the reason");
  for (const uint32_t good : {0u, 3u}) {
    expect(branches.reason(good).empty(), "no reason of others");
    is(branches.info(good).runs.runs[GFXGRAPH_WAY_GRAPH], 3, "runs of others");
    is(branches.info(good).way, GFXGRAPH_WAY_GRAPH, "the way of others");
  }
  wait(elsewhere);
  OK(hipEventDestroy(event));
}

void exceptions() {
  const Buffer a;
  const Stream stream;
  bool fails = true;
  gfxgraph::Branches branches({{"good", 0, adding(a.data, 1)},
                               {"bad", 1, gfxgraph::Piece([&](const gfxgraph_call_t& call) {
                                  if (fails) throw Own("bad");
                                  launch(static_cast<hipStream_t>(call.hip_stream), a.data, 10);
                                })}});
  throws_own([&] { branches.warm(stream); }, "a warm-up");
  throws_own([&] { branches.run(1, stream); }, "a run");
  is(branches.run(0, stream).way, GFXGRAPH_WAY_GRAPH, "another branch was warmed");
  is(branches.info(1).runs.work_failures, 2, "failures of the function");
  is(branches.info(1).runs.failures, 0, "other failures");
  fails = false;
  is(branches.run(1, stream).way, GFXGRAPH_WAY_CAPTURE, "it is captured then");
  is(branches.run(1, stream).way, GFXGRAPH_WAY_GRAPH, "and runs as a graph");
  wait(stream);
  a.holds(1 + 1 + 10 + 10, "the values");
}

// The C interface: a status of the function comes back as it is.
void statuses() {
  gfxgraph_branch_t branch{};
  branch.name = "c";
  branch.piece.work = [](void*, const gfxgraph_call_t*) { return int32_t{-77}; };
  gfxgraph_branches_options_t options = gfxgraph_branches_options_default();
  options.branches = &branch;
  options.branch_count = 1;
  gfxgraph_branches_t branches = nullptr;
  is(static_cast<uint64_t>(gfxgraph_branches_create(&options, &branches)), GFXGRAPH_OK, "create");
  const Stream stream;
  gfxgraph_branches_result_t result{};
  result.struct_size = sizeof result;
  expect(gfxgraph_branches_run(branches, 0, stream, &result) == -77, "the status");
  expect(result.work_status == -77, "and in the result");
  contains(gfxgraph_last_error(), "branch c: its function returned -77", "the text");
  gfxgraph_branches_destroy(branches);
  gfxgraph_branches_destroy(nullptr);
}

// Memory of one branch's step is given back: that one falls, at the next run, and no other.
void freed() {
  Buffer a, b;
  const Stream stream;
  gfxgraph::Branches branches({{"a", 0, adding(a.data, 1)},
                               {"b", 1, gfxgraph::Piece([&](const gfxgraph_call_t& call) {
                                  launch(static_cast<hipStream_t>(call.hip_stream), b.data, 5);
                                })}});
  branches.warm(stream);
  wait(stream);
  b.free();
  OK(hipMalloc(&b.data, kBytes));
  b.fill(0);
  const gfxgraph_branches_result_t result = branches.run(1, stream);
  is(result.way, GFXGRAPH_WAY_WORK, "way after a free");
  is(result.fall, GFXGRAPH_FALL_RUN, "its reason");
  is(branches.run(0, stream).way, GFXGRAPH_WAY_GRAPH, "the other one");
  wait(stream);
  b.holds(5, "the new memory");
  a.holds(2, "the other one");
  branches.recapture(1);
  is(branches.run(1, stream).way, GFXGRAPH_WAY_CAPTURE, "captured again");
  is(branches.run(1, stream).way, GFXGRAPH_WAY_GRAPH, "a graph again");
  wait(stream);
  b.holds(15, "the new memory again");
  expect(branches.reason(1).empty(), "the reason is gone");
}

// Steps of the caller: alone, with state that goes on, and with a function behind it.
void steps() {
  Buffer a, b;
  const Stream stream;
  const auto drawing = drawing_step(stream, a.data);
  const auto plain = std::make_unique<Captured>(stream, [&] { launch(stream, b.data, 3); });
  wait(stream);
  a.fill(0);
  b.fill(0);
  std::atomic<int> calls{0};
  gfxgraph::Branches branches(
      {{"draws", 0, gfxgraph::Piece(drawing->step, true)},
       {"plain", 1, gfxgraph::Piece(plain->step, false, [&](const gfxgraph_call_t& call) {
          ++calls;
          launch(static_cast<hipStream_t>(call.hip_stream), a.data, 1000);
        })}});
  for (int i = 0; i < 3; ++i) branches.run(0, stream);
  branches.run(1, stream);
  wait(stream);
  a.holds(18 + 26 + 34, "state that goes on");
  b.holds(3, "a step without");
  is(static_cast<uint64_t>(calls), 0, "its function is not called");
  refuses(GFXGRAPH_UNSUPPORTED, "caller", [&] { branches.recapture(0); }, "its own step");
  b.free();
  is(branches.run(1, stream).fall, GFXGRAPH_FALL_RUN, "memory is gone: the function");
  wait(stream);
  a.holds(78 + 1000, "the function's work");
  is(static_cast<uint64_t>(calls), 1, "calls of the function");
  gfxgraph::Branches alone({{"only", 0, gfxgraph::Piece(plain->step)}});
  refuses(GFXGRAPH_NOT_FOUND, "branch only", [&] { alone.run(0, stream); }, "no way is left");
  is(alone.info(0).runs.failures, 1, "failures");
}

// Two streams by turns with one branch, and nobody waits in between.
void streams() {
  const Buffer a;
  const Stream both[2];
  {
    gfxgraph::Branches branches({{"a", 0, adding(a.data, 1)}});
    for (int i = 0; i < 20; ++i) branches.run(0, both[i % 2].stream);
    for (const Stream& one : both) wait(one);
  }
  a.holds(20, "runs on two streams");
}

// Eight threads: four run, each with its own branch and stream; four read.
void threads() {
  constexpr int kRunning = 4, kRuns = 25;
  const Buffer a[kRunning];
  const Stream own[kRunning];
  std::vector<gfxgraph::Branch> all;
  for (int i = 0; i < kRunning; ++i)
    all.push_back({"branch " + std::to_string(i), i, adding(a[i].data, i + 1)});
  gfxgraph::Branches branches(all);
  gfxgraph::Flow flow;
  flow.branches = {branches.get()};
  std::atomic<bool> done{false};
  std::vector<std::thread> runners, readers;
  for (int i = 0; i < kRunning; ++i) {
    runners.emplace_back([&, i] {
      try {
        for (int run = 0; run < kRuns; ++run) {
          is(branches.run(i, own[i]).branch, static_cast<uint64_t>(i), "a thread's branch");
        }
        wait(own[i]);
      } catch (const std::exception& thrown) {
        expect(false, thrown.what());
      }
    });
    readers.emplace_back([&, i] {
      uint64_t before = 0;
      while (!done) {
        const gfxgraph_branches_info_t info = branches.info(static_cast<uint32_t>(i));
        uint64_t runs = 0;
        for (const uint64_t one : info.runs.runs) runs += one;
        expect(runs >= before && runs <= kRuns, "counts that a reader gets");
        before = runs;
        contains(flow.metrics(), "# EOF\n", "metrics that a reader gets");
      }
    });
  }
  for (std::thread& one : runners) one.join();
  done = true;
  for (std::thread& one : readers) one.join();
  for (int i = 0; i < kRunning; ++i) a[i].holds(kRuns * (i + 1), "a thread's values");
}

void metrics() {
  const Buffer a;
  const Stream stream;
  gfxgraph_branches_options_t options = gfxgraph_branches_options_default();
  options.name = "a \"b\"\\";
  gfxgraph::Branches branches({{"x", 0, adding(a.data, 1)}}, options);
  gfxgraph::Branches others({{"y", 0, adding(a.data, 1)}});
  for (int i = 0; i < 3; ++i) branches.run(0, stream);
  wait(stream);
  gfxgraph::Flow flow;
  flow.branches = {branches.get(), others.get()};
  const std::string text = flow.metrics();
  std::printf("%s", text.c_str());
  const std::string labels = "{kind=\"branches\",name=\"a \\\"b\\\"\\\\\",part=\"x\"";
  contains(text, "gfxgraph_flow_runs_total" + labels + ",way=\"graph\"} 2\n", "runs");
  contains(text, "gfxgraph_flow_captures_total" + labels + "} 1\n", "captures");
  contains(text, "gfxgraph_flow_submit_seconds_count" + labels + "} 3\n", "submits");
  flow.branches.push_back(branches.get());
  refuses(GFXGRAPH_INVALID_ARGUMENT, "different names", [&] { flow.metrics(); }, "one name twice");
}

void misuse() {
  const Buffer a;
  const Stream stream;
  const auto refused = [&](const std::vector<gfxgraph::Branch>& all, const char* word) {
    refuses(GFXGRAPH_INVALID_ARGUMENT, word, [&] { gfxgraph::Branches branches(all); }, word);
  };
  const gfxgraph::Piece piece = adding(a.data, 1);
  refused({}, "there is none");
  refused({{"", 0, piece}}, "has no name");
  refused({{"x", 0, piece}, {"x", 1, piece}}, "called x");
  refused({{"x", 0, piece}, {"y", 0, piece}}, "x and y have the value 0");
  refused({{"x", 0, gfxgraph::Piece(gfxgraph::Piece::Work())}}, "branch x: it has no function");
  gfxgraph_branches_options_t options = gfxgraph_branches_options_default();
  options.default_branch = 1;
  refuses(GFXGRAPH_INVALID_ARGUMENT, "default_branch is 1 of 1",
          [&] { gfxgraph::Branches branches({{"x", 0, piece}}, options); }, "an unknown default");
  gfxgraph::Branches branches({{"x", 0, piece}});
  refuses(GFXGRAPH_NOT_FOUND, "branch 1", [&] { branches.info(1); }, "a branch too many");
  refuses(GFXGRAPH_INVALID_ARGUMENT, "hipStreamPerThread",
          [&] { branches.run(0, hipStreamPerThread); }, "the stream of each thread");
  {
    gfxgraph::Capture capture(stream);
    refuses(GFXGRAPH_UNSUPPORTED, "capture open", [&] { branches.run(0, stream); },
            "a run in a capture");
  }
  is(branches.run(0, stream).way, GFXGRAPH_WAY_CAPTURE, "afterwards it works");
  wait(stream);
  a.holds(1, "nothing else ran");
}

void without_hooks() {
  const Buffer a;
  const Stream stream;
  gfxgraph::Branches branches({{"x", 0, adding(a.data, 1)}, {"y", 1, adding(a.data, 10)}});
  for (int i = 0; i < 6; ++i) {
    const gfxgraph_branches_result_t result = branches.run(i % 2, stream);
    is(result.way, GFXGRAPH_WAY_WORK, "way");
    is(result.fall, GFXGRAPH_FALL_CAPTURE, "reason");
  }
  wait(stream);
  a.holds(33, "by the functions alone");
  contains(branches.reason(0), "gfxgraph run --capture-api", "what to do");
}

}  // namespace

int main(int argc, char** argv) {
  return run_form(argc, argv,
                  {{"choices", choices},
                   {"flags", flags},
                   {"unknown", unknown},
                   {"failing_capture", failing_capture},
                   {"exceptions", exceptions},
                   {"statuses", statuses},
                   {"freed", freed},
                   {"steps", steps},
                   {"streams", streams},
                   {"threads", threads},
                   {"metrics", metrics},
                   {"misuse", misuse},
                   {"without_hooks", without_hooks}});
}

// Compositions: steps in sequence and beside each other as one graph, with the values that their
// steps are set to. flow_compositions FORM [SEED ROUNDS]
#include <cstdlib>
#include <random>

#include "flow.h"

namespace {

// Each number becomes itself times `factor`, and `add`: the order of two of them shows.
__global__ void scale_add(int* a, int factor, int add) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < kCount) a[i] = a[i] * factor + add;
}
void scale(hipStream_t stream, int* a, int factor, int add) {
  scale_add<<<kGrid, kBlock, 0, stream>>>(a, factor, add);
}
std::unique_ptr<Captured> scaling(hipStream_t stream, int* a, int factor, int add,
                                  gfxgraph_mode_t mode = GFXGRAPH_MODE_GRAPH) {
  return std::make_unique<Captured>(stream, [&] { scale(stream, a, factor, add); }, mode);
}

void sequence() {
  const Buffer a;
  const Stream stream;
  const auto one = scaling(stream, a.data, 2, 1), two = scaling(stream, a.data, 3, 5),
             three = scaling(stream, a.data, 1, -2);
  wait(stream);
  gfxgraph::Composition all =
      gfxgraph::Composition::sequence({&one->step, &two->step, &three->step, &one->step});
  a.fill(1);
  int wanted = 1;
  for (int i = 0; i < 4; ++i) {
    expect(all.run(stream), "it is one graph");
    wanted = ((wanted * 2 + 1) * 3 + 5 - 2) * 2 + 1;
    wait(stream);
    a.holds(wanted, "in sequence");
  }
  const gfxgraph_composition_info_t info = all.info();
  is(info.graph_runs, 4, "runs as one graph");
  is(info.builds, 1, "builds");
  expect(info.nodes >= 4, "nodes");
  expect(all.reason().empty(), "no reason");
  one->step.run(stream);
  wait(stream);
  a.holds(wanted * 2 + 1, "a step beside its composition");
}

// Behind the stream's earlier work, and before its later work: every part, not only one of them.
void parallel() {
  constexpr int kSteps = 6;
  const Buffer a[kSteps];
  const Stream stream;
  std::vector<std::unique_ptr<Captured>> steps;
  std::vector<const gfxgraph::Step*> all;
  for (int i = 0; i < kSteps; ++i) {
    // Several ends and beginnings: two streams that nothing joins but the capture.
    steps.push_back(std::make_unique<Captured>(stream, [&] {
      for (int k = 0; k < 3; ++k) scale(stream, a[i].data, 2, i);
    }));
    all.push_back(&steps.back()->step);
  }
  wait(stream);
  gfxgraph::Composition beside = gfxgraph::Composition::parallel(all);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < kSteps; ++i) {
      OK(hipMemsetAsync(a[i].data, 0, kBytes, stream));
      launch(stream, a[i].data, round + 1);
    }
    expect(beside.run(stream), "it is one graph");
    for (const Buffer& one : a) launch(stream, one.data, 100);
    wait(stream);
    for (int i = 0; i < kSteps; ++i)
      a[i].holds((round + 1) * 8 + i * 7 + 100, "beside each other, part " + std::to_string(i));
  }
  is(beside.info().graph_runs, 5, "runs as one graph");
}

// Two beside each other, then one that needs both, then two again.
void stages() {
  const Buffer a, b;
  const Stream stream;
  const auto one = scaling(stream, a.data, 1, 3), other = scaling(stream, b.data, 1, 4);
  const auto join = std::make_unique<Captured>(stream, [&] {
    OK(hipMemcpyAsync(a.data, b.data, kBytes / 2, hipMemcpyDeviceToDevice, stream));
    OK(hipMemcpyAsync(b.data + kCount / 2, a.data + kCount / 2, kBytes / 2, hipMemcpyDeviceToDevice,
                      stream));
  });
  wait(stream);
  gfxgraph::Composition all({{one->step.get(), 0, 0},
                             {other->step.get(), 0, 0},
                             {join->step.get(), 2, 0},
                             {one->step.get(), 5, 0},
                             {other->step.get(), 5, 0}});
  a.fill(10);
  b.fill(20);
  expect(all.run(stream), "it is one graph");
  wait(stream);
  const std::vector<int> in_a = a.now(), in_b = b.now();
  for (int i = 0; i < kCount; ++i) {
    const int joined = i < kCount / 2 ? 24 : 13;
    expect(in_a[i] == joined + 3 && in_b[i] == joined + 4, "number " + std::to_string(i));
  }
}

// Values that are set in steps count in the composition; and its steps draw from state.
void values() {
  const Buffer a, b;
  const Stream stream;
  const auto drawing = drawing_step(stream, a.data);
  const auto plain = std::make_unique<Captured>(stream, [&] { launch(stream, b.data, 1); });
  wait(stream);
  a.fill(0);
  b.fill(0);
  gfxgraph::Composition all({{drawing->step.get(), 0, 1}, {plain->step.get(), 1, 0}});
  int in_a = 0, in_b = 0;
  for (int i = 1; i <= 40; ++i) {
    plain->step.set_argument(0, 8, i * i);
    all.run(stream);
    in_a += 10 + 8 * i;
    in_b += i * i;
    // Arguments that change often get memory of their own, when completion is awaited.
    if (i % 20 == 0) plain->step.wait();
  }
  wait(stream);
  a.holds(in_a, "state that goes on");
  b.holds(in_b, "an argument of each run");
  is(all.info().graph_runs, 40, "runs as one graph");
  plain->step.set_grid(0, 1);
  all.run(stream);
  wait(stream);
  const std::vector<int> now = b.now();
  expect(now[0] == in_b + 1600 && now[kCount - 1] == in_b, "a smaller grid");
  plain->step.set_argument(0, 0, a.data);
  plain->step.set_argument(0, 8, 7);
  plain->step.set_grid(0, 4);
  a.fill(0);
  all.run(stream);
  wait(stream);
  a.holds(10 + 8 * 42 + 7, "another buffer");
  expect(all.info().builds >= 2, "it was built again for arguments that change often");
}

// What cannot be one graph runs in order, and says why.
void borders() {
  const Buffer a;
  const Stream stream;
  const auto plain = scaling(stream, a.data, 2, 1);
  gfxgraph::Capture capture(stream);
  scale(stream, a.data, 3, 0);
  capture.border("host");
  scale(stream, a.data, 1, 100);
  const gfxgraph::Trace trace = capture.end();
  wait(stream);
  gfxgraph::Session session(trace);
  gfxgraph_step_options_t options = gfxgraph_step_options_default();
  options.mode = GFXGRAPH_MODE_GRAPH;
  int called = 0;
  options.border_context = &called;
  options.border = [](void* context, const gfxgraph_border_t*) {
    ++*static_cast<int*>(context);
    return 0;
  };
  const gfxgraph::Step divided(session, trace.find_range("step"), options);
  const std::vector<gfxgraph_part_t> parts = {{plain->step.get(), 0, 0}, {divided.get(), 1, 0}};
  gfxgraph_composition_options_t strict = gfxgraph_composition_options_default();
  strict.one_graph = 1;
  strict.name = "strict";
  refuses(GFXGRAPH_UNSUPPORTED, "composition strict, part 1: the host acts",
          [&] { gfxgraph::Composition all(parts, strict); }, "one graph only");
  gfxgraph::Composition all(parts);
  contains(all.reason(), "part 1: the host acts", "the reason");
  a.fill(1);
  expect(!all.run(stream), "it is not one graph");
  wait(stream);
  a.holds(109, "in order");
  expect(called == 1, "the border was called");
  is(all.info().ordered_runs, 1, "runs in order");
}

void modes() {
  const Buffer a;
  const Stream stream;
  const auto graph = scaling(stream, a.data, 2, 1);
  for (const gfxgraph_mode_t mode : {GFXGRAPH_MODE_BATCH, GFXGRAPH_MODE_EAGER}) {
    const auto other = scaling(stream, a.data, 3, 2, mode);
    wait(stream);
    gfxgraph::Composition all =
        gfxgraph::Composition::sequence({&graph->step, &other->step, &graph->step});
    a.fill(1);
    expect(!all.run(stream), "it is not one graph");
    wait(stream);
    a.holds(((1 * 2 + 1) * 3 + 2) * 2 + 1, mode_name(mode));
    contains(all.reason(), "part 1: its step is not of mode graph", "the reason");
  }
}

// Memory that a part uses is given back: refused by name, and nothing runs.
void freed() {
  const Buffer a;
  Buffer b;
  const Stream stream;
  const auto one = scaling(stream, a.data, 2, 1), other = scaling(stream, b.data, 2, 1);
  wait(stream);
  gfxgraph::Composition all = gfxgraph::Composition::sequence({&one->step, &other->step});
  a.fill(1);
  b.free();
  refuses(GFXGRAPH_NOT_FOUND, "part 1", [&] { all.run(stream); }, "memory is gone");
  wait(stream);
  a.holds(1, "nothing ran");
  is(all.info().failures, 1, "failures");
}

// The composition keeps what it needs of its steps.
void destroyed() {
  const Buffer a;
  const Stream stream;
  auto one = scaling(stream, a.data, 2, 1), other = scaling(stream, a.data, 3, 2);
  wait(stream);
  gfxgraph::Composition all = gfxgraph::Composition::sequence({&one->step, &other->step});
  one.reset();
  other.reset();
  a.fill(1);
  for (int i = 0; i < 2; ++i) all.run(stream);
  wait(stream);
  a.holds(((1 * 2 + 1) * 3 + 2) * 2 * 3 + 3 + 2, "steps that are gone");
}

// Two streams by turns, and nobody waits in between.
void streams() {
  const Buffer a;
  const Stream both[2];
  const auto one = scaling(both[0], a.data, 1, 1), other = scaling(both[0], a.data, 1, 10);
  wait(both[0]);
  a.fill(0);
  {
    gfxgraph::Composition all = gfxgraph::Composition::sequence({&one->step, &other->step});
    for (int i = 0; i < 20; ++i) all.run(both[i % 2].stream);
    for (const Stream& each : both) wait(each);
  }
  a.holds(220, "runs on two streams");
}

void misuse() {
  const Buffer a;
  const Stream stream;
  const auto one = scaling(stream, a.data, 1, 1);
  wait(stream);
  const auto refused = [&](const std::vector<gfxgraph_part_t>& parts, const char* word) {
    refuses(GFXGRAPH_INVALID_ARGUMENT, word, [&] { gfxgraph::Composition all(parts); }, word);
  };
  gfxgraph_step_t const step = one->step.get();
  refused({}, "has no parts");
  refused({{nullptr, 0, 0}}, "it has no step");
  refused({{step, 0, 0}, {step, 0, 0}}, "is the same step");
  refused({{step, 1, 0}, {step, 0, 0}}, "stages do not ascend");
  refused({{step, 0, 2}}, "advances");
  // Two steps of one session that write one buffer.
  const gfxgraph::Step twin(one->session, one->trace.find_range("step"), GFXGRAPH_MODE_GRAPH);
  refused({{step, 0, 0}, {twin.get(), 0, 0}}, "use a buffer that one of them writes");
  gfxgraph::Composition all({{step, 0, 0}, {twin.get(), 1, 0}});
  a.fill(0);
  for (int i = 0; i < 3; ++i) expect(all.run(stream), "in stages they may");
  wait(stream);
  a.holds(6, "both of them");
  is(static_cast<uint64_t>(gfxgraph_composition_run(nullptr, stream, nullptr)),
     GFXGRAPH_INVALID_ARGUMENT, "no composition");
}

// Random steps of several buffers and streams, in random stages, against the host.
struct Action {
  int target, source, factor, add;
};
void do_on_host(const Action& one, std::vector<int>& values) {
  values[one.target] = static_cast<int>(static_cast<unsigned>(values[one.target]) * one.factor +
                                        one.add + static_cast<unsigned>(values[one.source]));
}
__global__ void combine(int* target, const int* source, int factor, int add) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < kCount)
    target[i] = static_cast<int>(static_cast<unsigned>(target[i]) * factor + add +
                                 static_cast<unsigned>(source[i]));
}
unsigned first_seed = 1, rounds = 12;
void random() {
  constexpr int kBuffers = 8;
  for (unsigned seed = first_seed; seed < first_seed + rounds; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int below) { return static_cast<int>(random() % below); };
    const Buffer buffers[kBuffers];
    const Stream stream, side;
    hipEvent_t fork = nullptr, join = nullptr;
    OK(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
    OK(hipEventCreateWithFlags(&join, hipEventDisableTiming));
    std::vector<std::unique_ptr<Captured>> steps;
    std::vector<gfxgraph_part_t> parts;
    std::vector<Action> done;
    const int stages = 1 + draw(4);
    for (int stage = 0; stage < stages; ++stage) {
      // Parts of one stage have buffers of their own: 4 pairs.
      const int count = 1 + draw(3);
      for (int part = 0; part < count; ++part) {
        const int first = (part * 2 + 2 * stage) % kBuffers;
        std::vector<Action> actions[2];
        for (int k = 0; k < 2; ++k) {
          for (int i = 0, n = 1 + draw(3); i < n; ++i)
            actions[k].push_back({first + k, first + k, 1 + draw(5), draw(100)});
        }
        const Action last{first, first + 1, 1 + draw(3), draw(10)};
        const bool forks = draw(2) == 1, joins = draw(2) == 1;
        steps.push_back(std::make_unique<Captured>(stream, [&] {
          const auto give = [&](hipStream_t to, const Action& one) {
            combine<<<kGrid, kBlock, 0, to>>>(buffers[one.target].data, buffers[one.source].data,
                                              one.factor, one.add);
          };
          hipStream_t const second = forks ? side.stream : stream.stream;
          if (forks) {
            OK(hipEventRecord(fork, stream));
            OK(hipStreamWaitEvent(side, fork, 0));
          }
          for (const Action& one : actions[0]) give(stream, one);
          for (const Action& one : actions[1]) give(second, one);
          if (forks) {
            OK(hipEventRecord(join, side));
            OK(hipStreamWaitEvent(stream, join, 0));
          }
          if (joins) give(stream, last);
        }));
        for (const auto& list : actions) done.insert(done.end(), list.begin(), list.end());
        if (joins) done.push_back(last);
        parts.push_back({steps.back()->step.get(), static_cast<uint32_t>(stage), 0});
      }
    }
    OK(hipDeviceSynchronize());
    gfxgraph::Composition all(parts);
    std::vector<int> values(kBuffers);
    for (int i = 0; i < kBuffers; ++i) buffers[i].fill(values[i] = i + 1);
    for (int run = 0; run < 3; ++run) {
      expect(all.run(stream), "one graph: " + all.reason());
      for (const Action& one : done) do_on_host(one, values);
    }
    wait(stream);
    for (int i = 0; i < kBuffers; ++i)
      buffers[i].holds(values[i], "seed " + std::to_string(seed) + ", buffer " + std::to_string(i));
    OK(hipEventDestroy(fork));
    OK(hipEventDestroy(join));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4) first_seed = static_cast<unsigned>(std::atoi(argv[2]));
  if (argc == 4) rounds = static_cast<unsigned>(std::atoi(argv[3]));
  return run_form(argc, argv,
                  {{"sequence", sequence},
                   {"parallel", parallel},
                   {"stages", stages},
                   {"values", values},
                   {"borders", borders},
                   {"modes", modes},
                   {"freed", freed},
                   {"destroyed", destroyed},
                   {"streams", streams},
                   {"misuse", misuse},
                   {"random", random}});
}

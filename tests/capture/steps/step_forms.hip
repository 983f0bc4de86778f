// Steps that the program captures of itself, and runs in place: each form expects its values, and
// the refusals that gfxgraph/capture.h documents. step_forms FORM [MODULE]
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "steps.h"

namespace {

const char* module_file = nullptr;

// Buffer and values: the step adds 3.
void three(hipStream_t stream, const Buffer& a) {
  launch(stream, a.data, 1);
  launch(stream, a.data, 2);
}

void check_runs(const Buffer& a, const Stream& stream, const gfxgraph::Trace& trace) {
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session& session) {
    a.fill(7);
    for (int i = 0; i < 3; ++i) step.run(stream);
    step.wait();
    wait(stream);
    a.holds(16, mode_name(step.info().mode));
    expect(session.address(trace.find_buffer("#1")) == a.data, "the step has memory of its own");
  });
}

void run() {
  const Buffer a;
  const Stream stream;
  const gfxgraph::Trace trace = captured(stream, [&] { three(stream, a); });
  wait(stream);
  a.holds(3, "captured work is done once");
  check_runs(a, stream, trace);
}

void hold() {
  const Buffer a;
  const Stream stream;
  const gfxgraph::Trace trace =
      captured(stream, [&] { three(stream, a); }, GFXGRAPH_CAPTURE_HOLD);
  wait(stream);
  a.holds(0, "held work is not done");
  check_runs(a, stream, trace);
}

// HIP 6.4.3 does fills of host memory when it instantiates a graph.
void hold_fills() {
  const Stream stream;
  int* pinned = nullptr;
  OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), kBytes, 0));
  pinned[0] = 5;
  const gfxgraph::Trace trace = captured(
      stream, [&] { OK(hipMemsetAsync(pinned, 1, kBytes, stream)); }, GFXGRAPH_CAPTURE_HOLD);
  wait(stream);
  expect(pinned[0] == 5, "a held fill is not done");
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    const std::string mode = mode_name(step.info().mode);
    wait(stream);
    pinned[0] = 5;
    step.commit();
    expect(pinned[0] == 5, mode + ": nor when the step is prepared");
    step.run(stream);
    step.wait();
    expect(pinned[0] == 0x01010101 && pinned[kCount - 1] == 0x01010101, mode);
  });
  OK(hipHostFree(pinned));
}

// Nothing of the runtime's is made for a step but graphs.
void no_memory() {
  const Buffer a;
  const Stream stream;
  const gfxgraph::Trace trace = captured(stream, [&] { three(stream, a); });
  gfxgraph::Session session(trace);
  session.load();
  expect(session.info().device_bytes == 0,
         std::to_string(session.info().device_bytes) + " bytes for a session in place");
}

void iterations() {
  const Buffer a;
  const Stream stream;
  gfxgraph::Capture capture(stream);
  launch(stream, a.data, 5);
  capture.pause();
  launch(stream, a.data, 100);  // does not belong to it
  capture.resume();
  launch(stream, a.data, 7);
  const gfxgraph::Trace trace = capture.end();
  wait(stream);
  a.holds(112, "both iterations and what is between them");
  const std::vector<gfxgraph_parameter_t> found = trace.parameters(trace.find_range("step"));
  expect(found.size() == 1, std::to_string(found.size()) + " parameters");
  expect(!found.empty() && found[0].number == 5, "the first iteration's value");
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    a.fill(0);
    step.run(stream);
    step.set_parameter(0, 1000);
    step.run(stream);
    step.advance(1);
    step.run(stream);
    step.wait();
    a.holds(1012, mode_name(step.info().mode));
  });
}

// A counter that each launch takes a part of, as random numbers do.
void named() {
  const Buffer a;
  const Stream stream;
  gfxgraph::Capture capture(stream);
  launch(stream, a.data, 10);
  const uint32_t second = capture.launches();
  launch(stream, a.data, 14);
  gfxgraph::Trace trace = capture.end();
  const gfxgraph_range_t range = trace.find_range("step");
  const uint32_t state = trace.name_parameter(range, "state", 8, {{0, 1, 0, 0}, {second, 1, 0, 0}});
  expect(trace.find_parameter(range, "state") == state, "the parameter is found by its name");
  refuses(
      GFXGRAPH_INVALID_ARGUMENT, "already",
      [&] { trace.name_parameter(range, "state", 0, {{0, 1, 0, 0}}); }, "a name twice");
  refuses(
      GFXGRAPH_INVALID_ARGUMENT, "no argument 9",
      [&] { trace.name_parameter(range, "x", 0, {{0, 9, 0, 0}}); }, "an argument too many");
  refuses(
      GFXGRAPH_INVALID_ARGUMENT, "no launch 2",
      [&] { trace.name_parameter(range, "x", 0, {{2, 0, 0, 0}}); }, "a launch too many");
  refuses(
      GFXGRAPH_INVALID_ARGUMENT, "one kind",
      [&] {
        trace.name_parameter(range, "x", 0, {{0, 0, 0, 0}, {0, 1, 0, 0}});
      },
      "an address and a number");
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    a.fill(0);
    step.run(stream);  // 10, 14
    step.advance(1);
    step.run(stream);  // 18, 22
    step.set_parameter(state, 100);
    step.run(stream);  // 100, 104
    step.wait();
    a.holds(268, mode_name(step.info().mode));
  });
}

void arguments() {
  const Buffer a, b;
  const Stream stream;
  const gfxgraph::Trace trace = captured(stream, [&] { three(stream, a); });
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    a.fill(0);
    b.fill(0);
    const char* const mode = mode_name(step.info().mode);
    step.set_argument(0, 8, 40);
    step.set_argument(1, 0, b.data);
    step.run(stream);
    step.wait();
    a.holds(40, mode);
    b.holds(2, mode);
    step.set_grid(1, 1);
    step.run(stream);
    step.wait();
    const std::vector<int> now = b.now();
    expect(now[255] == 4 && now[256] == 2, std::string(mode) + ": a smaller grid");
  });
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session& session) {
    a.fill(0);
    b.fill(0);
    session.bind(trace.find_buffer("#1"), b.data, kBytes);
    step.run(stream);
    step.wait();
    a.holds(0, "a buffer in whose place another one is bound");
    b.holds(3, mode_name(step.info().mode));
  });
}

void transfers() {
  const Buffer a;
  const Stream stream;
  std::vector<int> from(kCount, 11), to(kCount, 0);
  const gfxgraph::Trace trace = captured(stream, [&] {
    OK(hipMemcpyAsync(a.data, from.data(), kBytes, hipMemcpyHostToDevice, stream));
    three(stream, a);
    OK(hipMemcpyAsync(to.data(), a.data, kBytes, hipMemcpyDeviceToHost, stream));
  });
  wait(stream);
  expect(to[5] == 14, "the captured copies");
  const gfxgraph_range_t range = trace.find_range("step");
  expect(trace.inputs(range).size() == 1 && trace.outputs(range).size() == 1,
         "an input and an output");
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    const std::vector<int> bytes(kCount, 100);
    std::vector<int> got(kCount, 0);
    step.set_input(0, bytes.data(), kBytes);
    step.run(stream);
    step.read_output(0, got.data(), kBytes);
    expect(got[0] == 103 && got[kCount - 1] == 103, mode_name(step.info().mode));
  });
}

// Streams that join by events, and one that does not.
void streams() {
  const Buffer a, b, other;
  const Stream stream, second, stranger;
  hipEvent_t fork = nullptr, join = nullptr;
  OK(hipEventCreateWithFlags(&fork, hipEventDisableTiming));
  OK(hipEventCreateWithFlags(&join, hipEventDisableTiming));
  const gfxgraph::Trace trace = captured(stream, [&] {
    launch(stream, a.data, 1);
    OK(hipEventRecord(fork, stream));
    OK(hipStreamWaitEvent(second, fork, 0));
    launch(second, b.data, 2);
    launch(stream, a.data, 4);
    OK(hipEventRecord(join, second));
    OK(hipStreamWaitEvent(stream, join, 0));
    OK(hipMemcpyAsync(a.data, b.data, kBytes / 2, hipMemcpyDeviceToDevice, stream));
  });
  wait(stream);
  launch(stranger, other.data, 1);
  wait(stranger);
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    a.fill(0);
    b.fill(50);
    other.fill(9);
    step.run(stream);
    step.wait();
    const std::vector<int> now = a.now();
    const std::string mode = mode_name(step.info().mode);
    expect(now[0] == 52 && now[kCount - 1] == 5, mode);
    b.holds(52, mode);
    other.holds(9, mode + ": work that is not of the step");
  });
  OK(hipEventDestroy(fork));
  OK(hipEventDestroy(join));
}

// Memory that lives inside of the step only is the step's own; what was freed is not missed unless
// the step uses it.
void temporary() {
  const Buffer a;
  const Stream stream;
  const gfxgraph::Trace trace = captured(stream, [&] {
    int* scratch = nullptr;
    OK(hipMalloc(&scratch, kBytes));
    OK(hipMemcpyAsync(scratch, a.data, kBytes, hipMemcpyDeviceToDevice, stream));
    launch(stream, scratch, 10);
    OK(hipMemcpyAsync(a.data, scratch, kBytes, hipMemcpyDeviceToDevice, stream));
    OK(hipStreamSynchronize(stream));
    OK(hipFree(scratch));
  });
  a.holds(10, "captured");
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    a.fill(1);
    step.run(stream);
    step.run(stream);
    step.wait();
    a.holds(21, mode_name(step.info().mode));
  });
}

void freed() {
  const Buffer a;
  Buffer used, unused;
  const Stream stream;
  launch(stream, unused.data, 1);
  const gfxgraph::Trace trace = captured(stream, [&] {
    three(stream, a);
    launch(stream, used.data, 1);
  });
  wait(stream);
  gfxgraph::Session session(trace);
  for (const gfxgraph_mode_t mode : {GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH, GFXGRAPH_MODE_GRAPH}) {
    gfxgraph::Step step(session, trace.find_range("step"), mode);
    step.run(stream);
    step.wait();
  }
  gfxgraph::Step before(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH);
  unused.free();
  before.run(stream);
  before.wait();
  a.fill(0);
  used.free();
  refuses(GFXGRAPH_NOT_FOUND, "allocation", [&] { before.run(stream); }, "a run after a free");
  wait(stream);
  a.holds(0, "a refused run does nothing");
  refuses(
      GFXGRAPH_NOT_FOUND, "allocation",
      [&] {
        gfxgraph::Session later(trace);
        gfxgraph::Step step(later, trace.find_range("step"), GFXGRAPH_MODE_BATCH);
      },
      "a step after a free");
  // The address is given to others again: still refused.
  std::vector<std::unique_ptr<Buffer>> more;
  for (int i = 0; i < 8; ++i) more.push_back(std::make_unique<Buffer>());
  refuses(GFXGRAPH_NOT_FOUND, "allocation", [&] { before.run(stream); }, "a recycled address");
}

// Freed while it is captured: the step can never run.
void freed_inside() {
  const Buffer a;
  Buffer gone;
  const Stream stream;
  const gfxgraph::Trace trace = captured(stream, [&] {
    three(stream, a);
    launch(stream, gone.data, 1);
    wait(stream);
    gone.free();
  });
  gfxgraph::Session session(trace);
  refuses(
      GFXGRAPH_NOT_FOUND, "allocation",
      [&] { gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH); },
      "a step whose memory is gone");
}

void modules() {
  const Buffer a;
  const Stream stream;
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  OK(hipModuleLoad(&module, module_file));
  OK(hipModuleGetFunction(&function, module, "add"));
  const auto by_module = [&](int v, bool extra) {
    struct {
      int* a;
      int v, n;
    } packed{a.data, v, kCount};
    size_t size = sizeof packed;
    void* list[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                    HIP_LAUNCH_PARAM_END};
    void* pointers[] = {&packed.a, &packed.v, &packed.n};
    OK(hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, extra ? nullptr : pointers,
                             extra ? list : nullptr));
  };
  const gfxgraph::Trace trace = captured(stream, [&] {
    by_module(1, false);
    by_module(2, true);
  });
  check_runs(a, stream, trace);
  gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH);
  wait(stream);
  OK(hipModuleUnload(module));
  refuses(GFXGRAPH_NOT_FOUND, "add", [&] { step.run(stream); }, "a run after an unload");
}

struct Seen {
  std::vector<uint32_t> kinds;
  std::vector<std::string> names;
  const Buffer* buffer = nullptr;
  std::vector<int> values;  // of the buffer, there
  uint32_t stop_at = UINT32_MAX;
};

int32_t see(void* context, const gfxgraph_border_t* border) {
  Seen& seen = *static_cast<Seen*>(context);
  seen.kinds.push_back(border->kind);
  seen.names.emplace_back(border->name);
  seen.values.push_back(seen.buffer->now()[kCount - 1]);
  return border->number == seen.stop_at ? 1 : 0;
}

void count_call(hipStream_t, hipError_t, void* context) { ++*static_cast<int*>(context); }

std::string listed(const Seen& seen) {
  std::string text;
  for (size_t i = 0; i < seen.kinds.size(); ++i)
    text += " " + std::to_string(seen.kinds[i]) + " (" + seen.names[i] + ")";
  return text;
}

void borders() {
  const Buffer a;
  const Stream stream;
  int calls = 0;
  int host = 0;
  gfxgraph::Capture capture(stream);
  launch(stream, a.data, 1);
  wait(stream);
  launch(stream, a.data, 10);
  OK(hipMemcpyWithStream(&host, a.data, sizeof host, hipMemcpyDeviceToHost, stream));
  launch(stream, a.data, 100);
  OK(hipStreamAddCallback(stream, count_call, &calls, 0));
  launch(stream, a.data, 1000);
  capture.border("between");
  launch(stream, a.data, 10000);
  const gfxgraph::Trace trace = capture.end();
  wait(stream);
  expect(host == 11 && calls == 1, "the captured work is done");
  gfxgraph::Session session(trace);
  const gfxgraph_range_t range = trace.find_range("step");
  refuses(
      GFXGRAPH_INVALID_ARGUMENT, "border",
      [&] { gfxgraph::Step step(session, range, GFXGRAPH_MODE_BATCH); }, "no border function");
  for (const gfxgraph_mode_t mode : {GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH, GFXGRAPH_MODE_GRAPH}) {
    Seen seen;
    seen.buffer = &a;
    gfxgraph_step_options_t options = gfxgraph_step_options_default();
    options.mode = mode;
    options.border = see;
    options.border_context = &seen;
    gfxgraph::Step step(session, range, options);
    a.fill(0);
    step.run(stream);
    step.wait();
    const std::string name = mode_name(mode);
    a.holds(11111, name);
    expect(seen.kinds == std::vector<uint32_t>{GFXGRAPH_BORDER_WAIT, GFXGRAPH_BORDER_RESULT,
                                               GFXGRAPH_BORDER_FUNCTION, GFXGRAPH_BORDER_BREAK},
           name + ": kinds of borders" + listed(seen));
    expect(seen.values == std::vector<int>{1, 11, 111, 1111},
           name + ": what is done before a border, and no more");
    expect(!seen.names.empty() && seen.names[0].find("Synchronize") != std::string::npos &&
               seen.names.back() == "between",
           name + ": names of borders");
    expect(calls == 1, name + ": the program's function is the caller's to call");
    seen = Seen();
    seen.buffer = &a;
    seen.stop_at = 1;
    a.fill(0);
    refuses(GFXGRAPH_INVALID_ARGUMENT, "border", [&] { step.run(stream); }, "a function that ends");
    wait(stream);
    a.holds(11, name + ": a run that ended at a border");
  }
}

void saved() {
  const Buffer a;
  const Stream stream;
  a.fill(4);
  gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
  options.contents = 1;
  options.name = "three";
  gfxgraph::Capture capture(stream, options);
  three(stream, a);
  const gfxgraph::Trace trace = capture.end();
  const std::string path = std::string(module_file) + ".saved.gfxg";
  trace.save(path);
  a.fill(1);
  in_each_mode(
      trace,
      [&](gfxgraph::Step& step, gfxgraph::Session&) {
        a.fill(1);
        step.run(stream);
        step.wait();
        a.holds(4, "in place with contents");
      },
      "three");
  a.fill(1);
  const gfxgraph::Trace elsewhere(path);
  gfxgraph::Session session(elsewhere);
  gfxgraph::Step step(session, elsewhere.find_range("three"), GFXGRAPH_MODE_GRAPH);
  step.run(nullptr);
  const gfxgraph_verification_t verified = step.verify();
  expect(verified.different == 0 && verified.identical > 0, "the saved trace replays its contents");
  a.holds(1, "and not in place");
  refuses(GFXGRAPH_UNSUPPORTED, "file", [&] { elsewhere.save(path + "2"); }, "a file saved again");
  refuses(GFXGRAPH_INVALID_ARGUMENT, "/no/such", [&] { trace.save("/no/such/folder"); }, "no such folder");
}

void misuse() {
  const Buffer a;
  const Stream stream;
  gfxgraph_capture_t none = nullptr;
  expect(gfxgraph_capture_pause(none) == GFXGRAPH_INVALID_ARGUMENT, "pause of null");
  expect(gfxgraph_capture_begin(stream, nullptr, nullptr) == GFXGRAPH_INVALID_ARGUMENT, "no place");
  gfxgraph_capture_abandon(none);
  gfxgraph_capture_options_t wrong = gfxgraph_capture_options_default();
  wrong.mode = 9;
  refuses(GFXGRAPH_INVALID_ARGUMENT, "mode", [&] { gfxgraph::Capture c(stream, wrong); }, "a mode");
  wrong = gfxgraph_capture_options_default();
  wrong.mode = GFXGRAPH_CAPTURE_HOLD;
  wrong.contents = 1;
  refuses(GFXGRAPH_INVALID_ARGUMENT, "contents", [&] { gfxgraph::Capture c(stream, wrong); }, "both");
  wrong = gfxgraph_capture_options_default();
  wrong.struct_size = 0;
  refuses(GFXGRAPH_INVALID_ARGUMENT, "struct_size", [&] { gfxgraph::Capture c(stream, wrong); },
          "no size");

  const gfxgraph::Trace trace = captured(stream, [&] { three(stream, a); });
  gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH);
  {
    gfxgraph::Capture capture(stream);
    refuses(GFXGRAPH_INVALID_ARGUMENT, "thread", [&] { gfxgraph::Capture second(stream); },
            "a second capture of a thread");
    refuses(GFXGRAPH_UNSUPPORTED, "capture", [&] { step.run(stream); }, "a run in a capture");
    refuses(GFXGRAPH_INVALID_ARGUMENT, "pause", [&] { capture.resume(); }, "resume without pause");
    capture.pause();
    refuses(GFXGRAPH_INVALID_ARGUMENT, "pause", [&] { capture.pause(); }, "pause twice");
    capture.resume();
    launch(stream, a.data, 1);
  }  // given up
  wait(stream);
  a.holds(4, "what a given up capture did");
  step.run(stream);
  step.wait();
  a.holds(7, "a step after a given up capture");
  const gfxgraph::Trace empty = captured(stream, [] {});
  gfxgraph::Session nothing(empty);
  gfxgraph::Step no_work(nothing, empty.find_range("step"), GFXGRAPH_MODE_BATCH);
  no_work.run(stream);
  no_work.wait();
  expect(gfxgraph_step_verify(step.get(), nullptr, nullptr, 0, 0) != GFXGRAPH_OK,
         "a step in place has nothing to be compared with");
}

// One step runs the work of three captures: over other buffers, of other sizes.
void sets() {
  const Buffer a, b;
  const Stream stream;
  auto small = std::make_unique<Buffer>();
  const auto work = [&](int* data, int v, int n) {
    launch(stream, data, v, n);
    OK(hipMemsetAsync(data, v, 4, stream));
    OK(hipMemcpyAsync(data + 8, data, 8, hipMemcpyDeviceToDevice, stream));
  };
  const gfxgraph::Trace first = captured(stream, [&] { work(a.data, 1, kCount); });
  const gfxgraph::Trace second = captured(stream, [&] { work(b.data, 2, 512); });
  const gfxgraph::Trace third = captured(stream, [&] { work(small->data, 3, 256); });
  const gfxgraph::Trace longer = captured(stream, [&] {
    work(a.data, 1, kCount);
    launch(stream, a.data, 1);
  });
  const gfxgraph::Trace others = captured(stream, [&] {
    OK(hipMemsetAsync(a.data, 1, 4, stream));
    launch(stream, a.data, 1);
    OK(hipMemcpyAsync(a.data + 8, a.data, 8, hipMemcpyDeviceToDevice, stream));
  });
  in_each_mode(first, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    const gfxgraph_mode_t in = step.info().mode;
    const std::string mode = mode_name(in);
    gfxgraph::Sets sets(step);
    sets.keep(1024, step);
    const auto keep = [&](uint64_t size, const gfxgraph::Trace& trace) {
      const gfxgraph::Session session(trace);
      sets.keep(size, gfxgraph::Step(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH));
    };
    keep(512, second);
    keep(256, third);
    refuses(GFXGRAPH_UNSUPPORTED, "3 launches, copies and fills, the other one 4",
            [&] { keep(1, longer); }, "another number of launches");
    refuses(GFXGRAPH_UNSUPPORTED, "its kind", [&] { keep(1, others); }, "another order");
    a.fill(0);
    b.fill(0);
    small->fill(0);
    const auto run = [&](uint64_t size, uint64_t wanted) {
      expect(sets.use(size) == wanted, mode + ": the set for " + std::to_string(size));
      step.run(stream);
      step.wait();
    };
    run(300, 512);
    run(1, 256);
    run(256, 256);
    run(513, 1024);
    run(512, 512);
    const auto holds = [&](const Buffer& buffer, int v, int times, int n) {
      const std::vector<int> now = buffer.now();
      const int filled = v * 0x01010101;
      expect(now[0] == filled && now[8] == filled && now[9] == v * times && now[16] == v * times &&
                 now[n - 1] == v * times && (n == kCount || now[n] == 0),
             mode + ": " + std::to_string(now[0]) + " " + std::to_string(now[16]));
    };
    holds(a, 1, 1, kCount);
    holds(b, 2, 2, 512);
    holds(*small, 3, 2, 256);
    refuses(GFXGRAPH_NOT_FOUND, "1024", [&] { sets.use(1025); }, "a size beyond all sets");
    const gfxgraph_sets_info_t info = sets.info();
    expect(info.sets == 3 && info.used == 5 && info.missed == 1 && info.dropped == 0 &&
               info.items == 300 + 1 + 256 + 513 + 512 && info.padding == 212 + 255 + 511,
           mode + ": what was counted");
    // The cap holds two of them: the one that was not used for longest goes.
    gfxgraph::Sets few(step, info.bytes / 3 * 2 + 8);
    few.keep(1, step);
    few.keep(2, step);
    few.use(1);
    few.keep(3, step);
    expect(few.info().sets == 2 && few.info().dropped == 1, mode + ": dropped sets");
    expect(few.use(2) == 3 && few.use(1) == 1, mode + ": the oldest one was dropped");
    refuses(GFXGRAPH_UNSUPPORTED, "bytes",
            [&] {
              gfxgraph::Sets none(step, 8);
              none.keep(1, step);
            },
            "a set beyond the cap");
  });
  gfxgraph::Session session(first);
  gfxgraph::Step step(session, first.find_range("step"), GFXGRAPH_MODE_BATCH);
  gfxgraph::Sets sets(step);
  sets.keep(1024, step);
  {
    const gfxgraph::Session other(third);
    sets.keep(256, gfxgraph::Step(other, third.find_range("step"), GFXGRAPH_MODE_BATCH));
  }
  small.reset();
  sets.use(256);
  refuses(GFXGRAPH_NOT_FOUND, "allocation", [&] { step.run(stream); }, "a set whose memory is gone");
  sets.use(1024);
  step.run(stream);
  step.wait();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) module_file = argv[2];
  return run_form(argc, argv,
                  {{"run", run},
                   {"hold", hold},
                   {"hold_fills", hold_fills},
                   {"no_memory", no_memory},
                   {"iterations", iterations},
                   {"named", named},
                   {"arguments", arguments},
                   {"transfers", transfers},
                   {"streams", streams},
                   {"temporary", temporary},
                   {"freed", freed},
                   {"freed_inside", freed_inside},
                   {"modules", modules},
                   {"borders", borders},
                   {"saved", saved},
                   {"misuse", misuse},
                   {"sets", sets}});
}

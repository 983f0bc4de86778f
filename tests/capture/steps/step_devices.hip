// Steps that are captured on the second of two devices. step_devices FORM MODULE
#include "steps.h"

namespace {

const char* module_file = nullptr;

void use_device(int number) { OK(hipSetDevice(number)); }

// As on the first one: in place, in each mode, over live memory.
void second() {
  use_device(1);
  const Buffer a;
  const Stream stream;
  a.fill(0);
  const gfxgraph::Trace trace = captured(stream, [&] {
    for (int i = 1; i <= 3; ++i) launch(stream, a.data, i);
  });
  wait(stream);
  a.holds(6, "the captured work on the second device");
  in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    a.fill(0);
    step.run(stream);
    step.run(stream);
    step.wait();
    a.holds(12, "runs on the second device");
  });
}

// Functions of a module that was loaded there.
void functions() {
  use_device(1);
  hipModule_t module = nullptr;
  hipFunction_t function = nullptr;
  OK(hipModuleLoad(&module, module_file));
  OK(hipModuleGetFunction(&function, module, "add"));
  {
    const Buffer a;
    const Stream stream;
    int value = 5, count = kCount;
    void* arguments[] = {const_cast<int**>(&a.data), &value, &count};
    a.fill(0);
    const gfxgraph::Trace trace = captured(stream, [&] {
      OK(hipModuleLaunchKernel(function, kGrid.x, 1, 1, kBlock.x, 1, 1, 0, stream, arguments,
                               nullptr));
    });
    wait(stream);
    a.holds(5, "the captured work of a module");
    in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
      a.fill(1);
      step.run(stream);
      step.wait();
      a.holds(6, "a module's function on the second device");
    });
  }
  OK(hipModuleUnload(module));
}

// The session's device is the current one: that of the capture, or it is refused by name.
void other() {
  use_device(1);
  const Buffer a;
  const Stream stream;
  a.fill(0);
  const gfxgraph::Trace trace = captured(stream, [&] { launch(stream, a.data, 1); });
  wait(stream);
  use_device(0);
  refuses(
      GFXGRAPH_UNSUPPORTED, "device 1",
      [&] {
        gfxgraph::Session session(trace);
        gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH);
      },
      "a session on another device than the capture's");
  gfxgraph_session_options_t options = gfxgraph_session_options_default();
  options.device = 1;
  gfxgraph::Session session(trace, options);
  gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_GRAPH);
  step.run(stream);
  step.wait();
  int now = -1;
  OK(hipGetDevice(&now));
  expect(now == 0, "the thread's device stays what it was");
  use_device(1);
  a.holds(2, "a step whose device is named");
}

// A kernel that ran on both devices before: each has a function of its own.
void both() {
  use_device(0);
  const Buffer first;
  const Stream early;
  first.fill(0);
  launch(early, first.data, 7);
  wait(early);
  use_device(1);
  const Buffer a;
  const Stream stream;
  a.fill(0);
  const gfxgraph::Trace second = captured(stream, [&] { launch(stream, a.data, 3); });
  wait(stream);
  in_each_mode(second, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    a.fill(0);
    step.run(stream);
    step.wait();
    a.holds(3, "the second device, after the first");
  });
  use_device(0);
  const gfxgraph::Trace back = captured(early, [&] { launch(early, first.data, 2); });
  wait(early);
  in_each_mode(back, [&](gfxgraph::Step& step, gfxgraph::Session&) {
    first.fill(0);
    step.run(early);
    step.wait();
    first.holds(2, "the first device, after the second");
  });
}

// A step of two devices: refused by name.
void mixed() {
  use_device(0);
  const Buffer first;
  const Stream one;
  use_device(1);
  const Buffer second;
  const Stream two;
  first.fill(0);
  second.fill(0);
  const gfxgraph::Trace trace = captured(two, [&] {
    launch(two, second.data, 1);
    use_device(0);
    launch(one, first.data, 1);
    use_device(1);
  });
  OK(hipDeviceSynchronize());
  refuses(
      GFXGRAPH_UNSUPPORTED, "device 0",
      [&] {
        gfxgraph::Session session(trace);
        gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_GRAPH);
      },
      "a step of two devices");
}

}  // namespace

int main(int argc, char** argv) {
  module_file = argc > 2 ? argv[2] : "";
  return run_form(argc, argv,
                  {{"second", second},
                   {"functions", functions},
                   {"other", other},
                   {"both", both},
                   {"mixed", mixed}});
}

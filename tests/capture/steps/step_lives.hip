// Captured steps and the lives of threads and processes. step_lives FORM [LIBRARY]
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "steps.h"

namespace {

const char* library_file = nullptr;  // of the form "closed"

constexpr int kThreads = 8;
constexpr int kRounds = 6;

// Each thread captures steps of its own and runs them while the others capture: nothing of another
// thread gets into a step.
void threads() {
  std::vector<std::thread> all;
  for (int number = 0; number < kThreads; ++number) {
    all.emplace_back([number] {
      try {
        const Buffer a;
        const Stream stream;
        for (int round = 0; round < kRounds; ++round) {
          a.fill(0);
          gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
          options.wait_milliseconds = 60'000;
          gfxgraph::Capture capture(stream, options);
          for (int i = 0; i < 4; ++i) launch(stream, a.data, number + 1);
          const gfxgraph::Trace trace = capture.end();
          wait(stream);
          gfxgraph::Session session(trace);
          expect(trace.range(0).launches == 4,
                 "a step of 4 launches has " + std::to_string(trace.range(0).launches));
          gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH);
          for (int i = 0; i < 3; ++i) {
            step.run(stream);
            launch(stream, a.data, 0);  // beside other threads' captures
          }
          step.wait();
          wait(stream);
          a.holds(16 * (number + 1), "thread " + std::to_string(number));
        }
      } catch (const std::exception& thrown) {
        expect(false, std::string("thread: ") + thrown.what());
      }
    });
  }
  for (std::thread& one : all) one.join();
}

// A thread that never ends its capture keeps the others waiting no longer than they want.
void occupied() {
  const Buffer a;
  const Stream stream;
  gfxgraph::Capture first(stream);
  std::thread([&] {
    gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
    options.wait_milliseconds = 50;
    refuses(GFXGRAPH_NOT_READY, "capture", [&] { gfxgraph::Capture second(stream, options); },
            "a capture beside another one");
  }).join();
}

// The handle goes with the stack, as its destructor is called.
void thrown() {
  const Buffer a;
  const Stream stream;
  try {
    gfxgraph::Capture capture(stream);
    launch(stream, a.data, 1);
    throw std::runtime_error("an engine's own");
  } catch (const std::runtime_error&) {
  }
  const gfxgraph::Trace trace = captured(stream, [&] { launch(stream, a.data, 2); });
  gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH);
  step.run(stream);
  step.wait();
  a.holds(5, "a capture after one that an exception left");
}

void* capture_until_cancelled(void* context) {
  const Buffer a;
  const Stream stream;
  gfxgraph::Capture capture(stream);
  launch(stream, a.data, 1);
  static_cast<std::atomic<int>*>(context)->store(1);
  for (;;) {
    pthread_testcancel();
    usleep(1000);
  }
  return nullptr;
}

void cancelled() {
  std::atomic<int> started = 0;
  pthread_t thread{};
  pthread_create(&thread, nullptr, capture_until_cancelled, &started);
  while (started.load() == 0) usleep(1000);
  pthread_cancel(thread);
  pthread_join(thread, nullptr);
  const Buffer a;
  const Stream stream;
  const gfxgraph::Trace trace = captured(stream, [&] { launch(stream, a.data, 2); });
  gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH);
  step.run(stream);
  step.wait();
  a.holds(4, "a capture after one whose thread was cancelled");
}

// A child of fork() has no HIP: what it inherited refuses, and its end harms nobody.
void forked() {
  const Buffer a;
  const Stream stream;
  const gfxgraph::Trace trace = captured(stream, [&] { launch(stream, a.data, 2); });
  gfxgraph::Session session(trace);
  gfxgraph::Step step(session, trace.find_range("step"), GFXGRAPH_MODE_BATCH);
  gfxgraph::Capture open(stream);
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    if (gfxgraph_step_run(step.get(), stream) != GFXGRAPH_UNSUPPORTED) wrong |= 1;
    if (gfxgraph_capture_pause(open.get()) != GFXGRAPH_UNSUPPORTED) wrong |= 2;
    gfxgraph_capture_t another = nullptr;
    if (gfxgraph_capture_begin(stream, nullptr, &another) != GFXGRAPH_UNSUPPORTED) wrong |= 4;
    _exit(wrong);
  }
  int status = 0;
  waitpid(child, &status, 0);
  expect(WIFEXITED(status) && WEXITSTATUS(status) == 0,
         "the child ended with " + std::to_string(status));
  launch(stream, a.data, 10);
  const gfxgraph::Trace second = open.end();
  gfxgraph::Session later(second);
  gfxgraph::Step both(later, second.find_range("step"), GFXGRAPH_MODE_BATCH);
  both.run(stream);
  step.run(stream);
  step.wait();
  both.wait();
  a.holds(24, "the parent goes on");
}

// In any order, with runs in flight.
void destroyed() {
  const Buffer a;
  const Stream stream;
  for (int order = 0; order < 4; ++order) {
    a.fill(0);
    auto trace = std::make_unique<gfxgraph::Trace>(captured(stream, [&] {
      for (int i = 0; i < 50; ++i) launch(stream, a.data, 1);
    }));
    auto session = std::make_unique<gfxgraph::Session>(*trace);
    const gfxgraph_range_t range = trace->find_range("step");
    auto step = std::make_unique<gfxgraph::Step>(
        *session, range, order < 2 ? GFXGRAPH_MODE_GRAPH : GFXGRAPH_MODE_BATCH);
    step->run(stream);
    if (order % 2 == 0) {
      trace.reset();
      session.reset();
      step.reset();
    } else {
      step.reset();
      session.reset();
      trace.reset();
    }
    wait(stream);
    a.holds(100, "order " + std::to_string(order));
  }
}

// The library whose kernel is in the step is closed: runs are refused by name in each mode, and the
// process goes on. tests/capture/programs/capture_closed.hip is the library.
void closed() {
  const Buffer a;
  const Stream stream;
  for (int round = 1; round <= 2; ++round) {
    a.fill(0);
    void* const library = dlopen(library_file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto work = reinterpret_cast<void (*)(hipStream_t, int*, int)>(dlsym(library, "launch_of_library"));
    const gfxgraph::Trace trace = captured(stream, [&] {
      work(stream, a.data, 3);
      launch(stream, a.data, 4);
    });
    gfxgraph::Session session(trace);
    std::vector<gfxgraph::Step> steps;
    for (const auto mode : {GFXGRAPH_MODE_EAGER, GFXGRAPH_MODE_BATCH, GFXGRAPH_MODE_GRAPH}) {
      steps.emplace_back(session, trace.find_range("step"), mode);
      steps.back().run(stream);
      steps.back().wait();
    }
    wait(stream);
    a.holds(28, "a step with the library's kernel");
    expect(dlclose(library) == 0, "dlclose");
    for (gfxgraph::Step& step : steps)
      refuses(GFXGRAPH_NOT_FOUND, "add", [&] { step.run(stream); }, "a run after the library's end");
    wait(stream);
    a.holds(28, "refused runs do nothing");
    const gfxgraph::Trace next = captured(stream, [&] { launch(stream, a.data, 1); });
    gfxgraph::Session alone(next);
    gfxgraph::Step step(alone, next.find_range("step"), GFXGRAPH_MODE_GRAPH);
    step.run(stream);
    step.wait();
    wait(stream);
    a.holds(30, "a step of the program, after the library's end");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) library_file = argv[2];
  return run_form(argc, argv,
                  {{"threads", threads},
                   {"occupied", occupied},
                   {"thrown", thrown},
                   {"cancelled", cancelled},
                   {"forked", forked},
                   {"destroyed", destroyed},
                   {"closed", closed}});
}

// Captures and the ends of threads, processes, streams and memory. capture_lives FORM; prints
// "FORM: PASS" or what is wrong. With gfxgraph's layer each form must pass.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <thread>

#include "captured.h"

extern "C" __global__ void add(int* a, int v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += v;
}

namespace {

const char* program = nullptr;
constexpr const char* kAlone = "alone";

hipStreamCaptureStatus status_of(hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  OK(hipStreamIsCapturing(stream, &status));
  return status;
}

// Everything works: streams, allocations, captures.
void all_works(const char* what) {
  Buffer a;
  const hipStream_t stream = make_stream();
  launch(stream, a.data, 1);
  OK(hipStreamSynchronize(stream));
  capture_and_run(stream, [&] { launch(stream, a.data, 2); });
  a.holds(5, what);
  OK(hipStreamDestroy(stream));
}

// ---- threads that leave their capture -----------------------------------------------------------

// A capture of two streams, open and joined: + 1 for a, + 2 for b.
struct Open {
  Buffer a, b;
  hipStream_t stream = make_stream(hipStreamNonBlocking);
  hipStream_t side = make_stream(hipStreamNonBlocking);
  hipEvent_t event = make_event();
  std::atomic<bool> begun{false};
  explicit Open(hipStreamCaptureMode of) : mode(of) {}
  hipStreamCaptureMode mode;

  void begin() {
    OK(hipStreamBeginCapture(stream, mode));
    launch(stream, a.data, 1);
    follow(side, stream, event);
    launch(side, b.data, 2);
    follow(stream, side, event);
    begun.store(true);
  }
};

void returns(Open& open) { open.begin(); }
void exits(Open& open) {
  open.begin();
  pthread_exit(nullptr);
}
void throws(Open& open) {
  try {
    open.begin();
    throw std::runtime_error("an engine's own");
  } catch (const std::runtime_error&) {
  }
}
void is_cancelled(Open& open) {
  open.begin();
  for (;;) {
    pthread_testcancel();
    usleep(1000);
  }
}

struct Way {
  const char* name;
  void (*leave)(Open&);
};
constexpr Way kWays[] = {
    {"ends by its return", returns}, {"calls pthread_exit", exits}, {"leaves by an exception", throws}, {"is cancelled", is_cancelled}};

struct Task {
  const Way& way;
  Open& open;
};

void leave(const Way& way, Open& open) {
  Task task{way, open};
  pthread_t thread{};
  pthread_create(
      &thread, nullptr,
      [](void* context) -> void* {
        const Task& one = *static_cast<Task*>(context);
        one.way.leave(one.open);
        return nullptr;
      },
      &task);
  while (!open.begun.load()) usleep(1000);
  if (way.leave == is_cancelled) pthread_cancel(thread);
  pthread_join(thread, nullptr);
}

// The capture goes on without its thread, as HIP documents: who may end it does, else its stream's
// end is its end.
void threads() {
  for (const Way& way : kWays) {
    for (const auto mode : {hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed}) {
      const std::string what = std::string("a thread that ") + way.name + ", mode " + std::to_string(mode);
      Open open(mode);
      leave(way, open);
      expect(status_of(open.stream) == hipStreamCaptureStatusActive, what + ": the capture is over");
      hipGraph_t graph = nullptr;
      if (mode == hipStreamCaptureModeRelaxed) {
        OK(hipStreamEndCapture(open.stream, &graph));
        run(graph, open.stream);
        open.a.holds(2, what.c_str());
        open.b.holds(4, what.c_str());
      } else {
        ANSWERS(908, hipStreamEndCapture(open.stream, &graph));
        void* memory = nullptr;
        ANSWERS(mode == hipStreamCaptureModeGlobal ? 900 : 0, hipMalloc(&memory, 64));
        OK(hipStreamDestroy(open.stream));
        expect(status_of(open.side) == hipStreamCaptureStatusNone, what + ": the other stream is captured");
        launch(open.side, open.b.data, 5);
        OK(hipStreamSynchronize(open.side));
        open.b.holds(5, what.c_str());
        open.a.holds(0, what.c_str());
      }
      all_works(what.c_str());
    }
  }
}

// The thread itself goes on after an exception: its capture is still there.
void thrown() {
  Open open(hipStreamCaptureModeGlobal);
  throws(open);
  ANSWERS(401, hipStreamBeginCapture(open.stream, hipStreamCaptureModeGlobal));
  launch(open.stream, open.a.data, 10);
  hipGraph_t graph = nullptr;
  OK(hipStreamEndCapture(open.stream, &graph));
  run(graph, open.stream);
  open.a.holds(22, "what was captured before and after an exception");
}

// A thread's own stream ends with it: the next thread's is an ordinary one.
void per_thread() {
  Buffer a;
  std::thread([&] {
    OK(hipStreamBeginCapture(hipStreamPerThread, hipStreamCaptureModeGlobal));
    launch(hipStreamPerThread, a.data, 100);
  }).join();
  all_works("after a capture of a thread's own stream");
  for (int i = 0; i < 8; ++i) {
    std::thread([&] {
      expect(status_of(hipStreamPerThread) == hipStreamCaptureStatusNone, "a thread's own stream is captured");
      launch(hipStreamPerThread, a.data, 1);
      OK(hipStreamSynchronize(hipStreamPerThread));
      capture_and_run(hipStreamPerThread, [&] { launch(hipStreamPerThread, a.data, 1); });
    }).join();
  }
  a.holds(24, "later threads' own streams");
}

// The runtime's call under a captured one is where the thread is cancelled (failing_runtime.cpp).
// What returned before is in the graph, or there is no graph.
std::atomic<int> to_a{0}, to_b{0};
void is_cancelled_inside(Open& open) {
  OK(hipStreamBeginCapture(open.stream, hipStreamCaptureModeRelaxed));
  open.begun.store(true);
  launch(open.stream, open.a.data, 1);
  to_a += 1;
  follow(open.side, open.stream, open.event);
  launch(open.side, open.b.data, 2);
  to_b += 2;
  follow(open.stream, open.side, open.event);
  launch(open.stream, open.a.data, 4);
  to_a += 4;
  OK(hipMemsetAsync(open.b.data, 0, kBytes, open.stream));
  to_b = 0;
  launch(open.stream, open.b.data, 8);
  to_b += 8;
}
void inside() {
  Open open(hipStreamCaptureModeRelaxed);
  pthread_t thread{};
  pthread_create(
      &thread, nullptr,
      [](void* context) -> void* {
        is_cancelled_inside(*static_cast<Open*>(context));
        return nullptr;
      },
      &open);
  pthread_join(thread, nullptr);
  hipGraph_t graph = nullptr;
  const hipError_t ended = hipStreamEndCapture(open.stream, &graph);
  expect(ended == hipSuccess || ended == (open.begun ? hipErrorStreamCaptureInvalidated : hipErrorIllegalState) ||
             ended == hipErrorStreamCaptureUnjoined,
         "the end: " + std::to_string(ended));
  if (ended == hipSuccess) {
    run(graph, open.stream);
    open.a.holds(2 * to_a, "what the cancelled thread captured");
    open.b.holds(to_b == 8 ? 8 : 2 * to_b, "what it captured on the other stream");
  }
  std::thread([] { all_works("another thread"); }).join();
  all_works("after a thread was cancelled inside of a call");
}

// ---- processes ----------------------------------------------------------------------------------

int status_of_child(void (*child)()) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    child();
    _exit(99);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

hipStream_t open_stream = nullptr;
hipStream_t free_stream = nullptr;

void ends_at_once() { _exit(7); }
void ends_in_order() { std::exit(8); }
void starts_a_program() { execl(program, program, kAlone, nullptr); }
// Nobody captures in a child of fork: it has no HIP.
void asks_the_layer() {
  int wrong = 0;
  hipGraph_t graph = nullptr;
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  if (hipStreamEndCapture(open_stream, &graph) != hipErrorNotInitialized) wrong |= 1;
  if (hipStreamBeginCapture(free_stream, hipStreamCaptureModeGlobal) != hipErrorNotInitialized) wrong |= 2;
  if (hipStreamIsCapturing(open_stream, &status) != hipErrorNotInitialized) wrong |= 4;
  if (hipStreamUpdateCaptureDependencies(open_stream, nullptr, 0, 0) != hipErrorNotInitialized) wrong |= 8;
  _exit(wrong);
}

void forked() {
  Open open(hipStreamCaptureModeGlobal);
  all_works("before the fork");
  open.begin();
  open_stream = open.stream;
  free_stream = make_stream();
  // Before another thread may hold locks of the runtime, which takes them at the end of a process.
  expect(status_of_child(ends_in_order) == 8, "a child that ends in order");
  std::atomic<bool> stop{false};
  // So that each fork finds locks of the layer taken.
  std::thread other([&] {
    hipStreamCaptureMode mode = hipStreamCaptureModeThreadLocal;
    OK(hipThreadExchangeStreamCaptureMode(&mode));
    const hipStream_t stream = make_stream(hipStreamNonBlocking);
    while (!stop.load()) {
      hipGraph_t graph = nullptr;
      OK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
      for (int i = 0; i < 50; ++i) launch(stream, open.a.data, 1);
      OK(hipStreamEndCapture(stream, &graph));
      OK(hipGraphDestroy(graph));
    }
  });
  struct Child {
    const char* what;
    void (*child)();
    int status;
  };
  for (int round = 0; round < 10; ++round) {
    for (const Child& one : {Child{"a child that ends", ends_at_once, 7}, Child{"a child that captures", asks_the_layer, 0}}) {
      const int status = status_of_child(one.child);
      expect(status == one.status, std::string(one.what) + " ended with " + std::to_string(status));
    }
  }
  const int status = status_of_child(starts_a_program);
  expect(status == 0, "a child that starts a program ended with " + std::to_string(status));
  stop.store(true);
  other.join();
  launch(open.stream, open.a.data, 10);
  hipGraph_t graph = nullptr;
  OK(hipStreamEndCapture(open.stream, &graph));
  run(graph, open.stream);
  open.a.holds(22, "the parent's capture");
  open.b.holds(4, "the parent's other stream");
  all_works("after the fork");
}

// Who forks before HIP is used: the child has it, as the parent does.
void uses_hip() {
  all_works("a child from before HIP was used");
  _exit(failure.empty() ? 0 : 1);
}
void forked_early() {
  expect(status_of_child(uses_hip) == 0, "a child from before HIP was used");
  all_works("its parent");
}

// ---- streams and memory -------------------------------------------------------------------------

void streams() {
  for (int round = 0; round < 3; ++round) {
    {
      Open open(hipStreamCaptureModeGlobal);
      open.begin();
      OK(hipStreamDestroy(open.side));
      int value = 1, n = kCount;
      void* arguments[] = {&open.a.data, &value, &n};
      ANSWERS(901, hipLaunchKernel(reinterpret_cast<const void*>(add), kGrid, kBlock, arguments, 0, open.stream));
      hipGraph_t graph = nullptr;
      ANSWERS(901, hipStreamEndCapture(open.stream, &graph));
      launch(open.stream, open.a.data, 3);
      OK(hipStreamSynchronize(open.stream));
      open.a.holds(3, "after the end of a stream that joined");
    }
    {
      Open open(hipStreamCaptureModeGlobal);
      open.begin();
      OK(hipStreamDestroy(open.stream));
      launch(open.side, open.b.data, 3);
      OK(hipStreamSynchronize(open.side));
      open.b.holds(3, "after the end of the stream that was captured");
      const hipStream_t next = make_stream(hipStreamNonBlocking);  // perhaps with the same handle
      expect(status_of(next) == hipStreamCaptureStatusNone, "a new stream is captured");
    }
    all_works("after the ends of streams");
  }
  // Which is none of the program's: the runtime refuses, and the capture goes on.
  Buffer a;
  OK(hipStreamBeginCapture(hipStreamPerThread, hipStreamCaptureModeGlobal));
  launch(hipStreamPerThread, a.data, 1);
  expect(hipStreamDestroy(hipStreamPerThread) != hipSuccess, "a thread's own stream was destroyed");
  hipGraph_t graph = nullptr;
  OK(hipStreamEndCapture(hipStreamPerThread, &graph));
  run(graph, hipStreamPerThread);
  a.holds(2, "after the end of a thread's own stream was refused");
}

// With GFXGRAPH_DEVICE_MEMORY_GIB=1.
void memory() {
  constexpr size_t kTooMuch = size_t{4} << 30;
  Buffer a;
  const hipStream_t stream = make_stream(hipStreamNonBlocking);
  std::vector<void*> blocks;
  capture_and_run(
      stream,
      [&] {
        launch(stream, a.data, 1);
        void* block = nullptr;
        hipError_t last = hipSuccess;
        while ((last = hipMalloc(&block, size_t{64} << 20)) == hipSuccess && blocks.size() < 100) blocks.push_back(block);
        expect(last == hipErrorOutOfMemory, "hipMalloc: " + std::to_string(last));
        (void)hipGetLastError();
        launch(stream, a.data, 2);
        for (void* const one : blocks) OK(hipFree(one));
      },
      hipStreamCaptureModeRelaxed);
  a.holds(6, "around allocations that failed");
  // Memory of the graph itself: refused at the call, at the end, or where the graph is to run.
  a.fill(0);
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  void* block = nullptr;
  hipError_t result = hipMallocAsync(&block, kTooMuch, stream);
  if (result == hipSuccess) result = hipMemsetAsync(block, 0, 64, stream);
  hipGraph_t graph = nullptr;
  const hipError_t ended = hipStreamEndCapture(stream, &graph);
  if (result == hipSuccess) {
    result = ended;
  } else {
    expect(ended == hipErrorStreamCaptureInvalidated, "the end: " + std::to_string(ended));
  }
  hipGraphExec_t executable = nullptr;
  if (result == hipSuccess) result = hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
  if (result == hipSuccess) result = hipGraphLaunch(executable, stream);
  if (result == hipSuccess) result = hipStreamSynchronize(stream);
  expect(result != hipSuccess, "a graph has memory that is not there");
  (void)hipGetLastError();
  if (executable != nullptr) (void)hipGraphExecDestroy(executable);
  if (graph != nullptr) (void)hipGraphDestroy(graph);
  all_works("after memory was gone");
}

}  // namespace

int main(int argc, char** argv) {
  program = argv[0];
  const std::map<std::string, void (*)()> all = {
      {"threads", threads},
      {"thrown", thrown},
      {"per_thread", per_thread},
      {"inside", inside},
      {"forked", forked},
      {"forked_early", forked_early},
      {"streams", streams},
      {"memory", memory},
  };
  const std::string form = argc > 1 ? argv[1] : "";
  if (form == kAlone) {  // started by a child of the form "forked"
    all_works("a program of its own");
    return failure.empty() ? 0 : 1;
  }
  const auto found = all.find(form);
  if (found == all.end()) return 2;
  found->second();
  std::printf("%s: %s\n", found->first.c_str(), failure.empty() ? "PASS" : failure.c_str());
  return failure.empty() ? 0 : 1;
}

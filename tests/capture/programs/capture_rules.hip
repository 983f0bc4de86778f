// The rules of captures beside each other and of calls in the wrong order, as tables.
// capture_rules FORM; prints "FORM: PASS" or what is wrong. With gfxgraph's layer each form must pass.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <set>
#include <thread>

#include "captured.h"

extern "C" __global__ void add(int* a, int v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += v;
}

namespace {

constexpr auto kGlobal = hipStreamCaptureModeGlobal;
constexpr auto kThreadLocal = hipStreamCaptureModeThreadLocal;
constexpr auto kRelaxed = hipStreamCaptureModeRelaxed;
const char* const kNames[] = {"global", "thread-local", "relaxed"};

hipError_t launch_on(hipStream_t stream, int* a) {
  int v = 1, n = kCount;
  void* arguments[] = {&a, &v, &n};
  return hipLaunchKernel(reinterpret_cast<const void*>(add), kGrid, kBlock, arguments, 0, stream);
}

hipGraphNode_t add_set(hipGraph_t graph, int* to, int value, const hipGraphNode_t* after = nullptr, size_t count = 0) {
  hipMemsetParams params = {};
  params.dst = to;
  params.elementSize = 4;
  params.width = kCount;
  params.height = 1;
  params.pitch = kBytes;
  params.value = value;
  hipGraphNode_t node = nullptr;
  OK(hipGraphAddMemsetNode(&node, graph, after, count, &params));
  return node;
}

using BeginToGraph = hipError_t (*)(hipStream_t, hipGraph_t, const hipGraphNode_t*, const void*, size_t,
                                    hipStreamCaptureMode);
BeginToGraph begin_to_graph() {
  return reinterpret_cast<BeginToGraph>(dlsym(RTLD_DEFAULT, "hipStreamBeginCaptureToGraph"));
}

// ---- what another thread may do beside a capture -------------------------------------------------

struct Beside {
  Buffer buffer;
  void* memory = nullptr;
  hipStream_t captured = make_stream(hipStreamNonBlocking), other = make_stream(hipStreamNonBlocking);
  hipEvent_t event = make_event();
  Beside() {
    OK(hipMalloc(&memory, 64));
    OK(hipEventRecord(event, other));
    OK(hipEventSynchronize(event));
  }
};

enum class Refused { kByMode, kAlways, kNever };
struct BesideRow {
  const char* name;
  Refused refused;
  int error;
  hipError_t (*call)(Beside&);
};
const BesideRow kBeside[] = {
    {"hipMalloc", Refused::kByMode, 900, [](Beside&) {
       void* made = nullptr;
       const hipError_t result = hipMalloc(&made, 64);
       return made == nullptr ? result : hipFree(made);
     }},
    {"hipFree", Refused::kByMode, 900, [](Beside& one) { return hipFree(one.memory); }},
    {"hipHostMalloc", Refused::kByMode, 900, [](Beside&) {
       void* made = nullptr;
       const hipError_t result = hipHostMalloc(&made, 64);
       return made == nullptr ? result : hipHostFree(made);
     }},
    {"hipMemcpy", Refused::kByMode, 906, [](Beside& one) {
       int value = 0;
       return hipMemcpy(&value, one.buffer.data, sizeof(value), hipMemcpyDeviceToHost);
     }},
    {"hipMemset", Refused::kByMode, 906, [](Beside& one) { return hipMemset(one.buffer.data, 0, 4); }},
    {"hipStreamSynchronize", Refused::kByMode, 900, [](Beside& one) { return hipStreamSynchronize(one.other); }},
    {"hipEventSynchronize", Refused::kByMode, 900, [](Beside& one) { return hipEventSynchronize(one.event); }},
    {"hipDeviceSynchronize", Refused::kAlways, 900, [](Beside&) { return hipDeviceSynchronize(); }},
    {"hipStreamQuery (captured)", Refused::kAlways, 900, [](Beside& one) { return hipStreamQuery(one.captured); }},
    {"hipStreamSynchronize (captured)", Refused::kAlways, 900,
     [](Beside& one) { return hipStreamSynchronize(one.captured); }},
    {"hipEventQuery", Refused::kNever, 0, [](Beside& one) { return hipEventQuery(one.event); }},
    {"hipLaunchKernel", Refused::kNever, 0, [](Beside& one) { return launch_on(one.other, one.buffer.data); }},
    {"hipMemsetAsync", Refused::kNever, 0,
     [](Beside& one) { return hipMemsetAsync(one.buffer.data, 0, kBytes, one.other); }},
    {"hipEventRecord", Refused::kNever, 0, [](Beside& one) { return hipEventRecord(one.event, one.other); }},
    {"hipStreamIsCapturing", Refused::kNever, 0, [](Beside& one) {
       hipStreamCaptureStatus status = hipStreamCaptureStatusActive;
       return hipStreamIsCapturing(one.other, &status);
     }},
};

void threads() {
  for (const auto mode : {kGlobal, kThreadLocal, kRelaxed}) {
    for (const auto thread_mode : {kGlobal, kThreadLocal, kRelaxed}) {
      for (const BesideRow& row : kBeside) {
        const std::string what = std::string(row.name) + " of a thread that is " + kNames[thread_mode] +
                                 ", beside a capture that is " + kNames[mode] + ": ";
        Beside one;
        const bool refused = row.refused == Refused::kAlways ||
                             (row.refused == Refused::kByMode && mode == kGlobal && thread_mode == kGlobal);
        OK(hipStreamBeginCapture(one.captured, mode));
        std::thread([&] {
          hipStreamCaptureMode own = thread_mode;
          OK(hipThreadExchangeStreamCaptureMode(&own));
          expect(own == kGlobal, "a thread begins global");
          const hipError_t result = row.call(one);
          expect(result == (refused ? row.error : 0), what + std::to_string(result));
        }).join();
        hipGraph_t graph = nullptr;
        const hipError_t ended = hipStreamEndCapture(one.captured, &graph);
        expect(ended == (refused ? 901 : 0), what + "the capture ended with " + std::to_string(ended));
        if (graph != nullptr) OK(hipGraphDestroy(graph));
      }
    }
  }
}

// Threads' own streams are different ones, and each may be captured.
void per_thread() {
  Buffer buffers[3];
  std::thread first([&] {
    OK(hipStreamBeginCapture(hipStreamPerThread, kThreadLocal));
    launch(hipStreamPerThread, buffers[0].data, 1);
    std::thread([&] {
      hipStreamCaptureStatus status = hipStreamCaptureStatusActive;
      OK(hipStreamIsCapturing(hipStreamPerThread, &status));
      expect(status == hipStreamCaptureStatusNone, "another thread's own stream is captured");
      launch(hipStreamPerThread, buffers[2].data, 1);
      capture_and_run(hipStreamPerThread, [&] { launch(hipStreamPerThread, buffers[1].data, 2); }, kThreadLocal);
    }).join();
    hipGraph_t graph = nullptr;
    OK(hipStreamEndCapture(hipStreamPerThread, &graph));
    run(graph, hipStreamPerThread);
  });
  first.join();
  OK(hipDeviceSynchronize());
  buffers[0].holds(2, "the first thread's own stream");
  buffers[1].holds(4, "the second one's");
  buffers[2].holds(1, "the second one's, outside of captures");
}

// ---- ids ----------------------------------------------------------------------------------------

// Of all captures of the process, by both calls that give them, whatever thread and however begun.
void ids() {
  constexpr int kThreads = 4, kRounds = 50;
  std::mutex mutex;
  std::set<unsigned long long> all;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const hipStream_t stream = make_stream(hipStreamNonBlocking), side = make_stream(hipStreamNonBlocking);
      const hipEvent_t event = make_event();
      for (int round = 0; round < kRounds; ++round) {
        hipGraph_t graph = nullptr;
        if (round % 2 == 1 && begin_to_graph() != nullptr) {
          OK(hipGraphCreate(&graph, 0));
          OK(begin_to_graph()(stream, graph, nullptr, nullptr, 0, kThreadLocal));
        } else {
          OK(hipStreamBeginCapture(stream, kThreadLocal));
        }
        follow(side, stream, event);
        hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
        unsigned long long id = 0, second = 0, of_side = 0;
        OK(hipStreamGetCaptureInfo(stream, &status, &id));
        OK(hipStreamGetCaptureInfo_v2(stream, &status, &second, nullptr, nullptr, nullptr));
        OK(hipStreamGetCaptureInfo(side, &status, &of_side));
        expect(id == second && id == of_side, "a capture has one id");
        OK(hipStreamEndCapture(stream, &graph));
        OK(hipGraphDestroy(graph));
        const std::lock_guard lock(mutex);
        expect(all.insert(id).second, "an id comes twice");
      }
    });
  }
  for (std::thread& one : threads) one.join();
  expect(all.size() == kThreads * kRounds, "ids: " + std::to_string(all.size()));
}

// ---- graphs that the program has a hand in -------------------------------------------------------

// The second run when the first one is done: roots that the program itself makes begin too early on some
// runtimes (HipQuirk::kRootsBeginEarly).
void run_apart(hipGraph_t graph, hipStream_t stream) {
  hipGraphExec_t executable = nullptr;
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  OK(hipGraphDestroy(graph));
  for (int i = 0; i < 2; ++i) {
    OK(hipGraphLaunch(executable, stream));
    OK(hipStreamSynchronize(stream));
  }
  OK(hipGraphExecDestroy(executable));
}

void dependencies() {
  Buffer a, b;
  const hipStream_t stream = make_stream();
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  hipGraph_t live = nullptr, foreign = nullptr, graph = nullptr;
  const hipGraphNode_t* nodes = nullptr;
  size_t count = 0;
  OK(hipGraphCreate(&foreign, 0));
  hipGraphNode_t of_another = add_set(foreign, b.data, 1), none = nullptr;
  ANSWERS(401, hipStreamUpdateCaptureDependencies(stream, &of_another, 1, hipStreamAddCaptureDependencies));
  OK(hipStreamBeginCapture(stream, kGlobal));
  launch(stream, a.data, 1);
  OK(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &live, &nodes, &count));
  expect(count == 1, "one node");
  hipGraphNode_t own = add_set(live, b.data, 6);
  // Bad arguments change nothing, and the capture goes on.
  ANSWERS(1, hipStreamUpdateCaptureDependencies(stream, &of_another, 1, hipStreamAddCaptureDependencies));
  ANSWERS(1, hipStreamUpdateCaptureDependencies(stream, &none, 1, hipStreamAddCaptureDependencies));
  ANSWERS(1, hipStreamUpdateCaptureDependencies(stream, nullptr, 1, hipStreamAddCaptureDependencies));
  ANSWERS(1, hipStreamUpdateCaptureDependencies(stream, &own, 1, 2));
  OK(hipStreamUpdateCaptureDependencies(stream, &own, 1, hipStreamAddCaptureDependencies));
  OK(hipStreamUpdateCaptureDependencies(stream, nullptr, 0, hipStreamAddCaptureDependencies));
  OK(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &live, &nodes, &count));
  expect(count == 2, "added to: " + std::to_string(count));
  launch(stream, b.data, 1);  // behind both
  OK(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &live, &nodes, &count));
  expect(count == 1, "replaced by the work: " + std::to_string(count));
  OK(hipStreamEndCapture(stream, &graph));
  expect(graph == live, "another graph");
  run_apart(graph, stream);
  a.holds(2, "the stream's first node");
  b.holds(7, "set to 6, and 1 more");
  // The work follows nothing: a second root, which is joined by being among the last nodes.
  OK(hipStreamBeginCapture(stream, kGlobal));
  launch(stream, a.data, 1);
  OK(hipStreamUpdateCaptureDependencies(stream, nullptr, 0, hipStreamSetCaptureDependencies));
  OK(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &live, &nodes, &count));
  expect(count == 0, "set to nothing: " + std::to_string(count));
  OK(hipStreamEndCapture(stream, &graph));
  run(graph, stream);
  a.holds(4, "a graph whose stream follows nothing");
  OK(hipStreamBeginCapture(stream, kGlobal));
  ANSWERS(900, hipStreamQuery(stream));
  ANSWERS(901, hipStreamUpdateCaptureDependencies(stream, nullptr, 0, hipStreamSetCaptureDependencies));
  ANSWERS(901, hipStreamEndCapture(stream, &graph));
  OK(hipGraphDestroy(foreign));
}

// Each mode; two nodes to follow; bad arguments; and a capture that ends with an error leaves the
// program its graph.
void to_graph() {
  const BeginToGraph begin = begin_to_graph();
  int version = 0;
  OK(hipRuntimeGetVersion(&version));
  if (begin == nullptr) return expect(version < 60000000, "no hipStreamBeginCaptureToGraph");
  Buffer a, b, c;
  const hipStream_t stream = make_stream(), busy = make_stream();
  hipGraph_t graph = nullptr, foreign = nullptr, ended = nullptr;
  OK(hipGraphCreate(&foreign, 0));
  const hipGraphNode_t of_another = add_set(foreign, b.data, 1);
  for (const auto mode : {kGlobal, kThreadLocal, kRelaxed}) {
    OK(hipGraphCreate(&graph, 0));
    const hipGraphNode_t first[] = {add_set(graph, a.data, 30), add_set(graph, b.data, 40)};
    ANSWERS(1, begin(stream, nullptr, nullptr, nullptr, 0, mode));
    ANSWERS(1, begin(stream, graph, nullptr, nullptr, 1, mode));
    ANSWERS(1, begin(stream, graph, &of_another, nullptr, 1, mode));
    ANSWERS(1, begin(stream, graph, first, nullptr, 2, static_cast<hipStreamCaptureMode>(3)));
    ANSWERS(900, begin(nullptr, graph, first, nullptr, 2, mode));
    OK(hipStreamBeginCapture(busy, mode));
    ANSWERS(401, begin(busy, graph, first, nullptr, 2, mode));
    OK(hipStreamEndCapture(busy, &ended));
    OK(hipGraphDestroy(ended));
    OK(begin(stream, graph, first, nullptr, 2, mode));
    launch(stream, a.data, 4);
    launch(stream, b.data, 5);
    OK(hipStreamEndCapture(stream, &ended));
    expect(ended == graph, "another graph");
    // Refused work: the capture is over, the graph is the program's, with what it held.
    OK(begin(stream, graph, nullptr, nullptr, 0, mode));
    ANSWERS(900, hipStreamQuery(stream));
    ANSWERS(901, hipStreamEndCapture(stream, &ended));
    expect(ended == nullptr, "a graph of an invalid capture");
    expect(nodes_of(graph) >= 4, "the program's graph lost nodes");
    run_apart(graph, stream);
    a.holds(34, "set to 30, and 4 more");
    b.holds(45, "set to 40, and 5 more");
  }
  OK(hipGraphDestroy(foreign));
}

// ---- calls in the wrong order: the error, and what the user reads ---------------------------------

struct Order {
  Buffer buffer;
  hipStream_t stream = make_stream(), side = make_stream();
  hipEvent_t event = make_event(), other = make_event();
  hipGraph_t graph = nullptr;
  void begin(hipStreamCaptureMode mode = kGlobal) { OK(hipStreamBeginCapture(stream, mode)); }
  void fork() {
    begin();
    launch(stream, buffer.data, 1);
    follow(side, stream, event);
  }
};

struct OrderRow {
  int error;
  const char* text;  // that stderr has
  hipError_t (*call)(Order&);
};
const OrderRow kOrder[] = {
    {401, "hipStreamEndCapture: hipErrorIllegalState (401): the stream belongs to no capture: hipStreamBeginCapture comes first",
     [](Order& one) { return hipStreamEndCapture(one.stream, &one.graph); }},
    {1, "hipStreamEndCapture: hipErrorInvalidValue (1): ",
     [](Order& one) {
       one.begin();
       return hipStreamEndCapture(one.stream, nullptr);
     }},
    {401, "hipStreamBeginCapture: hipErrorIllegalState (401): the stream belongs to a capture: end that one first",
     [](Order& one) {
       one.begin();
       return hipStreamBeginCapture(one.stream, kGlobal);
     }},
    {900, "hipStreamBeginCapture: hipErrorStreamCaptureUnsupported (900): the null stream cannot be captured: take a stream",
     [](Order&) { return hipStreamBeginCapture(nullptr, kGlobal); }},
    {1, "hipStreamBeginCapture: hipErrorInvalidValue (1): ",
     [](Order& one) { return hipStreamBeginCapture(one.stream, static_cast<hipStreamCaptureMode>(7)); }},
    {1, "hipThreadExchangeStreamCaptureMode: hipErrorInvalidValue (1): ",
     [](Order&) { return hipThreadExchangeStreamCaptureMode(nullptr); }},
    {903, "hipStreamEndCapture: hipErrorStreamCaptureUnmatched (903): the stream has only joined the capture: end it on the",
     [](Order& one) {
       one.fork();
       return hipStreamEndCapture(one.side, &one.graph);
     }},
    {908, "hipStreamEndCapture: hipErrorStreamCaptureWrongThread (908): end it on the thread that began it, or begin it with",
     [](Order& one) {
       one.begin();
       hipError_t result = hipSuccess;
       std::thread([&] { result = hipStreamEndCapture(one.stream, &one.graph); }).join();
       return result;
     }},
    {904, "hipStreamEndCapture: hipErrorStreamCaptureUnjoined (904): a stream that joined has work which nothing follows: record",
     [](Order& one) {
       one.fork();
       launch(one.side, one.buffer.data, 1);
       return hipStreamEndCapture(one.stream, &one.graph);
     }},
    {905, "hipStreamWaitEvent: hipErrorStreamCaptureIsolation (905): the event was not recorded in this capture: wait for it",
     [](Order& one) {
       OK(hipEventRecord(one.event, one.side));
       one.begin();
       return hipStreamWaitEvent(one.stream, one.event, 0);
     }},
    {902, "hipStreamWaitEvent: hipErrorStreamCaptureMerge (902): the event belongs to another capture, and two captures cannot",
     [](Order& one) {
       one.begin();
       OK(hipStreamBeginCapture(one.side, kGlobal));
       OK(hipEventRecord(one.event, one.stream));
       return hipStreamWaitEvent(one.side, one.event, 0);
     }},
    {907, "hipEventQuery: hipErrorCapturedEvent (907): the event was last recorded in a capture and stands for no work that was",
     [](Order& one) {
       one.fork();
       return hipEventQuery(one.event);
     }},
    {907, "hipEventSynchronize: hipErrorCapturedEvent (907): ",
     [](Order& one) {
       one.fork();
       return hipEventSynchronize(one.event);
     }},
    {907, "hipEventElapsedTime: hipErrorCapturedEvent (907): ",
     [](Order& one) {
       float milliseconds = 0;
       one.fork();
       return hipEventElapsedTime(&milliseconds, one.event, one.other);
     }},
    {906, "hipLaunchKernel: hipErrorStreamCaptureImplicit (906): the null stream waits for a stream that is captured: give the",
     [](Order& one) {
       one.begin();
       return launch_on(nullptr, one.buffer.data);
     }},
    {900, "hipMalloc: hipErrorStreamCaptureUnsupported (900): it cannot be done while a stream is captured: do it before the",
     [](Order& one) {
       one.begin();
       return hipMalloc(reinterpret_cast<void**>(&one.graph), 64);
     }},
    {900, "hipDeviceSynchronize: hipErrorStreamCaptureUnsupported (900): it cannot be done while",
     [](Order& one) {
       one.begin();
       return hipDeviceSynchronize();
     }},
    {901, "hipLaunchKernel: hipErrorStreamCaptureInvalidated (901): an earlier call was refused, and the capture takes no more",
     [](Order& one) {
       one.begin();
       ANSWERS(900, hipStreamQuery(one.stream));
       return launch_on(one.stream, one.buffer.data);
     }},
    {901, "hipStreamEndCapture: hipErrorStreamCaptureInvalidated (901): an earlier call was refused",
     [](Order& one) {
       one.begin();
       ANSWERS(900, hipStreamQuery(one.stream));
       return hipStreamEndCapture(one.stream, &one.graph);
     }},
    {401, "hipStreamUpdateCaptureDependencies: hipErrorIllegalState (401): the stream belongs to no capture",
     [](Order& one) { return hipStreamUpdateCaptureDependencies(one.stream, nullptr, 0, 0); }},
    {1, "hipStreamUpdateCaptureDependencies: hipErrorInvalidValue (1): a node that the work is to follow is not of the graph",
     [](Order& one) {
       hipGraphNode_t none = nullptr;
       one.begin();
       return hipStreamUpdateCaptureDependencies(one.stream, &none, 1, 0);
     }},
};

// What is written to stderr while it lives.
class Heard {
 public:
  Heard() : before_(dup(STDERR_FILENO)) { dup2(fileno(file_), STDERR_FILENO); }
  ~Heard() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    std::fclose(file_);
  }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;
  std::string text() const {
    std::string all(1 << 16, '\0');
    all.resize(static_cast<size_t>(pread(fileno(file_), all.data(), all.size(), 0)));
    return all;
  }

 private:
  FILE* const file_ = std::tmpfile();
  const int before_;
};

void wrong_order() {
  const Heard heard;
  for (const OrderRow& row : kOrder) {
    Order one;
    const hipError_t result = row.call(one);
    expect(result == row.error, std::string(row.text) + ": " + std::to_string(result));
    expect(heard.text().find(row.text) != std::string::npos, std::string("not on stderr: ") + row.text);
    OK(hipStreamDestroy(one.side));
    OK(hipStreamDestroy(one.stream));
    (void)hipGetLastError();
    Buffer a;
    const hipStream_t stream = make_stream();
    capture_and_run(stream, [&] { launch(stream, a.data, 1); });
    a.holds(2, row.text);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> all = {
      {"threads", threads},
      {"per_thread", per_thread},
      {"ids", ids},
      {"dependencies", dependencies},
      {"to_graph", to_graph},
      {"wrong_order", wrong_order},
  };
  const auto found = all.find(argc > 1 ? argv[1] : "");
  if (found == all.end()) return 2;
  found->second();
  std::printf("%s: %s\n", found->first.c_str(), failure.empty() ? "PASS" : failure.c_str());
  return failure.empty() ? 0 : 1;
}

// A random capture of up to four streams, by one or two threads, and the graphs that it gives: each
// node by the number that its work carries, its kind, and the nodes before it. capture_random SEED
// prints them, what memory does not hold after two launches, and what ran too early; with HIP's own
// capture and with gfxgraph's layer that must be the same wherever HIP's own succeeds
// (compare_captures.py).
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

constexpr unsigned kMost = 64;  // pieces of work of a thread

// `places`: how often each piece ran, when it did in the first and in the second launch, and a
// counter that gives these times.
constexpr unsigned kTimes = kMost, kCounter = 3 * kMost, kPlaces = kCounter + 1;

extern "C" __global__ void mark(unsigned* places, unsigned number, unsigned rounds) {
  if (threadIdx.x != 0) return;
  unsigned value = number;
  for (unsigned i = 0; i < rounds; ++i) value = value * 1664525u + 1013904223u;
  const unsigned launch = atomicAdd(&places[number], value == 1 && rounds > 9 ? 2u : 1u);
  if (launch < 2) places[kTimes + launch * kMost + number] = 1 + atomicAdd(&places[kCounter], 1u);
}

namespace {

[[noreturn]] void give_up(const char* call, hipError_t result) {
  std::printf("%s: %d\n", call, result);
  std::fflush(stdout);
  std::_Exit(3);
}
#define OK(call)                                     \
  do {                                               \
    const hipError_t result = (call);                \
    if (result != hipSuccess) give_up(#call, result); \
  } while (0)

}  // namespace

#include "graph_shape.h"

namespace {

// Work that is no launch sets a word of this to the number of the work.
struct Memory {
  unsigned* marks = nullptr;  // of launches, by number
  unsigned* words = nullptr;  // of memsets
  Memory() {
    OK(hipMalloc(&marks, kPlaces * 4));
    OK(hipMalloc(&words, kMost * 4));
    const std::vector<unsigned> zeros(kPlaces, 0);
    OK(hipMemcpy(marks, zeros.data(), kPlaces * 4, hipMemcpyHostToDevice));
    OK(hipMemcpy(words, zeros.data(), kMost * 4, hipMemcpyHostToDevice));
  }
};

// 0: no launch.
unsigned launch_number(hipGraphNode_t node) {
  hipGraphNodeType type;
  OK(hipGraphNodeGetType(node, &type));
  if (type != hipGraphNodeTypeKernel) return 0;
  hipKernelNodeParams params = {};
  OK(hipGraphKernelNodeGetParams(node, &params));
  return *static_cast<unsigned*>(params.kernelParams[1]);
}

// "launch 5" or "memset 7": kinds have other numbers in other versions.
std::string name_of(hipGraphNode_t node, const Memory& memory) {
  hipGraphNodeType type;
  OK(hipGraphNodeGetType(node, &type));
  if (type == hipGraphNodeTypeKernel) {
    return "launch " + std::to_string(launch_number(node));
  }
  if (type == hipGraphNodeTypeMemset) {
    hipMemsetParams params = {};
    OK(hipGraphMemsetNodeGetParams(node, &params));
    const auto at = static_cast<unsigned*>(params.dst) - memory.words;
    return "memset " + std::to_string(at) + " to " + std::to_string(params.value) + " x" +
           std::to_string(params.width * params.elementSize);
  }
  if (type == hipGraphNodeTypeEmpty) return "empty";
  return "another kind";
}

std::string text_of(hipGraph_t graph, const Memory& memory) {
  std::vector<std::string> lines;
  for (hipGraphNode_t node : nodes_in(graph)) {
    std::vector<std::string> names;
    for (hipGraphNode_t one : before(node)) names.push_back(name_of(one, memory));
    std::sort(names.begin(), names.end());
    std::string line = name_of(node, memory) + " after";
    for (const std::string& name : names) line += " (" + name + ")";
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The launches that the node follows, through nodes of other kinds, by number.
std::set<unsigned> launches_before(hipGraphNode_t node) {
  std::set<unsigned> numbers;
  for (const hipGraphNode_t one : before(node)) {
    if (const unsigned number = launch_number(one)) {
      numbers.insert(number);
    } else {
      numbers.merge(launches_before(one));
    }
  }
  return numbers;
}

// `places` after two launches of the graph.
std::string too_early(hipGraph_t graph, const std::vector<unsigned>& places) {
  const auto time = [&](unsigned launch, unsigned number) {
    return places[kTimes + launch * kMost + number];
  };
  std::string text;
  unsigned last = 0, first = UINT32_MAX;
  for (const hipGraphNode_t node : nodes_in(graph)) {
    const unsigned number = launch_number(node);
    if (number == 0) continue;
    last = std::max(last, time(0, number));
    first = std::min(first, time(1, number));
    for (const unsigned earlier : launches_before(node)) {
      if (time(0, earlier) > time(0, number) || time(1, earlier) > time(1, number))
        text += "work " + std::to_string(number) + " is out of order\n";
    }
  }
  if (first < last) text += "the second launch is out of order\n";
  return text;
}

std::string run(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned most) { return random() % most; };
  Memory memory;
  std::vector<hipStream_t> streams(1 + below(4));
  for (hipStream_t& stream : streams)
    OK(hipStreamCreateWithFlags(&stream, below(2) == 0 ? hipStreamNonBlocking : hipStreamDefault));
  // Those that belong to the capture.
  std::vector<bool> joined(streams.size());
  joined[0] = true;
  const auto wait = [&](size_t stream, size_t other) {
    hipEvent_t event = nullptr;
    OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    OK(hipEventRecord(event, streams[other]));
    OK(hipStreamWaitEvent(streams[stream], event, 0));
    joined[stream] = true;
  };
  OK(hipStreamBeginCapture(streams[0], hipStreamCaptureModeThreadLocal));
  const unsigned count = 1 + below(kMost - 2);
  unsigned number = 1;
  for (; number <= count; ++number) {
    size_t place = below(streams.size());
    if (!joined[place]) {
      // Often from the origin, sometimes from another fork.
      size_t from = below(3) == 0 ? below(streams.size()) : 0;
      if (!joined[from]) from = 0;
      wait(place, from);
    } else if (streams.size() > 1 && below(5) == 0) {
      const size_t other = below(streams.size());
      if (other != place && joined[other]) wait(place, other);
    }
    if (below(4) == 0) {
      OK(hipMemsetD32Async(memory.words + number, static_cast<int>(number), 1, streams[place]));
    } else {
      unsigned rounds = below(3) == 0 ? 10000 * below(4) : 0;
      void* arguments[] = {&memory.marks, &number, &rounds};
      OK(hipLaunchKernel(reinterpret_cast<const void*>(mark), dim3(1), dim3(32), arguments, 0, streams[place]));
    }
  }
  for (size_t other = 1; other < streams.size(); ++other) {
    if (joined[other]) wait(0, other);
  }
  unsigned rounds = 0;
  void* arguments[] = {&memory.marks, &number, &rounds};  // HIP 5.2.3 calls several last nodes unjoined
  OK(hipLaunchKernel(reinterpret_cast<const void*>(mark), dim3(1), dim3(32), arguments, 0, streams[0]));
  hipGraph_t graph = nullptr;
  OK(hipStreamEndCapture(streams[0], &graph));
  std::string text = text_of(graph, memory);
  hipGraphExec_t executable = nullptr;
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 2; ++i) OK(hipGraphLaunch(executable, streams[0]));
  OK(hipStreamSynchronize(streams[0]));
  std::vector<unsigned> marks(kPlaces), words(kMost);
  OK(hipMemcpy(marks.data(), memory.marks, kPlaces * 4, hipMemcpyDeviceToHost));
  OK(hipMemcpy(words.data(), memory.words, kMost * 4, hipMemcpyDeviceToHost));
  for (unsigned one = 1; one <= number; ++one) {
    if (marks[one] + 2 * (words[one] == one) != 2) text += "work " + std::to_string(one) + " is not done twice\n";
  }
  return text + too_early(graph, marks);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 1;
  const size_t threads = 1 + seed % 2;
  std::vector<std::string> texts(threads);
  std::vector<std::thread> others;
  // Allocations would be refused beside a capture of another thread: each makes its memory first.
  for (size_t i = 1; i < threads; ++i)
    others.emplace_back([&, i] { texts[i] = run(seed * 7919 + static_cast<unsigned>(i)); });
  texts[0] = run(seed * 7919);
  for (std::thread& one : others) one.join();
  for (const std::string& text : texts) std::printf("graph:\n%s", text.c_str());
  return 0;
}

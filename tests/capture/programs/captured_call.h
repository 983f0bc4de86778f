// Programs that ask what each HIP call does in a stream's capture, against what HIP documents:
// PROGRAM CODE_OBJECT NAME says what that one did; PROGRAM CODE_OBJECT asks a process of
// its own for each call and prints "NAME|documented|done" lines. Exit code 1: some call differs.
//
// The layer holds what the runtime's graphs can hold; what those of an old runtime cannot is
// hipErrorStreamCaptureUnsupported (900).
//
//   captured      nothing is done before the graph is launched; two launches leave the right bytes
//   allowed       the call is not the stream's, and the capture goes on
//   a number      the error of the call, after which the capture ends with
//                 hipErrorStreamCaptureInvalidated
//   -             the runtime has no such call
#pragma once

#include <dlfcn.h>
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "captured.h"

__device__ int variable = 0;

extern "C" __global__ void add(int* a, int v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += v;
}

namespace {

constexpr hipError_t kAbsent = static_cast<hipError_t>(500);  // hipErrorNotFound
constexpr size_t kRow = 128;
constexpr size_t kRows = kBytes / kRow;

// Memory that calls read and write: zeros and sevens. Behind each call a kernel adds 1 to `zeros`.
struct Scene {
  Buffer zeros, sevens;
  int* pinned = nullptr;
  std::vector<int> plain = std::vector<int>(kCount, 7);
  hipStream_t stream = make_stream();
  hipStream_t other = make_stream();
  hipEvent_t before = make_event();  // recorded before the capture
  hipArray_t array = nullptr;
  hipGraphExec_t graph = nullptr;  // + 7 for the zeros
  int called = 0;

  Scene() {
    sevens.fill(7);
    OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), kBytes, hipHostMallocDefault));
    for (int i = 0; i < kCount; ++i) pinned[i] = 7;
    const hipChannelFormatDesc format = hipCreateChannelDesc<int>();
    OK(hipMallocArray(&array, &format, kRow / sizeof(int), kRows, hipArrayDefault));
    OK(hipEventRecord(before, stream));
    OK(hipStreamSynchronize(stream));
  }
  // All that a call may write.
  std::vector<std::vector<int>> state() const {
    std::vector<int> value(1);
    OK(hipMemcpyFromSymbol(value.data(), HIP_SYMBOL(variable), sizeof(int), 0,
                           hipMemcpyDeviceToHost));
    return {zeros.now(), sevens.now(), std::vector<int>(pinned, pinned + kCount),
            plain,       value,        {called}};
  }
};

bool all(const std::vector<int>& values, int wanted) {
  for (const int value : values) {
    if (value != wanted) return false;
  }
  return true;
}
// After two launches.
bool brought(const Scene& scene) { return all(scene.zeros.now(), 8); }    // sevens, and 1
bool added(const Scene& scene) { return all(scene.zeros.now(), 16); }     // twice 7 and 1
bool unchanged(const Scene& scene) { return all(scene.zeros.now(), 2); }  // twice 1
bool fetched(const int* host) { return all(std::vector<int>(host, host + kCount), 1); }

// A call that this runtime, or its headers, may lack.
template <typename Call>
Call* found(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_DEFAULT, name));
}

// The arguments of `add`, of 7 to the zeros.
struct Arguments {
  int* data;
  int v = 7, n = kCount;
  std::array<void*, 3> list = {&data, &v, &n};
  explicit Arguments(Scene& scene) : data(scene.zeros.data) {}
};
struct Packed {
  int* data;
  int v = 7, n = kCount;
  size_t size = 16;
  std::array<void*, 5> list = {HIP_LAUNCH_PARAM_BUFFER_POINTER, this, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                               &size, HIP_LAUNCH_PARAM_END};
  explicit Packed(Scene& scene) : data(scene.zeros.data) {}
};
const void* const kAdd = reinterpret_cast<const void*>(add);

struct Row {
  const char* name;
  const char* documented;
  std::function<hipError_t(Scene&)> call;
  std::function<bool(const Scene&)> right = unchanged;
  int since = 0;  // the first version of HIP whose graphs can hold it; before: 900
  // The captured stream is the thread's own, and the capturing calls are those whose null stream
  // that is.
  bool per_thread = false;
  std::string expected() const {
    int version = 0;
    OK(hipRuntimeGetVersion(&version));
    return version < since ? "900" : documented;
  }
};

// ---- running ------------------------------------------------------------------------------------

hipError_t begin_capture(const Row& row, const Scene& scene) {
  if (!row.per_thread) return hipStreamBeginCapture(scene.stream, hipStreamCaptureModeGlobal);
  const auto begin = found<decltype(hipStreamBeginCapture)>("hipStreamBeginCapture_spt");
  if (begin == nullptr)
    return hipStreamBeginCapture(hipStreamPerThread, hipStreamCaptureModeGlobal);
  return begin(nullptr, hipStreamCaptureModeGlobal);
}
hipError_t end_capture(const Row& row, const Scene& scene, hipGraph_t* graph) {
  const auto end = found<decltype(hipStreamEndCapture)>("hipStreamEndCapture_spt");
  return row.per_thread && end != nullptr ? end(nullptr, graph)
                                          : hipStreamEndCapture(scene.stream, graph);
}

std::string done_by(const Row& row) {
  Scene scene;
  const std::string documented = row.documented;
  if (std::strstr(row.name, "hipGraphLaunch") != nullptr) {
    const hipGraph_t inner =
        capture(scene.stream, [&] { launch(scene.stream, scene.zeros.data, 7); });
    OK(hipGraphInstantiate(&scene.graph, inner, nullptr, nullptr, 0));
  }
  if (row.per_thread) scene.stream = hipStreamPerThread;
  const auto before = scene.state();
  if (!failure.empty()) return "without the call: " + failure;
  hipGraph_t graph = nullptr;
  OK(begin_capture(row, scene));
  const hipError_t called = row.call(scene);
  if (called == kAbsent) return "-";
  if (called == hipSuccess) launch(scene.stream, scene.zeros.data, 1);
  const hipError_t ended = end_capture(row, scene, &graph);
  if (called != hipSuccess) {
    std::string error = std::to_string(called);
    if (ended == hipSuccess) return error + ", not ended";
    return ended == hipErrorStreamCaptureInvalidated
               ? error
               : error + ", ended with " + std::to_string(ended);
  }
  if (ended != hipSuccess) return "the capture ends with " + std::to_string(ended);
  OK(hipDeviceSynchronize());
  if (scene.state() != before) return "done at once";
  if (documented == "captured" && nodes_of(graph) < 2) return "no node";
  run(graph, scene.stream);
  if (!failure.empty()) return failure;
  if (!row.right(scene)) return "wrong values";
  return documented == "captured" || documented == "allowed" ? documented : "not refused";
}

std::string asked(const char* program, const char* code_object, const char* name) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    alarm(60);
    execl(program, program, code_object, name, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(ends[1]);
  std::string said;
  std::array<char, 256> piece;
  for (ssize_t got; (got = read(ends[0], piece.data(), piece.size())) > 0;)
    said.append(piece.data(), got);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGALRM ? "hangs" : "crashes";
  if (!said.empty() && said.back() == '\n') said.pop_back();
  return said;
}

int ask(const std::vector<Row>& rows, int argc, char** argv) {
  if (argc < 2) return 2;
  if (argc > 2) {
    for (const Row& row : rows) {
      if (argv[2] != std::string(row.name)) continue;
      OK(hipModuleLoad(&code, argv[1]));
      std::printf("%s\n", done_by(row).c_str());
      std::fflush(stdout);
      return 0;
    }
    return 2;
  }
  bool right = true;
  for (const Row& row : rows) {
    const std::string done = asked(argv[0], argv[1], row.name);
    const std::string expected = row.expected();
    right = right && (done == expected || done == "-");
    std::printf("%s|%s|%s\n", row.name, expected.c_str(), done.c_str());
  }
  return right ? 0 : 1;
}

}  // namespace

// A library that captures is closed (dlclose) while its graph and an executable graph of it are
// still there, while its capture is open, and after all that is gone.
// capture_closed LIBRARY; prints "PASS" or what is wrong. -DLIBRARY: the library.
#include "captured.h"

extern "C" __global__ void add(int* a, int v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] += v;
}

#ifdef LIBRARY

extern "C" __attribute__((visibility("default"))) void launch_of_library(hipStream_t stream, int* a, int v) {
  add<<<kGrid, kBlock, 0, stream>>>(a, v, kCount);
}

#else
#include <dlfcn.h>

#include <cstdio>

namespace {

struct Library {
  explicit Library(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    expect(handle != nullptr, "dlopen");
    if (handle != nullptr) work = reinterpret_cast<decltype(work)>(dlsym(handle, "launch_of_library"));
  }
  void close() { expect(dlclose(handle) == 0, "dlclose"); }
  void* handle;
  void (*work)(hipStream_t, int*, int) = nullptr;
};

void graphs_stay(const char* path) {
  Library library(path);
  Buffer a, b;
  const hipStream_t stream = make_stream();
  const hipGraph_t graph = capture(stream, [&] { library.work(stream, a.data, 3); });
  hipGraphExec_t executable = nullptr;
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  OK(hipGraphLaunch(executable, stream));
  OK(hipStreamSynchronize(stream));
  a.holds(3, "the library's graph");
  library.close();
  reuse_freed_memory();
  capture_and_run(stream, [&] { launch(stream, b.data, 2); });
  b.holds(4, "a graph of the program, after the library's end");
  run_explicit_node(stream, b.data, 1);
  b.holds(6, "a graph of explicit nodes, after the library's end");
  OK(hipGraphExecDestroy(executable));
  OK(hipGraphDestroy(graph));
}

void a_capture_is_open(const char* path) {
  Library library(path);
  Buffer a;
  const hipStream_t stream = make_stream();
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
  library.work(stream, a.data, 3);
  library.close();
  reuse_freed_memory();
  hipGraph_t graph = nullptr;
  OK(hipStreamEndCapture(stream, &graph));  // whose kernel is gone: nobody may launch it
  if (graph != nullptr) OK(hipGraphDestroy(graph));
  capture_and_run(stream, [&] { launch(stream, a.data, 2); });
  a.holds(4, "a capture of the stream whose capture was open");
}

// The first handler of a signal makes thread_local data of HIP 6.4.3 and so needs the loader's
// lock. dlclose has that lock while HIP waits for the handler, for ever: one runs before.
void run_a_handler() {
  const hipStream_t stream = make_stream();
  OK(hipStreamAddCallback(stream, [](hipStream_t, hipError_t, void*) {}, nullptr, 0));
  OK(hipStreamSynchronize(stream));
  OK(hipStreamDestroy(stream));
}

}  // namespace

int main(int, char** argv) {
  run_a_handler();
  for (int round = 0; round < 2; ++round) {
    graphs_stay(argv[1]);
    a_capture_is_open(argv[1]);
  }
  std::printf("%s\n", failure.empty() ? "PASS" : failure.c_str());
  return failure.empty() ? 0 : 1;
}
#endif

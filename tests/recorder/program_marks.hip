// A program that says what it does, in every way that is recorded: program_marks [LIBRARY]. With a
// roctx library its functions are looked up in that; without one, they are there if something else
// in the process has them. Prints what they returned.
#include <dlfcn.h>

#include <cstdint>
#include <thread>

#include "../../include/gfxgraph/record.h"
#include "program.h"

extern "C" {
__attribute__((weak)) void roctxMarkA(const char*);
__attribute__((weak)) int roctxRangePushA(const char*);
__attribute__((weak)) int roctxRangePop();
__attribute__((weak)) uint64_t roctxRangeStartA(const char*);
__attribute__((weak)) void roctxRangeStop(uint64_t);
}

__global__ void increment(int* value) { ++*value; }

static int* value;

static void work() {
  increment<<<1, 1>>>(value);
  CHECK(hipGetLastError());
}

int main(int argc, char** argv) {
  auto mark = &roctxMarkA;
  auto push = &roctxRangePushA;
  auto pop = &roctxRangePop;
  auto start = &roctxRangeStartA;
  auto stop = &roctxRangeStop;
  if (argc > 1) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      std::printf("%s\n", dlerror());
      return 1;
    }
    mark = reinterpret_cast<decltype(mark)>(dlsym(library, "roctxMarkA"));
    push = reinterpret_cast<decltype(push)>(dlsym(library, "roctxRangePushA"));
    pop = reinterpret_cast<decltype(pop)>(dlsym(library, "roctxRangePop"));
    start = reinterpret_cast<decltype(start)>(dlsym(library, "roctxRangeStartA"));
    stop = reinterpret_cast<decltype(stop)>(dlsym(library, "roctxRangeStop"));
    expect(mark && push && pop && start && stop, "the library's functions");
  }
  gfxgraph_range_begin("before the device");
  gfxgraph_range_end("before the device");
  gfxgraph_range_begin("whole");
  CHECK(hipMalloc(&value, sizeof(int)));
  CHECK(hipMemset(value, 0, sizeof(int)));
  for (int i = 0; i < 3; ++i) {
    gfxgraph_range_begin("step");
    work();
    gfxgraph_mark("half");
    work();
    gfxgraph_range_end("step");
  }
  if (push != nullptr) {
    const int outer = push("outer");
    const int inner = push("inner");
    work();
    mark("roctx mark");
    const int after_inner = pop();
    const int after_outer = pop();
    std::printf("levels %d %d %d %d\n", outer, inner, after_inner, after_outer);
    const uint64_t range = start("started");
    std::thread([&] { stop(range); }).join();
    (void)pop();  // one too many
  }
  (void)hipProfilerStart();  // deprecated, and refused by some runtimes
  (void)hipGetLastError();
  work();
  (void)hipProfilerStop();
  (void)hipGetLastError();
  gfxgraph_range_end("never begun");
  int result = 0;
  CHECK(hipMemcpy(&result, value, sizeof(int), hipMemcpyDeviceToHost));
  gfxgraph_range_end("whole");
  gfxgraph_range_begin("not left");
  CHECK(hipFree(value));
  expect(result == (push != nullptr ? 8 : 7), "the sum");
  std::printf("ok\n");
  return 0;
}

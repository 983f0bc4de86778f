// A program that says what it does, in every way that is recorded: program_marks [LIBRARY]. With a
// roctx library its functions are looked up in that; without one, they are there if something else
// in the process has them. Prints what they returned. program_marks nested | threads | handed_over: ranges of
// one name that are open at the same time, with other numbers of launches in each.
#include <dlfcn.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "../../../include/gfxgraph/record.h"
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

static void work(int launches) {
  for (int i = 0; i < launches; ++i) work();
}

// step#0 has 7 launches, step#1 in it has 2.
static void nested() {
  gfxgraph_range_begin("step");
  work(1);
  gfxgraph_range_begin("step");
  work(2);
  gfxgraph_range_end("step");
  work(4);
  gfxgraph_range_end("step");
}

// A thread that does what it is told, and waits for more.
class Worker {
 public:
  Worker() : thread_([this] { loop(); }) {}
  ~Worker() {
    tell(nullptr);
    thread_.join();
  }
  void does(std::function<void()> job) {
    tell(std::move(job));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !told_; });
  }

 private:
  void tell(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      job_ = std::move(job);
      told_ = true;
    }
    changed_.notify_all();
  }
  void loop() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return told_; });
      if (!job_) return;
      job_();
      told_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool told_ = false;
  std::thread thread_;
};

// Two threads, each of them with a range of its own; each ends the one that it began: step#0 has 11
// launches, step#1 has 30, step#2, in the first one, has 4.
static void threads() {
  Worker other;
  gfxgraph_range_begin("step");
  work(1);
  other.does([] {
    gfxgraph_range_begin("step");
    work(2);
  });
  gfxgraph_range_begin("step");
  work(4);
  gfxgraph_range_end("step");
  other.does([] { work(4); });
  gfxgraph_range_end("step");
  other.does([] {
    work(20);
    gfxgraph_range_end("step");
  });
}

// A thread that began none ends the one that began last: step#0 has 7 launches, step#1 has 2.
static void handed_over() {
  Worker other;
  gfxgraph_range_begin("step");
  work(1);
  gfxgraph_range_begin("step");
  work(2);
  other.does([] { gfxgraph_range_end("step"); });
  work(4);
  other.does([] { gfxgraph_range_end("step"); });
}

static bool overlapping(const std::string& how) {
  if (how != "nested" && how != "threads" && how != "handed_over") return false;
  CHECK(hipMalloc(&value, sizeof(int)));
  CHECK(hipMemset(value, 0, sizeof(int)));
  if (how == "nested") nested();
  if (how == "threads") threads();
  if (how == "handed_over") handed_over();
  work(1);
  CHECK(hipFree(value));
  std::printf("ok\n");
  return true;
}

int main(int argc, char** argv) {
  if (argc > 1 && overlapping(argv[1])) return 0;
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

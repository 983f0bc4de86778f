// How launches of several threads into streams of their own get along in the recorder: the hook's
// work alone, without a runtime, whose own lock hides it. Prints nanoseconds per launch of one,
// two and four threads, and how many times as many launches they hand over as one thread does.
// Four threads on two cores can reach 2 at most. Threads are bound to the processors in turn: in
// less than a millisecond the system would not spread them evenly.
//
// usage: record_threads [CODE_OBJECT]
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "recorder/recorded_launch.h"
#include "recorder/recorder.h"

namespace {

using namespace gfxgraph::recorder;
using Clock = std::chrono::steady_clock;

constexpr int kLaunches = 900;  // of a thread: fewer than wake the thread that writes
constexpr int kRepetitions = 201;
constexpr int kMostThreads = 4;
constexpr size_t kBytes = 4096;

// Its memory is this process's own, and it has nothing to wait for.
class NoDevice final : public Device {
 public:
  DeviceFacts facts() override { return {"gfx1030", "none", 50'221'153, 50'221'153}; }
  bool read(void* to, uint64_t address, size_t size_bytes) override {
    std::memcpy(to, reinterpret_cast<void*>(address), size_bytes);
    return true;
  }
  std::unique_ptr<StreamRead> read_behind(void*, uint64_t, size_t, bool) override {
    return nullptr;
  }
  bool synchronize(uint32_t) override { return true; }
  StreamState stream_state(void*) override { return StreamState::kIdle; }
  bool capturing(void*) override { return false; }
  uint64_t device_address(void* host) override { return reinterpret_cast<uint64_t>(host); }
  bool symbol(const void*, uint64_t*, uint64_t*) override { return false; }
  bool module_global(void*, const char*, uint64_t*, uint64_t*) override { return false; }
  size_t graph_nodes(void*, void**, size_t) override { return 0; }
};

// Of those that this process may use.
void bind_to_processor(int number) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof(usable), &usable) != 0) return;
  number %= CPU_COUNT(&usable);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &usable) || number-- != 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

Handle handle(uintptr_t value) { return reinterpret_cast<Handle>(value); }

struct Program {
  Recorder& recorder;
  KernelEntry* kernel = nullptr;
  std::vector<char> a = std::vector<char>(kBytes), b = a, c = a;

  // As the hook of hipModuleLaunchKernel does it.
  void launch(Handle stream, int number) {
    const void* pointers[] = {a.data(), b.data(), c.data()};
    void* params[] = {&pointers[0], &pointers[1], &pointers[2], &number};
    recorder.streams().call_begins();
    recorded_launch(recorder,
                    {.call = {.function = handle(2), .stream = stream},
                     .shape = {},
                     .params = params,
                     .name = "hipModuleLaunchKernel"},
                    [] { return 0; });
  }

  // Nanoseconds per launch of all threads together. They begin awake, because waking a thread takes
  // as long as many launches, and end when all have launched: the end of a thread is no launch.
  double measure(int threads) {
    std::atomic<int> missing{threads};
    std::barrier over(threads);
    std::atomic<int64_t> last{0};
    std::atomic<int64_t> first{INT64_MAX};
    const auto body = [&](int number) {
      bind_to_processor(number);
      const Handle stream = handle(100 + static_cast<uintptr_t>(number));
      launch(stream, 0);  // takes a lane
      for (--missing; missing != 0;) sched_yield();
      const int64_t begin = Clock::now().time_since_epoch().count();
      for (int i = 0; i < kLaunches; ++i) launch(stream, i);
      const int64_t end = Clock::now().time_since_epoch().count();
      for (int64_t seen = first; begin < seen && !first.compare_exchange_weak(seen, begin);) {
      }
      for (int64_t seen = last; end > seen && !last.compare_exchange_weak(seen, end);) {
      }
      over.arrive_and_wait();
    };
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) all.emplace_back(body, t);
    for (std::thread& one : all) one.join();
    recorder.flush();
    return static_cast<double>(last - first) / kLaunches / threads;
  }
};

double at(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : GFXGRAPH_BENCH_CODE, std::ios::binary);
  const std::string image(std::istreambuf_iterator<char>(file), {});
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("record_threads.{}", getpid());
  std::filesystem::create_directory(folder);
  {
    Options options;
    options.output = (folder / "t.gfxg").string();
    Recorder recorder(options, std::make_unique<NoDevice>());
    recorder.code().module_loaded(&recorder, image.data());
    recorder.code().function_found(handle(2), &recorder, "vadd");
    Program program{recorder};
    for (std::vector<char>* memory : {&program.a, &program.b, &program.c}) {
      recorder.buffers().allocated({gfxgraph::format::AllocationKind::kDevice,
                                    reinterpret_cast<uint64_t>(memory->data()), 0, kBytes, 0,
                                    nullptr});
    }
    for (uintptr_t t = 0; t < kMostThreads; ++t)
      recorder.streams().stream_created(handle(100 + t), 1, 0);
    HeldFindings held;
    program.kernel =
        recorder.launches().find_kernel(handle(2), false, "hipModuleLaunchKernel", held);
    if (program.kernel == nullptr) {
      fmt::print(stderr, "record_threads: no kernel vadd\n");
      return 1;
    }
    std::map<int, std::vector<double>> ns, more;
    for (int i = -3; i < kRepetitions; ++i) {
      const double one = program.measure(1);
      for (int threads = 2; threads <= kMostThreads; threads *= 2) {
        const double several = program.measure(threads);
        if (i < 0) continue;
        ns[threads].push_back(several);
        more[threads].push_back(one / several);
      }
      if (i >= 0) ns[1].push_back(one), more[1].push_back(1);
    }
    for (const auto& [threads, values] : ns) {
      fmt::print(
          "{} thread{}  {:6.1f} ns per launch (p10 {:.1f}, p90 {:.1f}), {:.2f} times one "
          "thread's rate (p10 {:.2f}, p90 {:.2f})\n",
          threads, threads == 1 ? " " : "s", at(values, 0.5), at(values, 0.1), at(values, 0.9),
          at(more[threads], 0.5), at(more[threads], 0.1), at(more[threads], 0.9));
    }
    recorder.finish();
  }
  std::filesystem::remove_all(folder);
  return 0;
}

// Programs that repeat launches in every form that the holder must get right, each compared with
// what the host computes: accelerate_forms MODE [MODULE]
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "accelerate_program.h"

#ifndef CODE_OBJECT

static void repeated_on(hipStream_t stream) {
  Values values;
  for (int r = 0; r < kRepeats; ++r) {
    steps(values, 0, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(values, stream);
}
static void repeated() {
  repeated_on(new_stream());
  repeated_on(new_stream(hipStreamNonBlocking));
}
static void null_stream() { repeated_on(nullptr); }

// No wait between the steps: the end of a step is found by its period.
static void endless() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 120; ++r) steps(values, 0, kSteps, stream);
  COMPARE(values, stream);
}
static void same_launch() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 3000; ++r) values.run(pair_of(1), 3, stream);
  COMPARE(values, stream);
}

// A different argument, grid, kernel or buffer at each place of a known sequence.
static void mismatches() {
  Values values;
  Values other(99);
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(values, 0, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
  }
  for (int at = 0; at < kSteps; ++at) {
    for (int kind = 0; kind < 4; ++kind) {
      steps(values, 0, at, stream);
      switch (kind) {
        case 0: values.run(pair_of(77), 1, stream); break;
        case 1: other.run(pair_of(at), static_cast<uint8_t>(at % 30 + 1), stream); break;
        case 2: values.add(other, stream); break;
        default:
          step<<<3, 32, 0, stream>>>(values.device, pair_of(at), static_cast<uint8_t>(at % 30 + 1), kCount);
          CHECK(hipGetLastError());
          values.expect_step(pair_of(at), static_cast<uint8_t>(at % 30 + 1));
      }
      steps(values, at, kSteps, stream);
      if (kind % 2 == 0) COMPARE(values, stream);
    }
  }
  COMPARE(values, stream);
  COMPARE(other, stream);
}

// Short and long forms of one sequence, and several with one beginning.
static void prefixes() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 2 * kRepeats; ++r) {
    steps(values, 0, kSteps / 2, stream);
    if (r % 2 == 0) steps(values, kSteps / 2, kSteps, stream);
    if (r % 3 == 0) steps(values, 40, 50, stream);
    CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(values, stream);
}

static void alternating() {
  Values a(1), b(2), in(3);
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 3 * kRepeats; ++r) {
    Values& to = r % 2 == 0 ? a : b;
    Values& from = r % 2 == 0 ? b : a;
    steps(in, 0, 9, stream);
    to.add(from, stream);
    to.add(in, stream);
    steps(to, 3, 12, stream);
    if (r % 5 != 0) CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(a, stream);
  COMPARE(b, stream);
}

static void two_streams() {
  Values a(1), b(2);
  const hipStream_t first = new_stream();
  const hipStream_t second = new_stream();
  hipEvent_t event = nullptr;
  CHECK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  for (int r = 0; r < kRepeats; ++r) {
    steps(a, 0, 10, first);
    CHECK(hipEventRecord(event, first));
    CHECK(hipStreamWaitEvent(second, event, 0));
    b.add(a, second);
    steps(b, 0, 10, second);
    CHECK(hipEventRecord(event, second));
    CHECK(hipStreamWaitEvent(first, event, 0));
    a.add(b, first);
    if (r % 4 == 0) {
      while (hipEventQuery(event) == hipErrorNotReady) {
      }
    }
  }
  COMPARE(a, first);
  COMPARE(b, second);
}

// Null and blocking streams follow each other without events.
static void null_and_blocking() {
  Values a(1), b(2);
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(a, 0, 10, stream);
    b.add(a, nullptr);
    steps(b, 0, 10, nullptr);
    a.add(b, stream);
  }
  COMPARE(a, stream);
  COMPARE(b, nullptr);
}

// The host orders the work of two threads.
static void two_threads() {
  Values values;
  const hipStream_t stream = new_stream();
  std::atomic<int> turn{0};
  const auto work = [&](int own) {
    for (int r = own; r < 2 * kRepeats; r += 2) {
      while (turn.load() != r) std::this_thread::yield();
      steps(values, 0, kSteps, stream);
      turn.store(r + 1);
    }
  };
  std::thread first(work, 0);
  std::thread second(work, 1);
  first.join();
  second.join();
  COMPARE(values, stream);
}
// One thread launches, another one waits.
static void waiting_thread() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(values, 0, kSteps - r % 2, stream);
    std::thread([&] { CHECK(hipStreamSynchronize(stream)); }).join();
    if (r % 7 == 0) COMPARE(values, stream);
  }
  COMPARE(values, stream);
}

// Memory that a kernel writes is polled without any call of HIP: only the bound makes it come.
static void polled() {
  Values values;
  const hipStream_t stream = new_stream();
  uint32_t* flag = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&flag), sizeof(*flag), 0));
  *flag = 0;
  for (uint32_t r = 1; r <= kRepeats; ++r) {
    steps(values, 0, 10, stream);
    signal_host<<<1, 1, 0, stream>>>(flag, 1);
    // Each third time in the middle of what is known by then.
    if (r % 3 != 0) steps(values, 10, kSteps, stream);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != r) {
    }
    if (r % 3 == 0) steps(values, 10, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(values, stream);
  CHECK(hipHostFree(flag));
}

static void queries() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(values, 0, kSteps - r % 3, stream);
    hipError_t result = hipErrorNotReady;
    while ((result = hipStreamQuery(stream)) == hipErrorNotReady) {
    }
    CHECK(result);
  }
  COMPARE(values, stream);
}

static void run_module(Values& values, hipFunction_t function, hipStream_t stream, int form) {
  for (int i = 0; i < kSteps; ++i) {
    struct {
      uint32_t* to;
      Pair pair;
      uint8_t shift;
      int n;
    } packed = {values.device, pair_of(i), 3, kCount};
    void* arguments[] = {&packed.to, &packed.pair, &packed.shift, &packed.n};
    size_t size = sizeof(packed);
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    switch (form) {
      case 0: CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr)); break;
      case 1: CHECK(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, stream, nullptr, extra)); break;
      case 2:
        CHECK(hipExtModuleLaunchKernel(function, 128, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr, nullptr, nullptr, 0));
        break;
      case 3:
        CHECK(hipExtModuleLaunchKernel(function, 128, 1, 1, 64, 1, 1, 0, stream, nullptr, extra, nullptr, nullptr, 0));
        break;
      default: {  // with an event, which is not held
        hipEvent_t event = nullptr;
        CHECK(hipEventCreate(&event));
        CHECK(hipExtModuleLaunchKernel(function, 128, 1, 1, 64, 1, 1, 0, stream, arguments, nullptr, nullptr, event, 0));
        CHECK(hipEventSynchronize(event));
        CHECK(hipEventDestroy(event));
      }
    }
    values.expect_step(pair_of(i), 3);
  }
}
static void modules() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int form = 0; form < 5; ++form) {
    // A module that is loaded again may get the handles of the one before.
    hipModule_t module = nullptr;
    hipFunction_t function = nullptr;
    CHECK(hipModuleLoad(&module, module_path));
    CHECK(hipModuleGetFunction(&function, module, "step"));
    for (int r = 0; r < kRepeats; ++r) {
      run_module(values, function, stream, form);
      CHECK(hipStreamSynchronize(stream));
    }
    COMPARE(values, stream);
    CHECK(hipModuleUnload(module));
  }
}
static void module_data() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 4; ++r) {
    std::FILE* const file = std::fopen(module_path, "rb");
    REQUIRE(file != nullptr);
    std::vector<char> bytes(1 << 20);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    std::fclose(file);
    hipModule_t module = nullptr;
    hipFunction_t function = nullptr;
    CHECK(hipModuleLoadData(&module, bytes.data()));
    std::fill(bytes.begin(), bytes.end(), '\0');
    CHECK(hipModuleGetFunction(&function, module, "step"));
    for (int k = 0; k < 10; ++k) {
      run_module(values, function, stream, 0);
      CHECK(hipStreamSynchronize(stream));
    }
    COMPARE(values, stream);
    CHECK(hipModuleUnload(module));
  }
}

// Calls that the holder did not see coming: looked up by name.
static void looked_up() {
  Values values;
  const hipStream_t stream = new_stream();
  const auto launch = reinterpret_cast<decltype(&hipLaunchKernel)>(dlsym(RTLD_DEFAULT, "hipLaunchKernel"));
  const auto wait = reinterpret_cast<decltype(&hipDeviceSynchronize)>(dlsym(RTLD_DEFAULT, "hipDeviceSynchronize"));
  REQUIRE(launch != nullptr && wait != nullptr);
  for (int r = 0; r < kRepeats; ++r) {
    for (int i = 0; i < kSteps; ++i) {
      Pair pair = pair_of(i);
      uint8_t shift = 7;
      int n = kCount;
      void* arguments[] = {&values.device, &pair, &shift, &n};
      CHECK(launch(reinterpret_cast<const void*>(step), dim3(2), dim3(64), arguments, 0, stream));
      values.expect_step(pair, shift);
    }
    CHECK(wait());
  }
  COMPARE(values, stream);
}

// A launch that fails returns its error, as it would, in the middle of what is held, too.
static void errors() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(values, 0, 12, stream);
    if (r % 3 == 2) {
      step<<<2, 4096, 0, stream>>>(values.device, {1, 2}, 3, kCount);
      const hipError_t peeked = hipPeekAtLastError();
      const hipError_t result = hipGetLastError();
      REQUIRE(result == peeked && result != hipSuccess);
      CHECK(hipGetLastError());
      int value = 0;
      REQUIRE(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 77) != hipSuccess);
      (void)hipGetLastError();
      REQUIRE(hipMemcpyAsync(values.device, nullptr, 4, hipMemcpyKind(99), stream) != hipSuccess);
      (void)hipGetLastError();
    }
    steps(values, 12, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(values, stream);
}
// What the last error is after a launch that succeeds differs between versions: printed, so that a
// bare run can be compared.
static void last_errors() {
  Values values;
  const hipStream_t stream = new_stream();
  std::string seen;
  for (int r = 0; r < kRepeats; ++r) {
    int value = 0;
    const auto fail = [&] { (void)hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 77); };
    const auto look = [&] { seen += std::to_string(static_cast<int>(hipGetLastError())) + " "; };
    const auto one = [&](int i) {
      Pair pair = pair_of(i);
      uint8_t shift = 7;
      int n = kCount;
      void* arguments[] = {&values.device, &pair, &shift, &n};
      CHECK(hipLaunchKernel(reinterpret_cast<const void*>(step), dim3(2), dim3(64), arguments, 0, stream));
      values.expect_step(pair, shift);
    };
    if (r % 4 == 1) fail();
    for (int i = 0; i < 12; ++i) one(i);
    if (r % 4 != 3) look();
    if (r % 3 == 1) fail();
    if (r % 2 == 1) look();
    for (int i = 12; i < kSteps; ++i) one(i);
    look();
    CHECK(hipStreamSynchronize(stream));
    look();
  }
  COMPARE(values, stream);
  std::printf("%s\n", seen.c_str());
}

static void captured() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(values, 0, kSteps, stream);
    if (r == 20) CHECK(hipStreamSynchronize(stream));
    if (r < 20 || r > 22) continue;
    hipGraph_t graph = nullptr;
    hipGraphExec_t executable = nullptr;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    steps(values, 0, kSteps, stream);
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipGraphExecDestroy(executable));
    CHECK(hipGraphDestroy(graph));
  }
  COMPARE(values, stream);
}

// The child neither holds nor launches; the parent goes on.
static void forked() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(values, 0, kSteps - r % 2, stream);
    if (r % 10 == 9) {
      const pid_t child = fork();
      if (child == 0) _exit(7);
      int status = 0;
      REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
      REQUIRE(std::system("exit 3") == 3 << 8);
    } else {
      CHECK(hipStreamSynchronize(stream));
    }
  }
  COMPARE(values, stream);
}

static void callbacks() {
  Values values;
  const hipStream_t stream = new_stream();
  static std::atomic<int> called{0};
  for (int r = 0; r < kRepeats; ++r) {
    steps(values, 0, 12, stream);
    CHECK(hipStreamAddCallback(stream, [](hipStream_t, hipError_t, void*) { ++called; }, nullptr, 0));
    steps(values, 12, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
    REQUIRE(called == r + 1);
  }
  COMPARE(values, stream);
}

// ---- ends: the process ends while launches are held. What they did is not seen; the exit code is.
static Values* at_end = nullptr;
static void launch_to_the_end() {
  at_end = new Values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(*at_end, 0, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
  }
  steps(*at_end, 0, kSteps / 2, stream);
}
static void end_by_exit() {
  launch_to_the_end();
  std::exit(21);
}
static void end_by_handler() {
  static hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  std::atexit([] {
    steps(*at_end, 0, kSteps, stream);
    COMPARE(*at_end);
    std::_Exit(22);
  });
  launch_to_the_end();
  CHECK(hipDeviceSynchronize());
  steps(*at_end, 0, kSteps / 2, stream);
  std::exit(1);
}
static void end_by_underscore_exit() {
  launch_to_the_end();
  _exit(23);
}
static void end_by_exec() {
  launch_to_the_end();
  execl("/bin/sh", "sh", "-c", "exit 24", static_cast<char*>(nullptr));
}

constexpr Mode kModes[] = {
    {"repeated", repeated},
    {"null_stream", null_stream},
    {"endless", endless},
    {"same_launch", same_launch},
    {"mismatches", mismatches},
    {"prefixes", prefixes},
    {"alternating", alternating},
    {"two_streams", two_streams},
    {"null_and_blocking", null_and_blocking},
    {"two_threads", two_threads},
    {"waiting_thread", waiting_thread},
    {"polled", polled},
    {"queries", queries},
    {"modules", modules},
    {"module_data", module_data},
    {"looked_up", looked_up},
    {"errors", errors},
    {"last_errors", last_errors},
    {"captured", captured},
    {"forked", forked},
    {"callbacks", callbacks},
    {"end_by_exit", end_by_exit},
    {"end_by_handler", end_by_handler},
    {"end_by_underscore_exit", end_by_underscore_exit},
    {"end_by_exec", end_by_exec},
};

int main(int argc, char** argv) { return run_mode(kModes, argc, argv); }

#endif

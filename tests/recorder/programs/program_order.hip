// Legal programs whose order comes from what the host knew when it issued a call, each with an
// answer computed on the host: program_order MODE; prints "ok". Streams are non-blocking, so nothing
// else orders the work.
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "program.h"

using Word = unsigned long long;
constexpr int kRounds = 150000;

__global__ void slow(Word* word, int rounds) {
  Word value = *word;
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  *word = value;
}
__global__ void follow(const Word* word, Word* result) { *result = *word + 1; }
__global__ void raise(volatile int* flag, const Word* word) { *flag = 1 + (*word == 12345); }

static Word slow_answer() {
  Word value = 0;
  for (int i = 0; i < kRounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  return value;
}

static hipStream_t new_stream() {
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  return stream;
}

static hipStream_t first, second;

static Word* device_words(int count) {
  Word* words = nullptr;
  CHECK(hipMalloc(&words, count * sizeof(Word)));
  CHECK(hipMemset(words, 0, count * sizeof(Word)));
  CHECK(hipDeviceSynchronize());
  return words;
}

// slow in one stream, then what tells the host that it is done, then a reader in another stream.
static void told(const char* what, const std::function<void()>& tell,
                 const std::function<void()>& before = [] {}) {
  Word* words = device_words(2);
  slow<<<1, 1, 0, first>>>(words, kRounds);
  before();
  tell();
  follow<<<1, 1, 0, second>>>(words, words + 1);
  CHECK(hipDeviceSynchronize());
  Word result = 0;
  CHECK(hipMemcpy(&result, words + 1, sizeof(result), hipMemcpyDeviceToHost));
  expect(result == slow_answer() + 1, what);
}

// Calls that return when the device is idle, though nobody asked them to wait.
static void frees() {
  Word* temporary = device_words(1);
  told("hipFree", [&] { CHECK(hipFree(temporary)); });
  void* host = nullptr;
  CHECK(hipHostMalloc(&host, 64, 0));
  told("hipHostFree", [&] { CHECK(hipHostFree(host)); });
  const hipStream_t kept = std::exchange(first, new_stream());
  told("hipStreamDestroy of that stream", [&] { CHECK(hipStreamDestroy(first)); });
  first = kept;
}

static void copies() {
  static char host[64];
  Word* other = device_words(8);
  told("hipMemcpyAsync to pageable memory", [&] {
    CHECK(hipMemcpyAsync(host, other, 64, hipMemcpyDeviceToHost, first));
  });
  int version = 0;
  CHECK(hipRuntimeGetVersion(&version));
  if (version < 60000000) {  // kPlainSourceIsStaged
    told("hipMemcpyAsync from pageable memory", [&] {
      CHECK(hipMemcpyAsync(other, host, 64, hipMemcpyHostToDevice, first));
    });
  }
  if (version < 50700000) {  // kDeviceCopyReturnsAtOnce
    told("hipMemcpyWithStream", [&] {
      CHECK(hipMemcpyWithStream(other, other + 4, 16, hipMemcpyDeviceToDevice, first));
    });
  }
  told("hipMemcpyAsync between host memories", [&] {
    static char elsewhere[64];
    CHECK(hipMemcpyAsync(elsewhere, host, 64, hipMemcpyHostToHost, first));
  });
}

static void queries() {
  hipEvent_t start, stop;
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  const auto record = [&] {
    CHECK(hipEventRecord(start, first));
    CHECK(hipEventRecord(stop, first));
  };
  const auto until = [](const std::function<hipError_t()>& ask) {
    for (hipError_t result; (result = ask()) != hipSuccess;) {
      expect(result == hipErrorNotReady, "a query");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  float ms = 0;
  told("hipEventElapsedTime",
       [&] { until([&] { return hipEventElapsedTime(&ms, start, stop); }); }, record);
  told("hipEventQuery", [&] { until([&] { return hipEventQuery(stop); }); }, record);
  told("hipStreamQuery", [&] { until([&] { return hipStreamQuery(first); }); });
}

static std::atomic<int> flag;

static void wait_for_flag() {
  while (flag.load() == 0) std::this_thread::yield();
}

// A callback tells this thread; and one thread tells another, which issues the work that follows.
static void callbacks() {
  const auto callback = [](hipStream_t, hipError_t status, void* data) {
    expect(status == hipSuccess && *static_cast<int*>(data) == 77, "the callback's data");
    flag.store(1);
  };
  static int data = 77;
  for (int round = 0; round < 3; ++round) {
    flag = 0;
    told("hipStreamAddCallback", [&] {
      CHECK(hipStreamAddCallback(first, callback, &data, 0));
      wait_for_flag();
    });
  }
  flag = 0;
  Word* words = device_words(2);
  std::thread other([&] {
    wait_for_flag();
    follow<<<1, 1, 0, second>>>(words, words + 1);
  });
  slow<<<1, 1, 0, first>>>(words, kRounds);
  CHECK(hipStreamAddCallback(first, callback, &data, 0));
  other.join();
  CHECK(hipDeviceSynchronize());
  Word result = 0;
  CHECK(hipMemcpy(&result, words + 1, sizeof(result), hipMemcpyDeviceToHost));
  expect(result == slow_answer() + 1, "a callback that tells another thread");
}

// A thread stages data in pieces of one pinned buffer while host functions of another stream are due
// or run. It uses a piece again as soon as the copy out of it is done.
static void staging() {
  constexpr size_t kPiece = 4096;
  char* pool = nullptr;
  char* data = nullptr;
  CHECK(hipHostMalloc(&pool, 16 * kPiece, 0));
  CHECK(hipMalloc(&data, 16 * kPiece));
  CHECK(hipMemset(data, 0, 16 * kPiece));
  CHECK(hipDeviceSynchronize());
  for (int round = 0; round < 4; ++round) {
    flag = 0;
    const auto held = [](hipStream_t, hipError_t, void*) { wait_for_flag(); };
    const auto nothing = [](hipStream_t, hipError_t, void*) {};
    CHECK(hipStreamAddCallback(first, held, nullptr, 0));
    CHECK(hipStreamAddCallback(first, nothing, nullptr, 0));
    for (int piece = 0; piece < 16; ++piece) {
      if (piece == 8) flag = 1;
      char* const staged = pool + kPiece * (piece % 3) + (piece % 2) * 1024;
      std::memset(staged, 16 * round + piece, 1024);
      CHECK(hipMemcpyAsync(data + kPiece * piece, staged, 1024, hipMemcpyHostToDevice, second));
      if (piece % 4 == 3) {
        hipEvent_t done;
        CHECK(hipEventCreateWithFlags(&done, hipEventDisableTiming));
        CHECK(hipEventRecord(done, second));
        CHECK(hipEventSynchronize(done));
        CHECK(hipEventDestroy(done));
      } else {
        CHECK(hipStreamSynchronize(second));
      }
    }
    CHECK(hipDeviceSynchronize());
    std::vector<char> now(16 * kPiece);
    CHECK(hipMemcpy(now.data(), data, now.size(), hipMemcpyDeviceToHost));
    for (int piece = 0; piece < 16; ++piece) {
      expect(now[kPiece * piece + 1023] == static_cast<char>(16 * round + piece), "a staged piece");
    }
  }
}

// A host node in the middle of a graph tells that the nodes before it are done.
static void host_nodes() {
  for (int round = 0; round < 2; ++round) {
    Word* words = device_words(4);
    hipGraph_t graph;
    CHECK(hipGraphCreate(&graph, 0));
    hipKernelNodeParams params{};
    int rounds = kRounds;
    Word* word = words;
    void* arguments[] = {&word, &rounds};
    params.func = reinterpret_cast<void*>(slow);
    params.gridDim = dim3(1);
    params.blockDim = dim3(1);
    params.kernelParams = arguments;
    hipGraphNode_t before, host, after;
    CHECK(hipGraphAddKernelNode(&before, graph, nullptr, 0, &params));
    static int data = 0;
    hipHostNodeParams function{};
    function.fn = [](void* given) {
      expect(given == &data, "the host node's data");
      ++data;
      flag.store(1);
    };
    function.userData = &data;
    CHECK(hipGraphAddHostNode(&host, graph, &before, 1, &function));
    hipHostNodeParams got{};
    CHECK(hipGraphHostNodeGetParams(host, &got));
    expect(got.fn == function.fn && got.userData == function.userData, "the host node's own params");
    word = words + 2;
    CHECK(hipGraphAddKernelNode(&after, graph, &host, 1, &params));
    hipGraphExec_t executable;
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    flag = 0;
    data = 0;
    CHECK(hipGraphLaunch(executable, first));
    wait_for_flag();
    follow<<<1, 1, 0, second>>>(words, words + 1);
    CHECK(hipDeviceSynchronize());
    expect(data == 1, "the host node ran once");
    Word result = 0;
    CHECK(hipMemcpy(&result, words + 1, sizeof(result), hipMemcpyDeviceToHost));
    expect(result == slow_answer() + 1, "a host node");
    CHECK(hipGraphExecDestroy(executable));
    CHECK(hipGraphDestroy(graph));
  }
}

// The host polls memory that the kernel writes.
static void polled() {
  int* seen = nullptr;
  CHECK(hipHostMalloc(&seen, sizeof(int), hipHostMallocDefault));
  *seen = 0;
  Word* words = device_words(2);
  slow<<<1, 1, 0, first>>>(words, kRounds);
  raise<<<1, 1, 0, first>>>(seen, words);
  while (*const_cast<volatile int*>(seen) == 0) std::this_thread::yield();
  follow<<<1, 1, 0, second>>>(words, words + 1);
  CHECK(hipDeviceSynchronize());
  Word result = 0;
  CHECK(hipMemcpy(&result, words + 1, sizeof(result), hipMemcpyDeviceToHost));
  expect(result == slow_answer() + 1, "polled memory");
}

__global__ void wait_for(volatile int* flag, Word* word) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(1);
  *word = 42;
}
__global__ void read_second(volatile int* words, Word* word) { *word = words[1]; }

// Kernels that end when the host lets them: whoever waits for the device before is stuck.
static void held() {
  int* flag = nullptr;
  CHECK(hipHostMalloc(&flag, 2 * sizeof(int), hipHostMallocDefault));
  flag[0] = flag[1] = 0;
  Word* result = device_words(1);
  Word* temporary = nullptr;
  CHECK(hipMallocAsync(reinterpret_cast<void**>(&temporary), sizeof(Word), first));
  CHECK(hipStreamSynchronize(first));
  wait_for<<<1, 1, 0, first>>>(flag, temporary);
  CHECK(hipFreeAsync(temporary, first));
  flag[1] = 7;  // memory that the kernel was given, and so is the next one
  read_second<<<1, 1, 0, second>>>(flag, result);
  CHECK(hipStreamSynchronize(second));
  Word read = 0;
  CHECK(hipMemcpyAsync(&read, result, sizeof(read), hipMemcpyDeviceToHost, second));
  CHECK(hipStreamSynchronize(second));
  expect(read == 7, "a kernel beside one that waits for the host");
  *const_cast<volatile int*>(flag) = 1;
  CHECK(hipDeviceSynchronize());
}

// Two large buffers freed behind a kernel that has not ended.
static void held_frees() {
  constexpr size_t kBytes = size_t{96} << 20;
  int* flag = nullptr;
  CHECK(hipHostMalloc(&flag, sizeof(int), hipHostMallocDefault));
  *flag = 0;
  Word* result = device_words(1);
  void* large[2] = {};
  for (void*& one : large) CHECK(hipMallocAsync(&one, kBytes, first));
  CHECK(hipStreamSynchronize(first));
  wait_for<<<1, 1, 0, first>>>(flag, result);
  for (void* one : large) {
    CHECK(hipMemsetAsync(one, 5, kBytes, first));
    CHECK(hipFreeAsync(one, first));
  }
  *const_cast<volatile int*>(flag) = 1;
  CHECK(hipDeviceSynchronize());
}

static const char* module_path = nullptr;

static int* held_flag() {
  int* flag = nullptr;
  CHECK(hipHostMalloc(&flag, sizeof(int), hipHostMallocDefault));
  *flag = 0;
  return flag;
}

// Registered memory that no kernel in flight uses, given back beside a kernel that the host holds.
static void held_unregister() {
  alignas(4096) static Word registered[512];
  int version = 0;
  CHECK(hipRuntimeGetVersion(&version));
  if (version >= 50700000) return;  // kUnregisterWaitsForDevice
  int* flag = held_flag();
  Word* result = device_words(1);
  CHECK(hipHostRegister(registered, sizeof(registered), 0));
  void* seen = nullptr;
  CHECK(hipHostGetDevicePointer(&seen, registered, 0));
  slow<<<1, 1, 0, second>>>(static_cast<Word*>(seen), 1);
  CHECK(hipStreamSynchronize(second));
  wait_for<<<1, 1, 0, first>>>(flag, result);
  registered[1] = 7;
  CHECK(hipHostUnregister(registered));
  expect(hipStreamQuery(first) == hipErrorNotReady, "hipHostUnregister does not wait");
  *const_cast<volatile int*>(flag) = 1;
  CHECK(hipDeviceSynchronize());
}

// A module that no kernel in flight comes from, unloaded beside one that the host holds.
static void held_unload() {
  int* flag = held_flag();
  Word* result = device_words(2);
  hipModule_t module;
  hipFunction_t function;
  CHECK(hipModuleLoad(&module, module_path));
  CHECK(hipModuleGetFunction(&function, module, "module_increment"));
  void* data = result + 1;
  int by = 3;
  void* arguments[] = {&data, &by};
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, second, arguments, nullptr));
  CHECK(hipStreamSynchronize(second));
  wait_for<<<1, 1, 0, first>>>(flag, result);
  CHECK(hipModuleUnload(module));
  expect(hipStreamQuery(first) == hipErrorNotReady, "hipModuleUnload does not wait");
  *const_cast<volatile int*>(flag) = 1;
  CHECK(hipDeviceSynchronize());
}

// One thread frees memory and so waits for a kernel that another thread lets end, after it has used
// the device itself.
static void held_free_by_thread() {
  int* flag = held_flag();
  Word* result = device_words(1);
  Word* temporary = device_words(1);
  wait_for<<<1, 1, 0, first>>>(flag, temporary);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto begin = std::chrono::steady_clock::now();
    // Many other calls wait in HIP 5.2.3, which holds its list of streams meanwhile.
    static Word read = 1;
    CHECK(hipMemcpyAsync(&read, result, sizeof(read), hipMemcpyDeviceToHost, second));
    expect(read == 0, "a copy beside a thread that frees");
    expect(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3), "nothing waits");
    *const_cast<volatile int*>(flag) = 1;
  });
  CHECK(hipFree(temporary));
  other.join();
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (argc > 2) module_path = argv[2];
  first = new_stream();
  second = new_stream();
  const std::pair<const char*, void (*)()> modes[] = {
      {"frees", frees},         {"copies", copies},         {"queries", queries},
      {"callbacks", callbacks}, {"host_nodes", host_nodes}, {"polled", polled},
      {"staging", staging},
      {"held", held},           {"held_frees", held_frees},
      {"held_unregister", held_unregister},
      {"held_unload", held_unload},
      {"held_free_by_thread", held_free_by_thread}};
  for (const auto& [name, function] : modes) {
    if (mode != name) continue;
    function();
    std::printf("ok\n");
    return 0;
  }
  return 2;
}

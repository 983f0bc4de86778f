// What a program may do that the recorder must survive. Prints one line at its end, the same with
// and without the recorder.
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

static constexpr int kWords = 1024;
static constexpr size_t kBytes = kWords * sizeof(unsigned);

__device__ unsigned step = 1;
__global__ void count(unsigned* words) { words[threadIdx.x] += step; }
__global__ void look_up(unsigned* words, hipTextureObject_t texture) {
  words[threadIdx.x] = tex2D<unsigned short>(texture, static_cast<float>(threadIdx.x), 0);
}

static void check(hipError_t result, int line) {
  if (result == hipSuccess) return;
  std::printf("line %d: %s\n", line, hipGetErrorName(result));
  _exit(9);
}
#define CHECK(call) check((call), __LINE__)

static unsigned* memory() {
  unsigned* words = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&words), kBytes));
  CHECK(hipMemset(words, 0, kBytes));
  return words;
}
static unsigned first(const unsigned* words) {
  unsigned word = 0;
  CHECK(hipMemcpy(&word, words, sizeof word, hipMemcpyDeviceToHost));
  return word;
}
static void launch(unsigned* words) { count<<<1, kWords>>>(words); }

// ---- threads that end in the middle ----

static void* work_for_ever(void* started) {
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  void* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, kBytes, 0));
  *static_cast<std::atomic<bool>*>(started) = true;
  for (;;) {
    unsigned* const words = memory();
    count<<<1, kWords, 0, stream>>>(words);
    CHECK(hipMemcpyAsync(pinned, words, kBytes, hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipFree(words));
    pthread_testcancel();
  }
}
static void cancel() {
  for (int i = 0; i < 12; ++i) {
    std::atomic<bool> started{false};
    pthread_t thread;
    pthread_create(&thread, nullptr, work_for_ever, &started);
    while (!started) usleep(100);
    usleep(1500 * (i % 5));
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
}

// Its destructor calls HIP while its thread ends. Not as a thread_local variable: HIP 5.2.3 does not bear that.
struct LastWords {
  unsigned* words = memory();
  ~LastWords() {
    launch(words);
    if (first(words) != 1) _exit(6);
    CHECK(hipFree(words));
  }
};
enum class End { kByItself, kCancelled, kByHandler };
static std::atomic<bool> waits{false};
static void* end_with_calls(void* how) {
  const LastWords last;
  if (*static_cast<End*>(how) == End::kByItself) pthread_exit(nullptr);
  waits = true;
  for (;;) pause();
}
static void leave_threads() {
  signal(SIGUSR1, [](int) { pthread_exit(nullptr); });
  for (int i = 0; i < 9; ++i) {
    End how = static_cast<End>(i % 3);
    waits = false;
    pthread_t thread;
    pthread_create(&thread, nullptr, end_with_calls, &how);
    if (how != End::kByItself)
      while (!waits) usleep(100);
    if (how == End::kCancelled) pthread_cancel(thread);
    if (how == End::kByHandler) pthread_kill(thread, SIGUSR1);
    pthread_join(thread, nullptr);
  }
}

static sigjmp_buf back;
static void leave_handlers() {
  unsigned* const words = memory();
  signal(SIGUSR1, [](int) { siglongjmp(back, 1); });
  for (volatile int i = 0; i < 10; ++i) {
    launch(words);
    if (sigsetjmp(back, 1) == 0) raise(SIGUSR1);
  }
  if (first(words) != 10) _exit(7);
}

// A signal arrives while its thread is inside of hipStreamSynchronize().
__global__ void wait_for(volatile unsigned* flag) {
  while (*flag == 0) {
  }
}
static unsigned* flag = nullptr;
static unsigned* counted = nullptr;
static hipStream_t beside = nullptr;
static void launch_inside() {
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&flag), sizeof(unsigned), 0));
  *flag = 0;
  counted = memory();
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&beside, hipStreamNonBlocking));
  wait_for<<<1, 1, 0, stream>>>(flag);
  signal(SIGUSR1, [](int) {
    count<<<1, kWords, 0, beside>>>(counted);
    *flag = 1;
  });
  const pthread_t self = pthread_self();
  static std::atomic<bool> waits_now{false};
  std::thread later([self] {
    while (!waits_now) usleep(100);
    usleep(300'000);  // a busy machine may take that long to enter the call
    pthread_kill(self, SIGUSR1);
  });
  waits_now = true;
  CHECK(hipStreamSynchronize(stream));
  later.join();
  CHECK(hipStreamSynchronize(beside));
  if (first(counted) != 1) _exit(7);
}

static void leave_main() {
  std::thread([] {
    usleep(50'000);  // main() is gone
    unsigned* const words = memory();
    launch(words);
    std::printf("%u\n", first(words));
    std::fflush(stdout);
    exit(0);
  }).detach();
  pthread_exit(nullptr);
}

static void exit_beside_threads() {
  static std::atomic<int> rounds{0};
  for (int i = 0; i < 3; ++i) {
    std::thread([] {
      for (;;) {
        unsigned* const words = memory();
        launch(words);
        (void)hipFree(words);
        ++rounds;
      }
    }).detach();
  }
  while (rounds < 20) usleep(500);
}

static void exit_in_function() {
  unsigned* const words = memory();
  launch(words);
  std::printf("%u\n", first(words));
  std::fflush(stdout);
  CHECK(hipStreamAddCallback(nullptr, [](hipStream_t, hipError_t, void*) { _exit(0); }, nullptr, 0));
  (void)hipDeviceSynchronize();
}

// ---- memory that cannot be read ----

static unsigned* registered() {
  void* const host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(host, 0, kBytes);
  CHECK(hipHostRegister(host, kBytes, 0));
  void* seen = nullptr;
  CHECK(hipHostGetDevicePointer(&seen, host, 0));
  launch(static_cast<unsigned*>(seen));
  CHECK(hipDeviceSynchronize());
  return static_cast<unsigned*>(host);
}
static void unmap() {
  for (int i = 0; i < 3; ++i) {
    munmap(registered(), kBytes);
    unsigned* const words = memory();
    launch(words);
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(words));
  }
}
static void protect() {
  void* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, kBytes, 0));
  unsigned* const host = registered();
  unsigned* const words = memory();
  for (void* const one : {static_cast<void*>(host), pinned}) {
    mprotect(one, 4096, PROT_NONE);
    launch(words);
    CHECK(hipDeviceSynchronize());
    mprotect(one, 4096, PROT_READ | PROT_WRITE);
  }
  CHECK(hipHostUnregister(host));
}
// HIP looks at none of it, because it refuses the call for another reason.
static void bad_pointers() {
  void** const nowhere = static_cast<void**>(
      mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  void* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, kBytes, 0));
  (void)hipLaunchKernel(reinterpret_cast<const void*>(count), dim3(0), dim3(0), nowhere, 0, nullptr);
  (void)hipGetLastError();
}

// ---- ends of what the recorder still needs ----

static void reset() {
  for (int i = 0; i < 3; ++i) {
    hipStream_t stream = nullptr;
    CHECK(hipStreamCreate(&stream));
    unsigned* const words = memory();
    count<<<1, kWords, 0, stream>>>(words);
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipDeviceReset());
  }
}
static void textures(bool array_first) {
  const hipChannelFormatDesc desc = hipCreateChannelDesc(16, 0, 0, 0, hipChannelFormatKindUnsigned);
  hipArray_t array = nullptr;
  CHECK(hipMallocArray(&array, &desc, 64, 64));
  static unsigned short texels[64 * 64];
  CHECK(hipMemcpy2DToArray(array, 0, 0, texels, 128, 128, 64, hipMemcpyHostToDevice));
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc texture{};
  hipTextureObject_t object = nullptr;
  CHECK(hipCreateTextureObject(&object, &resource, &texture, nullptr));
  unsigned* const words = memory();
  look_up<<<1, 64>>>(words, object);
  CHECK(hipDeviceSynchronize());
  if (array_first) CHECK(hipFreeArray(array));
  CHECK(hipDestroyTextureObject(object));
  if (!array_first) CHECK(hipFreeArray(array));
}
static void free_inside() {
  unsigned* const words = memory();
  launch(words);
  CHECK(hipDeviceSynchronize());
  (void)hipFree(words + 64);
  unsigned* const next = memory();
  launch(next);
  CHECK(hipDeviceSynchronize());
}

// ---- programs that are not executed ----

static void failing_execs(const char* folder) {
  const std::string text = std::string(folder) + "/text";
  const std::string script = std::string(folder) + "/script";
  const auto make = [](const std::string& path, const char* content, mode_t mode) {
    const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    (void)!write(file, content, strlen(content));
    fchmod(file, mode);
    close(file);
  };
  make(text, "no program\n", 0700);
  make(script, "#!/no/such/interpreter\n", 0700);
  unsigned* const words = memory();
  char* const arguments[] = {const_cast<char*>("x"), nullptr};
  const auto failed = [&](int result) {
    if (result != -1) _exit(8);
    launch(words);
  };
  failed(execl("/no/such/program", "x", nullptr));
  failed(execv(folder, arguments));
  failed(execve(text.c_str(), arguments, environ));
  failed(execv(script.c_str(), arguments));
  failed(execvp("no-such-program-anywhere", arguments));
  failed(execve(reinterpret_cast<const char*>(16), arguments, environ));
  failed(fexecve(-1, arguments, environ));
  static std::string large(8u << 20, 'x');
  char* const too_much[] = {large.data(), nullptr};
  failed(execv("/bin/true", too_much));
  const pid_t child = vfork();
  if (child == 0) {
    execl("/no/such/program", "x", nullptr);
    _exit(0);
  }
  launch(words);
  if (first(words) != 9) _exit(7);
}

// ---- functions that write nothing ----

static std::atomic<int> ran{0};
static void wait_and_write_nothing(hipStream_t, hipError_t, void*) {
  ++ran;
  usleep(3000);
}
static void staged() {
  constexpr int kPieces = 6;
  hipStream_t functions = nullptr, copies = nullptr;
  CHECK(hipStreamCreateWithFlags(&functions, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&copies, hipStreamNonBlocking));
  char* pinned = nullptr;
  char* device = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), kPieces * 4096, 0));
  CHECK(hipMalloc(reinterpret_cast<void**>(&device), kPieces * 4096));
  void* seen = nullptr;
  CHECK(hipHostGetDevicePointer(&seen, pinned, 0));
  count<<<1, kWords, 0, copies>>>(static_cast<unsigned*>(seen));
  CHECK(hipStreamSynchronize(copies));
  for (int i = 0; i < kPieces; ++i) {
    memset(pinned + i * 4096, i + 1, 4096);
    const int before = ran;
    CHECK(hipStreamAddCallback(functions, wait_and_write_nothing, nullptr, 0));
    while (ran == before) {
    }
    CHECK(hipMemcpyAsync(device + i * 4096, pinned + i * 4096, 4096, hipMemcpyHostToDevice, copies));
    CHECK(hipStreamSynchronize(copies));
    CHECK(hipStreamSynchronize(functions));
  }
}

// ---- no descriptors ----

static void use_up_descriptors() {
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
  }
}
static void limit_descriptors() {
  const rlimit few{8, 8};
  setrlimit(RLIMIT_NOFILE, &few);
}
// More than the recorder keeps in its buffers, of each kind of memory, and host functions.
static void work_without_descriptors() {
  constexpr size_t kLarge = size_t{24} << 20;
  char* device = nullptr;
  char* pinned = nullptr;
  CHECK(hipMalloc(reinterpret_cast<void**>(&device), kLarge));
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), kLarge, 0));
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreate(&stream));
  for (int i = 1; i <= 3; ++i) {
    memset(pinned, i, kLarge);
    CHECK(hipMemcpyAsync(device, pinned, kLarge, hipMemcpyHostToDevice, stream));
    CHECK(hipStreamAddCallback(stream, wait_and_write_nothing, nullptr, 0));
    count<<<1, kWords, 0, stream>>>(reinterpret_cast<unsigned*>(device));
    void* seen = nullptr;
    CHECK(hipHostGetDevicePointer(&seen, pinned, 0));
    count<<<1, kWords, 0, stream>>>(static_cast<unsigned*>(seen));
    CHECK(hipStreamSynchronize(stream));
  }
  std::printf("%u %u\n", first(reinterpret_cast<unsigned*>(device)), *reinterpret_cast<unsigned*>(pinned));
  CHECK(hipFree(device));
  CHECK(hipHostFree(pinned));
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "cancel") cancel();
  if (mode == "leave_threads") leave_threads();
  if (mode == "leave_handlers") leave_handlers();
  if (mode == "launch_inside") launch_inside();
  if (mode == "leave_main") leave_main();
  if (mode == "exit_beside_threads") exit_beside_threads();
  if (mode == "exit_in_function") exit_in_function();
  if (mode == "unmap") unmap();
  if (mode == "protect") protect();
  if (mode == "bad_pointers") bad_pointers();
  if (mode == "reset") reset();
  if (mode == "texture_first") textures(false);
  if (mode == "array_first") textures(true);
  if (mode == "free_inside") free_inside();
  if (mode == "failing_execs") failing_execs(argv[2]);
  if (mode == "staged") staged();
  if (mode == "few_descriptors") work_without_descriptors();
  if (mode == "limited_descriptors") limit_descriptors(), work_without_descriptors();
  if (mode == "used_descriptors") (void)first(memory()), use_up_descriptors(), work_without_descriptors();
  if (mode == "another_user" && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
  if (mode != "exit_beside_threads") {
    unsigned* const words = memory();
    launch(words);
    std::printf("%u\n", first(words));
  }
  return 0;
}

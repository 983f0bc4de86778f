// Threads that are cancelled asynchronously, at any instruction, while they call HIP, or with
// "jump" a handler that jumps out of a call; on fake_hip, whose functions bear that. Prints what
// the main thread still computes: the same with and without the recorder.
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Shared {
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  void* memory = nullptr;
  std::atomic<bool> started{false};
};

void stub() {}

void* call_for_ever(void* data) {
  Shared& shared = *static_cast<Shared*>(data);
  int before = 0;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  if (before != PTHREAD_CANCEL_DEFERRED) std::abort();
  shared.started = true;
  void* arguments[] = {&shared.memory};
  for (;;) {
    (void)hipEventRecord(shared.event, shared.stream);
    (void)hipMemset(shared.memory, 1, 4096);
    (void)hipLaunchKernel(reinterpret_cast<const void*>(&stub), dim3(1), dim3(1), arguments, 0,
                          shared.stream);
    (void)hipStreamSynchronize(shared.stream);
    (void)hipStreamQuery(shared.stream);
    (void)hipGetLastError();
  }
}

sigjmp_buf back;

// The call reads memory that cannot be read.
void jump_out_of_call(void* memory) {
  const void* const nowhere = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  signal(SIGSEGV, [](int) { siglongjmp(back, 1); });
  if (sigsetjmp(back, 1) == 0) (void)hipMemcpy(memory, nowhere, 4096, hipMemcpyHostToDevice);
}

}  // namespace

int main(int argc, char** argv) {
  const bool jumps = argc > 1 && std::strcmp(argv[1], "jump") == 0;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  Shared shared;
  if (hipStreamCreate(&shared.stream) != hipSuccess) return 1;
  if (hipEventCreate(&shared.event) != hipSuccess) return 1;
  if (hipMalloc(&shared.memory, 4096) != hipSuccess) return 1;
  int cancelled = 0;
  for (int i = 0; i < rounds; ++i) {
    shared.started = false;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, call_for_ever, &shared) != 0) return 1;
    while (!shared.started) usleep(10);
    usleep(static_cast<useconds_t>(i % 40 * 7));
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    if (result == PTHREAD_CANCELED) ++cancelled;
  }
  if (jumps) jump_out_of_call(shared.memory);
  unsigned char first = 0;
  if (hipMemset(shared.memory, 7, 4096) != hipSuccess) return 1;
  if (hipMemcpy(&first, shared.memory, 1, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  std::printf("%d %d\n", cancelled, first);
  return 0;
}

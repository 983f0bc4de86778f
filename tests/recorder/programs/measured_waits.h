// Whether a call of HIP waits for work: asked of the runtime itself, for programs that compare it
// with the table of calls (recorder/hooks/calls/hip_calls.inc).
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "program.h"

using Word = unsigned long long;

__global__ void slow(Word* word, int rounds) {
  Word value = *word;
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  *word = value;
}
__global__ void held(volatile int* flag, Word* word) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(1);
  *word = 42;
}

inline Word* words;
inline int* flag;
inline hipStream_t other, blocking;

inline hipStream_t new_stream(unsigned flags) {
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, flags));
  // With a queue of its own, which the runtime makes for the first work.
  slow<<<1, 1, 0, stream>>>(words, 1);
  CHECK(hipStreamSynchronize(stream));
  return stream;
}

// Calls that wait for all work in the stream.
inline void waits(const char* what, hipStream_t stream, const std::function<void()>& call) {
  slow<<<1, 1, 0, stream>>>(words, 150000);
  hipEvent_t end;
  CHECK(hipEventCreateWithFlags(&end, hipEventDisableTiming));
  CHECK(hipEventRecord(end, stream));
  call();
  expect(hipEventQuery(end) == hipSuccess, what);
  CHECK(hipEventDestroy(end));
}

// Calls that do not. One that waits all the same is let go after ten seconds.
inline void returns(const char* what, hipStream_t stream, const std::function<void()>& call) {
  *flag = 0;
  held<<<1, 1, 0, stream>>>(flag, words);
  std::atomic<bool> returned{false};
  std::thread rescue([&] {
    for (int i = 0; i < 1000 && !returned; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!returned) *const_cast<volatile int*>(flag) = 1;
  });
  call();
  returned = true;
  const hipError_t state = hipStreamQuery(stream);
  rescue.join();
  expect(state == hipErrorNotReady, what);
  *const_cast<volatile int*>(flag) = 1;
  CHECK(hipStreamSynchronize(stream));
}

inline hipEvent_t end_of_held;

// Calls that wait for all work in the stream, which ends because another thread lets it.
inline void blocks(const char* what, hipStream_t stream, const std::function<void()>& call) {
  *flag = 0;
  held<<<1, 1, 0, stream>>>(flag, words);
  CHECK(hipEventRecord(end_of_held, stream));
  std::atomic<bool> let_go{false};
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    let_go = true;
    *const_cast<volatile int*>(flag) = 1;
  });
  call();
  const bool waited = let_go;
  host.join();
  expect(waited, what);
}

struct Call {
  const char* name;
  std::function<void()> call;
};
#define CALL(name, ...)                      \
  Call {                                     \
    #name, [=] { CHECK(name(__VA_ARGS__)); } \
  }

// Not in the headers of every runtime, nor in every runtime.
template <typename... Args>
inline Call later(const char* name, Args... args) {
  return {name, [=] {
            const auto function =
                reinterpret_cast<hipError_t (*)(Args...)>(dlsym(RTLD_DEFAULT, name));
            if (function != nullptr) {
              CHECK(function(args...));
            } else {
              CHECK(hipDeviceSynchronize());
            }
          }};
}

inline void until_done(const std::function<hipError_t()>& query) {
  for (hipError_t result; (result = query()) != hipSuccess;) {
    expect(result == hipErrorNotReady, "a query");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline void all_return(const std::vector<Call>& calls, hipStream_t stream) {
  for (const auto& [name, call] : calls) returns(name, stream, call);
}
inline void all_block(const std::vector<Call>& calls, hipStream_t stream) {
  for (const auto& [name, call] : calls) blocks(name, stream, call);
}

// The streams, and memory for their work.
inline void make_streams() {
  CHECK(hipMalloc(&words, 65536));
  CHECK(hipMemset(words, 0, 65536));
  CHECK(hipHostMalloc(&flag, sizeof(int), hipHostMallocDefault));
  CHECK(hipEventCreateWithFlags(&end_of_held, hipEventDisableTiming));
  other = new_stream(hipStreamNonBlocking);
  blocking = new_stream(hipStreamDefault);
}

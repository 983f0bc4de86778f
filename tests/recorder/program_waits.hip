// What HIP's calls wait for, as the table of calls says (recorder/preload/hip_calls.inc): asked of
// the runtime itself. program_waits waits: what must be done when a call has returned is.
// program_waits returns: calls return while a kernel runs that the host holds; one that waits for
// it hangs. Prints "ok".
#include <functional>
#include <string>

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

static Word* words;
static int* flag;
static hipStream_t other, blocking;

static hipStream_t new_stream(unsigned flags) {
  hipStream_t stream;
  CHECK(hipStreamCreateWithFlags(&stream, flags));
  // With a queue of its own, which the runtime makes for the first work.
  slow<<<1, 1, 0, stream>>>(words, 1);
  CHECK(hipStreamSynchronize(stream));
  return stream;
}

// Calls that wait for all work in the stream.
static void waits(const char* what, hipStream_t stream, const std::function<void()>& call) {
  slow<<<1, 1, 0, stream>>>(words, 150000);
  hipEvent_t end;
  CHECK(hipEventCreateWithFlags(&end, hipEventDisableTiming));
  CHECK(hipEventRecord(end, stream));
  call();
  expect(hipEventQuery(end) == hipSuccess, what);
  CHECK(hipEventDestroy(end));
}

// Calls that do not.
static void returns(const char* what, hipStream_t stream, const std::function<void()>& call) {
  *flag = 0;
  held<<<1, 1, 0, stream>>>(flag, words);
  call();
  expect(hipStreamQuery(stream) == hipErrorNotReady, what);
  *flag = 1;
  CHECK(hipStreamSynchronize(stream));
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "waits";
  int version = 0;
  CHECK(hipRuntimeGetVersion(&version));
  const bool copies_wait = version < 50700000;  // kDeviceCopyReturnsAtOnce
  const bool staged = version >= 60000000;      // kPlainSourceIsStaged
  CHECK(hipMalloc(&words, 4096));
  CHECK(hipMemset(words, 0, 4096));
  CHECK(hipHostMalloc(&flag, sizeof(int), hipHostMallocDefault));
  other = new_stream(hipStreamNonBlocking);
  blocking = new_stream(hipStreamDefault);
  static char pageable[64];
  alignas(4096) static char registered[4096];
  void* memory = nullptr;
  const auto unregister = [&] { CHECK(hipHostUnregister(registered)); };
  const auto set = [&] { CHECK(hipMemset(words + 64, 0, 64)); };
  const auto copy = [&] { CHECK(hipMemcpy(words + 64, words + 128, 64, hipMemcpyDeviceToDevice)); };
  const auto from_host = [&] { CHECK(hipMemcpy(words + 64, pageable, 64, hipMemcpyHostToDevice)); };
  if (mode == "waits") {
    for (hipStream_t stream : {hipStream_t{nullptr}, blocking, other}) {
      CHECK(hipMalloc(&memory, 4096));
      waits("hipFree", stream, [&] { CHECK(hipFree(memory)); });
      CHECK(hipHostMalloc(&memory, 4096, 0));
      waits("hipHostFree", stream, [&] { CHECK(hipHostFree(memory)); });
      if (!staged) {
        waits("hipMemcpyAsync from pageable memory", stream, [&] {
          CHECK(hipMemcpyAsync(words + 64, pageable, 64, hipMemcpyHostToDevice, stream));
        });
      }
      if (stream == other) continue;
      waits("hipMemcpy from pageable memory", stream, from_host);
      CHECK(hipHostRegister(registered, sizeof(registered), 0));
      waits("hipHostUnregister", stream, unregister);
      waits("hipMemset", stream, set);
      if (copies_wait) waits("hipMemcpy", stream, copy);
    }
    for (const unsigned flags : {hipStreamDefault, hipStreamNonBlocking}) {
      const hipStream_t own = new_stream(flags);
      waits("hipStreamDestroy", own, [&] { CHECK(hipStreamDestroy(own)); });
    }
  } else {
    for (hipStream_t stream : {hipStream_t{nullptr}, blocking, other}) {
      const hipStream_t idle = new_stream(hipStreamNonBlocking);
      returns("hipStreamDestroy", stream, [&] { CHECK(hipStreamDestroy(idle)); });
      if (stream == other || !copies_wait) returns("hipMemcpy", stream, copy);
      if (stream != other) continue;
      returns("hipMemset", stream, set);
      returns("hipMemcpy from pageable memory", stream, from_host);
    }
  }
  CHECK(hipDeviceSynchronize());
  std::printf("ok\n");
}

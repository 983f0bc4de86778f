// Values that streams write into memory and wait for, each with an answer computed on the host:
// program_values MODE; prints "ok". Streams are non-blocking: only what is tested orders the work.
#include <string>
#include <thread>

#include "program.h"

using Word = unsigned long long;
constexpr int kRounds = 150000;

__global__ void slow(Word* word, int rounds) {
  Word value = *word;
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  *word = value;
}
__global__ void follow(const Word* word, Word* result) { *result = *word + 1; }
__global__ void store_through(Word* const* pointer) { **pointer += 5; }

static Word slow_answer() {
  Word value = 0;
  for (int i = 0; i < kRounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  return value;
}

static hipStream_t first, second;

template <typename T>
static T* device(size_t count) {
  T* memory = nullptr;
  CHECK(hipMalloc(&memory, count * sizeof(T)));
  CHECK(hipMemset(memory, 0, count * sizeof(T)));
  CHECK(hipDeviceSynchronize());
  return memory;
}

static Word word_at(const Word* device) {
  Word word = 0;
  CHECK(hipMemcpy(&word, device, sizeof(word), hipMemcpyDeviceToHost));
  return word;
}

// Into memory of all kinds: between other work of the stream, beside other bytes, at odd addresses.
static void writes() {
  auto* bytes = device<unsigned char>(64);
  CHECK(hipMemsetAsync(bytes, 0x11, 64, first));
  CHECK(hipStreamWriteValue32(first, bytes + 4, 0xa1b2c3d4u, 0));
  CHECK(hipStreamWriteValue64(first, bytes + 16, 0x1122334455667788ull, 0));
  CHECK(hipStreamWriteValue32(first, bytes + 33, 0xa1b2c3d4u, 0));
  CHECK(hipStreamWriteValue64(first, bytes + 42, 0x1122334455667788ull, 0));
  CHECK(hipStreamWriteValue32(first, bytes + 20, 7, 0));
  unsigned char seen[64];
  CHECK(hipMemcpyAsync(seen, bytes, sizeof(seen), hipMemcpyDeviceToHost, first));
  CHECK(hipStreamSynchronize(first));
  expect(seen[3] == 0x11 && seen[4] == 0xd4 && seen[7] == 0xa1 && seen[8] == 0x11, "32 bits");
  expect(seen[16] == 0x88 && seen[19] == 0x55 && seen[20] == 7 && seen[23] == 0, "64 bits");
  expect(seen[32] == 0x11 && seen[33] == 0xd4 && seen[36] == 0xa1 && seen[37] == 0x11, "odd 32");
  expect(seen[41] == 0x11 && seen[42] == 0x88 && seen[49] == 0x11 && seen[50] == 0x11, "odd 64");

  // The runtime executes them at once in a stream that is being captured.
  hipGraph_t graph;
  CHECK(hipStreamBeginCapture(first, hipStreamCaptureModeGlobal));
  CHECK(hipStreamWriteValue32(first, bytes + 56, 0x01020304u, 0));
  CHECK(hipStreamEndCapture(first, &graph));
  CHECK(hipGraphDestroy(graph));
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(seen, bytes, sizeof(seen), hipMemcpyDeviceToHost));
  expect(seen[56] == 4 && seen[59] == 1, "in a capture");

  Word* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, 4 * sizeof(Word), hipHostMallocDefault));
  for (int i = 0; i < 4; ++i) pinned[i] = 0;
  CHECK(hipStreamWriteValue32(first, pinned, 0x55667788u, 0));
  CHECK(hipStreamWriteValue64(first, pinned + 1, 0x1122334455667788ull, 0));
  CHECK(hipStreamSynchronize(first));
  expect(pinned[0] == 0x55667788u && pinned[1] == 0x1122334455667788ull && pinned[2] == 0, "pinned");

  expect(hipStreamWriteValue32(first, nullptr, 1, 0) != hipSuccess, "a write to nothing");
  CHECK(hipStreamWriteValue32(nullptr, bytes, 9, 0));
  CHECK(hipDeviceSynchronize());
}

// An address that a stream writes leads to the same buffer in a replay.
static void pointers() {
  Word** table = device<Word*>(2);
  Word* target = device<Word>(8);
  CHECK(hipStreamWriteValue64(first, table, reinterpret_cast<Word>(target + 3), 0));
  store_through<<<1, 1, 0, first>>>(table);
  CHECK(hipStreamSynchronize(first));
  expect(word_at(target + 3) == 5, "an address");
}

// The host polls for the value, and issues what reads the work before it in another stream.
static void polled() {
  for (const bool wide : {false, true}) {
    Word* seen = nullptr;
    CHECK(hipHostMalloc(&seen, sizeof(Word), hipHostMallocDefault));
    *seen = 0;
    Word* words = device<Word>(2);
    slow<<<1, 1, 0, first>>>(words, kRounds);
    if (wide) {
      CHECK(hipStreamWriteValue64(first, seen, Word{1} << 40, 0));
    } else {
      CHECK(hipStreamWriteValue32(first, seen, 1, 0));
    }
    while (*const_cast<volatile Word*>(seen) == 0) std::this_thread::yield();
    follow<<<1, 1, 0, second>>>(words, words + 1);
    CHECK(hipDeviceSynchronize());
    expect(word_at(words + 1) == slow_answer() + 1, "a polled value");
  }
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  CHECK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  if (mode == "writes") {
    writes();
  } else if (mode == "pointers") {
    pointers();
  } else if (mode == "polled") {
    polled();
  } else {
    return 2;
  }
  std::printf("ok\n");
}

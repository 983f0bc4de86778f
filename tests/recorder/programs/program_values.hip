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

// A kernel behind a wait in the second stream, which nothing else orders behind slow in the first.
template <typename Wait>
static void waited(const char* what, Word* value, bool wide, Word written, Wait&& wait) {
  Word* words = device<Word>(2);
  slow<<<1, 1, 0, first>>>(words, kRounds);
  if (wide) {
    CHECK(hipStreamWriteValue64(first, value, written, 0));
  } else {
    CHECK(hipStreamWriteValue32(first, value, static_cast<unsigned>(written), 0));
  }
  wait();
  follow<<<1, 1, 0, second>>>(words, words + 1);
  CHECK(hipDeviceSynchronize());
  expect(word_at(words + 1) == slow_answer() + 1, what);
}

static Word* signal_memory() {
  Word* memory = nullptr;
  CHECK(hipExtMallocWithFlags(reinterpret_cast<void**>(&memory), sizeof(Word), hipMallocSignalMemory));
  *memory = 0;
  return memory;
}

// Of device, pinned and signal memory; with each condition.
static void waits() {
  Word* pinned = nullptr;
  CHECK(hipHostMalloc(&pinned, 2 * sizeof(Word), hipHostMallocDefault));
  pinned[0] = pinned[1] = 0;
  Word* const all[] = {device<Word>(2), pinned, signal_memory()};
  for (Word* value : all) {
    waited("at least, 32 bits", value, false, 5, [&] {
      CHECK(hipStreamWaitValue32(second, value, 4, hipStreamWaitValueGte, 0xffffffffu));
    });
    waited("equal, 32 bits of a mask", value, false, 0x1234, [&] {
      CHECK(hipStreamWaitValue32(second, value, 0x34, hipStreamWaitValueEq, 0xffu));
    });
    waited("and, 64 bits", value, true, Word{6} << 40, [&] {
      CHECK(hipStreamWaitValue64(second, value, Word{4} << 40, hipStreamWaitValueAnd, ~Word{0}));
    });
    waited("equal, 64 bits", value, true, ~Word{0}, [&] {
      CHECK(hipStreamWaitValue64(second, value, ~Word{0}, hipStreamWaitValueEq, ~Word{0}));
    });
  }
  // What the host has written before ends a wait, too.
  pinned[1] = 9;
  CHECK(hipStreamWaitValue64(second, pinned + 1, 9, hipStreamWaitValueEq, ~Word{0}));
  CHECK(hipStreamSynchronize(second));
  CHECK(hipFree(all[0]));
  CHECK(hipFree(all[2]));
}

// Waits that what is issued later ends, or the host, or a kernel: each is named.
static void unknown_waits() {
  Word* memory = device<Word>(1);
  CHECK(hipStreamWaitValue32(second, memory, 1, hipStreamWaitValueGte, 0xffffffffu));
  CHECK(hipStreamWriteValue32(first, memory, 1, 0));
  CHECK(hipDeviceSynchronize());
  Word* host = signal_memory();
  CHECK(hipStreamWaitValue64(second, host, 3, hipStreamWaitValueEq, ~Word{0}));
  *const_cast<volatile Word*>(host) = 3;
  CHECK(hipDeviceSynchronize());
  Word* words = device<Word>(2);
  CHECK(hipStreamWriteValue64(first, words + 1, 0, 0));
  CHECK(hipStreamSynchronize(first));
  follow<<<1, 1, 0, first>>>(words, words + 1);
  CHECK(hipStreamWaitValue64(second, words + 1, 1, hipStreamWaitValueGte, ~Word{0}));
  CHECK(hipDeviceSynchronize());
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
  } else if (mode == "waits") {
    waits();
  } else if (mode == "unknown_waits") {
    unknown_waits();
  } else {
    return 2;
  }
  std::printf("ok\n");
}

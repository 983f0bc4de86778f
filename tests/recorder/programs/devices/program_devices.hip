// Programs that use two devices, each with an answer computed on the host: program_devices MODE;
// prints "ok". Asks the software agent for the devices, unless the environment already does.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../program.h"

using Word = unsigned long long;
constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(Word);
constexpr int kRounds = 50000;

__device__ Word variable = 7;
__device__ Word* kept = nullptr;

__global__ void slow(Word* word, int rounds) {
  Word value = *word;
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  *word = value;
}
__global__ void fill(Word* data, Word value) { data[threadIdx.x] = value + threadIdx.x; }
__global__ void add(Word* to, const Word* from) { to[threadIdx.x] += from[threadIdx.x]; }
__global__ void add_variable(Word value) { variable += value; }
__global__ void get_variable(Word* to) { to[threadIdx.x] = variable * threadIdx.x; }
__global__ void add_kept() { kept[threadIdx.x] += variable; }

static Word slow_answer(Word value) {
  for (int i = 0; i < kRounds; ++i) value = value * 6364136223846793005ull + 1442695040888963407ull;
  return value;
}

static void on(int device) { CHECK(hipSetDevice(device)); }

static Word* words_on(int device) {
  on(device);
  Word* words = nullptr;
  CHECK(hipMalloc(&words, kBytes));
  return words;
}

static hipStream_t stream_on(int device, unsigned flags) {
  on(device);
  hipStream_t stream = nullptr;
  CHECK(hipStreamCreateWithFlags(&stream, flags));
  return stream;
}

// data[i] == factor * i + base, as the current device reads it.
static void expect_line(const Word* data, Word factor, Word base, const char* what) {
  Word values[kCount];
  CHECK(hipMemcpy(values, data, kBytes, hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) expect(values[i] == factor * i + base, what);
}

// A variable of the program exists once per device: written by a copy, by kernels, and read by both.
static void variables() {
  Word* data[2] = {words_on(0), words_on(1)};
  for (int device = 0; device < 2; ++device) {
    on(device);
    const Word value = 100 + device;
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(variable), &value, sizeof(value)));
    // A word in the variable of a device points to memory of the other one.
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(kept), &data[1 - device], sizeof(data[0])));
  }
  for (int device = 0; device < 2; ++device) {
    on(device);
    add_variable<<<1, 1>>>(10 * device);
    fill<<<1, kCount>>>(data[device], 1);
  }
  for (int device = 0; device < 2; ++device) {
    on(device);
    CHECK(hipDeviceSynchronize());
  }
  for (int device = 0; device < 2; ++device) {
    on(device);
    add_kept<<<1, kCount>>>();
    CHECK(hipDeviceSynchronize());
    expect_line(data[1 - device], 1, 1 + 100 + 11 * device, "memory that a variable points to");
    get_variable<<<1, kCount>>>(data[1 - device]);
    expect_line(data[1 - device], 100 + 11 * device, 0, "a variable read by a kernel");
    Word value = 0;
    CHECK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(variable), sizeof(value)));
    expect(value == Word(100 + 11 * device), "a variable read by a copy");
  }
  for (int device = 0; device < 2; ++device) {
    on(device);
    CHECK(hipFree(data[device]));
  }
}

// Kernels that read the other device's memory, and copies both ways, behind events.
static void peers() {
  for (int device = 0; device < 2; ++device) {
    on(device);
    CHECK(hipDeviceEnablePeerAccess(1 - device, 0));
  }
  Word* data[2] = {words_on(0), words_on(1)};
  Word* other[2] = {words_on(0), words_on(1)};
  hipStream_t streams[2] = {stream_on(0, hipStreamNonBlocking), stream_on(1, hipStreamNonBlocking)};
  hipEvent_t filled[2];
  for (int device = 0; device < 2; ++device) {
    on(device);
    CHECK(hipEventCreate(&filled[device]));
    fill<<<1, kCount, 0, streams[device]>>>(data[device], 1000 * device);
    slow<<<1, 1, 0, streams[device]>>>(data[device], kRounds);
    CHECK(hipEventRecord(filled[device], streams[device]));
  }
  for (int device = 0; device < 2; ++device) {
    on(device);
    CHECK(hipStreamWaitEvent(streams[device], filled[1 - device], 0));
    CHECK(hipMemcpyPeerAsync(other[device], device, data[1 - device], 1 - device, kBytes,
                             streams[device]));
    add<<<1, kCount, 0, streams[device]>>>(other[device], data[device]);
    add<<<1, kCount, 0, streams[device]>>>(other[device], data[1 - device]);
  }
  for (int device = 0; device < 2; ++device) {
    on(device);
    CHECK(hipStreamSynchronize(streams[device]));
    Word values[kCount];
    CHECK(hipMemcpy(values, other[device], kBytes, hipMemcpyDeviceToHost));
    expect(values[0] == slow_answer(0) + slow_answer(1000) + slow_answer(device == 0 ? 1000 : 0),
           "the sum of what two devices computed");
    for (int i = 1; i < kCount; ++i)
      expect(values[i] == Word(3 * i + 1000 + (device == 0 ? 1000 : 0)), "the sum of both");
  }
  // There and back again, by calls that wait.
  CHECK(hipMemcpyPeer(data[0], 0, other[1], 1, kBytes));
  CHECK(hipMemcpyPeer(data[1], 1, data[0], 0, kBytes));
  Word values[2][kCount];
  CHECK(hipMemcpy(values[0], data[0], kBytes, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(values[1], data[1], kBytes, hipMemcpyDeviceToHost));
  expect(std::memcmp(values[0], values[1], kBytes) == 0, "copied there and back");
  for (int device = 0; device < 2; ++device) {
    on(device);
    CHECK(hipEventDestroy(filled[device]));
    CHECK(hipStreamDestroy(streams[device]));
    CHECK(hipFree(data[device]));
    CHECK(hipFree(other[device]));
  }
}

// Each device has a null stream, which orders blocking streams of this device alone.
static void null_streams() {
  Word* data[2] = {words_on(0), words_on(1)};
  hipStream_t blocking[2] = {stream_on(0, hipStreamDefault), stream_on(1, hipStreamDefault)};
  for (int device = 0; device < 2; ++device) {
    on(device);
    fill<<<1, kCount>>>(data[device], device);                         // the null stream,
    slow<<<1, 1, 0, blocking[device]>>>(data[device], kRounds);        // behind it,
    add<<<1, kCount>>>(data[device], data[device]);                    // and behind that
    CHECK(hipMemsetAsync(data[device] + 1, 0, sizeof(Word), blocking[device]));
  }
  for (int device = 1; device >= 0; --device) {
    on(device);
    CHECK(hipDeviceSynchronize());  // of this device alone
    Word values[kCount];
    CHECK(hipMemcpyAsync(values, data[device], kBytes, hipMemcpyDeviceToHost, nullptr));
    CHECK(hipStreamSynchronize(nullptr));
    expect(values[0] == 2 * slow_answer(device), "work of the null stream between other work");
    expect(values[1] == 0, "work behind the null stream's");
    expect(values[5] == Word(2 * (5 + device)), "work of the null stream");
  }
  // Streams of a device that is not current.
  on(0);
  CHECK(hipMemsetAsync(data[1], 0, kBytes, blocking[1]));
  CHECK(hipStreamSynchronize(blocking[1]));
  fill<<<1, kCount>>>(data[0], 5);
  CHECK(hipMemcpyAsync(data[1], data[0], kBytes, hipMemcpyDeviceToDevice, nullptr));
  CHECK(hipStreamSynchronize(nullptr));
  on(1);
  CHECK(hipDeviceSynchronize());
  expect_line(data[1], 1, 5, "a copy by the other device's null stream");
  for (int device = 0; device < 2; ++device) {
    on(device);
    CHECK(hipStreamDestroy(blocking[device]));
    CHECK(hipFree(data[device]));
  }
}

// hipFree of one device's memory, pinned and stream-ordered memory, one thread for each device.
static void threads() {
  Word* pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), 2 * kBytes, hipHostMallocPortable));
  std::vector<std::thread> workers;
  for (int device = 0; device < 2; ++device) {
    workers.emplace_back([device, pinned] {
      on(device);
      Word* const mine = pinned + device * kCount;
      Word* data = words_on(device);
      Word* scratch = words_on(device);
      hipStream_t stream = stream_on(device, hipStreamNonBlocking);
      for (int i = 0; i < kCount; ++i) mine[i] = i;
      CHECK(hipMemcpyAsync(data, mine, kBytes, hipMemcpyHostToDevice, stream));
      for (int turn = 0; turn < 5; ++turn) {
        add<<<1, kCount, 0, stream>>>(data, data);
        fill<<<1, kCount, 0, stream>>>(scratch, device);
        add<<<1, kCount, 0, stream>>>(data, scratch);
      }
      CHECK(hipMemcpyAsync(mine, data, kBytes, hipMemcpyDeviceToHost, stream));
      CHECK(hipStreamSynchronize(stream));
      for (int i = 0; i < kCount; ++i)
        expect(mine[i] == Word(63 * i + 31 * device), "what a thread computed on its device");
      CHECK(hipFree(scratch));
      CHECK(hipFree(data));
      CHECK(hipStreamDestroy(stream));
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(hipHostFree(pinned));
}

// One device alone, which is not the first one.
static void second_only() {
  Word* data = words_on(1);
  fill<<<1, kCount>>>(data, 3);
  add_variable<<<1, 1>>>(5);
  get_variable<<<1, kCount>>>(data);
  expect_line(data, 12, 0, "a variable of the second device");
  CHECK(hipFree(data));
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  setenv("GFXGRAPH_DEVICES", "2", 0);  // before HIP's first call
  int count = 0;
  CHECK(hipGetDeviceCount(&count));
  expect(count >= 2, "two devices");
  if (mode == "variables") {
    variables();
  } else if (mode == "peers") {
    peers();
  } else if (mode == "null_streams") {
    null_streams();
  } else if (mode == "threads") {
    threads();
  } else if (mode == "second_only") {
    second_only();
  } else {
    return 2;
  }
  std::puts("ok");
  return 0;
}

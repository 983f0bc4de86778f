// Programs whose work is not the same each time, or no launch: arguments that change, copies, fills
// and memory that is freed, compared with what the host computes: accelerate_work MODE
#include <memory>
#include <vector>

#include "accelerate_program.h"

#ifndef CODE_OBJECT

// The sum of as many numbers in LDS as there are now.
__global__ void sum_lds(uint32_t* to, uint32_t count) {
  extern __shared__ uint32_t part[];
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) part[i] = to[i % 64] + i;
  __syncthreads();
  if (threadIdx.x != 0) return;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum = sum * 31 + part[i];
  to[0] += sum;
}
static void run_sum(Values& values, uint32_t count, hipStream_t stream) {
  sum_lds<<<1, 32, count * sizeof(uint32_t), stream>>>(values.device, count);
  CHECK(hipGetLastError());
  uint32_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum = sum * 31 + values.host[i % 64] + i;
  values.host[0] += sum;
}

// A counter among the arguments: nothing repeats but the parts around it.
static void counters() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 2 * kRepeats; ++r) {
    steps(values, 0, 12, stream);
    values.run({static_cast<uint32_t>(r), 1}, 4, stream);
    steps(values, 12, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(values, stream);
}

// Arguments are taken when the call is made.
static void overwritten_arguments() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    for (int i = 0; i < kSteps; ++i) {
      uint32_t* to = values.device;
      Pair pair = pair_of(i);
      uint8_t shift = 5;
      int n = kCount;
      void* arguments[] = {&to, &pair, &shift, &n};
      CHECK(hipLaunchKernel(reinterpret_cast<const void*>(step), dim3(2), dim3(64), arguments, 0, stream));
      to = nullptr;
      pair = {0, 0};
      shift = 31;
      n = 0;
      arguments[0] = nullptr;
      values.expect_step(pair_of(i), 5);
    }
    CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(values, stream);
}

static void freed_memory() {
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 2 * kRepeats; ++r) {
    Values values(static_cast<uint32_t>(r));
    Values other(5);
    steps(values, 0, kSteps, stream);
    values.add(other, stream);
    COMPARE(values, stream);
  }
}

static void freed_stream() {
  Values values;
  for (int r = 0; r < 2 * kRepeats; ++r) {
    const hipStream_t stream = new_stream();
    for (int k = 0; k < 3; ++k) {
      steps(values, 0, kSteps, stream);
      if (r % 2 == 0) CHECK(hipStreamSynchronize(stream));
    }
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipStreamDestroy(stream));
  }
  COMPARE(values);
}

// Work in memory of other kinds, a copy and a fill beside it.
static void copies() {
  Values a(1), b(2);
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(a, 0, 10, stream);
    CHECK(hipMemcpyAsync(b.device, a.device, sizeof(a.host), hipMemcpyDeviceToDevice, stream));
    std::memcpy(b.host, a.host, sizeof(a.host));
    steps(b, 10, 20, stream);
    CHECK(hipMemsetAsync(a.device, r, 64, stream));
    std::memset(a.host, r, 64);
    steps(a, 0, 10, stream);
    if (r % 3 == 0) CHECK(hipDeviceSynchronize());
  }
  COMPARE(a, stream);
  COMPARE(b, stream);
}

// A position that grows among the arguments, and LDS that grows with it, as a decoder has them.
static void growing() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 2 * kRepeats; ++r) {
    steps(values, 0, 12, stream);
    values.run({static_cast<uint32_t>(r) | 1, 1}, static_cast<uint8_t>(r % 30 + 1), stream);
    run_sum(values, static_cast<uint32_t>(r % 50 + 1), stream);
    steps(values, 12, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
    if (r % 10 == 9) COMPARE(values, stream);
  }
  COMPARE(values, stream);
}

// Nobody waits: graphs of earlier steps still run when arguments change.
static void growing_without_waits() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 8 * kRepeats; ++r) {
    steps(values, 0, 12, stream);
    values.run({static_cast<uint32_t>(r) | 1, 1}, static_cast<uint8_t>(r % 30 + 1), stream);
    steps(values, 12, kSteps, stream);
    if (r % 40 == 39) CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(values, stream);
}

// Pointers that change: each step reads and writes another place of a ring.
static void ring() {
  constexpr int kRing = 5;
  Values values;
  std::vector<std::unique_ptr<Values>> places;
  for (uint32_t i = 0; i < kRing; ++i) places.push_back(std::make_unique<Values>(i + 10));
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 3 * kRepeats; ++r) {
    steps(values, 0, 10, stream);
    places[r % kRing]->add(values, stream);
    values.add(*places[(r + 3) % kRing], stream);
    steps(values, 10, 20, stream);
    if (r % 4 != 3) CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(values, stream);
  for (const auto& place : places) COMPARE(*place, stream);
}

// A graph whose values change, whose sequence ends early at each place, and goes on.
static void growing_ends_early() {
  Values values;
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 4 * kRepeats; ++r) {
    const int end = r < kRepeats || r % 3 != 0 ? kSteps : r % kSteps;
    for (int i = 0; i < end; ++i) {
      if (i % 6 == 2) values.run({static_cast<uint32_t>(r) | 1, 9}, 4, stream);
      steps(values, i, i + 1, stream);
    }
    if (r % 5 == 0) {
      COMPARE(values, stream);
    } else {
      CHECK(hipStreamSynchronize(stream));
    }
  }
  COMPARE(values, stream);
}

// Each function that copies or fills, in the middle of launches; and such as end anywhere.
static void fills() {
  Values a(1), b(2);
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(a, 0, 8, stream);
    CHECK(hipMemcpyDtoDAsync(b.device + 2, a.device + 4, 40, stream));
    std::memcpy(b.host + 2, a.host + 4, 40);
    CHECK(hipMemsetD8Async(a.device, 0x5a, 64, stream));
    std::memset(a.host, 0x5a, 64);
    CHECK(hipMemsetD16Async(a.device + 16, 0x1234, 32, stream));
    for (int i = 16; i < 32; ++i) a.host[i] = 0x12341234;
    CHECK(hipMemsetD32Async(a.device + 32, 0x01020304, 16, stream));
    for (int i = 32; i < 48; ++i) a.host[i] = 0x01020304;
    steps(b, 8, 16, stream);
    CHECK(hipMemsetAsync(b.device + 8, 3, 32, stream));
    std::memset(b.host + 8, 3, 32);
    steps(a, 16, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(a, stream);
  COMPARE(b, stream);
}
static void small_fills() {
  Values a(1);
  const hipStream_t stream = new_stream();
  for (int r = 0; r < kRepeats; ++r) {
    steps(a, 0, 8, stream);
    CHECK(hipMemsetAsync(a.device + 1, 7, 24, stream));
    std::memset(a.host + 1, 7, 24);
    steps(a, 8, kSteps, stream);
    CHECK(hipStreamSynchronize(stream));
  }
  COMPARE(a, stream);
}

// Copies that the host sees are not held: they and what is before them are done when they say so.
static void host_copies() {
  Values a(1);
  const hipStream_t stream = new_stream();
  uint32_t* pinned = nullptr;
  CHECK(hipHostMalloc(reinterpret_cast<void**>(&pinned), sizeof(a.host), 0));
  for (int r = 0; r < kRepeats; ++r) {
    steps(a, 0, 12, stream);
    CHECK(hipMemcpyAsync(pinned, a.device, sizeof(a.host), hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    REQUIRE(std::memcmp(pinned, a.host, sizeof(a.host)) == 0);
    pinned[3] = static_cast<uint32_t>(r);
    a.host[3] = static_cast<uint32_t>(r);
    CHECK(hipMemcpyAsync(a.device, pinned, sizeof(a.host), hipMemcpyHostToDevice, stream));
    steps(a, 12, kSteps, stream);
    CHECK(hipMemcpyAsync(pinned, a.device, sizeof(a.host), hipMemcpyDefault, stream));
    CHECK(hipStreamSynchronize(stream));
    REQUIRE(std::memcmp(pinned, a.host, sizeof(a.host)) == 0);
  }
  COMPARE(a, stream);
  CHECK(hipHostFree(pinned));
}

// More graphs in one process than there are at one time.
static void many_graphs() {
  const hipStream_t stream = new_stream();
  for (int r = 0; r < 160; ++r) {
    Values values(static_cast<uint32_t>(r));
    for (int k = 0; k < 4; ++k) {
      steps(values, 0, 10, stream);
      if (k % 2 == 1) values.run({static_cast<uint32_t>(r), 1}, 4, stream);
      if (r % 2 == 0) CHECK(hipStreamSynchronize(stream));
    }
    COMPARE(values, stream);
  }
}

constexpr Mode kModes[] = {
    {"counters", counters},
    {"overwritten_arguments", overwritten_arguments},
    {"freed_memory", freed_memory},
    {"freed_stream", freed_stream},
    {"copies", copies},
    {"growing", growing},
    {"growing_without_waits", growing_without_waits},
    {"ring", ring},
    {"growing_ends_early", growing_ends_early},
    {"fills", fills},
    {"small_fills", small_fills},
    {"host_copies", host_copies},
    {"many_graphs", many_graphs},
};

int main(int argc, char** argv) { return run_mode(kModes, argc, argv); }

#endif

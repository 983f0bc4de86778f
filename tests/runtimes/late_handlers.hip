// Leaves many functions of the runtime that wait for a signal when it ends: each kernel follows one of
// another stream. With slow_handlers.cpp they are still due when HIP frees what they use.
#include "../recorder/programs/program.h"

__global__ void add(int* data, int by) { data[threadIdx.x] += by; }

int main() {
  constexpr int kTurns = 400;
  constexpr int kStreams = 4;
  constexpr int kCount = 64;
  int* data = nullptr;
  CHECK(hipMalloc(&data, kCount * sizeof(int)));
  CHECK(hipMemset(data, 0, kCount * sizeof(int)));
  CHECK(hipDeviceSynchronize());
  hipStream_t streams[kStreams];
  hipEvent_t events[kStreams];
  for (hipStream_t& stream : streams) CHECK(hipStreamCreate(&stream));
  for (hipEvent_t& event : events) CHECK(hipEventCreate(&event));
  for (int turn = 0; turn < kTurns; ++turn) {
    const int here = turn % kStreams;
    add<<<1, kCount, 0, streams[here]>>>(data, turn);
    CHECK(hipEventRecord(events[here], streams[here]));
    CHECK(hipStreamWaitEvent(streams[(here + 1) % kStreams], events[here], 0));
  }
  CHECK(hipStreamSynchronize(streams[(kTurns - 1) % kStreams]));
  int values[kCount];
  CHECK(hipMemcpy(values, data, sizeof(values), hipMemcpyDeviceToHost));
  for (const int value : values) expect(value == kTurns * (kTurns - 1) / 2, "a sum of all turns");
  std::printf("ok\n");
}

// A program that is random by its seed and repeats itself in parts: accelerate_random SEED. Prints
// digests of what its kernels left; a bare run is the reference.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void mix_values(uint32_t* values, uint32_t multiply, uint16_t add, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) values[i] = (values[i] ^ add) * multiply + static_cast<uint32_t>(i);
}
__global__ void add_values(uint32_t* to, const uint32_t* from, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = to[i] * 5 + from[(i * 7 + 3) % n];
}
__global__ void sum_values(uint32_t* values, int n) {
  extern __shared__ uint32_t part[];
  const unsigned i = threadIdx.x;
  part[i] = i < static_cast<unsigned>(n) ? values[i] : 0;
  __syncthreads();
  if (i == 0) {
    uint32_t sum = 0;
    for (unsigned k = 0; k < blockDim.x; ++k) sum = sum * 31 + part[k];
    values[0] += sum;
  }
}

static uint64_t state;
static uint32_t next_random() {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return static_cast<uint32_t>((z ^ z >> 31) >> 16);
}
static uint32_t below(uint32_t most) { return next_random() % most; }
static bool chance(uint32_t percent) { return below(100) < percent; }

static void check(hipError_t result) {
  if (result == hipSuccess) return;
  std::printf("error %d\n", static_cast<int>(result));
  std::exit(1);
}

constexpr int kStreams = 3;  // the first is the null stream
constexpr int kBuffers = 3;  // of each stream
constexpr int kCount = 80;
static hipStream_t streams[kStreams];
static uint32_t* buffers[kStreams][kBuffers];
static hipEvent_t event;

struct Action {
  int kind, buffer, other;
  uint32_t multiply;
  uint16_t add;
  unsigned block;
};
static Action random_action() {
  const uint32_t k = below(100);
  return {k < 35 ? 0 : k < 45 ? 5 : k < 80 ? 1 : k < 92 ? 2 : k < 96 ? 3 : 4,
          static_cast<int>(below(kBuffers)),
          static_cast<int>(below(kBuffers)),
          below(1000) * 2 + 1,
          static_cast<uint16_t>(below(65536)),
          32u << below(3)};
}

// A value that is another one each time.
static uint32_t counter = 0;

static void run(const Action& a, int s) {
  uint32_t* const to = buffers[s][a.buffer];
  const unsigned grid = (kCount + a.block - 1) / a.block;
  const hipStream_t stream = streams[s];
  switch (a.kind) {
    case 0: mix_values<<<grid, a.block, 0, stream>>>(to, a.multiply, a.add, kCount); break;
    case 1: add_values<<<grid, a.block, 0, stream>>>(to, buffers[s][a.other == a.buffer ? (a.other + 1) % kBuffers : a.other], kCount); break;
    case 2: sum_values<<<1, a.block, a.block * sizeof(uint32_t), stream>>>(to, kCount); break;
    case 5: mix_values<<<grid, a.block, 0, stream>>>(to, ++counter * 2 + 1, a.add, kCount); break;
    case 3: check(hipMemsetAsync(to, a.add & 255, 64, stream)); break;
    default:
      if (a.other != a.buffer)
        check(hipMemcpyAsync(to, buffers[s][a.other], 128, hipMemcpyDeviceToDevice, stream));
  }
  if (a.kind < 3 || a.kind == 5) check(hipGetLastError());
}

// Both streams wait for each other, so that the result does not depend on time.
static void meet(int s, int other) {
  if (s == other) return;
  check(hipEventRecord(event, streams[other]));
  check(hipStreamWaitEvent(streams[s], event, 0));
  add_values<<<2, 64, 0, streams[s]>>>(buffers[s][0], buffers[other][0], kCount);
  check(hipEventRecord(event, streams[s]));
  check(hipStreamWaitEvent(streams[other], event, 0));
}

static void print_digest() {
  uint64_t digest = 0xcbf29ce484222325;
  check(hipDeviceSynchronize());
  for (auto& of_stream : buffers) {
    for (uint32_t* const buffer : of_stream) {
      uint32_t now[kCount];
      check(hipMemcpy(now, buffer, sizeof(now), hipMemcpyDeviceToHost));
      for (const uint32_t v : now) digest = (digest ^ v) * 0x100000001b3;
    }
  }
  std::printf("%016llx\n", static_cast<unsigned long long>(digest));
}

static void wait(int s) {
  switch (below(6)) {
    case 0: check(hipDeviceSynchronize()); break;
    case 1:
    case 2: check(hipStreamSynchronize(streams[s])); break;
    case 3:
      while (hipStreamQuery(streams[s]) == hipErrorNotReady) {
      }
      break;
    case 4:
      check(hipEventRecord(event, streams[s]));
      check(hipEventSynchronize(event));
      break;
    default: break;  // none
  }
}

int main(int argc, char** argv) {
  state = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  for (int s = 0; s < kStreams; ++s) {
    if (s != 0) check(hipStreamCreateWithFlags(&streams[s], s == 1 ? hipStreamDefault : hipStreamNonBlocking));
    for (auto& buffer : buffers[s]) {
      check(hipMalloc(reinterpret_cast<void**>(&buffer), kCount * sizeof(uint32_t)));
      check(hipMemset(buffer, static_cast<int>(below(256)), kCount * sizeof(uint32_t)));
    }
  }
  check(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  check(hipDeviceSynchronize());

  std::vector<std::vector<Action>> patterns(2 + below(3));
  for (auto& pattern : patterns) {
    pattern.resize(4 + below(30));
    const bool kernels_only = chance(60);
    for (Action& action : pattern) {
      do action = random_action();
      while (kernels_only && (action.kind == 3 || action.kind == 4));
    }
  }
  // Patterns with a common beginning.
  if (chance(50) && patterns.size() > 1) {
    const size_t same = std::min(patterns[0].size(), patterns[1].size()) / 2;
    std::copy_n(patterns[0].begin(), same, patterns[1].begin());
  }
  const int stations = 3 + static_cast<int>(below(4));
  for (int station = 0; station < stations; ++station) {
    const int times = 4 + static_cast<int>(below(20));
    const size_t fixed = below(static_cast<uint32_t>(patterns.size()));
    const bool mixed = chance(40);
    const bool waits = chance(70);
    const int s = static_cast<int>(below(kStreams));
    for (int t = 0; t < times; ++t) {
      const auto& pattern = patterns[mixed ? below(static_cast<uint32_t>(patterns.size())) : fixed];
      const bool deviates = chance(20);
      const size_t where = below(static_cast<uint32_t>(pattern.size()));
      for (size_t i = 0; i < pattern.size(); ++i) {
        run(pattern[i], s);
        if (!deviates || i != where) continue;
        switch (below(6)) {
          case 0: run(random_action(), s); break;
          case 1: meet(s, static_cast<int>(below(kStreams))); break;
          case 2: wait(s); break;
          case 3: i = below(static_cast<uint32_t>(pattern.size())); break;  // goes on elsewhere
          case 4: run(random_action(), static_cast<int>(below(kStreams))); break;
          default: i = pattern.size();  // ends early
        }
        if (chance(50)) break;
      }
      if (waits) wait(s);
    }
    print_digest();
  }
  print_digest();
  return 0;
}

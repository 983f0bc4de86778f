// The least that packets can cost beside a packet processor that is a thread: it writes one word
// of each packet's cache line, to mark the slot as free, so the line moves to its core, and back
// for the next packet. The host writes 1,000 lines in several ways here; no agent is involved.
#include <benchmark/benchmark.h>
#include <emmintrin.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr size_t kLines = 1000;
struct alignas(64) Line {
  std::array<uint32_t, 16> words{};
};

std::atomic_ref<uint32_t> first_word(Line& line) { return std::atomic_ref(line.words[0]); }

// Reads each line and overwrites its first word, when told to.
class Consumer {
 public:
  explicit Consumer(std::vector<Line>& ring) : thread_([this, &ring] { run(ring); }) {}
  ~Consumer() {
    rounds_.store(-1, std::memory_order_release);
    thread_.join();
  }
  void consume() {
    rounds_.store(++round_, std::memory_order_release);
    while (done_.load(std::memory_order_acquire) != round_) _mm_pause();
  }

 private:
  void run(std::vector<Line>& ring) {
    for (int64_t last = 0;;) {
      const int64_t round = rounds_.load(std::memory_order_acquire);
      if (round < 0) return;
      if (round == last) {
        _mm_pause();
        continue;
      }
      last = round;
      for (Line& line : ring) {
        benchmark::DoNotOptimize(line.words[15]);
        first_word(line).store(1, std::memory_order_release);
      }
      done_.store(round, std::memory_order_release);
    }
  }

  alignas(64) std::atomic<int64_t> rounds_{0};
  alignas(64) std::atomic<int64_t> done_{0};
  int64_t round_ = 0;
  std::thread thread_;
};

void copy_all(std::vector<Line>& ring, const std::vector<Line>& from) {
  std::memcpy(ring.data(), from.data(), kLines * sizeof(Line));
}

void first_words(std::vector<Line>& ring, const std::vector<Line>&) {
  for (Line& line : ring) first_word(line).store(2, std::memory_order_relaxed);
}

[[gnu::target("prfchw")]] void prefetch_and_copy(std::vector<Line>& ring,
                                                 const std::vector<Line>& from) {
  constexpr size_t kAhead = 16;
  for (size_t i = 0; i < kLines; ++i) {
    if (i + kAhead < kLines) __builtin_prefetch(&ring[i + kAhead], 1);
    ring[i] = from[i];
  }
}

void stream(std::vector<Line>& ring, const std::vector<Line>& from) {
  auto* to = reinterpret_cast<__m128i*>(ring.data());
  const auto* source = reinterpret_cast<const __m128i*>(from.data());
  for (size_t i = 0; i < kLines * 4; ++i) _mm_stream_si128(to + i, _mm_load_si128(source + i));
  _mm_sfence();
}

template <void (*kWrite)(std::vector<Line>&, const std::vector<Line>&)>
void SharedLines(benchmark::State& state) {
  std::vector<Line> ring(kLines), from(kLines);
  for (Line& line : from) line.words.fill(7);
  Consumer consumer(ring);
  double seconds = 0;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    kWrite(ring, from);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(took.count());
    seconds += took.count();
    consumer.consume();
  }
  state.counters["ns_per_line"] =
      1e9 * seconds / static_cast<double>(state.iterations()) / static_cast<double>(kLines);
}
BENCHMARK(SharedLines<copy_all>)->UseManualTime();
BENCHMARK(SharedLines<first_words>)->UseManualTime();
BENCHMARK(SharedLines<prefetch_and_copy>)->UseManualTime();
BENCHMARK(SharedLines<stream>)->UseManualTime();

}  // namespace

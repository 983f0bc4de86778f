// Wave-instructions per second of the emulator on six hot paths, the cost of an empty dispatch, and
// each kernel's time against the same work in plain C++ on one core.
//   emulator_bench [--json] [--threads N] [--repeat N] [--kernel NAME] [--cpu-time] [--best]
//                  [CODE_OBJECT]
// --cpu-time: the process's CPU time instead of elapsed time, for a machine with other work on it.
// Medians of the repeats; --best: the best ones.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/emulator/test_device.h"

namespace {

using namespace gfxgraph::emulator;
namespace codeobj = gfxgraph::codeobj;
using testing::Shape;
using testing::TestDevice;

struct Figure {
  std::string name;
  uint64_t instructions = 0;
  double seconds = 0;
  double plain_seconds = 0;  // 0: no counterpart
};

bool g_cpu_time = false;
bool g_best = false;

double now() {
  if (g_cpu_time) {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double typical(std::vector<double> values) {
  if (g_best) return *std::min_element(values.begin(), values.end());
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Options {
  bool json = false;
  unsigned threads = 1;
  int repeat = 5;
  std::string only;
  std::string code;
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), device_(engine_options(options)) {
    const std::string error = device_.load(options.code);
    if (!error.empty()) stop(error);
  }

  template <typename... Args>
  void kernel(const std::string& name, const Shape& shape, const std::function<void()>& plain,
              const std::function<bool()>& right, Args... args) {
    if (!options_.only.empty() && options_.only != name) return;
    Figure figure;
    figure.name = name;
    std::vector<double> times;
    for (int r = 0; r <= options_.repeat; ++r) {
      const double start = now();
      const auto result = device_.launch(name, shape, args...);
      const double end = now();
      if (!result) stop(result.error().to_string());
      figure.instructions = result->wave_instructions;
      if (r != 0) times.push_back(end - start);
      if (r == 0 && right && !right()) stop(name + ": wrong result");
    }
    figure.seconds = typical(times);
    if (plain) {
      std::vector<double> plain_times;
      for (int r = 0; r < options_.repeat; ++r) {
        const double start = now();
        plain();
        plain_times.push_back(now() - start);
      }
      figure.plain_seconds = typical(plain_times);
    }
    figures_.push_back(figure);
  }

  TestDevice& device() { return device_; }

  void empty_dispatches() {
    if (!options_.only.empty() && options_.only != "empty") return;
    constexpr int kCount = 20000;
    const codeobj::Kernel& kernel = *device_.code().find_kernel("empty");
    const Shape shape = {.grid = {32, 1, 1}, .block = {32, 1, 1}};
    const Dispatch dispatch = device_.dispatch(kernel, shape, device_.pack(kernel, shape));
    std::vector<double> times;
    for (int r = 0; r < options_.repeat; ++r) {
      const double start = now();
      for (int n = 0; n < kCount; ++n)
        if (!device_.engine().run(dispatch)) stop("empty: fault");
      times.push_back((now() - start) / kCount);
    }
    empty_seconds_ = typical(times);
  }

  void print() const {
    if (options_.json) {
      std::string text =
          fmt::format("{{\"threads\": {}, \"empty_dispatch_us\": {:.3f}, \"kernels\": [",
                      options_.threads, empty_seconds_ * 1e6);
      for (size_t n = 0; n < figures_.size(); ++n) {
        const Figure& f = figures_[n];
        text += fmt::format(
            "{}{{\"name\": \"{}\", \"wave_instructions\": {}, \"seconds\": {:.6f}, "
            "\"wave_instructions_per_second\": {:.0f}, \"ratio_to_plain\": {}}}",
            n == 0 ? "" : ", ", f.name, f.instructions, f.seconds,
            static_cast<double>(f.instructions) / f.seconds,
            f.plain_seconds > 0 ? fmt::format("{:.2f}", f.seconds / f.plain_seconds) : "null");
      }
      std::puts((text + "]}").c_str());
      return;
    }
    for (const Figure& f : figures_)
      fmt::print("{:<15} {:8.1f} M wave-instructions/s  {:10} instructions  {:9.3f} ms{}\n", f.name,
                 static_cast<double>(f.instructions) / f.seconds / 1e6, f.instructions,
                 f.seconds * 1e3,
                 f.plain_seconds > 0
                     ? fmt::format("  {:.1f}x the plain loop's time", f.seconds / f.plain_seconds)
                     : "");
    if (empty_seconds_ > 0) fmt::print("empty dispatch  {:8.3f} us\n", empty_seconds_ * 1e6);
  }

  [[noreturn]] static void stop(const std::string& text) {
    std::fprintf(stderr, "emulator_bench: %s\n", text.c_str());
    std::exit(1);
  }

 private:
  static EngineOptions engine_options(const Options& options) {
    EngineOptions engine;
    engine.threads = options.threads;
    return engine;
  }
  Options options_;
  TestDevice device_;
  std::vector<Figure> figures_;
  double empty_seconds_ = 0;
};

void run(Bench& bench) {
  TestDevice& device = bench.device();
  {
    constexpr int n = 256;
    auto* a = device.array<float>(n * n);
    auto* b = device.array<float>(n * n);
    auto* c = device.array<float>(n * n);
    for (int k = 0; k < n * n; ++k) {
      a[k] = static_cast<float>(k % 7);
      b[k] = static_cast<float>(k % 5);
    }
    std::vector<float> expected(n * n);
    const auto plain = [&] {
      for (int y = 0; y < n; ++y) {
        float* row = &expected[static_cast<size_t>(y * n)];
        std::fill(row, row + n, 0.0f);
        for (int k = 0; k < n; ++k)
          for (int x = 0; x < n; ++x) row[x] += a[y * n + k] * b[k * n + x];
      }
    };
    plain();
    bench.kernel(
        "matmul", {.grid = {n, n, 1}, .block = {16, 16, 1}}, plain,
        [&] { return std::equal(expected.begin(), expected.end(), c); }, a, b, c, n);
  }
  {
    auto* out = device.array<float>(2048);
    bench.kernel("fma_loop", {.grid = {2048, 1, 1}, .block = {256, 1, 1}}, nullptr, nullptr, out,
                 20000, 0.5f);
  }
  {
    constexpr int n = 1 << 20;
    auto* in = device.array<float>(n);
    auto* out = device.array<float>(n / 32);
    for (int k = 0; k < n; ++k) in[k] = static_cast<float>(k % 3);
    double sum = 0;
    const auto plain = [&] {
      float total = 0;
      for (int k = 0; k < n; ++k) total += in[k];
      sum = static_cast<double>(total);
    };
    plain();
    bench.kernel(
        "reduce_lds", {.grid = {4096 * 256, 1, 1}, .block = {256, 1, 1}}, plain,
        [&] {
          double got = 0;
          for (int k = 0; k < 4096; ++k) got += static_cast<double>(out[k]);
          return got == sum;
        },
        in, out, n);
    bench.kernel("reduce_shuffle", {.grid = {65536, 1, 1}, .block = {256, 1, 1}}, nullptr, nullptr,
                 in, out, n, 100);
  }
  {
    constexpr int n = (1 << 20) - 5;
    auto* a = device.array<float>(n);
    auto* b = device.array<float>(n);
    auto* c = device.array<float>(n);
    for (int k = 0; k < n; ++k) {
      a[k] = static_cast<float>(k);
      b[k] = static_cast<float>(2 * k);
    }
    const auto plain = [&] {
      for (int k = 0; k < n; ++k) c[k] = a[k] + b[k];
    };
    bench.kernel(
        "vadd", {.grid = {1 << 20, 1, 1}, .block = {256, 1, 1}}, plain,
        [&] {
          for (int k = 0; k < n; ++k)
            if (c[k] != a[k] + b[k]) return false;
          return true;
        },
        a, b, c, n);
  }
  {
    constexpr int n = 1 << 22;
    auto* in = device.array<unsigned>(n);
    auto* out = device.array<unsigned>(256);
    for (unsigned k = 0; k < n; ++k) in[k] = k * 2654435761u >> 13;
    std::vector<unsigned> bins(256);
    const auto plain = [&] {
      for (int k = 0; k < n; ++k) ++bins[in[k] & 255];
    };
    plain();
    bench.kernel(
        "histogram", {.grid = {64 * 256, 1, 1}, .block = {256, 1, 1}}, plain,
        [&] { return std::equal(bins.begin(), bins.end(), out); }, in, out, n);
  }
  bench.empty_dispatches();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int n = 1; n < argc; ++n) {
    const std::string word = argv[n];
    const bool more = n + 1 < argc;
    if (word == "--json")
      options.json = true;
    else if (word == "--cpu-time")
      g_cpu_time = true;
    else if (word == "--best")
      g_best = true;
    else if (word == "--threads" && more)
      options.threads = static_cast<unsigned>(std::atoi(argv[++n]));
    else if (word == "--repeat" && more)
      options.repeat = std::max(1, std::atoi(argv[++n]));
    else if (word == "--kernel" && more)
      options.only = argv[++n];
    else
      options.code = word;
  }
  if (options.code.empty()) options.code = GFXGRAPH_BENCH_CODE;
  Bench bench(options);
  run(bench);
  bench.print();
  return 0;
}

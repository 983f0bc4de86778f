// Random steps, captured and run in place, against a model of the host: buffers of 32-bit numbers,
// kernels, copies, fills, streams that fork and join, parameters between two iterations.
// random_steps FIRST LAST: seeds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "steps.h"

// a[i] = a[i] * k + b[(i + shift) % n]
extern "C" __global__ void mix(uint32_t* a, const uint32_t* b, uint32_t k, uint32_t shift,
                               uint32_t n) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * k + b[(i + shift) % n];
}

namespace {

constexpr uint32_t kNumbers = 256;
constexpr size_t kSize = kNumbers * sizeof(uint32_t);
constexpr int kBuffers = 5;
constexpr int kStreams = 3;
using Numbers = std::vector<uint32_t>;

enum class Kind { kMix, kCopy, kUpload, kFill, kKinds };
struct Work {
  Kind kind = Kind::kMix;
  int stream = 0;
  int to = 0, from = 0;
  uint32_t k = 0, shift = 0;  // kMix; kFill: k is the byte
  uint32_t per_iteration = 0; // what k grows by
};

struct Place {
  uint32_t* data = nullptr;
  bool host = false;  // pinned
};

class Run {
 public:
  explicit Run(uint32_t seed) : random_(seed), seed_(seed) {
    for (Place& one : places_) {
      one.host = below(5) == 0;
      if (one.host) {
        OK(hipHostMalloc(reinterpret_cast<void**>(&one.data), kSize, 0));
      } else {
        OK(hipMalloc(&one.data, kSize));
      }
    }
    uploads_.resize(kBuffers * kNumbers);
    for (uint32_t& one : uploads_) one = random_();
    const int works = 3 + static_cast<int>(below(14));
    for (int i = 0; i < works; ++i) works_.push_back(random_work());
    forks_ = below(2) == 0;
    if (!forks_) {
      for (Work& one : works_) one.stream = 0;
    }
    for (hipEvent_t& event : events_) OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  }
  ~Run() {
    for (const Place& one : places_) OK(one.host ? hipHostFree(one.data) : hipFree(one.data));
    for (hipEvent_t event : events_) OK(hipEventDestroy(event));
  }

  void check() {
    const bool hold = below(3) == 0;
    const bool two = !hold && below(2) == 0;
    gfxgraph_capture_options_t options = gfxgraph_capture_options_default();
    options.mode = hold ? GFXGRAPH_CAPTURE_HOLD : GFXGRAPH_CAPTURE_RUN;
    fill();
    gfxgraph::Capture capture(streams_[0], options);
    submit(0);
    if (two) {
      capture.pause();
      capture.resume();
      submit(1);
    }
    const gfxgraph::Trace trace = capture.end();
    OK(hipDeviceSynchronize());
    if (!hold) {
      model(0);
      if (two) model(1);
    }
    compare("captured");
    in_each_mode(trace, [&](gfxgraph::Step& step, gfxgraph::Session&) {
      const std::string mode = mode_name(step.info().mode);
      fill();
      for (uint64_t n = 0; n < 4; ++n) {
        if (two) step.advance(n);
        step.run(streams_[0]);
        model(two ? static_cast<uint32_t>(n) : 0);
        if (below(3) == 0) step.wait();
      }
      step.wait();
      OK(hipDeviceSynchronize());
      compare(mode + (hold ? ", held" : two ? ", two iterations" : ""));
    });
  }

 private:
  uint32_t below(uint32_t limit) { return random_() % limit; }

  Work random_work() {
    Work one;
    one.kind = static_cast<Kind>(below(static_cast<uint32_t>(Kind::kKinds)));
    one.stream = static_cast<int>(below(kStreams));
    one.to = static_cast<int>(below(kBuffers));
    one.from = static_cast<int>(below(kBuffers));
    if (one.kind == Kind::kMix && one.from == one.to) one.from = (one.to + 1) % kBuffers;
    one.k = random_();
    one.shift = below(kNumbers);
    if (one.kind == Kind::kMix && below(3) == 0) one.per_iteration = 1 + below(9);
    if (one.kind == Kind::kFill) one.k %= 256;
    return one;
  }

  // Work of several streams follows in the order of the list: each waits for the one before.
  void submit(uint32_t iteration) {
    int last = 0;
    for (const Work& one : works_) {
      const hipStream_t stream = streams_[one.stream];
      if (one.stream != last) {
        OK(hipEventRecord(events_[last], streams_[last]));
        OK(hipStreamWaitEvent(stream, events_[last], 0));
        last = one.stream;
      }
      uint32_t* const to = places_[one.to].data;
      uint32_t* const from = places_[one.from].data;
      switch (one.kind) {
        case Kind::kMix:
          mix<<<1, kNumbers, 0, stream>>>(to, from, one.k + iteration * one.per_iteration,
                                          one.shift, kNumbers);
          break;
        case Kind::kCopy:
          if (to != from) OK(hipMemcpyAsync(to, from, kSize, hipMemcpyDefault, stream));
          break;
        case Kind::kUpload:
          OK(hipMemcpyAsync(to, uploads_.data() + one.from * kNumbers, kSize, hipMemcpyDefault,
                            stream));
          break;
        default:
          OK(hipMemsetAsync(to, static_cast<int>(one.k), kSize, stream));
      }
    }
    if (last != 0) {
      OK(hipEventRecord(events_[last], streams_[last]));
      OK(hipStreamWaitEvent(streams_[0], events_[last], 0));
    }
  }

  void model(uint32_t iteration) {
    for (const Work& one : works_) {
      Numbers& to = model_[one.to];
      const Numbers from = model_[one.from];
      const uint32_t k = one.k + iteration * one.per_iteration;
      for (uint32_t i = 0; i < kNumbers; ++i) {
        switch (one.kind) {
          case Kind::kMix: to[i] = to[i] * k + from[(i + one.shift) % kNumbers]; break;
          case Kind::kCopy: to[i] = from[i]; break;
          case Kind::kUpload: to[i] = uploads_[one.from * kNumbers + i]; break;
          default: to[i] = one.k * 0x01010101u;
        }
      }
    }
  }

  void fill() {
    OK(hipDeviceSynchronize());
    for (int i = 0; i < kBuffers; ++i) {
      model_[i].assign(kNumbers, 0);
      for (uint32_t& one : model_[i]) one = random_();
      OK(hipMemcpy(places_[i].data, model_[i].data(), kSize, hipMemcpyDefault));
    }
  }

  void compare(const std::string& what) {
    for (int i = 0; i < kBuffers; ++i) {
      Numbers got(kNumbers);
      OK(hipMemcpy(got.data(), places_[i].data, kSize, hipMemcpyDefault));
      expect(got == model_[i],
             "seed " + std::to_string(seed_) + ": " + what + ": buffer " + std::to_string(i));
    }
  }

  std::mt19937 random_;
  uint32_t seed_;
  Place places_[kBuffers];
  Numbers model_[kBuffers];
  Numbers uploads_;
  std::vector<Work> works_;
  bool forks_ = false;
  Stream streams_[kStreams];
  hipEvent_t events_[kStreams] = {};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FIRST LAST\n", argv[0]);
    return 2;
  }
  const auto last = static_cast<uint32_t>(std::atoi(argv[2]));
  for (auto seed = static_cast<uint32_t>(std::atoi(argv[1])); seed <= last; ++seed) {
    try {
      Run(seed).check();
    } catch (const std::exception& thrown) {
      expect(false, "seed " + std::to_string(seed) + ": " + thrown.what());
    }
    if (!first_failure().empty()) {
      std::printf("%s\n", first_failure().c_str());
      return 1;
    }
  }
  std::printf("ok\n");
  return 0;
}

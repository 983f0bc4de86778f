// What the lane observer costs: CPU time of the same dispatches on the plain engine and on the
// engine with the observer, in one run, one thread. Prints the ratio per kernel.
//   lane_bench [--best] [--kernel NAME] [CODE_OBJECT]
// Medians; --best: the best of the repeats, for a machine with other work on it.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "codeobj/relocate.h"
#include "emulator/engine/backend.h"
#include "lanecheck/arguments.h"
#include "lanecheck/deep_observer.h"
#include "lanecheck/race_check.h"

namespace gfxgraph::emulator {
GFXGRAPH_DECLARE_BACKENDS(kDeepBackend);
GFXGRAPH_DECLARE_BACKENDS(kLaneBackend);
}  // namespace gfxgraph::emulator

namespace gfxgraph::lanecheck {
namespace {

constexpr uint64_t kCodeAddress = 0x100000000000;
constexpr uint64_t kDataAddress = 0x200000000000;
constexpr uint64_t kBufferBytes = 8 << 20;
constexpr uint64_t kSystemAddress = 0x2f8000000000;
constexpr int kRepeat = 15;

[[noreturn]] void stop(const std::string& text) {
  fmt::print(stderr, "lane_bench: {}\n", text);
  std::exit(1);
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

class Bench {
 public:
  Bench(const std::string& path, bool best, const std::string& only)
      : best_(best),
        only_(only),
        race_(memory_, sites_, budget_),
        init_(sites_, budget_),
        observer_(memory_, sites_, {true, false}, &race_, nullptr),
        init_observer_(memory_, sites_, {true, false}, nullptr, &init_) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto entries = codeobj::extract_device_elves(std::as_bytes(std::span(text)));
    if (!entries || entries->empty()) stop("no device code in " + path);
    code_ = codeobj::CodeObject::parse(entries->front().bytes).value();
    const auto nobody = [](const std::string&) { return std::nullopt; };
    std::byte* const code = add(kCodeAddress, code_->load_size_bytes());
    if (!codeobj::load_segments(*code_, {code, code_->load_size_bytes()}, kCodeAddress, nobody)) {
      stop("the code object cannot be loaded");
    }
    for (const codeobj::Kernel& kernel : code_->kernels())
      observer_.add_kernel(kCodeAddress + kernel.descriptor_address);
    for (uint64_t n = 0; n < 3; ++n) add(kDataAddress + n * 2 * kBufferBytes, kBufferBytes);
    system_ = add(kSystemAddress, 8192);
    emulator::EngineOptions options;
    options.threads = 1;
    plain_ = emulator::Engine::create(memory_, options);
    using namespace emulator;
    const BackendSet set = GFXGRAPH_BACKEND_SET(kLaneBackend);
    watched_ = create_engine(memory_, options, select_backend(set),
                             static_cast<LaneObserver*>(&observer_));
    const BackendSet deep = GFXGRAPH_BACKEND_SET(kDeepBackend);
    races_ = create_engine(memory_, options, select_backend(deep), &observer_);
    inits_ = create_engine(memory_, options, select_backend(deep), &init_observer_);
    // Buffers that are followed, and written.
    for (uint64_t n = 0; n < 3; ++n) {
      if (!init_.memory().begin(buffer(n), kBufferBytes)) stop("no memory");
      init_.memory().set_written(buffer(n), kBufferBytes);
    }
    for (emulator::Engine* const engine :
         {plain_.get(), watched_.get(), races_.get(), inits_.get()}) {
      if (!engine->add_code(kCodeAddress, code_)) stop("the engine refuses the code");
    }
  }

  // `arguments` are 8-byte words and 4-byte words as the kernel takes them, already laid out.
  void run(const std::string& name, std::array<uint32_t, 3> items, std::array<uint16_t, 3> block,
           const std::vector<std::byte>& arguments) {
    if (!only_.empty() && only_ != name) return;
    const codeobj::Kernel* const kernel = code_->find_kernel(name);
    if (kernel == nullptr) stop("no kernel " + name);
    emulator::Dispatch dispatch;
    dispatch.kernel_object = kCodeAddress + kernel->descriptor_address;
    dispatch.grid_size = items;
    dispatch.workgroup_size = block;
    dispatch.group_segment_bytes = kernel->descriptor.group_segment_bytes;
    dispatch.private_segment_bytes = kernel->descriptor.private_segment_bytes;
    dispatch.kernarg_address = kSystemAddress + 4096;
    dispatch.packet_address = kSystemAddress;
    std::memcpy(system_ + 4096, arguments.data(), arguments.size());
    PacketValues packet;
    packet.kernel_object = dispatch.kernel_object;
    packet.kernarg_address = dispatch.kernarg_address;
    write_packet({system_, kPacketBytes}, {items, block}, packet);
    observer_.next_launch(0, 1);
    init_observer_.next_launch(0, 1);
    // Taken in turns, so that all see the same machine.
    emulator::Engine* const engines[] = {plain_.get(), watched_.get(), races_.get(), inits_.get()};
    constexpr int kEngines = 4;
    std::vector<double> times[kEngines];
    for (int n = 0; n < kEngines * kRepeat; ++n) {
      race_.next_launch(0, 1, false, {}, true);
      const double start = cpu_seconds();
      const auto ran = engines[n % kEngines]->run(dispatch);
      if (!ran) stop(ran.error().to_string());
      times[n % kEngines].push_back(cpu_seconds() - start);
    }
    for (std::vector<double>& some : times) std::sort(some.begin(), some.end());
    const size_t at = best_ ? 0 : kRepeat / 2;
    const double plain = times[0][at];
    fmt::print("{:<14} plain {:8.2f} ms  lanes {:.2f}x  racecheck {:.2f}x  initcheck {:.2f}x\n",
               name, plain * 1e3, times[1][at] / plain, times[2][at] / plain, times[3][at] / plain);
    if (!sites_.all().empty()) stop(name + " has findings: the figures mean nothing");
  }

  static uint64_t buffer(uint64_t n) { return kDataAddress + n * 2 * kBufferBytes; }

 private:
  std::byte* add(uint64_t address, uint64_t size) {
    const uint64_t mapped = (size + 4095) / 4096 * 4096;
    storage_.push_back(std::make_unique<std::byte[]>(mapped));
    emulator::Region region;
    region.address = address;
    region.requested_bytes = size;
    region.mapped_bytes = mapped;
    region.host = storage_.back().get();
    if (!memory_.add(region)) stop("memory map");
    return region.host;
  }

  const bool best_;
  const std::string only_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  emulator::MemoryMap memory_;
  Sites sites_;
  Budget budget_{BudgetLimits()};
  RaceCheck race_;
  InitCheck init_;
  DeepObserver observer_;
  DeepObserver init_observer_;
  std::shared_ptr<const codeobj::CodeObject> code_;
  std::byte* system_ = nullptr;
  std::unique_ptr<emulator::Engine> plain_;
  std::unique_ptr<emulator::Engine> watched_;
  std::unique_ptr<emulator::Engine> races_;
  std::unique_ptr<emulator::Engine> inits_;
};

// Each value at its natural alignment, as the compiler lays out arguments.
template <typename... Values>
std::vector<std::byte> pack(Values... values) {
  std::vector<std::byte> bytes;
  const auto put = [&](const auto& value) {
    const size_t at = (bytes.size() + sizeof value - 1) / sizeof value * sizeof value;
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
  };
  (put(values), ...);
  return bytes;
}

}  // namespace
}  // namespace gfxgraph::lanecheck

int main(int argc, char** argv) {
  using namespace gfxgraph::lanecheck;
  std::string code = GFXGRAPH_BENCH_CODE;
  std::string only;
  bool best = false;
  for (int n = 1; n < argc; ++n) {
    if (std::string_view(argv[n]) == "--best")
      best = true;
    else if (std::string_view(argv[n]) == "--kernel" && n + 1 < argc)
      only = argv[++n];
    else
      code = argv[n];
  }
  Bench bench(code, best, only);
  const uint64_t a = Bench::buffer(0);
  const uint64_t b = Bench::buffer(1);
  const uint64_t c = Bench::buffer(2);
  constexpr int kCount = 1 << 20;
  bench.run("matmul", {256, 256, 1}, {16, 16, 1}, pack(a, b, c, 256));
  bench.run("fma_loop", {2048, 1, 1}, {256, 1, 1}, pack(a, 20000, 0.5f));
  bench.run("reduce_lds", {4096 * 256, 1, 1}, {256, 1, 1}, pack(a, b, kCount));
  bench.run("reduce_shuffle", {65536, 1, 1}, {256, 1, 1}, pack(a, b, kCount, 100));
  bench.run("vadd", {kCount, 1, 1}, {256, 1, 1}, pack(a, b, c, kCount - 5));
  bench.run("histogram", {64 * 256, 1, 1}, {256, 1, 1}, pack(a, b, kCount));
  return 0;
}

// What the tools of check and provenance cost: CPU time of the same dispatches on the plain engine
// and on engines with their observers, in one run, one thread. Prints the ratios per kernel.
//   lane_bench [--best] [--kernel NAME] [--tool NAME] [CODE_OBJECT]
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

#include "check/deep/deep_observer.h"
#include "check/launch/arguments.h"
#include "check/provenance/provenance_observer.h"
#include "check/race/race_check.h"
#include "codeobj/relocate.h"
#include "emulator/engine/backend.h"

namespace gfxgraph::emulator {
GFXGRAPH_DECLARE_BACKENDS(kDeepBackend);
GFXGRAPH_DECLARE_BACKENDS(kLaneBackend);
GFXGRAPH_DECLARE_BACKENDS(kProvenanceBackend);
}  // namespace gfxgraph::emulator

namespace gfxgraph::check {
namespace {

constexpr uint64_t kCodeAddress = 0x100000000000;
constexpr uint64_t kDataAddress = 0x200000000000;
constexpr uint64_t kBufferBytes = 8 << 20;
constexpr uint64_t kSystemAddress = 0x2f8000000000;
constexpr uint32_t kBuffers = 3;
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

// The memory and the findings of one engine's tools, as of a check of its own.
struct Tools {
  Tools(emulator::MemoryMap& memory, Sites& sites, bool with_race, bool with_init)
      : race(memory, sites, budget),
        init(sites, budget),
        observer(memory, sites, {true, false}, with_race ? &race : nullptr,
                 with_init ? &init : nullptr) {}
  Budget budget{BudgetLimits()};
  RaceCheck race;
  InitCheck init;
  DeepObserver observer;
};

class Bench {
 public:
  Bench(const std::string& path, bool best, const std::string& only, const std::string& tool)
      : best_(best), only_(only), tool_(tool) {
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
    for (uint32_t n = 0; n < kBuffers; ++n) add(buffer(n), kBufferBytes);
    system_ = add(kSystemAddress, 8192);
    for (const codeobj::Kernel& kernel : code_->kernels())
      for (Tools* const tools : {&lanes_, &races_, &inits_, &all_})
        tools->observer.add_kernel(kCodeAddress + kernel.descriptor_address);
    begin_buffers();

    emulator::EngineOptions options;
    options.threads = 1;
    using namespace emulator;
    const BackendSet lanes = GFXGRAPH_BACKEND_SET(kLaneBackend);
    const BackendSet deep = GFXGRAPH_BACKEND_SET(kDeepBackend);
    const BackendSet words = GFXGRAPH_BACKEND_SET(kProvenanceBackend);
    LaneObserver* const only_lanes = &lanes_.observer;
    add_engine("plain", Engine::create(memory_, options));
    add_engine("lanes", create_engine(memory_, options, select_backend(lanes), only_lanes));
    for (const auto& [what, tools] :
         {std::pair{"racecheck", &races_}, {"initcheck", &inits_}, {"all", &all_}})
      add_engine(what, create_engine(memory_, options, select_backend(deep), &tools->observer));
    add_engine("provenance", create_engine(memory_, options, select_backend(words), &provenance_));
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
    for (Tools* const tools : {&lanes_, &races_, &inits_, &all_}) tools->observer.next_launch(0, 1);
    const format::Launch launch = recorded(arguments);
    // Taken in turns, so that all see the same machine.
    for (int n = 0; n < kRepeat; ++n) {
      for (Tools* const tools : {&races_, &all_})
        tools->race.next_launch(0, 1, {}, {.unordered = {}, .forget = true});
      words_.launch(launch, dispatch.kernarg_address);
      for (Run& one : runs_) {
        const double start = cpu_seconds();
        const auto ran = one.engine->run(dispatch);
        if (!ran) stop(ran.error().to_string());
        one.times.push_back(cpu_seconds() - start);
      }
    }
    print(name);
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

  struct Run {
    const char* what;
    std::unique_ptr<emulator::Engine> engine;
    std::vector<double> times;
  };
  void add_engine(const char* what, std::unique_ptr<emulator::Engine> engine) {
    if (!tool_.empty() && !runs_.empty() && tool_ != what) return;
    if (!engine->add_code(kCodeAddress, code_)) stop("the engine refuses the code");
    runs_.push_back({what, std::move(engine), {}});
  }

  // Buffers that the tools follow, and that were written.
  void begin_buffers() {
    for (uint32_t n = 0; n < kBuffers; ++n) {
      for (Tools* const tools : {&inits_, &all_}) {
        if (!tools->init.memory().begin(buffer(n), kBufferBytes)) stop("no memory");
        tools->init.memory().set_written(buffer(n), kBufferBytes);
      }
      format::AllocationBegin begin;
      begin.id = n + 1;
      begin.recorded_address = buffer(n);
      begin.size_bytes = kBufferBytes;
      (void)words_.allocated(begin);
    }
  }

  // The launch as a trace holds it: the buffers' addresses in the arguments are words to be proven.
  static format::Launch recorded(const std::vector<std::byte>& arguments) {
    format::Launch launch;
    launch.kernarg.resize(arguments.size());
    std::memcpy(launch.kernarg.data(), arguments.data(), arguments.size());
    for (size_t at = 0; at + sizeof(uint64_t) <= arguments.size(); at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, arguments.data() + at, sizeof word);
      for (uint32_t n = 0; n < kBuffers; ++n) {
        if (word != buffer(n)) continue;
        format::Relocation relocation;
        relocation.offset_bytes = at;
        relocation.allocation = n + 1;
        launch.relocations.push_back(relocation);
      }
    }
    return launch;
  }

  void print(const std::string& name) {
    double plain = 0;
    fmt::print("{:<14}", name);
    for (Run& one : runs_) {
      std::sort(one.times.begin(), one.times.end());
      const double time = one.times[best_ ? 0 : one.times.size() / 2];
      one.times.clear();
      if (plain == 0)
        fmt::print(" {} {:8.2f} ms", one.what, time * 1e3);
      else
        fmt::print("  {} {:.2f}x", one.what, time / plain);
      if (plain == 0) plain = time;
    }
    fmt::print("\n");
  }

  const bool best_;
  const std::string only_;
  const std::string tool_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  emulator::MemoryMap memory_;
  Sites sites_;
  Tools lanes_{memory_, sites_, false, false};
  Tools races_{memory_, sites_, true, false};
  Tools inits_{memory_, sites_, false, true};
  Tools all_{memory_, sites_, true, true};
  Budget budget_{BudgetLimits()};
  Provenance words_{budget_};
  ProvenanceObserver provenance_{&words_, nullptr};
  std::shared_ptr<const codeobj::CodeObject> code_;
  std::byte* system_ = nullptr;
  std::vector<Run> runs_;
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
}  // namespace gfxgraph::check

int main(int argc, char** argv) {
  using namespace gfxgraph::check;
  std::string code = GFXGRAPH_BENCH_CODE;
  std::string only;
  std::string tool;
  bool best = false;
  for (int n = 1; n < argc; ++n) {
    if (std::string_view(argv[n]) == "--best")
      best = true;
    else if (std::string_view(argv[n]) == "--kernel" && n + 1 < argc)
      only = argv[++n];
    else if (std::string_view(argv[n]) == "--tool" && n + 1 < argc)
      tool = argv[++n];
    else
      code = argv[n];
  }
  Bench bench(code, best, only, tool);
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

// What a replay costs per launch, beside the same launches written by hand: a loop over
// hipModuleLaunchKernel and a hipGraph built node by node. All variants run in one process, in
// rotating order inside each repetition, on the same module and buffers sizes; the ratios are the
// result, not the times.
//
//   bench_replay                       on a GPU: checks the bytes, then times
//   bench_replay --device emulated     the same on the software agent: checks while kernels run,
//   then
//                                      times in a second process with GFXGRAPH_NULL_DEVICE=1, where
//                                      no kernel runs: host cost alone
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/process/device.h"
#include "format/read/reader.h"
#include "format/write/writer.h"
#include "replayer/step/step.h"
#include "replayer/step/timing.h"
#include "tests/support/must.h"

namespace {

using namespace gfxgraph;            // NOLINT
using namespace gfxgraph::replayer;  // NOLINT

constexpr uint32_t kElements = 256;
constexpr uint32_t kBlock = 64;
constexpr uint64_t kBytes = kElements * sizeof(uint32_t);

using testing::must;

struct Kernarg {
  uint64_t a = 0, b = 0, out = 0;
  uint32_t n = kElements;
  uint32_t padding = 0;
};

std::vector<std::byte> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.empty()) throw std::runtime_error(std::string("cannot read ") + path);
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Inputs and outputs: copies from and to the host before and behind the launches.
constexpr uint64_t kTransferBytes = 64;
uint64_t transfer_offset(uint32_t number) { return number * kTransferBytes % kBytes; }

// A chain of `launches` over three buffers in turn: each launch reads what the last two wrote.
void write_trace(const std::filesystem::path& path, uint32_t launches, uint32_t transfers) {
  const auto writer = must(format::Writer::create(path));
  format::Environment environment;
  environment.gpu_arch = "gfx1030";
  must(writer->add(environment));
  format::CodeObject object;
  object.id = 1;
  object.elf = must(writer->add_blob(read_file(GFXGRAPH_BENCH_CODE)));
  object.target = "amdgcn-amd-amdhsa--gfx1030";
  must(writer->add(object));
  format::Kernel kernel;
  kernel.id = 1;
  kernel.code_object = 1;
  kernel.name = "step";
  kernel.explicit_size_bytes = 28;
  // Code object version 4: offsets of 8 bytes for each dimension, then what this kernel has not.
  kernel.kernarg_size_bytes = 32 + 56;
  for (uint32_t i = 0; i < 3; ++i) {
    kernel.arguments.push_back({"", std::string("hidden_global_offset_") + "xyz"[i],
                                format::ArgumentKind::kHidden, 32 + 8 * i, 8});
  }
  must(writer->add(kernel));
  const auto add = [&](format::Action action) {
    format::Event event;
    event.action = std::move(action);
    must(writer->add(std::move(event)));
  };
  for (format::AllocationId id = 1; id <= 3; ++id) {
    format::AllocationBegin begin;
    begin.id = id;
    begin.recorded_address = 0x100000000ull * id;
    begin.size_bytes = kBytes;
    begin.initial.size_bytes = kBytes;
    begin.initial.fill = 0x3c;
    add(begin);
  }
  const auto copy_of = [&](uint32_t number) {
    format::Copy copy;
    copy.width_bytes = kTransferBytes;
    copy.asynchronous = true;
    return std::pair{copy, format::CopyEnd{1, transfer_offset(number)}};
  };
  for (uint32_t i = 0; i < transfers; ++i) {
    auto [copy, device] = copy_of(i);
    const std::vector<std::byte> bytes(kTransferBytes, static_cast<std::byte>(i));
    copy.destination = device;
    copy.host_source.size_bytes = kTransferBytes;
    copy.host_source.blob = copy.host_source.hash = must(writer->add_blob(bytes));
    add(copy);
  }
  for (uint32_t i = 0; i < launches; ++i) {
    format::Launch launch;
    launch.kernel = 1;
    launch.grid = {kElements / kBlock, 1, 1};
    launch.block = {kBlock, 1, 1};
    Kernarg kernarg;
    kernarg.a = 0x100000000ull * (1 + i % 3);
    kernarg.b = 0x100000000ull * (1 + (i + 1) % 3);
    kernarg.out = 0x100000000ull * (1 + (i + 2) % 3);
    launch.kernarg.resize(kernel.explicit_size_bytes);
    std::memcpy(launch.kernarg.data(), &kernarg, launch.kernarg.size());
    for (uint32_t word = 0; word < 3; ++word) {
      launch.relocations.push_back(
          {word * 8ull, 1 + (i + word) % 3, 0, format::RelocationSource::kTyped, false});
    }
    add(launch);
  }
  for (uint32_t i = 0; i < transfers; ++i) {
    auto [copy, device] = copy_of(i);
    copy.source = device;
    copy.host_result.size_bytes = kTransferBytes;
    copy.host_result.stored = false;
    add(copy);
  }
  must(writer->seal());
}

// The same work by hand, as a careful programmer would write it: arguments prepared, one stream.
class HandWritten {
 public:
  HandWritten(const HipLibrary& library, uint32_t launches, uint32_t transfers)
      : library_(library),
        hip_(library.table()),
        code_(read_file(GFXGRAPH_BENCH_CODE)),
        transfers_(transfers) {
    check(hip_.hipModuleLoadData(&module_, code_.data()));
    check(hip_.hipModuleGetFunction(&function_, module_, "step"));
    check(hip_.hipStreamCreateWithFlags(&stream_, hip::kStreamNonBlocking));
    for (void*& buffer : buffers_) check(hip_.hipMalloc(&buffer, kBytes));
    void* host = nullptr;
    check(hip_.hipHostMalloc(&host, 2 * (transfers + 1) * kTransferBytes, 0));
    host_ = static_cast<uint8_t*>(host);
    for (uint32_t i = 0; i < transfers; ++i)
      std::memset(host_ + i * kTransferBytes, static_cast<int>(i), kTransferBytes);
    kernargs_.resize(launches);
    parameters_.resize(launches);
    for (uint32_t i = 0; i < launches; ++i) {
      kernargs_[i].a = reinterpret_cast<uint64_t>(buffers_[i % 3]);
      kernargs_[i].b = reinterpret_cast<uint64_t>(buffers_[(i + 1) % 3]);
      kernargs_[i].out = reinterpret_cast<uint64_t>(buffers_[(i + 2) % 3]);
      parameters_[i] = {&kernargs_[i].a, &kernargs_[i].b, &kernargs_[i].out, &kernargs_[i].n};
    }
    build_graph();
  }
  HandWritten(const HandWritten&) = delete;
  HandWritten& operator=(const HandWritten&) = delete;
  ~HandWritten() {
    hip_.hipDeviceSynchronize();
    hip_.hipGraphExecDestroy(executable_);
    hip_.hipGraphDestroy(graph_);
    for (void* buffer : buffers_) hip_.hipFree(buffer);
    hip_.hipHostFree(host_);
    hip_.hipStreamDestroy(stream_);
    hip_.hipModuleUnload(module_);
  }

  void restore() {
    for (void* buffer : buffers_) check(hip_.hipMemset(buffer, 0x3c, kBytes));
    check(hip_.hipDeviceSynchronize());
  }
  void loop() {
    for (uint32_t i = 0; i < transfers_; ++i) {
      check(hip_.hipMemcpyAsync(device(i), host_ + i * kTransferBytes, kTransferBytes,
                                hip::kHostToDevice, stream_));
    }
    for (std::array<void*, 4>& parameters : parameters_) {
      check(hip_.hipModuleLaunchKernel(function_, kElements / kBlock, 1, 1, kBlock, 1, 1, 0,
                                       stream_, parameters.data(), nullptr));
    }
    for (uint32_t i = 0; i < transfers_; ++i)
      check(
          hip_.hipMemcpyAsync(received(i), device(i), kTransferBytes, hip::kDeviceToHost, stream_));
  }
  void graph() { check(hip_.hipGraphLaunch(executable_, stream_)); }
  void wait() { check(hip_.hipStreamSynchronize(stream_)); }
  // Another number of elements for the first node.
  void update(uint32_t n) {
    kernargs_[0].n = n;
    hip::KernelNodeParams node;
    node.function = function_;
    node.grid = {kElements / kBlock, 1, 1};
    node.block = {kBlock, 1, 1};
    node.kernel_params = parameters_[0].data();
    check(hip_.hipGraphExecKernelNodeSetParams(executable_, first_, &node));
  }
  std::vector<std::byte> bytes() {
    std::vector<std::byte> result(3 * kBytes);
    for (size_t i = 0; i < 3; ++i)
      check(hip_.hipMemcpy(result.data() + i * kBytes, buffers_[i], kBytes, hip::kDeviceToHost));
    return result;
  }

 private:
  void check(hip::Error code) { must(library_.check(code, "hand-written variant")); }
  uint8_t* device(uint32_t number) {
    return static_cast<uint8_t*>(buffers_[0]) + transfer_offset(number);
  }
  uint8_t* received(uint32_t number) { return host_ + (transfers_ + number) * kTransferBytes; }
  void add_copy(hip::GraphNode& previous, void* to, const void* from, int kind) {
    hip::GraphNode added = nullptr;
    check(hip_.hipGraphAddMemcpyNode1D(&added, graph_, &previous, previous == nullptr ? 0 : 1, to,
                                       from, kTransferBytes, kind));
    previous = added;
  }
  void build_graph() {
    check(hip_.hipGraphCreate(&graph_, 0));
    hip::GraphNode previous = nullptr;
    for (uint32_t i = 0; i < transfers_; ++i)
      add_copy(previous, device(i), host_ + i * kTransferBytes, hip::kHostToDevice);
    for (std::array<void*, 4>& parameters : parameters_) {
      hip::KernelNodeParams node;
      node.function = function_;
      node.grid = {kElements / kBlock, 1, 1};
      node.block = {kBlock, 1, 1};
      node.kernel_params = parameters.data();
      hip::GraphNode added = nullptr;
      check(hip_.hipGraphAddKernelNode(&added, graph_, &previous, previous == nullptr ? 0 : 1,
                                       &node));
      if (first_ == nullptr) first_ = added;
      previous = added;
    }
    for (uint32_t i = 0; i < transfers_; ++i)
      add_copy(previous, received(i), device(i), hip::kDeviceToHost);
    check(hip_.hipGraphInstantiate(&executable_, graph_, nullptr, nullptr, 0));
  }

  const HipLibrary& library_;
  const HipTable& hip_;
  std::vector<std::byte> code_;
  hip::Module module_ = nullptr;
  hip::Function function_ = nullptr;
  hip::Stream stream_ = nullptr;
  hip::Graph graph_ = nullptr;
  hip::GraphExec executable_ = nullptr;
  hip::GraphNode first_ = nullptr;
  std::array<void*, 3> buffers_ = {};
  uint32_t transfers_;
  uint8_t* host_ = nullptr;  // what is copied there, then what comes back
  std::vector<Kernarg> kernargs_;
  std::vector<std::array<void*, 4>> parameters_;
};

struct Variant {
  std::string name;
  std::string baseline;  // the one its ratio is taken to
  std::function<void()> restore;
  std::function<void()> run;
  std::function<void()> wait;
  std::function<std::vector<std::byte>()> bytes;
  std::vector<double> submit_us;
  std::vector<double> total_us;
};

struct Bench {
  std::shared_ptr<const HipLibrary> library;
  std::unique_ptr<HandWritten> by_hand;
  std::vector<std::unique_ptr<Step>> replays;
  std::vector<Variant> variants;
  nlohmann::ordered_json load = nlohmann::ordered_json::object();
};

Bench make_bench(uint32_t launches, uint32_t transfers) {
  Bench bench;
  bench.library = must(HipLibrary::load());
  const HipDevice device = must(bench.library->select_device(-1));
  // Where nothing runs, the trial sees no effect.
  if (std::getenv("GFXGRAPH_NULL_DEVICE") != nullptr)
    bench.library->update_trials().assume(device.arch, {true, true, true}, true);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("bench-replay-{}.gfxg", getpid());
  write_trace(path, launches, transfers);
  const auto program = must(Program::build(must(format::Trace::open(path))));
  std::filesystem::remove(path);
  bench.by_hand = std::make_unique<HandWritten>(*bench.library, launches, transfers);
  HandWritten* const hand = bench.by_hand.get();
  bench.variants.push_back({"hand_loop",
                            "hand_loop",
                            [=] { hand->restore(); },
                            [=] { hand->loop(); },
                            [=] { hand->wait(); },
                            [=] { return hand->bytes(); },
                            {},
                            {}});
  bench.variants.push_back({"hand_graph",
                            "hand_graph",
                            [=] { hand->restore(); },
                            [=] { hand->graph(); },
                            [=] { hand->wait(); },
                            [=] { return hand->bytes(); },
                            {},
                            {}});
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kGraph, Mode::kPackets}) {
    LoadOptions options;
    options.mode = mode;
    bench.replays.push_back(must(Step::load(program, bench.library, options)));
    Step* const replay = bench.replays.back().get();
    const auto bytes = [replay] {
      std::vector<std::byte> result(3 * kBytes);
      for (size_t i = 0; i < 3; ++i) {
        must(replay->instance().memory().read(static_cast<format::AllocationId>(i + 1), 0,
                                              std::span(result).subspan(i * kBytes, kBytes)));
      }
      return result;
    };
    const bool packets = mode == Mode::kPackets;
    if (packets) {
      bench.variants.push_back({"packets",
                                "hand_graph",
                                [=] { must(replay->restore()); },
                                [=] { must(replay->run_unfenced()); },
                                [=] { must(replay->wait()); },
                                bytes,
                                {},
                                {}});
    }
    bench.variants.push_back({packets ? "packets_fenced" : mode_name(mode),
                              packets || mode == Mode::kGraph ? "hand_graph" : "hand_loop",
                              [=] { must(replay->restore()); },
                              [=] { must(replay->run()); },
                              [=] { must(replay->wait()); },
                              bytes,
                              {},
                              {}});
    const LoadTimes& times = replay->load_times();
    bench.load[mode_name(mode)] = {{"load_us", times.load_us},
                                   {"build_us", times.build_us},
                                   {"instantiate_us", times.instantiate_us}};
  }
  return bench;
}

// Over poisoned output: a variant that does nothing must not pass.
void compare(Bench& bench) {
  std::vector<std::byte> expected;
  for (Variant& variant : bench.variants) {
    variant.restore();
    const std::vector<std::byte> before = variant.bytes();
    variant.run();
    variant.wait();
    const std::vector<std::byte> after = variant.bytes();
    if (after == before) throw std::runtime_error(variant.name + " changed nothing");
    if (expected.empty()) expected = after;
    if (after != expected)
      throw std::runtime_error(variant.name + " gives other bytes than the hand-written loop");
  }
}

void time_variants(Bench& bench, size_t repetitions, bool reverse) {
  if (reverse) std::reverse(bench.variants.begin(), bench.variants.end());
  constexpr size_t kWarmup = 5;
  for (size_t repetition = 0; repetition < repetitions + kWarmup; ++repetition) {
    for (size_t i = 0; i < bench.variants.size(); ++i) {
      Variant& variant = bench.variants[(i + repetition) % bench.variants.size()];
      // Not timed: whoever ran before has other memory in the caches, and put other queues' threads
      // of the device to sleep. The one before is always the same one.
      variant.run();
      variant.wait();
      const auto start = std::chrono::steady_clock::now();
      variant.run();
      const auto submitted = std::chrono::steady_clock::now();
      variant.wait();
      const auto done = std::chrono::steady_clock::now();
      if (repetition < kWarmup) continue;
      variant.submit_us.push_back(
          std::chrono::duration<double, std::micro>(submitted - start).count());
      variant.total_us.push_back(std::chrono::duration<double, std::micro>(done - start).count());
    }
  }
}

// Setting one argument of the first launch so that the next run has it, in ns: what this adds to a
// run. In graph mode beside the runtime's own call for it, by hand.
nlohmann::ordered_json time_settings(Bench& bench, size_t repetitions) {
  constexpr uint32_t kTimes = 200;
  struct Row {
    std::string name;
    std::function<void(uint32_t)> change;
    std::vector<double> ns;
  };
  std::vector<Row> rows;
  rows.push_back({"hand_graph", [&](uint32_t n) { bench.by_hand->update(n); }, {}});
  for (const std::unique_ptr<Step>& step : bench.replays) {
    rows.push_back(
        {mode_name(step->mode()),
         [replay = step.get()](uint32_t n) {
           const uint32_t first = replay->instance().program().launch_operation(0);
           must(replay->values().set_place({first, ranges::PlaceKind::kArgument, 24, 4}, {0, n}));
           must(replay->commit());
         },
         {}});
  }
  // Graph mode gives launches that change often their own memory when it is waited for.
  for (Row& row : rows) {
    for (uint32_t n = 0; n < kTimes; ++n) row.change(kElements - n % 2);
  }
  for (const std::unique_ptr<Step>& step : bench.replays) {
    must(step->run());
    must(step->wait());
  }
  for (size_t repetition = 0; repetition < repetitions; ++repetition) {
    for (size_t i = 0; i < rows.size(); ++i) {
      Row& row = rows[(i + repetition) % rows.size()];
      const auto start = std::chrono::steady_clock::now();
      for (uint32_t n = 0; n < kTimes; ++n) row.change(kElements - n % 2);
      const auto end = std::chrono::steady_clock::now();
      row.ns.push_back(std::chrono::duration<double, std::nano>(end - start).count() / kTimes);
    }
  }
  nlohmann::ordered_json out;
  for (const Row& row : rows) {
    const Timing timing = summarise(row.ns);
    out[row.name] = {{"ns", timing.median}, {"p10", timing.p10}, {"p90", timing.p90}};
  }
  return out;
}

void report(const Bench& bench, const nlohmann::ordered_json& settings, uint32_t launches,
            bool emulated, bool json) {
  const auto timing = [&](const std::string& name, bool total) {
    for (const Variant& variant : bench.variants) {
      if (variant.name == name) return summarise(total ? variant.total_us : variant.submit_us);
    }
    return Timing{};
  };
  nlohmann::ordered_json out = {{"launches", launches},
                                {"emulated_without_kernels", emulated},
                                {"hip_runtime_version", bench.library->runtime_version()},
                                {"load", bench.load},
                                {"set_one_argument", settings}};
  if (!json) {
    std::cout << fmt::format("{} launches, HIP {}{}\n", launches, bench.library->runtime_version(),
                             emulated ? "; software agent with kernels off: host cost only" : "");
    std::cout << fmt::format("{:<15}{:>16}{:>10}{:>10}{:>16}{:>10}\n", "variant",
                             "submit us/launch", "p10", "p90", "end-to-end", "ratio");
  }
  for (const Variant& variant : bench.variants) {
    const Timing submit = summarise(variant.submit_us);
    const Timing total = summarise(variant.total_us);
    const double ratio = total.median / timing(variant.baseline, true).median;
    const double submit_ratio = submit.median / timing(variant.baseline, false).median;
    out["variants"][variant.name] = {{"baseline", variant.baseline},
                                     {"submit_us_per_launch", submit.median / launches},
                                     {"submit_p10", submit.p10 / launches},
                                     {"submit_p90", submit.p90 / launches},
                                     {"end_to_end_us_per_launch", total.median / launches},
                                     {"submit_ratio", submit_ratio},
                                     {"end_to_end_ratio", ratio},
                                     {"samples", total.samples.size()}};
    if (json) continue;
    std::cout << fmt::format(
        "{:<15}{:>16.4f}{:>10.4f}{:>10.4f}{:>16.4f}{:>10.3f}  (end to end, to {}; submit {:.3f})\n",
        variant.name, submit.median / launches, submit.p10 / launches, submit.p90 / launches,
        total.median / launches, ratio, variant.baseline, submit_ratio);
  }
  if (json) {
    std::cout << out.dump(2) << "\n";
    return;
  }
  std::cout << "set one argument, added to a run:\n";
  for (const auto& [name, row] : settings.items()) {
    std::cout << fmt::format("{:<15}{:>13.1f} ns{:>10.1f}{:>10.1f}\n", name,
                             row.at("ns").get<double>(), row.at("p10").get<double>(),
                             row.at("p90").get<double>());
  }
}

void load_agent() {
  const std::filesystem::path agent = must(private_library("libhsa-runtime64.so.1"));
  if (dlopen(agent.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) throw std::runtime_error(dlerror());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Replay beside hand-written launches"};
  uint32_t launches = 1000;
  uint32_t transfers = 0;
  size_t repetitions = 41;
  std::string device = "auto";
  bool json = false;
  bool reverse = false;
  bool timing_only = false;
  app.add_option("--launches", launches)->check(CLI::Range(1, 1000000));
  app.add_option("--transfers", transfers,
                 "copies from the host before the launches, and to it behind")
      ->check(CLI::Range(0, 1000));
  app.add_option("--repetitions", repetitions)->check(CLI::Range(1, 1000000));
  app.add_option("--device", device)->check(CLI::IsMember({"auto", "real", "emulated"}));
  app.add_flag("--json", json);
  app.add_flag("--reverse", reverse, "begin with the last variant");
  app.add_flag("--timing-only", timing_only,
               "second process of the emulated device: the bytes were compared");
  CLI11_PARSE(app, argc, argv);
  try {
    const bool emulated =
        must(resolve_device(must(parse_device_choice(device)))) == DeviceChoice::kEmulated;
    if (emulated) load_agent();
    {
      Bench bench = make_bench(launches, transfers);
      if (!timing_only) compare(bench);
      if (timing_only || !emulated) {
        time_variants(bench, repetitions, reverse);
        report(bench, time_settings(bench, repetitions), launches, emulated, json);
      }
    }
    if (timing_only || !emulated) return 0;
    // The bytes are the same; the same program again with a device that does nothing.
    setenv("GFXGRAPH_NULL_DEVICE", "1", 1);
    std::vector<char*> arguments(argv, argv + argc);
    std::string flag = "--timing-only";
    arguments.push_back(flag.data());
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    throw std::runtime_error("cannot start the timing process");
  } catch (const std::exception& error) {
    std::cerr << "bench_replay: " << error.what() << "\n";
    return 1;
  }
}

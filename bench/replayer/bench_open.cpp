// What opening a trace costs.
//
//   bench_open --launches 10000                   a trace of so many launches to the prepared
//                                                 program, without HIP
//   bench_open --mib 2048 [--device emulated]     a trace of so many MiB of contents to the end of
//                                                 the first launch of a small range of it, beside
//                                                 the same HIP calls by hand, in turns; the ratio
//                                                 is the result
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/file/file.h"
#include "base/process/device.h"
#include "format/read/reader.h"
#include "format/write/writer.h"
#include "replayer/program/range.h"
#include "replayer/step/step.h"
#include "replayer/step/timing.h"
#include "tests/support/must.h"

namespace {

using namespace gfxgraph;            // NOLINT
using namespace gfxgraph::replayer;  // NOLINT

constexpr uint32_t kElements = 256;
constexpr uint32_t kBlock = 64;
constexpr uint64_t kBufferBytes = UINT64_C(1) << 20;
constexpr uint64_t kCopyBytes = UINT64_C(16) << 20;

using testing::must;

struct Kernarg {
  uint64_t a = 0, b = 0, out = 0;
  uint32_t n = kElements;
  uint32_t padding = 0;
};

std::vector<std::byte> random_bytes(uint64_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> words(size / sizeof(uint64_t));
  std::ranges::generate(words, random);
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), words.data(), size);
  return bytes;
}

class TraceFile {
 public:
  TraceFile()
      : path_(std::filesystem::temp_directory_path() / fmt::format("bench-open-{}.gfxg", getpid())),
        writer_(must(format::Writer::create(path_))) {
    format::Environment environment;
    environment.gpu_arch = "gfx1030";
    must(writer_->add(environment));
    format::CodeObject object;
    object.id = 1;
    object.elf = must(writer_->add_blob(must(read_file(GFXGRAPH_BENCH_CODE))));
    object.target = "amdgcn-amd-amdhsa--gfx1030";
    must(writer_->add(object));
    format::Kernel kernel;
    kernel.id = 1;
    kernel.code_object = 1;
    kernel.name = "step";
    kernel.explicit_size_bytes = 28;
    kernel.kernarg_size_bytes = 28 + 56;
    must(writer_->add(kernel));
  }
  ~TraceFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void add(format::Action action) {
    format::Event event;
    event.action = std::move(action);
    must(writer_->add(std::move(event)));
  }
  void buffer(format::AllocationId id, uint64_t size, format::Content initial) {
    format::AllocationBegin begin;
    begin.id = id;
    begin.recorded_address = UINT64_C(0x100000000) * id;
    begin.size_bytes = size;
    begin.initial = std::move(initial);
    add(begin);
  }
  format::Content content(const std::vector<std::byte>& bytes) {
    format::Content content;
    content.size_bytes = bytes.size();
    content.blob = content.hash = must(writer_->add_blob(bytes));
    return content;
  }
  void launch(std::array<format::AllocationId, 3> buffers) {
    format::Launch launch;
    launch.kernel = 1;
    launch.grid = {kElements / kBlock, 1, 1};
    launch.block = {kBlock, 1, 1};
    Kernarg kernarg;
    kernarg.a = UINT64_C(0x100000000) * buffers[0];
    kernarg.b = UINT64_C(0x100000000) * buffers[1];
    kernarg.out = UINT64_C(0x100000000) * buffers[2];
    launch.kernarg.resize(28);
    std::memcpy(launch.kernarg.data(), &kernarg, launch.kernarg.size());
    for (uint32_t word = 0; word < 3; ++word)
      launch.relocations.push_back({word * 8ull, buffers[word], 0});
    add(launch);
  }
  void marker(const std::string& name, format::MarkerKind kind, format::RangeId range) {
    add(format::Marker{name, kind, range, 0, 0});
  }
  const std::filesystem::path& seal() {
    must(writer_->seal());
    writer_.reset();
    return path_;
  }

 private:
  std::filesystem::path path_;
  std::unique_ptr<format::Writer> writer_;
};

// Of all threads: what is left of a time on a machine with other work.
double processor_ms() { return static_cast<double>(std::clock()) * 1000 / CLOCKS_PER_SEC; }

double milliseconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void launches_alone(uint32_t launches, size_t repetitions) {
  TraceFile file;
  for (format::AllocationId id = 1; id <= 3; ++id) {
    format::Content filled;
    filled.size_bytes = kBufferBytes;
    file.buffer(id, kBufferBytes, filled);
  }
  for (uint32_t i = 0; i < launches; ++i)
    file.launch({1 + i % 3, 1 + (i + 1) % 3, 1 + (i + 2) % 3});
  const std::filesystem::path& path = file.seal();
  std::vector<double> open, build, all, processor;
  for (size_t i = 0; i < repetitions; ++i) {
    const double processor_start = processor_ms();
    const auto start = std::chrono::steady_clock::now();
    auto trace = must(format::Trace::open(path, {.lazy = true}));
    open.push_back(milliseconds(start));
    const auto opened = std::chrono::steady_clock::now();
    const auto program = must(Program::build(std::move(trace)));
    const auto range = must(open_range(program, nullptr));
    build.push_back(milliseconds(opened));
    all.push_back(milliseconds(start));
    processor.push_back(processor_ms() - processor_start);
  }
  std::cout << fmt::format(
      "{} launches: {:.2f} ms (open {:.2f}, program {:.2f}), p10 {:.2f}; processor time {:.2f}\n",
      launches, summarise(all).median, summarise(open).median, summarise(build).median,
      summarise(all).p10, summarise(processor).median);
}

struct Times {
  double open_ms = 0;  // to the program of the range
  double all_ms = 0;
  double processor_ms = 0;
};

// What nobody can leave out who has the bytes in memory.
Times by_hand(const HipLibrary& library, const std::vector<std::byte>& code,
              const std::vector<std::byte>& bytes) {
  const HipTable& hip = library.table();
  const auto check = [&](hip::Error error) { must(library.check(error, "by hand")); };
  const double processor_start = processor_ms();
  const auto start = std::chrono::steady_clock::now();
  hip::Module module = nullptr;
  hip::Function function = nullptr;
  hip::Stream stream = nullptr;
  void* buffer = nullptr;
  check(hip.hipModuleLoadData(&module, code.data()));
  check(hip.hipModuleGetFunction(&function, module, "step"));
  check(hip.hipStreamCreateWithFlags(&stream, hip::kStreamNonBlocking));
  check(hip.hipMalloc(&buffer, bytes.size()));
  check(hip.hipMemcpy(buffer, bytes.data(), bytes.size(), hip::kHostToDevice));
  Kernarg kernarg;
  kernarg.a = kernarg.b = kernarg.out = reinterpret_cast<uint64_t>(buffer);
  size_t size = 28;
  std::array<void*, 5> extra = {hip::kLaunchBufferPointer, &kernarg, hip::kLaunchBufferSize, &size,
                                hip::kLaunchEnd};
  check(hip.hipModuleLaunchKernel(function, kElements / kBlock, 1, 1, kBlock, 1, 1, 0, stream,
                                  nullptr, extra.data()));
  check(hip.hipStreamSynchronize(stream));
  const Times time = {0, milliseconds(start), processor_ms() - processor_start};
  check(hip.hipFree(buffer));
  check(hip.hipStreamDestroy(stream));
  check(hip.hipModuleUnload(module));
  return time;
}

Times replayed(const std::filesystem::path& path,
               const std::shared_ptr<const HipLibrary>& library) {
  const double processor_start = processor_ms();
  const auto start = std::chrono::steady_clock::now();
  const auto trace = must(format::Trace::open(path, {.lazy = true}));
  const auto whole = must(Program::build(trace));
  const auto all = must(ranges_of(*trace));
  const auto range = must(open_range(whole, &all[must(find_range(all, "small"))]));
  const double opened = milliseconds(start);
  const auto session = must(Session::load(whole, library, {}));
  StepOptions options;
  options.mode = Mode::kBatch;
  const auto step = must(Step::prepare(session, range->program, options));
  must(step->run());
  must(step->wait());
  return {opened, milliseconds(start), processor_ms() - processor_start};
}

void small_range(uint64_t mib, size_t repetitions) {
  TraceFile file;
  const std::vector<std::byte> bytes = random_bytes(kBufferBytes, 0);
  file.buffer(1, kBufferBytes, file.content(bytes));
  file.marker("small", format::MarkerKind::kRangeBegin, 1);
  file.launch({1, 1, 1});
  file.marker("small", format::MarkerKind::kRangeEnd, 1);
  file.buffer(2, kCopyBytes, {kCopyBytes, {}, 0, {}, true, {}, true});
  for (uint64_t at = 0; at < mib << 20; at += kCopyBytes) {
    format::Copy copy;
    copy.destination.allocation = 2;
    copy.width_bytes = kCopyBytes;
    copy.host_source = file.content(random_bytes(kCopyBytes, at + 1));
    file.add(copy);
  }
  const std::filesystem::path& path = file.seal();
  const std::shared_ptr<const HipLibrary> library = must(HipLibrary::load());
  (void)must(library->select_device(-1));
  const std::vector<std::byte> code = must(read_file(GFXGRAPH_BENCH_CODE));
  std::vector<double> hand, open, replay, ratio, processor;
  for (size_t i = 0; i < repetitions + 2; ++i) {
    const Times alone = by_hand(*library, code, bytes);
    const Times one = replayed(path, library);
    if (i < 2) continue;  // what the runtime makes once
    hand.push_back(alone.all_ms);
    open.push_back(one.open_ms);
    replay.push_back(one.all_ms);
    ratio.push_back(one.all_ms / alone.all_ms);
    processor.push_back(one.processor_ms / alone.processor_ms);
  }
  std::cout << fmt::format(
      "{} MiB, small range: {:.2f} ms to the end of its first launch ({:.2f} of them before HIP), "
      "by hand {:.2f} ms, ratio {:.2f} (p10 {:.2f}, p90 {:.2f}), of the least times {:.2f}, of "
      "processor time {:.2f}\n",
      mib, summarise(replay).median, summarise(open).median, summarise(hand).median,
      summarise(ratio).median, summarise(ratio).p10, summarise(ratio).p90,
      std::ranges::min(replay) / std::ranges::min(hand), summarise(processor).median);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Opening a trace"};
  uint32_t launches = 0;
  uint64_t mib = 0;
  size_t repetitions = 21;
  std::string device = "auto";
  app.add_option("--launches", launches)->check(CLI::Range(1, 10000000));
  app.add_option("--mib", mib)->check(CLI::Range(16, 1 << 20));
  app.add_option("--repetitions", repetitions)->check(CLI::Range(1, 1000000));
  app.add_option("--device", device)->check(CLI::IsMember({"auto", "real", "emulated"}));
  CLI11_PARSE(app, argc, argv);
  try {
    if (launches != 0) launches_alone(launches, repetitions);
    if (mib == 0) return 0;
    if (must(resolve_device(must(parse_device_choice(device)))) == DeviceChoice::kEmulated) {
      const std::filesystem::path agent = must(private_library("libhsa-runtime64.so.1"));
      if (dlopen(agent.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
        throw std::runtime_error(dlerror());
    }
    small_range(mib, repetitions);
  } catch (const std::exception& error) {
    std::cerr << "bench_open: " << error.what() << "\n";
    return 1;
  }
  return 0;
}

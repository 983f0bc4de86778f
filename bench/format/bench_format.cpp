// What storing a trace costs, each figure as a ratio to its bare counterpart in the same run:
//   hash     XXH3-128 of a buffer                    against memcpy of it
//   blobs    Writer::add_blob of distinct buffers    against write(2) of the same bytes, both
//   unsynced events   Writer::add of launches, one thread and four
//
// usage: bench_format [--json] [--mib N] [--folder DIR]      the files go to DIR (default: .)
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/file/file.h"
#include "format/write/writer.h"

namespace {

using gfxgraph::Result;
using namespace gfxgraph::format;

constexpr int kRepeats = 7;
constexpr size_t kBlobBytes = size_t{1} << 20;

double seconds(auto&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <typename T>
T need(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "bench_format: {}\n", result.error().message);
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::vector<std::byte> noise(size_t size) {
  std::vector<std::byte> bytes(size);
  uint64_t state = 1;
  for (size_t at = 0; at + 8 <= size; at += 8) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(&bytes[at], &state, sizeof state);
  }
  return bytes;
}

struct Figure {
  std::string name, unit;
  double value, reference;  // the higher, the better; reference 0: none
};

Figure bench_hash(const std::vector<std::byte>& data) {
  std::vector<std::byte> copy(data.size());
  std::vector<double> hashed, copied;
  uint64_t sink = 0;
  for (int i = 0; i < kRepeats; ++i) {
    copied.push_back(seconds([&] {
      std::memcpy(copy.data(), data.data(), data.size());
      sink += static_cast<uint64_t>(copy[sink % copy.size()]);
    }));
    hashed.push_back(seconds([&] { sink += hash_bytes(data).low; }));
  }
  const double gib = static_cast<double>(data.size()) / (1 << 30);
  // The sum is used, so that nothing is optimised away.
  return {sink == 1 ? "hash " : "hash", "GiB/s", gib / median(hashed), gib / median(copied)};
}

Figure bench_blobs(const std::vector<std::byte>& data, const std::filesystem::path& folder,
                   int level, const char* name) {
  std::vector<double> stored, written;
  const auto blobs = [&](auto&& use) {
    for (size_t at = 0; at + kBlobBytes <= data.size(); at += kBlobBytes) {
      use(std::span(data).subspan(at, kBlobBytes));
    }
  };
  for (int i = 0; i < kRepeats; ++i) {
    const std::filesystem::path raw = folder / "bench_format.raw";
    written.push_back(seconds([&] {
      gfxgraph::File file = need(gfxgraph::File::open_write(raw));
      blobs([&](std::span<const std::byte> bytes) { need(file.write_all(bytes)); });
    }));
    std::filesystem::remove(raw);
    const std::filesystem::path trace = folder / "bench_format.gfxg";
    WriterOptions options;
    options.compression_level = level;
    stored.push_back(seconds([&] {
      const std::unique_ptr<Writer> writer = need(Writer::create(trace, options));
      blobs([&](std::span<const std::byte> bytes) { need(writer->add_blob(bytes)); });
      need(writer->flush());
    }));
    std::filesystem::remove(trace.string() + ".partial");
  }
  const double gib = static_cast<double>(data.size()) / (1 << 30);
  return {name, "GiB/s", gib / median(stored), gib / median(written)};
}

Figure bench_events(const std::filesystem::path& folder, int threads, uint64_t per_thread) {
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) {
    const std::filesystem::path trace = folder / "bench_format.gfxg";
    const std::unique_ptr<Writer> writer = need(Writer::create(trace));
    const std::vector<std::byte> elf(64, std::byte{1});
    const BlobId blob = need(writer->add_blob(elf));
    need(writer->add(CodeObject{1, blob, "amdgcn-amd-amdhsa--gfx1030"}));
    Kernel kernel;
    kernel.id = kernel.code_object = 1;
    kernel.name = "k";
    kernel.kernarg_size_bytes = kernel.explicit_size_bytes = 64;
    need(writer->add(kernel));
    AllocationBegin begin;
    begin.id = 1;
    begin.size_bytes = 4096;
    need(writer->add(Event{0, 0, 0, begin}));
    times.push_back(seconds([&] {
      std::vector<std::jthread> pool;
      for (int t = 0; t < threads; ++t) {
        pool.emplace_back([&] {
          Launch launch;
          launch.kernel = 1;
          launch.kernarg.resize(64);
          launch.relocations = {{0, 1, 0}, {8, 1, 64}, {16, 1, 128}};
          for (uint64_t n = 0; n < per_thread; ++n) need(writer->add(Event{0, 0, n, launch}));
        });
      }
    }));
    std::filesystem::remove(trace.string() + ".partial");
  }
  const double total = static_cast<double>(per_thread) * threads;
  return {fmt::format("events, {} thread{}", threads, threads == 1 ? "" : "s"), "M/s",
          total / median(times) / 1e6, 0};
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  size_t mib = 256;
  std::filesystem::path folder = ".";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--mib" && i + 1 < argc) {
      mib = std::max<size_t>(std::strtoul(argv[++i], nullptr, 10), 1);
    } else if (argument == "--folder" && i + 1 < argc) {
      folder = argv[++i];
    } else {
      fmt::print(stderr, "usage: bench_format [--json] [--mib N] [--folder DIR]\n");
      return 2;
    }
  }
  const std::vector<std::byte> data = noise(mib << 20);
  std::vector<Figure> figures = {bench_hash(data), bench_blobs(data, folder, 0, "blobs, plain"),
                                 bench_blobs(data, folder, 1, "blobs, zstd 1 on noise"),
                                 bench_events(folder, 1, 200000), bench_events(folder, 4, 50000)};
  figures.back().reference = figures[3].value;  // four threads against one
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  for (const Figure& figure : figures) {
    const double ratio = figure.reference > 0 ? figure.value / figure.reference : 0;
    document.push_back({{"name", figure.name},
                        {"value", figure.value},
                        {"unit", figure.unit},
                        {"reference", figure.reference},
                        {"ratio", ratio}});
    if (!json) {
      fmt::print("{:24} {:8.3f} {:6} reference {:8.3f}  ratio {:.2f}\n", figure.name, figure.value,
                 figure.unit, figure.reference, ratio);
    }
  }
  if (json) fmt::print("{}\n", document.dump(1));
  return 0;
}

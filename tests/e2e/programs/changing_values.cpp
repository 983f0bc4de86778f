// Values that change before every run, in graph mode and in batch mode, on a real HIP runtime:
// their memory must be the same after every wait. changing_values TRACE, where TRACE is values.hip,
// recorded.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/process/device.h"
#include "format/read/reader.h"
#include "replayer/step/step.h"
#include "tests/support/must.h"

namespace {

using namespace gfxgraph;            // NOLINT
using namespace gfxgraph::replayer;  // NOLINT

using testing::must;

// The launches of values.hip, by their numbers, and where their values stand.
constexpr uint32_t kLaunches = 5, kTile = 0, kLarge = 3;
constexpr uint64_t kValueOffset = 8, kLargeValueOffset = 8 + 40 * sizeof(uint32_t) + 8;

struct Product {
  std::unique_ptr<Step> step;
  std::vector<hip::Stream> streams;

  void change(uint32_t launch, uint32_t value) {
    must(step->values().set_kernarg(launch, launch == kLarge ? kLargeValueOffset : kValueOffset,
                                    std::as_bytes(std::span(&value, 1))));
  }
  std::vector<std::byte> memory() {
    must(step->wait());
    std::vector<std::byte> all;
    const auto& allocations = step->instance().program().allocations();
    for (size_t i = 0; i < allocations.size(); ++i) {
      if (allocations[i].begin == nullptr) continue;
      const size_t before = all.size();
      all.resize(before + allocations[i].extent_bytes);
      must(step->instance().memory().read(static_cast<format::AllocationId>(i + 1), 0,
                                          std::span(all).subspan(before)));
    }
    return all;
  }
};

// How the runs follow each other.
enum class Pace { kWaited, kStreamWaited, kInFlight, kTwoStreams };

void play(Product& product, Pace pace, uint32_t round) {
  const HipTable& hip = product.step->instance().hip();
  for (uint32_t run = 0; run < 12; ++run) {
    const uint32_t seed = round * 100 + run;
    for (uint32_t launch = 0; launch < kLaunches; ++launch) {
      // Not all in all runs, and now and then twice.
      if ((seed + launch) % 4 == 3) continue;
      product.change(launch, seed * 7 + launch);
      if (seed % 5 == launch) product.change(launch, seed * 11 + launch);
    }
    if (seed % 3 == 0) must(product.step->values().set_grid(kTile, hip::Dim3{4 + seed % 13, 1, 1}));
    if (pace == Pace::kTwoStreams) product.step->set_stream(product.streams[run % 2]);
    must(product.step->run());
    // The runs of two streams are ordered by whoever uses them.
    if (pace == Pace::kWaited) must(product.step->wait());
    if (pace == Pace::kStreamWaited || pace == Pace::kTwoStreams)
      hip.hipStreamSynchronize(product.step->stream());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    // By its path, or as scripts/with-runtime has it found.
    const auto path = private_library("libhsa-runtime64.so.1");
    if (!path || dlopen(path->c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
      dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_GLOBAL);
    const auto program = must(Program::build(must(format::Trace::open(argv[1]))));
    const std::shared_ptr<const HipLibrary> library = must(HipLibrary::load(0));
    std::vector<Product> products;
    for (const Mode mode : {Mode::kBatch, Mode::kGraph}) {
      LoadOptions options;
      options.mode = mode;
      Product& product = products.emplace_back();
      product.step = must(Step::load(program, library, options));
      for (int i = 0; i < 2; ++i) {
        must(library->check(library->table().hipStreamCreateWithFlags(
                                &product.streams.emplace_back(), hip::kStreamNonBlocking),
                            "a stream"));
      }
    }
    uint32_t round = 0;
    for (int i = 0; i < 3; ++i) {
      for (const Pace pace :
           {Pace::kWaited, Pace::kStreamWaited, Pace::kInFlight, Pace::kTwoStreams}) {
        ++round;
        for (Product& product : products) {
          play(product, pace, round);
          product.step->set_stream(product.step->own_stream().value());
        }
        if (products[0].memory() != products[1].memory()) {
          throw std::runtime_error(
              fmt::format("round {}: graph mode left other bytes than batch, {} "
                          "launches have their arguments apart",
                          round, products[1].step->graph_statistics().launches_apart));
        }
      }
    }
    const GraphStatistics statistics = products[1].step->graph_statistics();
    if (statistics.launches_apart != kLaunches) {
      throw std::runtime_error(fmt::format("{} of {} launches have their arguments apart",
                                           statistics.launches_apart, kLaunches));
    }
    for (Product& product : products) {
      product.step.reset();
      for (const hip::Stream stream : product.streams) library->table().hipStreamDestroy(stream);
    }
    std::printf("changing_values: PASS, %llu updates of nodes\n",
                static_cast<unsigned long long>(statistics.nodes_updated));
    return 0;
  } catch (const std::exception& error) {
    std::printf("changing_values: FAIL: %s\n", error.what());
    return 1;
  }
}

// What the proof of order costs, and what it removes, of traces: CPU time of the analysis by
// launch, and beside that of reading the trace; edges, barrier bits of packets, and the longest
// chain in launches and in wave instructions of the emulator: what a GPU of infinite width would
// execute one after another. No figure is a time of a GPU.
//   bench_order [--no-chain] TRACE...
// --no-chain: executes nothing. Times are the best of five.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "check/order/data_order.h"
#include "footprint/needed_order.h"
#include "format/read/reader.h"
#include "replayer/program/dag.h"
#include "tests/support/must.h"

namespace gfxgraph::footprint {
namespace {

using gfxgraph::testing::must;

constexpr int kRepeats = 5;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <typename Call>
double best_us(const Call& call) {
  double best = 1e300;
  for (int i = 0; i < kRepeats; ++i) {
    const double begin = cpu_seconds();
    call();
    best = std::min(best, (cpu_seconds() - begin) * 1e6);
  }
  return best;
}

double removed(uint64_t before, uint64_t after) {
  return before == 0 ? 0 : 100 - 100 * static_cast<double>(after) / static_cast<double>(before);
}

// In wave instructions.
struct Chains {
  uint64_t recorded = 0, needed = 0, all = 0;
};
Chains chains_of(const format::Trace& trace, const NeededOrder& order) {
  const check::DataOrderReport data = must(check::order_by_data(trace, check::BudgetLimits{}));
  std::vector<uint64_t> cost(order.launches);
  Chains chains;
  for (const uint32_t node : data.launches) {
    if (data.nodes[node].launch < cost.size())
      cost[data.nodes[node].launch] = data.nodes[node].wave_instructions;
  }
  std::vector<uint64_t> recorded(order.work.size()), needed(order.work.size());
  for (size_t n = 0; n < order.work.size(); ++n) {
    const Work& work = order.work[n];
    const uint64_t own = work.kind == Work::Kind::kLaunch ? cost[work.launch] : 0;
    for (const uint32_t earlier : work.recorded)
      recorded[n] = std::max(recorded[n], recorded[earlier]);
    for (const uint32_t earlier : work.needed) needed[n] = std::max(needed[n], needed[earlier]);
    chains.recorded = std::max(chains.recorded, recorded[n] += own);
    chains.needed = std::max(chains.needed, needed[n] += own);
    chains.all += own;
  }
  return chains;
}

void measure(const char* path, bool chain) {
  const format::ReadOptions options{.pointers = format::PointerUse::kProven};
  std::shared_ptr<const format::Trace> trace;
  const double read_us = best_us([&] { trace = must(format::Trace::open(path, options)); });
  NeededOrder order;
  const double us = best_us([&] { order = must(needed_order(*trace)); });
  uint64_t unknown = 0;
  std::vector<std::vector<uint32_t>> needs;
  for (const Work& work : order.work) {
    unknown += work.unknown != 0;
    needs.push_back(work.needed);
  }
  std::vector<uint32_t> packet_of(needs.size());
  std::iota(packet_of.begin(), packet_of.end(), 0);
  const std::vector<bool> barriers =
      replayer::needed_barriers(needs, packet_of, static_cast<uint32_t>(needs.size()),
                                std::span(packet_of).first(std::min<size_t>(1, needs.size())));
  const auto bits = static_cast<uint64_t>(std::ranges::count(barriers, true));
  fmt::print("{}: {} launches, {} unknown, {} kernels with other arguments\n", path, order.launches,
             unknown, order.analysed);
  fmt::print(
      "  analysis {:.2f} us a launch, {:.1f} us for each of these kernels, {:.2f} of reading "
      "the trace\n",
      us / static_cast<double>(std::max<uint64_t>(order.launches, 1)),
      us / static_cast<double>(std::max<uint64_t>(order.analysed, 1)), us / read_us);
  fmt::print(
      "  edges {} recorded, {} needed; barrier bits and acquire fences {} to {} ({:.0f} % "
      "removed), release fences as before\n",
      order.edges_recorded, order.edges_needed, order.work.size(), bits,
      removed(order.work.size(), bits));
  fmt::print("  longest chain {} to {} launches ({:.0f} % less)\n", order.longest_recorded,
             order.longest_needed, removed(order.longest_recorded, order.longest_needed));
  if (!chain) return;
  const Chains chains = chains_of(*trace, order);
  fmt::print("  longest chain {} to {} of {} wave instructions ({:.0f} % less)\n", chains.recorded,
             chains.needed, chains.all, removed(chains.recorded, chains.needed));
}

}  // namespace
}  // namespace gfxgraph::footprint

int main(int argc, char** argv) {
  bool chain = true;
  for (int n = 1; n < argc; ++n) {
    if (std::strcmp(argv[n], "--no-chain") == 0) {
      chain = false;
      continue;
    }
    try {
      gfxgraph::footprint::measure(argv[n], chain);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}: {}\n", argv[n], error.what());
      return 1;
    }
  }
  return 0;
}

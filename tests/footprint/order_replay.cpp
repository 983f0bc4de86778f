// order_replay [--runs N] [--fault KIND] TRACE...: replays traces by their proven order, on the
// software agent, and compares memory with the recording: in mode graph; in mode packets, which the
// agent runs last to first where barrier bits allow it ($GFXGRAPH_PACKET_ORDER=reversed); and one
// operation after another in N orders that the proven one allows, the most hostile one first.
//
// --fault plants a wrong footprint, for each kernel in turn, and counts which are seen:
//   write-as-read  its writes count as reads     short  each range of writes lacks its last element
//   alias          its first pointer's accesses are lost    unknown  nothing, if it is unknown
// by any of the replays, by the emulator's accesses (sound.h), or by the data that they share.
//
// A line for each trace, also for one that no replay takes. Exit code 0: all identical; with
// --fault always.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "footprint/needed_order.h"
#include "format/walk.h"
#include "replayer/check/verify.h"
#include "replayer/program/dag.h"
#include "replayer/program/identity.h"
#include "replayer/step/step_check.h"
#include "sound.h"
#include "tests/support/must.h"

namespace gfxgraph::footprint {
namespace {

using gfxgraph::testing::must;
using order::NeededEdges;
using replayer::Dag;
using replayer::Mode;
using replayer::Program;
using replayer::Session;
using replayer::Step;

struct Opened {
  std::shared_ptr<const format::Trace> trace;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const replayer::HipLibrary> library;
};

// What no replay takes.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::shared_ptr<Session> load(const Opened& opened, std::shared_ptr<const NeededEdges> edges) {
  replayer::SessionOptions options;
  options.zero_unknown = true;
  Result<std::shared_ptr<Session>> session = Session::load(opened.program, opened.library, options);
  if (!session && session.error().status == Status::kUnsupported)
    throw Refused(session.error().message);
  std::shared_ptr<Session> loaded = must(std::move(session));
  must(loaded->use_order(std::move(edges)));
  return loaded;
}

std::string compared(Step& step, replayer::StepCheck& check) {
  const replayer::VerifyReport report = must(check.verify());
  if (!report.differs()) return {};
  return fmt::format("{} buffers and {} copies differ", report.different, report.copies_different) +
         (step.executor().order_use().reason == nullptr ? "" : " by the recorded order");
}

// Empty: identical, or the mode refuses the program.
std::string replay(const Opened& opened, std::shared_ptr<const NeededEdges> edges, Mode mode) {
  const std::shared_ptr<Session> session = load(opened, std::move(edges));
  replayer::StepOptions options;
  options.mode = mode;
  Result<std::unique_ptr<Step>> step = Step::prepare(session, opened.program, options);
  if (!step && step.error().status == Status::kUnsupported) return {};
  if (!step) return step.error().message;
  if (!(*step)->executor().order_use().proven) return "the proof does not hold";
  replayer::StepCheck check(**step);
  for (int run = 0; run < 2; ++run) {
    must((*step)->restore());
    must((*step)->run());
    must((*step)->wait());
    if (std::string wrong = compared(**step, check); !wrong.empty()) return wrong;
  }
  return {};
}

// Operations [first, first + count) in an order that the edges allow. Seed 0: always the last that
// may run.
std::vector<uint32_t> shuffled(const Dag& dag, uint32_t first, uint32_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> open(count), ready, result;
  std::vector<std::vector<uint32_t>> after(count);
  for (uint32_t i = 0; i < count; ++i) {
    for (const uint32_t earlier : dag.dependencies[first + i]) {
      if (earlier < first) continue;
      ++open[i];
      after[earlier - first].push_back(i);
    }
    if (open[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const auto at = seed == 0 ? std::ranges::max_element(ready)
                              : ready.begin() + static_cast<ptrdiff_t>(random() % ready.size());
    const uint32_t next = *at;
    ready.erase(at);
    result.push_back(first + next);
    for (const uint32_t one : after[next])
      if (--open[one] == 0) ready.push_back(one);
  }
  return result;
}

std::string shuffle(const Opened& opened, std::shared_ptr<const NeededEdges> edges, uint32_t runs) {
  const std::shared_ptr<Session> session = load(opened, edges);
  replayer::StepOptions options;
  options.mode = Mode::kBatch;
  const std::unique_ptr<Step> step = must(Step::prepare(session, opened.program, options));
  replayer::StepCheck check(*step);
  replayer::Instance& instance = step->instance();
  const Dag dag =
      replayer::needed_dag(*opened.program, replayer::build_dag(*opened.program), *edges);
  for (uint32_t seed = 0; seed < runs; ++seed) {
    must(step->restore());
    session->changed();
    for (const replayer::Segment& segment : opened.program->segments()) {
      if (segment.host.any()) {
        must(session->library().wait_for(step->stream()));
        must(instance.host_acts(segment.host));
      }
      for (const uint32_t one :
           shuffled(dag, segment.first_operation, segment.operation_count, seed)) {
        if (const auto code = instance.submit(one, step->stream()); code != 0)
          return instance.failure(code, one).value().message;
      }
    }
    must(session->library().wait_for(step->stream()));
    instance.collect_results();
    if (std::string wrong = compared(*step, check); !wrong.empty())
      return fmt::format("order {}: {}", seed, wrong);
  }
  return {};
}

// The first replay that differs.
std::string first_wrong(const Opened& opened, const std::shared_ptr<const NeededEdges>& edges,
                        uint32_t runs) {
  if (std::string wrong = shuffle(opened, edges, runs); !wrong.empty()) return "shuffled: " + wrong;
  if (std::string wrong = replay(opened, edges, Mode::kGraph); !wrong.empty())
    return "graph: " + wrong;
  if (std::string wrong = replay(opened, edges, Mode::kPackets); !wrong.empty())
    return "packets: " + wrong;
  return {};
}

std::shared_ptr<const NeededEdges> edges_of(const Opened& opened, const NeededOrder& order) {
  NeededEdges edges = needed_edges(order);
  edges.trace = replayer::identity_of(*opened.program);
  return std::make_shared<const NeededEdges>(std::move(edges));
}

// False: there is nothing of this kind in the footprint.
bool plant(const std::string& kind, LaunchFootprint& footprint) {
  if (kind == "unknown") {
    if (footprint.unknown.empty()) return false;
    footprint = {};
    return true;
  }
  if (kind == "alias") {
    if (footprint.bytes.empty()) return false;
    const format::AllocationId lost = footprint.bytes.front().allocation;
    std::erase_if(footprint.bytes, [&](const Bytes& one) { return one.allocation == lost; });
    return true;
  }
  bool any = false;
  for (Bytes& one : footprint.bytes) {
    if (one.kind == AccessKind::kRead) continue;
    any = true;
    if (kind == "write-as-read")
      one.kind = AccessKind::kRead;
    else
      one.end -= std::min<uint64_t>(one.end - one.begin, 4);
  }
  return any;
}

struct Kills {
  unsigned planted = 0, by_access = 0, by_replay = 0, by_data = 0, seen = 0, without_effect = 0;
};

void plant_each(const Opened& opened, const std::string& kind, uint32_t runs, Kills& kills) {
  std::set<format::KernelId> kernels;
  format::for_each_launch(*opened.trace, [&](const format::PlacedLaunch& placed) {
    kernels.insert(placed.launch->kernel);
  });
  const NeededOrder right = must(needed_order(*opened.trace));
  for (const format::KernelId kernel : kernels) {
    bool any = false;
    const PlantFault fault = [&](const format::Launch& launch, LaunchFootprint& footprint) {
      if (launch.kernel == kernel) any = plant(kind, footprint) || any;
    };
    const NeededOrder wrong = must(needed_order(*opened.trace, fault));
    if (!any) continue;
    ++kills.planted;
    const Soundness sound = must(soundness(*opened.trace, fault));
    bool same = true;
    for (size_t n = 0; n < right.work.size(); ++n)
      same = same && right.work[n].needed == wrong.work[n].needed;
    const bool by_access = sound.outside != 0;
    const bool by_data = sound.unordered != 0;
    const bool by_replay = !same && !first_wrong(opened, edges_of(opened, wrong), runs).empty();
    kills.by_access += by_access;
    kills.by_data += by_data;
    kills.by_replay += by_replay;
    kills.without_effect += same;
    if (by_access || by_data || by_replay)
      ++kills.seen;
    else
      fmt::print("  {} of {} was not seen{}\n", kind, opened.trace->kernels()[kernel - 1].name,
                 same ? ": the order is the same" : "");
  }
}

}  // namespace
}  // namespace gfxgraph::footprint

int main(int argc, char** argv) {
  using namespace gfxgraph;
  using namespace gfxgraph::footprint;
  ::setenv("GFXGRAPH_PACKET_ORDER", "reversed", 1);
  uint32_t runs = 4;
  std::string fault;
  Kills kills;
  int code = 0;
  for (int n = 1; n < argc; ++n) {
    if (std::strcmp(argv[n], "--runs") == 0 && n + 1 < argc) {
      runs = static_cast<uint32_t>(std::strtoul(argv[++n], nullptr, 10));
      continue;
    }
    if (std::strcmp(argv[n], "--fault") == 0 && n + 1 < argc) {
      fault = argv[++n];
      continue;
    }
    try {
      Opened opened;
      opened.trace = must(format::Trace::open(argv[n], {.pointers = format::PointerUse::kProven}));
      opened.program = must(Program::build(opened.trace));
      if (const Result<void> whole = opened.program->check_complete(); !whole)
        throw Refused(whole.error().message);
      opened.library =
          must(replayer::HipLibrary::load(opened.trace->environment().hip_runtime_version));
      if (!fault.empty()) {
        plant_each(opened, fault, runs, kills);
        continue;
      }
      const NeededOrder order = must(needed_order(*opened.trace));
      const std::string wrong = first_wrong(opened, edges_of(opened, order), runs);
      fmt::print("{}: {} launches, edges {} recorded, {} needed: {}\n", argv[n], order.launches,
                 order.edges_recorded, order.edges_needed, wrong.empty() ? "identical" : wrong);
      if (!wrong.empty()) code = 1;
    } catch (const Refused& refused) {
      fmt::print("{}: refused: {}\n", argv[n], refused.what());
    } catch (const std::exception& error) {
      fmt::print("{}: {}\n", argv[n], error.what());
      code = 1;
    }
  }
  if (!fault.empty())
    fmt::print(
        "{}: {} planted, {} seen ({} by accesses, {} by shared data, {} by replays), {} "
        "without effect on the order\n",
        fault, kills.planted, kills.seen, kills.by_access, kills.by_data, kills.by_replay,
        kills.without_effect);
  return code;
}

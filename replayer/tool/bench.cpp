#include "replayer/tool/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/amount.h"
#include "base/cli/exit_code.h"
#include "base/cli/print.h"
#include "base/cli/text_table.h"
#include "replayer/step/timing.h"
#include "replayer/tool/interrupt.h"
#include "replayer/tool/report.h"

namespace gfxgraph::replayer {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Two events around what a stream gets.
class StreamTimer {
 public:
  explicit StreamTimer(const HipLibrary& library) : library_(library), hip_(library.table()) {}
  ~StreamTimer() {
    if (begin_ != nullptr) hip_.hipEventDestroy(begin_);
    if (end_ != nullptr) hip_.hipEventDestroy(end_);
  }
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;

  bool usable() const { return hip_.hipEventElapsedTime != nullptr; }
  Result<double> time(Step& step) {
    if (begin_ == nullptr) GFXGRAPH_TRY(check(hip_.hipEventCreateWithFlags(&begin_, 0)));
    if (end_ == nullptr) GFXGRAPH_TRY(check(hip_.hipEventCreateWithFlags(&end_, 0)));
    GFXGRAPH_TRY(check(hip_.hipEventRecord(begin_, step.stream())));
    GFXGRAPH_TRY(step.run());
    GFXGRAPH_TRY(check(hip_.hipEventRecord(end_, step.stream())));
    GFXGRAPH_TRY(step.wait());
    GFXGRAPH_TRY(check(hip_.hipEventSynchronize(end_)));
    float milliseconds = 0;
    GFXGRAPH_TRY(check(hip_.hipEventElapsedTime(&milliseconds, begin_, end_)));
    return 1000.0 * static_cast<double>(milliseconds);
  }

 private:
  Result<void> check(hip::Error error) { return library_.check(error, "events of --bench"); }

  const HipLibrary& library_;
  const HipTable& hip_;
  hip::Event begin_ = nullptr;
  hip::Event end_ = nullptr;
};

Result<VerifyReport> run_and_verify(Step& step, const RangeEnd* end) {
  GFXGRAPH_TRY(step.restore());
  GFXGRAPH_TRY(step.run());
  GFXGRAPH_TRY(step.wait());
  StepCheck check(step);
  return verify_step(step, check, end);
}

Result<void> time_one(Step& step, StreamTimer& timer, BenchVariant& variant) {
  GFXGRAPH_TRY(step.restore());
  const Clock::time_point start = Clock::now();
  GFXGRAPH_TRY(step.run());
  variant.submit.push_back(microseconds_since(start));
  GFXGRAPH_TRY(step.wait());
  variant.end_to_end.push_back(microseconds_since(start));
  if (step.mode() == Mode::kEager || !timer.usable()) return {};
  GFXGRAPH_TRY(step.restore());
  GFXGRAPH_ASSIGN_OR_RETURN(const double device_us, timer.time(step));
  variant.device.push_back(device_us);
  return {};
}

ordered_json median_or_null(const std::vector<double>& samples) {
  return samples.empty() ? ordered_json(nullptr) : ordered_json(summarise(samples).median);
}

ordered_json timing_json(const std::vector<double>& samples) {
  if (samples.empty()) return nullptr;
  const Timing timing = summarise(samples);
  std::vector<double> directions[2];
  for (size_t i = 0; i < samples.size(); ++i)
    directions[is_reversed(i) ? 1 : 0].push_back(samples[i]);
  return {{"median", timing.median},
          {"p10", timing.p10},
          {"p90", timing.p90},
          {"median_forward", median_or_null(directions[0])},
          {"median_reversed", median_or_null(directions[1])},
          {"samples", samples}};
}

const BenchVariant* find(const BenchFacts& facts, Mode mode) {
  for (const BenchVariant& variant : facts.variants)
    if (variant.mode == mode && variant.timed()) return &variant;
  return nullptr;
}

double build_us(const BenchVariant& graph) {
  return graph.load.build_us + graph.load.instantiate_us;
}

struct BreakEven {
  Mode against = Mode::kBatch;
  std::optional<uint64_t> runs;
};
std::vector<BreakEven> break_evens(const BenchFacts& facts) {
  std::vector<BreakEven> result;
  const BenchVariant* const graph = find(facts, Mode::kGraph);
  if (graph == nullptr) return result;
  for (const Mode mode : {Mode::kEager, Mode::kBatch, Mode::kPackets}) {
    const BenchVariant* const other = find(facts, mode);
    if (other == nullptr) continue;
    result.push_back({mode, break_even(build_us(*graph), summarise(graph->end_to_end).median,
                                       summarise(other->end_to_end).median)});
  }
  return result;
}

// The median of the ratios in each round, which excludes effects that slow down whole rounds.
double ratio(const BenchVariant& variant, const BenchVariant& base) {
  std::vector<double> ratios;
  for (size_t i = 0; i < variant.end_to_end.size(); ++i)
    ratios.push_back(variant.end_to_end[i] / base.end_to_end[i]);
  return summarise(std::move(ratios)).median;
}

TextRow time_row(std::string mode, std::string outputs, std::string what,
                 const std::vector<double>& samples, std::string against) {
  const Timing timing = summarise(samples);
  const auto number = [](double time) { return fmt::format("{:.1f}", time); };
  return {std::move(mode),    std::move(outputs), std::move(what),   number(timing.median),
          number(timing.p10), number(timing.p90), std::move(against)};
}

std::string outcome(const BenchVariant& variant) {
  if (!variant.refused.empty()) return "refused";
  if (variant.identical()) return "identical";
  const bool differs = variant.first->differs() || (variant.last && variant.last->differs());
  return differs ? "different" : "not compared";
}

}  // namespace

bool BenchVariant::identical() const {
  return first && first->identical_throughout() && (!last || last->identical_throughout());
}

std::vector<size_t> bench_order(size_t count, size_t round) {
  std::vector<size_t> order;
  for (size_t i = 0; i < count; ++i) order.push_back((round / 2 + i) % count);
  if (is_reversed(round)) std::ranges::reverse(order);
  return order;
}

std::optional<uint64_t> break_even(double build_us, double graph_us, double other_us) {
  if (graph_us >= other_us) return std::nullopt;
  return static_cast<uint64_t>(std::ceil(build_us / (other_us - graph_us)));
}

Result<BenchFacts> bench(std::shared_ptr<Session> session, std::shared_ptr<const Program> program,
                         const BenchRequest& request) {
  const auto at = [&](const std::string& text) {
    if (request.progress.at) request.progress.at(text);
  };
  BenchFacts facts;
  facts.launches = program->launch_count();
  facts.operations = program->operations().size();
  facts.rounds_asked = request.rounds;
  std::vector<std::unique_ptr<Step>> steps;
  for (const Mode mode : request.modes) {
    at(fmt::format("preparing mode {}", mode_name(mode)));
    BenchVariant& variant = facts.variants.emplace_back();
    variant.mode = mode;
    StepOptions options = request.step;
    options.mode = mode;
    Result<std::unique_ptr<Step>> step = Step::prepare(session, program, options);
    if (!step && step.error().status != Status::kUnsupported)
      return tl::unexpected<Error>(std::move(step).error());
    if (!step) {
      variant.refused = step.error().message;
      steps.emplace_back();
      continue;
    }
    variant.load = (*step)->load_times();
    GFXGRAPH_ASSIGN_OR_RETURN(variant.first, run_and_verify(**step, request.range_end));
    const Instance& instance = (*step)->instance();
    facts.device = instance.device();
    facts.runtime_path = instance.library().path();
    facts.runtime_version = instance.library().runtime_version();
    steps.push_back(*std::move(step));
  }
  std::optional<StreamTimer> timer;
  const InterruptWatch watch;
  for (size_t round = 0; round < request.rounds && !watch.interrupted(); ++round) {
    if (request.progress.count) request.progress.count("round", round, request.rounds);
    for (const size_t place : bench_order(steps.size(), round)) {
      BenchVariant& variant = facts.variants[place];
      if (!steps[place] || !variant.identical()) continue;
      if (!timer) timer.emplace(steps[place]->instance().library());
      GFXGRAPH_TRY(time_one(*steps[place], *timer, variant));
    }
    ++facts.rounds;
  }
  at("comparing the last run");
  for (size_t place = 0; place < steps.size(); ++place) {
    if (steps[place] && facts.variants[place].identical()) {
      GFXGRAPH_ASSIGN_OR_RETURN(facts.variants[place].last,
                                run_and_verify(*steps[place], request.range_end));
    }
  }
  return facts;
}

std::string bench_text(const BenchFacts& facts) {
  std::string text = format_printable(
      "{}{}: {}, {}; {} of all modes, in rotated order, every second "
      "round backwards\n",
      facts.trace_path, facts.range.empty() ? "" : " range " + facts.range,
      counted(facts.launches, "launch"), counted(facts.operations, "operation"),
      counted(facts.rounds, "round"));
  if (facts.interrupted()) {
    text += fmt::format("interrupted after {} of {}\n", facts.rounds,
                        counted(facts.rounds_asked, "round"));
  }
  text += fmt::format("times in us; submit and end to end on the host{}\n",
                      facts.emulated ? "; the device is emulated, these are no GPU times" : "");
  const BenchVariant* const batch = find(facts, Mode::kBatch);
  const auto rows = [&](const TextTable::Visit& visit) {
    for (const BenchVariant& variant : facts.variants) {
      const std::string mode(mode_name(variant.mode));
      if (!variant.timed()) {
        visit({mode, outcome(variant),
               variant.refused.empty() ? "no times: not everything was compared and identical"
                                       : printable(variant.refused)});
        continue;
      }
      visit(time_row(mode, outcome(variant), "submit", variant.submit, ""));
      visit(time_row("", "", "end to end", variant.end_to_end,
                     batch == nullptr ? "" : fmt::format("{:.3f}", ratio(variant, *batch))));
      if (!variant.device.empty()) visit(time_row("", "", "device", variant.device, ""));
    }
  };
  const TextTable table({{.name = "mode", .least = 8},
                         {.name = "outputs", .least = 12},
                         {.name = "time", .least = 10},
                         {.name = "median", .right = true, .least = 10},
                         {.name = "p10", .right = true, .least = 10},
                         {.name = "p90", .right = true, .least = 10},
                         {.name = batch == nullptr ? "" : "/ batch", .right = true}},
                        rows, terminal_columns(stdout), 0, 2);
  text += table.heading() + "\n";
  rows([&](const TextRow& row) { text += table.line(row) + "\n"; });
  if (const BenchVariant* const graph = find(facts, Mode::kGraph)) {
    text += fmt::format("building the graph took {:.1f} us", build_us(*graph));
    for (const BreakEven& one : break_evens(facts)) {
      text += one.runs ? fmt::format("; saved against {} after {}", mode_name(one.against),
                                     counted(*one.runs, "run"))
                       : fmt::format("; never saved against {}", mode_name(one.against));
    }
    text += "\n";
  }
  return text;
}

std::string bench_json(const BenchFacts& facts) {
  ordered_json variants = ordered_json::array();
  for (const BenchVariant& variant : facts.variants) {
    ordered_json entry = {{"mode", mode_name(variant.mode)}, {"outputs", outcome(variant)}};
    if (!variant.refused.empty()) {
      entry["refused"] = variant.refused;
    } else {
      const VerifyReport& report = variant.last ? *variant.last : *variant.first;
      entry["buffers"] = {{"total", report.buffers.size()},
                          {"identical", report.identical},
                          {"different", report.different},
                          {"uncompared", report.uncompared},
                          {"compared_with_replay", report.by_replay}};
      entry["copies_to_host"] = {{"total", report.copies.size()},
                                 {"identical", report.copies_identical},
                                 {"different", report.copies_different},
                                 {"uncompared", report.copies_uncompared}};
    }
    if (variant.timed()) {
      entry["times_us"] = {
          {"load", variant.load.load_us},          {"restore", variant.load.restore_us},
          {"build", variant.load.build_us},        {"instantiate", variant.load.instantiate_us},
          {"submit", timing_json(variant.submit)}, {"end_to_end", timing_json(variant.end_to_end)},
          {"device", timing_json(variant.device)}};
    }
    variants.push_back(std::move(entry));
  }
  ordered_json break_even = ordered_json::array();
  for (const BreakEven& one : break_evens(facts)) {
    break_even.push_back({{"against", mode_name(one.against)},
                          {"runs", one.runs ? ordered_json(*one.runs) : ordered_json(nullptr)}});
  }
  const ordered_json json = {
      {"schema", "gfxgraph-bench/1"},
      {"trace", facts.trace_path},
      {"range", facts.range},
      {"device",
       {{"name", facts.device.name}, {"arch", facts.device.arch}, {"emulated", facts.emulated}}},
      {"hip",
       {{"library", facts.runtime_path},
        {"runtime_version", facts.runtime_version},
        {"version", version_text(facts.runtime_version)}}},
      {"launches", facts.launches},
      {"operations", facts.operations},
      {"rounds", facts.rounds},
      {"rounds_asked", facts.rounds_asked},
      {"variants", std::move(variants)},
      {"graph_break_even", std::move(break_even)}};
  return json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

int bench_exit_code(const BenchFacts& facts) {
  int code = facts.interrupted() ? kExitInterrupted : kExitOk;
  for (const BenchVariant& variant : facts.variants) {
    const std::string what = outcome(variant);
    if (what == "different") return kExitFailed;
    if (what == "not compared") code = kExitDataLost;
  }
  return code;
}

}  // namespace gfxgraph::replayer

#include "tools/diff/bench_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/cli/print.h"

namespace gfxgraph::tools {
namespace {

using Json = nlohmann::ordered_json;
using Verdict = BenchChange::Verdict;

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster: return "faster";
    case Verdict::kSlower: return "slower";
    case Verdict::kWithinSpread: return "within the spread";
    case Verdict::kOtherWork: return "not comparable";
  }
  return "";
}

bool is_bench(const Json& json) {
  return json.is_object() && json.value("schema", Json()) == "gfxgraph-bench/1" &&
         json.contains("variants") && json["variants"].is_array();
}

std::string text_of(const Json& json, const char* name) {
  if (!json.is_object() || !json.contains(name)) return {};
  return json[name].is_string() ? json[name].get<std::string>() : json[name].dump();
}

std::map<std::string, const Json*> modes_of(const Json& bench) {
  std::map<std::string, const Json*> modes;
  for (const Json& variant : bench["variants"]) modes[text_of(variant, "mode")] = &variant;
  return modes;
}

struct Spread {
  double median = 0, p10 = 0, p90 = 0;
};
std::optional<Spread> spread_of(const Json& variant, const char* kind) {
  if (!variant.is_object() || !variant.contains("times_us")) return std::nullopt;
  const Json& times = variant["times_us"];
  if (!times.is_object() || !times.contains(kind) || !times[kind].is_object()) return std::nullopt;
  Spread spread;
  for (const auto& [name, value] : {std::pair("median", &spread.median),
                                    std::pair("p10", &spread.p10), std::pair("p90", &spread.p90)}) {
    if (!times[kind].contains(name) || !times[kind][name].is_number()) return std::nullopt;
    *value = times[kind][name].get<double>();
  }
  return spread;
}

double percent(const BenchChange& change) {
  return change.first_median == 0 ? 0 : 100 * (change.second_median / change.first_median - 1);
}

}  // namespace

bool BenchDiff::same() const {
  return outputs.empty() && work.empty() &&
         std::ranges::all_of(times, [](const BenchChange& change) {
           return change.verdict == Verdict::kWithinSpread;
         });
}

bool BenchDiff::worse(double limit) const {
  return !outputs.empty() || !work.empty() ||
         std::ranges::any_of(times, [limit](const BenchChange& change) {
           return change.verdict == Verdict::kSlower && percent(change) > limit;
         });
}

Result<BenchDiff> diff_benches(const Json& first, const Json& second) {
  if (!is_bench(first) || !is_bench(second)) {
    return fail(Status::kInvalidArgument,
                "only two traces, or two results of gfxgraph-replay --bench --json, can be "
                "compared");
  }
  BenchDiff diff;
  const auto compare = [&](const char* name, std::vector<std::string>& differences) {
    const std::string a = text_of(first, name), b = text_of(second, name);
    if (a != b) differences.push_back(fmt::format("{}: {}, then {}", name, a, b));
  };
  for (const char* const name : {"device", "hip"}) compare(name, diff.environment);
  for (const char* const name : {"launches", "operations", "range"}) compare(name, diff.work);
  const auto before = modes_of(first), after = modes_of(second);
  for (const auto& [mode, variant] : before) {
    const auto other = after.find(mode);
    const std::string was = text_of(*variant, "outputs");
    const std::string is = other == after.end() ? "absent" : text_of(*other->second, "outputs");
    if (was != is) diff.outputs.push_back(fmt::format("mode {}: {}, then {}", mode, was, is));
    if (other == after.end()) continue;
    for (const char* const kind : {"submit", "end_to_end", "device"}) {
      const auto a = spread_of(*variant, kind), b = spread_of(*other->second, kind);
      if (!a || !b) continue;
      BenchChange change{mode, kind, a->median, b->median};
      if (b->p90 < a->p10) change.verdict = Verdict::kFaster;
      if (b->p10 > a->p90) change.verdict = Verdict::kSlower;
      if (!diff.work.empty()) change.verdict = Verdict::kOtherWork;
      diff.times.push_back(change);
    }
  }
  for (const auto& [mode, variant] : after) {
    if (!before.contains(mode)) {
      diff.outputs.push_back(
          fmt::format("mode {}: absent, then {}", mode, text_of(*variant, "outputs")));
    }
  }
  return diff;
}

std::string bench_diff_text(const BenchDiff& diff) {
  std::string text;
  for (const std::string& line : diff.environment) text += format_printable("{}\n", line);
  for (const std::string& line : diff.work)
    text += format_printable("not the same work, times are not comparable: {}\n", line);
  for (const std::string& line : diff.outputs) text += format_printable("outputs of {}\n", line);
  text += fmt::format("{:<8} {:<11} {:>12} {:>12} {:>9}\n", "mode", "median us", "first", "second",
                      "change");
  for (const BenchChange& change : diff.times) {
    text += format_printable("{:<8} {:<11} {:>12.1f} {:>12.1f} {:>+8.1f}%  {}\n", change.mode,
                             change.kind, change.first_median, change.second_median,
                             percent(change), name_of(change.verdict));
  }
  if (diff.same()) text += "no difference beyond the spread (p10 to p90)\n";
  return text;
}

Json bench_diff_json(const BenchDiff& diff) {
  Json times = Json::array();
  for (const BenchChange& change : diff.times) {
    times.push_back({{"mode", change.mode},
                     {"kind", change.kind},
                     {"first_median_us", change.first_median},
                     {"second_median_us", change.second_median},
                     {"change_percent", percent(change)},
                     {"verdict", name_of(change.verdict)}});
  }
  return {
      {"schema", "gfxgraph-bench-diff/1"}, {"same", diff.same()}, {"environment", diff.environment},
      {"outputs", diff.outputs},           {"work", diff.work},   {"times", std::move(times)}};
}

}  // namespace gfxgraph::tools

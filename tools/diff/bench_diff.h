// Compares two results of gfxgraph-replay --bench.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::tools {

// A kind of time of one mode, in microseconds.
struct BenchChange {
  std::string mode, kind;
  double first_median = 0, second_median = 0;
  // Faster and slower: beyond the spread, nine of ten of one lie below nine of ten of the other.
  enum class Verdict { kWithinSpread, kFaster, kSlower, kOtherWork };
  Verdict verdict = Verdict::kWithinSpread;
};

struct BenchDiff {
  std::vector<std::string> environment;  // other differences: "device: ..."
  std::vector<BenchChange> times;        // of modes that have times in both
  std::vector<std::string> outputs;      // "mode graph: identical, then different"
  std::vector<std::string> work;         // "launches: 5, then 6": times of different work
  bool same() const;
  // Outputs or work differ, or a time of the second is longer beyond the spread and by more than
  // that.
  bool worse(double percent) const;
};

// kInvalidArgument: one is not such a result, or has other fields.
Result<BenchDiff> diff_benches(const nlohmann::ordered_json& first,
                               const nlohmann::ordered_json& second);
std::string bench_diff_text(const BenchDiff& diff);
nlohmann::ordered_json bench_diff_json(const BenchDiff& diff);

}  // namespace gfxgraph::tools

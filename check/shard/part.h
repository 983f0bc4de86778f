// A shard of a check: its part of a list of traces, and the file that holds its reports until all
// parts are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/report/report.h"

namespace gfxgraph::check {

// Shard `number` (from 1) of `of`.
struct Shard {
  uint32_t number = 1;
  uint32_t of = 1;

  // Whether the trace at this place of the list, from 0, is its. Each one is exactly one shard's,
  // by its place alone: the same on every machine.
  bool has(size_t place) const { return place % of == number - 1; }
};
// Parses "K/N", 1 <= K <= N <= 1000000; else kInvalidArgument.
Result<Shard> parse_shard(std::string_view text);

// The report of one trace of the list.
struct PartTrace {
  uint64_t place = 0;
  TraceReport trace;
  uint32_t exit_code = 0;  // of a check of this trace alone
};

// An option that the reports depend on, and its value as text.
struct PartOption {
  std::string name;
  std::string value;
};

// All of it but `traces` and `used` is the same in all parts of a run, except `shard`.
struct Part {
  std::string version;  // of gfxgraph
  Shard shard;
  std::vector<std::string> names;  // of all traces of the run
  std::vector<PartOption> options;
  std::vector<std::string> suppressions;  // where each of them stands, for notes
  std::vector<bool> used;                 // the suppressions that match a finding of these traces
  std::vector<PartTrace> traces;          // by rising place
};

// The text of a file.
std::string encode(const Part& part);
// kCorrupt: not a whole part, or one that no shard writes. kVersion: of another version of gfxgraph
// than `version`.
Result<Part> decode(const nlohmann::ordered_json& document, std::string_view version);

}  // namespace gfxgraph::check

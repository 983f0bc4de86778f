// The ranges of a trace by name, and the differences between their iterations, ready to be set in a
// step. Needs no device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/ranges/range_parameters.h"
#include "format/ranges/trace_ranges.h"
#include "format/read/reader.h"
#include "replayer/program/program.h"

namespace gfxgraph::replayer {

// The ranges of a trace; one that was opened lazily loads its events if it has any.
Result<std::vector<ranges::RangeSummary>> ranges_of(const format::Trace& trace);

// "decode#3" is the fourth range decode that the program began, "decode" the first one in the
// trace. Returns the index in `all`; kNotFound lists the existing ones.
Result<size_t> find_range(std::span<const ranges::RangeSummary> all, std::string_view text);

// The same in a trace, or a period of it (docs/ranges.md): "period#2" is the first repetition of
// period 2 of gfxgraph info --ranges, "period#2#5" the one with 5 before it. A range with such a
// name takes precedence. kNotFound: the message explains how to record launches by number.
Result<ranges::RangeSummary> find_range_or_period(const format::Trace& trace,
                                                  std::string_view text);

// A place of a step that holds a value.
struct PlaceTarget {
  uint32_t operation = 0;  // of the step's program
  ranges::PlaceKind kind = ranges::PlaceKind::kArgument;
  uint32_t offset_bytes = 0;  // kArgument: in the kernarg segment
  uint32_t size_bytes = 8;
  int64_t distance = 0;  // its number is that of the parameter and this
};

// A number, or an address in an allocation.
struct PlaceValue {
  format::AllocationId allocation = 0;  // 0: a number
  int64_t number = 0;                   // of an address: the offset in bytes
  bool operator==(const PlaceValue&) const = default;
};

struct StepParameter {
  std::string name;
  ranges::PatternMatch match;
  std::vector<PlaceValue> values;  // of the recorded iterations
  size_t iteration = 0;            // the step's own among them
  std::vector<PlaceTarget> targets;

  // `n` iterations behind the recorded one, as the pattern goes on; a free parameter stays.
  PlaceValue value(uint64_t n) const;
};

// Of the range or repetition that `program` is cut to; those with most places first. None where the
// trace holds one iteration only.
Result<std::vector<StepParameter>> find_parameters(const Program& program,
                                                   const ranges::RangeSummary& range);

}  // namespace gfxgraph::replayer

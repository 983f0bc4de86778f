// A range of a trace with what a caller may change in it. Needs no device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replayer/program/parameters.h"
#include "replayer/program/program.h"
#include "replayer/program/transfers.h"

namespace gfxgraph::replayer {

struct Range {
  std::string name;  // "decode#3", "all"
  std::shared_ptr<const Program> program;
  std::vector<StepParameter> parameters;
  std::vector<Transfer> inputs, outputs;
};

// `range`: null: all of it. kIncomplete: the trace does not hold its end.
Result<std::shared_ptr<const Range>> open_range(const std::shared_ptr<const Program>& whole,
                                                const ranges::RangeSummary* range);

// Bytes of an explicit argument of a launch.
struct ArgumentPlace {
  uint32_t launch = 0;
  uint32_t argument = 0;
  uint32_t offset_bytes = 0;  // in the argument
  uint32_t size_bytes = 0;    // at most 8; 0: to its end
};
// The range with one parameter more, behind those that it has: its value is that of the first
// place, the others keep their distance from it. `step`: its change from iteration to iteration.
// kInvalidArgument: the name is taken, or the places do not belong together.
Result<std::shared_ptr<const Range>> name_parameter(const Range& range, std::string_view name,
                                                    int64_t step,
                                                    std::span<const ArgumentPlace> places);

// By name, or by number as "#3": the id of a buffer, the place of the others in their list.
// kNotFound; kInvalidArgument: several have the name. `what` is for messages: "input".
Result<format::AllocationId> find_buffer(const Program& program, std::string_view name);
Result<uint32_t> find_parameter(const Range& range, std::string_view name);
Result<uint32_t> find_transfer(std::span<const Transfer> transfers, std::string_view name,
                               std::string_view what);

}  // namespace gfxgraph::replayer

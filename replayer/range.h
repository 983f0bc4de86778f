// A range of a trace with what a caller may change in it. Needs no device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replayer/parameters.h"
#include "replayer/program.h"
#include "replayer/transfers.h"

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

// By name, or by number as "#3": the id of a buffer, the place of the others in their list.
// kNotFound; kInvalidArgument: several have the name. `what` is for messages: "input".
Result<format::AllocationId> find_buffer(const Program& program, std::string_view name);
Result<uint32_t> find_parameter(const Range& range, std::string_view name);
Result<uint32_t> find_transfer(std::span<const Transfer> transfers, std::string_view name,
                               std::string_view what);

}  // namespace gfxgraph::replayer

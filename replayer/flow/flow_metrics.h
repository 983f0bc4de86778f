// The statistics of branches, loops, compositions and pipelines as one OpenMetrics text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replayer/flow/branches.h"
#include "replayer/flow/composition.h"
#include "replayer/flow/loop.h"
#include "replayer/flow/pipeline.h"

namespace gfxgraph::replayer {

class FlowMetrics {
 public:
  // kInvalidArgument: another one of the kind has its name, and samples would be the same.
  Result<void> add(Branches& one);
  Result<void> add(Loop& one);
  Result<void> add(Composition& one);
  Result<void> add(Pipeline& one);
  std::string text() const;

 private:
  struct Work {  // a piece of work
    std::string labels;
    WorkSums sums;
  };
  struct Value {
    size_t family = 0;  // of kFamilies
    std::string labels;
    uint64_t value = 0;
  };
  struct Times {
    std::string labels;
    Durations durations;
  };
  Result<std::string> begin(const char* kind, const std::string& name);
  void value(std::string_view family, const std::string& labels, uint64_t value);

  std::vector<std::string> begun_;
  std::vector<Work> works_;
  std::vector<Value> values_;
  std::vector<Times> submits_;
  std::vector<Times> until_seen_;
};

}  // namespace gfxgraph::replayer

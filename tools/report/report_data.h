// The data of a trace that the page of gfxgraph report shows.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "format/read/reader.h"

namespace gfxgraph::tools {

// Limits of a page. The page states the totals if it shows less.
struct ReportLimits {
  size_t work = 200'000;  // entries of the timeline
  size_t buffers = 20'000;
  size_t ranges = 20'000;
  size_t graph_nodes = 20'000;  // of all recorded graphs together
};

nlohmann::ordered_json report_data(const format::Trace& trace, const ReportLimits& limits = {});

}  // namespace gfxgraph::tools

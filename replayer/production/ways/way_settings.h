// What the caller says about the ways of its work (replayer/production/ways/ways.h).
#pragma once

#include <cstdint>
#include <string>

#include "gfxgraph/gfxgraph.h"
#include "gfxgraph/production.h"

namespace gfxgraph::replayer {

// gfxgraph_border_function_t with its context; it may be null.
struct BorderFunction {
  gfxgraph_border_function_t call = nullptr;
  void* context = nullptr;
};

// Which way is taken.
struct WaySettings {
  uint32_t first = GFXGRAPH_WAY_GRAPH;
  bool measured = false;      // it is chosen by measurement
  uint32_t measure_ways = 0;  // bits, as in WayOrder
  uint32_t measure_runs = 0;  // of each
  bool warm_measures = false;
  uint32_t capture_ms = 0;  // as gfxgraph_capture_options_t.wait_milliseconds; 0: the default
  bool strict = false;      // what would fall is an error of each run until Ways::begin()
  BorderFunction border;
};

// Why there is no memory, or no step.
struct Refusal {
  uint32_t fall = GFXGRAPH_FALL_NONE;
  std::string text;
  bool passes = false;  // by itself, when another thread's capture ends
};

}  // namespace gfxgraph::replayer

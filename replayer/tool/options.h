// The command line of gfxgraph-replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "replayer/program/options.h"
#include "replayer/tool/iterate.h"

namespace gfxgraph::replayer {

struct Arguments {
  std::string trace;
  std::string mode = "auto";
  std::string layout = "same";
  std::string device = "auto";
  std::string device_map;
  std::string json;
  int report = -1;  // a file descriptor that gets the JSON report, too
  size_t repeat = 1;
  uint32_t graph_max_nodes = 0;
  bool graph_linear = false;
  std::string ambiguous = "relocate";
  std::string pointers;
  std::string fresh = "zero";
  std::string memory = "auto";
  std::string order = "recorded";
  bool verify = false;
  bool no_verify = false;
  bool bisect = false;
  bool allow_incomplete = false;
  bool allow_torn = false;
  bool allow_host_calls = false;
  double max_seconds = 3600;
  double auto_seconds = kDefaultAutoSeconds;
  uint64_t max_memory = 0;
  uint64_t max_operations = kDefaultMaxOperations;
  std::string range;
  IterateRequest iterate;
  bool list = false;
  bool prove = false;
  bool bench = false;
};

// The exit code if the program ends here: --help, --version, or a wrong command line.
std::optional<int> parse_arguments(int argc, char** argv, Arguments& arguments);

}  // namespace gfxgraph::replayer

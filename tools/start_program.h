// How the commands that take a program's command line start it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace gfxgraph::tools {

// What stands between the program and HIP, besides the agent, in this order.
struct Layers {
  bool accelerate = false;   // gfxgraph accelerate
  bool capture = false;      // --capture
  bool capture_api = false;  // --capture-api
};

// Sets the environment in which the program will see the device called `name` (auto, real,
// emulated) through these layers. Returns whether it will see the software agent.
Result<bool> select_device(const std::string& name, unsigned devices, const Layers& layers);

// Becomes the program. Returns only when it cannot be started.
Error start_program(const std::vector<std::string>& command, bool emulated);

}  // namespace gfxgraph::tools
